package im

import (
	"encoding/binary"
	"iter"
	"slices"
)

// MaxThreadMarks is of how many threads of a conversation it is kept what a user set for
// them: those with the newest roots.
const MaxThreadMarks = 200

// ThreadFollow is whether a user follows a thread, whatever they wrote there. The numbers
// are the contract's.
type ThreadFollow uint8

// What a user may say of a thread.
const (
	FollowWrote ThreadFollow = 0 // who wrote in it follows it
	FollowYes   ThreadFollow = 1
	FollowNo    ThreadFollow = 2
)

// ThreadMark is what a user set for a thread of a conversation (SPEC §4.36).
type ThreadMark struct {
	Root   uint64
	Read   uint64 // the last reply that they have read; it never goes back
	Follow ThreadFollow
}

// ThreadMarks are what a user set for threads of a conversation, by their roots. They are
// a value: two that hold the same are equal.
type ThreadMarks string

// NewThreadMarks makes them of marks in any order, of which each has another root.
func NewThreadMarks(marks ...ThreadMark) ThreadMarks {
	marks = slices.Clone(marks)
	slices.SortFunc(marks, func(a, b ThreadMark) int {
		if a.Root < b.Root {
			return -1
		}
		return 1
	})
	var b []byte
	for _, m := range marks[max(0, len(marks)-MaxThreadMarks):] {
		b = binary.AppendUvarint(b, m.Root)
		b = binary.AppendUvarint(b, m.Read)
		b = append(b, byte(m.Follow))
	}
	return ThreadMarks(b)
}

// All are the marks, ascending.
func (s ThreadMarks) All() iter.Seq[ThreadMark] {
	return func(yield func(ThreadMark) bool) {
		for b := []byte(s); len(b) > 0; {
			root, n := binary.Uvarint(b)
			if n <= 0 {
				return
			}
			read, k := binary.Uvarint(b[n:])
			if k <= 0 || len(b) <= n+k {
				return
			}
			if !yield(ThreadMark{root, read, ThreadFollow(b[n+k])}) {
				return
			}
			b = b[n+k+1:]
		}
	}
}

// Of is what the user set for a thread.
func (s ThreadMarks) Of(root uint64) ThreadMark {
	for m := range s.All() {
		if m.Root == root {
			return m
		}
	}
	return ThreadMark{Root: root}
}

// ThreadChange changes the mark of one thread; what is nil stays.
type ThreadChange struct {
	Root   uint64
	Follow *bool
	Read   *uint64
}

// in makes the change.
func (c *ThreadChange) in(s ThreadMarks) ThreadMarks {
	m := s.Of(c.Root)
	if c.Read != nil {
		m.Read = max(m.Read, *c.Read)
	}
	if c.Follow != nil {
		if m.Follow = FollowNo; *c.Follow {
			m.Follow = FollowYes
		}
	}
	if m == (ThreadMark{Root: c.Root}) {
		return s
	}
	all := slices.DeleteFunc(slices.Collect(s.All()), func(old ThreadMark) bool { return old.Root == c.Root })
	return NewThreadMarks(append(all, m)...)
}

// Thread is a thread as one reader has it.
type Thread struct {
	Root Entry
	// Last is the last reply that is theirs to read, 0 if there is none.
	Last uint64
	// Follows: they wrote in it, or said so.
	Follows bool
	// Unread are replies of others behind Read.
	Unread uint64
	Read   uint64
}
