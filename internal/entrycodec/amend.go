package entrycodec

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// MaxVersions is how many earlier versions of a message are kept …
	MaxVersions = 50
	// … and maxVersionBytes how long they are together: more than any one of them.
	maxVersionBytes = 128 << 10
)

// fieldKept is the field of a body that is told to nobody: wire.Entry never has one of
// this number.
const fieldKept = 1000

// The fields of what it holds.
const keptVersion = 1 // a wire.Edited, the oldest first

// Edit returns the body that says what an edit asks for, and the hash that tells it
// from another entry under the same id.
func Edit(c im.ConversationID, target uint64, e *wire.Edit) (body []byte, hash uint64) {
	known(e.GetContent())
	w := wire.Entry{Content: e.GetContent(), Mentions: e.GetMentions(), Extra: e.GetExtra(), GroupMention: e.GetGroupMention()}
	return Encode(&w), hashOf(c, im.EntryEdit, target, &w)
}

// Version is what a message said once.
type Version = wire.Edited

// State is what a body says of a message that is amended.
type State struct {
	// Told is what who reads it is told.
	Told wire.Entry
	// Versions are those that the message had before this one, the oldest first, as far
	// as they are kept.
	Versions []*Version

	recent  []Record        // the latest reactions, what was taken away among them
	buckets [buckets]uint64 // the entries that carry the others, by bucket
	spilled int             // the bucket, plus one, that lies beside the last amendment

	streamedMs int64  // when the last part of a streamed message was stored
	previewed  uint32 // how often it had been edited when its preview was made
}

// Told is the part of a body that who reads the message is told. It shares the body.
func Told(body []byte) []byte {
	told, _ := split(body)
	return told
}

// split cuts off what a body has beside what is told.
func split(body []byte) (told, kept []byte) {
	for at := 0; at < len(body); {
		num, typ, n := protowire.ConsumeTag(body[at:])
		if n < 0 {
			return body, nil
		}
		if num == fieldKept && typ == protowire.BytesType {
			v, m := protowire.ConsumeBytes(body[at+n:])
			if m < 0 {
				return body, nil
			}
			return body[:at:at], v
		}
		m := protowire.ConsumeFieldValue(num, typ, body[at+n:])
		if m < 0 {
			return body, nil
		}
		at += n + m
	}
	return body, nil
}

// Open decodes the body of a message that was last amended by the entry amended, with
// what is kept beside it.
func Open(body []byte, amended uint64) (*State, error) {
	s := &State{}
	told, kept := split(body)
	if err := Decode(told, &s.Told); err != nil {
		return nil, err
	}
	if err := s.open(kept); err != nil {
		return nil, err
	}
	if s.spilled > 0 {
		s.buckets[s.spilled-1], s.spilled = amended, 0
	}
	return s, nil
}

// open decodes what is kept beside a message.
func (s *State) open(kept []byte) error {
	return fields(kept, func(num protowire.Number, number uint64, text []byte) error {
		switch num {
		case keptVersion:
			v := &wire.Edited{}
			if err := proto.Unmarshal(text, v); err != nil {
				return fmt.Errorf("%w: %w", ErrBody, err)
			}
			s.Versions = append(s.Versions, v)
		case keptRecord:
			return s.openRecord(text)
		case keptBucket:
			return s.openBucket(text)
		case keptSpilled:
			s.spilled = int(min(number, buckets))
		case keptStreamed:
			s.streamedMs = int64(number)
		case keptPreviewed:
			s.previewed = uint32(number)
		}
		return nil
	})
}

// Body is the body that says it.
func (s *State) Body() []byte {
	body := Encode(&s.Told)
	var kept []byte
	for _, v := range s.Versions {
		kept = protowire.AppendBytes(protowire.AppendTag(kept, keptVersion, protowire.BytesType), encodeVersion(v))
	}
	kept = s.appendPreviewed(s.appendStreamed(s.appendReactions(kept)))
	if len(kept) == 0 {
		return body
	}
	return protowire.AppendBytes(protowire.AppendTag(body, fieldKept, protowire.BytesType), kept)
}

func encodeVersion(v *wire.Edited) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("entrycodec: a version that cannot be encoded: %w", err)) // no message fails to
	}
	return b
}

// Edit makes it say what an edit at the given time asks for, whose body is asked, and
// keeps what it said before; stored is when the message was. It returns the body that
// the entry which edits it is told with: what it made of its target.
func (s *State) Edit(asked []byte, stored, at time.Time) (told []byte, err error) {
	var by wire.Entry
	if err := Decode(asked, &by); err != nil {
		return nil, err
	}
	t := &s.Told
	before := &wire.Edited{Version: t.Edits + 1, AtMs: t.EditedAtMs, Content: t.Content, Mentions: t.Mentions, Extra: t.Extra, GroupMention: t.GroupMention}
	if t.Edits == 0 {
		before.AtMs = stored.UnixMilli()
	}
	s.Versions = append(s.Versions, before)
	s.forget()
	t.Content, t.Mentions, t.Extra, t.GroupMention = by.Content, by.Mentions, by.Extra, by.GroupMention
	s.dropPreview()
	t.EditedAtMs, t.Edits = max(at.UnixMilli(), t.EditedAtMs, stored.UnixMilli()), t.Edits+1
	return Encode(&wire.Entry{Content: t.Content, Mentions: t.Mentions, Extra: t.Extra, GroupMention: t.GroupMention, Silent: t.Silent, EditedAtMs: t.EditedAtMs, Edits: t.Edits, Preview: t.Preview}), nil
}

// forget drops the oldest versions that are too many, or too long together.
func (s *State) forget() {
	size := 0
	for n := 0; n < len(s.Versions); n++ {
		at := len(s.Versions) - 1 - n
		size += proto.Size(s.Versions[at])
		if n > 0 && (n >= MaxVersions || size > maxVersionBytes) {
			s.Versions = s.Versions[at+1:]
			return
		}
	}
}
