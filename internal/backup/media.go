package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/media/blob"
)

// Media is what a backup holds of pictures and files: the blobs that its directory names.
type Media struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	// Missing are named by messages and were not where they should be.
	Missing int `json:"missing"`
	// List is a value of many lines, one `kept` for each blob, in the order of their names.
	List File `json:"list"`
}

// kept is a blob in a backup. Its Path is its name.
type kept struct {
	File
	// Missing: it is not in the backup, and why.
	Missing string `json:"missing,omitempty"`
}

// Why a blob is missing.
const (
	missingGone    = "gone"
	missingDamaged = "damaged"
)

// MediaSummary is what a backup's media cost, and what they lack.
type MediaSummary struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	// New ones were in no backup before.
	NewBlobs int   `json:"new_blobs"`
	NewBytes int64 `json:"new_bytes"`
	// Missing are those that messages name and nobody has, and Names the first of them, with
	// why. The backup has all else.
	Missing int      `json:"missing"`
	Names   []string `json:"missing_names,omitempty"`
	Seconds float64  `json:"seconds"`
}

// mostNames is how many missing blobs are named.
const mostNames = 100

// Where media lie in a data directory, if nobody says otherwise.
const mediaDir = "media"

// mediaOf opens where the blobs of a store are; nil: nowhere.
func (m *maker) mediaOf(dir string) (blob.Store, error) {
	if m.o.Media != nil {
		return m.o.Media(dir)
	}
	return blob.Open(filepath.Join(dir, mediaDir), "")
}

