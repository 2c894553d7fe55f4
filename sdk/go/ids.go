package skein

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// MessageID is a UUIDv7 made by the sender: the message's name before it has a
// seq, and the key that makes sending it twice harmless.
type MessageID [16]byte

// String returns the usual form of a UUID.
func (id MessageID) String() string {
	h := hex.EncodeToString(id[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// ParseMessageID reads what String wrote.
func ParseMessageID(s string) (MessageID, error) {
	var id MessageID
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("skein: %q is not a message id", s)
	}
	copy(id[:], b)
	return id, nil
}

// NewMessageID makes an id for WithID, by the device's clock.
func NewMessageID() MessageID { return MessageID(wire.NewIDSource(time.Now, nil).Next()) }

func idFrom(b []byte) MessageID {
	var id MessageID
	copy(id[:], b)
	return id
}

// NewDeviceID makes a random device id. A program keeps it with its tokens: a
// session belongs to one device.
func NewDeviceID() string {
	var b [15]byte
	_, _ = rand.Read(b[:]) // never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}
