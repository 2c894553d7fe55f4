package skein

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/skein-im/skein/wire"
)

// maxPulls bounds the conversations that are asked for and not answered, where each is
// asked for in a frame of its own; where several go in one frame it is from how few
// unanswered ones on the next frame goes.
const maxPulls = 8

// newestBlock is how many entries a window begins with that starts anew.
const newestBlock = 50

// missing reports whether the conversation lacks entries that exist and are visible.
func (cv *conv) missing() bool {
	r := &cv.rec
	return r.Head >= r.after(r.High) && (r.Until == 0 || r.High < r.Until)
}

// returned tells by an entry that is there for the user that they came back to
// a group they had left.
func (cv *conv) returned(seq uint64) bool { return cv.rec.Until != 0 && seq > cv.rec.Until }

// wantPull queues a conversation whose entries are missing.
func (k *core) wantPull(cv *conv) {
	if cv.missing() && !cv.pulling {
		k.pullQueue = append(k.pullQueue, cv)
	}
}

// wantPulls queues all of them, after a connect, and asks for counts that are not known.
func (k *core) wantPulls() {
	for _, cv := range k.convs {
		k.wantPull(cv)
		if cv.uncounted {
			k.askCount(cv, cv.rec.Read)
		}
	}
}

// pumpPulls asks for what is missing, as far as the bound allows.
func (k *core) pumpPulls() {
	k.pullsAt = time.Time{}
	if k.link == nil || k.syncing || k.state != StateConnected {
		return
	}
	now := k.o.now()
	under := 0
	for _, r := range k.reqs {
		if r.kind == reqFill || r.kind == reqNewest {
			under++
		}
	}
	room, entries := k.pullRoom(under)
	var later []*conv
	for i, cv := range k.pullQueue {
		switch {
		case k.convs[cv.rec.ID] != cv || cv.pulling || !cv.missing():
		case room == 0:
			later = append(later, k.pullQueue[i:]...)
			k.pullQueue = later
			return
		case now.Before(cv.pullAt):
			k.pullsAt = earliest(k.pullsAt, cv.pullAt)
			later = append(later, cv)
		default:
			r, backward, limit := k.lacks(cv)
			if uint64(limit) > entries { // with the next frame
				room = 0
				later = append(later, cv)
				continue
			}
			k.pull(r, backward, limit)
			room--
			entries -= uint64(limit)
		}
	}
	k.pullQueue = later
}

// lacks is what to ask for: the hole after the window, or, if it is larger than the
// limit, its newest entries: if these do not reach back to the window, it starts
// anew with them.
func (k *core) lacks(cv *conv) (r *request, backward bool, limit int) {
	from, upTo := cv.rec.after(cv.rec.High), cv.rec.Head
	for seq := range cv.early {
		upTo = min(upTo, seq-1)
	}
	if lacks := cv.rec.theirs(from, upTo); k.o.maxGap == 0 || lacks <= k.o.maxGap {
		n := min(int(min(lacks, 1<<20)), k.pageLimit())
		return &request{kind: reqFill, cv: cv, from: from}, false, n
	}
	// How much of it amends, and is none to be shown, only the answer tells.
	r = &request{kind: reqNewest, cv: cv}
	if upTo < cv.rec.Head {
		r.from = upTo
	}
	return r, true, min(newestBlock, k.pageLimit())
}

func (k *core) onRange(f *wire.Range) {
	r := k.reqs[f.Number]
	if r == nil || r.cv == nil {
		return
	}
	if f.Error == nil && f.Conversation != r.cv.rec.ID {
		k.log.Warn("an answer of another conversation ignored", "asked", r.cv.rec.ID, "told", f.Conversation)
		return
	}
	delete(k.reqs, f.Number)
	k.answeredOne(r)
	var err error
	if f.Error != nil {
		err = errorOf(f.Error)
	}
	switch r.kind {
	case reqFill, reqNewest:
		r.cv.pulling = false
		if err != nil {
			k.pullRefused(r, err)
		} else {
			k.filled(r, f)
		}
		k.wantPull(r.cv)
		if r.cv.uncounted && !r.cv.missing() {
			k.askCount(r.cv, r.cv.rec.Read)
		}
	case reqHistory:
		if err == nil {
			k.extend(r, f)
		}
		k.after = append(k.after, func(failed error) { r.done(f, cmp.Or(failed, err)) })
	case reqCount:
		if err == nil && r.cv.rec.Read == r.mark {
			k.counted(r, f)
		}
	}
}

