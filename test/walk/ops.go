package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// op is one step: what is done, what the model says to it, and what it makes of the model.
type op struct {
	text string
	want string // the code that the model predicts
	do   func(ctx context.Context) error
	// done changes the model; it is called if the step succeeded.
	done func() error
}

// kind makes a step, nil if there is nothing to do it to just now.
type kind struct {
	name   string
	weight int
	make   func(w *walk, u *user) *op
}

var kinds = []kind{
	{"send", 30, (*walk).opSend},
	{"burst", 5, (*walk).opBurst},
	{"edit", 7, (*walk).opEdit},
	{"recall", 3, (*walk).opRecall},
	{"react", 14, (*walk).opReact},
	{"read", 8, (*walk).opRead},
	{"mine", 7, (*walk).opMine},
	{"create", 1, (*walk).opCreate},
	{"add", 4, (*walk).opAdd},
	{"remove", 2, (*walk).opRemove},
	{"leave", 2, (*walk).opLeave},
	{"ban", 1, (*walk).opBan},
	{"unban", 1, (*walk).opUnban},
	{"role", 2, (*walk).opRole},
	{"mute", 1, (*walk).opMute},
	{"settings", 2, (*walk).opSettings},
	{"answer", 2, (*walk).opAnswer},
	{"contact", 6, (*walk).opContact},
	{"profile", 1, (*walk).opProfile},
	{"away", 1, (*walk).opAway},
	{"back", 2, (*walk).opBack},
	{"say", 8, (*walk).opSay},
	{"reword", 3, (*walk).opReword},
	{"vote", 6, (*walk).opVote},
	{"end", 1, (*walk).opEndPoll},
	{"pin", 5, (*walk).opPin},
	{"forward", 4, (*walk).opForward},
	{"nickname", 2, (*walk).opNickname},
	{"powers", 1, (*walk).opPowers},
	{"later", 2, (*walk).opLater},
	{"stream", 3, (*walk).opStream},
	{"part", 6, (*walk).opPart},
	{lifetimeKind, 2, (*walk).opLifetime},
	{"time", 1, (*walk).opTime},
	{replyKind, 9, (*walk).opReply},
	{withdrawKind, 3, (*walk).opWithdraw},
}

// pick chooses a step.
func (w *walk) pick() (string, *op) {
	for {
		sum := 0
		for _, k := range w.kinds {
			sum += k.weight
		}
		n := w.rng.IntN(sum)
		for _, k := range w.kinds {
			if n -= k.weight; n < 0 {
				if o := k.make(w, w.users[w.rng.IntN(len(w.users))]); o != nil {
					return k.name, o
				}
				break
			}
		}
	}
}

// some chooses a conversation to write in: one of the user's, now and then any.
func (w *walk) some() *conversation {
	for {
		c := w.model.convs[w.model.order[w.rng.IntN(len(w.model.order))]]
		if c.group == nil && c.id[:3] == "me:" {
			continue
		}
		return c
	}
}

func (w *walk) someOf(u *user) *conversation {
	for range 50 {
		if c := w.some(); c.places[u.id] != nil && (c.group == nil || c.group.members[u.id] != nil) {
			return c
		}
	}
	return nil
}

func (w *walk) groupOf(u *user) *conversation {
	for range 50 {
		if c := w.some(); c.group != nil && (c.group.members[u.id] != nil || w.rng.IntN(20) == 0) {
			return c
		}
	}
	return nil
}

// target chooses an entry: mostly a new one, mostly of a message.
func (w *walk) target(c *conversation, own string) uint64 {
	head := c.head()
	if head == 0 {
		return 0
	}
	seq := uint64(0)
	for range 8 {
		seq = head - min(head-1, uint64(w.rng.ExpFloat64()*20))
		if w.rng.IntN(20) == 0 {
			seq = 1 + w.rng.Uint64N(head)
		}
		if e := c.at(seq); e.kind == wire.EntryKind_ENTRY_KIND_MESSAGE && (own == "" || e.sender == own) {
			break
		}
	}
	for c.at(seq).kind == wire.EntryKind_ENTRY_KIND_THREAD_REPLY { // see opWithdraw
		seq--
	}
	return seq
}

