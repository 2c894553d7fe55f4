package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/im"
)

func trimTests() []test {
	return []test{
		{"Trim", testTrim},
		{"TrimOfNoneOneTwoMany", testTrimSpans},
		{"TrimmedIsNotAmended", testTrimAmended},
		{"TrimBesideAmendments", testTrimRace},
		{"TrimIsCut", testTrimCut},
		{"TrimSurvivesACrash", testTrimCrash},
	}
}

func (f *fixture) trims() im.Trims {
	f.Helper()
	tr, ok := f.j.(im.Trims)
	if !ok {
		f.Fatalf("%T trims nothing", f.j)
	}
	return tr
}

func (f *fixture) trim(c im.ConversationID, after, until uint64) {
	f.Helper()
	if err := f.trims().Trim(f.ctx, im.Span{Conversation: c, After: after, Until: until}); err != nil {
		f.Fatalf("Trim(%s, %d, %d): %v", c, after, until, err)
	}
}

// trimEntry does to an entry what a trim does.
func trimEntry(e *im.Entry) { e.Body, e.Amended, e.Recalled = nil, 0, false }

// trimmed is a conversation as it is after a trim of it.
func trimmed(all []im.Entry, after, until uint64) []im.Entry {
	out := append([]im.Entry(nil), all...)
	for i := range out {
		if e := &out[i]; e.Seq > after && e.Seq <= until {
			trimEntry(e)
		}
	}
	return out
}

// wantAll requires a conversation to be as want, however it is read.
func (f *fixture) wantAll(c im.ConversationID, want []im.Entry) {
	f.Helper()
	got := f.checkConversation(c)
	if len(got) != len(want) {
		f.Fatalf("%s has %d entries, want %d", c, len(got), len(want))
	}
	for i := range got {
		if d := differ(&got[i], &want[i]); d != "" {
			f.Fatalf("%s %d: %s", c, want[i].Seq, d)
		}
	}
}

// The entries of the span are empty, also amendments and what was recalled, and have no
// labels any more. The others are as they were, in the span's conversation and beside
// it; so are head, ids and positions.
func testTrim(t *testing.T, f *fixture) {
	c, other, long := im.Group("g"), im.Group("g2"), im.Group("gg")
	first := []im.Append{
		withLabels(text(c, "a", 1, "one"), "x", ""), withLabels(text(c, "a", 2, "two"), "x y", ""), text(c, "b", 3, "three"),
		withLabels(text(c, "a", 4, "four"), "x", ""), withLabels(text(c, "a", 5, "five"), "x z", ""),
	}
	first[4].SetRoster = 7
	out := f.stored(first...)
	amending := []im.Append{
		withLabels(change(c, "a", 6, 2, 0, "two, changed"), "z", ""), recall(c, "a", 7, 3), change(c, "b", 8, 5, 0, "five, changed"), recall(c, "a", 9, 1),
	}
	for i := range amending {
		amending[i].IfRoster = 7
	}
	out = append(out, f.stored(amending...)...)
	for _, near := range []im.ConversationID{other, long} {
		f.stored(withLabels(text(near, "a", 1, "one"), "x", ""), withLabels(text(near, "a", 2, "two"), "x", ""), recall(near, "a", 3, 1))
	}
	before, head := f.all(c), f.head(c)
	near := [][]im.Entry{f.all(other), f.all(long)}
	f.trim(c, 1, 6)
	want := trimmed(before, 1, 6)
	for range 2 { // before a new start and after
		f.wantAll(c, want)
		f.wantAll(other, near[0])
		f.wantAll(long, near[1])
		if h := f.head(c); !sameHead(h, head) {
			t.Fatalf("the head is %+v, was %+v", h, head)
		}
		f.wantRecalled(9, im.Span{Conversation: c, Until: 99}, 1, 1)
		f.wantRecalled(9, im.Span{Conversation: other, Until: 99}, 1, 1)
		f.wantLabelled(9, c, "x", 0, 99)
		f.wantLabelled(9, c, "y", 0, 99)
		f.wantLabelled(9, c, "z", 0, 99)
		f.wantLabelled(9, other, "x", 0, 99, 2)
		f.wantLabelled(9, long, "x", 0, 99, 2)
		all := append(append([]im.Append(nil), first...), amending...)
		for i, got := range f.looked(all...) {
			same(t, got, out[i])
		}
		for i, got := range f.append(all...) {
			same(t, got, out[i])
		}
		reused := first[1]
		reused.Hash++
		if got := f.append(reused)[0].Status; got != im.IDConflict {
			t.Fatalf("another message with the id of a trimmed one: status %d", got)
		}
		f.reopen()
	}
	// What is not trimmed goes on.
	f.stored(ifRoster(change(c, "b", 20, 8, 0, "an amendment, changed"), 7), ifRoster(withLabels(text(c, "a", 21, "new"), "x", ""), 7))
	if e := f.entry(c, 8); string(e.Body) != "an amendment, changed" {
		t.Fatalf("%+v", e)
	}
	f.wantLabelled(9, c, "x", 0, 99, 11)
}

