package im

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// None, one, two and many damaged ones: each is named, all others are answered, and one
// among many does not cost a question for each.
func TestApart(t *testing.T) {
	for _, damaged := range [][]int{nil, {0}, {99}, {41, 42}, {1, 3, 50, 98}} {
		asked, answered, broken := 0, make([]bool, 100), []int(nil)
		err := Apart(0, len(answered), func(from, until int) error {
			asked++
			for i := from; i < until; i++ {
				if slices.Contains(damaged, i) {
					return fmt.Errorf("block 7: %w", ErrJournalDamaged)
				}
			}
			for i := from; i < until; i++ {
				answered[i] = true
			}
			return nil
		}, func(i int, err error) { broken = append(broken, i) })
		if err != nil || !slices.Equal(broken, damaged) || asked > 1+len(damaged)*16 {
			t.Errorf("%v damaged: told of %v in %d questions, %v", damaged, broken, asked, err)
		}
		for i, is := range answered {
			if is == slices.Contains(damaged, i) {
				t.Errorf("%v damaged: %d answered: %t", damaged, i, is)
			}
		}
	}
}

// Any other error ends it.
func TestApartEnds(t *testing.T) {
	away, asked := errors.New("away"), 0
	err := Apart(0, 8, func(from, until int) error {
		if asked++; asked == 1 {
			return ErrJournalDamaged
		}
		return away
	}, func(int, error) { t.Error("it is said to be damaged") })
	if !errors.Is(err, away) || asked != 2 {
		t.Errorf("%v after %d questions", err, asked)
	}
}
