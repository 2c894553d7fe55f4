package wire_test

import "github.com/skein-im/skein/wire"

// amendVectors are amendments as clients ask for them.
func amendVectors() []frameVector {
	return []frameVector{
		{"amend_edit", "other words for a message, SPEC §4.10", wire.NewClientFrame(&wire.Amend{
			Conversation: "dm:ann:bob", Id: id(6), Target: 3, InsteadOf: id(5), What: &wire.Amend_Edit{Edit: &wire.Edit{
				Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "better"}, Fallback: "f"}, Mentions: []string{"ann"}, Extra: map[string]string{"k": "v"},
			}},
		})},
		{"send_group_mention", "all members are mentioned, SPEC §4.17", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(10), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "@all lunch"}}, Mentions: []string{"bob"},
			GroupMention: wire.GroupMention_GROUP_MENTION_ALL,
		})},
		{"amend_react", "a reaction, SPEC §4.11", wire.NewClientFrame(&wire.Amend{
			Conversation: "grp:g1", Id: id(8), Target: 3, What: &wire.Amend_React{React: &wire.React{Reaction: "👍"}},
		})},
		{"amend_unreact", "a reaction is taken away", wire.NewClientFrame(&wire.Amend{
			Conversation: "grp:g1", Id: id(9), Target: 3, What: &wire.Amend_React{React: &wire.React{Reaction: "done", Remove: true}},
		})},
		{"amend_vote", "a vote, SPEC §4.14", wire.NewClientFrame(&wire.Amend{
			Conversation: "grp:g1", Id: id(10), Target: 3, What: &wire.Amend_Vote{Vote: &wire.Vote{Options: []string{"fri", "sat"}}},
		})},
		{"amend_unvote", "a vote is taken back", wire.NewClientFrame(&wire.Amend{
			Conversation: "grp:g1", Id: id(11), Target: 3, What: &wire.Amend_Vote{Vote: &wire.Vote{}},
		})},
		{"amend_end_poll", "a poll is ended", wire.NewClientFrame(&wire.Amend{
			Conversation: "grp:g1", Id: id(12), Target: 3, What: &wire.Amend_EndPoll{EndPoll: &wire.PollEnd{}},
		})},
		{"send_poll", "a poll, SPEC §4.14", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(13), Content: &wire.Content{Type: "poll", Body: &wire.Content_Text{Text: `{"question":"When?","options":[{"id":"fri","text":"Friday"}]}`}, Fallback: "When?"},
			Poll: &wire.Poll{Options: []*wire.PollOption{{Id: "fri"}}, Multiple: true, Anonymous: true, UntilMs: 1_760_000_000_000},
		})},
		{"amend_pin", "a message is pinned, SPEC §4.21", wire.NewClientFrame(&wire.Amend{
			Conversation: "grp:g1", Id: id(14), Target: 3, What: &wire.Amend_Pin{Pin: &wire.Pin{}},
		})},
		{"amend_unpin", "it is not any more", wire.NewClientFrame(&wire.Amend{
			Conversation: "grp:g1", Id: id(15), Target: 3, What: &wire.Amend_Pin{Pin: &wire.Pin{Remove: true}},
		})},
		{"send_silent", "nobody is to be notified of it, SPEC §4.22", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(16), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "for tomorrow"}}, Silent: true,
		})},
		{"send_media", "a message that names uploads, SPEC §13", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(17), Content: &wire.Content{Type: "image", Body: &wire.Content_Text{Text: "{}"}, Fallback: "A picture"}, Media: []string{"DLPXBP37257E4545KC64UXKC2I"},
		})},
		{"send_streaming", "a message that grows, SPEC §4.26", wire.NewClientFrame(&wire.Send{
			Conversation: "grp:g1", Id: id(17), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "Once"}}, Streaming: true,
		})},
		{"amend_nothing", "it does not say what it does", wire.NewClientFrame(&wire.Amend{Conversation: "grp:g1", Id: id(7), Target: 1})},
	}
}