// namedBlobs reads which blobs the directory in dir names.
func namedBlobs(ctx context.Context, dir string, each func(directory.Blob) error) (err error) {
	rows, err := sqlite.OpenReader(ctx, filepath.Join(dir, directoryFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return rows.Blobs(ctx, each)
}

// copyMedia holds the blobs that the directory in dir names. One that an earlier backup
// held is not read again: blobs never change. A new one is read back at once.
func (m *maker) copyMedia(ctx context.Context, dir string, manifest *Manifest, s *MediaSummary) error {
	earlier, err := m.earlier(ctx)
	if err != nil {
		return err
	}
	defer earlier.end()
	var from blob.Store
	opened := false
	list := &chunked{m: m, ctx: ctx, of: File{Path: "media", Chunks: []string{}}}
	media := &Media{}
	err = namedBlobs(ctx, dir, func(b directory.Blob) (err error) {
		k, err := earlier.find(b.Name)
		if err != nil {
			return err
		}
		if k.Path == "" {
			if !opened {
				if from, err = m.mediaOf(dir); err != nil {
					return err
				}
				opened = true
			}
			if k, err = m.copyBlob(ctx, from, b); err != nil {
				return fmt.Errorf("back up the media %s: %w", b.Name, err)
			}
			if k.Missing == "" {
				s.NewBlobs++
				s.NewBytes += k.Size
			}
		}
		switch {
		case k.Missing != "" && !b.Named: // thrown away since
			return nil
		case k.Missing != "":
			if media.Missing++; len(s.Names) < mostNames {
				s.Names = append(s.Names, b.Name+": "+k.Missing)
			}
		default:
			media.Blobs++
			media.Bytes += k.Size
		}
		m.o.Progress(Progress{What: "copying media", Done: media.Bytes})
		return list.add(k)
	})
	if err == nil {
		err = list.flush()
	}
	s.Blobs, s.Bytes, s.Missing = media.Blobs, media.Bytes, media.Missing
	media.List = list.of
	manifest.Media = media
	return err
}

// copyBlob copies a blob, and reads it back.
func (m *maker) copyBlob(ctx context.Context, from blob.Store, b directory.Blob) (k kept, err error) {
	k = kept{File: File{Path: b.Name, Chunks: []string{}}}
	if from == nil {
		k.Missing = missingGone
		return k, nil
	}
	r, err := from.Get(ctx, b.Name, 0)
	if gone(err) {
		k.Missing = missingGone
		return k, nil
	}
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	whole := sha256.New()
	err = m.chunks(ctx, r, func(sum string, chunk []byte) error {
		whole.Write(chunk)
		k.Chunks = append(k.Chunks, sum)
		k.Size += int64(len(chunk))
		fresh, err := m.keep(ctx, sum, chunk)
		if fresh && err == nil {
			_, err = m.chunk(ctx, sum)
		}
		return err
	})
	if err == nil && b.Hash != "" && hex.EncodeToString(whole.Sum(nil)) != b.Hash {
		k = kept{File: File{Path: b.Name, Chunks: []string{}}, Missing: missingDamaged}
	}
	return k, err
}

// chunked is a value that is made line by line.
type chunked struct {
	m   *maker
	ctx context.Context
	of  File
	buf bytes.Buffer
}

func (c *chunked) add(line any) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	c.buf.Write(append(raw, '\n'))
	for err == nil && c.buf.Len() >= chunkBytes {
		err = c.put(c.buf.Next(chunkBytes))
	}
	return err
}

func (c *chunked) flush() error {
	if c.buf.Len() == 0 {
		return nil
	}
	return c.put(c.buf.Next(chunkBytes))
}

func (c *chunked) put(chunk []byte) error {
	of := sha256.Sum256(chunk)
	sum := hex.EncodeToString(of[:])
	c.of.Chunks = append(c.of.Chunks, sum)
	c.of.Size += int64(len(chunk))
	_, err := c.m.keep(c.ctx, sum, chunk)
	return err
}

// earlier is what the newest backup before has of media.
type earlier struct {
	m    *maker
	each *lines
	next kept
}

func (m *maker) earlier(ctx context.Context) (*earlier, error) {
	known, err := ids(ctx, m.r)
	if err != nil {
		return nil, err
	}
	e := &earlier{m: m}
	for i := len(known) - 1; i >= 0; i-- {
		// A damaged one is told by List, and is none to go by.
		if last, err := Load(ctx, m.r, known[i]); err == nil && last.Media != nil && m.all(&last.Media.List) {
			e.each = m.lines(ctx, &last.Media.List)
			break
		}
	}
	return e, nil
}

// all tells whether the repository has all chunks of a value.
func (m *maker) all(f *File) bool {
	var size int64
	for _, c := range f.Chunks {
		n, ok := m.have[c]
		if !ok {
			return false
		}
		size += n
	}
	return size == f.Size
}

// find returns a blob that is in the repository already, whole; otherwise its Path is "".
// It is asked in the order of names.
func (e *earlier) find(name string) (kept, error) {
	for e.each != nil && e.next.Path < name {
		k, err := e.each.read()
		if errors.Is(err, io.EOF) {
			e.each = nil
			break
		}
		if err != nil {
			return kept{}, fmt.Errorf("the media of the backup before: %w", err)
		}
		e.next = k
	}
	if e.next.Path == name && e.next.Missing == "" && e.m.all(&e.next.File) {
		return e.next, nil
	}
	return kept{}, nil
}

func (e *earlier) end() { e.each = nil }

// lines reads the list of a backup's media.
type lines struct{ d *json.Decoder }

func (m *maker) lines(ctx context.Context, f *File) *lines {
	return &lines{json.NewDecoder(&content{m: m, ctx: ctx, chunks: f.Chunks})}
}

// read returns the next one; io.EOF: there is none.
func (l *lines) read() (k kept, err error) {
	if err := l.d.Decode(&k); err != nil {
		return k, err
	}
	for _, c := range k.Chunks {
		if !goodChunk.MatchString(c) {
			return k, fmt.Errorf("%s: %q is no chunk", k.Path, c)
		}
	}
	return k, nil
}

// content reads a value of the repository, chunk after chunk, each of which is compared.
type content struct {
	m      *maker
	ctx    context.Context
	chunks []string
	now    []byte
	read   func(n int)
}

func (c *content) Read(p []byte) (int, error) {
	for len(c.now) == 0 {
		if len(c.chunks) == 0 {
			return 0, io.EOF
		}
		chunk, err := c.m.chunk(c.ctx, c.chunks[0])
		if err != nil {
			return 0, err
		}
		c.now, c.chunks = chunk, c.chunks[1:]
		if c.read != nil {
			c.read(len(chunk))
		}
	}
	n := copy(p, c.now)
	c.now = c.now[n:]
	return n, nil
}
