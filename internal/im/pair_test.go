package im

import (
	"errors"
	"strings"
	"testing"
)

func TestComparePair(t *testing.T) {
	one := Pair{Identity: "one", Changes: 5, Position: 9}
	with := func(change func(*Pair)) Pair { p := one; change(&p); return p }
	for name, c := range map[string]struct {
		journal, directory Pair
		join               bool
		refused            string
	}{
		"new":                 {Pair{}, Pair{}, true, ""},
		"the same":            {one, one, false, ""},
		"directory ahead":     {one, with(func(p *Pair) { p.Changes++; p.Position-- }), false, ""},
		"no directory":        {one, Pair{}, false, "directory (users, sessions, groups) is missing"},
		"no journal":          {Pair{}, one, false, "journal (messages) is missing"},
		"strangers":           {one, with(func(p *Pair) { p.Identity = "two" }), false, "another server"},
		"older directory":     {one, with(func(p *Pair) { p.Changes-- }), false, "directory (users, sessions, groups) is older"},
		"older journal":       {one, with(func(p *Pair) { p.Position++ }), false, "journal (messages) is older"},
		"join was cut short":  {Pair{}, one.Again(), true, ""},
		"and a little later":  {one, one.Again(), true, ""},
		"of another journal":  {with(func(p *Pair) { p.Identity = "two" }), one.Again(), false, "another server"},
		"a loss was accepted": {one.Again(), Pair{}, true, ""},
	} {
		join, err := ComparePair(c.journal, c.directory)
		var pair *PairError
		if join != c.join || (err != nil) != (c.refused != "") || err != nil && (!errors.As(err, &pair) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v, %v", name, join, err)
		}
	}
}

// Wherever joining is cut short, the next start joins again.
func TestJoinIsCutShort(t *testing.T) {
	cut := errors.New("cut")
	for steps := range 4 {
		var journal, directory Pair
		left := steps
		set := func(into *Pair) func(Pair) error {
			return func(p Pair) error {
				if left == 0 {
					return cut
				}
				left--
				*into = p
				return nil
			}
		}
		err := Pair{Identity: "one"}.Join(set(&journal), set(&directory))
		join, refused := ComparePair(journal, directory)
		if (err == nil) != (steps == 3) || refused != nil || join != (steps < 3) {
			t.Errorf("after %d steps: %v; then %v, %v", steps, err, join, refused)
		}
	}
}
