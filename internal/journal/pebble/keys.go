package pebble

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// The key spaces: the first byte of every key.
const (
	spaceMeta  = 0x00
	spaceEntry = 0x01
	spaceID    = 0x02
	spaceMark  = 0x03
	spaceChain = 0x04
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

func appendEntryKey(dst []byte, c im.ConversationID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendName(dst, spaceEntry, c), seq)
}

// appendEntryEnd is the key after the last possible entry of c that is stored:
// seq never reaches the greatest number.
func appendEntryEnd(dst []byte, c im.ConversationID) []byte {
	return appendEntryKey(dst, c, ^uint64(0))
}

// appendIDKey has the id first: ids begin with their time, so keys come almost
// in order, which is what a store of sorted files takes in at the least cost.
func appendIDKey(dst []byte, sender im.UserID, id im.MessageID) []byte {
	dst = append(dst, spaceID)
	dst = append(dst, id[:]...)
	return append(dst, sender...)
}

// idOfKey returns the id of an id key.
func idOfKey(key []byte) (id im.MessageID, ok bool) {
	if len(key) < 1+len(id) || key[0] != spaceID {
		return id, false
	}
	copy(id[:], key[1:])
	return id, true
}

// isEntryOf reports whether key is one of an entry of c.
func isEntryOf(key []byte, c im.ConversationID) bool {
	return len(key) == 2+len(c)+8 && key[0] == spaceEntry && int(key[1]) == len(c) && string(key[2:2+len(c)]) == string(c)
}

// seqOfKey returns the seq of an entry key.
func seqOfKey(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

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
