package soak

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/wire"
)

// openPoll asks the clerk's dm something; vote answers it for the rest of the run.
func (c *clerk) openPoll(ctx context.Context) error {
	id := c.ids.Next()
	req := &wire.SendMessageRequest{
		Conversation: c.dm, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "is it so?"}},
		Poll: &wire.Poll{Options: []*wire.PollOption{{Id: "yes"}, {Id: "no"}}},
	}
	user := c.users[0].id
	rec := Record{Kind: Invoked, Conversation: c.dm, ID: hex.EncodeToString(id[:]), Hash: ContentHash(c.dm, user, req.Content, 0)}
	c.add(user, rec)
	var resp wire.SendMessageResponse
	if err := c.call(ctx, 0, messageService+"SendMessage", req, &resp); err != nil {
		return fmt.Errorf("soak: the clerk's poll: %w", err)
	}
	c.poll = resp.Seq
	return nil
}

// vote is what the second user chose in the poll, whose totals say the same.
func (c *clerk) vote() *clerkFact {
	return &clerkFact{
		name: "vote", next: inTurn("yes", "no"),
		set: func(ctx context.Context, v string) error {
			req := &wire.VoteInPollRequest{Conversation: c.dm, Seq: c.poll, Options: []string{v}}
			return c.call(ctx, 1, messageService+"VoteInPoll", req, &wire.VoteInPollResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			var resp wire.ListEntriesResponse
			req := &wire.ListEntriesRequest{Conversation: c.dm, From: c.poll, Limit: 1}
			if err := c.call(ctx, 1, messageService+"ListEntries", req, &resp); err != nil {
				return "", err
			}
			if len(resp.Entries) == 0 || resp.Entries[0].Seq != c.poll {
				return "no poll", nil
			}
			p := resp.Entries[0].GetPoll()
			said := ""
			for _, o := range p.GetOptions() {
				if o.Mine {
					said += o.Id
				}
				if (o.Votes == 1) != o.Mine || o.Votes > 1 {
					said += fmt.Sprintf(" (%d for %s)", o.Votes, o.Id)
				}
			}
			if said != "" && p.GetVoters() != 1 {
				said += fmt.Sprintf(" (%d voters)", p.GetVoters())
			}
			return said, nil
		},
	}
}

// mentioned expects a message that mentions the second user in their list from now on.
func (c *clerk) mentioned(ctx context.Context, seq uint64) {
	f := &clerkFact{
		name: fmt.Sprint("mention ", seq),
		next: func(int) string { return "listed" },
		set:  func(context.Context, string) error { return nil }, // the message is stored
		get: func(ctx context.Context) (string, error) {
			for cursor := ""; ; {
				var resp wire.ListMentionsResponse
				if err := c.call(ctx, 1, messageService+"ListMentions", &wire.ListMentionsRequest{Cursor: cursor, Limit: 100}, &resp); err != nil {
					return "", err
				}
				if slices.ContainsFunc(resp.Entries, func(e *wire.Entry) bool { return e.Conversation == c.dm && e.Seq == seq }) {
					return "listed", nil
				}
				if cursor = resp.Next; cursor == "" {
					return "", nil
				}
			}
		},
	}
	c.change(ctx, f)
	c.settle(f)
}

// schedule has the server send a message of the second user's a little later, and expects
// it to wait or to be there from then on, once.
func (c *clerk) schedule(ctx context.Context) {
	c.scheduled++
	id := c.ids.Next()
	content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprint("later ", c.scheduled)}}
	user := c.users[1].id
	c.add(user, Record{Kind: Invoked, Conversation: c.dm, ID: hex.EncodeToString(id[:]), Hash: ContentHash(c.dm, user, content, 0)})
	// One after the other, as they were asked for.
	c.due = max(c.due+1, time.Now().Add(time.Duration(c.scheduled%4)*time.Second).UnixMilli())
	req := &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: c.dm, Id: id[:], Content: content}, AtMs: c.due}
	f := &clerkFact{
		name: fmt.Sprint("scheduled ", c.scheduled),
		next: func(int) string { return "waits or is there" },
		set: func(ctx context.Context, _ string) error {
			return c.call(ctx, 1, messageService+"ScheduleMessage", req, &wire.ScheduleMessageResponse{})
		},
		get: func(ctx context.Context) (string, error) { return c.whereIs(ctx, id) },
	}
	c.change(ctx, f)
	c.settle(f)
}

// whereIs looks for a scheduled message: among those that wait, then in the conversation,
// so that one which is sent meanwhile is met once at least.
func (c *clerk) whereIs(ctx context.Context, id [16]byte) (string, error) {
	const fine = "waits or is there"
	var list wire.ListScheduledResponse
	if err := c.call(ctx, 1, messageService+"ListScheduled", &wire.ListScheduledRequest{}, &list); err != nil {
		return "", err
	}
	for _, s := range list.Scheduled {
		switch {
		case string(s.Message.GetId()) != string(id[:]):
		case s.State == wire.ScheduledState_SCHEDULED_STATE_FAILED:
			return "failed: " + s.Error.GetCode(), nil
		default:
			return fine, nil
		}
	}
	n := 0
	if err := c.each(ctx, func(e *wire.Entry) {
		if string(e.Id) == string(id[:]) {
			n++
		}
	}); err != nil {
		return "", err
	}
	switch n {
	case 0:
		return "gone", nil
	case 1:
		return fine, nil
	}
	return fmt.Sprint("there ", n, " times"), nil
}

// each shows every entry of the dm.
func (c *clerk) each(ctx context.Context, do func(*wire.Entry)) error {
	for from := uint64(1); ; {
		var resp wire.ListEntriesResponse
		if err := c.call(ctx, 1, messageService+"ListEntries", &wire.ListEntriesRequest{Conversation: c.dm, From: from, Limit: 200}, &resp); err != nil {
			return err
		}
		for _, e := range resp.Entries {
			do(e)
		}
		if resp.LastSeq == 0 || resp.LastSeq >= resp.Head {
			return nil
		}
		from = resp.LastSeq + 1
	}
}

// allEnded waits until no message grows. One whose parts a fault took from the clerk is
// ended by the server a minute after its last part, by an entry: until then the dm's end
// is not known.
func (c *clerk) allEnded(ctx context.Context) error {
	for deadline := time.Now().Add(3 * time.Minute); ; {
		var grows uint64
		if err := patiently(ctx, func() error {
			grows = 0
			return c.each(ctx, func(e *wire.Entry) {
				if e.GetStreaming() {
					grows = e.Seq
				}
			})
		}); err != nil {
			return fmt.Errorf("soak: streamed messages: %w", err)
		}
		if grows == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("soak: message %d of %s still grows, and nobody ends it", grows, c.dm)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// allSent waits until no scheduled message waits: nothing is stored any more then.
func (c *clerk) allSent(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); ; {
		var list wire.ListScheduledResponse
		if err := patiently(ctx, func() error {
			return c.call(ctx, 1, messageService+"ListScheduled", &wire.ListScheduledRequest{}, &list)
		}); err != nil {
			return fmt.Errorf("soak: scheduled messages: %w", err)
		}
		waits := slices.IndexFunc(list.Scheduled, func(s *wire.Scheduled) bool { return s.State != wire.ScheduledState_SCHEDULED_STATE_FAILED })
		if waits < 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("soak: message %x, due at %d, is not sent", list.Scheduled[waits].Message.GetId(), list.Scheduled[waits].AtMs)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
