package directorytest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A follower is worked on by one at a time, and where it is is noted by that one
// only.
func followers(p *people) {
	state := func() im.FollowerState {
		p.Helper()
		s, err := p.db.Follower(p.ctx, "f", 0)
		p.ok(err)
		return s
	}
	lead := func(seen im.FollowerState, holder string, want bool) {
		p.Helper()
		led, err := p.db.LeadFollower(p.ctx, seen, holder)
		p.ok(err)
		equal(p, holder+" leads", led, want)
	}
	save := func(holder string, pos uint64, want bool) {
		p.Helper()
		held, err := p.db.SaveFollower(p.ctx, im.FollowerState{Name: "f", Holder: holder, Place: im.Place{Era: 7, Pos: pos}, Updated: at})
		p.ok(err)
		equal(p, holder+" holds it", held, want)
	}
	none := state()
	equal(p, "nobody", none, im.FollowerState{Name: "f"})
	save("a", 1, false)
	lead(none, "a", true)
	lead(none, "b", false)
	seen := state()
	save("a", 5, true)
	lead(seen, "b", false) // it was seen alive since
	save("b", 9, false)
	seen = state()
	equal(p, "a is at", im.FollowerState{Name: "f", Place: im.Place{Era: 7, Pos: 5}, Updated: at, Holder: "a", Beat: seen.Beat}, seen)
	lead(seen, "b", true)
	save("a", 99, false)
	equal(p, "b goes on at", state().Place.Pos, 5)
	p.ok(p.db.LeaveFollower(p.ctx, "f", 0, "a"))
	equal(p, "holder", state().Holder, "b")
	p.ok(p.db.LeaveFollower(p.ctx, "f", 0, "b"))
	equal(p, "left at", state().Place.Pos, 5)
	lead(state(), "c", true)
	// Others are not concerned.
	for _, other := range []im.FollowerState{{Name: "f", Shard: 1}, {Name: "g"}} {
		s, err := p.db.Follower(p.ctx, other.Name, other.Shard)
		p.ok(err)
		equal(p, "another", s, other)
		led, err := p.db.LeadFollower(p.ctx, s, "x")
		p.ok(err)
		equal(p, "it is led", led, true)
	}
	equal(p, "holder", state().Holder, "c")
}

// Of those who take over at the same time, one does.
func followerRaced(p *people) {
	for range 10 {
		seen, err := p.db.Follower(p.ctx, "f", 0)
		p.ok(err)
		var leads atomic.Int32
		var wg sync.WaitGroup
		for _, who := range []string{"a", "b", "c", "d"} {
			wg.Go(func() {
				led, err := p.db.LeadFollower(p.ctx, seen, who)
				if err != nil {
					p.Error(err)
				}
				if led {
					leads.Add(1)
				}
			})
		}
		wg.Wait()
		equal(p, "who leads", leads.Load(), 1)
	}
}

// What is set aside is kept once, by position.
func setAside(p *people) {
	get := func() []im.SetAside {
		p.Helper()
		got, err := p.db.AllSetAside(p.ctx, "f", 0, 10)
		p.ok(err)
		return got
	}
	equal(p, "none", len(get()), 0)
	one := im.SetAside{Name: "f", Conversation: "grp:g", Seq: 7, Pos: 1 << 60, Reason: "no", At: at}
	two := im.SetAside{Name: "f", Conversation: "grp:h", Seq: 1, Pos: 3, Reason: "it's \"so\"", At: at}
	other := im.SetAside{Name: "g", Conversation: "grp:h", Seq: 1, Pos: 3, At: at}
	for _, x := range []im.SetAside{one, two, other} {
		p.ok(p.db.SetAside(p.ctx, x))
		x.At, x.Reason = at.Add(time.Hour), "again"
		p.ok(p.db.SetAside(p.ctx, x))
	}
	equal(p, "set aside", get(), []im.SetAside{two, one})
}
