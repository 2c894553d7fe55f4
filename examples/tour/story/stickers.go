package story

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/skein-im/skein/wire"
)

// stickers: an administrator makes a pack and an emoji of the deployment's own of pictures
// that Bob uploaded; Bob sends a sticker and reacts. Both are withdrawn again, and what was
// sent stays.
func stickers(t *teller, boss *person) {
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 16, 16))); err != nil {
		t.fail("draw: %w", err)
		return
	}
	picture := t.upload(t.bob, drawn.String())
	pack := &wire.SetStickerPackRequest{Name: "tea-" + t.tag, Title: "Tea", Order: 1}
	emoji := &wire.SetCustomEmojiRequest{Name: "cup-" + t.tag}
	if t.err == nil && picture == "" {
		t.refused(t.bob, "MediaService/ListStickers", &wire.ListStickersRequest{}, wire.CodeUnimplemented)
		t.refused(boss, "AdminService/SetStickerPack", pack, wire.CodeUnimplemented)
		t.refused(boss, "AdminService/SetCustomEmoji", emoji, wire.CodeUnimplemented)
		return
	}
	pack.Stickers = []*wire.NewSticker{{Name: "cup", Media: picture, Alt: "a cup of tea", Emoji: []string{"🍵"}}}
	emoji.Media = picture
	t.call(boss, "AdminService/SetStickerPack", pack, new(wire.SetStickerPackResponse))
	t.call(boss, "AdminService/SetCustomEmoji", emoji, new(wire.SetCustomEmojiResponse))
	t.refused(t.bob, "AdminService/SetStickerPack", pack, wire.CodePermissionDenied)
	var all wire.ListStickersResponse
	t.call(t.ann, "MediaService/ListStickers", &wire.ListStickersRequest{}, &all)
	t.check(len(all.Packs) > 0 && len(all.Emoji) > 0, "Ann has stickers and emoji", &all)
	say := &wire.SendMessageRequest{Conversation: t.tea, Content: &wire.Content{Type: "sticker", Body: &wire.Content_Text{Text: fmt.Sprintf(`{"pack":%q,"name":"cup"}`, pack.Name)}, Fallback: "a cup of tea"}}
	var sent wire.SendMessageResponse
	t.call(t.bob, "MessageService/SendMessage", say, &sent)
	t.call(t.bob, "MessageService/ReactToMessage", &wire.ReactToMessageRequest{Conversation: t.tea, Seq: sent.Seq, Reaction: ":" + emoji.Name + ":"}, new(wire.ReactToMessageResponse))

	pack.Title, pack.Stickers, emoji.Media = "", nil, ""
	t.call(boss, "AdminService/SetStickerPack", pack, new(wire.SetStickerPackResponse))
	t.call(boss, "AdminService/SetCustomEmoji", emoji, new(wire.SetCustomEmojiResponse))
	t.refused(t.bob, "MessageService/SendMessage", say, wire.CodeNotFound)
	var page wire.ListEntriesResponse
	t.call(t.ann, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: t.tea, From: sent.Seq, Limit: 1}, &page)
	t.check(len(page.Entries) == 1 && len(page.Entries[0].Media) == 1 && page.Entries[0].Media[0].Id == picture && strings.HasPrefix(page.Entries[0].Media[0].Mime, "image/"), "Ann still sees what Bob sent", page.Entries)
}
