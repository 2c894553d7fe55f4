package directorytest

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// timers: each message has one of a kind, which is moved and removed as it was read only;
// a user has few of a kind.
func timers(p *people) {
	p.users("a", "b")
	one := func(u im.UserID, n byte, in time.Duration) im.Timer {
		return im.Timer{Kind: im.TimerStream, Conversation: "grp:g", User: u, ID: im.NewMessageID(at, [10]byte{n}), Hash: 1<<63 + uint64(n), At: at.Add(in), Set: at}
	}
	due := func(in time.Duration, limit int) []im.Timer {
		p.Helper()
		all, err := p.db.DueTimers(p.ctx, at.Add(in), limit)
		p.ok(err)
		return all
	}
	for n, in := range []time.Duration{3 * time.Minute, time.Minute, 2 * time.Minute} {
		p.ok(p.db.SetTimer(p.ctx, one("a", byte(n), in), 3))
	}
	equal(p, "one too many", im.CodeOf(p.db.SetTimer(p.ctx, one("a", 9, 0), 3)), im.CodeTooLarge)
	p.ok(p.db.SetTimer(p.ctx, one("b", 0, 2*time.Hour), 3))
	p.ok(p.db.SetTimer(p.ctx, one("a", 2, 4*time.Minute), 3)) // it is there: in its own place
	equal(p, "due", due(3*time.Minute, 9), []im.Timer{one("a", 1, time.Minute), one("a", 0, 3*time.Minute)})
	equal(p, "the first one due", due(3*time.Minute, 1), []im.Timer{one("a", 1, time.Minute)})
	of, err := p.db.TimersOf(p.ctx, "a", im.TimerStream, 2)
	p.ok(err)
	equal(p, "of a user", of, []im.Timer{one("a", 1, time.Minute), one("a", 0, 3*time.Minute)})

	stale := one("a", 2, 2*time.Minute) // as it was before it was set again
	p.ok(p.db.EndTimers(p.ctx, []im.Timer{one("a", 1, time.Minute), one("a", 0, 3*time.Minute), stale}, []time.Time{{}, at.Add(time.Hour), {}}))
	equal(p, "what is left", due(30*time.Minute, 9), []im.Timer{one("a", 2, 4*time.Minute)})
	moved := one("a", 0, time.Hour)
	equal(p, "later", due(2*time.Hour, 9), []im.Timer{one("a", 2, 4*time.Minute), moved, one("b", 0, 2*time.Hour)})
}
