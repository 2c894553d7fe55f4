package split

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// fake is a shard that answers what it is told to.
type fake struct {
	Engine
	timeline string
	place    im.Place
	err      error
	asked    []im.Position
	appends  [][]im.Append
	marks    [][]im.Mark
	waiting  []func(error)
	closed   int
}

func (f *fake) Timeline() string { return f.timeline }
func (f *fake) Close() error     { f.closed++; return f.err }

func (f *fake) Position(context.Context) (im.Position, error) {
	if f.err != nil {
		return im.Position{}, f.err
	}
	return im.PositionAt(f.place), nil
}

func (f *fake) Holds(_ context.Context, p im.Position) (bool, error) {
	f.asked = append(f.asked, p)
	at, one := p.One()
	return one && at == f.place, f.err
}

func (f *fake) Append(_ context.Context, batch []im.Append, out []im.Appended) error {
	f.appends = append(f.appends, slices.Clone(batch))
	for i := range out {
		out[i] = im.Appended{Status: im.Stored, Seq: uint64(i) + 1, Pos: f.place.Pos}
	}
	return f.err
}

func (f *fake) Heads(_ context.Context, cs []im.ConversationID, out []im.Head) error {
	for i := range cs {
		out[i] = im.Head{Seq: uint64(len(cs[i])), Pos: f.place.Pos}
	}
	return f.err
}

func (f *fake) SetMarks(_ context.Context, marks []im.Mark, w im.MarkWait) error {
	f.marks = append(f.marks, marks)
	if w.Stored != nil && f.err == nil {
		f.waiting = append(f.waiting, w.Stored)
	}
	return f.err
}

