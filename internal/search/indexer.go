package search

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/skein-im/skein/internal/im"
)

// Journal is what the index is made of.
type Journal interface {
	im.Follow
	Read(ctx context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error)
}

// Places keeps who works on the index, and what was set aside. The directory does.
type Places interface {
	Follower(ctx context.Context, name string, shard int) (im.FollowerState, error)
	LeadFollower(ctx context.Context, seen im.FollowerState, holder string) (bool, error)
	SaveFollower(ctx context.Context, s im.FollowerState) (bool, error)
	LeaveFollower(ctx context.Context, name string, shard int, holder string) error
	SetAside(ctx context.Context, p im.SetAside) error
}

// Indexer has an index follow the journal. It is the handler of a feed, and the journal
// and the store that this feed is given: so the place is the index's own, and one that is
// gone or of another history begins anew. Use NewIndexer.
type Indexer struct {
	Places // what the index does not keep itself

	index   Index
	journal Journal
	log     *slog.Logger
	errors  prometheus.Counter
	// The feed's goroutine's.
	pace   pace
	worked time.Duration // for a full page, behind which it has not rested yet

	mu sync.Mutex
	// known: all that was stored by then is in the index. reached is the end of the last
	// stretch that was read, and end when it was, if nothing lay behind it.
	known, end time.Time
	reached    im.Place
	last       Place // the last entry of that stretch
	anew       bool  // the index was emptied: its feed has to begin anew
	// done is how far the index is, looked when this process last read on: it is who works.
	done   uint64
	looked time.Time
	moved  chan struct{} // closed when done moves
}

// NewIndexer makes one.
func NewIndexer(index Index, journal Journal, places Places, log *slog.Logger, r prometheus.Registerer) *Indexer {
	x := &Indexer{Places: places, index: index, journal: journal, log: log, moved: make(chan struct{})}
	x.errors = promauto.With(r).NewCounter(prometheus.CounterOpts{Name: "skein_search_index_errors_total", Help: "Times that the index of the search could not be written or read."})
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{Name: "skein_search_documents", Help: "Messages that the index of the search has; -1: it is not to be had."}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s, err := index.State(ctx)
		if err != nil {
			return -1
		}
		return float64(s.Docs)
	})
	return x
}

// Follower is where the index is, and who works on it.
func (x *Indexer) Follower(ctx context.Context, name string, shard int) (im.FollowerState, error) {
	s, err := x.Places.Follower(ctx, name, shard)
	if err != nil {
		return s, err
	}
	kept, err := x.index.State(ctx)
	if err != nil {
		x.errors.Inc()
		if errors.Is(err, ErrDamaged) {
			return s, x.reset(ctx, err)
		}
		return s, err
	}
	s.Place = kept.Place
	return s, nil
}

// SaveFollower notes who works in the directory, and the place in the index. A place that
// is not noted costs that a part is indexed twice.
func (x *Indexer) SaveFollower(ctx context.Context, s im.FollowerState) (bool, error) {
	held, err := x.Places.SaveFollower(ctx, s)
	if err != nil || !held {
		return held, err
	}
	x.mu.Lock()
	known, anew := x.known, x.anew
	x.mu.Unlock()
	if anew {
		return true, nil
	}
	if err := x.index.SaveState(ctx, State{Place: s.Place, Known: known}); err != nil {
		x.errors.Inc()
		x.log.Warn("search: note how far the index is", "err", err)
		if errors.Is(err, ErrDamaged) {
			_ = x.reset(ctx, err)
		}
	}
	return true, nil
}

// reset empties the index and has the feed begin anew.
func (x *Indexer) reset(ctx context.Context, why error) error {
	x.log.Warn("search: the index is made anew", "err", why)
	x.mu.Lock()
	x.anew, x.known, x.end, x.reached, x.done = true, time.Time{}, time.Time{}, im.Place{}, 0
	x.mu.Unlock()
	return x.index.Reset(ctx)
}

