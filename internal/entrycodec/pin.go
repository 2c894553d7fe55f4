package entrycodec

import (
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Pin returns the body that says what a pin asks for, with Pinned set where the message
// is to be pinned, and the hash that tells it from another entry under the same id.
func Pin(c im.ConversationID, target uint64, p *wire.Pin) (body []byte, hash uint64) {
	var w wire.Entry
	if !p.GetRemove() {
		w.Pinned = &wire.Pinned{}
	}
	return Encode(&w), hashOf(c, im.EntryPin, target, &w)
}

// Pin does what the body asked says: the message is pinned by a user at a time, or not
// any more. It returns the body that the entry which does so is told with; same, if that
// changes nothing.
func (s *State) Pin(u im.UserID, asked []byte, at time.Time) (told []byte, same bool, err error) {
	var by wire.Entry
	if err := Decode(asked, &by); err != nil {
		return nil, false, err
	}
	if (by.Pinned != nil) == (s.Told.Pinned != nil) {
		return nil, true, nil
	}
	s.Told.Pinned = nil
	if by.Pinned != nil {
		s.Told.Pinned = &wire.Pinned{User: string(u), AtMs: at.UnixMilli()}
	}
	return Encode(&wire.Entry{Pinned: s.Told.Pinned}), false, nil
}

// PinnedAt tells whether a message is pinned, and since when, in Unix milliseconds. One
// that cannot be read is not.
func PinnedAt(body []byte) (at int64, pinned bool) {
	var w wire.Entry
	if Decode(body, &w) != nil || w.Pinned == nil {
		return 0, false
	}
	return w.Pinned.AtMs, true
}
