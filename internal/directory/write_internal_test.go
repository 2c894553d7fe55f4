package directory

import "testing"

// One who gives up in the moment in which it is given the lead keeps it: it
// has to write what waits behind it.
func TestLeadIsNotLost(t *testing.T) {
	g := &together{leading: true}
	wait := func() *write {
		w := &write{turn: make(chan bool, 1)}
		g.waiting = append(g.waiting, w)
		return w
	}
	gone, next, last := wait(), wait(), wait()
	if !g.withdraw(gone) {
		t.Error("one whose turn has not come is held")
	}
	g.handOn([]*write{{}})
	if g.withdraw(next) || !<-next.turn {
		t.Error("the lead is lost")
	}
	if len(g.waiting) != 2 || !g.withdraw(last) || !g.leading {
		t.Error("the others are not as they were")
	}
}
