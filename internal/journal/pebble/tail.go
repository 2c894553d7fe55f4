package pebble

import (
	"sort"

	"github.com/skein-im/skein/internal/im"
)

// tailMost is how many touches are remembered at least, if there were as many. They
// take some 100 bytes each at the most.
const tailMost = 1 << 16

// touch is what a batch stored in one conversation: the entries first … last, which
// lie in one epoch.
type touch struct {
	pos         uint64
	c           im.ConversationID
	first, last uint64
	epoch       uint32
}

// tail remembers where the newest entries are, for who reads by position, so that
// one who keeps up never looks for them. It is empty, and costs nothing, until
// somebody asks. Guarded by Journal.mu.
type tail struct {
	on      bool
	from    uint64  // all that was stored after it is in touches
	touches []touch // ascending by position
}

// begin has the tail kept from now on.
func (t *tail) begin(durable uint64) {
	if !t.on {
		t.on, t.from = true, durable
	}
}

// add remembers what a batch stored in a conversation.
func (t *tail) add(x touch) {
	if !t.on {
		return
	}
	if len(t.touches) == 2*tailMost {
		t.from = t.touches[tailMost-1].pos
		t.touches = append(t.touches[:0], t.touches[tailMost:]...)
	}
	t.touches = append(t.touches, x)
}

// after returns copies of the touches behind a position that is not before from:
// whole positions, until there are limit entries. all tells that nothing follows.
func (t *tail) after(pos uint64, limit int) (some []touch, all bool) {
	rest := t.touches[sort.Search(len(t.touches), func(i int) bool { return t.touches[i].pos > pos }):]
	n, entries := 0, 0
	for n < len(rest) && (entries < limit || rest[n].pos == rest[n-1].pos) {
		entries += int(rest[n].last - rest[n].first + 1)
		n++
	}
	return append([]touch(nil), rest[:n]...), n == len(rest)
}