func (w *walk) other(u *user) string {
	for {
		if o := w.users[w.rng.IntN(len(w.users))]; o != u {
			return o.id
		}
	}
}

func (w *walk) word() string {
	w.words++
	return fmt.Sprintf("%c%d", 'a'+rune(w.rng.IntN(26)), w.words)
}

func (w *walk) opSend(u *user) *op {
	c := w.someOf(u)
	if w.rng.IntN(30) == 0 {
		c = w.some()
	}
	if c == nil || c.group == nil && c.places[u.id] == nil {
		return nil
	}
	text, reply := w.word(), uint64(0)
	if w.rng.IntN(5) == 0 {
		reply = w.target(c, "")
	}
	do, door := w.sending(u, c.id, text, reply)
	return &op{
		text: fmt.Sprintf("%s sends %q to %s in reply to %d %s", u.id, text, c.id, reply, door),
		want: w.model.maySend(c, u.id), do: func(ctx context.Context) error { _, err := do(ctx); return err },
		done: func() error { w.model.sent(c, u.id, text, reply); return nil },
	}
}

// sending is a send by one of the doors; it returns the seq.
func (w *walk) sending(u *user, c, text string, reply uint64) (do func(context.Context) (uint64, error), door string) {
	if d := w.device(u); d != nil && w.rng.IntN(5) > 0 {
		return func(ctx context.Context) (uint64, error) {
			m, err := d.client.Conversation(c).Send(ctx, text, skein.ReplyTo(reply))
			if err != nil {
				d.forget(ctx)
				return 0, err
			}
			return m.Seq, nil
		}, d.name
	}
	alone := w.device(u) == nil
	req := &wire.SendMessageRequest{Conversation: c, Id: w.newID(), Content: textContent(text), ReplyTo: reply}
	return func(ctx context.Context) (uint64, error) {
		var resp wire.SendMessageResponse
		err := w.post(ctx, u, "MessageService/SendMessage", req, &resp)
		if err == nil && alone { // no device tells again what a crash within a second loses (SPEC §6.3)
			err = w.post(ctx, u, "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: c, Seq: resp.Seq}, &wire.MarkReadResponse{})
		}
		return resp.Seq, err
	}, "over HTTP"
}

func textContent(text string) *wire.Content {
	return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
}

// opBurst has several users write and react in one conversation at once. The journal's
// order, told by the answers, is the model's.
func (w *walk) opBurst(u *user) *op {
	c := w.someOf(u)
	if c == nil {
		return nil
	}
	type part struct {
		do   func(context.Context) (uint64, error)
		done func()
		seq  uint64
		err  error
	}
	var parts []*part
	for range 2 + w.rng.IntN(6) {
		v := w.users[w.rng.IntN(len(w.users))]
		if w.model.maySend(c, v.id) != okay || c.places[v.id] == nil {
			continue
		}
		text := w.word()
		do, _ := w.sending(v, c.id, text, 0)
		parts = append(parts, &part{do: do, done: func() { w.model.sent(c, v.id, text, 0) }})
	}
	if target := w.target(c, ""); target != 0 {
		for _, v := range w.users {
			if w.model.mayReact(c, v.id, target) != okay || w.rng.IntN(2) == 0 {
				continue
			}
			remove, k := w.rng.IntN(3) == 0, w.reaction()
			if c.at(target).reacted(k, v.id) != remove {
				continue
			}
			req := &wire.ReactToMessageRequest{Conversation: c.id, Seq: target, Id: w.newID(), Reaction: k, Remove: remove}
			parts = append(parts, &part{do: func(ctx context.Context) (uint64, error) {
				var resp wire.ReactToMessageResponse
				err := w.post(ctx, v, "MessageService/ReactToMessage", req, &resp)
				return resp.Seq, err
			}, done: func() { w.model.reacted(c, v.id, target, k, remove) }})
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return &op{
		text: fmt.Sprintf("%d at once in %s", len(parts), c.id),
		do: func(ctx context.Context) error {
			var all sync.WaitGroup
			for _, p := range parts {
				all.Go(func() { p.seq, p.err = p.do(ctx) })
			}
			all.Wait()
			for _, p := range parts {
				if p.err != nil {
					return p.err
				}
			}
			return nil
		},
		done: func() error {
			slices.SortFunc(parts, func(a, b *part) int { return int(a.seq) - int(b.seq) })
			for _, p := range parts {
				if p.seq != c.head()+1 {
					return fmt.Errorf("one of a burst has seq %d, %d is next", p.seq, c.head()+1)
				}
				p.done()
			}
			return nil
		},
	}
}

func (w *walk) opEdit(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	own := u.id
	if w.rng.IntN(10) == 0 {
		own = ""
	}
	seq, text := w.target(c, own), w.word()
	o := &op{
		text: fmt.Sprintf("%s edits %d of %s to %q", u.id, seq, c.id, text), want: w.model.mayEdit(c, u.id, seq),
		done: func() error { w.model.edited(c, u.id, seq, text); return nil },
	}
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		o.do = func(ctx context.Context) error { return d.client.Conversation(c.id).Edit(ctx, seq, text) }
		return o
	}
	req := &wire.EditMessageRequest{Conversation: c.id, Seq: seq, Id: w.newID(), Content: textContent(text)}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/EditMessage", req, &wire.EditMessageResponse{})
	}
	return o
}

func (w *walk) opRecall(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	own := ""
	if w.rng.IntN(2) == 0 {
		own = u.id
	}
	seq := w.target(c, own)
	again := fmt.Sprint("recall ", c.id, seq, u.id)
	o := &op{text: fmt.Sprintf("%s recalls %d of %s", u.id, seq, c.id), want: w.model.mayRecall(c, u.id, seq, w.once[again])}
	o.done = func() error {
		if !w.once[again] { // by the same user it is the same recall
			w.once[again] = true
			w.model.recalled(c, u.id, seq)
		}
		return nil
	}
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		o.do = func(ctx context.Context) error { return d.client.Conversation(c.id).Recall(ctx, seq) }
		return o
	}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: c.id, Seq: seq}, &wire.RecallMessageResponse{})
	}
	return o
}

