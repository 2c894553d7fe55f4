package story

import (
	"fmt"

	"github.com/skein-im/skein/wire"
)

func text(s string) *wire.Content {
	return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}
}

// send sends a message and returns its seq.
func (t *teller) send(by *person, conversation, words string) uint64 {
	var r wire.SendMessageResponse
	t.call(by, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: conversation, Content: text(words)}, &r)
	return r.Seq
}

// messages: written, edited, reacted to, taken back; and what Ann's phone says to the
// connection alone, typing and a message from its outbox.
func messages(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	first := t.send(t.ann, t.dm, "Hello Bob")
	t.hears("ann: Hello Bob", all...)
	t.call(t.bob, "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: t.dm, Seq: first}, new(wire.MarkReadResponse))
	t.hears(fmt.Sprintf("bob has read up to %d", first), t.annPhone, t.annLaptop)

	t.call(t.ann, "MessageService/EditMessage", &wire.EditMessageRequest{Conversation: t.dm, Seq: first, Content: text("Hello, Bob!")}, new(wire.EditMessageResponse))
	t.hears(fmt.Sprintf("message %d says now: Hello, Bob! (edits 1)", first), all...)
	t.refused(t.bob, "MessageService/EditMessage", &wire.EditMessageRequest{Conversation: t.dm, Seq: first, Content: text("Bye")}, wire.CodePermissionDenied)
	var edits wire.ListEditsResponse
	t.call(t.bob, "MessageService/ListEdits", &wire.ListEditsRequest{Conversation: t.dm, Seq: first}, &edits)
	t.check(len(edits.Versions) == 1 && edits.Versions[0].Content.GetText() == "Hello Bob", "what it said before", edits.Versions)

	t.call(t.bob, "MessageService/ReactToMessage", &wire.ReactToMessageRequest{Conversation: t.dm, Seq: first, Reaction: "👋"}, new(wire.ReactToMessageResponse))
	t.hears(fmt.Sprintf("message %d says now: Hello, Bob! (edits 1 👋1)", first), all...)
	var reactions wire.ListReactionsResponse
	t.call(t.ann, "MessageService/ListReactions", &wire.ListReactionsRequest{Conversation: t.dm, Seq: first}, &reactions)
	t.check(len(reactions.Reacted) == 1 && reactions.Reacted[0].User == t.bob.id, "Bob reacted", reactions.Reacted)

	wrong := t.send(t.bob, t.dm, "not for you")
	t.hears("bob: not for you", all...)
	t.call(t.bob, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: t.dm, Seq: wrong}, new(wire.RecallMessageResponse))
	t.hears(fmt.Sprintf("message %d was taken back", wrong), all...)

	t.fromTheOutbox()
	var page wire.ListEntriesResponse
	t.call(t.bob, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: t.dm, Backward: true, Limit: 50}, &page)
	t.check(len(page.Entries) == 3 && page.Entries[0].GetContent().GetText() == "Hello, Bob!", "the page of history", page.Entries)
}

// fromTheOutbox: what only a connection does.
func (t *teller) fromTheOutbox() {
	if t.err != nil {
		return
	}
	v := t.annPhone.client.Conversation(t.dm)
	if err := v.Typing(t.ctx); err != nil {
		t.fail("typing: %w", err)
	}
	t.hears("ann is typing", t.bobs)
	if t.err != nil {
		return
	}
	if _, err := v.Send(t.ctx, "How are you?"); err != nil {
		t.fail("a message from the outbox: %w", err)
	}
	t.hears("ann: How are you?", t.annLaptop, t.bobs)
}

// mine: what Ann sets for herself is told to her devices alone.
func mine(t *teller) {
	yes, draft, folder := true, "Fine, and", "Friends"
	var state wire.SetMyStateResponse
	t.call(t.ann, "MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: t.dm, Pinned: &yes, Draft: &draft, Folder: &folder}, &state)
	t.check(state.State.GetPinned(), "it is pinned", &state)
	t.hears(`my state: pinned true, draft "Fine, and", in "Friends"`, t.annPhone, t.annLaptop)

	var list wire.ListConversationsResponse
	t.call(t.ann, "MessageService/ListConversations", &wire.ListConversationsRequest{}, &list)
	for _, c := range list.Delta.GetConversations() {
		if c.Conversation == t.dm {
			t.check(c.GetMine().GetDraft() == draft && c.GetMine().GetFolder() == folder, "the draft and the folder are in the list", c)
			return
		}
	}
	t.fail("the conversation is not in the list: %v", list.Delta)
}