// counted takes the running count at a mark from what follows it: amendments, which
// it may stand at, do not count.
func (k *core) counted(r *request, f *wire.Range) {
	rec := &r.cv.rec
	count, known := k.countAt(r.cv, f.LastSeq)
	switch {
	case len(f.Entries) > 0:
		e := f.Entries[0]
		count = e.Count
		if e.Seq > r.mark { // it also may lie between two times of membership
			count = countBefore(e)
		}
	case f.LastSeq == 0:
		return
	case !known && f.LastSeq < f.Head:
		k.pull(&request{kind: reqCount, cv: r.cv, from: f.LastSeq + 1, mark: r.mark}, false, min(newestBlock, k.pageLimit()))
		return
	case !known:
		return // it is asked again when what is missing is here
	}
	rec.ReadCount, r.cv.uncounted = count, false
	k.touch(r.cv, false)
}

// pullRefused: later again, or, if it is not the user's to read, never.
func (k *core) pullRefused(r *request, err error) {
	var e *Error
	if errors.As(err, &e) && e.Action() == wire.ActionFix {
		k.log.Warn("conversation cannot be read", "conversation", r.cv.rec.ID, "err", err)
		k.giveUp(r.cv)
		return
	}
	var wait time.Duration
	if e != nil {
		wait = e.RetryAfter
	}
	k.pullAgain(r, wait)
}

// giveUp: what lies beyond the window is not the user's to read.
func (k *core) giveUp(cv *conv) {
	cv.rec.Head = cv.rec.High
	clear(cv.early)
	clear(cv.newer)
	k.forgetStored(cv.rec.ID, math.MaxUint64)
	k.touch(cv, true)
}

func (k *core) pullLater(cv *conv, least time.Duration) {
	cv.pullFailed++
	cv.pullAt = k.o.now().Add(max(least, k.o.backoff(cv.pullFailed)))
}

// filled takes the answer of a forward or newest Pull.
func (k *core) filled(r *request, f *wire.Range) {
	cv, before := r.cv, r.cv.rec.High
	rec, s := &cv.rec, stretchOf(f)
	if f.Head > rec.Head {
		rec.Head = f.Head
		k.touch(cv, true)
	}
	first, next := s.begin(rec), rec.after(rec.High)
	if rec.Until != 0 && s.last > rec.Until { // see take; what follows is pulled once more is known
		s = s.upTo(rec.Until)
		k.askMembership(cv)
	}
	switch {
	case s.last == 0 && r.kind == reqNewest && r.from > 0:
		k.jump(cv, r.from+1, false) // nothing is shown of what lies before that which came early
	case s.last == 0 && f.Head > rec.High:
		k.giveUp(cv) // it exists, but is not shown
		return
	case s.last <= rec.High:
	case first > next && r.kind == reqNewest:
		k.jump(cv, first, true)
	case first > next && r.from == next:
		// Asked forward from the next one: what is left out is not the user's to read.
		// An empty window has nothing it could have missed.
		k.jump(cv, first, rec.High >= rec.Low)
	}
	if s.last > 0 {
		k.takeStretch(cv, s, false)
	}
	if rec.High == before && cv.missing() { // no progress: do not ask in a circle
		k.pullLater(cv, 0)
		return
	}
	cv.pullFailed, cv.pullAt = 0, time.Time{}
}

// extend adds an older stretch to the window if it touches it.
func (k *core) extend(r *request, f *wire.Range) {
	cv, rec := r.cv, &r.cv.rec
	for i, e := range f.Entries {
		for _, a := range r.amended {
			f.Entries[i] = latest(f.Entries[i], a)
		}
		if e.GetConversation() != rec.ID || amends(e) {
			return
		}
		if e.Seq <= cv.floor.seq { // by a node that had not noticed yet
			f.Entries[i] = blanked(e)
		}
	}
	if k.convs[rec.ID] != cv || r.from != rec.before(rec.Low) {
		return
	}
	s := stretchOf(f)
	low := s.begin(rec)
	if s.last < r.from || low >= rec.Low { // nothing older is the user's to read
		rec.startAt(rec.Low)
		k.touch(cv, true)
		return
	}
	for i, e := range s.entries {
		if e.Seq < low || e.Seq >= rec.Low {
			continue
		}
		e = k.arrivesLate(cv, e)
		f.Entries[i] = e
		k.keep(e)
		k.noteMention(r.cv, e.Seq, max(e.Seq, e.Amended), k.mentions(e) && !rec.hides(e))
		k.settle(e)
		if !rec.lastIsKept() && (rec.Last == nil || rec.Last.Seq < e.Seq) {
			rec.Last = e // all behind it amends
		}
	}
	rec.Low = low
	k.touch(cv, true)
}
