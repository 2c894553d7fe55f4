package im

// The bounds of the stickers and custom emoji of a deployment (SPEC §4.35).
const (
	MaxStickerPacks  = 200
	MaxStickers      = 200 // of a pack
	MaxCustomEmoji   = 5000
	MaxStickerName   = 32
	MaxStickerBytes  = 512 << 10
	MaxStickerPixels = 1024 // a side
	MaxEmojiBytes    = 256 << 10
	// Characters of a pack's title, and of what says what a sticker shows; how many emoji
	// it stands for, and their bytes.
	MaxStickerTitle, MaxStickerAlt       = 64, 100
	MaxStickerHints, MaxStickerHintBytes = 3, 32
)

// TypeSticker is the type of a message that shows a sticker.
const TypeSticker = "sticker"

// StickerPack is some stickers that belong together.
type StickerPack struct {
	Name, Title string
	Order       uint32
	Stickers    []Sticker
}

// Sticker is a picture to send. Of its picture, on the way in, only the id counts.
type Sticker struct {
	Name    string
	Picture Upload
	Alt     string
	Emoji   []string
}

// CustomEmoji is a picture to write as :name:.
type CustomEmoji struct {
	Name    string
	Picture Upload
}

// Stickers are all of a deployment: the packs in their order, the emoji by their names.
type Stickers struct {
	// Revision is another one after each change, and greater; 0: there never was any.
	Revision uint64
	Packs    []StickerPack
	Emoji    []CustomEmoji
}

// ValidStickerName tells whether something may be the name of a pack, a sticker or a custom
// emoji: [a-z0-9_+-]{1,32}.
func ValidStickerName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '+', c == '-':
		default:
			return false
		}
	}
	return s != "" && len(s) <= MaxStickerName
}

// EmojiName is the name that a reaction or a text of the form :name: names, ok if it is one.
func EmojiName(s string) (name string, ok bool) {
	if len(s) < 3 || s[0] != ':' || s[len(s)-1] != ':' {
		return "", false
	}
	name = s[1 : len(s)-1]
	return name, ValidStickerName(name)
}
