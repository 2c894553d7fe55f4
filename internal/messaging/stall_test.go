package messaging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// gate stops whoever passes it, until it is opened.
type gate struct {
	entered chan struct{}
	opened  chan struct{}
	open    func()
}

func newGate(t *testing.T) *gate {
	g := &gate{entered: make(chan struct{}, 100), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.open)
	return g
}

func (g *gate) pass() {
	g.entered <- struct{}{}
	<-g.opened
}

// in waits until n passed.
func (g *gate) in(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-g.entered:
		case <-time.After(patience()):
			t.Fatal("nobody comes")
		}
	}
}

// Whatever store one conversation waits for, another one's messages are stored and
// answered meanwhile, and so are those that are decided from RAM, of anybody. Each
// of these once stopped the whole node.
func TestAStallStopsItsConversationOnly(t *testing.T) {
	g := im.Group("g")
	strangers := func(w *world, n int) {
		for i := range n {
			u := im.UserID(fmt.Sprintf("stranger%d", i))
			w.start(u, w.message(im.DM("alice", u), "hi"))
		}
	}
	for name, stall := range map[string]func(w *world, at *gate) (stalled int){
		"a permission": func(w *world, at *gate) int {
			w.members.setOnMaySend(func(im.UserID) error { at.pass(); return nil })
			strangers(w, 1)
			return 1
		},
		"as many permissions as are asked for at a time, and more": func(w *world, at *gate) int {
			w.members.setOnMaySend(func(im.UserID) error { at.pass(); return nil })
			strangers(w, 3*maxAdmitters)
			return maxAdmitters
		},
		"a refused message that is looked for": func(w *world, at *gate) int {
			w.members.deny["mallory"] = im.Errorf(im.CodePermissionDenied, "no")
			w.journal.setOnLookup(at.pass)
			w.start("mallory", w.message(g, "hi"))
			return 1
		},
		"a message that is to be taken back": func(w *world, at *gate) int {
			w.journal.setOnRead(at.pass)
			m := w.message(g, "")
			m = recalling(m, 1)
			w.start("alice", m)
			return 1
		},
		"a change that is applied": func(w *world, at *gate) int {
			go func() { _, _ = w.change(g, 1, func() error { at.pass(); return nil }) }()
			return 1
		},
		"many changes that are applied": func(w *world, at *gate) int {
			for i := range 50 {
				go func() {
					_, _ = w.change(im.Group(fmt.Sprint("g", i)), 1, func() error { at.pass(); return nil })
				}()
			}
			return 50
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustSend("alice", ab, "opened")
			at := newGate(t)
			stalled := stall(w, at)
			at.in(t, stalled)
			w.members.setOnMaySend(nil) // RAM knows again
			for i := range 40 {
				if a := w.mustSend("alice", ab, "meanwhile"); a.Seq != uint64(i+2) {
					t.Fatalf("seq %d", a.Seq)
				}
			}
			at.open()
		})
	}
}

// What comes behind a change waits until that is applied, in order, over batches;
// what came before it leaves before.
func TestWhatFollowsAChangeWaitsForIt(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	w.mustSend("alice", g, "before")
	at := newGate(t)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := w.change(g, 1, func() error {
			if got := w.out.seqs(g); !slices.Equal(got, []uint64{1}) {
				t.Errorf("delivered %v when the first change is applied", got)
			}
			at.pass()
			return nil
		})
		first <- err
	}()
	at.in(t, 1)
	go func() { // the second one is stored while the first is being applied
		_, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id2(), Conversation: g, Event: im.Event{Type: im.EventMemberAdded}, IfRoster: 1, SetRoster: 2}, func(uint64) error {
			if got := w.out.seqs(g); !slices.Equal(got, []uint64{1, 2}) {
				t.Errorf("delivered %v when the second change is applied", got)
			}
			w.members.setRoster(g, 2)
			return errors.New("the directory is away")
		})
		second <- err
	}()
	for head := uint64(0); head < 3; { // it is stored
		a, err := w.head(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		head = a.Seq
		time.Sleep(time.Millisecond)
	}
	if got := w.out.seqs(g); !slices.Equal(got, []uint64{1}) {
		t.Errorf("delivered %v before the change is applied", got)
	}
	last := w.start("alice", w.message(g, "after"))
	at.open()
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-second; err == nil {
		t.Error("a change that could not be applied was answered as if it was")
	}
	if o := <-last; o.err != nil || o.ack.Seq != 4 {
		t.Errorf("after both: %+v", o)
	}
}

