package wire_test

import "github.com/skein-im/skein/wire"

// threadVectors are threads: a reply, what it makes of its root, its recall, and what a user
// sets for one.
func threadVectors() []frameVector {
	s := func(e *wire.Entry) *wire.ServerFrame {
		return wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{e}})
	}
	said := func(text string) *wire.Content {
		return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
	}
	return []frameVector{
		{"push_thread_reply", "a reply, with what its root's thread comes to by it", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 13, Id: id(20), Sender: "bob", StoredAtMs: 1_760_000_000_123, Kind: wire.EntryKind_ENTRY_KIND_THREAD_REPLY, Target: 11, Thread: 11, Count: 5,
			Content: said("Green"), Replies: &wire.Replies{Count: 2, LastAtMs: 1_760_000_000_120},
		})},
		{"push_thread_root", "a message that a thread begins with", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 11, Id: id(17), Sender: "ann", StoredAtMs: 1_760_000_000_023, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 5, Amended: 13,
			Content: said("Which tea?"), Replies: &wire.Replies{Count: 2, LastAtMs: 1_760_000_000_120},
		})},
		{"push_thread_recall", "a reply was taken back: its root has one less", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 14, Id: id(21), Sender: "bob", StoredAtMs: 1_760_000_000_223, Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: 13, Thread: 11, Count: 5,
			Replies: &wire.Replies{Count: 1, LastAtMs: 1_760_000_000_100},
		})},
		{"push_thread_also", "such a message, with what its root's thread comes to by it", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 15, Id: id(22), Sender: "bob", StoredAtMs: 1_760_000_000_323, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Thread: 11, AlsoInMain: true, Count: 6,
			Content: said("All of you: green"), Replies: &wire.Replies{Count: 2, LastAtMs: 1_760_000_000_320},
		})},
		{"my_state_threads", "what a user set for threads", wire.NewServerFrame(&wire.MyState{
			Conversation: "grp:g1", Revision: 4, Threads: []*wire.ThreadMark{{Root: 11, Read: 13}, {Root: 15, Follow: wire.ThreadFollow_THREAD_FOLLOW_NO}},
		})},
	}
}

// sendVectors are Sends with what came later.
func sendVectors() []frameVector {
	return []frameVector{
		{"send_no_preview", "a message whose links the server leaves alone", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(19), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "https://tea.example/green"}}, NoPreview: true,
		})},
		{"send_thread", "a message in a thread", wire.NewClientFrame(&wire.Send{Conversation: "grp:g1", Id: id(20), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "Green"}}, Thread: 11})},
		{"send_thread_also", "a message in a thread and in the conversation's line", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(22), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "All of you: green"}}, Thread: 11, AlsoInMain: true,
		})},
	}
}
