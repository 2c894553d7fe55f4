package filter

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/serverlist"
	"github.com/skein-im/skein/wire"
)

// TestReportsArrive: what a rule has reported is in the moderators' list of either store, with
// the message, the rule and the author, as the server's own; an edit is reported at the message
// that it edits. What waits at Close is written.
func TestReportsArrive(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (*directory.DB, error){
		"sqlite": func(t *testing.T) (*directory.DB, error) {
			return sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
		},
		"postgres": func(t *testing.T) (*directory.DB, error) {
			return postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			reportsArrive(t, db)
		})
	}
}

func reportsArrive(t *testing.T, db *directory.DB) {
	ctx := t.Context()
	if err := db.CreateUser(ctx, im.Credentials{User: im.User{ID: "eve", Username: "eve", DisplayName: "Eve", Created: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	s := New(Options{List: serverlist.Options{Store: db}, Reports: db, Random: rand.Reader})
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	closed := sync.OnceFunc(s.Close)
	defer closed()
	r := link("casino.example")
	r.ID, r.Action = "r1", im.FilterReport
	if _, err := s.Add(ctx, r); err != nil {
		t.Fatal(err)
	}
	breaks := func(e im.Entry) {
		t.Helper()
		broken := s.Breaks(e.Body)
		if len(broken) != 1 || broken[0].Action != im.FilterReport {
			t.Fatalf("breaks %s", found(broken))
		}
		s.Report(e, broken[0])
	}
	message := im.Entry{Conversation: "grp:g", Seq: 7, Kind: im.EntryMessage, Sender: "eve", Body: body(said("see https://casino.example/win"))}
	breaks(message)
	listed := func(n int) []im.Report {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			all, err := db.Reports(ctx, im.ReportQuery{Limit: 10, State: im.ReportOpen})
			if err != nil {
				t.Fatal(err)
			}
			if len(all) >= n {
				return all
			}
			if time.Now().After(end) {
				t.Fatalf("reported: %+v", all)
			}
		}
	}
	got := listed(1)
	check := func(r im.Report, seq uint64, said string) {
		t.Helper()
		if r.Conversation != "grp:g" || r.Seq != seq || r.Author != "eve" || r.Reporter != "" || r.Reason != im.ReportFilter || !strings.Contains(r.Text, "casino.example") || r.Said != said || r.State != im.ReportOpen || time.Since(r.Created) > time.Minute {
			t.Errorf("the report of %d: %+v", seq, r)
		}
	}
	check(got[0], 7, "see https://casino.example/win")
	breaks(message) // once more: it is the same message
	edit := im.Entry{Conversation: "grp:g", Seq: 9, Kind: im.EntryEdit, Target: 8, Sender: "eve", Body: entrycodec.Encode(&wire.Entry{Content: said("casino.example")})}
	breaks(edit)
	closed()
	if got = listed(2); len(got) != 2 {
		t.Fatalf("%d reports: %+v", len(got), got)
	}
	check(got[0], 8, "casino.example")
	check(got[1], 7, "see https://casino.example/win")
}

// queue keeps reports in memory; fail says what becomes of the next ones.
type queue struct {
	mu   sync.Mutex
	fail []error
	kept []im.Report
	at   []time.Time
}

func (q *queue) PutReport(_ context.Context, r im.Report, _ time.Time, _ int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.at = append(q.at, time.Now())
	if len(q.fail) > 0 {
		err := q.fail[0]
		q.fail = q.fail[1:]
		if err != nil {
			return err
		}
	}
	q.kept = append(q.kept, r)
	return nil
}

// noList is a list that is empty, and never changes.
type noList struct{}

func (noList) ServerList(context.Context, string) (uint64, string, error) { return 0, "", nil }
func (noList) ServerListRevision(context.Context, string) (uint64, error) { return 0, nil }
func (noList) ChangeServerList(context.Context, string, time.Time, func(string) (string, error)) (uint64, string, error) {
	return 0, "", im.Errorf(im.CodeUnavailable, "it does not change")
}

// TestReportsAreTriedAgain: a store that does not answer is asked again, later and later; a
// report that it refuses is not; one that is lost is told in the log, but for those that an
// author has too many of. The next one is written whatever became of those before.
func TestReportsAreTriedAgain(t *testing.T) {
	away := im.Errorf(im.CodeUnavailable, "away")
	for _, c := range []struct {
		what  string
		fail  []error
		kept  int
		lost  bool
		tries int
	}{
		{"at once", nil, 2, false, 2},
		{"away for a while", []error{away, away, away}, 2, false, 5},
		{"away for good", []error{away, away, away, away, away}, 1, true, 6},
		{"too many of one author", []error{im.Errorf(im.CodeRateLimited, "many")}, 1, false, 2},
		{"an author who is gone", []error{im.Errorf(im.CodeNotFound, "gone")}, 1, false, 2},
		{"refused", []error{im.Errorf(im.CodeInvalidArgument, "odd")}, 1, true, 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &queue{fail: c.fail}
				var log strings.Builder
				s := New(Options{List: serverlist.Options{Store: noList{}}, Reports: q, Random: rand.Reader, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				rule := word("bad")
				for seq := range uint64(2) {
					s.Report(im.Entry{Conversation: "grp:g", Seq: seq + 1, Kind: im.EntryMessage, Sender: "eve", Body: body(said("bad"))}, &rule)
				}
				time.Sleep(time.Minute)
				s.Close()
				if len(q.kept) != c.kept || q.kept[len(q.kept)-1].Seq != 2 || len(q.at) != c.tries {
					t.Errorf("%d tries, kept: %+v", len(q.at), q.kept)
				}
				if lost := strings.Contains(log.String(), "was not reported"); lost != c.lost {
					t.Errorf("told as lost: %v: %s", lost, log.String())
				}
				if c.tries > 4 && (q.at[1].Sub(q.at[0]) != time.Second || q.at[2].Sub(q.at[1]) != 2*time.Second) {
					t.Errorf("tried at %v", q.at)
				}
			})
		})
	}
}

// TestReportsAreBounded: who writes is never held up. More reports than wait are lost, each with
// a line in the log, and Close writes those that do, also while a store is away.
func TestReportsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		var log strings.Builder
		s := New(Options{List: serverlist.Options{Store: noList{}}, Reports: q, Random: rand.Reader, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		rule := word("bad")
		report := func(seq uint64) {
			s.Report(im.Entry{Conversation: "grp:g", Seq: seq, Kind: im.EntryMessage, Sender: "eve", Body: body(said(fmt.Sprint("bad ", seq)))}, &rule)
		}
		for seq := range uint64(maxWaiting + 3) { // nobody writes yet
			report(seq + 1)
		}
		if n := strings.Count(log.String(), "one is lost"); n != 3 {
			t.Errorf("%d are told as lost", n)
		}
		q.fail = []error{im.Errorf(im.CodeUnavailable, "away")}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the first waits to be tried again
		s.Close()
		if len(q.kept) != maxWaiting {
			t.Errorf("%d of %d were written", len(q.kept), maxWaiting)
		}
	})
}

// Without random numbers there is no name for a report: it is told as lost.
func TestReportWithoutRandom(t *testing.T) {
	var log strings.Builder
	s := New(Options{Random: io.LimitReader(rand.Reader, 3), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	rule := word("bad")
	s.Report(im.Entry{Conversation: "grp:g", Seq: 1, Sender: "eve", Body: body(said("bad"))}, &rule)
	if len(s.reports) != 0 || !strings.Contains(log.String(), "was not reported") {
		t.Errorf("%d wait: %s", len(s.reports), log.String())
	}
}
