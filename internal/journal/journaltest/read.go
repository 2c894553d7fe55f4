package journaltest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func testReadRanges(t *testing.T, f *fixture) {
	c := im.Group("g")
	for n := 1; n <= 10; n++ {
		f.stored(text(c, "a", n, "x"))
	}
	const most = ^uint64(0)
	tests := []struct {
		from     uint64
		backward bool
		limit    int
		want     string
	}{
		{0, false, 3, "[1 2 3]"},
		{1, false, 3, "[1 2 3]"},
		{4, false, 100, "[4 5 6 7 8 9 10]"},
		{10, false, 5, "[10]"},
		{11, false, 5, "[]"},
		{most, false, 5, "[]"},
		{0, true, 3, "[8 9 10]"},
		{10, true, 3, "[8 9 10]"},
		{9, true, 3, "[7 8 9]"},
		{2, true, 5, "[1 2]"},
		{1, true, 5, "[1]"},
		{11, true, 2, "[9 10]"},
		{most, true, 2, "[9 10]"},
		{5, true, 0, "[]"},
		{5, false, 0, "[]"},
		{5, false, -1, "[]"},
		{0, true, 1, "[10]"},
	}
	for range 2 {
		for _, tt := range tests {
			if got := fmt.Sprint(f.seqs(c, tt.from, tt.backward, tt.limit)); got != tt.want {
				t.Errorf("Read(%d, backward %v, limit %d) = %s, want %s", tt.from, tt.backward, tt.limit, got, tt.want)
			}
		}
		f.reopen()
	}
}

func testReadBytes(t *testing.T, f *fixture) {
	c := im.Group("g")
	const size = 100 << 10
	for n := 1; n <= 30; n++ {
		f.stored(text(c, "a", n, string(bytes.Repeat([]byte{'x'}, size))))
	}
	huge := text(c, "a", 31, string(bytes.Repeat([]byte{'y'}, 3<<20)))
	f.stored(huge)
	bounded := func(name string, seqs []uint64, first, last uint64) {
		t.Helper()
		if len(seqs) < 5 || len(seqs) > 15 || (first != 0 && seqs[0] != first) || (last != 0 && seqs[len(seqs)-1] != last) {
			t.Errorf("%s: seqs %v; want about 10 entries of 100 KiB, from %d, to %d", name, seqs, first, last)
		}
	}
	bounded("forward", f.seqs(c, 1, false, 100), 1, 0)
	bounded("backward", f.seqs(c, 30, true, 100), 0, 30)
	if got := fmt.Sprint(f.seqs(c, 31, false, 100)); got != "[31]" {
		t.Errorf("an entry beyond the bound: %s, want it alone", got)
	}
	if got := fmt.Sprint(f.seqs(c, 0, true, 100)); got != "[31]" {
		t.Errorf("an entry beyond the bound, backward: %s, want it alone", got)
	}
	// Paging by what came back reaches everything.
	if n := len(f.checkConversation(c)); n != 31 {
		t.Errorf("%d entries by paging, want 31", n)
	}
}

func testPrefixes(t *testing.T, f *fixture) {
	cs := []im.ConversationID{"grp:a", "grp:aa", "grp:a-", "grp:b", "me:a", "dm:a:b", "dm:a:bb", "dm:aa:b"}
	for n := range 40 {
		c := cs[n%len(cs)]
		f.stored(text(c, "a", n+1, string(c)))
	}
	f.reopen()
	for _, c := range cs {
		for _, e := range f.checkConversation(c) {
			if string(e.Body) != string(c) {
				t.Errorf("%s has an entry of %s", c, e.Body)
			}
		}
		if n := len(f.read(c, 0, true, 100)); n != 5 {
			t.Errorf("%s: %d entries, want 5", c, n)
		}
	}
}