// After reads on, and learns how much the index knows. Behind a full page it rests first:
// the feed has noted by then that the page is done.
func (x *Indexer) After(ctx context.Context, after im.Place, limit int) (im.Followed, error) {
	if worked := x.worked; worked > 0 {
		x.worked = 0
		x.pace.rest(ctx, worked, func() error { return x.look(ctx, after) })
	}
	x.mu.Lock()
	if x.anew && after != (im.Place{}) {
		x.mu.Unlock()
		return im.Followed{}, im.ErrOtherHistory // the feed asks Agree then
	}
	x.anew = false
	if after == x.reached && !x.end.IsZero() { // all of it was handled
		x.known = x.end
	}
	began := time.Now()
	x.looked = began
	x.move(after.Pos)
	x.mu.Unlock()
	got, err := x.journal.After(ctx, after, limit)
	if err != nil {
		return got, err
	}
	x.pace.read(got.Now, began, func() float64 { return x.dense(ctx, after, &got) })
	x.mu.Lock()
	x.reached, x.end, x.last = got.UpTo, time.Time{}, Place{}
	n := len(got.Entries)
	if n > 0 {
		x.last = placeOf(&got.Entries[n-1])
	}
	switch {
	case got.UpTo == got.Now:
		x.end = began
	case n > 0:
		x.end = got.Entries[n-1].Stored // of a rebuild: the time that it has come to
	}
	x.mu.Unlock()
	return got, nil
}

// Of the newest positions so many are looked at, and so many of their entries, for how many
// messages a position has.
const (
	newestPositions = 16
	newestEntries   = 256
)

// dense is how many messages a position has by now: of what was read, where that is the
// newest there is, else of the newest positions.
func (x *Indexer) dense(ctx context.Context, after im.Place, got *im.Followed) float64 {
	if got.UpTo != got.Now && len(got.Entries) >= fullPage {
		return x.newest(ctx, got.Now)
	}
	return perPosition(after, got)
}

// newest is how many messages the newest positions have.
func (x *Indexer) newest(ctx context.Context, now im.Place) float64 {
	after := now.At(now.Pos - min(now.Pos, newestPositions))
	got, err := x.journal.After(ctx, after, newestEntries)
	if err != nil { // of the era before, or out of reach: a message a position is the least
		return 1
	}
	return perPosition(after, &got)
}

func perPosition(after im.Place, got *im.Followed) float64 {
	if got.UpTo.Pos <= after.Pos {
		return 1
	}
	return float64(len(got.Entries)) / float64(got.UpTo.Pos-after.Pos)
}

// look learns how much is stored, and reads nothing on.
func (x *Indexer) look(ctx context.Context, after im.Place) error {
	began := time.Now()
	x.mu.Lock()
	x.looked = began
	anew := x.anew
	x.mu.Unlock()
	if anew {
		return im.ErrOtherHistory
	}
	got, err := x.journal.After(ctx, after, 0)
	if err == nil {
		x.pace.read(got.Now, began, func() float64 { return x.newest(ctx, got.Now) })
	}
	return err
}

// Agree tells that an index of another history is of no use: it begins anew.
func (x *Indexer) Agree(ctx context.Context, p im.Place) (im.Place, error) {
	x.mu.Lock()
	anew := x.anew
	x.mu.Unlock()
	if anew {
		return im.Place{}, nil
	}
	return im.Place{}, x.reset(ctx, im.ErrOtherHistory)
}

// Handle notes entries in the index. Every error is one of the index or the journal,
// never of an entry.
func (x *Indexer) Handle(ctx context.Context, entries []im.Entry) error {
	began := time.Now()
	err := x.handle(ctx, entries)
	if err == nil && len(entries) >= fullPage {
		x.worked = time.Since(began)
	}
	return err
}

func (x *Indexer) handle(ctx context.Context, entries []im.Entry) error {
	docs, err := x.docs(ctx, entries)
	if err != nil {
		return err
	}
	if len(docs) > 0 {
		err = x.index.Apply(ctx, docs)
	}
	if err != nil {
		x.errors.Inc()
		if errors.Is(err, ErrDamaged) {
			return x.reset(ctx, err) // After has the feed begin anew, these among them
		}
		return err
	}
	return x.handled(ctx, entries)
}

