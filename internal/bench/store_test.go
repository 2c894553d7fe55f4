package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// storeEngine opens real journals, with Append changed by wrap.
func storeEngine(wrap func(StoreJournal) StoreJournal) map[string]StoreEngine {
	return map[string]StoreEngine{"pebble": func(dir string) (StoreJournal, func() error, error) {
		j, err := pebble.Open(dir, pebble.Options{MinFree: -1})
		if err != nil {
			return nil, nil, err
		}
		return wrap(j), j.Close, nil
	}}
}

func honestJournal(j StoreJournal) StoreJournal { return j }

func smallStore(engines map[string]StoreEngine) StoreOptions {
	return StoreOptions{
		Engines: engines, Messages: 3000, Conversations: 40, Batches: []int{1, 64}, Resends: 0.2, Step: 20 * time.Millisecond, Rate: 5000,
	}
}

func TestStoreReport(t *testing.T) {
	o := smallStore(storeEngine(honestJournal))
	o.Dir = t.TempDir()
	r, err := Store(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost+r.Duplicated+r.Disordered != 0 {
		t.Errorf("lost %d, duplicated %d, disordered %d of an honest journal", r.Lost, r.Duplicated, r.Disordered)
	}
	stored := 0
	for _, p := range r.Preload {
		stored += p.Messages
	}
	if stored != o.Messages || len(r.Preload) != 10 {
		t.Errorf("%d messages stored in %d parts before the steps", stored, len(r.Preload))
	}
	if len(r.Steps) != 4 || len(r.Reads) != 2 || r.Paced == nil {
		t.Fatalf("%d steps, %d reads, paced %v", len(r.Steps), len(r.Reads), r.Paced)
	}
	for i, s := range r.Steps {
		if s.Batch != o.Batches[i/2] || s.Resends != []float64{0, 0.2}[i%2] {
			t.Errorf("step %d is of batch %d, resends %v", i, s.Batch, s.Resends)
		}
		if s.Messages <= 0 || s.Seconds <= 0 || s.PerS <= 0 || s.FloorPerS <= 0 || s.FloorRatio != s.PerS/s.FloorPerS {
			t.Errorf("step %d: %+v", i, s)
		}
		if s.Append.Count != uint64(s.Messages/s.Batch) || s.Fsyncs > int(s.Append.Count) || s.Resends == 0 && s.Fsyncs != int(s.Append.Count) {
			t.Errorf("step %d: %d appends, %d fsyncs of %d messages", i, s.Append.Count, s.Fsyncs, s.Messages)
		}
	}
	if p := r.Paced; p.Ack.Count != uint64(p.Messages) || p.Messages == 0 {
		t.Errorf("paced: %+v", p)
	}
	if r.BytesPerMessage < 100 || r.ReopenMs <= 0 || r.ReadyMs < r.ReopenMs || r.Machine.Cores == 0 || r.Machine.FsyncMicros <= 0 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "journal")); err != nil {
		t.Errorf("the journal was not left in the directory that was asked for: %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "floor")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file of the floor was left")
	}
	if _, err := Store(t.Context(), o); err == nil || !strings.Contains(err.Error(), o.Dir) {
		t.Errorf("a second run on top of the first: %v", err)
	}
	requireStoreJSON(t, r)
}

func requireStoreJSON(t *testing.T, r *StoreReport) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"scenario", "settings", "steps", "batch", "resends", "messages", "seconds", "per_s", "cpu_us_per_message", "fsyncs", "floor_per_s",
		"floor_cpu_us_per_message", "floor_ratio", "append_ms", "p50", "p99", "max", "reads", "us", "reopen_ms", "bytes_per_message",
		"lost", "duplicated", "disordered", "machine", "cores", "fsync_us",
	} {
		if !strings.Contains(string(raw), `"`+key+`":`) {
			t.Errorf("the report has no %q", key)
		}
	}
}

// The scenario on a PostgreSQL server: in a database of its own, which is gone
// afterwards, against a bare insert there.
func TestStorePostgres(t *testing.T) {
	o := smallStore(map[string]StoreEngine{"postgres": func(url string) (StoreJournal, func() error, error) {
		j, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			return nil, nil, err
		}
		return j, j.Close, nil
	}})
	o.Engine, o.Postgres = "postgres", pgtest.Database(t)
	r, err := Store(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost+r.Duplicated+r.Disordered != 0 {
		t.Errorf("lost %d, duplicated %d, disordered %d of an honest journal", r.Lost, r.Duplicated, r.Disordered)
	}
	for _, s := range r.Steps {
		if s.Messages <= 0 || s.FloorPerS <= 0 || s.FloorRatio != s.PerS/s.FloorPerS {
			t.Errorf("%+v", s)
		}
	}
	if r.BytesPerMessage <= 0 {
		t.Error("the journal takes no room")
	}
	c, err := pgx.Connect(t.Context(), o.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var left int
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE 'skein_bench_%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d databases are left, %v", left, err)
	}
	o.Postgres = ""
	if _, err := Store(t.Context(), o); err == nil || !strings.Contains(err.Error(), "postgres") {
		t.Errorf("without a server: %v", err)
	}
}

