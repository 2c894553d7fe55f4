package contract

import (
	"strings"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// checkStreaming checks a Send that begins a streamed message (SPEC §4.26).
func checkStreaming(s *wire.Send) error {
	switch {
	case !s.GetStreaming():
		return nil
	case s.GetPoll() != nil:
		return im.Wrong("streaming", "must not be said of a poll")
	case len(s.GetMedia()) > 0:
		return im.Wrong("streaming", "must not be said of a message with media")
	}
	return growsAs(s.GetContent())
}

// growsAs refuses content that cannot be said part by part: data, and those types of the
// list in SPEC §11.2 whose text is JSON. A type with a dot is its client's own.
func growsAs(c *wire.Content) error {
	switch {
	case !isText(c):
		return im.Wrong("content", "must have text, because more of it comes")
	case c.GetType() != "text" && !strings.Contains(c.GetType(), "."):
		return im.Wrong("content.type", "must be text, or a type of one's own, because more of it comes")
	}
	return nil
}

func isText(c *wire.Content) bool {
	_, ok := c.GetBody().(*wire.Content_Text)
	return ok
}

// Stream is what StreamMessage asks for, under an id.
func Stream(r *wire.StreamMessageRequest, id []byte) (im.Message, error) {
	m, err := pollAt(r.GetConversation(), id, r.GetSeq())
	if err != nil {
		return m, err
	}
	p := entrycodec.Part{Offset: r.GetOffset(), Text: r.GetText(), Content: r.GetContent(), End: r.GetEnd()}
	switch {
	case p.Offset > MaxContentBytes:
		return m, im.TooLarge("offset", "is %d; a message has at most %d bytes", p.Offset, MaxContentBytes)
	case len(p.Text) > MaxContentBytes:
		return m, im.TooLarge("text", "has %d bytes; at most %d are allowed", len(p.Text), MaxContentBytes)
	case !utf8.ValidString(p.Text):
		return m, im.Wrong("text", "must be UTF-8")
	case p.Content == nil && p.Text == "" && !p.End:
		return m, im.Wrong("text", "is missing")
	case p.Content != nil && p.Text != "":
		return m, im.Wrong("text", "must not be there beside content, which is all")
	case p.Content != nil && p.Offset != 0:
		return m, im.Wrong("offset", "must not be there beside content, which is all")
	case p.Content != nil:
		if err := CheckContent(p.Content); err != nil {
			return m, err
		}
		if err := growsAs(p.Content); err != nil {
			return m, err
		}
	}
	m.Kind = im.EntryStream
	m.Body, m.Hash = entrycodec.Stream(m.Conversation, m.Target, &p)
	return m, nil
}
