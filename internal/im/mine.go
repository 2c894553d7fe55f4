package im

import (
	"strings"
	"time"
)

// MyState is what a user set for themselves in a conversation; nobody else is told
// (SPEC §4.8).
type MyState struct {
	Conversation ConversationID
	// Revision grows with every change; 0: nothing was ever set.
	Revision   uint64
	Pinned     bool
	MutedUntil time.Time // whole milliseconds; zero: not muted
	Hidden     bool
	Draft      string
	// ClearedBelow is the first seq that is shown to the user; it never goes back.
	ClearedBelow uint64
	Unread       bool
	// Deleted are the messages that are not shown to the user any more (SPEC §4.28).
	Deleted SeqSet
	// Folder is the name of the folder that the user put it into, "" for none (SPEC §4.30).
	Folder string
}

const (
	// MaxDraft is how long a draft may be, in bytes.
	MaxDraft = 4096
	// MaxFolder is how long the name of a folder may be, in characters.
	MaxFolder = 64
	// MaxDelete is how many messages one change deletes.
	MaxDelete = 100
	// MaxDeleted is how many stretches of deleted messages are kept of a conversation.
	MaxDeleted = 500
)

// MyChange changes a MyState; what is nil stays.
type MyChange struct {
	Pinned       *bool
	MutedUntil   *time.Time
	Hidden       *bool
	Draft        *string
	ClearedBelow *uint64
	Unread       *bool
	// Delete is added to what is deleted; nothing takes it back.
	Delete SeqSet
	// Folder is a name as ParseFolder gives it, "" for none.
	Folder *string
}

// Apply makes the change and reports whether anything is another by it.
func (c *MyChange) Apply(s *MyState) bool {
	old := *s
	set(&s.Pinned, c.Pinned)
	set(&s.MutedUntil, c.MutedUntil)
	set(&s.Hidden, c.Hidden)
	set(&s.Draft, c.Draft)
	set(&s.Unread, c.Unread)
	set(&s.Folder, c.Folder)
	if c.ClearedBelow != nil {
		s.ClearedBelow = max(s.ClearedBelow, *c.ClearedBelow)
	}
	if c.Delete != "" {
		s.Deleted = s.Deleted.With(c.Delete)
	}
	return *s != old
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// ParseFolder returns the name of a folder without space around it; "" is no folder. It
// takes what CheckName takes.
func ParseFolder(name string) (string, error) {
	if err := CheckName("folder", name, 0, MaxFolder); err != nil {
		return "", err
	}
	return strings.TrimSpace(name), nil
}
