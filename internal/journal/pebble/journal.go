package pebble

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/damaged"
)

// How much is remembered in memory, in values at most.
const (
	cachedHeads   = 1 << 18
	cachedSenders = 1 << 17
	cachedMarks   = 1 << 17
)

// marksEvery is how long a mark waits in memory: marks move with every message,
// and only the last one of a while is worth a key. Receipts wait as long, and all
// that were written together are told together.
const marksEvery = 200 * time.Millisecond

// marksSoon is how long one waits that somebody is waiting for: what comes
// meanwhile shares the fsync.
const marksSoon = 5 * time.Millisecond

// Journal is the engine. It implements im.Journal.
type Journal struct {
	dir      string
	o        Options
	fs       vfs.FS
	lock     *pebble.Lock
	db       *pebble.DB
	timeline string
	secret   secret
	witness  *witness
	eras     eras
	ledger   *ledger
	damages  damaged.Known
	pair     im.Pair // guarded by pairMu
	pairMu   sync.Mutex
	space    *space
	pacer    *pacer
	metrics  *metrics
	failed   atomic.Pointer[error]

	life      sync.RWMutex
	closed    bool
	stopMarks chan struct{}
	marksDone chan struct{}
	dirtyMark chan struct{} // holds one: there are marks to write
	stopEras  chan struct{}
	erasDone  chan struct{}
	endEras   sync.Once
	soonMark  chan struct{} // holds one: somebody waits for some

	marksMu sync.Mutex
	current []im.Mark // of one SetMarks, under marksMu
	flushMu sync.Mutex

	trimMu sync.Mutex // held by a trim
	gone   gone

	appendMu sync.Mutex
	appender appender // the committer's own state

	// held are entries as they are durable, of which the store shows a later form that
	// is not yet; nil if there are none. Set and cleared by the committer.
	held atomic.Pointer[map[placeKey]*im.Entry]

	mu      sync.Mutex
	durable uint64 // position of the last durable append
	heads   cache.Cache[im.ConversationID, *conversation]
	marks   markTable
	tail    tail

	windows windows
}

var (
	_ im.Journal = (*Journal)(nil)
	_ im.Marks   = (*Journal)(nil)
)

// Open opens the journal in dir, making it if there is none. The errors an
// operator can do something about are *LockedError, *VersionError,
// *ShortenedError and *FilesError; with them, and with an error
// of Options.Check, every file is left as it was.
func Open(dir string, o Options) (*Journal, error) {
	o = o.withDefaults()
	j := &Journal{
		dir: dir, o: o,
		heads:     cache.New[im.ConversationID, *conversation](cachedHeads),
		stopMarks: make(chan struct{}), marksDone: make(chan struct{}), dirtyMark: make(chan struct{}, 1), soonMark: make(chan struct{}, 1),
		stopEras: make(chan struct{}), erasDone: make(chan struct{}),
	}
	j.marks.init()
	j.space = newSpace(&o, dir)
	j.pacer = &pacer{behind: j.behind}
	j.fs = pacedFS{vfs.OnDiskFull(o.FS, j.space.ranOut), j.pacer}
	j.metrics = newMetrics(j)
	if err := j.open(); err != nil {
		if j.db != nil {
			_ = j.db.Close()
		}
		_ = j.ledger.close()
		if j.lock != nil {
			_ = j.lock.Close()
		}
		return nil, err
	}
	j.pacer.start()
	j.metrics.register(o.Registerer)
	go j.writeMarks()
	go j.keepEras()
	j.gone.begin(j)
	return j, nil
}

// open does the fallible part of Open and leaves in j what has to be closed.
// Until begin, nothing is written.
func (j *Journal) open() error {
	path := j.fs.PathJoin(j.dir, "db")
	if _, err := j.fs.Stat(j.fs.PathJoin(path, "LOCK")); err == nil {
		if err := j.takeLock(path); err != nil {
			return err
		}
	}
	f, err := j.examine()
	if err != nil {
		return err
	}
	if f.loss == nil && j.o.Check != nil {
		f.loss = j.o.Check(f.pair)
	}
	if f.loss != nil && !j.o.AcceptLoss {
		return f.loss
	}
	return j.begin(path, f)
}

func (j *Journal) takeLock(path string) (err error) {
	if j.lock, err = pebble.LockDirectory(path, j.fs); err != nil {
		return &LockedError{Dir: j.dir, Cause: err}
	}
	return nil
}