func ifRoster(it im.Append, roster uint64) im.Append {
	it.IfRoster = roster
	return it
}

// None, one, two, many and all, at both ends, twice, and beyond the head.
func testTrimSpans(t *testing.T, f *fixture) {
	c := im.Group("g")
	f.trim("grp:none", 0, 5)
	f.trim(c, 0, ^uint64(0))
	for n := range 9 {
		f.stored(withLabels(text(c, "a", n, fmt.Sprint("message ", n)), "x", ""))
	}
	want := f.all(c)
	for _, s := range []struct{ after, until uint64 }{
		{0, 0}, {5, 5}, {6, 5}, {9, 99}, {^uint64(0) - 3, ^uint64(0)}, // none
		{0, 1}, {4, 5}, {4, 5}, {5, 7}, {4, 7}, {8, 9}, {8, 1 << 63}, {0, ^uint64(0)}, {0, 9},
	} {
		f.trim(c, s.after, s.until)
		want = trimmed(want, s.after, s.until)
		f.wantAll(c, want)
		var left []uint64
		for i := range want {
			if len(want[i].Body) > 0 {
				left = append(left, want[i].Seq)
			}
		}
		f.wantLabelled(9, c, "x", 0, 99, left...)
	}
	f.stored(text(c, "a", 20, "after all of it"))
	if e := f.entry(c, 10); string(e.Body) != "after all of it" {
		t.Fatalf("%+v", e)
	}
	// More than a step.
	many := im.Group("many")
	const n = 5000
	for from := 0; from < n; from += 500 {
		batch := make([]im.Append, 500)
		for k := range batch {
			batch[k] = text(many, "a", from+k, fmt.Sprint("message ", from+k))
			if k%100 == 0 {
				batch[k] = withLabels(batch[k], fmt.Sprint("x l", (from+k)/100%7), "")
			}
		}
		f.stored(batch...)
	}
	want = f.all(many)
	for _, s := range []struct{ after, until uint64 }{{1, 4998}, {0, n + 7}} {
		f.trim(many, s.after, s.until)
		want = trimmed(want, s.after, s.until)
		f.wantAll(many, want)
	}
	f.reopen()
	f.wantAll(many, want)
	f.wantLabelled(9, many, "x", 0, n)
	f.wantLabelled(9, many, "l3", 0, n)
}

// No amendment gives a trimmed entry a body or a label again, whatever it says its
// target is.
func testTrimAmended(t *testing.T, f *fixture) {
	c := im.Group("g")
	f.stored(text(c, "a", 1, "one"), text(c, "a", 2, "two"), change(c, "a", 3, 2, 0, "two, changed"), text(c, "a", 4, "four"))
	f.trim(c, 0, 3)
	for range 2 {
		for n, it := range []im.Append{
			change(c, "a", 10, 1, 0, "back"), change(c, "a", 11, 2, 3, "back"), change(c, "a", 12, 2, 0, "back"), change(c, "a", 13, 3, 0, "back"),
		} {
			out := f.append(withLabels(it, "x", ""), text(c, "b", 20+n, "behind it"))
			if out[0].Status != im.TargetChanged || out[1].Status != im.RosterChanged {
				t.Fatalf("amendment %d of a trimmed entry: %+v", n, out)
			}
		}
		f.wantLabelled(9, c, "x", 0, 99)
		f.reopen()
	}
	// A recall says nothing.
	f.stored(recall(c, "a", 30, 1), change(c, "a", 31, 4, 0, "four, changed"))
	if e := f.entry(c, 1); len(e.Body) != 0 || !e.Recalled {
		t.Fatalf("%+v", e)
	}
	f.checkConversation(c)
	f.trim(c, 0, 3)
	if e := f.entry(c, 1); len(e.Body) != 0 || e.Recalled {
		t.Fatalf("%+v", e)
	}
	f.wantRecalled(9, im.Span{Conversation: c, Until: 99}, 0)
}

// Amendments, recalls and messages beside a trim of the same conversation: when it
// returned, nothing in its span has a body or a label, and nothing gets one.
func testTrimRace(t *testing.T, f *fixture) {
	const size, rounds, writers = 40, 6, 3
	for round := range rounds {
		c := im.Group(fmt.Sprint("g", round))
		batch := make([]im.Append, size)
		for k := range batch {
			batch[k] = withLabels(text(c, "a", k, fmt.Sprint("message ", k)), "x", "")
		}
		f.stored(batch...)
		var wg sync.WaitGroup
		begun, done := make(chan struct{}, writers), make(chan struct{})
		errs := make(chan error, writers)
		for w := range writers {
			wg.Go(func() { errs <- f.amendOn(c, w, size, begun, done) })
		}
		for range writers {
			<-begun
		}
		f.trim(c, 2, size-2)
		held := f.trimmedHas(c, 2, size-2)
		f.stored(text(c, "a", 1000, "the last one"))
		close(done)
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(held, f.trimmedHas(c, 2, size-2)); err != nil {
			t.Fatal(err)
		}
		f.checkConversation(c)
	}
}

