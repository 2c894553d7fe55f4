package pebble

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// The key spaces: the first byte of every key. Their order matters: what is
// written all the time lies together, from the newest ids over the small spaces
// to the newest entries. Old ids lie below it and old entries above, where no
// new key falls between them, so the store never has to merge them with new
// ones again. Spaces of older schemas are in migrate.go and are not used again.
const (
	spaceMeta     = 0x00
	spaceID       = 0x1e
	spaceStrayID  = 0x1f
	spaceBound    = 0x21
	spaceMark     = 0x22
	spaceChain    = 0x23
	spaceLast     = 0x24
	spaceSegment  = 0x25
	spaceEra      = 0x26
	spaceRecalled = 0x27
	spaceLabel    = 0x28
	spaceEntry    = 0x2f
)

// spaceBounds are the bounds of an iterator over a whole key space.
func spaceBounds(space byte) pebble.IterOptions {
	return pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}}
}

// maxName is the longest conversation or user id a key can hold.
const maxName = 255

// appendName starts a key: space, length, name.
func appendName[S ~string](dst []byte, space byte, name S) []byte {
	dst = append(dst, space, byte(len(name)))
	return append(dst, name...)
}

// appendEntryPrefix starts the keys of a conversation's entries of one epoch.
// Newer epochs come first.
func appendEntryPrefix(dst []byte, epoch uint32, c im.ConversationID) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, spaceEntry), ^epoch)
	dst = append(dst, byte(len(c)))
	return append(dst, c...)
}

func appendEntryKey(dst []byte, epoch uint32, c im.ConversationID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendEntryPrefix(dst, epoch, c), seq)
}

// maxSeq is greater than every seq.
const maxSeq = ^uint64(0)

// seqOfKey returns the seq at the end of an entry or segment key.
func seqOfKey(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// isSeqOf reports whether key is prefix and a seq.
func isSeqOf(key, prefix []byte) bool {
	return len(key) == len(prefix)+8 && bytes.HasPrefix(key, prefix)
}

func appendSegmentKey(dst []byte, c im.ConversationID, first uint64) []byte {
	return binary.BigEndian.AppendUint64(appendName(dst, spaceSegment, c), first)
}

// secret is the store's own: it keys what stands for conversation and sender in the
// keys of ids, so that nobody can choose names that stand for the same.
type secret [16]byte

// appendIDKey has the id first: ids begin with their time, so keys come almost
// in order, which is what a store of sorted files takes in at the least cost.
// Those that do not are kept apart (space is spaceStrayID). Of conversation and
// sender there are eight bytes of a hash: the names would take twice as much, and a
// key that stands for two messages of the same id is of no harm, as who reads it
// compares the entry, and answers that the id is taken.
func appendIDKey(dst []byte, space byte, id im.MessageID, names uint64) []byte {
	dst = append(dst, space)
	dst = append(dst, id[:]...)
	return binary.BigEndian.AppendUint64(dst, names)
}

// names is what stands for a conversation and a sender in the keys of ids.
func (s *secret) names(c im.ConversationID, sender im.UserID) uint64 {
	var buf [256]byte
	b := append(append(buf[:0], byte(len(c))), c...)
	return siphash((*[16]byte)(s), append(b, sender...))
}

// idKey is appendIDKey for the id of an entry.
func (s *secret) idKey(dst []byte, space byte, e *im.Entry) []byte {
	return appendIDKey(dst, space, e.ID, s.names(e.Conversation, e.Sender))
}

func appendBoundKey(dst []byte, sender im.UserID) []byte {
	return append(append(dst, spaceBound), sender...)
}

func appendMarkKey(dst []byte, u im.UserID, c im.ConversationID) []byte {
	return append(appendName(dst, spaceMark, u), c...)
}

// markConversation returns the conversation of a mark key of u.
func markConversation(key []byte, u im.UserID) im.ConversationID {
	return im.ConversationID(key[2+len(u):])
}

// prefixEnd returns the smallest key greater than all keys with the prefix.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// chainRing is how many positions back the chain can be compared with the
// witness, which trails by a few at most.
const chainRing = 1 << 14

func appendChainKey(dst []byte, pos uint64) []byte {
	return binary.BigEndian.AppendUint16(append(dst, spaceChain), uint16(pos%chainRing))
}
