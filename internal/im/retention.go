package im

import "time"

// Bounds of how long messages are kept (SPEC §4.33).
const (
	MinRetention = time.Hour
	MaxRetention = 3650 * 24 * time.Hour
)

// Retention is how long the messages of a conversation are kept, and what is gone.
type Retention struct {
	// Own: the conversation has a time of its own, Keep. Otherwise the deployment's counts.
	Own bool
	// Keep is in whole seconds; 0: for ever.
	Keep time.Duration
	// Floor is the last entry that is gone for all, 0: none. Given is up to where the
	// journal gave them up, at most Floor. Raised is when Floor moved last.
	Floor, Given uint64
	Raised       time.Time
	// Told is the journal's position, in the conversation's shard, when every node knew of
	// Given; 0: nobody noted it.
	Told uint64
}

// Floor is up to which entry a conversation is gone, and the running count there. Told is
// of one that is given up: Retention.Told.
type Floor struct {
	Conversation ConversationID
	Seq, Count   uint64
	Told         uint64
}

// CheckRetention refuses what is no time to keep messages for.
func CheckRetention(d time.Duration) error {
	if d < MinRetention || d > MaxRetention {
		return Wrong("retentionS", "must be from %d to %d", MinRetention/time.Second, MaxRetention/time.Second)
	}
	return nil
}
