package main

import (
	"context"
	"fmt"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Threads (SPEC §4.36): replies are said, some of them in the conversation's line as well,
// edited and taken back. A root says how many there are, on every device and to who reads
// it, and a thread tells them. With lifetimes there are none: a device does not know which
// replies of a root that stays are gone.

// The kinds of operations that are done without lifetimes only.
const (
	replyKind    = "reply"
	withdrawKind = "withdraw"
)

// replied is a reply that was stored; both: it stands in the conversation's line as well.
func (m *model) replied(c *conversation, user string, root uint64, text string, both bool) {
	var e *entry
	if both {
		e = m.sent(c, user, text, 0)
	} else {
		e = m.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_THREAD_REPLY, sender: user, text: text})
	}
	e.root = root
	r := c.at(root)
	r.replies++
	r.amended = e.seq
}

// withdrawn is what the recall at by makes of the root of what it takes back.
func (c *conversation) withdrawn(t *entry, by uint64) {
	if t.root == 0 || t.recalled {
		return
	}
	if r := c.at(t.root); !r.recalled {
		r.replies--
		r.amended = by
	}
}

// rootOf is the message whose thread is meant by an entry, nil if there is none.
func (c *conversation) rootOf(seq uint64) *entry {
	e := c.at(seq)
	if e != nil && e.root != 0 {
		e = c.at(e.root)
	}
	if e == nil || e.kind != wire.EntryKind_ENTRY_KIND_MESSAGE {
		return nil
	}
	return e
}

func (m *model) mayReply(c *conversation, user string, seq uint64) string {
	if code := m.maySend(c, user); code != okay {
		return code
	}
	root, p := c.rootOf(seq), c.places[user]
	switch {
	case root == nil, p == nil, !c.sees(p, root.seq):
		return notFound
	case root.recalled:
		return tooLate
	}
	return okay
}

// mayReplyLater is what is answered about the root of what is to be said in a thread later.
func (m *model) mayReplyLater(s *scheduled, user string) string {
	if s.root == 0 {
		return okay
	}
	switch root, p := s.c.at(s.root), s.c.places[user]; {
	case p == nil, !s.c.sees(p, root.seq):
		return notFound
	case root.recalled:
		return tooLate
	}
	return okay
}

// replyWord is a word that no search looks for: replies are found, and are in no page.
func (w *walk) replyWord() string {
	w.words++
	return fmt.Sprintf("ω%d", w.words)
}

func (w *walk) opReply(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	seq := w.target(c, "")
	if w.rng.IntN(3) > 0 { // most go where somebody replied before
		for at := c.head(); at > 0 && at+50 > c.head(); at-- {
			if e := c.at(at); e.root != 0 && w.rng.IntN(3) > 0 {
				seq = at
				break
			}
		}
	}
	both, text := w.rng.IntN(3) == 0, w.replyWord()
	if both {
		text = w.word()
	}
	root := c.rootOf(seq)
	do, door := w.replying(u, c.id, seq, root, text, both)
	return &op{
		text: fmt.Sprintf("%s replies %q to %d of %s, in the line as well %t %s", u.id, text, seq, c.id, both, door),
		want: w.model.mayReply(c, u.id, seq), do: do,
		done: func() error { w.model.replied(c, u.id, root.seq, text, both); return nil },
	}
}