// amendOn amends one entry after the other, and writes between, until it is done.
func (f *fixture) amendOn(c im.ConversationID, w, size int, begun, done chan struct{}) error {
	for n := 0; ; n++ {
		select {
		case <-done:
			return nil
		default:
		}
		target := uint64((n*7+w)%size) + 1
		entries, err := f.j.Read(f.ctx, c, target, false, 1)
		if err != nil || len(entries) != 1 {
			return fmt.Errorf("read entry %d of %s: %d entries, %w", target, c, len(entries), err)
		}
		sender := im.UserID(fmt.Sprint("w", w))
		batch := []im.Append{withLabels(change(c, sender, 2*n, target, entries[0].Amended, "words"), "x y", ""), text(c, sender, 2*n+1, "between")}
		if err := f.j.Append(f.ctx, batch, make([]im.Appended, 2)); err != nil {
			return err
		}
		if n == 2 {
			begun <- struct{}{}
		}
	}
}

// trimmedHas tells what a trimmed span has, and should not.
func (f *fixture) trimmedHas(c im.ConversationID, after, until uint64) error {
	entries, err := f.j.Read(f.ctx, c, after+1, false, int(until-after))
	if err != nil {
		return err
	}
	for i := range entries {
		if len(entries[i].Body) > 0 || entries[i].Amended != 0 {
			return fmt.Errorf("entry %d of %s was trimmed: %+v", entries[i].Seq, c, entries[i])
		}
	}
	for _, label := range []string{"x", "y"} {
		if got := f.labelled(9, im.LabelSpan{Span: im.Span{Conversation: c, After: after, Until: until}, Label: label})[0]; got.Count != 0 {
			return fmt.Errorf("%s was trimmed from %d to %d, and has %q at %v", c, after, until, label, got.Seqs)
		}
	}
	return nil
}

// A ctx that is done ends it between two steps: what was done stays done, from the
// beginning on, and the rest is as it was; asked for again it goes on.
func testTrimCut(t *testing.T, f *fixture) {
	c := im.Group("g")
	const n = 3000
	for from := 0; from < n; from += 500 {
		batch := make([]im.Append, 500)
		for k := range batch {
			batch[k] = text(c, "a", from+k, "words")
		}
		f.stored(batch...)
	}
	want := f.all(c)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := f.trims().Trim(ctx, im.Span{Conversation: c, Until: n}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a trim that is cut before it begins: %v", err)
	}
	f.wantAll(c, want)
	cut := &cutContext{Context: f.ctx, left: 2}
	if err := f.trims().Trim(cut, im.Span{Conversation: c, Until: n}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a trim that is cut: %v", err)
	}
	for range 2 {
		got := f.all(c)
		until := uint64(0)
		for until < n && len(got[until].Body) == 0 {
			until++
		}
		if until == n {
			t.Fatal("nothing was cut")
		}
		f.wantAll(c, trimmed(want, 0, until))
		f.reopen()
	}
	f.trim(c, 0, n)
	f.wantAll(c, trimmed(want, 0, n))
}

// cutContext is done after it was asked for some times whether it is.
type cutContext struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *cutContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// What was trimmed is so after a power cut.
func testTrimCrash(t *testing.T, f *fixture) {
	if f.store.Crash == nil {
		t.Skip("the engine's durability is somebody else's")
	}
	c := im.Group("g")
	for n := range 20 {
		f.stored(withLabels(text(c, "a", n, "words"), "x", ""))
	}
	f.stored(recall(c, "a", 50, 3))
	want := f.all(c)
	for until := uint64(1); until <= 21; until += 4 {
		f.trim(c, 0, until)
		f.crash()
		want = trimmed(want, 0, until)
		f.wantAll(c, want)
		f.wantLabelled(9, c, "x", 0, until)
	}
}

// trim trims a part of a conversation.
func (w *walk) trim(rt *rapid.T) {
	c := w.conversation(rt)
	list := w.m.entries[c]
	s := im.Span{Conversation: c, After: rapid.Uint64Range(0, uint64(len(list))+1).Draw(rt, "after"), Until: rapid.Uint64Range(0, uint64(len(list))+2).Draw(rt, "until")}
	if err := w.f.trims().Trim(w.f.ctx, s); err != nil {
		rt.Fatalf("Trim: %v", err)
	}
	w.m.entries[c] = trimmed(list, s.After, s.Until)
}
