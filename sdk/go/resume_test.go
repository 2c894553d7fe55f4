package skein

import (
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// What changed while the client was away comes in pages: all of it is applied, once,
// also when something is said between two pages, and when the connection ends
// between two pages; the position moves with the last one.
func TestResumePages(t *testing.T) {
	const bound = 3
	for _, changed := range []int{0, 1, bound, bound + 1, 20} {
		for _, cut := range []bool{false, true} {
			t.Run(fmt.Sprint(changed, cut), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					name := func(i int) string { return fmt.Sprintf("dm:alice:user%02d", i) }
					r.dial()
					for i := range changed {
						r.say(name(i), fmt.Sprintf("user%02d", i), "before")
					}
					pause(time.Minute)
					r.end()
					want := changed
					for i := range changed {
						r.say(name(i), fmt.Sprintf("user%02d", i), "while away")
					}
					pages := 0
					r.do(func() {
						r.resumeMax = bound
						r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
							if s := f.GetSync(); s.GetCursor() == "" {
								return false
							}
							pages++
							if cut && pages == 2 {
								c.close()
								return true
							}
							if pages == 1 { // told already, and not yet
								for _, i := range []int{0, changed - 1} {
									r.append(nil, &wire.Entry{
										Conversation: name(i), Sender: fmt.Sprintf("user%02d", i), Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
										Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "between"}},
									})
									want++
								}
							}
							return false
						}
					})
					r.dial()
					pause(time.Minute)
					if (pages > 0) != (changed > bound) {
						t.Errorf("%d further pages", pages)
					}
					eq(t, "messages", len(r.events.messages()), want)
					for i := range changed {
						r.checkStore(name(i))
					}
					resyncs := len(r.syncs())
					pause(5 * time.Minute)
					eq(t, "syncs in peace", len(r.syncs()), resyncs)
				})
			})
		}
	}
}
