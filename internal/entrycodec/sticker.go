package entrycodec

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	fieldContent     = 7 // wire.Entry.content
	fieldContentType = 1 // wire.Content.type
)

// isSticker tells whether a content is of the type of stickers: b begins with its length.
func isSticker(b []byte) (is bool) {
	content, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(content)
	if n < 0 || num != fieldContentType || typ != protowire.BytesType {
		return false
	}
	name, n := protowire.ConsumeBytes(content[n:])
	return n >= 0 && string(name) == im.TypeSticker
}

// StickerOf is the sticker that a message's body shows, ok if it says one.
func StickerOf(body []byte) (pack, name string, ok bool) {
	var w wire.Entry
	if Decode(body, &w) != nil {
		return "", "", false
	}
	var says struct{ Pack, Name string }
	if json.Unmarshal([]byte(w.GetContent().GetText()), &says) != nil {
		return "", "", false
	}
	return says.Pack, says.Name, says.Pack != "" && says.Name != ""
}

// ReactionOf is what the body of a reaction that is asked for says.
func ReactionOf(body []byte) (reaction string, remove bool) {
	var w wire.Entry
	if Decode(body, &w) != nil {
		return "", false
	}
	return w.GetReact().GetReaction(), w.GetReact().GetRemove()
}
