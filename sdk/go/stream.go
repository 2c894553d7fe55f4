package skein

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// A Stream is a message that its author goes on with. Everybody sees it grow: by
// PartEvents as it is said, by ChangedEvents as it becomes durable. Its methods may be
// called from any goroutine; what is said is said in the order of the calls.
type Stream struct {
	v   *Conversation
	seq uint64
	id  MessageID

	mu   sync.Mutex
	said string // what the server was told
	next string // what it was not told yet, because that failed
	over bool
}

// ErrStreamEnded: the stream was ended by End.
var ErrStreamEnded = errors.New("skein: the stream has ended")

// Stream begins a message with its first words, at least one byte, and returns when it is
// stored. The options are those of Send. Who is silent for longer than the server allows
// (60 s) has it ended there.
func (v *Conversation) Stream(ctx context.Context, text string, opts ...SendOption) (*Stream, error) {
	m, err := v.said(text, append(opts[:len(opts):len(opts)], func(s *wire.Send) { s.Streaming = true }))
	if err != nil {
		return nil, err
	}
	s := &Stream{v: v, said: m.Content.GetText()}
	if err := v.c.do(ctx, func(k *core) { s.id = k.ids.Next() }); err != nil {
		return nil, err
	}
	m.Id = s.id[:]
	var resp wire.SendMessageResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/SendMessage", m, &resp); err != nil {
		return nil, err
	}
	s.seq = resp.Seq
	return s, v.stored(ctx, s.seq)
}

// Seq is the message's.
func (s *Stream) Seq() uint64 { return s.seq }

// Text is all that was said so far.
func (s *Stream) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said + s.next
}

// Append says more. After an error it is not lost: the next call says it, too, Append
// with no text for instance. Each call counts as a send; who has words faster than that
// gathers them.
func (s *Stream) Append(ctx context.Context, text string) error {
	return s.say(ctx, func() { s.next += text }, false)
}

// Replace puts text in the place of all that was said.
func (s *Stream) Replace(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ErrStreamEnded
	}
	s.said, s.next = text, ""
	return s.whole(ctx, false)
}

// End ends the message: what it says then stays. It may be repeated after an error.
func (s *Stream) End(ctx context.Context) error { return s.say(ctx, func() {}, true) }

func (s *Stream) say(ctx context.Context, add func(), end bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ErrStreamEnded
	}
	if add(); s.next == "" && !end {
		return nil
	}
	err := s.call(ctx, &wire.StreamMessageRequest{Offset: uint64(len(s.said)), Text: s.next, End: end})
	var refused *Error
	if errors.As(err, &refused) && refused.Code == wire.CodePartMissing {
		s.said, s.next = s.said+s.next, ""
		return s.whole(ctx, end)
	}
	if err == nil {
		s.said, s.next, s.over = s.said+s.next, "", end
	}
	return err
}

// whole says all of it again.
func (s *Stream) whole(ctx context.Context, end bool) error {
	err := s.call(ctx, &wire.StreamMessageRequest{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s.said}}, End: end})
	if err == nil {
		s.over = end
	}
	return err
}

func (s *Stream) call(ctx context.Context, req *wire.StreamMessageRequest) error {
	req.Conversation, req.Seq = s.v.id, s.seq
	var resp wire.StreamMessageResponse
	if err := s.v.c.Call(ctx, "skein.v1.MessageService/StreamMessage", req, &resp); err != nil || resp.Seq == 0 {
		return err
	}
	return s.v.stored(ctx, resp.Seq)
}

// streamed is an entry as a STREAM entry leaves it.
func streamed(e, by *wire.Entry) *wire.Entry {
	c := proto.Clone(e).(*wire.Entry)
	c.Content, c.Streaming, c.Replaced, c.CutOff = by.Content, by.Streaming, by.Replaced, by.CutOff
	c.Amended = by.Seq
	return c
}

// maxGrowing is of how many messages that grow is kept what is not durable yet.
const maxGrowing = 256

// grown is what a message that grows says, beyond what is durable.
type grown struct {
	text     string
	replaced uint32
}

// onPart adds the next part to a message that grows. What does not fit to what is known
// waits for the entry that says all.
func (k *core) onPart(p *wire.Part) {
	ref := EntryRef{p.Conversation, p.Seq}
	cv := k.convs[p.Conversation]
	if cv == nil {
		return
	}
	kept := k.kept(cv, p.Seq)
	if kept == nil || cv.rec.hides(kept) || !kept.Streaming || kept.Replaced != p.Replaced {
		return
	}
	text, durable := k.growing[ref].text, kept.GetContent().GetText()
	if k.growing[ref].replaced != p.Replaced || !strings.HasPrefix(text, durable) {
		text = durable
	}
	n := uint64(len(text))
	if p.Offset > n || p.Offset+uint64(len(p.Text)) <= n || text[p.Offset:] != p.Text[:n-p.Offset] {
		return
	}
	text += p.Text[n-p.Offset:]
	if len(k.growing) >= maxGrowing {
		clear(k.growing) // they come again with what is durable
	}
	k.growing[ref] = grown{text, p.Replaced}
	k.post(passingKey{"part", p.Conversation, strconv.FormatUint(p.Seq, 10)}, &PartEvent{Conversation: p.Conversation, User: p.User, Seq: p.Seq, Text: text})
}
