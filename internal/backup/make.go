package backup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/skein-im/skein/internal/media/blob"
)

// chunkBytes is how much of a file is one value. Parts of the directory's file
// that did not change are found again by it.
const chunkBytes = 4 << 20

// Options of a backup.
type Options struct {
	// Server is the program's version, for the manifest.
	Server string
	// BytesPerSecond bounds reading and writing, so that a server on the same disk
	// is not held up. 0: no bound.
	BytesPerSecond int64
	// Progress is told what is going on. May be nil.
	Progress func(Progress)
	// Media opens where the blobs are of the store in a data directory; it returns nil where
	// none are kept. A snapshot's are those of the server. Default: in the directory itself.
	Media func(data string) (blob.Store, error)
	// Apart is a directory below the data directory that has them instead of `media`: no
	// file of the backup. With slashes.
	Apart string
	// Now is for the id. Default time.Now.
	Now func() time.Time
}

// Progress is how far it got.
type Progress struct {
	// What is being done: `reading` the source, `copying`, `copying media`, `verifying`,
	// `restoring`, `restoring media`, `comparing`.
	What string
	// Done of Total bytes, which is 0 when it is not known.
	Done, Total int64
}

// Summary is what a backup cost.
type Summary struct {
	ID       string   `json:"id"`
	Contents Contents `json:"contents"`
	Files    int      `json:"files"`
	Bytes    int64    `json:"bytes"`
	// NewBytes were not in the repository before.
	NewBytes      int64        `json:"new_bytes"`
	ReadSeconds   float64      `json:"read_seconds"`
	CopySeconds   float64      `json:"copy_seconds"`
	VerifySeconds float64      `json:"verify_seconds"`
	Media         MediaSummary `json:"media"`
}

// maker is one backup, or one restore.
type maker struct {
	r     Repository
	o     Options
	limit *rate.Limiter
	buf   []byte
	have  map[string]int64 // the chunks of the repository, and their sizes
}

func newMaker(r Repository, o Options) *maker {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	m := &maker{r: r, o: o, limit: rate.NewLimiter(rate.Inf, chunkBytes), buf: make([]byte, chunkBytes)}
	if o.BytesPerSecond > 0 {
		m.limit.SetLimit(rate.Limit(o.BytesPerSecond))
	}
	return m
}

// Make backs up the store in the data directory dir, which must not change
// meanwhile: a snapshot, or a stopped server's. It returns when all of it was
// read back from the repository.
func Make(ctx context.Context, dir string, r Repository, o Options) (s Summary, err error) {
	m := newMaker(r, o)
	begun := m.o.Now()
	m.o.Progress(Progress{What: "reading"})
	if s.Contents, err = Read(ctx, dir); err != nil {
		return s, fmt.Errorf("the store cannot be read whole, so nothing was backed up: %w", err)
	}
	read := m.o.Now()
	s.ReadSeconds = read.Sub(begun).Seconds()
	manifest := &Manifest{Format: format, ID: newID(begun), Created: begun.UTC().Truncate(time.Second), Server: o.Server, Contents: s.Contents}
	s.ID = manifest.ID
	if s.NewBytes, err = m.copyFiles(ctx, dir, manifest); err != nil {
		return s, err
	}
	s.Files, s.Bytes = len(manifest.Files), manifest.Size()
	copied := m.o.Now()
	s.CopySeconds = copied.Sub(read).Seconds()
	if err := m.copyMedia(ctx, dir, manifest, &s.Media); err != nil {
		return s, err
	}
	media := m.o.Now()
	s.Media.Seconds = media.Sub(copied).Seconds()
	if err := m.verify(ctx, manifest); err != nil {
		return s, err
	}
	s.VerifySeconds = m.o.Now().Sub(media).Seconds()
	raw, err := json.MarshalIndent(manifest, "", " ")
	if err != nil {
		return s, err
	}
	return s, r.Put(ctx, manifestKey(manifest.ID), raw)
}

// newID names a backup: its time, so that names are in order, and something
// random.
func newID(at time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return at.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(b[:])
}

// apart lies in a data directory and is no file of a backup: secrets, what belongs to a
// process, media, which are held blob by blob, and the index of searches, which is made anew.
var apart = []string{"keys", SnapshotsDir, mediaDir, "spool", "search.db", "search.db-wal", "search.db-journal"}

