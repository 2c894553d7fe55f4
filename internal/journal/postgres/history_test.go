package postgres

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/journaltest"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// server starts one of the test's own.
func server(t testing.TB) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An older copy of the server's files, taken while it was stopped, and an older
// base backup: both come back on the same timeline of the server.
func TestHistory(t *testing.T) {
	journaltest.RunHistory(t, journaltest.Harness{New: func(t testing.TB) journaltest.Store {
		s := server(t)
		url := pgtest.On(t, s.URL())
		return journaltest.Store{
			Open: func(t testing.TB) im.Journal { return open(t, url) },
			Save: func(t testing.TB) {
				if t.Name() == "TestHistory/PutBack" {
					must(t, s.Stop(), s.Save("copy"), s.Restart())
				} else {
					must(t, s.Save("copy"))
				}
			},
			PutBack:      func(t testing.TB) { must(t, s.Stop(), s.PutBack("copy"), s.Restart()) },
			SavesRunning: true,
		}
	}})
}

// Whoever was connected when the database went back hears of it, once, with the
// first thing it asks; whoever saw nothing of what is lost does not.
func TestWentBackUnderNodes(t *testing.T) {
	for name, running := range map[string]bool{"files": false, "base backup": true} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			url := pgtest.On(t, s.URL())
			var back [3]atomic.Int32
			var js [3]*Journal
			for i := range js {
				var err error
				js[i], err = Open(t.Context(), url, Options{Logger: quiet(), WentBack: func(string) { back[i].Add(1) }})
				must(t, err)
				defer js[i].Close()
			}
			store(t, js[0], message("grp:g", "a", 1))
			kept, err := js[2].told(t.Context())
			must(t, err)
			if running {
				must(t, s.Save("copy"))
			} else {
				must(t, s.Stop(), s.Save("copy"), s.Restart())
			}
			// The first one stored something since, the second heard of it, the third
			// did not.
			store(t, js[0], message("grp:g", "a", 2))
			_, err = js[1].told(t.Context())
			must(t, err)
			must(t, s.Stop(), s.PutBack("copy"), s.Restart())
			for i, j := range js {
				at, err := j.told(t.Context())
				must(t, err)
				if n, want := back[i].Load(), int32(1); (n != want) == (i < 2) {
					t.Errorf("node %d was told %d times, it is at %+v", i, n, at)
				}
				held, err := j.holds(t.Context(), kept)
				if err != nil || !held {
					t.Errorf("node %d: what is in the copy is lost, %v", i, err)
				}
			}
			if out := store(t, js[0], message("grp:g", "a", 3)); out[0].Seq != 2 {
				t.Errorf("%+v, the copy has one message", out[0])
			}
			for i, j := range js {
				if _, err := j.told(t.Context()); err != nil || back[i].Load() > 1 {
					t.Errorf("node %d was told %d times, %v", i, back[i].Load(), err)
				}
			}
		})
	}
}

// What clients had read in a history that is gone is not written into the one in
// its place, whoever finds out: it may lie beyond the end there. Who waits for it
// is told; what is said later counts: marks are dropped once, and not a second time
// after who waited was told and said what they have read anew.
func TestMarksOfAHistoryThatIsGone(t *testing.T) {
	for name, asked := range map[string]bool{"the marks find out": false, "a question finds out": true} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			url := pgtest.On(t, s.URL())
			j, err := Open(t.Context(), url, Options{Logger: quiet()})
			must(t, err)
			defer j.Close()
			g := im.Group("g")
			store(t, j, message(g, "a", 1))
			must(t, s.Save("copy"))
			store(t, j, message(g, "a", 2))
			_, err = j.told(t.Context())
			must(t, err)
			must(t, s.Stop())
			told := make(chan error, 1)
			set := func(read uint64, stored func(error)) {
				must(t, j.SetMarks(t.Context(), []im.Mark{{User: "b", Conversation: g, Received: read, Read: read}}, im.MarkWait{Stored: stored, Soon: stored != nil}))
			}
			set(2, func(err error) { told <- err })
			must(t, s.PutBack("copy"), s.Restart())
			if asked {
				_, err = j.told(t.Context())
				must(t, err)
			}
			select {
			case err := <-told:
				if im.CodeOf(err) != im.CodeUnavailable {
					t.Errorf("who waits was told %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("who waits was told nothing")
			}
			set(1, func(err error) { told <- err })
			must(t, <-told)
			if !j.marks.droppedSince(0) || j.marks.droppedSince(1) {
				t.Error("marks were dropped never, or more than once")
			}
			rows, err := pgtest.Collect[struct{ Read int64 }](t.Context(), url, `SELECT read FROM journal_marks WHERE "user" = 'b'`)
			if err != nil || len(rows) != 1 || rows[0].Read != 1 {
				t.Errorf("marks in the database: %v, %v; it has one message", rows, err)
			}
		})
	}
}

