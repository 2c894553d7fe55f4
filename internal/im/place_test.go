package im_test

import (
	"math"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

func TestPlaceText(t *testing.T) {
	for _, p := range []im.Place{{}, {Era: 1, Pos: 1}, {Era: math.MaxUint64, Pos: math.MaxUint64}, {Era: 0x8000000000000000, Pos: 35}} {
		s := p.String()
		if got, ok := im.ParsePlace(s); !ok || got != p || len(s) > 24 {
			t.Errorf("%+v is %q, which is %+v, %v", p, s, got, ok)
		}
	}
	for _, s := range []string{"", "0", "zzzzzzzz", "AAAAAAAAAAA", "AAAAAAAAAAA!", "AAAAAAAAAAA-1", "AAAAAAAAAAB1", "!!!!!!!!!!!1", "AAAAAAAAAAAzzzzzzzzzzzzzz"} {
		if p, ok := im.ParsePlace(s); ok {
			t.Errorf("%q is read as %+v", s, p)
		}
	}
}

// What was given out counts up to where the next era began, and no further.
func TestErasHold(t *testing.T) {
	var none im.Eras
	if none.Hold(im.Place{}, 0) {
		t.Error("a history without an era holds something")
	}
	es := none.And(im.Era{ID: 1}).And(im.Era{ID: 2, Begin: 10}).And(im.Era{ID: 3, Begin: 10}).And(im.Era{ID: 4, Begin: 20})
	for _, tt := range []struct {
		era, pos uint64
		want     bool
	}{
		{1, 0, true}, {1, 10, true}, {1, 11, false}, {2, 10, true}, {2, 11, false}, {3, 20, true}, {3, 21, false},
		{4, 25, true}, {4, 26, false}, {5, 0, false}, {0, 0, false},
	} {
		if got := es.Hold(im.Place{Era: tt.era, Pos: tt.pos}, 25); got != tt.want {
			t.Errorf("position %d of era %d: %v, want %v", tt.pos, tt.era, got, tt.want)
		}
	}
}

// There are never more than so many, and what the newest gave out stays good.
func TestErasAreBounded(t *testing.T) {
	var es im.Eras
	for n := range uint64(3 * im.MaxEras) {
		es = es.And(im.Era{ID: n + 1, Begin: n})
	}
	last := uint64(3 * im.MaxEras)
	if len(es) != im.MaxEras || !es.Hold(im.Place{Era: last, Pos: last}, last) || es.Hold(im.Place{Era: 1}, last) {
		t.Errorf("%d eras", len(es))
	}
}

// Two histories agree up to where the one that is here left the era of the other.
func TestErasAgree(t *testing.T) {
	es := im.Eras{{ID: 1}, {ID: 2, Begin: 10}, {ID: 3, Begin: 20}}
	for _, tt := range []struct{ at, want im.Place }{
		{im.Place{Era: 1, Pos: 5}, im.Place{Era: 1, Pos: 5}}, {im.Place{Era: 1, Pos: 99}, im.Place{Era: 1, Pos: 10}},
		{im.Place{Era: 2, Pos: 21}, im.Place{Era: 2, Pos: 20}}, {im.Place{Era: 3, Pos: 25}, im.Place{Era: 3, Pos: 25}},
		{im.Place{Era: 3, Pos: 26}, im.Place{Era: 3, Pos: 25}}, {im.Place{Era: 4, Pos: 1}, im.Place{}}, {im.Place{}, im.Place{}},
	} {
		if got := es.Agree(tt.at, 25); got != tt.want || got != (im.Place{}) && !es.Hold(got, 25) {
			t.Errorf("with %+v it agrees up to %+v, want %+v", tt.at, got, tt.want)
		}
	}
}
