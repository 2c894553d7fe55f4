package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// RetentionReport is what it takes when messages leave that are not to be kept any more.
type RetentionReport struct {
	Messages uint64 `json:"messages"` // stored when the first left
	Left     uint64 `json:"left"`
	// Seconds are from the moment in which the first were too old until the store had given
	// up the last, of which WaitSeconds are what every node is given to take note.
	Seconds     float64 `json:"seconds"`
	WaitSeconds float64 `json:"wait_s"`
	PerSecond   float64 `json:"per_s"` // of the time without the wait
	// Bytes are of the journal: before, when the last was given up, and settled: after the
	// store has cleaned up behind itself, at most Settle later.
	BytesBefore  int64 `json:"bytes_before"`
	BytesAfter   int64 `json:"bytes_after"`
	BytesSettled int64 `json:"bytes_settled"`
	// Acks at the rate, before and meanwhile.
	Before   Latency `json:"before_ms"`
	During   Latency `json:"during_ms"`
	P50Ratio float64 `json:"p50_ratio"`
	P99Ratio float64 `json:"p99_ratio"`
	// Rewrite is what it took to have the store written anew, if it was.
	Rewrite *RewriteReport `json:"rewrite,omitempty"`
}

// RewriteReport is what it takes to have a store written anew beside the rate of before,
// for the room of what was given up.
type RewriteReport struct {
	Seconds     float64 `json:"seconds"`
	BytesBefore int64   `json:"bytes_before"`
	BytesAfter  int64   `json:"bytes_after"`
	During      Latency `json:"during_ms"`
	P50Ratio    float64 `json:"p50_ratio"` // of the acks before anything left
	P99Ratio    float64 `json:"p99_ratio"`
}

// RetentionSteps are what the one who measures does to the server.
type RetentionSteps struct {
	// Move sets its clock on.
	Move func(*Server, time.Duration) error
	// Rewrite, if there is one, has its store written anew, while messages are sent.
	Rewrite func(context.Context, *Server) error
	// Settle is how long the store may take to clean up behind itself.
	Settle time.Duration
}

// How long messages are kept, how much older the first are than the others, and by how
// much the clock is moved so that they leave.
const (
	retentionKeep  = 24 * time.Hour
	retentionOlder = 20 * time.Hour
	retentionMove  = 5 * time.Hour
)

// Retention stores messages, the first of them hours before the others by a clock that
// is set on, has these leave while further ones are sent at o.Rate, and looks what the
// store gives back.
func Retention(ctx context.Context, o Options, stored, leave int, do RetentionSteps, start Starter) (*Report, error) {
	o.Scenario, o.Friends, o.Corpus = ScenarioRetention, 15, true
	o.Connections &^= 15
	if o.Connections < 16 || o.Rate <= 0 || leave < 1000 || stored < leave {
		return nil, errors.New("retention needs 16 users, a rate, 1,000 messages that leave, and as many in all")
	}
	with := func(ctx context.Context, set ...string) (*Server, error) {
		return start(ctx, append(set, fmt.Sprintf("messaging.retention=%v", retentionKeep))...)
	}
	return withServer(ctx, &o, with, func(r *run) error {
		users, err := r.s.register(ctx, r.o, r.o.Connections)
		if err != nil {
			return err
		}
		if err := r.connect(ctx, users, nil, nil); err != nil {
			return err
		}
		x := &RetentionReport{}
		r.r.Retention = x
		if x.Left, err = r.fill(ctx, uint64(leave)); err != nil {
			return err
		}
		if err := r.offer(ctx, 0.001, time.Second); err != nil {
			return err
		}
		if err := do.Move(r.s, retentionOlder); err != nil {
			return err
		}
		if x.Messages, err = r.fill(ctx, uint64(stored)); err != nil {
			return err
		}
		return r.retain(ctx, x, do)
	})
}

// retain measures while the first messages leave.
func (r *run) retain(ctx context.Context, x *RetentionReport, do RetentionSteps) error {
	before, after, err := r.phase(ctx, fmt.Sprintf("%g msg/s", r.o.Rate), r.o.Rate, r.o.Warmup, r.o.Duration)
	if err != nil {
		return err
	}
	x.Before = between(before, after)
	if x.BytesBefore, err = r.s.journalBytes(ctx); err != nil {
		return err
	}
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	if err := do.Move(r.s, retentionMove); err != nil {
		return err
	}
	if err := r.givenUp(ctx, x); err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	if x.BytesAfter, err = r.s.journalBytes(ctx); err != nil {
		return err
	}
	meanwhile, err := r.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	x.During = between(after, meanwhile)
	x.P50Ratio, x.P99Ratio = x.During.P50/x.Before.P50, x.During.P99/x.Before.P99
	r.measured(from, to, after, meanwhile)
	if do.Rewrite != nil {
		if err := r.rewrite(ctx, x, meanwhile, do.Rewrite); err != nil {
			return err
		}
	}
	if _, err := r.totals(ctx, command{Do: doRest}); err != nil {
		return err
	}
	if err := r.account(ctx); err != nil {
		return err
	}
	return r.settle(ctx, x, do.Settle)
}

