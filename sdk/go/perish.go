package skein

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/wire"
)

// What disappears (SPEC §4.27) the client takes away by itself: of an entry that is gone it
// keeps the place alone, as of a message that was deleted for the user, and a message among
// them is not unread, as one that was recalled. The windows that the server tells have gaps
// there later; the places between two windows count in Hidden and no more in Recalled. So
// it does not matter which of the two clocks is the first.

// Lifetime is a period of a conversation in which what is said disappears.
type Lifetime struct {
	// After is the entry that began it, Until its last one; 0: it goes on.
	After, Until uint64
	// Seconds is how long after it was stored an entry of it is gone.
	Seconds uint32
	// Gone is the last entry of it that is gone as far as it was noticed here, 0: none.
	Gone uint64
}

// perishing is the part of the core that takes away what is gone.
type perishing struct {
	// perishAt is when something is gone next, of any conversation.
	perishAt time.Time
	// goneAsk are those of which the server has to tell what is unread now, once
	// goneAskAt has come; goneAsked is when it was asked last.
	goneAsk              map[*conv]struct{}
	goneAskAt, goneAsked time.Time
}

const (
	// goneAskDelay is after what time the server is asked what is unread after something
	// disappeared: its clock may be a little late. goneAskEvery is how often at most.
	goneAskDelay = 2 * time.Second
	goneAskEvery = time.Minute
	// perishPage is how many places of a conversation are looked at in one read.
	perishPage = 500
)

// in tells whether a place is in the period.
func (l *Lifetime) in(seq uint64) bool { return l.After < seq && (l.Until == 0 || seq <= l.Until) }

// end is when an entry of the period is gone, by the server's clock, in Unix ms.
func (l *Lifetime) end(e *wire.Entry) int64 { return e.StoredAtMs + int64(l.Seconds)*1000 }

// lifetime is the period that a place is in, nil if it is in none.
func (r *ConversationRecord) lifetime(seq uint64) *Lifetime {
	for i := range r.Lifetimes {
		if r.Lifetimes[i].in(seq) {
			return &r.Lifetimes[i]
		}
	}
	return nil
}

// perished tells whether it was noticed here that an entry is gone.
func (r *ConversationRecord) perished(seq uint64) bool {
	l := r.lifetime(seq)
	return l != nil && seq <= l.Gone
}

// blanked is what is kept of an entry that is gone: its place, as the server tells one
// that was deleted.
func blanked(e *wire.Entry) *wire.Entry {
	return &wire.Entry{
		Conversation: e.Conversation, Seq: e.Seq, Id: e.Id, Sender: e.Sender, StoredAtMs: e.StoredAtMs, Kind: e.Kind,
		Count: e.Count, Pos: e.Pos, Amended: e.Amended, Recalled: e.Recalled, Deleted: true,
	}
}

// serverMs is what the server's clock says, as far as it is known.
func (k *core) serverMs() int64 { return k.o.now().Add(k.ahead).UnixMilli() }

// perishSoon has a conversation looked at when the server's clock is at ms.
func (k *core) perishSoon(cv *conv, ms int64) {
	at := time.UnixMilli(ms).Add(-k.ahead)
	cv.perishAt = earliest(cv.perishAt, at)
	k.perishAt = earliest(k.perishAt, at)
}

// lookForGone has all conversations looked at: the client begins, or the server's clock is
// another than it was taken for.
func (k *core) lookForGone() {
	for _, cv := range k.convs {
		if len(cv.rec.Lifetimes) > 0 {
			k.perishSoon(cv, k.serverMs())
		}
	}
}

// lookAgain has what is gone and behind the read marks looked at once more, as nothing tells
// whether the process before this one still had to ask what is left of it.
func (k *core) lookAgain() {
	for _, cv := range k.convs {
		cv.rec.Lifetimes = slices.Clone(cv.rec.Lifetimes) // the store has the old one
		for i := range cv.rec.Lifetimes {
			l := &cv.rec.Lifetimes[i]
			l.Gone = min(l.Gone, max(cv.rec.Read, l.After))
		}
	}
	k.lookForGone()
}

// serverIs takes note of what the server's clock says: the device's own may have been set.
func (k *core) serverIs(ms int64) {
	ahead := time.UnixMilli(ms).Sub(k.o.now())
	if off := ahead - k.ahead; off.Abs() >= time.Second {
		k.ahead = ahead
		k.lookForGone()
	}
}

// perish takes away what is gone by now.
func (k *core) perish() {
	now := k.o.now()
	if !due(k.perishAt, now) {
		return
	}
	k.commit() // what is read from the store has all that was applied
	k.perishAt = time.Time{}
	for _, cv := range k.convs {
		if due(cv.perishAt, now) {
			cv.perishAt = time.Time{}
			k.perishIn(cv)
		}
		k.perishAt = earliest(k.perishAt, cv.perishAt)
	}
}

