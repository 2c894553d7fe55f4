package skein

import (
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// A message grows by its parts, as far as they fit to what is known, and by the entries
// that make it durable; who missed a part waits for those.
func TestMessageGrows(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		say := func(s string) *wire.Content { return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}} }
		r.do(func() {
			r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: say("Once"), Streaming: true})
		})
		r.dial()
		pause(time.Minute)
		part := func(replaced uint32, offset uint64, text string) {
			r.do(func() {
				for _, c := range r.conns {
					reply(c, &wire.Part{Conversation: dm, User: "bob", Seq: 1, Replaced: replaced, Offset: offset, Text: text})
				}
			})
			pause(0)
		}
		durable := func(e *wire.Entry) {
			e.Conversation, e.Sender, e.Kind, e.Target = dm, "bob", wire.EntryKind_ENTRY_KIND_STREAM, 1
			r.do(func() { r.append(nil, e) })
			pause(time.Minute)
		}
		part(0, 4, " upon")
		part(0, 4, " upon")   // again
		part(0, 12, "missed") // what is before it was lost
		part(1, 9, "other")   // of what the message does not say
		part(1, 4, " other")  // nor this, though it would fit
		part(0, 7, "on a")    // more than is known
		durable(&wire.Entry{Content: say("Once upon"), Streaming: true})
		part(0, 11, " time")
		durable(&wire.Entry{Content: say("No"), Streaming: true, Replaced: 1})
		part(1, 2, "!")
		durable(&wire.Entry{Content: say("No!"), Replaced: 1, CutOff: true})
		part(1, 3, "?") // it has ended
		var got []string
		for _, e := range eventsOf[*PartEvent](r.events) {
			got = append(got, e.Text)
		}
		eq(t, "parts", len(got), 4)
		for i, want := range []string{"Once upon", "Once upon a", "Once upon a time", "No!"} {
			eq(t, "a part", got[i], want)
		}
		ms, err := r.c.Conversation(dm).History(bg, 0, 10)
		if err != nil || len(ms) != 1 || ms[0].Text != "No!" || ms[0].Streaming || !ms[0].CutOff {
			t.Errorf("%+v, %v", ms[0], err)
		}
		r.checkStore(dm)
	})
}
