package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/wire"
)

// lifetimes are after what times messages disappear. Time passes by hoursPassed, and a walk
// takes less than what lies between these and a multiple of that.
var lifetimes = []time.Duration{0, 10 * time.Hour, 10 * time.Hour, 101 * time.Hour}

// lifetimeKind is the kind of operation that a walk is asked for with --disappear.
const lifetimeKind = "lifetime"

// maxPeriods is how many periods of a conversation a walk makes: less than there may be.
const maxPeriods = 28

// period is a part of a conversation, behind the entry after, in which what is said
// disappears; 0: it stays.
type period struct {
	after    uint64
	lifetime time.Duration
	gone     bool // it was over, and all of it gone, when time passed last
}

// end is the last entry of a period, 0: it is not over.
func (c *conversation) end(i int) uint64 {
	if i+1 < len(c.periods) {
		return c.periods[i+1].after - 1
	}
	return 0
}

// disappeared tells whether an entry is nobody's to read any more.
func (c *conversation) disappeared(seq uint64) bool {
	for i, p := range c.periods {
		if end := c.end(i); p.after < seq && (end == 0 || seq <= end) {
			return p.gone || p.lifetime > 0 && c.m.passed-c.at(seq).at >= p.lifetime
		}
	}
	return false
}

// sees tells whether an entry is a user's to read.
func (c *conversation) sees(p *place, seq uint64) bool { return p.sees(seq) && !c.disappeared(seq) }

// seesAny tells whether any entry of a stretch is a user's to read, and no amendment.
func (c *conversation) seesAny(p *place, from, to uint64) bool {
	for seq := from; seq <= to; seq++ {
		if c.sees(p, seq) && !c.at(seq).amends() {
			return true
		}
	}
	return false
}

// begins is a change of the lifetime that was stored.
func (c *conversation) begins(seq uint64, lifetime time.Duration) {
	if n := len(c.periods); n > 0 && c.periods[n-1].after == seq-1 { // nothing is in it
		c.periods = c.periods[:n-1]
	}
	c.periods = append(c.periods, period{after: seq, lifetime: lifetime})
}

// fold makes one of periods beside each other that are over and of which nothing is left,
// with the entries between them, which it returns.
func (c *conversation) fold() (with []uint64) {
	for i := range c.periods {
		p, end := &c.periods[i], c.end(i)
		p.gone = p.gone || end != 0 && c.disappeared(end)
	}
	var left []period
	for _, p := range c.periods {
		if n := len(left); n > 0 && left[n-1].gone && p.gone {
			with = append(with, p.after)
			continue
		}
		left = append(left, p)
	}
	c.periods = left
	return with
}

// opLifetime changes after what time what is said from now on disappears.
func (w *walk) opLifetime(u *user) *op {
	c := w.someOf(u)
	if c == nil || len(c.periods) >= maxPeriods {
		return nil
	}
	lifetime, now := lifetimes[w.rng.IntN(len(lifetimes))], time.Duration(0)
	if n := len(c.periods); n > 0 {
		now = c.periods[n-1].lifetime
	}
	want := okay
	if c.group != nil {
		want = c.group.power(u.id, wire.Role_ROLE_ADMIN, "")
	} else {
		want = w.model.maySend(c, u.id)
	}
	return &op{
		text: fmt.Sprintf("%s has what is said in %s disappear after %v", u.id, c.id, lifetime), want: want,
		do: w.either(u, "MessageService/SetLifetime", &wire.SetLifetimeRequest{Conversation: c.id, LifetimeS: uint32(lifetime / time.Second)}, &wire.SetLifetimeResponse{}),
		done: func() error {
			if now != lifetime {
				c.begins(w.model.event(c, u.id, wire.EventType_EVENT_TYPE_LIFETIME_CHANGED, nil, "", "").seq, lifetime)
			}
			return nil
		},
	}
}

// folded lets the model's periods end, and waits until the server has noted it, too.
func (w *walk) folded(ctx context.Context) error {
	for _, id := range w.model.order {
		c := w.model.convs[id]
		for _, seq := range c.fold() {
			i := slices.IndexFunc(w.users, func(u *user) bool { p := c.places[u.id]; return p != nil && p.sees(seq) })
			if i < 0 {
				continue
			}
			err := w.until(ctx, func() error {
				var resp wire.ListEntriesResponse
				if err := w.post(ctx, w.users[i], "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: c.id, From: seq, Limit: 1}, &resp); err != nil {
					return err
				}
				if len(resp.Entries) > 0 && resp.Entries[0].Seq == seq {
					return &drift{fmt.Sprintf("%d of %s lies between periods that are gone, and is there", seq, c.id)}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// again connects the devices anew: they hear what time it is. Otherwise they hear it with
// a Pong, and ask once a minute what is left unread.
func (w *walk) again(ctx context.Context) error {
	for _, u := range w.users {
		for _, d := range u.devices {
			if d.client == nil {
				continue
			}
			if err := w.away(ctx, d); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			if err := d.open(ctx, w, false); err != nil {
				return err
			}
		}
	}
	return nil
}