// amendedVectors are entries that amend others, and what they make of them.
func amendedVectors() []frameVector {
	s := func(e *wire.Entry) *wire.ServerFrame {
		return wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{e}})
	}
	return []frameVector{
		{"push_edit", "the entry that edits", s(&wire.Entry{
			Conversation: "dm:ann:bob", Seq: 10, Id: id(8), Sender: "ann", StoredAtMs: 3, Kind: wire.EntryKind_ENTRY_KIND_EDIT, Count: 7, Target: 7, Pos: 9,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "better"}}, EditedAtMs: 1_760_000_000_999, Edits: 2,
		})},
		{"push_edited", "a message that was edited", s(&wire.Entry{
			Conversation: "dm:ann:bob", Seq: 7, Id: id(1), Sender: "ann", StoredAtMs: 1_760_000_000_123, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 6, Amended: 10,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "better"}}, EditedAtMs: 1_760_000_000_999, Edits: 2,
		})},
		{"push_group_mention", "a message that mentions who is there", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 8, Id: id(10), Sender: "ann", StoredAtMs: 3, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 7, Pos: 9,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "lunch"}}, GroupMention: wire.GroupMention_GROUP_MENTION_HERE,
		})},
		{"push_reaction", "the entry that reacts", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 12, Id: id(8), Sender: "ann", StoredAtMs: 3, Kind: wire.EntryKind_ENTRY_KIND_REACTION, Count: 7, Target: 7, Pos: 9,
			React: &wire.React{Reaction: "👍"}, Reactions: []*wire.Reaction{{Reaction: "👍", Count: 10_000, Users: []string{"bob", "cid", "ann"}}},
		})},
		{"push_stream", "more of a streamed message is durable", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 9, Id: id(15), Sender: "ann", StoredAtMs: 1_760_000_000_123, Kind: wire.EntryKind_ENTRY_KIND_STREAM, Target: 3, Count: 4,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "Once upon"}}, Streaming: true, Replaced: 1,
		})},
		{"push_stream_cut", "the server ended one", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 10, Id: id(16), StoredAtMs: 1_760_000_000_123, Kind: wire.EntryKind_ENTRY_KIND_STREAM, Target: 3, Count: 4,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "Once upon"}}, Replaced: 1, CutOff: true,
		})},
		{"part", "the next part of a streamed message", wire.NewServerFrame(&wire.Part{Conversation: "grp:g1", User: "ann", Seq: 3, Replaced: 1, Offset: 9, Text: " a time"})},
		{"push_vote", "a vote in an open poll", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 13, Id: id(10), Sender: "ann", StoredAtMs: 3, Kind: wire.EntryKind_ENTRY_KIND_VOTE, Count: 7, Target: 7, Pos: 10,
			Vote: &wire.Vote{Options: []string{"fri"}}, Poll: &wire.Poll{Options: []*wire.PollOption{{Id: "fri", Votes: 2}, {Id: "sat"}}, UntilMs: 1_760_000_000_000, Voters: 2},
		})},
		{"push_vote_anonymous", "a vote in an anonymous poll: nobody's", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 13, Id: id(10), StoredAtMs: 3, Kind: wire.EntryKind_ENTRY_KIND_VOTE, Count: 7, Target: 7, Pos: 10,
			Poll: &wire.Poll{Options: []*wire.PollOption{{Id: "fri", Votes: 1}}, Anonymous: true, Voters: 1},
		})},
		{"push_poll_end", "a poll is ended before its time", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 14, Id: id(12), Sender: "ann", StoredAtMs: 4, Kind: wire.EntryKind_ENTRY_KIND_POLL_END, Count: 7, Target: 7, Pos: 11,
			Poll: &wire.Poll{Options: []*wire.PollOption{{Id: "fri", Votes: 2}}, Voters: 2, EndedAtMs: 4},
		})},
		{"push_poll", "a poll as its reader is told it", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 7, Id: id(1), Sender: "ann", StoredAtMs: 1, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 6, Amended: 14,
			Content: &wire.Content{Type: "poll", Body: &wire.Content_Text{Text: "{}"}, Fallback: "When?"},
			Poll:    &wire.Poll{Options: []*wire.PollOption{{Id: "fri", Votes: 2, Mine: true}, {Id: "sat", Votes: 1}}, Multiple: true, Voters: 2, EndedAtMs: 4},
		})},
		{"push_pin", "the entry that pins", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 15, Id: id(14), Sender: "ann", StoredAtMs: 5, Kind: wire.EntryKind_ENTRY_KIND_PIN, Count: 7, Target: 7, Pos: 12,
			Pinned: &wire.Pinned{User: "ann", AtMs: 5},
		})},
		{"push_unpin", "the entry that ends a pin", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 16, Id: id(15), Sender: "bob", StoredAtMs: 6, Kind: wire.EntryKind_ENTRY_KIND_PIN, Count: 7, Target: 7, Pos: 13,
		})},
		{"push_pinned", "a message that is pinned", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 7, Id: id(1), Sender: "ann", StoredAtMs: 1, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 6, Amended: 15,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}, Pinned: &wire.Pinned{User: "ann", AtMs: 5},
		})},
		{"push_silent", "a message that nobody is to be notified of", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 17, Id: id(16), Sender: "ann", StoredAtMs: 7, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 8, Pos: 14,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "for tomorrow"}}, Silent: true,
		})},
		{"push_forward", "a message that was said elsewhere before", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 18, Id: id(17), Sender: "bob", StoredAtMs: 8, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 9, Pos: 15,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}, Forward: &wire.Forward{Sender: "ann", StoredAtMs: 1},
		})},
		{"push_merged", "several messages in one", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 19, Id: id(18), Sender: "bob", StoredAtMs: 9, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 10, Pos: 16,
			Content: &wire.Content{Type: "merged", Body: &wire.Content_Text{Text: `{"title":"Tea","entries":[{"sender":"ann","name":"Ann","at_ms":1,"type":"text","text":"hi"}]}`}, Fallback: "Tea"},
			Forward: &wire.Forward{Merged: 1},
		})},
		{"push_reacted", "a message with reactions, one of which is the reader's", s(&wire.Entry{
			Conversation: "grp:g1", Seq: 7, Id: id(1), Sender: "ann", StoredAtMs: 1, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: 6, Amended: 12,
			Content:   &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}},
			Reactions: []*wire.Reaction{{Reaction: "👍", Count: 2, Users: []string{"bob", "ann"}, Mine: true}, {Reaction: "done", Count: 1, Users: []string{"bob"}}},
		})},
	}
}