// files lists what a backup holds of a data directory: everything but what lies apart, and
// files that SQLite makes anew.
func files(dir, media string) (all []string, err error) {
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case e.IsDir() && (slices.Contains(apart, rel) || rel == media):
			return filepath.SkipDir
		case e.IsDir(), e.Name() == "LOCK", slices.Contains(apart, rel), strings.HasSuffix(rel, "-shm"):
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is no ordinary file", p)
		}
		all = append(all, rel)
		return nil
	})
	slices.Sort(all)
	return all, err
}

// SnapshotsDir is where a running server makes its snapshots, in its data
// directory.
const SnapshotsDir = "snapshots"

func (m *maker) copyFiles(ctx context.Context, dir string, manifest *Manifest) (fresh int64, err error) {
	m.have = map[string]int64{}
	err = m.r.List(ctx, "chunks", func(i Item) error {
		m.have[path.Base(i.Key)] = i.Size
		return nil
	})
	if err != nil {
		return 0, err
	}
	names, err := files(dir, m.o.Apart)
	if err != nil {
		return 0, err
	}
	var total, done int64
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	for _, name := range names {
		file := File{Path: name, Chunks: []string{}}
		err := m.fileChunks(ctx, filepath.Join(dir, filepath.FromSlash(name)), func(sum string, chunk []byte) error {
			file.Chunks = append(file.Chunks, sum)
			file.Size += int64(len(chunk))
			done += int64(len(chunk))
			stored, err := m.keep(ctx, sum, chunk)
			if err != nil {
				return err
			}
			if stored {
				fresh += int64(len(chunk))
			}
			m.o.Progress(Progress{"copying", done, total})
			return nil
		})
		if err != nil {
			return fresh, fmt.Errorf("back up %s: %w", name, err)
		}
		manifest.Files = append(manifest.Files, file)
	}
	return fresh, nil
}

// keep puts a chunk into the repository, if it is not there.
func (m *maker) keep(ctx context.Context, sum string, chunk []byte) (fresh bool, err error) {
	if _, there := m.have[sum]; there {
		return false, nil
	}
	if err := m.r.Put(ctx, chunkKey(sum), chunk); err != nil {
		return false, err
	}
	m.have[sum] = int64(len(chunk))
	return true, nil
}

func (m *maker) fileChunks(ctx context.Context, path string, each func(sum string, chunk []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(m.chunks(ctx, f, each), f.Close())
}

// chunks reads something in chunks, which are valid until each returns.
func (m *maker) chunks(ctx context.Context, f io.Reader, each func(sum string, chunk []byte) error) error {
	for {
		n, err := io.ReadFull(f, m.buf)
		if n > 0 {
			if err := m.limit.WaitN(ctx, n); err != nil {
				return err
			}
			sum := sha256.Sum256(m.buf[:n])
			if err := each(hex.EncodeToString(sum[:]), m.buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// verify reads back every chunk of a backup.
func (m *maker) verify(ctx context.Context, manifest *Manifest) error {
	total, done := manifest.Size(), int64(0)
	all := manifest.Files
	if manifest.Media != nil { // its content was read back when it was stored
		all = append(slices.Clone(all), manifest.Media.List)
	}
	for _, f := range all {
		var size int64
		for _, sum := range f.Chunks {
			chunk, err := m.chunk(ctx, sum)
			if err != nil {
				return fmt.Errorf("backup %s: %s: %w", manifest.ID, f.Path, err)
			}
			size += int64(len(chunk))
			done += int64(len(chunk))
			m.o.Progress(Progress{"verifying", done, total})
		}
		if size != f.Size {
			return fmt.Errorf("backup %s: %s has %d bytes instead of %d", manifest.ID, f.Path, size, f.Size)
		}
	}
	return nil
}

// chunk reads a chunk from the repository and compares it with its name.
func (m *maker) chunk(ctx context.Context, sum string) ([]byte, error) {
	chunk, err := m.r.Get(ctx, chunkKey(sum))
	if err != nil {
		return nil, err
	}
	if err := m.limit.WaitN(ctx, min(len(chunk), chunkBytes)); err != nil {
		return nil, err
	}
	if got := sha256.Sum256(chunk); hex.EncodeToString(got[:]) != sum {
		return nil, &DamagedError{Chunk: sum}
	}
	return chunk, nil
}

// DamagedError: a chunk of the repository is not what was put there. Delete it,
// and the next backup stores it again if the store still has it.
type DamagedError struct{ Chunk string }

func (e *DamagedError) Error() string {
	return "the repository's " + chunkKey(e.Chunk) + " is damaged"
}
