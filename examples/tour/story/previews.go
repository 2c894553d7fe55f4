package story

import "github.com/skein-im/skein/wire"

// previews: Ann sends a link, and asks the server to leave it alone; Bob reads that.
func previews(t *teller) {
	const link = "https://tea.example/green"
	var sent wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text(link), NoPreview: true}, &sent)
	t.hears("ann: "+link, t.annPhone, t.annLaptop, t.bobs)
	var page wire.ListEntriesResponse
	t.call(t.bob, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: t.tea, From: sent.Seq, Limit: 1}, &page)
	t.check(len(page.Entries) == 1 && page.Entries[0].NoPreview && page.Entries[0].Preview == nil, "the link has no preview", page.Entries)
}
