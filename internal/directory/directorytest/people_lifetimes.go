package directorytest

import (
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// lifetimes: a period begins with the entry that was promised, when that is applied, in
// whichever order; one without an entry is not kept; a dm has one promise at a time.
func lifetimes(p *people) {
	p.users("a", "b", "o")
	dm := im.DM("a", "b")
	p.ok(p.db.OpenDM(p.ctx, dm))
	n := byte(0)
	promise := func(d time.Duration) (*im.Promise, bool, error) {
		n++
		return p.db.PromiseLifetime(p.ctx, dm, func(all []im.Period) (*im.Promise, error) {
			ev, err := im.ChangeLifetime(all, d)
			if ev == nil {
				return nil, err
			}
			return &im.Promise{ID: im.NewMessageID(at, [10]byte{n}), Conversation: dm, Sender: "a", Event: *ev}, err
		})
	}
	periods := func(want ...im.Period) {
		p.Helper()
		got, err := p.db.Periods(p.ctx, []im.ConversationID{"grp:none", dm})
		p.ok(err)
		equal(p, "periods", got[dm], want)
		equal(p, "of others", len(got), min(len(want), 1))
	}
	change := func(d time.Duration, seq uint64) {
		p.Helper()
		made, busy, err := promise(d)
		p.ok(err)
		if made == nil || busy {
			p.Fatalf("%s: nothing is promised (busy %t)", d, busy)
		}
		p.ok(p.db.Apply(p.ctx, *made, seq))
		p.ok(p.db.Apply(p.ctx, *made, seq+50)) // it was applied
	}
	periods()
	change(time.Hour, 5)
	periods(im.Period{After: 5, Lifetime: time.Hour})
	made, busy, err := promise(time.Hour)
	p.ok(err)
	equal(p, "the same again", made == nil && !busy, true)
	change(0, 9)
	periods(im.Period{After: 5, Until: 8, Lifetime: time.Hour}, im.Period{After: 9})
	change(time.Minute, 10) // nothing was said between
	periods(im.Period{After: 5, Until: 9, Lifetime: time.Hour}, im.Period{After: 10, Lifetime: time.Minute})

	made, _, err = promise(2 * time.Hour)
	p.ok(err)
	again, busy, err := promise(3 * time.Hour)
	p.ok(err)
	equal(p, "a second one meanwhile", again == nil && busy, true)
	p.ok(p.db.Apply(p.ctx, *made, 20))
	refused := errors.New("no")
	_, _, err = p.db.PromiseLifetime(p.ctx, dm, func([]im.Period) (*im.Promise, error) { return nil, refused })
	equal(p, "a refusal", errors.Is(err, refused), true)
	for seq := uint64(22); ; seq += 2 {
		_, _, err := promise(time.Duration(seq) * time.Minute)
		if im.CodeOf(err) == im.CodeTooLarge {
			break
		}
		p.ok(err)
		pending, err := p.db.PendingOf(p.ctx, dm)
		p.ok(err)
		p.ok(p.db.Apply(p.ctx, pending[0], seq))
		if seq > 200 {
			p.Fatal("there is no end of periods")
		}
	}
	got, err := p.db.Periods(p.ctx, []im.ConversationID{dm})
	p.ok(err)
	equal(p, "so many", len(got[dm]), im.MaxPeriods)

	lifetimesEnd(p, dm, got[dm])
}

// lifetimesEnd: periods that are gone are one, which makes room; each conversation has a
// timer, of when the first of it may be gone.
func lifetimesEnd(p *people, dm im.ConversationID, all []im.Period) {
	p.Helper()
	rest := []uint64{all[1].After, all[2].After}
	for range 2 {
		p.ok(p.db.EndPeriods(p.ctx, dm, all[0].After, rest))
		left, err := p.db.Periods(p.ctx, []im.ConversationID{dm})
		p.ok(err)
		equal(p, "with three as one", len(left[dm]), im.MaxPeriods-2)
		equal(p, "the first", left[dm][0], im.Period{After: all[0].After, Until: all[3].After - 1, Gone: true})
		equal(p, "the next", left[dm][1], all[3])
	}

	g := im.Group("g")
	p.group(g, "g", "o")
	p.change(g, "o", 1, 4, im.Event{Type: im.EventLifetimeChanged, Lifetime: time.Hour})
	of, err := p.db.Periods(p.ctx, []im.ConversationID{g})
	p.ok(err)
	equal(p, "of a group", of[g], []im.Period{{After: 4, Lifetime: time.Hour}})

	due, err := p.db.DueTimers(p.ctx, at.Add(366*24*time.Hour), 9)
	p.ok(err)
	when := map[im.ConversationID]time.Time{}
	for _, timer := range due {
		equal(p, "kind", timer.Kind, im.TimerLifetime)
		when[timer.Conversation] = timer.At
	}
	equal(p, "timers", len(due), 2)
	equal(p, "of the dm, by its shortest", when[dm].UTC(), at.Add(time.Minute).UTC())
}
