package messaging

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// wholePlace is the revision for which a membership is told with the times before
// the last one: no roster that is kept in RAM is that new.
const wholePlace = math.MaxUint64

// reading makes a stretch of what one user may see of a conversation, page by page.
type reading struct {
	s     *Service
	user  im.UserID
	m     im.Membership
	whole bool // m has the times before the last one
	out   im.Stretch
	// deleted are the messages that the user deleted for themselves, once looked is true.
	deleted im.SeqSet
	looked  bool
	// touched are the entries that were amended, by seq; what of them lies in the
	// stretch is told there. answered are the roots of what was said in the
	// conversation's line between two times, which may be told and is not there yet.
	touched  map[uint64]im.Entry
	answered map[uint64]bool
}

// earlier are the times of membership before the last one. They are looked up when
// something asks for them: mostly nothing does.
func (r *reading) earlier(ctx context.Context) ([]im.Window, error) {
	if !r.whole && r.m.First > 1 {
		whole, err := r.s.membership(ctx, r.user, r.m.Conversation, wholePlace)
		if err != nil {
			return nil, err
		}
		r.m.Earlier = nil
		for _, w := range whole.Earlier {
			// It may be newer than m: then the time that begins with m's First is over, and
			// part of one with the times that it touches.
			if w.First < r.m.First {
				r.m.Earlier = append(r.m.Earlier, im.Window{First: w.First, Until: min(w.Until, r.m.First-1)})
			}
		}
	}
	r.whole = true
	return r.m.Earlier, nil
}

// up reads what lies from a seq up to last, at most limit entries.
func (r *reading) up(ctx context.Context, from, last uint64, limit int) error {
	windows := []im.Window{{First: r.m.First, Until: last}}
	if from <= r.m.First {
		earlier, err := r.earlier(ctx)
		if err != nil {
			return err
		}
		windows = append(slices.Clone(earlier), windows...)
	}
	b := budget{limit, maxSyncBytes}
	r.out.First = from
	for i, w := range windows {
		if w.Until < from || w.First > w.Until {
			if i == len(windows)-1 && w.First > w.Until { // the end is gone
				return r.ends(ctx, windows, from, last)
			}
			continue
		}
		// Also of a stretch that begins with the window: who has all before it asks from there.
		if i > 0 && w.First >= from {
			if err := r.between(ctx, windows[i-1].Until+1, w.First-1); err != nil {
				return err
			}
		}
		p, err := r.page(ctx, im.PageQuery{From: max(from, w.First, 1), Until: w.Until, Limit: b.entries})
		if err != nil {
			return err
		}
		if p.First == 0 {
			break
		}
		r.touch(p.Touched)
		r.out.Last = p.Last
		r.out.Entries = append(r.out.Entries, p.Entries...)
		if b.spend(p); p.Last < w.Until || b.entries <= 0 || b.bytes <= 0 {
			break
		}
	}
	return r.done(ctx)
}

// ends tells that what lies behind the last of some times, up to last, comes to nothing
// but what it made of what is before.
func (r *reading) ends(ctx context.Context, windows []im.Window, from, last uint64) error {
	first := from
	if n := len(windows) - 1; n > 0 {
		first = max(windows[n-1].Until+1, from)
	}
	r.out.Last = last
	if err := r.between(ctx, first, last); err != nil {
		return err
	}
	return r.done(ctx)
}

// down reads what lies from a seq down, at most limit entries; those are told in
// ascending order.
func (r *reading) down(ctx context.Context, from, last uint64, limit int) error {
	b := budget{limit, maxSyncBytes}
	r.out.Last = from
	w := im.Window{First: r.m.First, Until: last}
	for i := -1; ; i-- {
		if w.First <= from && w.First <= w.Until {
			p, err := r.page(ctx, im.PageQuery{From: max(w.First, 1), Until: min(from, w.Until), Backward: true, Limit: b.entries})
			if err != nil {
				return err
			}
			if p.First == 0 {
				break
			}
			r.touch(p.Touched)
			r.out.First = p.First
			r.out.Entries = append(p.Entries, r.out.Entries...)
			if b.spend(p); p.First > w.First || b.entries <= 0 || b.bytes <= 0 {
				break
			}
		}
		earlier, err := r.earlier(ctx)
		if err != nil {
			return err
		}
		if len(earlier)+i < 0 {
			break
		}
		w = earlier[len(earlier)+i]
	}
	return r.done(ctx)
}

// page reads one page of the conversation.
func (r *reading) page(ctx context.Context, q im.PageQuery) (im.Page, error) {
	q.Conversation = r.m.Conversation
	return r.s.pages.Page(ctx, q)
}

// betweenPages is how many pages of betweenLimit entries between two times of
// membership are looked through: the newest ones (SPEC §4.3).
const (
	betweenPages = 40
	betweenLimit = 500
)