// givenUp waits until the store has given up what is too old.
func (r *run) givenUp(ctx context.Context, x *RetentionReport) (err error) {
	r.o.progress("the first are too old")
	began, first, gone := time.Now(), time.Time{}, 0.0
	for told := time.Now(); gone < float64(x.Left); {
		if gone, err = r.s.gauge("skein_messaging_given_up_total"); err != nil {
			return err
		}
		if gone > 0 && first.IsZero() {
			first = time.Now()
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			r.o.progress("  %.0f of %d", gone, x.Left)
		}
		if err := r.wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	x.Seconds, x.WaitSeconds = time.Since(began).Seconds(), first.Sub(began).Seconds()
	x.PerSecond = float64(x.Left) / max(x.Seconds-x.WaitSeconds, 1e-3)
	return nil
}

// rewrite has the store written anew while messages are sent; before is what was
// counted until then.
func (r *run) rewrite(ctx context.Context, x *RetentionReport, before *stats, anew func(context.Context, *Server) error) (err error) {
	w := &RewriteReport{BytesBefore: x.BytesAfter}
	x.Rewrite = w
	r.o.progress("the store is written anew")
	began := time.Now()
	if err := anew(ctx, r.s); err != nil {
		return err
	}
	w.Seconds = time.Since(began).Seconds()
	if w.BytesAfter, err = r.s.journalBytes(ctx); err != nil {
		return err
	}
	after, err := r.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	w.During = between(before, after)
	w.P50Ratio, w.P99Ratio = w.During.P50/x.Before.P50, w.During.P99/x.Before.P99
	return nil
}

// settle waits until the store takes no less room any more.
func (r *run) settle(ctx context.Context, x *RetentionReport, most time.Duration) error {
	r.o.progress("the store cleans up")
	x.BytesSettled = x.BytesAfter
	for end, same := time.Now().Add(most), 0; time.Now().Before(end) && same < 10; {
		if err := r.wait(ctx, time.Second); err != nil {
			return err
		}
		now, err := r.s.journalBytes(ctx)
		if err != nil {
			return err
		}
		if same++; now < x.BytesSettled {
			x.BytesSettled, same = now, 0
		}
	}
	return nil
}

// journalBytes is what the journal takes on disk: of a database its tables with their
// indexes, without what search keeps beside them.
func (s *Server) journalBytes(ctx context.Context) (n int64, err error) {
	if s.database != nil {
		c, err := pgx.Connect(ctx, s.database.url)
		if err != nil {
			return 0, err
		}
		err = c.QueryRow(ctx, `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND relname LIKE 'journal\_%'`).Scan(&n)
		return n, errors.Join(err, c.Close(ctx))
	}
	err = filepath.WalkDir(filepath.Join(s.data, "journal"), func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		if i, err := d.Info(); err == nil {
			n += i.Size()
		}
		return nil
	})
	return n, err
}

// DatabaseURL is where the database is that was made for the server, "" with the embedded
// store.
func (s *Server) DatabaseURL() string {
	if s.database == nil {
		return ""
	}
	return s.database.url
}

// retained writes what was found.
func (r *Report) retained(line func(name, format string, args ...any)) {
	x := r.Retention
	if x == nil {
		return
	}
	line("left", "%10d of %d messages in %.1f s, %.1f of them until every node knew; %.0f a second", x.Left, x.Messages, x.Seconds, x.WaitSeconds, x.PerSecond)
	line("journal on disk", "%10.1f MB before, %.1f when the last was given up, %.1f settled: %.2f", float64(x.BytesBefore)/1e6, float64(x.BytesAfter)/1e6, float64(x.BytesSettled)/1e6, float64(x.BytesSettled)/float64(max(x.BytesBefore, 1)))
	line("acks meanwhile", "%10.2f / %.2f ms p50/p99, before %.2f / %.2f: %.2f and %.2f of that", x.During.P50, x.During.P99, x.Before.P50, x.Before.P99, x.P50Ratio, x.P99Ratio)
	if w := x.Rewrite; w != nil {
		line("written anew", "%10.1f s, %.1f MB before and %.1f after: %.2f; acks meanwhile %.2f / %.2f ms: %.2f and %.2f of those before", w.Seconds, float64(w.BytesBefore)/1e6, float64(w.BytesAfter)/1e6, float64(w.BytesAfter)/float64(max(w.BytesBefore, 1)), w.During.P50, w.During.P99, w.P50Ratio, w.P99Ratio)
	}
}
