package story

import (
	"time"

	"github.com/skein-im/skein/wire"
)

// later: Ann writes for the evening, changes her mind, and has something sent at once.
func later(t *teller) {
	evening := time.Now().Add(6 * time.Hour).UnixMilli()
	words := func(text string) *wire.SendMessageRequest {
		return &wire.SendMessageRequest{Conversation: t.tea, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}}
	}
	schedule := func(text string, at int64) []byte {
		var kept wire.ScheduleMessageResponse
		t.call(t.ann, "MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{Message: words(text), AtMs: at}, &kept)
		t.hears("scheduled changed", t.annPhone, t.annLaptop)
		return kept.Id
	}
	id := schedule("good evening", evening)
	t.refused(t.bob, "MessageService/CancelScheduled", &wire.CancelScheduledRequest{Id: id}, wire.CodeNotFound)
	t.call(t.ann, "MessageService/ChangeScheduled", &wire.ChangeScheduledRequest{Id: id, AtMs: evening + 1}, new(wire.ChangeScheduledResponse))
	t.hears("scheduled changed", t.annPhone, t.annLaptop)
	var kept wire.ListScheduledResponse
	t.call(t.ann, "MessageService/ListScheduled", &wire.ListScheduledRequest{}, &kept)
	t.check(len(kept.Scheduled) == 1 && kept.Scheduled[0].AtMs == evening+1, "one message for the evening", kept.Scheduled)
	t.call(t.ann, "MessageService/CancelScheduled", &wire.CancelScheduledRequest{Id: id}, new(wire.CancelScheduledResponse))
	t.hears("scheduled changed", t.annPhone, t.annLaptop)
	schedule("tea is ready", 1)
	t.hears("ann: tea is ready", t.annPhone, t.annLaptop, t.bobs)
}
