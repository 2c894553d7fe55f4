package messaging

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// fakeMembers lets everybody write everywhere unless told otherwise. A group's
// cached revision is what it had at the last Refresh.
type fakeMembers struct {
	mu      sync.Mutex
	deny    map[im.UserID]error
	current map[im.ConversationID]uint64
	cached  map[im.ConversationID]uint64
	rows    map[im.UserID][]im.Membership
	// inRAM is what a roster in RAM says that is older than rows.
	inRAM map[im.UserID]im.Membership
	// readers is what Readers returns of.
	readers []im.Reader
	// promised are changes of places that the journal may have already.
	promised map[im.UserID][]im.Promised
	opened   []im.ConversationID
	hides    map[im.UserID]bool // how far they have read
	noReads  error              // what ReadsHidden returns
	seen     []im.Watched
	// paced, if it is set, is MayWriteYet.
	paced func(im.UserID, im.MessageID) error
	// may, if it is set, is May.
	may func(im.UserID, im.GroupAction) error
	// failOpen are what the next calls of OpenDM return.
	failOpen []error
	recall   error
	helped   []im.ConversationID
	onHelp   func(im.ConversationID)
	// onMaySend, if set, is asked about every message: what it allows RAM knows once.
	onMaySend func(im.UserID) error
	allowed   map[receiptKey]int
	// afterMaySend, if set, runs when MaySend has decided about a kind.
	afterMaySend func(im.EntryKind)
}

func newFakeMembers() *fakeMembers {
	return &fakeMembers{
		deny: map[im.UserID]error{}, current: map[im.ConversationID]uint64{}, cached: map[im.ConversationID]uint64{},
		rows: map[im.UserID][]im.Membership{}, promised: map[im.UserID][]im.Promised{}, allowed: map[receiptKey]int{},
	}
}

func (f *fakeMembers) MaySend(_ context.Context, u im.UserID, c im.ConversationID, kind im.EntryKind) (uint64, error) {
	if u == "poison" {
		panic("as it is asked to")
	}
	f.mu.Lock()
	on, after := f.onMaySend, f.afterMaySend
	f.mu.Unlock()
	if after != nil {
		defer after(kind)
	}
	if on != nil {
		if err := on(u); err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.cached[c]; !ok {
		f.cached[c] = f.current[c]
	}
	if on != nil {
		f.allowed[receiptKey{u, c}]++
	}
	return f.cached[c], f.deny[u]
}

// MaySendNow knows what was asked before and is not denied.
func (f *fakeMembers) MaySendNow(u im.UserID, c im.ConversationID, _ im.EntryKind) (uint64, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rev, known := f.cached[c]
	known = known && f.deny[u] == nil && u != "poison"
	if k := (receiptKey{u, c}); known && f.onMaySend != nil {
		if known = f.allowed[k] > 0; known {
			f.allowed[k]--
		}
	}
	return rev, known, nil
}

func (f *fakeMembers) MayWriteYet(u im.UserID, _ im.ConversationID, id im.MessageID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paced == nil {
		return nil
	}
	return f.paced(u, id)
}

func (f *fakeMembers) MayRecall(context.Context, im.UserID, im.ConversationID, im.UserID) error {
	return f.recall
}

func (f *fakeMembers) May(_ context.Context, u im.UserID, _ im.ConversationID, action im.GroupAction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.may == nil {
		return nil
	}
	return f.may(u, action)
}

func (f *fakeMembers) Membership(_ context.Context, u im.UserID, c im.ConversationID, roster uint64) (im.Membership, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.rows[u] {
		if m.Conversation == c {
			if roster == wholePlace {
				return m, nil
			}
			if old, ok := f.inRAM[u]; ok && old.Conversation == c {
				return old, nil
			}
			m.Earlier = nil // as from RAM
			return m, nil
		}
	}
	return im.Membership{}, im.Errorf(im.CodeNotFound, "no such conversation")
}

func (f *fakeMembers) Memberships(_ context.Context, u im.UserID) ([]im.Membership, []im.Promised, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rows[u]), slices.Clone(f.promised[u]), nil
}

