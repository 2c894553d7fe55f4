package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// sendNow sends over HTTP, where a full disk is an answer and nobody waits.
func sendNow(t *testing.T, w World, token, conversation, text string) error {
	t.Helper()
	var resp wire.SendMessageResponse
	return skein.Post(t.Context(), w.HTTP(), "skein.v1.MessageService/SendMessage", token, &wire.SendMessageRequest{
		Conversation: conversation, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
	}, &resp)
}

// TestDiskFull: with a full disk messages are rejected with storage_full and
// nothing else breaks; when there is room again they are stored, those in the
// outboxes first of all.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	ballast := filepath.Join(dir, "ballast")
	full := map[string]string{"journal.min_free": "32MiB", "accounts.dm_policy": "everyone"}
	n := &node{dir: filepath.Join(dir, "data"), terms: terms{settings: full}}
	fill := func() { rewrite(t, ballast, strings.Repeat("x", freeBytes(t, dir)-16<<20)) }
	free := func() { _ = os.Remove(ballast) } // made by fill
	if err := mountSmall(t, dir, 256<<20); err != nil {
		t.Logf("no disk of its own (%v): more than there is must stay free", err)
		change := func(minFree string) func() {
			return func() {
				n.Stop(t)
				n.terms.settings = map[string]string{"journal.min_free": minFree, "accounts.dm_policy": "everyone"}
				n.Start(t)
			}
		}
		fill, free = change("1048576GiB"), change("1MiB")
	}
	n.Start(t)
	t.Cleanup(func() { n.Stop(t) })
	ann, bob := join(t, n, "ann", 0), join(t, n, "bob", 1)
	dm := ann.DM("bob").ID()
	ann.says(dm, "there is room")
	bob.hears("there is room")

	fill()
	// The free space is looked at now and then: until the server sees that it is gone.
	var err error
	stored := 1
	for ; err == nil; stored++ {
		err = sendNow(t, n, ann.device.token, dm, "is there room?")
	}
	stored--
	if !errors.Is(err, &skein.Error{Code: wire.CodeStorageFull}) {
		t.Fatalf("a full disk: %v", err)
	}
	pending := must(ann.Conversation(dm).SendAsync(t.Context(), "patience"))(t)
	// Reading goes on: history, lists, and a new device.
	if err := ann.WaitConnected(deadline(t)); err != nil {
		t.Fatal(err)
	}
	tablet := connect(t, n, newDevice(t, n, "bob", wire.DeviceClass_DEVICE_CLASS_TABLET, 2))
	tablet.reaches(dm, uint64(stored))
	if got := tablet.history(dm); len(got) != stored {
		t.Errorf("%d entries are read, %d are stored", len(got), stored)
	}
	if err := sendNow(t, n, bob.device.token, dm, "still full?"); !errors.Is(err, &skein.Error{Code: wire.CodeStorageFull}) {
		t.Errorf("a full disk: %v", err)
	}

	free()
	if _, err := pending.Wait(deadline(t)); err != nil {
		t.Fatal(err)
	}
	bob.hears("patience")
	bob.says(dm, "room again")
	ann.hears("room again")
	tablet.reaches(dm, uint64(stored)+2)
	agree(t, dm, stored+2, ann, bob, tablet)
}
