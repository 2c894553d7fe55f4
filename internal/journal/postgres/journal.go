package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/damaged"
	"github.com/skein-im/skein/internal/pg"
	"github.com/skein-im/skein/internal/schema"
)

// minVersion is the oldest server that is supported.
const minVersion = 15_00_00

// Options change how a journal is opened. The zero value is for production.
type Options struct {
	// Logger gets what operators should know. Default slog.Default().
	Logger *slog.Logger
	// Registerer gets the metrics, if not nil, until Close.
	Registerer prometheus.Registerer
	// MaxConns is the most connections this process makes. Default 16, at least 2.
	MaxConns int
	// UserTimeout is how long sent data may stay unacknowledged before a
	// connection is given up. Default 10 s.
	UserTimeout time.Duration
	// WentBack is called when the database turns out to be another one, or an older
	// copy of the one that this journal was opened on: what was acknowledged may be
	// missing, and whatever was remembered of it does not count. It must not wait.
	WentBack func(why string)
	// NewEra is called when another era goes on than was known, after WentBack and
	// before anything is stored or told in it here. It must not wait.
	NewEra func()
	// Now is for measuring and for the age of what is remembered; entries get the
	// database's time. Default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	o.MaxConns = max(o.MaxConns, 2)
	if o.UserTimeout == 0 {
		o.UserTimeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Journal is the engine. It implements im.Journal.
type Journal struct {
	o         Options
	metrics   *metrics
	writers   *pgxpool.Pool // of appends and marks, so that no read keeps them waiting
	readers   *pgxpool.Pool
	primaries pg.Primaries
	timeline  atomic.Pointer[string]
	requests  requests
	looks     atomic.Int32 // batches that ids are still looked up for
	known     known
	marks     marks
	locked    locked
	stalled   stalled
	held      held
	jams      map[string]*jam // by statement
	damages   damaged.Known
	// marksLocked counts the marks that the last write left out.
	marksLocked atomic.Int64
	history     history
	stretch     stretch
	// oldPositions: the index of positions is to be exchanged by the first trim, on a
	// connection made by alone.
	oldPositions atomic.Bool
	alone        *pgx.ConnConfig
	// version is the range that the database was last seen to have; shut is set when
	// it shuts this program out.
	version atomic.Pointer[schema.Range]
	shut    atomic.Pointer[schema.NewerError]

	life      sync.RWMutex
	closed    bool
	stopMarks chan struct{}
	marksDone chan struct{}
	flushMu   sync.Mutex
	writing   sync.WaitGroup // of how far positions may be told, and who looks what holds them, or is locked
	// watching is the life of who looks for what others hold: until Close.
	watching     context.Context
	stopWatching context.CancelFunc
}

// Open opens the journal in the database with this URL, and makes its tables if
// there are none; those of an older version it rewrites, which takes as long as
// reading and writing all of them does, and twice their room. Errors an operator can
// do something about are *schema.NewerError, *schema.InUseError, *SettingError and
// *UnfinishedError; im.ErrJournalUnavailable: the database cannot be reached.
func Open(ctx context.Context, url string, o Options) (*Journal, error) {
	j := &Journal{o: o.withDefaults(), stopMarks: make(chan struct{}), marksDone: make(chan struct{})}
	j.watching, j.stopWatching = context.WithCancel(context.Background())
	j.known.init()
	j.marks.init()
	j.locked.init()
	j.jams = map[string]*jam{}
	for name := range statements() {
		j.jams[name] = &jam{}
	}
	j.metrics = newMetrics(j)
	conns := int32(j.o.MaxConns)
	// One appends, one writes marks, one feels the pulse, one looks at what is locked.
	writing := min(max(conns/4, 4), conns-1)
	config, err := j.poolConfig(url, writing)
	if err != nil {
		return nil, err
	}
	j.alone = config.ConnConfig.Copy()
	if err := j.begin(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	config.BeforeConnect = neverCancelled
	if j.writers, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if config, err = j.poolConfig(url, conns-writing); err == nil {
		j.readers, err = pgxpool.NewWithConfig(ctx, config)
	}
	if err != nil {
		j.writers.Close()
		return nil, err
	}
	j.metrics.register(j.o.Registerer)
	go j.writeMarks()
	j.writing.Go(func() { j.watchHeld(j.watching) })
	return j, nil
}

// begin makes or checks the tables, and adopts the server.
func (j *Journal) begin(ctx context.Context, config *pgx.ConnConfig) error {
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if err := c.PgConn().Exec(ctx, patient).Close(); err != nil {
		return opening(ctx, err)
	}
	if err := session(ctx, c); err != nil {
		return opening(ctx, err)
	}
	if err := finished(ctx, c); err != nil {
		return opening(ctx, err)
	}
	if err := migrations().migrate(ctx, c, steps().Start(), j.o.Logger); err != nil {
		return opening(ctx, err)
	}
	if err := j.adopt(ctx, c); err != nil {
		return opening(ctx, err)
	}
	positions, err := kindOf(ctx, c, positionsIndex)
	j.oldPositions.Store(!positions.good())
	return opening(ctx, err)
}

// opening tells what an operator can do something about from a database that
// went away.
func opening(ctx context.Context, err error) error {
	var answer *pgconn.PgError
	var newer *schema.NewerError
	var inUse *schema.InUseError
	var setting *SettingError
	var unfinished *UnfinishedError
	if err == nil || errors.As(err, &newer) || errors.As(err, &inUse) || errors.As(err, &setting) || errors.As(err, &unfinished) || errors.As(err, &answer) && answer.SeverityUnlocalized == "ERROR" {
		return err
	}
	return unreachable(ctx, err)
}

// enter starts a call; every call that got no error ends with j.life.RUnlock.
func (j *Journal) enter() error {
	j.life.RLock()
	err := j.shutOut()
	if j.closed {
		err = errClosed
	}
	if err != nil {
		j.life.RUnlock()
	}
	return err
}

// Timeline names this history, as of the last look at the database: every new
// connection and every Position is one.
func (j *Journal) Timeline() string { return *j.timeline.Load() }

// noteTimeline keeps the timeline; what is remembered of another one is void.
func (j *Journal) noteTimeline(name string) {
	if old := j.timeline.Swap(&name); old != nil && *old != name {
		j.history.clear()
		j.forget()
		tellDropped(j.marks.drop())
		j.wentBack("another timeline: " + name)
	}
}

// timelineLock is the advisory lock of who decides whether a timeline is begun;
// timelinePatience is for how long another one's decision is waited for.
const (
	timelineLock     = 7205416024
	timelinePatience = 30 * time.Second
)

// BeginTimeline has the history go on under another timeline, in this process and, as
// soon as it asks the database again, in every other: something that was acknowledged
// is not there any more, and clients are to notice.
//
// Of those who call it at once one decides after the other, in all processes: begin is
// told the timeline of now and the name that the next one would have, and tells whether
// it is begun, having noted that it is. Who finds it begun goes on with the timeline of
// now. begin may read the journal.
func (j *Journal) BeginTimeline(ctx context.Context, begin func(ctx context.Context, now, next string) (bool, error)) (begun bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*timelinePatience)
	defer cancel()
	var name string
	err = pgx.BeginFunc(ctx, j.writers, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %[1]d; SET LOCAL statement_timeout = %[1]d; SET LOCAL idle_in_transaction_session_timeout = %[1]d",
			timelinePatience.Milliseconds()), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(timelineLock)); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT timeline FROM journal_meta").Scan(&name); err != nil {
			return err
		}
		next := newTimeline()
		if begun, err = begin(ctx, name, next); err != nil || !begun {
			return err
		}
		// Taken after begin, whose reads may need it: a new connection adopts the journal.
		if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", advisoryLock)); err != nil {
			return err
		}
		name = next
		_, err := tx.Exec(ctx, "UPDATE journal_meta SET timeline = $1", name)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("begin a new timeline: %w", reading(err))
	}
	j.noteTimeline(name)
	return begun, nil
}