func testRoundTrip(t *testing.T, f *fixture) {
	c := im.Group("g")
	until := time.Date(2031, 5, 6, 7, 8, 9, 10_000_000, time.UTC)
	long := make([]byte, 64<<10)
	for i := range long {
		long[i] = byte(i * 7)
	}
	entries := []im.Entry{
		{Sender: "a", Kind: im.EntryMessage, Body: []byte("héllo 🙂")},
		{Sender: "b", Kind: im.EntryMessage, Body: []byte{0, 0xff, 0xfe, '\n', 0}},
		{Sender: "", Kind: im.EntryEvent, Body: []byte("somebody came")},
		{Sender: "", Kind: im.EntryEvent},
		{Sender: "a", Kind: im.EntryMessage},
		{Sender: "a", Kind: im.EntryMessage, Body: long},
		{Sender: "a", Kind: im.EntryMessage, Body: []byte{}},
		{Sender: "a", Kind: 77, Body: []byte("of a later version")},
	}
	batch := make([]im.Append, len(entries))
	for i := range entries {
		entries[i].Conversation, entries[i].ID = c, id(i+1)
		// What the caller puts here does not count: the journal gives these.
		e := entries[i]
		e.Seq, e.Count, e.Pos, e.Roster, e.Recalled, e.Amended, e.Stored = 99, 99, 99, 99, true, 99, until
		e.Event = &im.Event{Type: im.EventMemberAdded}
		batch[i] = im.Append{Entry: e, Hash: uint64(i) << 60}
	}
	out := f.stored(batch...)
	for i, o := range out {
		e := &entries[i]
		e.Seq, e.Count, e.Stored, e.Pos, e.Roster = o.Seq, o.Count, o.Time, o.Pos, o.Roster
		if o.Time.Nanosecond()%1e6 != 0 || o.Time.IsZero() {
			t.Errorf("time %v is not in whole milliseconds", o.Time)
		}
	}
	for range 2 {
		got := f.checkConversation(c)
		for i := range got {
			if d := differ(&got[i], &entries[i]); d != "" {
				t.Errorf("entry %d: %s", i, d)
			}
		}
		for i, o := range f.append(batch...) {
			same(t, o, out[i])
		}
		f.reopen()
	}
}

func testHeads(t *testing.T, f *fixture) {
	var cs []im.ConversationID
	for n := range 600 {
		c := im.Group(fmt.Sprintf("g%d", n))
		cs = append(cs, c)
		if n%3 != 0 {
			f.stored(text(c, "a", n+1, "x"))
		}
	}
	cs = append(cs, cs[1], cs[0]) // the same twice
	check := func() {
		t.Helper()
		out := make([]im.Head, len(cs))
		for i := range out {
			out[i].Seq = 77 // must be overwritten
		}
		if err := f.j.Heads(f.ctx, cs, out); err != nil {
			t.Fatal(err)
		}
		for i, h := range out {
			want := uint64(0)
			if i < 600 && i%3 != 0 || i == 600 {
				want = 1
			}
			if h.Seq != want || h.Count != want || (want == 0 && h != im.Head{}) {
				t.Fatalf("head of %s: %+v, want seq %d", cs[i], h, want)
			}
		}
	}
	check()
	f.reopen()
	check()
	check()
	if err := f.j.Heads(f.ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	out := f.stored(text(cs[1], "a", 1000, "y"))
	if h := f.head(cs[1]); h.Seq != 2 || !h.Time.Equal(out[0].Time) || h.Pos != out[0].Pos {
		t.Fatalf("head %+v after %+v", h, out[0])
	}
}

func testPosition(t *testing.T, f *fixture) {
	g, h := f.shard("grp:g"), f.shard("grp:h")
	last, lastOfG := f.position(h), f.position(g)
	for n := 1; n <= 30; n++ {
		out := f.stored(text("grp:g", "a", 2*n, "x"), text("grp:h", "a", 2*n+1, "x"))
		p, ofG := f.reaches(h, out[1].Pos), f.reaches(g, out[0].Pos)
		if p <= last || out[0].Pos <= lastOfG || g == h && out[1].Pos < out[0].Pos || out[1].Pos > p {
			t.Fatalf("position %d → %d, and %d → %d, entries at %d and %d", lastOfG, ofG, last, p, out[0].Pos, out[1].Pos)
		}
		if h := f.head("grp:h"); h.Pos != out[1].Pos {
			t.Fatalf("head at %d, want %d", h.Pos, out[1].Pos)
		}
		last, lastOfG = p, ofG
		if n%10 == 0 {
			f.reopen()
			if p := f.position(h); p < last {
				t.Fatalf("position %d after reopening, it was %d", p, last)
			}
		}
	}
}

func testTimeline(t *testing.T, f *fixture) {
	first := f.j.Timeline()
	if first == "" {
		t.Fatal("no timeline")
	}
	f.stored(text("grp:g", "a", 1, "x"))
	for range 2 {
		f.reopen()
		if got := f.j.Timeline(); got != first {
			t.Fatalf("timeline %q became %q", first, got)
		}
	}
}
