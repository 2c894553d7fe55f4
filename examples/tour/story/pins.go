package story

import (
	"fmt"
	"slices"

	"github.com/skein-im/skein/wire"
)

// pins: Ann says something quietly and pins it; Bob, who may not, reads what is pinned.
func pins(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	var sent wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text("House rules"), Silent: true}, &sent)
	t.hears("ann, quietly: House rules", all...)
	pin := &wire.PinMessageRequest{Conversation: t.tea, Seq: sent.Seq}
	t.refused(t.bob, "MessageService/PinMessage", pin, wire.CodePermissionDenied)
	t.call(t.ann, "MessageService/PinMessage", pin, new(wire.PinMessageResponse))
	t.hears(fmt.Sprintf("message %d says now: House rules (edits 0, pinned by ann)", sent.Seq), all...)
	var list wire.ListPinsResponse
	t.call(t.bob, "MessageService/ListPins", &wire.ListPinsRequest{Conversation: t.tea}, &list)
	t.check(len(list.Entries) == 1 && list.Entries[0].Seq == sent.Seq && list.Entries[0].GetPinned().GetUser() == t.ann.id, "the rules are pinned", list.Entries)
	t.call(t.bob, "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: t.tea, Seq: sent.Seq}, new(wire.MarkReadResponse))
	var by wire.ListReadersResponse
	t.call(t.ann, "MessageService/ListReaders", &wire.ListReadersRequest{Conversation: t.tea, Seq: sent.Seq}, &by)
	t.check(slices.Contains(by.Read, t.bob.id) && !slices.Contains(by.Read, t.ann.id), "Bob has read the rules", &by)
	t.call(t.ann, "MessageService/PinMessage", &wire.PinMessageRequest{Conversation: t.tea, Seq: sent.Seq, Remove: true}, new(wire.PinMessageResponse))
	t.hears(fmt.Sprintf("message %d says now: House rules (edits 0)", sent.Seq), all...)
	lifetime := &wire.SetLifetimeRequest{Conversation: t.tea, LifetimeS: 86_400}
	t.refused(t.bob, "MessageService/SetLifetime", lifetime, wire.CodePermissionDenied)
	t.call(t.ann, "MessageService/SetLifetime", lifetime, new(wire.SetLifetimeResponse))
	t.hears("lifetime changed by ann", all...)
}