func (j *Journal) forget() {
	j.known.forget()
	j.marks.forget()
}

// Position returns the position below which nothing can be stored any more.
func (j *Journal) Position(ctx context.Context) (im.Position, error) {
	at, err := j.position(ctx, j.readers)
	if err != nil {
		return im.Position{}, err
	}
	return im.PositionAt(at), nil
}

// Pulse is Position's place by the way that appends take: it tells whether they get
// through, however many reads are waiting.
func (j *Journal) Pulse(ctx context.Context) (im.Place, error) { return j.position(ctx, j.writers) }

// Empty tells that nothing was ever stored.
func (j *Journal) Empty(ctx context.Context) (empty bool, err error) {
	if err := j.enter(); err != nil {
		return false, err
	}
	defer j.life.RUnlock()
	err = j.readers.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM journal_heads)").Scan(&empty)
	return empty, err
}

// Ping asks the database for an answer.
func (j *Journal) Ping(ctx context.Context) error {
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	return j.query(ctx, stmtPing, nil, func([][]byte) error { return nil })
}

// Close waits for running calls, writes the marks and closes the connections.
func (j *Journal) Close() error {
	j.life.Lock()
	defer j.life.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	close(j.stopMarks)
	j.stopWatching()
	<-j.marksDone
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := j.flushMarks(ctx)
	j.metrics.unregister(j.o.Registerer)
	j.writing.Wait()
	j.writers.Close()
	j.readers.Close()
	return err
}

// closeTimeout bounds how long Close tries to write marks.
const closeTimeout = 5 * time.Second
