package soak

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

const (
	groupService = "skein.v1.GroupService/"
	// maxGroups bounds the groups that are made while the load runs.
	maxGroups = 120
	// keptMessages is how many acknowledged messages of a user may be taken back.
	keptMessages = 64
)

// Load lets every user send, and groups, marks and accounts change, until ctx ends.
func (w *World) Load(ctx context.Context) {
	var wg sync.WaitGroup
	for i, s := range w.senders {
		wg.Go(func() { w.talk(ctx, uint64(i), s.p, s.d) })
	}
	wg.Go(func() { w.changeGuests(ctx) })
	wg.Go(func() { w.makeGroups(ctx) })
	wg.Go(func() { w.takeBack(ctx) })
	wg.Go(func() { w.clerk.work(ctx) })
	wg.Wait()
	for _, d := range w.restless {
		d.calm()
	}
}

// talk is one user at a device: mostly single messages, now and then a burst, reading, and a
// message that was acknowledged before once more.
func (w *World) talk(ctx context.Context, i uint64, p *person, d Device) {
	rng := rand.New(rand.NewPCG(w.plan.Seed, i))
	_, device := d.Name()
	every := time.Duration(float64(time.Second) * float64(len(w.senders)) / w.plan.Rate)
	next := time.Now()
	for n := 0; ; {
		c := p.talk(rng)
		burst := 1
		if rng.IntN(20) == 0 {
			burst = 2 + rng.IntN(30)
		}
		for range burst {
			n++
			text := fmt.Sprintf("%s/%s %d %s", p.id, device, n, strings.Repeat("x", rng.IntN(200)))
			if d.Send(ctx, c, text) != nil {
				return // ctx ended, or the device did and wrote down why
			}
		}
		if rng.IntN(8) == 0 {
			_ = d.MarkRead(ctx, c) // what became of it is in the history
		}
		if r, ok := d.(*rawClient); ok && rng.IntN(20) == 0 {
			r.resend(ctx, rng)
		}
		next = next.Add(time.Duration(burst) * every)
		if late := time.Since(next); late > time.Second {
			next = next.Add(late) // the server was away: no catching up
		}
		if pause(ctx, time.Until(next)) != nil {
			return
		}
	}
}

// pause waits; it returns why it ended early.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// person is a user.
type person struct {
	id    string
	token string // for calls

	mu    sync.Mutex
	talks []string
	// acked are some messages of theirs, for takeBack.
	acked []spot
}

// spot is where a message stands.
type spot struct {
	conversation string
	seq          uint64
	timeline     string
}

// talk chooses a conversation.
func (p *person) talk(rng *rand.Rand) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.talks[rng.IntN(len(p.talks))]
}

func (p *person) join(conversation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.talks = append(p.talks, conversation)
}

// keep remembers an acknowledged message in place of any older one.
func (p *person) keep(s spot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.acked) < keptMessages {
		p.acked = append(p.acked, s)
		return
	}
	p.acked[rand.IntN(len(p.acked))] = s
}

func (p *person) pick(rng *rand.Rand) (spot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.acked) == 0 {
		return spot{}, false
	}
	i := rng.IntN(len(p.acked))
	s := p.acked[i]
	p.acked = append(p.acked[:i], p.acked[i+1:]...)
	return s, true
}

// wentBack forgets groups that are not there, and the messages to take back.
func (p *person) wentBack(groups map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.talks = slices.DeleteFunc(p.talks, func(c string) bool { return strings.HasPrefix(c, "grp:") && !groups[c] })
	p.acked = p.acked[:0]
}

// WentBack tells the users that the server was put back: who talks where, and
// what the clerk expects to be there, is as it was in the copy. What the devices
// know they find out from the server alone.
func (w *World) WentBack(r *Return) {
	groups := map[string]bool{}
	for i := range r.Kept.Standings {
		groups[r.Kept.Standings[i].Conversation] = true
	}
	for _, p := range w.users {
		p.wentBack(groups)
	}
	w.clerk.wentBack(r.CopyBegan)
}

// callTime bounds one call of the API.
const callTime = 10 * time.Second

// call asks the API as a user.
func (w *World) call(ctx context.Context, token, method string, req, resp proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return skein.Post(ctx, w.plan.HTTP, method, token, req, resp)
}