// dishonest is a journal whose Append is another.
type dishonest struct {
	StoreJournal
	append func(ctx context.Context, batch []im.Append, out []im.Appended) error
}

func (d dishonest) Append(ctx context.Context, batch []im.Append, out []im.Appended) error {
	return d.append(ctx, batch, out)
}

// TestStoreNotices: what a journal may do wrong is counted as what it is.
func TestStoreNotices(t *testing.T) {
	for name, test := range map[string]struct {
		wrap func(StoreJournal) StoreJournal
		seen func(r *StoreReport) uint64
	}{
		"an entry acknowledged and not stored": {losing, func(r *StoreReport) uint64 { return r.Lost }},
		"a new entry refused":                  {refusing, func(r *StoreReport) uint64 { return r.Lost }},
		"a resend stored again":                {forgetting, func(r *StoreReport) uint64 { return r.Duplicated }},
		"seqs exchanged":                       {exchanging, func(r *StoreReport) uint64 { return r.Disordered }},
		"another content":                      {garbling, func(r *StoreReport) uint64 { return r.Disordered }},
	} {
		t.Run(name, func(t *testing.T) {
			o := smallStore(storeEngine(test.wrap))
			o.Conversations, o.Rate = 4, 0
			r, err := Store(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if test.seen(r) == 0 {
				t.Errorf("not noticed: lost %d, duplicated %d, disordered %d", r.Lost, r.Duplicated, r.Disordered)
			}
		})
	}
}

// losing drops the last entry of a batch, once, and says it was stored.
func losing(j StoreJournal) StoreJournal {
	lost := false
	return dishonest{j, func(ctx context.Context, batch []im.Append, out []im.Appended) error {
		last := len(batch) - 1
		if last == 0 || lost {
			return j.Append(ctx, batch, out)
		}
		lost = true
		if err := j.Append(ctx, batch[:last], out[:last]); err != nil {
			return err
		}
		head := make([]im.Head, 1)
		if err := j.Heads(ctx, []im.ConversationID{batch[last].Entry.Conversation}, head); err != nil {
			return err
		}
		out[last] = im.Appended{Status: im.Stored, Seq: head[0].Seq + 1}
		return nil
	}}
}

func refusing(j StoreJournal) StoreJournal {
	return dishonest{j, func(ctx context.Context, batch []im.Append, out []im.Appended) error {
		err := j.Append(ctx, batch, out)
		out[0] = im.Appended{Status: im.RosterChanged}
		return err
	}}
}

// forgetting knows no id.
func forgetting(j StoreJournal) StoreJournal {
	n := byte(0)
	return dishonest{j, func(ctx context.Context, batch []im.Append, out []im.Appended) error {
		n++
		for i := range batch {
			batch[i].Entry.ID[15] ^= n
			batch[i].Entry.ID[14] ^= byte(i)
		}
		return j.Append(ctx, batch, out)
	}}
}

func exchanging(j StoreJournal) StoreJournal {
	return dishonest{j, func(ctx context.Context, batch []im.Append, out []im.Appended) error {
		err := j.Append(ctx, batch, out)
		if n := len(out) - 1; n > 0 {
			out[0].Seq, out[n].Seq = out[n].Seq, out[0].Seq
		}
		return err
	}}
}

func garbling(j StoreJournal) StoreJournal {
	return dishonest{j, func(ctx context.Context, batch []im.Append, out []im.Appended) error {
		for i := range batch {
			batch[i].Entry.Body = []byte("something else")
		}
		return j.Append(ctx, batch, out)
	}}
}

// TestStoreNoticesLossAtReopen: what is gone after a restart is counted.
func TestStoreNoticesLossAtReopen(t *testing.T) {
	o := smallStore(nil)
	opened := 0
	o.Engines = map[string]StoreEngine{"pebble": func(dir string) (StoreJournal, func() error, error) {
		opened++
		return storeEngine(honestJournal)["pebble"](filepath.Join(dir, string(rune('a'+opened))))
	}}
	r, err := Store(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost < uint64(o.Messages) {
		t.Errorf("a journal came back empty and %d messages count as lost", r.Lost)
	}
}

func TestStoreOptions(t *testing.T) {
	for want, change := range map[string]func(*StoreOptions){
		`engine "sqlite": want one of pebble`: func(o *StoreOptions) { o.Engine = "sqlite" },
		"messages":                            func(o *StoreOptions) { o.Messages = -1 },
		"conversations":                       func(o *StoreOptions) { o.Conversations = -1 },
		"payload":                             func(o *StoreOptions) { o.Payload = 1 << 20 },
		"batches":                             func(o *StoreOptions) { o.Batches = []int{0} },
		"resends":                             func(o *StoreOptions) { o.Resends = 1.5 },
		"rate":                                func(o *StoreOptions) { o.Rate = -1 },
	} {
		o := smallStore(storeEngine(honestJournal))
		change(&o)
		if _, err := Store(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
