package directorytest

import (
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// retention: floors go forward only, each with the time it moved, and keep what was set;
// what is set has a timer look at it now, each time.
func retention(p *people) {
	dm, g := im.DM("a", "b"), im.Group("g")
	known := func(want map[im.ConversationID]im.Retention) {
		p.Helper()
		got, err := p.db.Retention(p.ctx, []im.ConversationID{dm, "grp:none", g})
		p.ok(err)
		equal(p, "so many", len(got), len(want))
		for c, w := range want {
			r := got[c]
			equal(p, "raised", r.Raised.UTC(), w.Raised.UTC())
			r.Raised, w.Raised = time.Time{}, time.Time{}
			equal(p, string(c), r, w)
		}
	}
	known(nil)
	newest, waits, err := p.db.Raised(p.ctx)
	p.ok(err)
	equal(p, "none has a floor", newest == 0 && !waits, true)
	p.ok(p.db.RaiseFloors(p.ctx, nil, at))
	p.ok(p.db.GaveUp(p.ctx, []im.Floor{{Conversation: dm, Seq: 3}}))
	known(nil)
	p.ok(p.db.RaiseFloors(p.ctx, []im.Floor{{Conversation: dm, Seq: 5}}, at))
	p.ok(p.db.SetRetention(p.ctx, g, true, time.Hour, at))
	known(map[im.ConversationID]im.Retention{dm: {Floor: 5, Raised: at}, g: {Own: true, Keep: time.Hour}})
	raised := func(newest uint64, waits bool) {
		p.Helper()
		n, w, err := p.db.Raised(p.ctx)
		p.ok(err)
		equal(p, "the newest", n, newest)
		equal(p, "some wait", w, waits)
	}
	raised(0, true)
	p.ok(p.db.GaveUp(p.ctx, []im.Floor{{Conversation: dm, Seq: 5, Told: 70}}))
	p.ok(p.db.GaveUp(p.ctx, []im.Floor{{Conversation: dm, Seq: 4, Told: 80}}))
	raised(70, false)
	later := at.Add(time.Minute)
	p.ok(p.db.RaiseFloors(p.ctx, []im.Floor{{Conversation: dm, Seq: 5}, {Conversation: g, Seq: 7}}, later))
	p.ok(p.db.RaiseFloors(p.ctx, []im.Floor{{Conversation: dm, Seq: 4}}, later))
	p.ok(p.db.SetRetention(p.ctx, dm, true, 0, at))
	known(map[im.ConversationID]im.Retention{dm: {Own: true, Floor: 5, Given: 5, Raised: at, Told: 70}, g: {Own: true, Keep: time.Hour, Floor: 7, Raised: later}})
	raised(70, true)
	p.ok(p.db.SetRetention(p.ctx, g, false, 0, later))
	known(map[im.ConversationID]im.Retention{dm: {Own: true, Floor: 5, Given: 5, Raised: at, Told: 70}, g: {Floor: 7, Raised: later}})

	due, err := p.db.DueTimers(p.ctx, later, 9)
	p.ok(err)
	equal(p, "timers", len(due), 2)
	equal(p, "kind", due[1].Kind, im.TimerRetention)
	equal(p, "of the group", due[1].At.UTC(), later.UTC())

	many := make([]im.Floor, 1201)
	cs := make([]im.ConversationID, len(many))
	for i := range many {
		many[i] = im.Floor{Conversation: im.Group(fmt.Sprint("many", i)), Seq: uint64(i) + 1}
		cs[i] = many[i].Conversation
	}
	p.ok(p.db.RaiseFloors(p.ctx, many, at))
	p.ok(p.db.GaveUp(p.ctx, many))
	got, err := p.db.Retention(p.ctx, cs)
	p.ok(err)
	equal(p, "many", len(got), len(many))
	for _, f := range many {
		if r := got[f.Conversation]; r.Floor != f.Seq || r.Given != f.Seq {
			p.Fatalf("%s: %+v", f.Conversation, r)
		}
	}
}
