package limits

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Lane says how far somebody who waits for a turn is trusted: those of a lane come before
// those of the next one, most of the time.
type Lane int

// The lanes.
const (
	// Known is who was here before: at a device or an address of their own.
	Known Lane = iota
	// Unknown is everybody else.
	Unknown
	// Doubted is an address of which a few attempts have failed lately.
	Doubted
	lanes
)

// shares are how many turns of those that are given while all lanes wait go to each: who
// is doubted waits for longer, and not for ever.
var shares = [lanes]int{Known: 8, Unknown: 4, Doubted: 1}

const (
	// turnsWaiting bounds those that wait for a turn, turnsOfOne those of one place: all
	// that come from one network at once. Each takes some 200 bytes here.
	turnsWaiting = 1024
	turnsOfOne   = 512
	// turnWait is how long one waits for a turn at most; then it is refused.
	turnWait = 15 * time.Second
)

// Turns gives turns at something that is dear, such as the check of a password: some at the
// same time, and fairly. Those that wait stand in a lane, by how far they are trusted, and
// in each lane a place (a network of addresses) has its turn after each other one, however
// many of its own wait. When too many wait, the last one of the place with the most in the
// least trusted lane goes: never somebody for the sake of one who is trusted less. It is
// safe for concurrent use.
type Turns struct {
	mu      sync.Mutex
	free    int
	waiting int
	lanes   [lanes]lane
}

// lane is the places of which somebody waits.
type lane struct {
	places map[string]*list.Element
	order  list.List // of *place, the next one first
	credit int       // turns that it may have before others that wait
}

type place struct {
	name  string
	queue []*turn // the first one first
}

// turn is one that waits. given is closed with its turn, or with refused set.
type turn struct {
	lane    Lane
	from    string
	given   chan struct{}
	refused bool
}

// NewTurns makes turns of which so many are under way at the same time.
func NewTurns(atOnce int) *Turns {
	t := &Turns{free: atOnce}
	for i := range t.lanes {
		t.lanes[i].places = map[string]*list.Element{}
		t.lanes[i].credit = shares[i]
	}
	return t
}

// Waiting is how many wait for a turn.
func (t *Turns) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}

// Enter waits for a turn, which ends with leave. overloaded: too many wait, or it took too
// long; the error says when to come back.
func (t *Turns) Enter(ctx context.Context, l Lane, from string) (leave func(), err error) {
	t.mu.Lock()
	if t.free > 0 && t.waiting == 0 {
		t.free--
		t.mu.Unlock()
		return t.leave, nil
	}
	w, err := t.wait(l, from)
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case <-w.given:
	case <-ctx.Done():
		return t.giveUp(w, im.Wrap(ctx.Err(), im.CodeUnavailable, "the request was given up"))
	case <-timer.C:
		return t.giveUp(w, crowded())
	}
	if w.refused {
		return nil, crowded()
	}
	return t.leave, nil
}

func crowded() error {
	e := im.Errorf(im.CodeOverloaded, "too many are logging in at this moment")
	e.RetryAfter = 2 * time.Second
	return e
}

// wait puts one into its queue, and makes room for it. Caller holds mu.
func (t *Turns) wait(l Lane, from string) (*turn, error) {
	of := &t.lanes[l]
	if e := of.places[from]; e != nil && len(e.Value.(*place).queue) >= turnsOfOne || t.waiting >= turnsWaiting && !t.makeRoom(l, from) {
		return nil, crowded()
	}
	e := of.places[from]
	if e == nil {
		e = of.order.PushBack(&place{name: from})
		of.places[from] = e
	}
	w := &turn{lane: l, from: from, given: make(chan struct{})}
	p := e.Value.(*place)
	p.queue = append(p.queue, w)
	t.waiting++
	return w, nil
}

// makeRoom refuses the last one of the place with the most in the least trusted lane in
// which somebody waits; false: that would be the one who comes. Caller holds mu.
func (t *Turns) makeRoom(l Lane, from string) bool {
	for i := lanes - 1; i >= l; i-- {
		var most *list.Element
		for e := t.lanes[i].order.Front(); e != nil; e = e.Next() {
			if most == nil || len(e.Value.(*place).queue) > len(most.Value.(*place).queue) {
				most = e
			}
		}
		if most == nil {
			continue
		}
		p, own := most.Value.(*place), 0
		if e := t.lanes[l].places[from]; e != nil {
			own = len(e.Value.(*place).queue)
		}
		if i == l && own+1 >= len(p.queue) {
			return false
		}
		last := p.queue[len(p.queue)-1]
		t.remove(i, most, len(p.queue)-1)
		last.refused = true
		close(last.given)
		return true
	}
	return false
}

// remove takes one out of the queue of a place. Caller holds mu.
func (t *Turns) remove(l Lane, e *list.Element, i int) {
	p := e.Value.(*place)
	p.queue = slices.Delete(p.queue, i, i+1)
	t.waiting--
	if len(p.queue) == 0 {
		delete(t.lanes[l].places, p.name)
		t.lanes[l].order.Remove(e)
	}
}

// giveUp ends the waiting of one, unless its turn came at the same moment: that one goes to
// the next.
func (t *Turns) giveUp(w *turn, why error) (func(), error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.given:
		if !w.refused {
			t.next()
		}
	default:
		e := t.lanes[w.lane].places[w.from]
		t.remove(w.lane, e, slices.Index(e.Value.(*place).queue, w))
	}
	return nil, why
}

// leave ends a turn.
func (t *Turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

// next gives a turn that is free to whoever is next. Caller holds mu.
func (t *Turns) next() {
	l := t.laneOfNext()
	if l < 0 {
		t.free++
		return
	}
	of := &t.lanes[l]
	e := of.order.Front()
	w := e.Value.(*place).queue[0]
	of.order.MoveToBack(e)
	t.remove(l, e, 0)
	of.credit--
	close(w.given)
}

// laneOfNext is the first lane that has somebody and credit; when none of those that have
// somebody has credit, all get theirs anew. -1: nobody waits. Caller holds mu.
func (t *Turns) laneOfNext() Lane {
	for range 2 {
		for i := range t.lanes {
			if t.lanes[i].order.Len() > 0 && t.lanes[i].credit > 0 {
				return Lane(i)
			}
		}
		for i := range t.lanes {
			t.lanes[i].credit = shares[i]
		}
	}
	return -1
}
