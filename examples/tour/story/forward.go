package story

import (
	"fmt"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// forwarding: Bob tells in the group what Ann told him, as she said it, and in one
// message; nobody forwards what they do not see.
func forwarding(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	said := t.send(t.ann, t.dm, "The cake is in the oven")
	t.hears("ann: The cake is in the oven", all...)
	source := []*wire.ForwardSource{{Conversation: t.dm, Seq: said}}
	var copied wire.ForwardMessagesResponse
	t.call(t.bob, "MessageService/ForwardMessages", &wire.ForwardMessagesRequest{Conversation: t.tea, Messages: source}, &copied)
	t.check(len(copied.Forwarded) == 1 && copied.Error == nil, "it was forwarded", &copied)
	t.hears("bob, from ann: The cake is in the oven", all...)
	t.refused(t.carol, "MessageService/ForwardMessages", &wire.ForwardMessagesRequest{Conversation: t.tea, Messages: source}, wire.CodeNotFound)
	if t.err != nil {
		return
	}
	from := []skein.EntryRef{{Conversation: t.dm, Seq: said}, {Conversation: t.tea, Seq: copied.Forwarded[0].Seq}}
	if _, err := t.bobs.client.Conversation(t.tea).ForwardMerged(t.ctx, "Cake", from...); err != nil {
		t.fail("messages in one: %w", err)
	}
	t.hears(fmt.Sprintf("bob, %d in one: Cake", len(from)), all...)
	if _, err := t.bobs.client.Conversation(t.tea).Forward(t.ctx, from[:1]...); err != nil {
		t.fail("a copy by the SDK: %w", err)
	}
	t.hears("bob, from ann: The cake is in the oven", all...)
}
