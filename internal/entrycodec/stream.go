package entrycodec

import (
	"fmt"
	"hash/fnv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// keptStreamed is beside a streamed message: when its last part was stored, Unix ms.
const keptStreamed = 5

const fieldStreaming = 28 // wire.Entry.streaming

// Asks is what a message's body asks of who stores it besides storing it.
type Asks struct {
	// Everybody: it mentions all members, or those who are there.
	Everybody bool
	// Mentions: it mentions somebody.
	Mentions bool
	// Streaming: more of it comes.
	Streaming bool
	// Media: it names uploads. Copied: it is a copy, which names those of others.
	Media, Copied bool
	// Preview: it has a preview.
	Preview bool
	// Sticker: it shows a sticker.
	Sticker bool
}

// AsksOf reads what a body asks. Of what most messages are it reads two tags, and
// allocates nothing.
func AsksOf(body []byte) (a Asks) {
	for len(body) > 0 {
		num, typ, n := protowire.ConsumeTag(body)
		if n < 0 {
			return a
		}
		body = body[n:]
		m := protowire.ConsumeFieldValue(num, typ, body)
		if m < 0 {
			return a
		}
		switch num {
		case fieldContent:
			a.Sticker = a.Sticker || isSticker(body)
		case fieldMentions:
			a.Mentions = true
		case fieldMedia:
			a.Media = true
		case fieldPreview:
			a.Preview = true
		case fieldForward:
			a.Copied = true
		case fieldGroupMention, fieldStreaming:
			v, _ := protowire.ConsumeVarint(body)
			set := typ == protowire.VarintType && v != 0
			if num == fieldStreaming {
				a.Streaming = set
			} else {
				a.Everybody, a.Mentions = set, a.Mentions || set
			}
		}
		body = body[m:]
	}
	return a
}

// Part is what the author of a streamed message asks to go on with.
type Part struct {
	Offset  uint64
	Text    string
	Content *wire.Content // in the place of all that it said; nil: it goes on
	End     bool
}

// Stream returns the body that says what a part asks for, and the hash that tells it from
// another entry under the same id. Nobody keeps this body.
func Stream(c im.ConversationID, target uint64, p *Part) (body []byte, hash uint64) {
	if p.Content != nil {
		known(p.Content)
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(&wire.StreamMessageRequest{Offset: p.Offset, Text: p.Text, Content: p.Content, End: p.End})
	if err != nil {
		panic(fmt.Errorf("entrycodec: a part that cannot be encoded: %w", err)) // no message fails to
	}
	h := fnv.New64a()
	h.Write(protowire.AppendVarint(protowire.AppendString([]byte{byte(im.EntryStream)}, string(c)), target))
	h.Write(body)
	return body, h.Sum64()
}

// PartOf reads what Stream wrote.
func PartOf(body []byte) (*Part, error) {
	var r wire.StreamMessageRequest
	if err := proto.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	return &Part{r.GetOffset(), r.GetText(), r.GetContent(), r.GetEnd()}, nil
}

// Stream makes a streamed message say content, and tells by whom it is ended, if it is.
// It returns the body that the entry which does so is told with.
func (s *State) Stream(content *wire.Content, replaced, end, cut bool, at time.Time) (told []byte) {
	t := &s.Told
	t.Content, t.Streaming, t.CutOff, s.streamedMs = content, !end, cut, at.UnixMilli()
	if replaced {
		t.Replaced++
	}
	if end {
		s.streamedMs = 0
	}
	return Encode(&wire.Entry{Content: t.Content, Silent: t.Silent, Streaming: t.Streaming, Replaced: t.Replaced, CutOff: t.CutOff})
}

// Saying is the message's content with another text.
func (s *State) Saying(text string) *wire.Content {
	c := proto.Clone(s.Told.Content).(*wire.Content)
	c.Body = &wire.Content_Text{Text: text}
	return c
}

// PartSignal is what tells who is there the next part of a streamed message: a wire.Part
// without conversation and user.
func PartSignal(seq uint64, replaced uint32, offset uint64, text string) []byte {
	b, err := proto.Marshal(&wire.Part{Seq: seq, Replaced: replaced, Offset: offset, Text: text})
	if err != nil {
		panic(fmt.Errorf("entrycodec: a part that cannot be encoded: %w", err)) // its text was checked
	}
	return b
}

// StreamedAt is when the last part of a streamed message was stored, which was itself at
// stored.
func (s *State) StreamedAt(stored time.Time) time.Time {
	if s.streamedMs == 0 {
		return stored
	}
	return time.UnixMilli(s.streamedMs).UTC()
}

func (s *State) appendStreamed(b []byte) []byte {
	if s.streamedMs == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, keptStreamed, protowire.VarintType), uint64(s.streamedMs))
}
