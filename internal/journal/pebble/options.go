package pebble

import (
	"log/slog"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// Options change how a journal is opened. The zero value is for production.
type Options struct {
	// AcceptLoss opens a journal that lost acknowledged entries, under a new
	// timeline. It changes nothing when nothing was lost.
	AcceptLoss bool
	// NewTimeline begins another timeline: what is opened is a copy of some time, and
	// what came after it in the original is not in it. Clients sync anew.
	NewTimeline bool
	// Check compares what the journal knows of its pair (im.Pair) with the other
	// store, before anything is written. Its error refuses the start, or is the loss
	// that AcceptLoss accepts. It is asked for a new journal, too.
	Check func(im.Pair) error
	// MinFree is how many bytes of the disk stay free: below, Append answers
	// im.ErrJournalFull. Default 64 MiB; negative turns the check off.
	MinFree int64
	// Logger gets what operators should know. Default slog.Default().
	Logger *slog.Logger
	// OnFatal is called once when durability is lost: a commit or an fsync
	// failed. The process must end: Pebble may hold locks for ever afterwards.
	// Default: log and exit with status 1. When it returns, Append answers
	// im.ErrJournalFailed from then on, and the directory stays locked.
	OnFatal func(error)
	// FS is for tests. Default the operating system's.
	FS vfs.FS
	// Now gives the entries their time. Default time.Now.
	Now func() time.Time
	// CacheBytes bounds the memory for blocks read from disk. Default 64 MiB.
	CacheBytes int64
	// Registerer gets the metrics, if not nil, until Close.
	Registerer prometheus.Registerer

	epochBytes   uint64 // for tests, as are the next ones
	migrateBytes int
	windowBytes  int
	migrateWrote func(*pebble.DB)
}

const (
	defaultMinFree    = 64 << 20
	defaultCacheBytes = 64 << 20
	// memTableBytes is small: a skip list costs more the larger it is, a restart
	// reads the log of one or two, and as many files of the log lie ready for reuse
	// as there may be tables waiting.
	memTableBytes = 16 << 20
	// memTables is how many may wait to be written to disk before Append waits.
	memTables = 4
	// l0Stop is how many flushes may wait to be merged before Append waits.
	l0Stop = 96
)

func (o Options) withDefaults() Options {
	if o.MinFree == 0 {
		o.MinFree = defaultMinFree
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnFatal == nil {
		o.OnFatal = func(error) { os.Exit(1) }
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.epochBytes == 0 {
		o.epochBytes = epochBytes
	}
	if o.migrateBytes == 0 {
		o.migrateBytes = migrateBytes
	}
	if o.windowBytes == 0 {
		o.windowBytes = windowBytes
	}
	return o
}

// engineOptions are Pebble's options: a steady load of small, mostly new keys,
// each batch synced by us.
func (j *Journal) engineOptions() *pebble.Options {
	o := &pebble.Options{
		FS:     j.fs,
		Lock:   j.lock,
		Logger: engineLogger{j},
		// Tables in memory are counted as cache, and must not use it up.
		CacheSize:                   j.o.CacheBytes + (memTables+1)*memTableBytes,
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: memTables,
		// Twelve flushes at a time (the threshold counts half): entries of all
		// conversations lie in each, so merging fewer would write the newest epoch more
		// often. Older epochs are not touched by that, so levels between are needed for
		// the small spaces only, once they are large.
		L0CompactionThreshold:      24,
		L0CompactionFileThreshold:  l0Stop,
		L0StopWritesThreshold:      l0Stop,
		LBaseMaxBytes:              1 << 30,
		MaxOpenFiles:               1000,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, 2 },
		// Commits are synced one by one; syncing a part of the log in between would
		// only add waits.
		WALBytesPerSync: 0,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) {
				j.o.Logger.Error("journal: background work failed; it is tried again", "dir", j.dir, "err", j.explain(err))
			},
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				j.o.Logger.Error("journal: a stored file is damaged; restore it from a backup", "file", info.Path, "err", info.Details)
			},
			WriteStallBegin: func(info pebble.WriteStallBeginInfo) { j.metrics.stalled(info.Reason) },
		},
	}
	o.TargetFileSizes[0] = 16 << 20
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = 16 << 10
		l.IndexBlockSize = 128 << 10
		// Looking up an id that was never stored must not read a block per level.
		l.FilterPolicy = bloom.FilterPolicy(10)
	}
	// What is flushed is merged soon; compressing it twice costs more than it saves.
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	o.Levels[1].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	return o
}
