package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/wire"
)

const (
	// maxOpen is how many streamed messages of a user grow at a time: less than the server
	// lets grow, as one that was not stored has its place, too.
	maxOpen = 6
	// hoursPassed is by how much time passes at once, mostPassed in all: tokens and what is
	// scheduled hold longer.
	hoursPassed = 7 * time.Hour
	mostPassed  = 250 * 24 * time.Hour
)

// growing are the streamed messages that grow, of a user or of all.
func (m *model) growing(user string) (all []spot) {
	for _, id := range m.order {
		for _, e := range m.convs[id].entries {
			if e.streaming && (user == "" || e.sender == user) {
				all = append(all, spot{m.convs[id], e.seq})
			}
		}
	}
	return all
}

// spot is where a message stands.
type spot struct {
	c   *conversation
	seq uint64
}

// mayStream predicts whether a user may go on with a message; ends: they say its end alone.
func (m *model) mayStream(c *conversation, user string, seq uint64, ends bool) string {
	if code := m.mayAmend(c, user, seq, m.maySend(c, user)); code != okay {
		return code
	}
	switch e := c.at(seq); {
	case e.sender != user:
		return denied
	case !e.streaming && !e.cutOff && ends: // it has ended as they say
		return okay
	case !e.streaming:
		return tooLate
	}
	return okay
}

// opStream begins a message that grows.
func (w *walk) opStream(u *user) *op {
	c := w.someOf(u)
	if c == nil || len(w.model.growing(u.id)) >= maxOpen {
		return nil
	}
	text, a := w.word(), also{silent: w.rng.IntN(4) == 0, streaming: true}
	do, door := w.saying(u, c.id, text, &a)
	return &op{
		text: fmt.Sprintf("%s begins to say %q to %s %s", u.id, text, c.id, door), want: w.model.maySend(c, u.id), do: do,
		done: func() error { w.model.sent(c, u.id, text, 0).also = a; return nil },
	}
}

// opPart goes on with a message that grows, mostly one of the user's own: more of it, all
// of it anew, or its end.
func (w *walk) opPart(u *user) *op {
	own, at := w.model.growing(u.id), spot{}
	switch {
	case w.rng.IntN(10) == 0 || len(own) == 0:
		if at.c = w.someOf(u); at.c == nil || at.c.head() == 0 || w.rng.IntN(3) > 0 {
			return nil
		}
		at.seq = w.target(at.c, "")
	default:
		at = own[w.rng.IntN(len(own))]
	}
	e := at.c.at(at.seq)
	req := &wire.StreamMessageRequest{Conversation: at.c.id, Seq: at.seq, End: w.rng.IntN(4) == 0}
	text := e.text
	switch n := w.rng.IntN(6); {
	case n == 0 && req.End: // nothing more
	case n == 1:
		text = w.word()
		req.Content = textContent(text)
	default:
		req.Text = " " + w.word()
		text += req.Text
	}
	if req.Content == nil {
		req.Offset = uint64(len(e.text))
	}
	ends := req.End && req.Text == "" && req.Content == nil
	was, seen := e.amended, (*wire.Entry)(nil)
	o := &op{text: fmt.Sprintf("%s goes on: %v", u.id, req), want: w.model.mayStream(at.c, u.id, at.seq, ends)}
	o.do = func(ctx context.Context) (err error) {
		seen, err = w.saysMore(ctx, u, req, text)
		return err
	}
	o.done = func() error {
		if !e.streaming {
			return nil
		}
		if seen.Amended == was {
			return fmt.Errorf("nothing was stored, and %d says %q", at.seq, seen.Content.GetText())
		}
		return w.model.grew(at, seen.Amended, text, req.End, false)
	}
	return o
}

// saysMore asks for a part until the message says all of it durably, and returns it. A
// crash may take what was answered without an entry.
func (w *walk) saysMore(ctx context.Context, u *user, req *wire.StreamMessageRequest, text string) (*wire.Entry, error) {
	for {
		req.Id = w.newID()
		if err := w.post(ctx, u, "MessageService/StreamMessage", req, &wire.StreamMessageResponse{}); err != nil {
			return nil, err
		}
		for range 40 {
			e, err := w.entry(ctx, u, req.Conversation, req.Seq)
			if err != nil || e.Content.GetText() == text && e.Streaming != req.End {
				return e, err
			}
			if !e.Streaming {
				return e, nil // it had ended before
			}
			if err := sleep(ctx, 5*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
}

// entry reads an entry.
func (w *walk) entry(ctx context.Context, u *user, c string, seq uint64) (*wire.Entry, error) {
	var resp wire.ListEntriesResponse
	if err := w.post(ctx, u, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: c, From: seq, Limit: 1}, &resp); err != nil {
		return nil, err
	}
	if len(resp.Entries) == 0 || resp.Entries[0].Seq != seq {
		return nil, &drift{fmt.Sprintf("%s reads %d of %s, and is told %v", u.id, seq, c, resp.Entries)}
	}
	return resp.Entries[0], nil
}

// grew is a STREAM entry that was stored.
func (m *model) grew(at spot, by uint64, text string, end, cut bool) error {
	if by != at.c.head()+1 {
		return fmt.Errorf("%d of %s was amended by %d, %d is next", at.seq, at.c.id, by, at.c.head()+1)
	}
	t := at.c.at(at.seq)
	m.append(at.c, &entry{kind: wire.EntryKind_ENTRY_KIND_STREAM})
	t.text, t.amended, t.streaming, t.cutOff = text, by, !end, cut
	return nil
}

// opTime lets hours pass: the server ends what grows, and things disappear.
func (w *walk) opTime(*user) *op {
	if w.server.clock.Ahead()+hoursPassed > mostPassed {
		return nil
	}
	all := w.model.growing("")
	ended := map[spot]*wire.Entry{}
	return &op{
		text: fmt.Sprintf("%v pass, %d messages grow", hoursPassed, len(all)),
		do: func(ctx context.Context) error {
			if err := w.server.pass(hoursPassed); err != nil {
				return err
			}
			for _, at := range all {
				e, err := w.isEnded(ctx, at)
				if err != nil {
					return err
				}
				ended[at] = e
			}
			return nil
		},
		done: func() error {
			w.model.pass(hoursPassed)
			slices.SortFunc(all, func(a, b spot) int { return cmp.Compare(ended[a].Amended, ended[b].Amended) })
			for _, at := range all {
				if err := w.model.grew(at, ended[at].Amended, at.c.at(at.seq).text, true, true); err != nil {
					return fmt.Errorf("%w: %v", err, ended[at])
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
			defer cancel()
			if err := w.folded(ctx); err != nil {
				return err
			}
			return w.again(ctx)
		},
	}
}

// isEnded waits until the server has ended a message, and returns it.
func (w *walk) isEnded(ctx context.Context, at spot) (*wire.Entry, error) {
	author := w.users[slices.IndexFunc(w.users, func(u *user) bool { return u.id == at.c.at(at.seq).sender })]
	for {
		e, err := w.entry(ctx, author, at.c.id, at.seq)
		if err != nil || !e.Streaming {
			return e, err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, fmt.Errorf("the server does not end %d of %s: %w", at.seq, at.c.id, err)
		}
	}
}
