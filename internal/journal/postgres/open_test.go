package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// Processes that start together on an empty database make one journal.
func TestStartTogether(t *testing.T) {
	url := pgtest.Database(t)
	const processes = 8
	var wg sync.WaitGroup
	js := make([]*Journal, processes)
	for i := range js {
		wg.Go(func() {
			var err error
			if js[i], err = Open(context.WithoutCancel(t.Context()), url, Options{Logger: quiet(), MaxConns: 2}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, j := range js {
		if j == nil {
			continue
		}
		if j.Timeline() != js[0].Timeline() {
			t.Errorf("timelines %q and %q", j.Timeline(), js[0].Timeline())
		}
		store(t, j, message("grp:g", "a", i+1))
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	url := pgtest.Database(t)
	ctx := t.Context()
	if _, err := Open(ctx, "postgres://skein@127.0.0.1:1/x", Options{}); !errors.Is(err, im.ErrJournalUnavailable) {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := Open(ctx, "postgres://%", Options{}); err == nil {
		t.Error("a URL that is none was accepted")
	}
	j := open(t, url)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// Whatever the server's and the user's settings say, acknowledged means durable.
func TestSettingsOfOthers(t *testing.T) {
	url := pgtest.Database(t)
	name := url[strings.LastIndexByte(url, '/')+1:]
	for _, setting := range []string{"synchronous_commit = off", "default_transaction_isolation = serializable", "statement_timeout = 1"} {
		pgtest.Exec(t, url, "ALTER DATABASE "+name+" SET "+setting)
	}
	j := open(t, url)
	defer j.Close()
	store(t, j, message("grp:g", "a", 1))
	for _, p := range []string{"synchronous_commit = on", "default_transaction_isolation = read committed", "statement_timeout = 10s", "lock_timeout = 1s"} {
		setting, want, _ := strings.Cut(p, " = ")
		c, err := j.acquire(t.Context(), j.writers)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		err = c.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got)
		c.Release()
		if err != nil || got != want {
			t.Errorf("%s is %q, want %q, %v", setting, got, want, err)
		}
	}
	x, err := Examine(t.Context(), url, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if level, reasons := x.Durability(); level != SurvivesPowerCut {
		t.Errorf("level %s, %v", level, reasons)
	}
	if !x.Fsync || !x.FullPageWrites || !x.Checksums || !x.Autovacuum || x.Commit != "on" || x.StandbyNames != "" || x.MaxConnections == 0 || x.VersionNumber < minVersion {
		t.Errorf("%+v", x)
	}
}

// When the server is not the one that was noted, no position is used twice, and
// the timeline changes exactly when something acknowledged may be lost.
func TestServerBeginsAnew(t *testing.T) {
	for name, tt := range map[string]struct {
		change string
		lost   bool
	}{
		"restarted in order":                        {"SELECT 1", false},
		"crashed":                                   {"TRUNCATE journal_alive", false},
		"crashed without fsync":                     {"TRUNCATE journal_alive; UPDATE journal_meta SET level = 0", true},
		"another server took over":                  {"TRUNCATE journal_alive; UPDATE journal_meta SET wal = '000000AA'", true},
		"a synchronous standby took over":           {"TRUNCATE journal_alive; UPDATE journal_meta SET wal = '000000AA', level = 2", false},
		"a dump was restored":                       {"UPDATE journal_meta SET identity = '1/2/3'", true},
		"a dump of one with a standby was restored": {"UPDATE journal_meta SET identity = '1/2/3', level = 2", true},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			other := open(t, url)
			defer other.Close()
			j := open(t, url)
			timeline := j.Timeline()
			store(t, j, message("grp:g", "a", 1))
			at, err := j.told(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			before := at.Pos
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			pgtest.Exec(t, url, tt.change)
			j = open(t, url)
			defer j.Close()
			if got := j.Timeline(); (got != timeline) != tt.lost {
				t.Errorf("the timeline %q became %q, want a new one: %v", timeline, got, tt.lost)
			}
			out := store(t, j, message("grp:g", "a", 2))
			if out[0].Pos <= before || out[0].Seq != 2 {
				t.Errorf("%+v, the position was %d", out[0], before)
			}
			if anew := out[0].Pos-before > 1<<31; anew != (name != "restarted in order") {
				t.Errorf("from position %d to %d", before, out[0].Pos)
			}
			// Who was connected all the time hears of it.
			if _, err := other.told(t.Context()); err != nil || other.Timeline() != j.Timeline() {
				t.Errorf("timelines %q and %q, %v", other.Timeline(), j.Timeline(), err)
			}
		})
	}
}

// A connection that finds the server anew adopts it in the middle of its work.
func TestAdoptedWhileConnected(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	first := store(t, j, message("grp:g", "a", 1))[0]
	for n, work := range []func() uint64{
		func() uint64 { return store(t, j, message("grp:g", "a", 2))[0].Pos },
		func() uint64 {
			pos, err := j.told(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return pos.Pos
		},
		func() uint64 {
			if err := j.SetMarks(t.Context(), []im.Mark{{User: "u", Conversation: "grp:g", Read: 1}}, im.MarkWait{}); err != nil {
				t.Fatal(err)
			}
			for j.flushMarks(t.Context()) != nil {
				t.Log("written in the next turn")
			}
			marks, err := j.UserMarks(t.Context(), "u")
			if err != nil || len(marks) != 1 {
				t.Fatal(marks, err)
			}
			return marks[0].Pos
		},
	} {
		pgtest.Exec(t, url, "TRUNCATE journal_alive")
		if pos, want := work(), first.Pos+uint64(n+1)<<32; pos < want || pos > want+1<<31 {
			t.Errorf("%d: position %d, want a little more than %d", n, pos, want)
		}
	}
}

// What is known of heads was seen by this process, and costs no question.
func TestKnown(t *testing.T) {
	url := pgtest.Database(t)
	a, b := open(t, url), open(t, url)
	defer a.Close()
	defer b.Close()
	c := im.Group("g")
	still := time.Duration(0)
	a.o.Now = func() time.Time { return time.Now().Add(still) }
	if h, ok := a.Known(c); ok {
		t.Fatalf("%+v", h)
	}
	known := func(j *Journal, seq uint64) {
		t.Helper()
		h, ok := j.Known(c)
		heads := make([]im.Head, 1)
		if !ok || h.Seq != seq {
			t.Fatalf("%+v, %v, want seq %d", h, ok, seq)
		}
		if err := j.Heads(t.Context(), []im.ConversationID{c}, heads); err != nil || heads[0].Seq == seq && heads[0] != h {
			t.Fatalf("%+v is known, the head is %+v, %v", h, heads[0], err)
		}
	}
	store(t, a, message(c, "a", 1), message(c, "a", 2))
	known(a, 2)
	store(t, b, message(c, "a", 3))
	known(b, 3)
	if h, _ := a.Known(c); h.Seq != 3 { // a asked for the head, in known
		if err := a.Heads(t.Context(), []im.ConversationID{c}, make([]im.Head, 1)); err != nil {
			t.Fatal(err)
		}
	}
	known(a, 3)
	item := message(c, "a", 4)
	item.IfRoster = 9
	store(t, a, item)
	known(a, 3)
	item.IfRoster, item.SetRoster = 0, 9
	store(t, a, item)
	known(a, 4)
	if h, _ := a.Known(c); h.Roster != 9 {
		t.Errorf("%+v", h)
	}
	// A process that stood still knows nothing of what others did meanwhile. It once
	// told receivers of a mark that was long past.
	still = knownFor + time.Second
	if h, ok := a.Known(c); ok {
		t.Errorf("%+v is known after standing still", h)
	}
}

// Every figure is shown, and none after Close.
func TestMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	j, err := Open(t.Context(), pgtest.Database(t), Options{Logger: quiet(), Registerer: r})
	if err != nil {
		t.Fatal(err)
	}
	store(t, j, message("grp:g", "a", 1), message("grp:g", "a", 2), message("grp:g", "a", 1))
	got := map[string]float64{}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += "/" + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	for name, want := range map[string]float64{"appends_total/stored": 2, "appends_total/duplicate": 1, "batch_entries": 2, "marks_waiting": 0, "append_retries_total": 0} {
		if v, ok := got["skein_journal_"+name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	for _, name := range []string{"commit_duration_seconds", "append_duration_seconds", "connections"} {
		if got["skein_journal_"+name] <= 0 {
			t.Errorf("%s is %v", name, got["skein_journal_"+name])
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if families, err := r.Gather(); err != nil || len(families) > 0 {
		t.Errorf("%d families after Close, %v", len(families), err)
	}
	if err := j.Append(t.Context(), []im.Append{message("grp:g", "a", 3)}, make([]im.Appended, 1)); err == nil {
		t.Error("appended after Close")
	}
}