// begin opens the store for writing, after it was examined.
func (j *Journal) begin(path string, f found) (err error) {
	if err := makeDir(j.fs, path); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, err)
	}
	if j.lock == nil {
		if err := j.takeLock(path); err != nil {
			return err
		}
	}
	if f.damaged || f.unreadable {
		keep := j.setAside
		if f.unreadable {
			keep = j.moveAside
		}
		to, err := keep()
		if err != nil {
			return fmt.Errorf("journal %s: keep what is there: %w", j.dir, err)
		}
		j.o.Logger.Warn("journal: the store's files as they were are kept until you remove them", "dir", to)
		f.ledger = nil
	}
	if f.ledger == nil {
		f.ledger = &ledger{fs: j.fs, dir: j.dir, path: j.fs.PathJoin(j.dir, ledgerName), changed: true, manifests: map[string]sealed{}, logs: map[string]bool{}}
	}
	j.ledger, f.ledger.fs = f.ledger, j.fs
	options := j.engineOptions()
	options.FS = ledgerFS{j.fs, j.ledger}
	if j.db, err = pebble.Open(path, options); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, explain(j.dir, err))
	}
	m, err := j.loadOrCreate()
	if err != nil {
		return err
	}
	if m, err = j.accept(m, &f); err != nil {
		return err
	}
	if j.gone.epochs, err = loadGone(j.db); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
	}
	if j.pair, err = loadPair(j.db); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
	}
	j.timeline, j.secret, j.durable = m.timeline, m.secret, m.last.pos
	j.appender.init(j, m)
	if err := j.appender.readBounds(); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, err)
	}
	if err := j.openEra(); err != nil {
		return err
	}
	if j.witness, err = openWitness(j.fs, j.fs.PathJoin(j.dir, witnessName), f.gen, m.last, j.fail); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, err)
	}
	return nil
}

func (j *Journal) loadOrCreate() (meta, error) {
	m, found, err := loadMeta(j.db)
	switch {
	case err != nil:
		err = fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
	case found:
		if m.schema == schemaVersion {
			break
		}
		if err = migrate(j.db, j.dir, m.schema, schemaVersion, migrations(), &j.o); err == nil {
			if m, _, err = loadMeta(j.db); err != nil {
				err = fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
			}
		}
	default:
		if m, err = create(j.db); err != nil {
			err = fmt.Errorf("journal %s: %w", j.dir, err)
		}
	}
	return m, err
}

// accept begins a new timeline when there was a loss, which is known to be
// accepted, but for that of a journal that was converted just now.
func (j *Journal) accept(m meta, f *found) (meta, error) {
	if f.loss == nil && f.meta.schema != m.schema {
		loss, err := j.compare(j.db, m, f)
		if err != nil {
			return m, err
		}
		if loss != nil && !j.o.AcceptLoss {
			return m, loss
		}
		f.loss = loss
	}
	if f.loss == nil && j.o.NewTimeline {
		m.timeline = newTimeline()
		b := j.db.NewBatch()
		defer b.Close()
		if err := store(b, m); err != nil {
			return m, fmt.Errorf("journal %s: %w", j.dir, err)
		}
	}
	if f.loss == nil {
		return m, nil
	}
	m.timeline = newTimeline()
	b := j.db.NewBatch()
	defer b.Close()
	if err := errors.Join(b.Set([]byte(keyPair), encodePair(f.pair.Again()), nil), store(b, m)); err != nil {
		return m, fmt.Errorf("journal %s: %w", j.dir, err)
	}
	if f.damaged {
		// A flush begins a manifest, which the ledger knows. Without one the store might go
		// on with the manifest that it was refused for, and be refused again.
		if err := j.db.Flush(); err != nil {
			return m, fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
		}
	}
	j.o.Logger.Warn("journal: the loss was accepted; clients will sync anew", "dir", j.dir, "loss", f.loss, "timeline", m.timeline)
	return m, nil
}

// enter starts a call; every call that got no error ends with j.life.RUnlock.
func (j *Journal) enter() error {
	j.life.RLock()
	if j.closed {
		j.life.RUnlock()
		return errClosed
	}
	return nil
}

// Timeline names this history.
func (j *Journal) Timeline() string { return j.timeline }

// Position returns the position of the last durable Append.
func (j *Journal) Position(context.Context) (im.Position, error) {
	if err := j.enter(); err != nil {
		return im.Position{}, err
	}
	defer j.life.RUnlock()
	return im.PositionAt(j.place()), nil
}

func (j *Journal) position() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

// behind reports that the store's background work does not keep up: what waits
// for it is half of what makes Append wait.
func (j *Journal) behind() bool {
	m := j.db.Metrics()
	return m.MemTable.Count > memTables/2+1 || m.Levels[0].Sublevels > l0Stop/2
}

// Close waits for running calls, writes marks and witness, and closes the store.
// After a failure it leaves the store as it is: locked, until the process ends.
func (j *Journal) Close() error {
	if err := j.failure(); err != nil {
		return err
	}
	// Before life is taken: unregistering asks the collectors, and they enter.
	if j.enter() == nil {
		j.life.RUnlock()
		j.metrics.unregister(j.o.Registerer)
	}
	j.endEras.Do(func() { close(j.stopEras) })
	<-j.erasDone
	j.gone.end()
	j.life.Lock()
	defer j.life.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	j.pacer.stop()
	close(j.stopMarks)
	<-j.marksDone
	err := j.flushMarks()
	j.appender.close()
	if j.failure() != nil {
		j.witness.abandon()
		return err
	}
	err = errors.Join(err, j.db.Close())
	return errors.Join(err, j.ledger.close(), j.witness.close(), j.lock.Close())
}
