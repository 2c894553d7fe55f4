package story

import (
	"fmt"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// search: Bob finds what Ann said, in Chinese as well, and the file that she sent; not
// what she took back.
func search(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	said := t.send(t.ann, t.tea, "今天下午三点喝茶 in the garden")
	t.hears("ann: 今天下午三点喝茶 in the garden", all...)
	wrong := t.send(t.ann, t.tea, "茶 is out, in the garden")
	t.hears("ann: 茶 is out, in the garden", all...)
	t.call(t.ann, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: t.tea, Seq: wrong}, new(wire.RecallMessageResponse))
	t.hears(fmt.Sprintf("message %d was taken back", wrong), all...)
	file := &wire.Content{Type: "file", Fallback: "[file] cakes.pdf", Body: &wire.Content_Text{
		Text: `{"media":"https://media.example.org/cakes","mime":"application/pdf","bytes":4096,"name":"cakes.pdf"}`,
	}}
	var sent wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: file}, &sent)
	t.hears("ann: "+file.GetText(), all...)
	// Another node than the one that stored it may learn of it some seconds later.
	look := func(req *wire.SearchMessagesRequest, seq uint64) *wire.SearchMessagesResponse {
		for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
			var got wire.SearchMessagesResponse
			t.call(t.bob, "MessageService/SearchMessages", req, &got)
			found := len(got.Found) == 1 && got.Found[0].Entry.Seq == seq && got.Complete
			if t.err != nil || found || time.Now().After(end) {
				t.check(t.err != nil || found, fmt.Sprintf("%d is found by %v", seq, req), got.Found)
				return &got
			}
		}
	}
	got := look(&wire.SearchMessagesRequest{Query: "三点 gard"}, said)
	t.check(t.err != nil || len(got.Found[0].Matches) == 2 && got.Found[0].Matches[0].Start == 4, "it says where", got.Found)
	look(&wire.SearchMessagesRequest{Query: "茶", Conversation: t.tea}, said)
	look(&wire.SearchMessagesRequest{Types: []string{"file"}, Conversation: t.tea}, sent.Seq)
	if t.err != nil {
		return
	}
	found, err := t.bobs.client.Search(t.ctx, skein.Search{Query: "cakes", Sender: t.ann.id})
	t.check(err == nil && len(found.Found) == 1 && found.Found[0].Type == "file", "the SDK finds the file", fmt.Sprint(found, err))
}
