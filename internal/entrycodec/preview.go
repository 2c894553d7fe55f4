package entrycodec

import (
	"crypto/sha256"
	"encoding/binary"
	"net/url"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	fieldPreview      = 33 // wire.Entry.preview
	fieldPreviewImage = 5  // wire.Preview.image

	// keptPreviewed is beside a message that has a preview: how often it had been edited
	// when that was made.
	keptPreviewed = 6

	// maxLink is how long a link may be, in bytes, that has a preview.
	maxLink = 2000
)

// A link is what begins so, up to a space, a control character, a quotation mark, an angle
// bracket, or punctuation that only texts have that are written without spaces.
var linkAt = regexp.MustCompile("(?i)(?:^|[^a-z0-9])(https?://[^\\s\\pC<>\"`\u3001\u3002\u3008-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]+)")

// Link is the first link of a text message (SPEC §4.34), as it stands there; "" if there is
// none, or it is none that a server would follow: without a host, with a name and a
// password, too long.
func Link(c *wire.Content) string {
	if c.GetType() != "text" {
		return ""
	}
	m := linkAt.FindStringSubmatch(c.GetText())
	if m == nil {
		return ""
	}
	link := trimLink(m[1])
	u, err := url.Parse(link)
	if err != nil || len(link) > maxLink || u.Hostname() == "" || u.User != nil {
		return ""
	}
	return link
}

// trimLink cuts off what belongs to the sentence around a link: the punctuation at its end,
// and a bracket that was not opened in it.
func trimLink(s string) string {
	for s != "" {
		switch last := s[len(s)-1]; last {
		case '.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', '|':
		case ')', ']', '}':
			open := map[byte]string{')': "(", ']': "[", '}': "{"}[last]
			if strings.Count(s, string(last)) <= strings.Count(s, open) {
				return s
			}
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// Preview returns the body of the entry by which a message gets a preview, with the upload
// that is its picture, nil for none, and the hash that tells it from another entry under
// the same id: it is the same for the same link, whatever was found there.
func Preview(c im.ConversationID, target uint64, p *im.Preview, image *im.Upload) (body []byte, hash uint64) {
	w := &wire.Preview{Url: p.URL, Title: p.Title, Description: p.Description, Site: p.Site}
	if image != nil {
		w.Image = MediaToWire(image)
	}
	return Encode(&wire.Entry{Preview: w}), hashOf(c, im.EntryPreview, target, &wire.Entry{Extra: map[string]string{"url": p.URL}})
}

// WantsPreview is the link of a message that is to have a preview and has none; "" if it
// is to have none, or has that one.
func (s *State) WantsPreview() string {
	t := &s.Told
	if t.NoPreview || t.Streaming {
		return ""
	}
	if link := Link(t.Content); link != t.Preview.GetUrl() {
		return link
	}
	return ""
}

// Preview gives a message the preview that the body asked has. It returns the body that
// the entry which does so is told with; ok is false if the message does not want that one.
func (s *State) Preview(asked []byte) (told []byte, ok bool, err error) {
	var by wire.Entry
	if err := Decode(asked, &by); err != nil {
		return nil, false, err
	}
	p := by.Preview
	if p.GetUrl() == "" || p.Url != s.WantsPreview() {
		return nil, false, nil
	}
	s.Told.Preview, s.previewed = p, s.Told.Edits
	return Encode(&wire.Entry{Preview: p}), true, nil
}

// dropPreview takes a preview away whose link the message does not have first any more.
func (s *State) dropPreview() {
	if p := s.Told.Preview; p != nil && Link(s.Told.Content) != p.Url {
		s.Told.Preview, s.previewed = nil, 0
	}
}

// PreviewID is the id of the entry by which a message gets its preview. It follows from
// what the message is, so who makes one again makes the same. Of a message that has one
// with a picture ok is true.
func PreviewID(e *im.Entry, s *State) (id im.MessageID, ok bool) {
	edits := s.Told.Edits
	if s.Told.Preview != nil {
		edits = s.previewed
	}
	h := sha256.New()
	h.Write([]byte("skein preview\x00" + string(e.Conversation) + "\x00"))
	h.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, e.Seq), edits))
	return im.NewMessageID(e.Stored, [10]byte(h.Sum(nil)[:10])), s.Told.Preview.GetImage() != nil
}

func (s *State) appendPreviewed(b []byte) []byte {
	if s.Told.Preview == nil {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, keptPreviewed, protowire.VarintType), uint64(s.previewed))
}
