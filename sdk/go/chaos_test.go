package skein

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// TestChaos is a random walk: a server that loses, repeats and reorders pushes,
// loses acks, turns sends away and hangs up, and a client that is restarted. At
// the end everything is everywhere, once, in order.
func TestChaos(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				w := &walk{
					rig: r, rnd: rnd, server: rand.New(rand.NewPCG(rnd.Uint64(), 2)),
					sent: map[string][]string{}, heard: map[string][]uint64{}, shown: map[string]shown{},
				}
				w.run()
			})
		})
	}
}

type walk struct {
	*rig
	rnd    *rand.Rand
	server *rand.Rand // used under the server's lock only
	stash  []*wire.Entry
	// By conversation: texts sent by the client, seqs told by its events, and what
	// these come to.
	sent  map[string][]string
	heard map[string][]uint64
	shown map[string]shown
}

var chaosConversations = []string{dm, grp, "grp:g2", "dm:alice:carol", "grp:g3"}

func (w *walk) run() {
	w.onPush, w.onSend = w.push, w.answer
	w.deltaMax, w.walkMax = 1+w.rnd.IntN(20), w.rnd.IntN(2)*w.rnd.IntN(30)
	w.dial(WithMaxGap(0))
	for i := range 300 {
		w.step(i)
		if w.rnd.IntN(2) == 0 {
			synctest.Wait()
		}
	}
	w.do(func() { w.onPush, w.onSend = nil, nil })
	pause(5 * time.Minute) // heal: retries, back-off, and heads compared
	w.beacon()             // the digest of two conversations that both lack their last entry may agree
	pause(time.Minute)
	w.collect()
	out, err := w.c.Outbox(bg)
	if err != nil || len(out) != 0 {
		w.t.Errorf("outbox = %v, %v", out, err)
	}
	for _, conv := range chaosConversations {
		if len(w.journal[conv]) > 0 {
			w.check(conv)
		}
	}
}

func (w *walk) chance(percent int) bool { return w.server.IntN(100) < percent }

func (w *walk) push(_ *fakeConn, e *wire.Entry) []*wire.Entry {
	out := []*wire.Entry{e}
	switch {
	case w.chance(15): // late
		w.stash = append(w.stash, e)
		return nil
	case w.chance(15): // lost
		return nil
	case w.chance(15): // twice
		out = append(out, e)
	}
	if w.chance(30) {
		out = append(out, w.stash...)
		w.stash = nil
	}
	return out
}

func (w *walk) answer(*fakeConn, *wire.Send) verdict {
	if w.chance(10) {
		return verdict{code: wire.CodeOverloaded}
	}
	return verdict{noAck: w.chance(8), ackTwice: w.chance(10), hangUp: w.chance(8), noStore: w.chance(4)}
}

func (w *walk) step(i int) {
	conv := chaosConversations[w.rnd.IntN(len(chaosConversations))]
	switch p := w.rnd.IntN(100); {
	case p < 15:
		w.amend(conv, i)
	case p < 40:
		w.say(conv, "bob", fmt.Sprintf("b%d", i))
	case p < 80:
		s := fmt.Sprintf("a%d", i)
		if _, err := w.c.Conversation(conv).SendAsync(bg, s); err != nil {
			w.t.Fatal(err)
		}
		w.sent[conv] = append(w.sent[conv], s)
	case p < 85:
		w.fake.hangUp()
	case p < 90:
		broadcast(w.fake, &wire.Resync{})
	case p < 93:
		w.end()
		w.collect()
		w.sayMany(conv, "bob", w.rnd.IntN(80))
		w.dial(WithMaxGap(0))
	case p < 97:
		time.Sleep(time.Duration(w.rnd.IntN(20)) * time.Second)
	default:
		w.beacon()
	}
}

// amend edits or recalls a message.
func (w *walk) amend(conv string, i int) {
	n := 0
	w.do(func() { n = len(w.journal[conv]) })
	if n == 0 {
		return
	}
	target, plain := 1+uint64(w.rnd.IntN(n)), false
	w.do(func() { plain = !amends(w.journal[conv][target-1]) })
	switch {
	case !plain:
	case w.rnd.IntN(4) == 0:
		w.takeBack(conv, target)
	default:
		w.edit(conv, target, fmt.Sprintf("edit %d", i))
	}
}

func (w *walk) beacon() {
	w.do(func() {
		h := &wire.Heads{}
		for _, x := range chaosConversations {
			h.Heads = append(h.Heads, &wire.Head{Conversation: x, Seq: uint64(len(w.journal[x]))})
		}
		for _, fc := range w.conns {
			reply(fc, h)
		}
	})
}

// collect keeps what the events of one process told.
func (w *walk) collect() {
	for _, e := range eventsOf[*MessageEvent](w.events) {
		c := e.Message.Conversation
		w.heard[c] = append(w.heard[c], e.Message.Seq)
	}
	for _, c := range chaosConversations {
		if w.shown[c] == nil {
			w.shown[c] = shown{}
		}
		w.shown[c].follow(c, w.events.all())
	}
}

func (w *walk) check(conv string) {
	w.checkStore(conv)
	var mine []string
	for _, s := range w.stores {
		if slices.Contains(w.sent[conv], s) {
			mine = append(mine, s)
		}
	}
	var theirs []uint64
	for _, e := range w.journal[conv] {
		if e.Sender != "alice" && !amends(e) {
			theirs = append(theirs, e.Seq)
		}
	}
	eq(w.t, conv+": own messages stored", mine, w.sent[conv])
	eq(w.t, conv+": events", w.heard[conv], theirs)
	eq(w.t, conv+": what they come to", w.shown[conv], w.says(conv, w.shown[conv]))
	n, _ := w.c.Conversation(conv).Unread(bg)
	eq(w.t, conv+": unread", n, w.stateOf(conv).Unread)
}
