package schema

import (
	"errors"
	"testing"
)

func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		steps   Steps
		start   int
		have    Range
		waiting int
		refused bool
		beyond  bool
	}{
		{Steps{}, 0, Range{}, 0, false, false},
		{Steps{Expand}, 1, Range{0, 0}, 0, false, false},
		{Steps{Expand, Contract}, 1, Range{0, 0}, 1, false, false},
		{Steps{Expand, Contract}, 1, Range{2, 2}, 0, false, false},
		{Steps{Expand, Contract, Contract}, 1, Range{2, 2}, 1, false, false},
		{Steps{Expand, Contract, Expand}, 3, Range{1, 1}, 0, false, false},
		{Steps{Expand}, 1, Range{2, 1}, 0, false, true},  // expanded by the next version
		{Steps{Expand}, 1, Range{3, 3}, 0, true, true},   // and contracted
		{Steps{Expand}, 1, Range{3, 2}, 0, true, true},   // and expanded again
		{Steps{Expand}, 1, Range{99, 1}, 0, false, true}, // many that only add
	} {
		if got := tt.steps.Start(); got != tt.start {
			t.Errorf("%v starts at %d, want %d", tt.steps, got, tt.start)
		}
		if got := tt.steps.Waiting(tt.have); got != tt.waiting {
			t.Errorf("%v: %d wait in %v, want %d", tt.steps, got, tt.have, tt.waiting)
		}
		var newer *NewerError
		err := tt.steps.Check("it", tt.have)
		if errors.As(err, &newer) != tt.refused || newer != nil && (newer.Have != tt.have || newer.Known != tt.steps.Known()) {
			t.Errorf("%v and %v: %v", tt.steps, tt.have, err)
		}
		if got := tt.steps.Beyond("it", tt.have); (got != "") != tt.beyond {
			t.Errorf("%v and %v: %q", tt.steps, tt.have, got)
		}
	}
}
