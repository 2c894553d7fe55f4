package sdkconformance

import (
	"fmt"
	"time"

	"github.com/skein-im/skein/wire"
)

// sends serves the Sends of a conversation as SPEC §5.9 says, so that a scenario need
// not know how many a client has under way at once.
type sends struct {
	answers map[string][]Answer
	next    int64
	texts   []string
	byID    map[string]int64
	// first is the refused one that has to come first, of a connection.
	of    *conn
	first string
	until map[string]time.Time // a refused one must not come again sooner
}

func newSends(answers map[string][]Answer, next int64) *sends {
	return &sends{answers: answers, next: next, byID: map[string]int64{}, until: map[string]time.Time{}}
}

// take answers a Send.
func (s *sends) take(p *play, c *conn, f frame) error {
	id, _ := f.body["id"].(string)
	content, _ := f.body["content"].(map[string]any)
	text, _ := content["text"].(string)
	if s.of != c {
		s.of, s.first = c, ""
		clear(s.until)
	}
	if s.first != "" && s.first != id && f.body["insteadOf"] != s.first {
		return p.sendTo(c, map[string]any{"sendError": map[string]any{
			"id": id, "error": map[string]any{"code": "out_of_order", "message": "an earlier one has to come first"}, "first": s.first,
		}})
	}
	if f.at.Before(s.until[id]) {
		return fmt.Errorf("the client sends %q again %v too soon: it was refused with retry_after_ms", text, s.until[id].Sub(f.at))
	}
	s.first = ""
	var a Answer
	if left := s.answers[text]; len(left) > 0 {
		a, s.answers[text] = left[0], left[1:]
	}
	var err error
	switch {
	case a.Code != "":
		err = s.refuse(p, c, id, text, a)
	default:
		seq := s.store(id, text)
		if a.Push {
			err = s.push(p, c, f.body, seq)
		}
		if !a.Silent && err == nil {
			err = p.sendTo(c, map[string]any{"sendAck": map[string]any{"id": id, "seq": num(seq)}})
		}
	}
	if a.Cut {
		p.log("server", "cuts the connection")
		c.cut()
		p.cutAt = time.Now()
	}
	return err
}

func (s *sends) store(id, text string) int64 {
	if seq, ok := s.byID[id]; ok {
		return seq
	}
	seq := s.next
	s.next++
	s.byID[id] = seq
	s.texts = append(s.texts, text)
	return seq
}

func (s *sends) refuse(p *play, c *conn, id, text string, a Answer) error {
	if a.Stored {
		seq := s.store(id, text)
		if a.Push {
			body := map[string]any{"id": id, "content": map[string]any{"type": "text", "text": text}}
			if err := s.push(p, c, body, seq); err != nil {
				return err
			}
		}
	}
	if wire.Code(a.Code).Info().Action != wire.ActionFix {
		s.first = id
		s.until[id] = time.Now().Add(time.Duration(a.RetryAfter) * time.Millisecond)
	}
	return p.sendTo(c, map[string]any{"sendError": map[string]any{
		"id": id, "error": map[string]any{"code": a.Code, "message": "refused by the scenario", "retryAfterMs": num(int64(a.RetryAfter))},
	}})
}

// push tells the sender its own entry.
func (s *sends) push(p *play, c *conn, send map[string]any, seq int64) error {
	return p.sendTo(c, map[string]any{"push": map[string]any{"entries": []any{map[string]any{
		"seq": num(seq), "id": send["id"], "sender": "alice", "content": send["content"],
	}}}})
}