// between keeps what was touched by the entries from first to last, in which the user
// was no member. Those are not theirs, but a message that they could read is, and says
// what it says now: above all if it was recalled meanwhile.
func (r *reading) between(ctx context.Context, first, last uint64) error {
	for n := 0; n < betweenPages && first <= last; n++ {
		p, err := r.page(ctx, im.PageQuery{From: first, Until: last, Backward: true, Limit: betweenLimit})
		if errors.Is(err, im.ErrJournalDamaged) || err == nil && p.First == 0 {
			return nil // whoever reads it is told
		}
		if err != nil {
			return err
		}
		r.touch(p.Touched)
		for i := range p.Entries {
			if root := p.Entries[i].Root(); root != 0 {
				if r.answered == nil {
					r.answered = map[uint64]bool{}
				}
				r.answered[root] = true
			}
		}
		last = p.First - 1
	}
	return nil
}

// touch keeps what a page touched.
func (r *reading) touch(es []im.Entry) {
	if len(es) > 0 && r.touched == nil {
		r.touched = make(map[uint64]im.Entry, len(es))
	}
	for _, e := range es {
		r.touched[e.Seq] = e
	}
}

// done finishes the stretch: what was touched before it and is the user's to read is
// told with it, and its end is named.
func (r *reading) done(ctx context.Context) error {
	o := &r.out
	if o.First == 0 || o.Last == 0 || o.First > o.Last {
		*o = im.Stretch{}
		return nil
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	if err := r.roots(ctx); err != nil {
		return err
	}
	for i := range o.Entries {
		if r.deleted.Has(o.Entries[i].Seq) {
			blank(&o.Entries[i])
		} else if err := r.present(ctx, &o.Entries[i]); err != nil {
			return err
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(r.touched)) {
		if seq >= o.First {
			break
		}
		if r.deleted.Has(seq) {
			continue
		}
		may, err := r.may(ctx, seq)
		if err != nil {
			return err
		}
		if may {
			e := r.touched[seq]
			if err := r.present(ctx, &e); err != nil {
				return err
			}
			o.Touched = append(o.Touched, e)
		}
	}
	if n := len(o.Entries); n > 0 && o.Entries[n-1].Seq == o.Last {
		return nil
	}
	got, err := r.s.journal.Read(ctx, r.m.Conversation, o.Last, false, 1)
	switch {
	case errors.Is(err, im.ErrJournalDamaged):
		return nil // the device can prove less of what it knows
	case err == nil && len(got) == 1 && got[0].Seq == o.Last:
		o.End = im.NewestOf(&got[0])
	}
	return err
}

// present leaves of an entry what its reader is told of it.
func (r *reading) present(ctx context.Context, e *im.Entry) error {
	if e.Amended == 0 {
		return nil
	}
	if err := r.personal(ctx, e); err != nil {
		return err
	}
	return r.recount(ctx, e)
}

// personal leaves of what is kept of an entry what its reader is told.
func (r *reading) personal(ctx context.Context, e *im.Entry) error {
	if !entrycodec.Personal(e.Body) {
		e.Body = entrycodec.Told(e.Body)
		return nil
	}
	state, err := entrycodec.Open(e.Body, e.Amended)
	if err != nil {
		return nil // who decodes it finds that out, too
	}
	bucket, err := r.s.bucket(ctx, e.Conversation, state.BucketOf(r.user))
	if errors.Is(err, im.ErrJournalDamaged) {
		bucket, err = nil, nil // the message is told all the same
	}
	if err == nil {
		state.Mine(r.user, bucket)
		e.Body = entrycodec.Encode(&state.Told)
	}
	return err
}

// may tells whether an entry before the end is the user's to read.
func (r *reading) may(ctx context.Context, seq uint64) (bool, error) {
	if seq >= r.m.First {
		return true, nil
	}
	earlier, err := r.earlier(ctx)
	return slices.ContainsFunc(earlier, func(w im.Window) bool { return w.First <= seq && seq <= w.Until }), err
}

// budget bounds the entries of one answer, in number and bytes. What does not
// fit is pulled.
type budget struct{ entries, bytes int }

func newBudget(entries int) *budget { return &budget{entries, maxSyncBytes} }

func (b *budget) spend(p im.Page) {
	for _, es := range [][]im.Entry{p.Entries, p.Touched} {
		b.entries -= len(es)
		for i := range es {
			b.bytes -= len(es[i].Body) + entryOverhead
		}
	}
}

// missed tells what a view holds of news: the newest entries after since, at most
// limit and within the budget, of all times that the user was a member, and what
// was amended after since.
func (s *Service) missed(ctx context.Context, u im.UserID, v *view, since uint64, limit int, b *budget) (im.Stretch, error) {
	r := reading{s: s, user: u, m: v.m, whole: true, deleted: v.deleted, looked: true}
	r.out.Last = v.head.Seq
	limit = min(limit, b.entries)
	w := im.Window{First: v.m.First, Until: v.head.Seq}
	for i := -1; ; i-- {
		if n := len(v.m.Earlier); i == -1 && n > 0 && w.First > w.Until { // the end is gone
			r.out.First = v.m.Earlier[n-1].Until + 1
			if err := r.between(ctx, r.out.First, w.Until); err != nil {
				return im.Stretch{}, err
			}
			w = v.m.Earlier[n-1]
			continue
		}
		more, err := r.missedIn(ctx, w, since, &limit, b)
		if errors.Is(err, im.ErrJournalDamaged) {
			break // whoever pulls them is told; the other conversations go on
		}
		if err != nil {
			return im.Stretch{}, err
		}
		if !more || len(v.m.Earlier)+i < 0 {
			break
		}
		before := v.m.Earlier[len(v.m.Earlier)+i]
		if err := r.between(ctx, before.Until+1, w.First-1); err != nil {
			return im.Stretch{}, err
		}
		w = before
	}
	return r.out, r.done(ctx)
}

// missedIn is missed for one window; more tells that all of it is new to the
// device and fits.
func (r *reading) missedIn(ctx context.Context, w im.Window, since uint64, limit *int, b *budget) (more bool, err error) {
	if *limit <= 0 || b.bytes <= 0 {
		return false, nil
	}
	// Mostly one or two are new: what is read beyond them costs as much as they do.
	for n := 2; *limit > 0 && w.Until >= max(w.First, 1); n *= 4 {
		p, err := r.page(ctx, im.PageQuery{From: max(w.First, 1), Until: w.Until, Backward: true, Limit: min(n, *limit)})
		if err != nil || p.First == 0 {
			return false, err
		}
		k := len(p.Entries)
		for k > 0 && p.Entries[k-1].Pos > since && b.takes(&p.Entries[k-1]) {
			k--
		}
		first := p.First
		if k > 0 {
			first = p.Entries[k-1].Seq + 1 // known to the device, or too much
		}
		if first > p.Last {
			return false, nil
		}
		for i := range p.Touched {
			if !b.takes(&p.Touched[i]) {
				return false, nil // it is pulled with what touched it
			}
		}
		r.touch(p.Touched)
		r.out.First = first
		r.out.Entries = append(p.Entries[k:len(p.Entries):len(p.Entries)], r.out.Entries...)
		for _, e := range p.Entries[:k] {
			if e.Amended >= first {
				r.touch([]im.Entry{e})
			}
		}
		if k > 0 || p.First <= w.First {
			return k == 0, nil
		}
		*limit -= len(p.Entries) + len(p.Touched)
		w.Until = p.First - 1
	}
	return false, nil
}

// takes reports whether an entry fits, and takes its share of the budget then.
func (b *budget) takes(e *im.Entry) bool {
	size := len(e.Body) + entryOverhead
	if size > b.bytes || b.entries <= 0 {
		return false
	}
	b.bytes -= size
	b.entries--
	return true
}

// How many pages of how many entries are looked at for the last one that amends
// nothing.
const (
	lastPages = 3
	lastLimit = 16
)

// lastOne tells the last entry of a view that amends nothing and that the user did not
// delete for themselves, and that what lies behind it does. Of what they deleted at the
// end so much is told as one looks at.
func (s *Service) lastOne(ctx context.Context, u im.UserID, v *view, b *budget) (im.Stretch, error) {
	r := reading{s: s, user: u, m: v.m, whole: true, deleted: v.deleted, looked: true}
	first, until := max(v.m.First, 1), v.head.Seq
	if n := len(v.m.Earlier); first > until && n > 0 { // the end is gone
		first, until = v.m.Earlier[n-1].First, v.m.Earlier[n-1].Until
	}
	for i := range lastPages {
		if until < first {
			break
		}
		limit := 1 // mostly it is the very last one
		if i > 0 {
			limit = lastLimit
		}
		p, err := r.page(ctx, im.PageQuery{From: first, Until: until, Backward: true, Limit: limit})
		switch {
		case errors.Is(err, im.ErrJournalDamaged) || err == nil && p.First == 0:
			return im.Stretch{}, nil
		case err != nil:
			return im.Stretch{}, err
		}
		found, fits := r.lastOf(p.Entries, v.head.Seq, b)
		if found || !fits {
			break
		}
		until = p.First - 1
	}
	return r.out, r.done(ctx)
}

// lastOf adds the entries of a page from its last one on that the user did not delete,
// and tells whether there is one, and whether they fit.
func (r *reading) lastOf(es []im.Entry, head uint64, b *budget) (found, fits bool) {
	for i := len(es) - 1; i >= 0 && !found; i-- {
		if !b.takes(&es[i]) {
			return false, false
		}
		r.out.First, r.out.Last = es[i].Seq, head
		r.out.Entries = slices.Insert(r.out.Entries, 0, es[i])
		found = !r.deleted.Has(es[i].Seq)
	}
	return found, true
}
