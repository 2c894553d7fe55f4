package remote

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus/mem"
	"github.com/skein-im/skein/internal/im"
)

// writer is a connection with its client: many messages under way, those that
// are refused for now sent again in order, as SPEC §5.9 says.
type writer struct {
	w    *world
	node string
	conv im.ConversationID
	from im.Actor

	mu      sync.Mutex
	all     []*sent // in the order of sending
	next    int     // of all, not under way
	flying  int
	held    bool // something was refused: nothing is sent before all is answered
	refused int
}

func (w *world) writer(node, name string, c im.ConversationID, n int) *writer {
	x := &writer{w: w, node: node, conv: c, from: im.Actor{User: im.UserID(name), Connection: im.ConnectionID("c-" + name), Order: new(im.Order)}}
	for range n {
		x.all = append(x.all, &sent{m: w.message(c)})
	}
	return x
}

// step sends what may be sent.
func (x *writer) step(pipeline int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held && x.flying > 0 {
		return
	}
	if x.held {
		x.held = false
		for x.next = 0; x.next < len(x.all) && x.all[x.next].ack.Seq != 0; x.next++ {
		}
	}
	for ; x.next < len(x.all) && x.flying < pipeline && !x.held; x.next++ {
		if s := x.all[x.next]; s.ack.Seq == 0 { // an answer may have been overtaken by a later one
			x.send(s)
		}
	}
}

// send does what the gateway does with a Send.
func (x *writer) send(s *sent) {
	x.from.Turn.At++
	if first, waits := x.from.Order.First(x.from.Connection, x.conv); waits {
		if first != s.m.ID {
			x.refused++
			x.held = true
			return
		}
		x.from.Order.GoOn(x.from.Connection, x.conv)
		x.from.Turn.Since = x.from.Turn.At
	}
	x.flying++
	from := x.from
	x.mu.Unlock()
	x.w.nodes[x.node].Logic().Send(context.Background(), from, s.m, func(a im.Ack, err error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.flying--
		if err != nil {
			x.from.Order.Refused(from.Connection, x.conv, s.m.ID, from.Turn)
			x.refused++
			x.held = true
			s.err = err
			return
		}
		s.replies, s.ack, s.err = 1, a, nil
	})
	x.mu.Lock()
}

// finish steps until everything is stored.
func finish(t *testing.T, all []*writer, each func(i int)) {
	t.Helper()
	for i := range 60_000 {
		done := true
		for _, x := range all {
			x.step(8)
			x.mu.Lock()
			done = done && x.next == len(x.all) && x.flying == 0 && !x.held
			x.mu.Unlock()
		}
		if done {
			return
		}
		each(i)
		pass(time.Millisecond)
	}
	for _, x := range all {
		x.mu.Lock()
		first, waits := x.from.Order.First(x.from.Connection, x.conv)
		t.Logf("%s at %s: %d of %d, %d under way, held %v, %d refused; %x has to come first: %v", x.from.User, x.node, x.next, len(x.all), x.flying, x.held, x.refused, first, waits)
		x.mu.Unlock()
	}
	t.Fatal("not everything was stored")
}

// Nodes refuse a part of everything for now, each for itself, while the bus loses
// and turns around, nodes lose their store, and what is under way moves from one
// to the other: every sender's messages stand in their order (SPEC §5.9).
func TestRefusalsKeepTheOrder(t *testing.T) {
	for _, nodes := range []string{"g1 g2 l1 l2", "gl1 gl2", "gl1"} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(nodes, " ", seed), func(t *testing.T) {
				in(t, nodes, func(t *testing.T, w *world) {
					dice := rand.New(rand.NewPCG(seed, 1))
					w.store.onSend = func(string, im.Actor, im.Message) error {
						if dice.IntN(16) != 0 {
							return nil
						}
						code := []im.Code{im.CodeOverloaded, im.CodeStorageFull, im.CodeUnavailable, im.CodeUnknown}[dice.IntN(4)]
						return im.Errorf(code, "for now")
					}
					w.hub.SetFaults(mem.Faults{Drop: 0.05, Duplicate: 0.05, Reorder: 0.05, Delay: time.Millisecond})
					var gates, homes []string
					for name := range w.nodes {
						if name[0] == 'g' {
							gates = append(gates, name)
						}
						if name[0] == 'l' || name[1] == 'l' {
							homes = append(homes, name)
						}
					}
					var all []*writer
					for i := range 6 { // two write to each conversation
						all = append(all, w.writer(gates[i%len(gates)], fmt.Sprintf("u%d", i), dm(i/2), 60))
					}
					finish(t, all, func(i int) {
						if i%400 == 100 {
							w.store.setAway(homes[i/400%len(homes)], true)
						}
						if i%400 == 250 {
							w.store.setAway(homes[i/400%len(homes)], false)
						}
					})
					w.hub.SetFaults(mem.Faults{})
					pass(time.Second)
					refused := 0
					for _, x := range all {
						w.stored(x.all)
						refused += x.refused
					}
					if refused == 0 {
						t.Fatal("nothing was refused")
					}
				})
			})
		}
	}
}

// Nobody takes anything: the first is given up, and so are those behind it,
// though they have not waited as long and a node comes just then.
func TestGivenUpWithWhatIsBehind(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		w.store.setAway("l1", true)
		pass(time.Second)
		x := w.writer("g1", "a00", dm(0), 2)
		x.step(1)
		pass(sendPatience / 2)
		x.step(2)
		for range 1000 {
			x.mu.Lock()
			given := x.refused > 0
			x.mu.Unlock()
			if given {
				break
			}
			pass(10 * time.Millisecond)
		}
		w.store.setAway("l1", false)
		pass(2 * time.Second)
		x.mu.Lock()
		if x.flying != 0 || x.all[0].err == nil || x.all[1].ack.Seq != 0 {
			t.Errorf("%d are under way; the first: %v, the second: seq %d, %v", x.flying, x.all[0].err, x.all[1].ack.Seq, x.all[1].err)
		}
		x.mu.Unlock()
		finish(t, []*writer{x}, func(int) {})
		pass(time.Second)
		w.stored(x.all)
	})
}

// A gateway's memory of a node's refusals is bounded: beyond it, the row begins
// anew, and nothing is lost by that.
func TestHeldUpIsBounded(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		w.store.onSend = func(string, im.Actor, im.Message) error { return im.Errorf(im.CodeOverloaded, "for now") }
		for i := range maxHeldUp + 10 {
			x := w.writer("g1", fmt.Sprintf("u%d", i), dm(0), 1)
			x.step(1)
			if i%500 == 0 {
				pass(commitTime)
			}
		}
		pass(time.Second)
		w.store.mu.Lock()
		w.store.onSend = nil
		w.store.mu.Unlock()
		all := w.burst1("g1", 20)
		pass(time.Second)
		w.stored(all)
		if n := w.nodes["l1"].served.asking["g1"].order.Waiting(); n > 0 {
			t.Errorf("%d are remembered", n)
		}
	})
}