// A server that is put back with its memory, as a virtual machine is, is the same
// one to all it is asked. A node that saw more begins an era.
func TestServerPutBackWithItsMemory(t *testing.T) {
	url := pgtest.Database(t)
	var back atomic.Int32
	j, err := Open(t.Context(), url, Options{Logger: quiet(), WentBack: func(string) { back.Add(1) }})
	must(t, err)
	defer j.Close()
	store(t, j, message("grp:g", "a", 1))
	before, err := j.told(t.Context())
	must(t, err)
	// The node was further.
	seen := before.At(before.Pos + 1000)
	j.history.notePlace(seen)
	at, err := j.told(t.Context())
	must(t, err)
	if back.Load() != 1 || at.Era == before.Era {
		t.Errorf("told %d times; at %+v, before at %+v", back.Load(), at, before)
	}
	for n := range 3 {
		for p, want := range map[im.Place]bool{before: true, seen: false, at: true} {
			if held, err := j.holds(t.Context(), p); err != nil || held != want {
				t.Errorf("%+v: %v, %v", p, held, err)
			}
		}
		store(t, j, message("grp:g", "a", n+2))
		_, err = j.told(t.Context())
		must(t, err)
	}
	if back.Load() != 1 {
		t.Errorf("told %d times", back.Load())
	}
}

// Nothing is written while nothing happens: what notes how far positions are told
// does not move them on and on.
func TestReachedComesToRest(t *testing.T) {
	url := pgtest.Database(t)
	a, b := open(t, url), open(t, url)
	defer a.Close()
	defer b.Close()
	store(t, a, message("grp:g", "a", 1))
	rest := func() (p im.Place) {
		for range 200 {
			var behind bool
			for _, j := range []*Journal{a, b} {
				_, err := j.told(t.Context())
				must(t, err)
				var more bool
				p, more, err = j.lookPosition(t.Context(), j.readers)
				must(t, err)
				behind = behind || more
			}
			if !behind {
				return p
			}
		}
		t.Fatal("it never comes to rest")
		return p
	}
	// Other databases of the server use transactions as well: this test's only sees
	// that nothing of its own goes on for ever.
	rest()
	rest()
}

// A mark waits in memory while the database goes back: the entry that it is of is
// gone, and where it was there is another one, with another count. The mark is not
// written, and who waits for it is told. One that waits while the server is only
// restarted is written.
func TestMarksOfALostHistory(t *testing.T) {
	for name, lost := range map[string]bool{"went back": true, "restarted": false} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			url := pgtest.On(t, s.URL())
			j := open(t, url)
			defer j.Close()
			c := im.Group("g")
			store(t, j, message(c, "a", 1))
			must(t, s.Stop(), s.Save("copy"), s.Restart())
			out := store(t, j, message(c, "a", 2), message(c, "a", 3))
			_, err := j.told(t.Context())
			must(t, err, s.Stop())
			told := make(chan error, 1)
			must(t, j.SetMarks(t.Context(), []im.Mark{{User: "b", Conversation: c, Received: out[1].Seq, Read: out[1].Seq, ReadCount: out[1].Count}}, im.MarkWait{Stored: func(err error) { told <- err }}))
			if lost {
				must(t, s.PutBack("copy"))
			}
			must(t, s.Restart())
			for range 500 { // what was sent goes on, with other entries where the lost ones were
				if _, err = appends(t, j, message(c, "c", 4), message(c, "c", 5), message(c, "c", 6)); err == nil {
					break
				}
				<-time.After(20 * time.Millisecond)
			}
			must(t, err)
			select {
			case err := <-told:
				if (err != nil) != lost {
					t.Errorf("who waited was told %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("who waited was told nothing")
			}
			must(t, j.flushMarks(t.Context()))
			rows, err := pgtest.Collect[struct{ Read, Count int64 }](t.Context(), url, `SELECT read, read_count FROM journal_marks`)
			must(t, err)
			if want := map[bool]int{true: 0, false: 1}[lost]; len(rows) != want {
				t.Errorf("marks in the database: %+v, want %d", rows, want)
			}
		})
	}
}