// perishIn takes away what is gone of a conversation, and notes when it is due again.
func (k *core) perishIn(cv *conv) {
	r, unsure := &cv.rec, false
	cv.alive = nil
	r.Lifetimes = slices.Clone(r.Lifetimes) // the store has the old one
	for i := range r.Lifetimes {
		l := &r.Lifetimes[i]
		taken, shown := k.perishOf(cv, l)
		if len(taken) == 0 {
			continue
		}
		// What lies before the window is gone as well, and only the server knows what it was.
		unsure = unsure || r.theirs(max(r.Read, l.After)+1, min(r.Low-1, taken[0].Seq-1)) > 0
		for _, e := range taken {
			unsure = !k.notUnread(cv, e) || unsure
		}
		l.Gone = taken[len(taken)-1].Seq
		if shown {
			k.feed(FeedItem{Kind: FeedGone, Conversation: r.ID, From: taken[0].Seq, Seq: l.Gone})
		}
		k.touch(cv, true)
	}
	k.trimThreads(cv)
	if unsure {
		k.askWhatIsLeft(cv)
	}
}

// perishOf finds what is gone of a period since it was last looked at, and blanks it.
// shown: something of it was there to be shown.
func (k *core) perishOf(cv *conv, l *Lifetime) (taken []*wire.Entry, shown bool) {
	r, now := &cv.rec, k.serverMs()
	last := r.High
	if l.Until != 0 {
		last = min(last, l.Until)
	}
	for from := max(l.After+1, l.Gone+1, r.Low); from <= last; from += perishPage {
		es, err := k.o.store.Entries(context.Background(), r.ID, from, min(last, from+perishPage-1), perishPage)
		if err != nil {
			k.die(fmt.Errorf("%w: %w", ErrStore, err))
			return nil, false
		}
		for _, e := range es {
			if l.end(e) > now {
				if cv.alive == nil {
					cv.alive = map[uint64]int64{}
				}
				cv.alive[l.After] = l.end(e)
				k.perishSoon(cv, l.end(e))
				return taken, shown
			}
			if !e.Deleted {
				shown = true
				k.change(cv, blanked(e))
			}
			taken = append(taken, e)
		}
	}
	return taken, shown
}

// arrives tells whether an entry that is the next of its conversation is gone already, and
// otherwise notes when it will be.
func (k *core) arrives(cv *conv, e *wire.Entry) bool {
	if e.Seq <= cv.floor.seq {
		return true
	}
	l := cv.rec.lifetime(e.Seq)
	if l == nil {
		return false
	}
	now := k.serverMs()
	alive, some := cv.alive[l.After]
	if l.end(e) <= now && (!some || alive <= now) {
		k.perishSoon(cv, now)
		return true
	}
	if !some {
		if cv.alive == nil {
			cv.alive = map[uint64]int64{}
		}
		cv.alive[l.After] = l.end(e)
		k.perishSoon(cv, l.end(e))
	}
	return false
}

// arrivesLate is arrives for an entry from before the window, which has no time to come.
func (k *core) arrivesLate(cv *conv, e *wire.Entry) *wire.Entry {
	l := cv.rec.lifetime(e.Seq)
	switch {
	case l == nil || e.Deleted:
		return e
	case e.Seq <= l.Gone || l.end(e) <= k.serverMs():
		if !k.notUnread(cv, e) {
			k.askWhatIsLeft(cv)
		}
		return blanked(e)
	}
	k.perishSoon(cv, l.end(e))
	return e
}

// notUnread takes what is gone out of what is unread. It is false when only the server
// knows whether that is done already.
func (k *core) notUnread(cv *conv, e *wire.Entry) bool {
	if e.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE || e.Seq <= cv.rec.Read {
		return true
	}
	sure := cv.rec.recall(e.Seq)
	return cv.rec.noMention(e.Seq) && sure
}

// noMention takes a message out of the unread mentions; false: only the server knows
// whether it is one.
func (r *ConversationRecord) noMention(seq uint64) bool {
	i, known := slices.BinarySearch(r.Mentions, seq)
	if known {
		r.Mentions = slices.Delete(slices.Clone(r.Mentions), i, i+1) // the store has the old one
	}
	return known || i < len(r.Mentions) || r.MentionsMore == 0
}

// askWhatIsLeft asks the server what is unread in a conversation, a little later.
func (k *core) askWhatIsLeft(cv *conv) {
	k.goneAsk[cv] = struct{}{}
	if k.goneAskAt.IsZero() {
		k.goneAskAt = k.o.now().Add(goneAskDelay)
		if next := k.goneAsked.Add(goneAskEvery); !k.goneAsked.IsZero() && next.After(k.goneAskAt) {
			k.goneAskAt = next
		}
	}
}

// askGone asks what is due to be asked.
func (k *core) askGone(now time.Time) {
	if k.state != StateConnected || !due(k.goneAskAt, now) {
		return
	}
	for cv := range k.goneAsk {
		if k.convs[cv.rec.ID] == cv {
			k.askMembership(cv)
		}
	}
	clear(k.goneAsk)
	k.goneAskAt, k.goneAsked = time.Time{}, now
}

