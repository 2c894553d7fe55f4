package main

// stickers are bugs of stickers and custom emoji (SPEC §4.35).
var stickers = []Mutant{
	{
		Name: "stickers-are-not-looked-for", Breaks: "4.35: a sticker that is not there is refused",
		Hunks:   []Hunk{{"internal/sticker/sticker.go", "return at != nil\n", "return true\n"}},
		Package: "internal/api", Test: "TestStickerIsSent",
	},
	{
		Name: "any-emoji-reacts", Breaks: "4.35: a custom emoji is there when somebody reacts with it",
		Hunks:   []Hunk{{"internal/messaging/stickers.go", "!custom || remove || s.stickers == nil", "true || custom && remove || name == \"\""}},
		Package: "internal/api", Test: "TestCustomReaction",
	},
	{
		Name: "withdrawn-emoji-stay-for-ever", Breaks: "4.35: a reaction with an emoji that was withdrawn can be taken away",
		Hunks:   []Hunk{{"internal/messaging/stickers.go", "!custom || remove ||", "!custom || remove && false ||"}},
		Package: "internal/api", Test: "TestCustomReaction",
	},
	{
		Name: "sticker-pictures-are-their-uploaders", Breaks: "4.35: who is signed in may fetch what is listed",
		Hunks:   []Hunk{{"internal/media/read.go", "err != nil || shown {", "err != nil || shown && false {"}},
		Package: "internal/api", Test: "TestStickersAreListed",
	},
	{
		Name: "sticker-pictures-are-thrown-away", Breaks: "4.35: a picture stays as long as a sticker or an emoji has it",
		Hunks:   []Hunk{{"internal/directory/stickers.go", "AND NOT EXISTS (SELECT 1 FROM stickers WHERE media_id = $2) AND", "AND"}},
		Package: "internal/directory/sqlite", Test: "TestConformance/People/Stickers$",
	},
	{
		Name: "stickers-are-edited", Breaks: "4.35: a sticker cannot be edited",
		Hunks:   []Hunk{{"internal/messaging/amend.go", "state.Told.GetContent().GetType() == im.TypeSticker", "false"}},
		Package: "internal/api", Test: "TestStickerIsSent",
	},
}
