package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/backup"
	"github.com/skein-im/skein/wire"
)

// TestGoneAndBackups: a backup has the periods. What was due while there was no server is
// gone when one starts from it, and given up then; what was given up before a backup does
// not come back.
func TestGoneAndBackups(t *testing.T) {
	t.Parallel()
	w := newMoved(t, "", 1)
	d := newDay(t, w)
	d.said(30)
	d.bob.reaches(d.group, d.last)
	repository := must(backup.Open(t.TempDir()))(t)
	save := func() string {
		t.Helper()
		w.Stop(t)
		sum := must(backup.Make(t.Context(), filepath.Join(w.dir, "node0"), repository, backup.Options{Server: "test"}))(t)
		w.Start(t)
		return sum.ID
	}
	restored := func(id string, ahead time.Duration) *day {
		t.Helper()
		dir := t.TempDir()
		m := must(backup.Load(t.Context(), repository, id))(t)
		if _, err := backup.Restore(t.Context(), repository, m, filepath.Join(dir, "node0"), backup.Options{}); err != nil {
			t.Fatal(err)
		}
		sameKeys(t, filepath.Join(w.dir, "node0"), filepath.Join(dir, "node0"))
		there := *d
		there.w = movedAt(t, dir, "", 1, ahead)
		return &there
	}
	early := save()
	w.move(t, 25*time.Hour)
	w.given(t, d.group, d.first, d.last)
	late := save()

	t.Run("made before, restored before", func(t *testing.T) {
		there := restored(early, time.Hour)
		there.t = t
		if text := there.reads(there.target); text != "gone, edited" {
			t.Errorf("within the day it says %q", text)
		}
		there.w.move(t, 24*time.Hour)
		there.doors("a day later", there.last)
		there.w.given(t, there.group, there.first, there.last)
	})
	t.Run("made before, restored after", func(t *testing.T) {
		there := restored(early, 25*time.Hour)
		there.t = t
		there.doors("at the start", there.last)
		there.w.given(t, there.group, there.first, there.last)
		there.doors("given up", there.last)
	})
	t.Run("made after", func(t *testing.T) {
		there := restored(late, 25*time.Hour)
		there.t = t
		there.w.Stop(t)
		if empty, _ := embeddedBodies(t, there.w, there.group); empty != int(there.last-there.first+1) {
			t.Errorf("%d of %d entries have no body", empty, there.last-there.first+1)
		}
		there.w.Start(t)
		there.doors("at the start", there.last)
		// The period is on: what is said there goes a day later.
		ann := connect(t, there.w, there.w.device(t, "ann", wire.DeviceClass_DEVICE_CLASS_TABLET, 0))
		there.last = ann.says(there.group, "said after").Seq
		there.w.move(t, 25*time.Hour)
		there.doors("a day after", there.last)
	})
}

// reads is what bob reads of a message, "" if it is not there.
func (d *day) reads(seq uint64) string {
	d.t.Helper()
	var page wire.ListEntriesResponse
	d.must(d.bob, "ListEntries", &wire.ListEntriesRequest{Conversation: d.group, From: seq, Limit: 1}, &page)
	if len(page.Entries) == 0 || page.Entries[0].Seq != seq {
		return ""
	}
	return page.Entries[0].GetContent().GetText()
}
