package journaltest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// labelled asks for labelled entries, with an answer of an earlier question in its place.
func (f *fixture) labelled(limit int, spans ...im.LabelSpan) []im.Labelled {
	f.Helper()
	l, ok := f.j.(im.Labels)
	if !ok {
		f.Fatalf("%T does not tell what is labelled", f.j)
	}
	out := make([]im.Labelled, len(spans))
	for i := range out {
		out[i] = im.Labelled{Count: 99, Seqs: []uint64{99}, Pos: []uint64{99}}
	}
	if err := l.Labelled(f.ctx, spans, limit, out); err != nil {
		f.Fatalf("Labelled: %v", err)
	}
	return out
}

// wantLabelled asks for the first ones, and for the newest ones.
func (f *fixture) wantLabelled(limit int, c im.ConversationID, label string, after, until uint64, seqs ...uint64) {
	f.Helper()
	span := im.LabelSpan{Span: im.Span{Conversation: c, After: after, Until: until}, Label: label}
	newest := span
	newest.Newest, newest.Pos = true, ^uint64(0)
	got := f.labelled(limit, span, newest)
	first, last := seqs[:min(limit, len(seqs))], slices.Clone(seqs)
	slices.Reverse(last)
	last = last[:min(limit, len(last))]
	if got[0].Count != uint64(len(seqs)) || !slices.Equal(got[0].Seqs, first) || len(got[0].Pos) != len(first) {
		f.Fatalf("%+v, at most %d: %+v, want %v", span, limit, got[0], seqs)
	}
	if got[1].Count != 0 || !slices.Equal(got[1].Seqs, last) {
		f.Fatalf("the newest of %+v, at most %d: %+v, want %v", span, limit, got[1], last)
	}
	for i, seq := range got[1].Seqs {
		if pos := f.entry(c, seq).Pos; pos != got[1].Pos[i] {
			f.Fatalf("entry %d of %s is told at %d, and lies at %d", seq, c, got[1].Pos[i], pos)
		}
	}
}

// withLabels is an item that puts labels on, and takes others off.
func withLabels(it im.Append, labels, unlabels string) im.Append {
	it.Labels, it.Unlabels = strings.Fields(labels), strings.Fields(unlabels)
	return it
}

// Labelled entries are found by their label, until it is taken off or they are recalled;
// an item that is not stored labels nothing.
func testLabels(t *testing.T, f *fixture) {
	c, other := im.Group("g"), im.Group("g2")
	f.labelled(3)
	f.wantLabelled(9, c, "x", 0, 99)
	first := f.stored(withLabels(text(c, "a", 1, "one"), "x y", ""), text(c, "a", 2, "two"), withLabels(text(c, "b", 3, "three"), "x", ""),
		withLabels(text(other, "a", 4, "elsewhere"), "x", ""), withLabels(text(c, "a", 5, "four"), "x", ""))
	for range 2 { // before a new start and after
		f.wantLabelled(9, c, "x", 0, 99, 1, 3, 4)
		f.wantLabelled(2, c, "x", 0, 99, 1, 3, 4)
		f.wantLabelled(1<<20, c, "x", 0, 1<<63-1, 1, 3, 4) // as who wants all of them
		f.wantLabelled(0, c, "x", 0, 99, 1, 3, 4)
		f.wantLabelled(9, c, "x", 1, 3, 3)
		f.wantLabelled(9, c, "x", 4, ^uint64(0))
		f.wantLabelled(9, c, "x", 3, 3)
		f.wantLabelled(9, c, "y", 0, ^uint64(0), 1)
		f.wantLabelled(9, c, "", 0, 99)
		f.wantLabelled(9, other, "x", 0, 99, 1)
		f.wantLabelled(9, im.Group("none"), "x", 0, 99)
		f.reopen()
	}
	// Those that were stored up to a position only.
	span := im.LabelSpan{Span: im.Span{Conversation: c, Until: 9}, Label: "x", Newest: true, Pos: first[0].Pos - 1}
	if got := f.labelled(9, span); len(got[0].Seqs) != 0 {
		t.Fatalf("up to before the first: %+v", got)
	}
	// A resend, what is refused and what is not as it says label nothing.
	stale := withLabels(text(c, "a", 6, "stale"), "z", "")
	stale.IfRoster = 77
	f.append(withLabels(text(c, "a", 2, "two"), "z", ""), withLabels(change(c, "a", 7, 2, 99, "not so"), "z", ""))
	f.append(stale)
	f.wantLabelled(9, c, "z", 0, 99)
	// An amendment labels its target, also twice, and one of the same batch.
	f.stored(withLabels(change(c, "a", 8, 2, 0, "two, changed"), "x z", ""), withLabels(change(c, "a", 9, 1, 0, "one, changed"), "", "x none"),
		withLabels(text(c, "a", 10, "new"), "z", ""), withLabels(change(c, "a", 11, 7, 0, "new, changed"), "x", "z"))
	for range 2 {
		f.wantLabelled(9, c, "x", 0, 99, 2, 3, 4, 7)
		f.wantLabelled(9, c, "y", 0, 99, 1)
		f.wantLabelled(9, c, "z", 0, 99, 2)
		f.reopen()
	}
	f.stored(withLabels(change(c, "a", 12, 2, 5, "two again"), "z", ""), recall(c, "a", 13, 3))
	f.wantLabelled(9, c, "x", 0, 99, 2, 4, 7)
	f.stored(recall(c, "a", 14, 2))
	for range 2 {
		f.wantLabelled(9, c, "x", 0, 99, 4, 7)
		f.wantLabelled(9, c, "z", 0, 99)
		f.reopen()
	}
	// Taken off and put on again.
	f.stored(withLabels(change(c, "a", 15, 4, 0, "off"), "", "x"))
	f.wantLabelled(9, c, "x", 0, 99, 7)
	f.stored(withLabels(change(c, "a", 16, 4, 12, "on"), "x", ""))
	f.wantLabelled(9, c, "x", 0, 99, 4, 7)
	f.labelTooLong(c)
}

// labelTooLong refuses labels that nobody can keep.
func (f *fixture) labelTooLong(c im.ConversationID) {
	f.Helper()
	for i, label := range []string{"", strings.Repeat("x", im.MaxLabel+1)} {
		it := text(c, "a", 50+i, "x")
		it.Labels = []string{label}
		if err := f.j.Append(f.ctx, []im.Append{it}, make([]im.Appended, 1)); err == nil {
			f.Fatalf("a label of %d bytes was taken", len(label))
		}
	}
	it := text(c, "a", 60, "x")
	it.Labels = []string{strings.Repeat("x", im.MaxLabel)}
	f.stored(it)
	seq := uint64(len(f.all(c)))
	f.wantLabelled(9, c, it.Labels[0], 0, 99, seq)
	many := make([]im.Append, 30)
	for i := range many {
		many[i] = withLabels(text(im.Group("many"), "a", 100+i, fmt.Sprint(i)), "m", "")
	}
	f.stored(many...)
	f.wantLabelled(4, im.Group("many"), "m", 10, 20, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
}