// replying is a reply by one of the doors. A device names the root, so that it counts the
// reply at once.
func (w *walk) replying(u *user, c string, seq uint64, root *entry, text string, both bool) (do func(context.Context) error, door string) {
	if d := w.device(u); d != nil && root != nil && w.rng.IntN(3) > 0 {
		options := []skein.SendOption{skein.InThread(root.seq)}
		if both {
			options = append(options, skein.AlsoInMain())
		}
		return func(ctx context.Context) error {
			_, err := d.client.Conversation(c).Send(ctx, text, options...)
			if err != nil {
				d.forget(ctx)
			}
			return err
		}, d.name
	}
	alone := w.device(u) == nil
	req := &wire.SendMessageRequest{Conversation: c, Id: w.newID(), Content: textContent(text), Thread: seq, AlsoInMain: both}
	return func(ctx context.Context) error {
		var resp wire.SendMessageResponse
		err := w.post(ctx, u, "MessageService/SendMessage", req, &resp)
		if err == nil && alone && both { // as of any message over HTTP
			err = w.post(ctx, u, "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: c, Seq: resp.Seq}, &wire.MarkReadResponse{})
		}
		return err
	}, "over HTTP"
}

// opWithdraw takes back a reply of the user's own, or edits it.
func (w *walk) opWithdraw(u *user) *op {
	c := w.someOf(u)
	if c == nil {
		return nil
	}
	var e *entry
	for range 20 {
		if c.head() == 0 {
			return nil
		}
		x := c.at(1 + w.rng.Uint64N(c.head()))
		if x.kind == wire.EntryKind_ENTRY_KIND_THREAD_REPLY && x.sender == u.id && !x.recalled && c.sees(c.places[u.id], x.seq) && c.sees(c.places[u.id], x.root) {
			e = x
		}
	}
	if e == nil {
		return nil
	}
	if w.rng.IntN(2) == 0 && w.model.maySend(c, u.id) == okay {
		text, id := w.replyWord(), w.newID()
		req := &wire.EditMessageRequest{Conversation: c.id, Seq: e.seq, Id: id, Content: textContent(text)}
		return &op{
			text: fmt.Sprintf("%s edits the reply %d of %s to %q", u.id, e.seq, c.id, text),
			do: func(ctx context.Context) error {
				return w.post(ctx, u, "MessageService/EditMessage", req, &wire.EditMessageResponse{})
			},
			done: func() error { w.model.edited(c, u.id, e.seq, text); return nil },
		}
	}
	return &op{
		text: fmt.Sprintf("%s takes back the reply %d of %s", u.id, e.seq, c.id),
		do: func(ctx context.Context) error {
			return w.post(ctx, u, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: c.id, Seq: e.seq}, &wire.RecallMessageResponse{})
		},
		done: func() error { w.model.recalled(c, u.id, e.seq); return nil },
	}
}

// thread are the replies of a root that a user reads, oldest first.
func (c *conversation) thread(user string, root uint64) (lines []string) {
	p := c.places[user]
	for _, e := range c.entries {
		if e.root == root && !e.recalled && !p.gone[e.seq] && e.seq >= p.mine.ClearedBelow && c.sees(p, e.seq) {
			lines = append(lines, e.line(user))
		}
	}
	return lines
}

// threads compares a thread of a conversation with what its reader is told, page by page.
func (w *walk) threads(ctx context.Context, u *user, c *conversation) error {
	p := c.places[u.id]
	root := c.rootOf(1 + w.looks.Uint64N(max(c.head(), 1)))
	if root == nil || root.root != 0 || !p.now() || p.gone[root.seq] || root.seq < p.mine.ClearedBelow || !c.sees(p, root.seq) {
		return nil
	}
	var got []string
	req := &wire.ListThreadRequest{Conversation: c.id, Seq: root.seq, Limit: uint32(1 + w.looks.IntN(20))}
	for {
		var resp wire.ListThreadResponse
		if err := w.post(ctx, u, "MessageService/ListThread", req, &resp); err != nil {
			return err
		}
		var page []string
		for _, e := range resp.Entries {
			page = append(page, p.lines(e)...)
		}
		got = append(page, got...)
		if n := int(resp.Thread.GetRoot().GetReplies().GetCount()); n != root.replies { // the same to all
			return &drift{fmt.Sprintf("%d of %s says to %s that it has %d replies, the model %d", root.seq, c.id, u.id, n, root.replies)}
		}
		if req.Before = resp.Next; req.Before == 0 {
			return differ(fmt.Sprintf("the thread of %d of %s", root.seq, c.id), got, c.thread(u.id, root.seq))
		}
	}
}

// lookReplies compares what a device's roots say. Of one that lies before the last time of
// membership it knows what it was told at some time.
func (c *conversation) lookReplies(user string, es []*wire.Entry) error {
	p := c.places[user]
	if len(p.spans) == 0 || !p.now() {
		return nil
	}
	for _, e := range es {
		if e.Seq < p.spans[len(p.spans)-1].from || e.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE || e.Deleted || e.Recalled {
			continue
		}
		if x := c.at(e.Seq); x != nil && !p.gone[e.Seq] && int(e.GetReplies().GetCount()) != x.replies {
			return &drift{fmt.Sprintf("%d of %s has %d replies, the model says %d", e.Seq, c.id, e.GetReplies().GetCount(), x.replies)}
		}
	}
	return nil
}