func (w *walk) reaction() string { return []string{"👍", "❤️", "ok", "😀"}[w.rng.IntN(4)] }

func (w *walk) opReact(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	seq, k, remove := w.target(c, ""), w.reaction(), w.rng.IntN(3) == 0
	o := &op{text: fmt.Sprintf("%s reacts %s (remove %t) to %d of %s", u.id, k, remove, seq, c.id), want: w.model.mayReact(c, u.id, seq)}
	o.done = func() error {
		if c.at(seq).reacted(k, u.id) == remove {
			w.model.reacted(c, u.id, seq, k, remove)
		}
		return nil
	}
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		o.do = func(ctx context.Context) error {
			if v := d.client.Conversation(c.id); remove {
				return v.Unreact(ctx, seq, k)
			} else {
				return v.React(ctx, seq, k)
			}
		}
		return o
	}
	req := &wire.ReactToMessageRequest{Conversation: c.id, Seq: seq, Id: w.newID(), Reaction: k, Remove: remove}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/ReactToMessage", req, &wire.ReactToMessageResponse{})
	}
	return o
}

func (w *walk) opRead(u *user) *op {
	c := w.someOf(u)
	if c == nil {
		return nil
	}
	p := c.places[u.id]
	seq := c.head() - min(c.head(), uint64(w.rng.ExpFloat64()*4))
	if seq == 0 || !c.sees(p, seq) {
		return nil
	}
	o := &op{text: fmt.Sprintf("%s has read %s up to %d", u.id, c.id, seq), done: func() error { w.model.read(c, u.id, seq); return nil }}
	if d := w.device(u); d != nil && w.rng.IntN(3) > 0 {
		o.text += " on " + d.name
		o.do = func(ctx context.Context) error {
			if err := d.reach(ctx, c.id, seq); err != nil {
				return err
			}
			return d.client.Conversation(c.id).MarkRead(ctx, seq)
		}
		return o
	}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: c.id, Seq: seq}, &wire.MarkReadResponse{})
	}
	return o
}