// fakes are n shards, numbered 0, 2, 4 …, given to New in another order.
func fakes(t *testing.T, n int) (*Journal, []*fake) {
	t.Helper()
	var all []*fake
	var shards []Shard
	for i := range n {
		all = append(all, &fake{timeline: fmt.Sprint("t", i), place: im.Place{Era: uint64(i) + 1, Pos: uint64(i*1000) + 1}})
		shards = append([]Shard{{im.Shard(2 * i), all[i]}}, shards...)
	}
	j, err := New(shards, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j, all
}

// group is a group of a shard, user a user whose marks are there.
func group(j *Journal, s im.Shard, n int) im.ConversationID {
	for i := 0; ; i++ {
		if c := im.Group(fmt.Sprint(i)); j.Shard(c) == s {
			if n--; n < 0 {
				return c
			}
		}
	}
}

func user(j *Journal, s im.Shard) im.UserID {
	for i := 0; ; i++ {
		if u := im.UserID(fmt.Sprint("u", i)); j.UserShard(u) == s {
			return u
		}
	}
}

func TestNew(t *testing.T) {
	e := &fake{}
	for name, tt := range map[string]struct {
		shards []Shard
		of     func(uint16) im.Shard
	}{
		"none": {}, "twice": {shards: []Shard{{1, e}, {2, e}, {1, e}}}, "too many": {shards: slices.Repeat([]Shard{{1, e}}, im.MaxShards+1)},
		"a slot of nobody": {shards: []Shard{{1, e}, {2, e}}, of: func(slot uint16) im.Shard { return im.Shard(slot / 2048) }},
	} {
		if _, err := New(tt.shards, tt.of); err == nil {
			t.Errorf("%s: made", name)
		}
	}
	// Each has an equal part, in the order of the numbers.
	for _, n := range []int{1, 2, 3, im.MaxShards} {
		j, _ := fakes(t, n)
		parts := make([]int, n)
		for slot, place := range j.slots {
			if parts[place]++; slot > 0 && place < j.slots[slot-1] {
				t.Fatalf("%d shards: slot %d is before its turn", n, slot)
			}
		}
		if slices.Max(parts)-slices.Min(parts) > 1 {
			t.Errorf("%d shards have %v slots", n, parts)
		}
	}
}

func TestPositionOfAllShards(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		j, all := fakes(t, n)
		p, err := j.Position(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range all {
			if at, named := p.Place(im.Shard(2 * i)); !named || at != f.place {
				t.Errorf("shard %d of %d is told at %+v", 2*i, n, at)
			}
		}
		if held, err := j.Holds(t.Context(), p); !held || err != nil {
			t.Errorf("its own position is not held: %v", err)
		}
		// Each shard is asked for its place alone, and each has a say.
		for i, f := range all {
			if len(f.asked) != 1 || !f.asked[0].Equal(im.PositionAt(f.place)) {
				t.Errorf("shard %d was asked for %v", 2*i, f.asked)
			}
		}
		for i, f := range all {
			other := p.With(im.Shard(2*i), im.Place{Era: f.place.Era, Pos: f.place.Pos + 1})
			if held, err := j.Holds(t.Context(), other); held || err != nil {
				t.Errorf("shard %d of %d went back, and the position is held: %v", 2*i, n, err)
			}
		}
		for what, p := range map[string]im.Position{"none": {}, "a shard nobody knows": p.With(1, im.Place{Era: 1})} {
			if held, err := j.Holds(t.Context(), p); held || err != nil {
				t.Errorf("%s: held %v, %v", what, held, err)
			}
		}
	}
}

// A shard that is away keeps the position from nobody, once it said something; what
// it cannot tell about is not known.
func TestPositionWhileAShardIsAway(t *testing.T) {
	j, all := fakes(t, 2)
	all[1].err = fmt.Errorf("no route: %w", im.ErrJournalUnavailable)
	if _, err := j.Position(t.Context()); !errors.Is(err, im.ErrJournalUnavailable) {
		t.Fatalf("a shard that said nothing yet: %v", err)
	}
	all[1].err = nil
	before, err := j.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all[0].place.Pos, all[1].place.Pos, all[1].err = 50, 9999, im.ErrJournalUnavailable
	p, err := j.Position(t.Context())
	if err != nil || p.At(0) != 50 || p.At(2) != before.At(2) {
		t.Errorf("%v, %v", p, err)
	}
	if held, err := j.Holds(t.Context(), before); held || err != nil { // shard 0 says no: that is enough
		t.Errorf("held %v, %v", held, err)
	}
	if held, err := j.Holds(t.Context(), p); held || !errors.Is(err, im.ErrJournalUnavailable) {
		t.Errorf("held %v, %v", held, err)
	}
	all[1].err = errors.New("broken")
	if _, err := j.Position(t.Context()); err == nil {
		t.Error("an error that is not known was taken for being away")
	}
}

func TestTimelineOfShards(t *testing.T) {
	one, _ := fakes(t, 1)
	if one.Timeline() != "t0" {
		t.Errorf("of one shard it is %s", one.Timeline())
	}
	j, all := fakes(t, 3)
	seen := map[string]bool{j.Timeline(): true}
	for i := range all {
		all[i].timeline += "'"
		name := j.Timeline()
		if seen[name] || name != j.Timeline() || len(name) != 26 {
			t.Errorf("shard %d changed its timeline, and all have %s", i, name)
		}
		seen[name] = true
	}
	all[0].timeline, all[1].timeline = all[1].timeline, all[0].timeline
	if seen[j.Timeline()] {
		t.Error("two shards changed places unnoticed")
	}
}

func message(c im.ConversationID) im.Append { return im.Append{Entry: im.Entry{Conversation: c}} }

// A batch is one append of each shard, and each item gets its outcome.
func TestAppendOfShards(t *testing.T) {
	j, all := fakes(t, 2)
	a, b := message(group(j, 0, 0)), message(group(j, 2, 0))
	if err := j.Append(t.Context(), nil, nil); err != nil || len(all[0].appends)+len(all[1].appends) != 0 {
		t.Errorf("nothing to store: %v", err)
	}
	for name, tt := range map[string]struct {
		batch []im.Append
		seqs  []uint64
		calls [2]int
	}{
		"one": {[]im.Append{b}, []uint64{1}, [2]int{0, 1}}, "many of one": {[]im.Append{a, a, a}, []uint64{1, 2, 3}, [2]int{3, 0}},
		"of both": {[]im.Append{b, a, a, b, a}, []uint64{1, 1, 2, 2, 3}, [2]int{3, 2}},
	} {
		all[0].appends, all[1].appends = nil, nil
		out := make([]im.Appended, len(tt.batch))
		if err := j.Append(t.Context(), tt.batch, out); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			if want := map[im.Shard]uint64{0: 1, 2: 1001}[j.Shard(tt.batch[i].Entry.Conversation)]; out[i].Seq != tt.seqs[i] || out[i].Pos != want {
				t.Errorf("%s: item %d is %+v", name, i, out[i])
			}
		}
		for i, f := range all {
			if n := 0; tt.calls[i] > 0 && (len(f.appends) != 1 || len(f.appends[0]) != tt.calls[i]) || tt.calls[i] == 0 && len(f.appends) > n {
				t.Errorf("%s: shard %d was given %v", name, i, f.appends)
			}
		}
	}
	if err := j.Append(t.Context(), []im.Append{a}, nil); !errors.Is(err, im.ErrAppendInvalid) {
		t.Errorf("no room for the outcomes: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all[0].appends = nil
	if err := j.Append(ctx, []im.Append{a, b}, make([]im.Appended, 2)); !errors.Is(err, context.Canceled) || len(all[0].appends) > 0 {
		t.Errorf("cancelled: %v", err)
	}
}

// What a shard refuses concerns its own items, but for what concerns all.
func TestAppendOfAShardThatRefuses(t *testing.T) {
	broken := errors.New("checksum")
	for _, tt := range []struct {
		first, second error
		want          error // of the batch; nil: each item has its own
	}{
		{im.ErrJournalUnavailable, nil, nil}, {nil, im.ErrJournalFull, nil}, {nil, broken, nil}, {im.ErrAppendInvalid, im.ErrJournalUnavailable, nil},
		{im.ErrOutcomeUnknown, nil, im.ErrOutcomeUnknown}, {im.ErrJournalUnavailable, im.ErrOutcomeUnknown, im.ErrOutcomeUnknown},
		{nil, im.ErrJournalFailed, im.ErrJournalFailed}, {im.ErrOutcomeUnknown, im.ErrJournalFailed, im.ErrJournalFailed},
	} {
		j, all := fakes(t, 2)
		all[0].err, all[1].err = tt.first, tt.second
		batch := []im.Append{message(group(j, 2, 0)), message(group(j, 0, 0)), message(group(j, 2, 1))}
		out := make([]im.Appended, len(batch))
		err := j.Append(t.Context(), batch, out)
		var partly *im.PartlyError
		if errors.As(err, &partly) != (tt.want == nil) || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%v and %v: %v", tt.first, tt.second, err)
			continue
		}
		if tt.want != nil {
			continue
		}
		for i, want := range []error{tt.second, tt.first, tt.second} {
			if partly.Errs[i] != want || (want == nil) != (out[i].Status == im.Stored) {
				t.Errorf("%v and %v: item %d: %v, %+v", tt.first, tt.second, i, partly.Errs[i], out[i])
			}
		}
	}
	// One shard alone says what it says.
	j, all := fakes(t, 2)
	all[1].err = im.ErrJournalFull
	if err := j.Append(t.Context(), []im.Append{message(group(j, 2, 0)), message(group(j, 2, 1))}, make([]im.Appended, 2)); err != im.ErrJournalFull {
		t.Errorf("%v", err)
	}
}

// Only the shards that something is asked of have to be there.
func TestHeadsOfShards(t *testing.T) {
	j, all := fakes(t, 3)
	cs := []im.ConversationID{group(j, 4, 0), group(j, 0, 0), group(j, 4, 1), group(j, 0, 1)}
	out := make([]im.Head, len(cs))
	all[1].err = im.ErrJournalUnavailable
	if err := j.Heads(t.Context(), cs, out); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{2001, 1, 2001, 1} {
		if out[i].Pos != want || out[i].Seq != uint64(len(cs[i])) {
			t.Errorf("head %d is %+v", i, out[i])
		}
	}
	all[2].err = im.ErrJournalUnavailable
	if err := j.Heads(t.Context(), cs, out); !errors.Is(err, im.ErrJournalUnavailable) {
		t.Errorf("%v", err)
	}
	if err := j.Heads(t.Context(), nil, nil); err != nil {
		t.Errorf("none: %v", err)
	}
}

// Who waits for marks of several shards is called once, when the last has them, and
// never when one refused.
func TestMarksOfShardsAreWaitedFor(t *testing.T) {
	j, all := fakes(t, 2)
	marks := []im.Mark{{User: user(j, 0)}, {User: user(j, 2)}}
	var called atomic.Int32
	var got error
	w := im.MarkWait{Stored: func(err error) { called.Add(1); got = err }}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		called.Store(0)
		all[0].waiting, all[1].waiting = nil, nil
		if err := j.SetMarks(t.Context(), marks, w); err != nil {
			t.Fatal(err)
		}
		all[order[0]].waiting[0](nil)
		if called.Load() != 0 {
			t.Error("called before all are durable")
		}
		all[order[1]].waiting[0](im.ErrJournalFailed)
		if called.Load() != 1 || !errors.Is(got, im.ErrJournalFailed) {
			t.Errorf("called %d times, with %v", called.Load(), got)
		}
	}
	called.Store(0)
	all[1].err = im.ErrJournalFull
	all[0].waiting = nil
	if err := j.SetMarks(t.Context(), marks, w); !errors.Is(err, im.ErrJournalFull) {
		t.Errorf("%v", err)
	}
	all[0].waiting[0](nil)
	if called.Load() != 0 {
		t.Error("called, though there was an error")
	}
	all[1].err = nil
	if err := j.SetMarks(t.Context(), nil, w); err != nil || called.Load() != 1 || got != nil {
		t.Errorf("none: %v, called %d times with %v", err, called.Load(), got)
	}
	if err := j.Close(); err != nil || all[0].closed != 1 || all[1].closed != 1 {
		t.Errorf("closed %d and %d times, %v", all[0].closed, all[1].closed, err)
	}
}