func (f *fakeMembers) OpenDM(_ context.Context, c im.ConversationID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.failOpen) > 0 {
		err := f.failOpen[0]
		f.failOpen = f.failOpen[1:]
		return err
	}
	f.opened = append(f.opened, c)
	a, b, _ := c.DMMembers()
	for _, u := range []im.UserID{a, b} {
		f.rows[u] = append(f.rows[u], im.Membership{Conversation: c, First: 1})
	}
	return nil
}

func (f *fakeMembers) MayWatch(_ context.Context, _ im.UserID, others []im.UserID) ([]im.Watched, error) {
	return []im.Watched{{User: others[0]}}, nil
}

func (f *fakeMembers) ReadsHidden(_ context.Context, u im.UserID, peers []im.UserID) (hidden []im.UserID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range peers {
		if f.hides[u] || f.hides[p] {
			hidden = append(hidden, p)
		}
	}
	return hidden, f.noReads
}

func (f *fakeMembers) Readers(_ context.Context, _ im.ConversationID, limit int) ([]im.Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.readers[:min(limit, len(f.readers))]), nil
}

func (f *fakeMembers) Seen(_ context.Context, seen []im.Watched) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, seen...)
	return nil
}

func (f *fakeMembers) Help(c im.ConversationID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.helped = append(f.helped, c)
	if f.onHelp != nil {
		f.onHelp(c)
	}
}

func (f *fakeMembers) Refresh(c im.ConversationID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.cached, c)
}

func (f *fakeMembers) setRoster(c im.ConversationID, rev uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current[c] = rev
}

func (f *fakeMembers) add(u im.UserID, m im.Membership) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[u] = append(f.rows[u], m)
}

// set puts a place where others were.
func (f *fakeMembers) set(u im.UserID, m im.Membership) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[u] = []im.Membership{m}
}

// recorder notes what is delivered, in order.
type recorder struct {
	slow      func() // if set, what Deliver takes
	mu        sync.Mutex
	delivered []im.Delivery
	flushes   int
	mine      []im.MyState
	floors    []im.Floor
	receipts  []im.Mark
	to        [][]im.UserID
	typing    []im.UserID
	custom    []im.CustomSignal
	reminded  []im.ParcelHead
}

func (r *recorder) Deliver(batch []im.Delivery) {
	if r.slow != nil && len(batch) > 0 {
		r.slow()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delivered = append(r.delivered, batch...)
	r.flushes++
}

func (r *recorder) Receipt(m im.Mark, to []im.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receipts = append(r.receipts, m)
	r.to = append(r.to, slices.Clone(to))
}

func (r *recorder) MyState(_ im.UserID, s im.MyState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mine = append(r.mine, s)
}

func (r *recorder) Floors(floors []im.Floor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.floors = append(r.floors, floors...)
}

func (r *recorder) Typing(_ im.ConversationID, u im.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.typing = append(r.typing, u)
}

func (r *recorder) Custom(s im.CustomSignal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.custom = append(r.custom, s)
}

func (r *recorder) Remind(h im.ParcelHead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reminded = append(r.reminded, h)
}

func (r *recorder) seqs(c im.ConversationID) []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var s []uint64
	for _, d := range r.delivered {
		if d.Entry.Conversation == c {
			s = append(s, d.Entry.Seq)
		}
	}
	return s
}

// world is a service with everything around it under the test's control.
type world struct {
	*Service
	t       *testing.T
	journal *memJournal
	members *fakeMembers
	out     *recorder
	failed  chan error
	n       uint32
	mu      sync.Mutex
	lanes   map[im.UserID]*lane
}

// lane is a user's connection, which keeps its order as a gateway does.
type lane struct {
	order im.Order
	place im.Turn
}

