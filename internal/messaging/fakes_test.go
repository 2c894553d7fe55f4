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

	"github.com/skein-im/skein/internal/im"
)

// memJournal is a journal in memory that can be told to fail. It keeps the
// contract of im.Journal.
type memJournal struct {
	mu       sync.Mutex
	entries  map[im.ConversationID][]im.Entry
	ids      map[idKey]idRow
	marks    map[receiptKey]im.Mark
	pos      uint64
	timeline string
	eras     im.Eras
	appends  int
	asked    int // for marks
	// recallsAsked counts the questions for recalls.
	recallsAsked int
	// damaged conversations refuse every append, as one whose end cannot be read.
	damaged map[im.ConversationID]bool
	// busy conversations are locked by somebody else.
	busy map[im.ConversationID]bool
	// onHeads, onMarks, onLookup, onRead run before Heads, after SetMarks, before Lookup
	// and Read, once.
	onHeads, onMarks, onLookup, onRead func()
	// unwritten: marks become durable with write.
	unwritten bool
	waiters   []func(error)
	// fail, if set, is asked before (after=false) and after each append.
	fail func(after bool) error
}

type (
	idKey struct {
		sender im.UserID
		id     im.MessageID
	}
	idRow struct {
		c    im.ConversationID
		seq  uint64
		hash uint64
	}
	receiptKey struct {
		u im.UserID
		c im.ConversationID
	}
)

func newMemJournal() *memJournal {
	return &memJournal{
		entries: map[im.ConversationID][]im.Entry{}, ids: map[idKey]idRow{}, marks: map[receiptKey]im.Mark{}, timeline: "t1",
		eras: im.Eras{{ID: 1}},
	}
}

func (j *memJournal) Append(_ context.Context, batch []im.Append, out []im.Appended) error {
	if err := j.fault(false); err != nil { // without the lock: reading goes on
		return err
	}
	if err := j.append(batch, out); err != nil {
		return err
	}
	return j.fault(true)
}

func (j *memJournal) fault(after bool) error {
	j.mu.Lock()
	fail := j.fail
	j.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(after)
}

func (j *memJournal) append(batch []im.Append, out []im.Appended) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range batch {
		if j.damaged[batch[i].Entry.Conversation] {
			return errors.New("checksum mismatch")
		}
	}
	j.appends++
	moved := map[im.ConversationID]bool{}
	pos := j.pos + 1
	for i := range batch {
		a := &batch[i]
		if j.busy[a.Entry.Conversation] {
			out[i] = im.Appended{Status: im.Busy}
			continue
		}
		key := idKey{a.Entry.Sender, a.Entry.ID}
		if row, ok := j.ids[key]; ok {
			if row.c != a.Entry.Conversation || row.hash != a.Hash {
				out[i] = im.Appended{Status: im.IDConflict}
				continue
			}
			e := j.entries[row.c][row.seq-1]
			out[i] = im.Appended{Status: im.Duplicate, Seq: e.Seq, Count: e.Count, Time: e.Stored, Pos: e.Pos, Roster: e.Roster}
			continue
		}
		list := j.entries[a.Entry.Conversation]
		var last im.Entry
		if len(list) > 0 {
			last = list[len(list)-1]
		}
		if moved[a.Entry.Conversation] || last.Roster != a.IfRoster {
			moved[a.Entry.Conversation] = true
			out[i] = im.Appended{Status: im.RosterChanged, Roster: last.Roster}
			continue
		}
		e := a.Entry
		e.Seq, e.Pos, e.Stored, e.Count, e.Roster = last.Seq+1, pos, time.UnixMilli(int64(pos)), last.Count, last.Roster
		if e.Countable() {
			e.Count++
		}
		if a.SetRoster != 0 {
			e.Roster = a.SetRoster
		}
		if a.Erase != 0 {
			list[a.Erase-1].Content, list[a.Erase-1].Recalled = im.Content{}, true
		}
		j.entries[e.Conversation] = append(list, e)
		j.ids[key] = idRow{e.Conversation, e.Seq, a.Hash}
		j.pos = pos
		out[i] = im.Appended{Status: im.Stored, Seq: e.Seq, Count: e.Count, Time: e.Stored, Pos: e.Pos, Roster: e.Roster}
	}
	return nil
}