// changeGuests removes the last users, two where there are enough, from a group
// with one call and adds them again with another.
func (w *World) changeGuests(ctx context.Context) {
	rng := rand.New(rand.NewPCG(w.plan.Seed, ^uint64(0)))
	for in := true; ; {
		if pause(ctx, 50*time.Millisecond+time.Duration(rng.Int64N(int64(600*time.Millisecond)))) != nil {
			return
		}
		var err error
		if in {
			req := &wire.RemoveMembersRequest{Conversation: w.guests, Users: w.visitors}
			err = w.call(ctx, w.users[0].token, groupService+"RemoveMembers", req, &wire.RemoveMembersResponse{})
		} else {
			req := &wire.AddMembersRequest{Conversation: w.guests, Users: w.visitors}
			err = w.call(ctx, w.users[0].token, groupService+"AddMembers", req, &wire.AddMembersResponse{})
		}
		if err == nil { // otherwise the same again: both may be repeated
			in = !in
		}
	}
}

// makeGroups makes groups of three that nobody leaves, and writes down when it
// was answered that they are members. In every second one nothing is said: what
// tells of it is its first entry alone.
func (w *World) makeGroups(ctx context.Context) {
	rng := rand.New(rand.NewPCG(w.plan.Seed, 1<<32))
	for n := range maxGroups {
		if pause(ctx, time.Duration(rng.Int64N(int64(400*time.Millisecond)))) != nil {
			return
		}
		who := rng.Perm(len(w.users))[:3]
		if n%4 != 0 {
			who[2] = n % min(2, len(w.users)) // who has a restless device
		}
		if who[2] == who[0] || who[2] == who[1] {
			continue
		}
		name := fmt.Sprintf("made%d", n)
		var c string
		for {
			var err error
			if c, err = w.group(ctx, name, who); err == nil {
				break
			}
			if pause(ctx, 50*time.Millisecond) != nil {
				return // perhaps it was made: nobody was told
			}
		}
		for _, i := range who {
			w.clerk.h.Add(Record{Kind: Joined, Conversation: c, Of: w.users[i].id})
			if n%2 == 0 {
				w.users[i].join(c)
			}
		}
	}
}

// takeBack recalls messages, edits others, and has users react and reply to them.
func (w *World) takeBack(ctx context.Context) {
	rng := rand.New(rand.NewPCG(w.plan.Seed, 1<<33))
	for {
		if pause(ctx, time.Duration(rng.Int64N(int64(400*time.Millisecond)))) != nil {
			return
		}
		p := w.users[rng.IntN(len(w.users))]
		s, ok := p.pick(rng)
		if !ok {
			continue
		}
		switch rng.IntN(9) {
		case 0, 1:
			w.edit(ctx, rng, p, s)
			continue
		case 2, 3, 4:
			w.react(ctx, rng, s)
			continue
		case 5, 6, 7:
			w.reply(ctx, rng, s)
			p.keep(s) // there may be more replies, and it may be taken back
			continue
		}
		w.withdraw(ctx, p, s)
	}
}

// withdraw has a user take back what they said.
func (w *World) withdraw(ctx context.Context, p *person, s spot) {
	rec := Record{Kind: Recalling, Conversation: s.conversation, Seq: s.seq, Timeline: s.timeline, Of: p.id}
	w.clerk.h.Add(rec)
	var resp wire.RecallMessageResponse
	req := &wire.RecallMessageRequest{Conversation: s.conversation, Seq: s.seq}
	if err := w.call(ctx, p.token, messageService+"RecallMessage", req, &resp); err != nil {
		return // perhaps it was; that the sender left the group is an answer too
	}
	rec.Kind, rec.Count = Recalled, resp.Seq
	w.clerk.h.Add(rec)
}

// edit has a message say something else. Some edits are asked for twice, with one id, as
// after an answer that was lost: that is one edit.
func (w *World) edit(ctx context.Context, rng *rand.Rand, p *person, s spot) {
	rec := Record{Kind: Editing, Conversation: s.conversation, Seq: s.seq, Timeline: s.timeline, Of: p.id}
	w.clerk.h.Add(rec)
	id := wire.NewIDSource(nil, nil).Next()
	req := &wire.EditMessageRequest{
		Conversation: s.conversation, Seq: s.seq, Id: id[:],
		Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprintf("edited %x", id)}},
	}
	for range 1 + rng.IntN(2) {
		var resp wire.EditMessageResponse
		if err := w.call(ctx, p.token, messageService+"EditMessage", req, &resp); err != nil {
			continue // perhaps it was
		}
		rec.Kind, rec.Count = Edited, resp.Seq
		w.clerk.h.Add(rec)
	}
}

