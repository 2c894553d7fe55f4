package soak

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestPatiently: a round of faults ended without a verdict because who read everything
// at its end was told to come later. It waits as told, and for nothing else.
func TestPatiently(t *testing.T) {
	other := errors.New("other")
	for _, c := range []struct {
		name    string
		refused int
		last    error
		limit   time.Duration
		took    time.Duration
		want    string
	}{
		{"answered at once", 0, nil, time.Minute, 0, ""},
		{"refused once", 1, nil, time.Minute, 2 * time.Second, ""},
		{"refused three times", 3, nil, time.Minute, 6 * time.Second, ""},
		{"refused, then another error", 1, other, time.Minute, 2 * time.Second, "other"},
		{"time is up", 1000, nil, 5 * time.Second, 5 * time.Second, "rate_limited"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				asked, began := 0, time.Now()
				err := patiently(ctx, func() error {
					if asked++; asked <= c.refused {
						return &skein.Error{Code: wire.CodeRateLimited, RetryAfter: 2 * time.Second}
					}
					return c.last
				})
				var e *skein.Error
				switch {
				case c.want == "" && err != nil, c.want == "other" && err != other:
					t.Errorf("%v", err)
				case c.want == "rate_limited" && (!errors.As(err, &e) || e.Code != wire.CodeRateLimited):
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}
