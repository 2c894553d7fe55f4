package messaging

import (
	"context"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// Stickers are what messages and reactions of a deployment may name (SPEC §4.35).
// internal/sticker is one.
type Stickers interface {
	// Sticker returns the upload with the picture of a sticker; not_found: there is none.
	Sticker(ctx context.Context, pack, name string) (upload string, err error)
	// Emoji tells whether there is a custom emoji; not_found: there is none.
	Emoji(ctx context.Context, name string) error
}

// showSticker has a message that is about to be stored name the picture of its sticker as
// an upload: so who reads it fetches the picture, whatever becomes of the pack.
func (s *Service) showSticker(ctx context.Context, it *item) error {
	if s.stickers == nil || s.media == nil {
		return im.Errorf(im.CodeUnimplemented, "this server has no stickers")
	}
	pack, name, ok := entrycodec.StickerOf(it.entry.Body)
	if !ok {
		return im.Wrong("content.text", "must be JSON with pack and name")
	}
	picture, err := s.stickers.Sticker(ctx, pack, name)
	if err != nil {
		return err
	}
	body, err := entrycodec.WithMedia(it.entry.Body, []im.Upload{{ID: picture}})
	if err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read")
	}
	it.entry.Body, it.media = body, true
	return nil
}

// emojiThere tells whether the custom emoji is there that a reaction which is being added
// names, if it names one.
func (s *Service) emojiThere(ctx context.Context, body []byte) error {
	reaction, remove := entrycodec.ReactionOf(body)
	name, custom := im.EmojiName(reaction)
	if !custom || remove || s.stickers == nil {
		return nil
	}
	return s.stickers.Emoji(ctx, name)
}