func (w *walk) opMine(u *user) *op {
	c := w.some()
	p := c.places[u.id]
	if p == nil || c.head() == 0 {
		return nil
	}
	req := &wire.SetMyStateRequest{Conversation: c.id}
	on := w.rng.IntN(2) == 0
	switch w.rng.IntN(9) {
	case 8:
		folder := []string{"", "Work", "Home", " Work "}[w.rng.IntN(4)]
		req.Folder = &folder
	case 0:
		req.Pinned = &on
	case 1:
		until := int64(w.rng.IntN(3)) * 4_000_000_000_000
		req.MutedUntilMs = &until
	case 2:
		req.Hidden = &on
	case 3:
		draft := w.word()
		req.Draft = &draft
	case 4:
		req.Unread = &on
	case 5, 6:
		return w.opDelete(u, c)
	default:
		below := p.last(c.head()) + 1 - min(p.last(c.head()), uint64(w.rng.IntN(100)))
		req.ClearedBelow = &below
	}
	return &op{
		text: fmt.Sprintf("%s sets %v", u.id, req), do: w.either(u, "MessageService/SetMyState", req, &wire.SetMyStateResponse{}),
		done: func() error {
			setMine(&p.mine, req)
			if req.GetClearedBelow() > 1 {
				w.model.read(c, u.id, req.GetClearedBelow()-1)
			}
			return nil
		},
	}
}

// opDelete deletes some messages for a user alone.
func (w *walk) opDelete(u *user, c *conversation) *op {
	req := &wire.SetMyStateRequest{Conversation: c.id}
	p, want := c.places[u.id], okay
	if len(p.gone) > 450 {
		return nil // more is refused, unless some of them touch
	}
	for range 1 + w.rng.IntN(3) {
		seq := w.target(c, "")
		if e := c.at(seq); e != nil && e.streaming && e.sender == u.id {
			return nil // its author is asked how it goes on, and ends
		}
		if code := c.message(u.id, seq); code != okay {
			want = code
		}
		req.Delete = append(req.Delete, seq)
	}
	return &op{
		text: fmt.Sprintf("%s deletes %v of %s", u.id, req.Delete, c.id), want: want, do: w.either(u, "MessageService/SetMyState", req, &wire.SetMyStateResponse{}),
		done: func() error {
			if p.gone == nil {
				p.gone = map[uint64]bool{}
			}
			for _, seq := range req.Delete {
				p.gone[seq] = true
			}
			return nil
		},
	}
}

func setMine(s *wire.MyState, r *wire.SetMyStateRequest) {
	if r.Pinned != nil {
		s.Pinned = *r.Pinned
	}
	if r.MutedUntilMs != nil {
		s.MutedUntilMs = *r.MutedUntilMs
	}
	if r.Hidden != nil {
		s.Hidden = *r.Hidden
	}
	if r.Draft != nil {
		s.Draft = *r.Draft
	}
	if r.Folder != nil {
		s.Folder = strings.TrimSpace(*r.Folder)
	}
	if r.Unread != nil {
		s.Unread = *r.Unread
	}
	if r.ClearedBelow != nil {
		s.ClearedBelow = max(s.ClearedBelow, *r.ClearedBelow)
	}
}

// opAway takes a device off, opBack brings it back: by its position, or cold.
func (w *walk) opAway(u *user) *op {
	d := w.device(u)
	if d == nil || w.rng.IntN(4) > 0 {
		return nil
	}
	return &op{text: d.name + " goes away", do: func(ctx context.Context) error { return w.away(ctx, d) }, done: func() error { return nil }}
}

func (w *walk) opBack(u *user) *op {
	i := slices.IndexFunc(u.devices, func(d *device) bool { return d.client == nil })
	if i < 0 {
		return nil
	}
	d, cold := u.devices[i], w.rng.IntN(3) == 0
	return &op{text: fmt.Sprintf("%s comes back (cold: %t)", d.name, cold), do: func(ctx context.Context) error { return d.open(ctx, w, cold) }, done: func() error { return nil }}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5ca1ab1e)) }