func (j *memJournal) Read(_ context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error) {
	j.once(&j.onRead)
	j.mu.Lock()
	defer j.mu.Unlock()
	var got []im.Entry
	for _, e := range j.entries[c] {
		if backward && (from == 0 || e.Seq <= from) || !backward && e.Seq >= from {
			got = append(got, e)
		}
	}
	if len(got) > limit {
		if backward {
			got = got[len(got)-limit:]
		} else {
			got = got[:limit]
		}
	}
	return slices.Clone(got), nil
}

func (j *memJournal) Heads(_ context.Context, cs []im.ConversationID, out []im.Head) error {
	j.once(&j.onHeads)
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, c := range cs {
		out[i] = im.Head{}
		if n := len(j.entries[c]); n > 0 {
			e := j.entries[c][n-1]
			out[i] = im.Head{Seq: e.Seq, Count: e.Count, Time: e.Stored, Roster: e.Roster, Pos: e.Pos}
		}
	}
	return nil
}

func (j *memJournal) Lookup(_ context.Context, batch []im.Append, out []im.Appended) error {
	if err := j.fault(false); err != nil {
		return err
	}
	j.once(&j.onLookup)
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range batch {
		a := &batch[i]
		row, ok := j.ids[idKey{a.Entry.Sender, a.Entry.ID}]
		switch {
		case !ok:
			out[i] = im.Appended{Status: im.Absent}
		case row.c != a.Entry.Conversation || row.hash != a.Hash:
			out[i] = im.Appended{Status: im.IDConflict}
		default:
			e := j.entries[row.c][row.seq-1]
			out[i] = im.Appended{Status: im.Duplicate, Seq: e.Seq, Count: e.Count, Time: e.Stored, Pos: e.Pos, Roster: e.Roster}
		}
	}
	return nil
}

// once runs a hook without the lock and forgets it.
func (j *memJournal) once(hook *func()) {
	j.mu.Lock()
	f := *hook
	*hook = nil
	j.mu.Unlock()
	if f != nil {
		f()
	}
}

func (j *memJournal) SetMarks(_ context.Context, marks []im.Mark, w im.MarkWait) error {
	defer j.once(&j.onMarks)
	if w.Stored != nil {
		defer j.wait(w.Stored)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range marks {
		k := receiptKey{m.User, m.Conversation}
		old := j.marks[k]
		if m.Read < old.Read {
			m.Read, m.ReadCount = old.Read, old.ReadCount
		}
		m.Received = max(m.Received, old.Received)
		if m.Received == old.Received && m.Read == old.Read {
			continue
		}
		m.Pos = j.pos + 1
		j.marks[k] = m
	}
	return nil
}

// wait has stored called at once, or by write.
func (j *memJournal) wait(stored func(error)) {
	j.mu.Lock()
	held := j.unwritten
	if held {
		j.waiters = append(j.waiters, stored)
	}
	j.mu.Unlock()
	if !held {
		stored(nil)
	}
}

// write makes durable what waits while marks are unwritten.
func (j *memJournal) write() {
	j.mu.Lock()
	waiters := j.waiters
	j.waiters = nil
	j.mu.Unlock()
	for _, stored := range waiters {
		stored(nil)
	}
}

func (j *memJournal) UserMarks(_ context.Context, u im.UserID) ([]im.Mark, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var got []im.Mark
	for k, m := range j.marks {
		if k.u == u {
			got = append(got, m)
		}
	}
	return got, nil
}

func (j *memJournal) Marks(_ context.Context, keys []im.MarkKey, out []im.Mark, _ bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked++
	for i, k := range keys {
		out[i] = j.marks[receiptKey{k.User, k.Conversation}]
	}
	return nil
}

// Recalled is what im.Recalls says; recallsAsked counts the questions.
func (j *memJournal) Recalled(_ context.Context, spans []im.Span, limit int, out []im.Recalled) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.recallsAsked++
	for i, s := range spans {
		out[i] = im.Recalled{}
		for _, e := range j.entries[s.Conversation] {
			if !e.Recalled || !e.Countable() || e.Seq <= s.After || e.Seq > s.Until {
				continue
			}
			if out[i].Count++; len(out[i].Seqs) < limit {
				out[i].Seqs = append(out[i].Seqs, e.Seq)
			}
		}
	}
	return nil
}