// begins takes the entry that began a period, and ended the one before.
func (k *core) begins(cv *conv, e *wire.Entry) {
	r := &cv.rec
	if slices.ContainsFunc(r.Lifetimes, func(l Lifetime) bool { return l.After >= e.Seq }) {
		return // the server told it, or a later one
	}
	r.Lifetimes = slices.Clone(r.Lifetimes) // the store has the old one
	for i := range r.Lifetimes {
		switch l := &r.Lifetimes[i]; l.Until {
		case 0:
			l.Until = e.Seq - 1
		case e.Seq - 2: // the period behind it has no entry: the one that began it goes with this one
			l.Until = e.Seq - 1
			k.perishSoon(cv, k.serverMs())
		}
	}
	r.Lifetimes = slices.DeleteFunc(r.Lifetimes, func(l Lifetime) bool { return l.Until == l.After })
	if e.Event.LifetimeS > 0 {
		r.Lifetimes = append(r.Lifetimes, Lifetime{After: e.Seq, Seconds: e.Event.LifetimeS})
	}
}

// takeLifetimes takes over the periods as the server tells them. Those that it does not
// tell any more are over: they stay until that was noticed here.
func (k *core) takeLifetimes(cv *conv, s *wire.ConversationState) {
	r := &cv.rec
	if len(s.Lifetimes) == 0 && len(r.Lifetimes) == 0 {
		return
	}
	var all []Lifetime
	for _, l := range s.Lifetimes {
		all = append(all, Lifetime{After: l.After, Until: l.Until, Seconds: l.LifetimeS})
	}
	for _, old := range r.Lifetimes {
		i := slices.IndexFunc(all, func(l Lifetime) bool { return l.After == old.After })
		switch {
		case i >= 0:
			all[i].Gone = old.Gone
			if all[i].Until == 0 && old.Until >= s.Seq { // it ended since the server looked
				all[i].Until = old.Until
			}
		case old.After > s.Seq, old.Until != 0 && old.Gone < min(old.Until, r.High):
			all = append(all, old)
		}
	}
	slices.SortFunc(all, func(a, b Lifetime) int { return int(int64(a.After) - int64(b.After)) })
	r.Lifetimes = all
	k.perishSoon(cv, k.serverMs())
}

// outOfWindows drops from what is unread what no window has any more, and blanks what is
// kept of it. was is the record before the server told the windows, floor up to where it is
// gone for all.
func (k *core) outOfWindows(cv *conv, was *ConversationRecord, floor uint64) {
	r := &cv.rec
	if len(r.Lifetimes) == 0 && len(was.Lifetimes) == 0 && floor < r.Low {
		return
	}
	out := func(seq uint64) bool { return r.theirs(seq, seq) == 0 }
	r.Recalled = slices.DeleteFunc(slices.Clone(r.Recalled), out)
	r.Mentions = slices.DeleteFunc(slices.Clone(r.Mentions), out)
	from := r.Low
	for _, w := range append(slices.Clone(r.Earlier), Window{First: r.First, Until: r.High}) {
		if last := min(max(w.First, 1)-1, r.High); from <= last && was.theirs(from, last) > 0 {
			k.blankAll(cv, from, last)
		}
		from = max(from, w.Until+1)
	}
}

// blankAll blanks what is kept of some places.
func (k *core) blankAll(cv *conv, from, last uint64) {
	k.commit()
	end := last
	for shown := false; ; {
		es, err := k.o.store.Entries(context.Background(), cv.rec.ID, from, last, perishPage)
		if err != nil {
			k.die(fmt.Errorf("%w: %w", ErrStore, err))
			return
		}
		for _, e := range es {
			if !e.Deleted {
				shown = true
				k.change(cv, blanked(e))
			}
		}
		if len(es) == perishPage && es[0].Seq > from {
			last = es[0].Seq - 1
			continue
		}
		if shown {
			k.feed(FeedItem{Kind: FeedGone, Conversation: cv.rec.ID, From: from, Seq: end})
		}
		return
	}
}

// stillGone takes out of what the server says is unread what is gone here; was is what was
// counted as recalled before.
func (k *core) stillGone(cv *conv, was []uint64) {
	r := &cv.rec
	for _, seq := range was {
		if r.perished(seq) {
			r.recall(seq)
		}
	}
	for _, seq := range r.Mentions {
		if r.perished(seq) {
			r.noMention(seq)
		}
	}
}

// markIsGone has the server asked where the read mark lies between two windows: how many
// of what is gone there it passed is not known here.
func (k *core) markIsGone(cv *conv) {
	r := &cv.rec
	if len(r.Lifetimes) > 0 && r.Read >= r.Low && r.theirs(r.Read, r.Read) == 0 {
		k.askWhatIsLeft(cv)
	}
}

// noteMissing has the server asked where messages before the next entry were not told: they
// were gone before they were read here.
func (k *core) noteMissing(cv *conv, e *wire.Entry) {
	r := &cv.rec
	if len(r.Lifetimes) > 0 && r.lastIsKept() && countBefore(e) > r.Last.Count && r.theirs(r.Last.Seq, e.Seq) == e.Seq-r.Last.Seq+1 {
		k.askWhatIsLeft(cv)
	}
}
