package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestScheduledKilled: messages come due while the server is killed again and again.
// Each is sent once, in the order of their times, and none is left behind.
func TestScheduledKilled(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"embedded":   nil,
		"postgresql": {"--store", pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheduledKilled(t, serve(t, t.TempDir(), args...))
		})
	}
}

func scheduledKilled(t *testing.T, p *process) {
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	befriend(t, ann, bob)
	dm := ann.DM("bob")
	const n = 40
	var want []string
	begin := time.Now().Add(time.Second)
	for i := range n {
		text := fmt.Sprintf("message %02d", i)
		if _, err := dm.SendLater(t.Context(), begin.Add(time.Duration(i)*75*time.Millisecond), text); err != nil {
			t.Fatal(err)
		}
		want = append(want, text)
	}
	for range 4 {
		time.Sleep(700 * time.Millisecond) // somewhere among them
		p.kill(t)
		p.Start(t)
	}
	bob.until("all messages", func([]skein.Event) bool { return len(said(t, bob, dm.ID())) >= n })
	if got := said(t, bob, dm.ID()); !slices.Equal(got, want) {
		t.Errorf("sent: %q", got)
	}
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // it is noted behind the sending
		left, err := ann.Scheduled(t.Context())
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d are left, %v", len(left), err)
		}
	}
}

// said are the texts that a device has of a conversation.
func said(t *testing.T, p *person, conversation string) (texts []string) {
	t.Helper()
	ms, err := p.Conversation(conversation).History(t.Context(), 0, 1000)
	if err != nil {
		return nil // not yet there, or no connection
	}
	for _, m := range ms {
		if m.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