// handled notes how far the index is by entries that it has now. Where they end what was
// read the index notes it at once: other processes wait for that.
func (x *Indexer) handled(ctx context.Context, entries []im.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	x.mu.Lock()
	if x.anew {
		x.mu.Unlock()
		return nil
	}
	last := &entries[len(entries)-1]
	x.move(last.Pos)
	whole := placeOf(last) == x.last
	if whole && !x.end.IsZero() {
		x.known = x.end
	}
	s := State{Place: x.reached, Known: x.known}
	x.mu.Unlock()
	if !whole {
		return nil
	}
	err := x.index.SaveState(ctx, s)
	if errors.Is(err, ErrDamaged) {
		return x.reset(ctx, err)
	}
	return err
}

func placeOf(e *im.Entry) Place { return Place{e.Pos, e.Conversation, e.Seq} }

// move notes that the index is as far as a position. x.mu is held.
func (x *Indexer) move(pos uint64) {
	if pos != x.done {
		x.done = pos
		close(x.moved)
		x.moved = make(chan struct{})
	}
}

// follows is how long after it last read on this process is taken for who works.
const follows = 5 * time.Second

// progress tells how far the index is; here, that this process works on it.
func (x *Indexer) progress() (done uint64, known time.Time, here bool, moved <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.done, x.known, time.Since(x.looked) < follows, x.moved
}

// soon is how far an index may be behind that is about to have a position: what it takes
// in half a second.
const soon = 2000

// State tells how far the index is, and waits a little for a position if it is about to
// have it.
func (x *Indexer) State(ctx context.Context, pos uint64, wait time.Duration) (State, error) {
	done, known, here, moved := x.progress()
	if !here {
		return x.elsewhere(ctx, pos)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	for done < pos && pos-done <= soon {
		select {
		case <-moved:
			done, known, _, moved = x.progress()
			continue
		case <-t.C:
		case <-ctx.Done():
		}
		break
	}
	return State{Place: im.Place{Pos: done}, Known: known}, nil
}

// docs are the messages that entries are, or change, as they are by now. In the order of
// positions, that of their conversations within one.
func (x *Indexer) docs(ctx context.Context, entries []im.Entry) ([]Doc, error) {
	var docs []Doc
	targets := map[Place]bool{}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Kind.Said():
			docs = append(docs, docOf(e))
		case changes(e):
			targets[Place{Conversation: e.Conversation, Seq: e.Target}] = true
		}
	}
	for p := range targets {
		got, err := x.journal.Read(ctx, p.Conversation, p.Seq, false, 1)
		if errors.Is(err, im.ErrJournalDamaged) {
			continue // nobody reads it either
		}
		if err != nil {
			return nil, err
		}
		if len(got) > 0 && got[0].Seq == p.Seq && got[0].Kind.Said() {
			docs = append(docs, docOf(&got[0]))
		}
	}
	slices.SortStableFunc(docs, func(a, b Doc) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Seq, b.Seq))
	})
	return docs, nil
}

// changes reports whether an entry may change what an earlier one says. Of kinds that
// this version does not know, too.
func changes(e *im.Entry) bool {
	switch e.Kind {
	case im.EntryReaction, im.EntryPin, im.EntryVote, im.EntryPollEnd:
		return false
	}
	return e.Target != 0
}

const (
	// Another process that works on the index looks for what this one stored once in a
	// second, and is asked so often how far it is.
	elsewhereFor   = 1500 * time.Millisecond
	elsewhereEvery = 50 * time.Millisecond
)

// elsewhere is State where another process works on the index.
func (x *Indexer) elsewhere(ctx context.Context, pos uint64) (State, error) {
	for end := time.Now().Add(elsewhereFor); ; {
		s, err := x.index.State(ctx)
		if err != nil || s.Place.Pos >= pos || s.Place.Pos == 0 || time.Now().After(end) {
			return s, err
		}
		t := time.NewTimer(elsewhereEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return s, ctx.Err()
		}
	}
}
