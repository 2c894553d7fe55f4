package wire_test

import "github.com/skein-im/skein/wire"

// mediaVectors are messages that name uploads.
func mediaVectors() []frameVector {
	s := func(e *wire.Entry) *wire.ServerFrame {
		return wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{e}})
	}
	return []frameVector{
		{"push_media", "a message that names an upload", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 11, Id: id(17), Sender: "ann", StoredAtMs: 1_760_000_000_123, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 5,
			Content: &wire.Content{Type: "image", Body: &wire.Content_Text{Text: "{}"}, Fallback: "A picture"},
			Media: []*wire.Media{{
				Id: "DLPXBP37257E4545KC64UXKC2I", Mime: "image/jpeg", Bytes: 123456, Name: "tea.jpg", Width: 1200, Height: 800, Blurhash: "LxH2cZ2mwtX3l[WAjve?gFflfTfl", Thumbnail: true,
			}},
		})},
		{"push_preview", "the server found what a link leads to", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 12, Id: id(18), StoredAtMs: 1_760_000_000_123, Kind: wire.EntryKind_ENTRY_KIND_PREVIEW, Target: 11, Count: 5,
			Preview: previewOfTea(),
		})},
		{"push_previewed", "a message with a preview", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 11, Id: id(17), Sender: "ann", StoredAtMs: 1_760_000_000_123, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 5, Amended: 12,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "https://tea.example/green"}}, Preview: previewOfTea(),
		})},
	}
}

func previewOfTea() *wire.Preview {
	return &wire.Preview{
		Url: "https://tea.example/green", Title: "Green tea", Description: "How to make it", Site: "Tea",
		Image: &wire.Media{Id: "DLPXBP37257E4545KC64UXKC2I", Mime: "image/jpeg", Bytes: 12345, Width: 320, Height: 240, Blurhash: "LxH2cZ2mwtX3l[WAjve?gFflfTfl", Thumbnail: true},
	}
}