// react has some users react to a message, each with something of a few, or take it back:
// some of it changes nothing. Who is no member is refused.
func (w *World) react(ctx context.Context, rng *rand.Rand, s spot) {
	for range 1 + rng.IntN(4) {
		p := w.users[rng.IntN(len(w.users))]
		req := &wire.ReactToMessageRequest{
			Conversation: s.conversation, Seq: s.seq, Reaction: []string{"👍", "🎉", "done"}[rng.IntN(3)], Remove: rng.IntN(3) == 0,
		}
		var resp wire.ReactToMessageResponse
		if err := w.call(ctx, p.token, messageService+"ReactToMessage", req, &resp); err == nil && resp.Seq > 0 {
			w.clerk.h.Add(Record{Kind: Reacted, Conversation: s.conversation, Seq: s.seq, Count: resp.Seq, Timeline: s.timeline, Of: p.id})
		}
	}
}

// reply has some users say something in a message's thread, now and then in the
// conversation's line as well. Some replies are asked for twice, with one id, which is one
// reply; some are taken back. Who is no member is refused.
func (w *World) reply(ctx context.Context, rng *rand.Rand, s spot) {
	for range 1 + rng.IntN(4) {
		p := w.users[rng.IntN(len(w.users))]
		id := wire.NewIDSource(nil, nil).Next()
		content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprintf("reply %x", id)}}
		req := &wire.SendMessageRequest{Conversation: s.conversation, Id: id[:], Content: content, Thread: s.seq, AlsoInMain: rng.IntN(4) == 0}
		rec := Record{Conversation: s.conversation, ID: hex.EncodeToString(id[:]), Hash: ContentHash(s.conversation, p.id, content, 0), Timeline: s.timeline}
		if req.AlsoInMain {
			// Where a call is not answered the next one does not wait for its outcome.
			rec.Kind, rec.Code = Invoked, sentAnew
			w.clerk.add(p.id, rec)
			rec.Code = ""
		}
		for range 1 + rng.IntN(2) {
			var resp wire.SendMessageResponse
			if err := w.call(ctx, p.token, messageService+"SendMessage", req, &resp); err != nil {
				continue // perhaps it is there
			}
			rec.Kind, rec.Seq, rec.Count, rec.Of = Replied, s.seq, resp.Seq, p.id
			w.clerk.h.Add(rec)
		}
		if rec.Kind == Replied && rng.IntN(4) == 0 {
			w.withdraw(ctx, p, spot{s.conversation, rec.Count, s.timeline})
		}
	}
}

// resend sends a message that was acknowledged before, of any age, once more.
func (c *rawClient) resend(ctx context.Context, rng *rand.Rand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) == 0 || ctx.Err() != nil {
		return
	}
	k := c.kept[rng.IntN(len(c.kept))]
	if c.find(k.send.Id) >= 0 {
		return // it is on its way already
	}
	select {
	case c.slots <- struct{}{}:
	default:
		return
	}
	c.h.Add(Record{Kind: Resent, Conversation: k.send.Conversation, Seq: k.seq, ID: hex.EncodeToString(k.send.Id), Hash: k.hash, Timeline: c.timeline})
	m := &outgoing{send: k.send, hash: k.hash, again: true}
	c.outbox = append(c.outbox, m)
	if c.s != nil {
		c.transmit(m)
	}
}

// keptSends is how many acknowledged messages a device keeps for resend: the first
// ones of its life among them.
const keptSends = 256

// ackedSend is a message that was acknowledged.
type ackedSend struct {
	send *wire.Send
	hash string
	seq  uint64
}

func (c *rawClient) keep(m *outgoing, seq uint64) {
	k := ackedSend{m.send, m.hash, seq}
	switch n := len(c.kept); {
	case n < keptSends:
		c.kept = append(c.kept, k)
	default:
		c.kept[n/4+rand.IntN(n-n/4)] = k
	}
}