func (j *memJournal) Position(context.Context) (im.Place, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return im.Place{Era: j.eras[len(j.eras)-1].ID, Pos: j.pos}, nil
}

// begin is the place of a journal without entries.
func (j *memJournal) begin() string { return im.Place{Era: 1}.String() }

func (j *memJournal) Holds(_ context.Context, p im.Place) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.eras.Hold(p, j.pos), nil
}
func (j *memJournal) Timeline() string { return j.timeline }
func (j *memJournal) Close() error     { return nil }

func (j *memJournal) setFail(f func(after bool) error) {
	j.mu.Lock()
	j.fail = f
	j.mu.Unlock()
}

// fakeMembers lets everybody write everywhere unless told otherwise. A group's
// cached revision is what it had at the last Refresh.
type fakeMembers struct {
	mu      sync.Mutex
	deny    map[im.UserID]error
	current map[im.ConversationID]uint64
	cached  map[im.ConversationID]uint64
	rows    map[im.UserID][]im.Membership
	// promised are changes of places that the journal may have already.
	promised map[im.UserID][]im.Promised
	opened   []im.ConversationID
	// failOpen are what the next calls of OpenDM return.
	failOpen []error
	recall   error
	helped   []im.ConversationID
	onHelp   func(im.ConversationID)
	// onMaySend, if set, is asked by the committer and by Send.
	onMaySend func(im.UserID) error
}

func newFakeMembers() *fakeMembers {
	return &fakeMembers{
		deny: map[im.UserID]error{}, current: map[im.ConversationID]uint64{}, cached: map[im.ConversationID]uint64{},
		rows: map[im.UserID][]im.Membership{}, promised: map[im.UserID][]im.Promised{},
	}
}

func (f *fakeMembers) MaySend(_ context.Context, u im.UserID, c im.ConversationID) (uint64, error) {
	if u == "poison" {
		panic("as it is asked to")
	}
	f.mu.Lock()
	on := f.onMaySend
	f.mu.Unlock()
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
	return f.cached[c], f.deny[u]
}

// MaySendNow knows what was asked before and is not denied.
func (f *fakeMembers) MaySendNow(u im.UserID, c im.ConversationID) (uint64, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rev, known := f.cached[c]
	return rev, known && f.deny[u] == nil && f.onMaySend == nil && u != "poison", nil
}

func (f *fakeMembers) MayRecall(context.Context, im.UserID, im.ConversationID, im.UserID) error {
	return f.recall
}

func (f *fakeMembers) Membership(_ context.Context, u im.UserID, c im.ConversationID, roster uint64) (im.Membership, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.rows[u] {
		if m.Conversation == c {
			if roster != wholePlace { // as from RAM
				m.Earlier = nil
			}
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

func (f *fakeMembers) MayWatch(_ context.Context, _ im.UserID, others []im.UserID) ([]im.UserID, error) {
	return others[:1], nil
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

// recorder notes what is delivered, in order.
type recorder struct {
	mu        sync.Mutex
	delivered []im.Delivery
	flushes   int
	receipts  []im.Mark
	to        [][]im.UserID
	typing    []im.UserID
	reminded  []im.ParcelHead
}

func (r *recorder) Deliver(batch []im.Delivery) {
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

func (r *recorder) Typing(_ im.ConversationID, u im.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.typing = append(r.typing, u)
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
	o := Options{Journal: w.journal, Recalls: w.journal, Lookups: w.journal, Permissions: w.members, Members: w.members, Deliverer: w.out, OnFailed: func(err error) { w.failed <- err }}
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
	return im.Message{Conversation: c, ID: w.id(), Kind: im.EntryMessage, Content: im.Content{Type: "text", Body: []byte(text), Text: true}}
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
