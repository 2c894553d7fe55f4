package im

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// UserID names a user for ever: [A-Za-z0-9_-]{1,64}. Made by the server for
// those who register, by the integrator for minted tokens.
type UserID string

// SessionID names one login of a user on a device: [A-Za-z0-9_-]{1,64}.
type SessionID string

// ConnectionID names one socket while it lives, unique over all gateways.
type ConnectionID string

// ConversationID is `dm:<a>:<b>` with a ≤ b, `grp:<id>` or `me:<user>`.
type ConversationID string

// MessageID is a UUIDv7 made by the sender; unique per sender for ever.
type MessageID [16]byte

// ConversationKind tells the three kinds of conversations apart.
type ConversationKind uint8

// The kinds of conversations.
const (
	KindInvalid ConversationKind = iota
	KindDM
	KindGroup
	KindMe
)

// MaxID is the longest user, group, session or device id in bytes.
const MaxID = 64

// MaxKey is the longest type or key (ValidKey) in bytes.
const MaxKey = 64

// MaxConversationID is the longest conversation id in bytes, a dm's.
const MaxConversationID = len("dm:") + MaxID + len(":") + MaxID

// ValidID reports whether s is in the alphabet of ids: [A-Za-z0-9_-]{1,64}.
// Nothing that passes can be special in a bus subject, a path or a key.
func ValidID(s string) bool {
	return len(s) > 0 && len(s) <= MaxID && idBytes(s) == len(s)
}

// ValidKey reports whether s is a type of content or of a signal, or a key of fields
// of the deployment's own: [a-z0-9._-]{1,64}.
func ValidKey(s string) bool {
	if len(s) == 0 || len(s) > MaxKey {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// idAlphabet tells which bytes an id is made of.
var idAlphabet = func() (in [256]bool) {
	for c := range in {
		in[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	return in
}()

// idBytes is how many bytes at the beginning of s an id may have.
func idBytes(s string) int {
	for i := range len(s) {
		if !idAlphabet[s[i]] {
			return i
		}
	}
	return len(s)
}

// ParseUserID accepts a user id from outside.
func ParseUserID(s string) (UserID, error) {
	if !ValidID(s) {
		return "", Wrong("user", "id must match [A-Za-z0-9_-]{1,64}")
	}
	return UserID(s), nil
}

// ParseConversationID accepts a conversation id from outside, in its one
// canonical form only (a dm's members in ascending order, and different).
func ParseConversationID(s string) (ConversationID, error) {
	c := ConversationID(s)
	if c.Kind() == KindInvalid {
		return "", Wrong("conversation", "must be dm:<a>:<b> with a <= b, grp:<id> or me:<user>, ids [A-Za-z0-9_-]{1,64}")
	}
	return c, nil
}

// Kind returns the conversation's kind, KindInvalid when the id is malformed.
func (c ConversationID) Kind() ConversationKind {
	s := string(c)
	switch {
	case strings.HasPrefix(s, "dm:"):
		if _, _, ok := pair(s[3:]); ok {
			return KindDM
		}
	case strings.HasPrefix(s, "grp:"):
		if ValidID(s[4:]) {
			return KindGroup
		}
	case strings.HasPrefix(s, "me:"):
		if ValidID(s[3:]) {
			return KindMe
		}
	}
	return KindInvalid
}

// pair reads <a>:<b> with a ≤ b.
func pair(s string) (a, b string, ok bool) {
	n := idBytes(s)
	if n == 0 || n > MaxID || n == len(s) || s[n] != ':' {
		return "", "", false
	}
	a, b = s[:n], s[n+1:]
	return a, b, ValidID(b) && a <= b
}

// DM returns the direct chat of two users; of one with themselves it is Saved.
func DM(a, b UserID) ConversationID {
	if a > b {
		a, b = b, a
	}
	return ConversationID("dm:" + string(a) + ":" + string(b))
}

// Saved returns the conversation of a user with themselves: their notes (SPEC §4.29).
func Saved(u UserID) ConversationID { return DM(u, u) }

// SavedBy returns whose notes it has; ok is false for other conversations.
func (c ConversationID) SavedBy() (u UserID, ok bool) {
	a, b, ok := c.DMMembers()
	return a, ok && a == b
}

// Group returns the conversation of a group id.
func Group(id string) ConversationID { return ConversationID("grp:" + id) }

// Me returns a user's own feed.
func Me(u UserID) ConversationID { return ConversationID("me:" + string(u)) }

// DMMembers returns the two members of a dm, the same one twice where it is a user's with
// themselves; ok is false for other kinds.
func (c ConversationID) DMMembers() (a, b UserID, ok bool) {
	if !strings.HasPrefix(string(c), "dm:") {
		return "", "", false
	}
	x, y, ok := pair(string(c[3:]))
	if !ok {
		return "", "", false
	}
	return UserID(x), UserID(y), true
}

// Peer returns the other member of a dm; ok is false when u is not in it, or alone.
func (c ConversationID) Peer(u UserID) (peer UserID, ok bool) {
	a, b, ok := c.DMMembers()
	switch {
	case !ok || a == b:
		return "", false
	case u == a:
		return b, true
	case u == b:
		return a, true
	}
	return "", false
}

// MeUser returns whose feed it is; ok is false for other kinds.
func (c ConversationID) MeUser() (UserID, bool) {
	if c.Kind() != KindMe {
		return "", false
	}
	return UserID(c[3:]), true
}

// ParseMessageID accepts a message id from outside: 16 bytes, UUID version 7,
// variant 10.
func ParseMessageID(b []byte) (MessageID, error) {
	var id MessageID
	if len(b) != len(id) || b[6]>>4 != 7 || b[8]>>6 != 2 {
		return id, Wrong("id", "must be a UUIDv7 of 16 bytes")
	}
	copy(id[:], b)
	return id, nil
}

// Time returns the millisecond the id was made in, by its maker's clock.
func (id MessageID) Time() time.Time {
	ms := int64(id[0])<<40 | int64(id[1])<<32 | int64(id[2])<<24 | int64(id[3])<<16 | int64(id[4])<<8 | int64(id[5])
	return time.UnixMilli(ms)
}

// IsZero reports whether the id is unset.
func (id MessageID) IsZero() bool { return id == MessageID{} }

// String returns the usual form of a UUID.
func (id MessageID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// NewMessageID makes a UUIDv7 from a time and 10 random bytes. Ids of one
// maker sort by time only as finely as a millisecond; SDKs that pipeline use a
// counter in the random part to keep their own order.
func NewMessageID(now time.Time, random [10]byte) MessageID {
	var id MessageID
	ms := now.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	copy(id[6:], random[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// HeadHash is one conversation's part of a digest (SPEC §7.4): fnv1a64 of
// conversation ":" decimal seq, mixed. A digest is the sum of the parts mod 2^64.
func HeadHash(c ConversationID, seq uint64) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	var buf [MaxConversationID + 21]byte
	b := append(buf[:0], c...)
	b = append(b, ':')
	b = strconv.AppendUint(b, seq, 10)
	h := uint64(offset)
	for _, x := range b {
		h = (h ^ uint64(x)) * prime
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// PageSize checks what is asked of a list: whether its cursor is one of the list's, and
// for how many it asks, at most most; 0 is the usual number.
func PageSize(cursorOK bool, limit, most, usual int) (int, error) {
	switch {
	case !cursorOK:
		return 0, Wrong("cursor", "is not one of this list")
	case limit < 0 || limit > most:
		return 0, Wrong("limit", "must be 1 to %d", most)
	case limit == 0:
		return usual, nil
	}
	return limit, nil
}
