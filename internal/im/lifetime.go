package im

import "time"

// Bounds of the lifetime of messages in a conversation (SPEC §4.27).
const (
	MinLifetime = time.Minute
	MaxLifetime = 365 * 24 * time.Hour
	// MaxPeriods is how many periods of a conversation are kept.
	MaxPeriods = 32
)

// Period is a part of a conversation whose entries live for so long.
type Period struct {
	// After is the entry that began it, Until the last one before the next period; 0: it
	// goes on.
	After, Until uint64
	// Lifetime is in whole seconds; 0: what is said stays.
	Lifetime time.Duration
	// Gone: it is over, and the store gave up what it said. Lifetime is 0.
	Gone bool
}

// CheckLifetime refuses what is none. Zero is one: messages stay.
func CheckLifetime(d time.Duration) error {
	if d != 0 && (d < MinLifetime || d > MaxLifetime) {
		return Wrong("lifetimeS", "must be 0 or from %d to %d", MinLifetime/time.Second, MaxLifetime/time.Second)
	}
	return nil
}

// LifetimeOf is the lifetime of what is said now, of a conversation with these periods.
func LifetimeOf(all []Period) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Lifetime
}

// ChangeLifetime is the event by which a conversation's lifetime becomes another; nil
// where it is that already.
func ChangeLifetime(all []Period, to time.Duration) (*Event, error) {
	if LifetimeOf(all) == to {
		return nil, nil
	}
	if len(all) >= MaxPeriods {
		return nil, TooLarge("conversation", "has had its lifetime changed %d times; so many are kept until what was said is gone", len(all))
	}
	return &Event{Type: EventLifetimeChanged, Lifetime: to}, nil
}
