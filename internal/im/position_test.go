package im_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// set is the position with these places, of which the shards are told by their order.
func set(at map[im.Shard]im.Place) (p im.Position) {
	for s, place := range at {
		p = p.With(s, place)
	}
	return p
}

func TestPositionText(t *testing.T) {
	one := im.Place{Era: 0xfbefbefbefbefbef, Pos: 77} // an era with the sign of a shard in it
	if got := im.PositionAt(one).String(); got != one.String() {
		t.Errorf("of one shard it is %q, its place %q", got, one)
	}
	if p, ok := im.ParsePosition(one.String()); !ok || !p.Equal(im.PositionAt(one)) {
		t.Errorf("what was told before there were shards is read as %v, %v", p, ok)
	}
	all := im.Place{Era: math.MaxUint64, Pos: math.MaxUint64}
	full := im.Position{}
	for s := range im.Shard(im.MaxShards) {
		full = full.With(math.MaxUint16-s, all)
	}
	for name, p := range map[string]im.Position{
		"one": im.PositionAt(one), "zeros": im.PositionAt(im.Place{}), "another than 0": im.Position{}.With(3, one),
		"two": set(map[im.Shard]im.Place{0: one, 1: {Era: 5}}), "with gaps": set(map[im.Shard]im.Place{2: one, 70: all, 65535: one}), "full": full,
	} {
		if got, ok := im.ParsePosition(p.String()); !ok || !got.Equal(p) {
			t.Errorf("%s: %q is read as %q, %v", name, p, got, ok)
		}
	}
	// A cursor of the list is a position, a number and the longest name of a conversation.
	if n := len(full.String()) + 1 + 13 + 1 + len(im.DM(im.UserID(strings.Repeat("a", im.MaxID)), im.UserID(strings.Repeat("b", im.MaxID)))); n > 512 {
		t.Errorf("a cursor has up to %d bytes", n)
	}
	a, b := one.String(), all.String()
	for _, s := range []string{
		"", "~", a + "~", "~" + a, a + "~~" + b, a + "~" + b, a + "~" + b + "-0", b + "-1~" + a, a + "~" + b + "-2~" + a + "-2", a + "-65536",
		a + "-", a + "-1-2", a + "-x~" + b + "-1", full.String() + "~" + a, a + "." + b,
	} {
		if p, ok := im.ParsePosition(s); ok {
			t.Errorf("%q is read as %q", s, p)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, p := range []im.Position{{}, im.PositionAt(im.Place{Era: 1, Pos: 2}), set(map[im.Shard]im.Place{0: {Era: 1, Pos: 2}, 1: {Era: 3, Pos: 4}, 40: {}})} {
		f.Add(p.String())
	}
	f.Add("-----------1-1~___________2-2")
	f.Fuzz(func(t *testing.T, s string) {
		p, ok := im.ParsePosition(s)
		if !ok {
			if !p.IsZero() {
				t.Errorf("%q is refused as %q", s, p)
			}
			return
		}
		again, ok := im.ParsePosition(p.String())
		if !ok || !again.Equal(p) {
			t.Errorf("%q is %q, which is %q, %v", s, p, again, ok)
		}
		shards := slices.Collect(maps.Keys(maps.Collect(p.All())))
		if len(shards) == 0 || len(shards) > im.MaxShards {
			t.Errorf("%q names %v", s, shards)
		}
	})
}

// What each shard has is compared with its own place, and with no other's.
func TestPositionOfShards(t *testing.T) {
	p := set(map[im.Shard]im.Place{0: {Era: 1, Pos: 10}, 2: {Era: 2, Pos: 500}, 5: {Era: 3, Pos: 7}})
	for s, want := range map[im.Shard]uint64{0: 10, 1: 0, 2: 500, 4: 0, 5: 7, 6: 0} {
		if got := p.At(s); got != want || !p.Covers(s, want) || p.Covers(s, want+1) {
			t.Errorf("shard %d: %d, want %d", s, got, want)
		}
	}
	var zero im.Position
	if zero.At(0) != 0 || !zero.Covers(0, 0) || zero.Covers(0, 1) || !zero.IsZero() || p.IsZero() {
		t.Error("the zero position")
	}
	if _, one := p.One(); one {
		t.Error("three shards are one")
	}
	if _, one := (im.Position{}.With(1, im.Place{Era: 1})).One(); one {
		t.Error("shard 1 is taken for a journal that is one store")
	}
	if at, one := im.PositionAt(im.Place{Era: 1, Pos: 4}).One(); !one || at.Pos != 4 {
		t.Error("one shard is not one")
	}
}

func TestPositionUpto(t *testing.T) {
	p := set(map[im.Shard]im.Place{0: {Era: 1, Pos: 10}, 2: {Era: 2, Pos: 500}})
	before := p.String()
	for _, tt := range []struct {
		shard     im.Shard
		pos       uint64
		zero, two uint64
	}{
		{0, 9, 9, 500}, {0, 10, 10, 500}, {0, 11, 10, 500}, {2, 0, 10, 0}, {2, math.MaxUint64, 10, 500}, {1, 3, 10, 500},
	} {
		got := p.Upto(tt.shard, tt.pos)
		if got.At(0) != tt.zero || got.At(2) != tt.two || got.At(1) != 0 {
			t.Errorf("upto %d of shard %d: %q", tt.pos, tt.shard, got)
		}
		if place, _ := got.Place(2); place.Era != 2 {
			t.Errorf("the era became %d", place.Era)
		}
		if (tt.zero < 10 || tt.two < 500) == got.Equal(p) || !got.Within(p) || got.Equal(p) != p.Within(got) {
			t.Errorf("upto %d of shard %d compares with what it was as if it were another", tt.pos, tt.shard)
		}
	}
	if p.String() != before {
		t.Errorf("it was written to: %q became %q", before, p)
	}
}

// A position is within another one when no shard is further. One may be further
// here, the other there.
func TestPositionWithin(t *testing.T) {
	a := set(map[im.Shard]im.Place{0: {Era: 1, Pos: 10}, 1: {Era: 2, Pos: 5}})
	for _, tt := range []struct {
		b      im.Position
		ab, ba bool
	}{
		{a, true, true},
		{a.With(0, im.Place{Era: 1, Pos: 11}), true, false},
		{a.With(1, im.Place{Era: 2, Pos: 4}), false, true},
		{a.With(0, im.Place{Era: 1, Pos: 11}).With(1, im.Place{Era: 2, Pos: 4}), false, false},
		{a.With(7, im.Place{Era: 2, Pos: 4}), true, false},
		{im.PositionAt(im.Place{Era: 1, Pos: 99}), false, false},
		{im.Position{}, false, true},
	} {
		if ab, ba := a.Within(tt.b), tt.b.Within(a); ab != tt.ab || ba != tt.ba {
			t.Errorf("%q and %q: %v, %v", a, tt.b, ab, ba)
		}
	}
}

// A journal that is one store pays nothing for what several need.
func TestPositionOfOneAllocatesNothing(t *testing.T) {
	text := im.Place{Era: 9, Pos: 12345}.String()
	var sum uint64
	if n := testing.AllocsPerRun(100, func() {
		p, ok := im.ParsePosition(text)
		at, one := p.One()
		if q := im.PositionAt(at).Upto(0, 12344); ok && one && q.Within(p) && !q.Equal(p) && !p.IsZero() && p.Covers(0, 5) {
			sum += q.At(0)
		}
	}); n != 0 || sum == 0 {
		t.Errorf("%v allocations", n)
	}
}
