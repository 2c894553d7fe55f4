package schema

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A store that was just left is not refused; one that stays in use is, soon; what else is
// wrong at once. It was refused for as long as the database took to see that a node had
// gone.
func TestOutlast(t *testing.T) {
	inUse := &InUseError{Store: "the store", Step: 9, Known: 7}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		free   time.Duration // when nobody uses it any more
		others error
		cancel time.Duration
		want   error
		took   time.Duration
	}{
		"nobody":          {0, nil, time.Hour, nil, 0},
		"one who left":    {120 * time.Millisecond, nil, time.Hour, nil, 150 * time.Millisecond},
		"one who stays":   {time.Hour, nil, time.Hour, inUse, ended},
		"another error":   {0, broken, time.Hour, broken, 0},
		"who asks leaves": {time.Hour, nil, time.Second, inUse, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.cancel)
				defer cancel()
				began := time.Now()
				err := Outlast(ctx, func() error {
					if time.Since(began) < c.free {
						return inUse
					}
					return c.others
				})
				if took := time.Since(began); !errors.Is(err, c.want) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
			})
		})
	}
}