// enter gives a send its place; an error is the gateway's refusal.
func (l *lane) enter(a *im.Actor, m *im.Message) error {
	l.place.At++
	if first, waits := l.order.First(a.Connection, m.Conversation); waits {
		if first != m.ID {
			return im.ErrBehind()
		}
		l.order.GoOn(a.Connection, m.Conversation)
		l.place.Since = l.place.At
	}
	a.Order, a.Turn = &l.order, l.place
	return nil
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	w := &world{t: t, journal: newMemJournal(), members: newFakeMembers(), out: &recorder{}, failed: make(chan error, 1)}
	o := Options{Journal: w.journal, Marks: w.journal, Recalls: w.journal, Labels: w.journal, Lookups: w.journal, Pages: w.journal, Trims: w.journal, Permissions: w.members, Members: w.members, Deliverer: w.out, OnFailed: func(err error) { w.failed <- err }}
	for _, f := range change {
		f(&o)
	}
	w.Service = New(o)
	t.Cleanup(w.Close)
	return w
}

func (w *world) id() im.MessageID {
	w.n++
	var r [10]byte
	binary.BigEndian.PutUint32(r[2:], w.n)
	return im.NewMessageID(time.Now(), r)
}

func (w *world) message(c im.ConversationID, text string) im.Message {
	return saying(im.Message{Conversation: c, ID: w.id(), Kind: im.EntryMessage}, text)
}

// saying is a message with other words.
func saying(m im.Message, text string) im.Message {
	m.Body, m.Hash = entrycodec.Message(m.Conversation, &wire.Send{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}})
	return m
}

// recalling makes a message the recall of an entry.
func recalling(m im.Message, target uint64) im.Message {
	m.Kind, m.Target, m.Body, m.Hash = im.EntryRecall, target, nil, entrycodec.RecallHash(m.Conversation, target)
	return m
}

// editing makes a message the edit of an entry.
func editing(m im.Message, target uint64, text string) im.Message {
	m.Kind, m.Target = im.EntryEdit, target
	m.Body, m.Hash = entrycodec.Edit(m.Conversation, target, &wire.Edit{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}})
	return m
}

// words is the text that an entry has.
func words(e *im.Entry) string {
	var w wire.Entry
	if err := entrycodec.Decode(e.Body, &w); err != nil {
		return err.Error()
	}
	return w.GetContent().GetText()
}

type outcome struct {
	ack im.Ack
	err error
}

// patience bounds every wait for an answer, so that a test which gets none says
// so. In a bubble, where time begins in the year 2000 and costs nothing, it is
// longer than anything here takes.
func patience() time.Duration {
	if time.Now().Year() < 2020 {
		return time.Hour
	}
	return 10 * time.Second
}

// start sends without waiting. Who waits for the outcome hears of one: that there
// was no answer in time, if need be.
func (w *world) start(u im.UserID, m im.Message) <-chan outcome {
	got := make(chan outcome, 2) // a second reply would be a bug the test can see
	from := im.Actor{User: u, Connection: im.ConnectionID("conn-" + string(u))}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[u]
	if l == nil {
		if w.lanes == nil {
			w.lanes = map[im.UserID]*lane{}
		}
		l = &lane{}
		w.lanes[u] = l
	}
	if err := l.enter(&from, &m); err != nil {
		got <- outcome{err: err}
		return got
	}
	var answered atomic.Bool
	late := time.AfterFunc(patience(), func() {
		if !answered.Load() {
			got <- outcome{err: errors.New("no answer")}
		}
	})
	w.Send(w.t.Context(), from, m, func(a im.Ack, err error) {
		answered.Store(true)
		late.Stop()
		got <- outcome{a, err}
	})
	return got
}

// failure waits until the service has said that it failed.
func (w *world) failure() error {
	w.t.Helper()
	select {
	case err := <-w.failed:
		return err
	case <-time.After(patience()):
		w.t.Fatal("the service goes on")
		return nil
	}
}

func (w *world) send(u im.UserID, m im.Message) (im.Ack, error) {
	o := <-w.start(u, m)
	return o.ack, o.err
}

func (w *world) mustSend(u im.UserID, c im.ConversationID, text string) im.Ack {
	w.t.Helper()
	a, err := w.send(u, w.message(c, text))
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func wantCode(t *testing.T, err error, code im.Code) {
	t.Helper()
	if im.CodeOf(err) != code {
		t.Fatalf("error %v, want code %q", err, code)
	}
}
