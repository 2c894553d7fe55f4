package story

import (
	"fmt"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// streams: Ann says a message word by word, by calls and as the SDK does it.
func streams(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	say := func(s string) *wire.Content {
		return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}
	}
	var sent wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: say("The"), Streaming: true}, &sent)
	t.hears("ann: The", all...)
	part := func(r *wire.StreamMessageRequest) {
		r.Conversation, r.Seq = t.tea, sent.Seq
		t.call(t.ann, "MessageService/StreamMessage", r, new(wire.StreamMessageResponse))
	}
	part(&wire.StreamMessageRequest{Offset: 3, Text: " tea"})
	t.hears(fmt.Sprintf("message %d grows: The tea", sent.Seq), all...)
	t.refused(t.bob, "MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: t.tea, Seq: sent.Seq, Offset: 7, Text: "?"}, wire.CodePermissionDenied)
	t.refused(t.ann, "MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: t.tea, Seq: sent.Seq, Offset: 70, Text: "?"}, wire.CodePartMissing)
	part(&wire.StreamMessageRequest{Content: say("The cake"), End: true})
	t.hears(fmt.Sprintf("message %d says now: The cake (edits 0)", sent.Seq), all...)
	if t.err != nil {
		return
	}
	s, err := t.annPhone.client.Conversation(t.tea).Stream(t.ctx, "is")
	if err == nil {
		err = s.Append(t.ctx, " ready")
	}
	if err == nil {
		err = s.End(t.ctx)
	}
	t.check(err == nil && s.Text() == "is ready", "a stream of the SDK", err)
	t.hears("ann: is", all...)
	if t.err == nil {
		t.hears(fmt.Sprintf("message %d says now: is ready (edits 0)", s.Seq()), all...)
	}
	_, err = t.annPhone.client.Conversation(t.tea).Stream(t.ctx, "", skein.Mention(t.bob.id))
	t.check(err != nil, "a stream begins with words", err)
}
