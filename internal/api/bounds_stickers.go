package api

import (
	"math"

	"github.com/skein-im/skein/internal/im"
)

// stickerPattern is of the names of packs, stickers and custom emoji.
const stickerPattern = `^[a-z0-9_+-]{1,32}$`

// stickerBounds is of stickers and custom emoji.
func stickerBounds() map[string]Bounds {
	name := matching(stickerPattern).required()
	hints := Bounds{Pattern: `^[^\s]+$`, MinLength: 1, MaxLength: im.MaxStickerHintBytes, MaxBytes: im.MaxStickerHintBytes, MaxItems: im.MaxStickerHints}
	return map[string]Bounds{
		"ListStickersRequest.since":       count(),
		"ListStickersRequest.from":        number(0, math.MaxUint32),
		"ListStickersResponse.revision":   count(),
		"ListStickersResponse.packs":      {MaxItems: im.MaxStickerPacks},
		"ListStickersResponse.emoji":      {MaxItems: stickersPage},
		"ListStickersResponse.next":       number(0, math.MaxUint32),
		"StickerPack.name":                name,
		"StickerPack.title":               title(im.MaxStickerTitle),
		"StickerPack.order":               number(0, math.MaxUint32),
		"StickerPack.stickers":            {MinItems: 1, MaxItems: im.MaxStickers},
		"Sticker.name":                    name,
		"Sticker.media":                   {Required: true},
		"Sticker.alt":                     title(im.MaxStickerAlt),
		"Sticker.emoji":                   hints,
		"CustomEmoji.name":                name,
		"CustomEmoji.media":               {Required: true},
		"SetStickerPackRequest.name":      name,
		"SetStickerPackRequest.title":     {MaxLength: im.MaxStickerTitle},
		"SetStickerPackRequest.order":     number(0, math.MaxUint32),
		"SetStickerPackRequest.stickers":  {MaxItems: im.MaxStickers},
		"NewSticker.name":                 name,
		"NewSticker.media":                matching(mediaPattern).required(),
		"NewSticker.alt":                  title(im.MaxStickerAlt).required(),
		"NewSticker.emoji":                hints,
		"SetStickerPackResponse.revision": count(),
		"SetCustomEmojiRequest.name":      name,
		"SetCustomEmojiRequest.media":     matching(`^([A-Z2-7]{26})?$`),
		"SetCustomEmojiResponse.revision": count(),
	}
}
