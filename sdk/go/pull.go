package skein

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/skein-im/skein/wire"
)

// maxPulls bounds the Pulls that are unanswered.
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

// wantPulls queues all of them, after a connect.
func (k *core) wantPulls() {
	for _, cv := range k.convs {
		k.wantPull(cv)
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
	var later []*conv
	for i, cv := range k.pullQueue {
		switch {
		case k.convs[cv.rec.ID] != cv || cv.pulling || !cv.missing():
		case under >= maxPulls:
			later = append(later, k.pullQueue[i:]...)
			k.pullQueue = later
			return
		case now.Before(cv.pullAt):
			k.pullsAt = earliest(k.pullsAt, cv.pullAt)
			later = append(later, cv)
		case k.pullMissing(cv):
			under++
		}
	}
	k.pullQueue = later
}

// pullMissing fills the hole after the window, or, if it is larger than the
// limit, starts anew after it. It reports whether it asked the server.
func (k *core) pullMissing(cv *conv) bool {
	from, upTo := cv.rec.after(cv.rec.High), cv.rec.Head
	for seq := range cv.early {
		upTo = min(upTo, seq-1)
	}
	if lacks := cv.rec.theirs(from, upTo); k.o.maxGap == 0 || lacks <= k.o.maxGap {
		n := min(int(min(lacks, 1<<20)), k.pageLimit())
		k.pull(&request{kind: reqFill, cv: cv, from: from}, false, n)
		return true
	}
	if upTo < cv.rec.Head {
		k.jump(cv, upTo+1, true)
		k.wantPull(cv)
		return false
	}
	k.pull(&request{kind: reqNewest, cv: cv}, true, min(newestBlock, k.pageLimit()))
	return true
}

func (k *core) pull(r *request, backward bool, limit int) {
	n := k.nextNumber()
	r.at = k.o.now()
	if r.kind == reqFill || r.kind == reqNewest {
		r.cv.pulling = true
	}
	k.reqs[n] = r
	k.send(wire.NewClientFrame(&wire.Pull{
		Number: n, Conversation: r.cv.rec.ID, From: r.from, Backward: backward, Limit: uint32(limit),
	}))
	k.owes()
}

func (k *core) onRange(f *wire.Range) {
	r := k.reqs[f.Number]
	if r == nil || r.cv == nil {
		return
	}
	delete(k.reqs, f.Number)
	var err error
	if f.Error != nil {
		err = errorOf(f.Error)
	}
	switch r.kind {
	case reqFill, reqNewest:
		r.cv.pulling = false
		if err != nil {
			k.pullRefused(r.cv, err)
		} else {
			k.filled(r, f)
		}
		k.wantPull(r.cv)
	case reqHistory:
		if err == nil {
			k.extend(r, f.Entries)
		}
		k.after = append(k.after, func(failed error) { r.done(f, cmp.Or(failed, err)) })
	case reqCount:
		if err == nil && len(f.Entries) > 0 && r.cv.rec.Read == r.from {
			e := f.Entries[0]
			r.cv.rec.ReadCount = e.Count
			if e.Seq > r.from { // the mark lies between two times of membership
				r.cv.rec.ReadCount = countBefore(e)
			}
			k.touch(r.cv, false)
		}
	}
}

// pullRefused: later again, or, if it is not the user's to read, never.
func (k *core) pullRefused(cv *conv, err error) {
	var e *Error
	if errors.As(err, &e) && e.Action() == wire.ActionFix {
		k.log.Warn("conversation cannot be read", "conversation", cv.rec.ID, "err", err)
		k.giveUp(cv)
		return
	}
	var wait time.Duration
	if e != nil {
		wait = e.RetryAfter
	}
	k.pullLater(cv, wait)
}

// giveUp: what lies beyond the window is not the user's to read.
func (k *core) giveUp(cv *conv) {
	cv.rec.Head = cv.rec.High
	clear(cv.early)
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
	if f.Head > cv.rec.Head {
		cv.rec.Head = f.Head
		k.touch(cv, true)
	}
	var first uint64
	for _, e := range f.Entries {
		if e.GetConversation() == cv.rec.ID && e.Seq > cv.rec.High {
			first = e.Seq
			break
		}
	}
	switch {
	case len(f.Entries) == 0 && f.Head > cv.rec.High:
		k.giveUp(cv) // it exists, but is not shown
		return
	case first > cv.rec.after(cv.rec.High) && r.kind == reqNewest:
		k.jump(cv, first, true)
	case first > cv.rec.after(cv.rec.High) && r.from == cv.rec.after(cv.rec.High):
		// Asked forward from the next one: what is left out is not the user's to read.
		// An empty window has nothing it could have missed.
		k.jump(cv, first, cv.rec.High >= cv.rec.Low)
	}
	for _, e := range f.Entries {
		switch {
		case e.GetConversation() != cv.rec.ID:
		case cv.returned(e.Seq): // see take
			k.hold(e)
			k.askMembership(cv)
		default:
			k.offer(cv, e, false)
		}
	}
	if cv.rec.High == before && cv.missing() { // no progress: do not ask in a circle
		k.pullLater(cv, 0)
		return
	}
	cv.pullFailed, cv.pullAt = 0, time.Time{}
}

// extend adds older entries to the window if they touch it.
func (k *core) extend(r *request, es []*wire.Entry) {
	cv := r.cv
	if k.convs[cv.rec.ID] != cv || r.from != cv.rec.before(cv.rec.Low) {
		return
	}
	before := cv.rec.Low
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Seq != cv.rec.before(cv.rec.Low) || es[i].Conversation != cv.rec.ID {
			break
		}
		cv.rec.Low = es[i].Seq
		k.batch.Entries = append(k.batch.Entries, es[i])
		k.settle(es[i])
	}
	if cv.rec.Low == before { // nothing older is the user's to read
		cv.rec.startAt(cv.rec.Low)
	}
	k.touch(cv, true)
}
