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

// TestScheduledReplies: what is scheduled below a message becomes a reply of it at its time,
// and counts there; below one that was taken back meanwhile it says that it failed.
func TestScheduledReplies(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"embedded":   nil,
		"postgresql": {"--store", pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheduledReplies(t, serve(t, t.TempDir(), args...))
		})
	}
}

func scheduledReplies(t *testing.T, p *process) {
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	befriend(t, ann, bob)
	dm := ann.DM("bob")
	root, gone := must(dm.Send(t.Context(), "root"))(t), must(dm.Send(t.Context(), "gone"))(t)
	soon := time.Now().Add(2 * time.Second)
	for i, opts := range [][]skein.SendOption{{skein.InThread(root.Seq)}, {skein.InThread(root.Seq), skein.AlsoInMain()}, {skein.InThread(gone.Seq)}} {
		if _, err := dm.SendLater(t.Context(), soon.Add(time.Duration(i)*time.Millisecond), fmt.Sprint("reply ", i), opts...); err != nil {
			t.Fatal(err)
		}
	}
	if err := dm.Recall(t.Context(), gone.Seq); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left, err := ann.Scheduled(t.Context())
		if err == nil && len(left) == 1 && left[0].GetState() == wire.ScheduledState_SCHEDULED_STATE_FAILED {
			if left[0].GetError().GetCode() != "too_late" || left[0].GetMessage().GetThread() != gone.Seq {
				t.Errorf("left: %v", left[0])
			}
			break
		}
		if time.Now().After(until) {
			t.Fatalf("left: %v, %v", left, err)
		}
	}
	thread, replies, _, err := bob.Conversation(dm.ID()).Thread(t.Context(), root.Seq, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(replies) != 2 || replies[0].Text != "reply 0" || replies[1].Text != "reply 1" || !replies[1].AlsoInMain || thread.Root.Replies != 2 {
		t.Errorf("%d replies at the root, %v", thread.Root.Replies, replies)
	}
	bob.until("the one in both", func([]skein.Event) bool { return slices.Contains(said(t, bob, dm.ID()), "reply 1") })
	if got, want := said(t, bob, dm.ID()), []string{"root", "", "reply 1"}; !slices.Equal(got, want) {
		t.Errorf("the conversation says %q, want %q", got, want)
	}
}
