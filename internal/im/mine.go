package im

import (
	"strings"
	"time"
	"unicode"
)

// MyState is what a user set for themselves in a conversation; nobody else is told
// (SPEC §4.8).
type MyState struct {
	Conversation ConversationID
	// Revision grows with every change; 0: nothing was ever set.
	Revision   uint64
	Pinned     bool
	MutedUntil time.Time // whole milliseconds; zero: not muted
	// Hidden: not in the list while the conversation's count is at most HiddenCount, which
	// it was when the user hid it.
	Hidden      bool
	HiddenCount uint64
	Draft       string
	// ClearedBelow is the first seq that is shown to the user; it never goes back.
	ClearedBelow uint64
	// Unread: marked by hand, while the user's read mark is at most UnreadAt, which it was
	// then.
	Unread   bool
	UnreadAt uint64
	// Deleted are the messages that are not shown to the user any more (SPEC §4.28).
	Deleted SeqSet
	// Folder is the name of the folder that the user put it into, "" for none (SPEC §4.30).
	Folder string
	// Threads are what the user set for threads (SPEC §4.36).
	Threads ThreadMarks
	// PushLevel is for which of its messages the user's devices are woken (SPEC §14.2).
	PushLevel PushLevel
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
	// Thread changes what is set for one thread.
	Thread *ThreadChange
	// NoThreads forgets what is set for all of them.
	NoThreads bool
	// PushLevel is another level, PushUnset none.
	PushLevel *PushLevel
	// Count and Read are the conversation's count and the user's read mark at that moment,
	// where Hidden and Unread are set.
	Count, Read uint64
}

// Apply makes the change and reports whether anything is another by it.
func (c *MyChange) Apply(s *MyState) bool {
	old := *s
	set(&s.Pinned, c.Pinned)
	set(&s.MutedUntil, c.MutedUntil)
	setAt(&s.Hidden, c.Hidden, &s.HiddenCount, c.Count)
	set(&s.Draft, c.Draft)
	setAt(&s.Unread, c.Unread, &s.UnreadAt, c.Read)
	set(&s.Folder, c.Folder)
	set(&s.PushLevel, c.PushLevel)
	if c.ClearedBelow != nil {
		s.ClearedBelow = max(s.ClearedBelow, *c.ClearedBelow)
	}
	if c.Delete != "" {
		s.Deleted = s.Deleted.With(c.Delete)
	}
	if c.Thread != nil {
		s.Threads = c.Thread.in(s.Threads)
	}
	if c.NoThreads {
		s.Threads = ""
	}
	return *s != old
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// setAt sets what holds until the conversation is past a place.
func setAt(to, from *bool, at *uint64, place uint64) {
	if from == nil {
		return
	}
	if *to, *at = *from, place; !*to {
		*at = 0
	}
}

// ParseFolder returns the name of a folder without space around it, which does not count;
// "" is no folder. It takes what CheckName takes.
func ParseFolder(name string) (string, error) {
	least := min(len(name), 1) // a name of nothing but space is none
	name = strings.TrimFunc(name, func(r rune) bool { return unicode.Is(unicode.Zs, r) })
	if err := CheckName("folder", name, least, MaxFolder); err != nil {
		return "", err
	}
	return name, nil
}