// No position is told while something that was stored waits to be delivered.
func TestNoPositionPassesAChangeThatIsApplied(t *testing.T) {
	w := newWorld(t)
	at := newGate(t)
	go func() { _, _ = w.change(im.Group("g"), 1, func() error { at.pass(); return nil }) }()
	at.in(t, 1)
	w.mustSend("alice", ab, "of another batch")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.committing.Wait(ctx); err == nil {
		t.Error("all batches are over, and one is not delivered")
	}
	at.open()
	ctx, cancel = context.WithTimeout(t.Context(), patience())
	defer cancel()
	if err := w.committing.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// Who is refused is told whether the message was stored before, also when that is
// just being done.
func TestARefusalWaitsForTheAppendThatWasBegun(t *testing.T) {
	w := newWorld(t)
	m := w.message(ab, "hi")
	w.mustSend("alice", ab, "opened")
	entered, release := w.holdAppend()
	first := w.start("alice", m)
	<-entered
	items := []*item{{
		actor: im.Actor{User: "alice"}, entry: im.Entry{Conversation: ab, ID: m.ID, Sender: "alice", Kind: m.Kind, Body: m.Body}, hash: m.Hash,
		reply: func(im.Ack, error) {}, queued: time.Now(),
	}}
	w.queue.asks()
	asked := make(chan struct{})
	items[0].err = im.Errorf(im.CodePermissionDenied, "no")
	go func() { w.look(items); close(asked) }()
	select {
	case <-asked:
		t.Error("it did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	release()
	if o := <-first; o.err != nil {
		t.Fatal(o.err)
	}
	<-asked
	if items[0].err != nil || items[0].found.Seq != 2 {
		t.Errorf("refused with %v, found %+v", items[0].err, items[0].found)
	}
}

// Two messages of one sender in one batch: the second one waits for a store, the
// first one is refused by the journal, because its roster was old. The first one once
// came to stand behind the second.
func TestAnOldRosterBeforeWhatWaitsForAStore(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventGroupCreated}, SetRoster: 7}, nil); err != nil {
		t.Fatal(err)
	}
	w.mustSend("alice", ab, "opened")
	if _, err := w.members.MaySend(t.Context(), "alice", g, im.EntryMessage); err != nil { // revision 0 is in RAM
		t.Fatal(err)
	}
	w.members.setRoster(g, 7)
	entered, release := w.holdAppend()
	busy := w.start("alice", w.message(ab, "keeps the committer busy"))
	<-entered
	at := newGate(t)
	w.journal.mu.Lock()
	w.journal.onHeads = at.pass
	w.journal.mu.Unlock()
	reply := w.message(g, "the second, an answer to the first entry")
	reply.ReplyTo = 1
	all := []<-chan outcome{w.start("alice", w.message(g, "the first")), w.start("alice", reply), w.start("alice", w.message(g, "the third"))}
	release()
	if o := <-busy; o.err != nil {
		t.Fatal(o.err)
	}
	at.in(t, 1)
	w.mustSend("alice", ab, "the batch is over")
	at.open()
	for i, c := range all {
		if o := <-c; o.err != nil || o.ack.Seq != uint64(i+2) {
			t.Errorf("message %d: %+v", i+1, o)
		}
	}
}

// Who is blocked after the stores were asked, and before the append, is refused:
// for a dm the append is conditional on nothing.
func TestABlockBeforeTheAppend(t *testing.T) {
	w := newWorld(t)
	w.members.afterMaySend = func(kind im.EntryKind) {
		if kind == im.EntryMessage { // the last that is asked about a dm's message
			w.members.mu.Lock()
			defer w.members.mu.Unlock()
			w.members.deny["alice"] = im.Errorf(im.CodeNotContact, "blocked")
		}
	}
	_, err := w.send("alice", w.message(ab, "hi"))
	wantCode(t, err, im.CodeNotContact)
}

// What waits for a store counts as queued: it is bounded as well.
func TestOverloadCountsWhatWaitsForAStore(t *testing.T) {
	const limit = 3 * maxAdmitters
	w := newWorld(t, func(o *Options) { o.MaxQueued = limit })
	w.mustSend("alice", ab, "opened")
	at := newGate(t)
	w.members.setOnMaySend(func(im.UserID) error { at.pass(); return nil })
	var all []<-chan outcome
	for i := range limit {
		u := im.UserID(fmt.Sprintf("u%d", i))
		all = append(all, w.start(u, w.message(im.DM("alice", u), "hi")))
	}
	at.in(t, maxAdmitters)
	for held := 0; held < limit; { // the committer has seen all
		w.queue.mu.Lock()
		held = w.queue.held
		w.queue.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	_, err := w.send("late", w.message(im.DM("alice", "late"), "hi"))
	wantCode(t, err, im.CodeOverloaded)
	w.members.setOnMaySend(nil) // RAM knows again
	at.open()
	for _, c := range all {
		if o := <-c; o.err != nil {
			t.Error(o.err)
		}
	}
	w.mustSend("later", im.DM("alice", "later"), "now")
	if w.queue.mu.Lock(); w.queue.held != 0 {
		t.Errorf("%d are counted as held", w.queue.held)
	}
	w.queue.mu.Unlock()
}

// change appends an event that makes a roster revision, and applies it.
func (w *world) change(g im.ConversationID, rev uint64, apply func() error) (uint64, error) {
	return w.AppendEvent(w.t.Context(), im.Promise{ID: w.id2(), Conversation: g, Event: im.Event{Type: im.EventMemberAdded}, IfRoster: rev - 1, SetRoster: rev}, func(uint64) error {
		err := apply()
		w.members.setRoster(g, rev)
		return err
	})
}

// id2 is id for goroutines.
func (w *world) id2() im.MessageID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id()
}

func (f *fakeMembers) setOnMaySend(g func(im.UserID) error) {
	f.mu.Lock()
	f.onMaySend = g
	f.mu.Unlock()
}

func (j *memJournal) setOnLookup(f func()) {
	j.mu.Lock()
	j.onLookup = f
	j.mu.Unlock()
}

func (j *memJournal) setOnRead(f func()) {
	j.mu.Lock()
	j.onRead = f
	j.mu.Unlock()
}
