package skein

import (
	"testing"

	"github.com/skein-im/skein/wire"
)

// The entry that tells of scheduled messages is an event of its own.
func TestScheduledEvent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.do(func() {
			r.append(nil, &wire.Entry{
				Conversation: "me:" + r.user, Sender: r.user, Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_SCHEDULED_CHANGED, Conversation: dm},
			})
		})
		pause(0)
		got := eventsOf[*ScheduledEvent](r.events)
		if len(got) != 1 || got[0].Conversation != dm {
			t.Errorf("%v", got)
		}
	})
}
