package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// resets waits until the device was told that the history went back.
func (p *person) resets() {
	p.t.Helper()
	find(p, "the reset", func(*skein.ResetEvent) bool { return true })
}

// noReset requires that it was not told so.
func (p *person) noReset() {
	p.t.Helper()
	p.until("what came so far", func(events []skein.Event) bool {
		for _, e := range events {
			if _, ok := e.(*skein.ResetEvent); ok {
				p.t.Errorf("%s was told to forget everything, though nothing was lost", p.device.user)
			}
		}
		return true
	})
}

// TestOlderCopyPutBack: an older copy of the whole data directory is put back, as
// a good backup is. Devices that had seen more are told, whether the new history
// is behind the place where they were, just there, or far beyond; and everybody
// agrees.
func TestOlderCopyPutBack(t *testing.T) {
	for _, since := range []int{0, 3, 5, 40} {
		t.Run(fmt.Sprint(since, " new messages"), func(t *testing.T) {
			n := &node{dir: t.TempDir()}
			n.Start(t)
			t.Cleanup(func() { n.Stop(t) })
			annPhone, bobPhone := newDevice(t, n, "ann", wire.DeviceClass_DEVICE_CLASS_PHONE, 0), newDevice(t, n, "bob", wire.DeviceClass_DEVICE_CLASS_PHONE, 1)
			annWeb := newDevice(t, n, "ann", wire.DeviceClass_DEVICE_CLASS_WEB, 2)
			ann, bob := connect(t, n, annPhone), connect(t, n, bobPhone)
			befriend(t, ann, bob)
			dm := ann.DM("bob").ID()
			for range 10 {
				ann.says(dm, "kept")
			}
			bob.reaches(dm, 10)
			n.Stop(t)
			copied := t.TempDir()
			replace(t, copied, n.dir)
			n.Start(t)
			// Ann has these as acknowledged, bob as pushed; neither has a newer position.
			for range 5 {
				ann.says(dm, "lost")
			}
			bob.hears("lost")
			bob.reaches(dm, 15)
			ann.noReset() // of a restart
			ann.leave()
			bob.leave()
			n.Stop(t)
			replace(t, n.dir, copied)
			n.Start(t)
			fresh := connect(t, n, annWeb)
			for i := range since {
				fresh.says(dm, fmt.Sprint("new ", i))
			}
			ann, bob = connect(t, n, annPhone), connect(t, n, bobPhone)
			ann.resets()
			bob.resets()
			bob.says(dm, "we go on")
			ann.hears("we go on")
			fresh.hears("we go on")
			agree(t, dm, 10+since+1, ann, bob, fresh)
			fresh.noReset()
		})
	}
}

// replace makes a directory a copy of another.
func replace(t *testing.T, to, from string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
}

// TestDatabasePutBack: the files of the database, or a base backup of it, are put
// back while the server runs and clients are connected. They are told at once and
// agree on what there is; a restart of the database resets nobody.
func TestDatabasePutBack(t *testing.T) {
	for name, running := range map[string]bool{"files": false, "base backup": true} {
		t.Run(name, func(t *testing.T) {
			s := must(pgtest.Start(t.TempDir(), nil))(t)
			t.Cleanup(func() { _ = s.Stop() })
			do := func(errs ...error) {
				t.Helper()
				for _, err := range errs {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			n := &node{dir: t.TempDir(), terms: terms{settings: map[string]string{"store": pgtest.On(t, s.URL())}}}
			n.Start(t)
			t.Cleanup(func() { n.Stop(t) })
			ann, bob := join(t, n, "ann", 0), join(t, n, "bob", 1)
			befriend(t, ann, bob)
			dm := ann.DM("bob").ID()
			for range 10 {
				ann.says(dm, "kept")
			}
			bob.reaches(dm, 10)
			if running {
				do(s.Save("copy"))
			}
			do(s.Kill(), s.Restart())
			if !running {
				do(s.Stop(), s.Save("copy"), s.Restart())
			}
			for range 5 {
				ann.says(dm, "lost")
			}
			bob.reaches(dm, 15)
			ann.noReset()
			bob.noReset()
			do(s.Stop(), s.PutBack("copy"), s.Restart())
			ann.resets()
			bob.resets()
			bob.says(dm, "we go on")
			ann.hears("we go on")
			agree(t, dm, 11, ann, bob)
		})
	}
}
