package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vfs"

	"github.com/skein-im/skein/internal/directory"
)

// What a start looks at before SQLite opens the file: SQLite writes as soon as it
// opens a database with a log. Everything here reads only.

// Found is what a file holds.
type Found struct {
	// Exists: there is a database. Summed: its pages have checksums; one of an
	// earlier version has none, and gets them when it is opened.
	Exists, Summed bool
	directory.Content
}

// DamageError is a directory that is not what was written.
type DamageError struct{ Path, Reason string }

func (e *DamageError) Error() string {
	return fmt.Sprintf("directory %s: %s: users, sessions or groups may be missing; nothing was changed. Restore directory and journal from one backup", e.Path, e.Reason)
}

// Examine reads the database at path and its log as SQLite would, every page of
// it, and changes nothing. A *DamageError tells what is wrong with it.
func Examine(ctx context.Context, path string) (f Found, err error) {
	return examine(ctx, path, nil)
}

// ExamineBlobs is Examine, and calls each for every blob that the directory names. A
// database of another schema names none here.
func ExamineBlobs(ctx context.Context, path string, each func(directory.Blob) error) (Found, error) {
	return examine(ctx, path, func(r *directory.Reader) error {
		if err := r.Check(ctx); err != nil {
			return nil
		}
		return r.Blobs(ctx, each)
	})
}

func examine(ctx context.Context, path string, more func(*directory.Reader) error) (f Found, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return f, fmt.Errorf("directory: %w", err)
	}
	img, err := openImage(path)
	if err != nil || img == nil {
		return f, err
	}
	defer img.close()
	if err := img.check(); err != nil {
		return f, &DamageError{path, err.Error()}
	}
	f.Exists, f.Summed = true, img.summed
	name, registered, err := vfs.New(img)
	if err != nil {
		return f, fmt.Errorf("directory: %w", err)
	}
	defer func() { err = errors.Join(err, registered.Close()) }()
	connector, err := sqlite.NewConnector("file:" + imageName + "?" + url.Values{"vfs": {name}, "mode": {"ro"}, "immutable": {"1"}, "_dqs": {"0"}}.Encode())
	if err != nil {
		return f, fmt.Errorf("directory: %w", err)
	}
	r := directory.NewReader(sql.OpenDB(connector), "sqlite3")
	f.Content, err = r.Content(ctx)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	} else if !f.Summed && f.Pair.Identity != "" {
		err = &DamageError{path, "its header is damaged: it says that pages have no checksums"}
	} else if more != nil {
		err = more(r)
	}
	return f, errors.Join(err, r.Close())
}

// The header of a database: offsets and values (https://sqlite.org/fileformat.html).
const (
	headerMagic    = "SQLite format 3\x00"
	headerPageSize = 16
	headerVersions = 18 // two bytes: 1 without a log, 2 with one
	headerReserved = 20
	headerPages    = 28
	headerTrunk    = 32 // the first page of the list of free ones
	// lockPage is never written: SQLite locks its bytes.
	lockPage = 1<<30/pageSize + 1
)

// image is a database as it is with its log. It is a file system of one file for
// SQLite to read it from.
type image struct {
	db, wal *os.File // wal may be nil
	size    int64    // of db
	frames  map[int64]int64
	pages   int64
	summed  bool
}

// openImage opens what is at path, nil if there is nothing.
func openImage(path string) (*image, error) {
	db, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	img := &image{db: db, frames: map[int64]int64{}}
	if err := img.open(path); err != nil {
		img.close()
		return nil, fmt.Errorf("directory: %w", err)
	}
	if img.size == 0 && img.pages == 0 {
		img.close()
		return nil, nil
	}
	return img, nil
}

func (img *image) open(path string) error {
	st, err := img.db.Stat()
	if err != nil {
		return err
	}
	img.size = st.Size()
	// SQLite ignores the log of an empty database.
	if img.wal, err = os.Open(path + "-wal"); err != nil || img.size == 0 {
		if img.wal != nil {
			img.wal.Close()
		}
		img.wal = nil
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return img.readLog()
}

func (img *image) close() {
	img.db.Close()
	if img.wal != nil {
		img.wal.Close()
	}
}

// The log: a header, then frames of a header and a page. What counts ends with
// the last frame of a transaction before the first one that is not whole.
const (
	logHeader   = 32
	frameHeader = 24
	logMagic    = 0x377f0682 // the last bit: checksums over big-endian words
)

// readLog finds the pages that the log holds.
func (img *image) readLog() error {
	var h [logHeader]byte
	if _, err := img.wal.ReadAt(h[:], 0); err != nil {
		return ignoreEnd(err)
	}
	magic := binary.BigEndian.Uint32(h[:])
	if magic&^1 != logMagic || binary.BigEndian.Uint32(h[8:]) != pageSize {
		return nil
	}
	c := logSum{big: magic&1 != 0}
	c.add(h[:24])
	if !c.is(h[24:]) {
		return nil
	}
	open := map[int64]int64{} // of the transaction that has not ended
	frame := make([]byte, frameHeader+pageSize)
	for at := int64(logHeader); ; at += int64(len(frame)) {
		if _, err := img.wal.ReadAt(frame, at); err != nil {
			return ignoreEnd(err)
		}
		c.add(frame[:8])
		c.add(frame[frameHeader:])
		if string(frame[8:16]) != string(h[16:24]) || !c.is(frame[16:]) {
			return nil
		}
		open[int64(binary.BigEndian.Uint32(frame))] = at + frameHeader
		if pages := int64(binary.BigEndian.Uint32(frame[4:])); pages != 0 {
			for page, where := range open {
				img.frames[page] = where
			}
			clear(open)
			img.pages = pages
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// logSum is the checksum of a log.
type logSum struct {
	big  bool
	a, b uint32
}

func (c *logSum) add(b []byte) {
	order := binary.ByteOrder(binary.LittleEndian)
	if c.big {
		order = binary.BigEndian
	}
	for ; len(b) >= 8; b = b[8:] {
		c.a += order.Uint32(b) + c.b
		c.b += order.Uint32(b[4:]) + c.a
	}
}

func (c *logSum) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == c.a && binary.BigEndian.Uint32(b[4:]) == c.b
}

// page reads a page, from the log if it is there. whole is false when the file
// ends before it does.
func (img *image) page(n int64, into []byte) (logged, whole bool, err error) {
	from, offset := img.db, (n-1)*pageSize
	if where, ok := img.frames[n]; ok {
		from, offset, logged = img.wal, where, true
	}
	got, err := from.ReadAt(into[:pageSize], offset)
	clear(into[got:pageSize])
	return logged, got == pageSize, ignoreEnd(err)
}

// check reads every page and compares its checksum. The error tells what is wrong.
func (img *image) check() error {
	page := make([]byte, pageSize)
	if _, whole, err := img.page(1, page); err != nil || !whole {
		return errors.Join(err, errors.New("it has less than a page"))
	}
	if string(page[:len(headerMagic)]) != headerMagic || binary.BigEndian.Uint16(page[headerPageSize:]) != pageSize {
		return errors.New("it is not a database of ours, or its header is damaged")
	}
	img.summed = page[headerReserved] == sumSize
	if img.pages == 0 {
		img.pages = int64(binary.BigEndian.Uint32(page[headerPages:]))
	}
	free, err := img.free(int64(binary.BigEndian.Uint32(page[headerTrunk:])))
	if err != nil {
		return err
	}
	for n := int64(1); n <= img.pages; n++ {
		logged, whole, err := img.page(n, page)
		switch {
		case err != nil:
			return err
		case logged || n == lockPage || free[n]:
			continue // the log's own checksum holds; what is free was never written, perhaps
		case !whole:
			return fmt.Errorf("it ends within page %d of %d", n, img.pages)
		case img.summed && !intact(page, n):
			return fmt.Errorf("page %d of %d is damaged: its checksum is another one", n, img.pages)
		}
	}
	return nil
}

// free lists the free pages that hold nothing. SQLite may never have written them.
func (img *image) free(trunk int64) (map[int64]bool, error) {
	all := map[int64]bool{}
	page := make([]byte, pageSize)
	for seen := int64(0); trunk != 0; seen++ {
		if trunk > img.pages || seen > img.pages {
			return nil, errors.New("its list of free pages is damaged")
		}
		logged, whole, err := img.page(trunk, page)
		if err != nil {
			return nil, err
		}
		if !logged && (!whole || img.summed && !intact(page, trunk)) {
			return nil, fmt.Errorf("page %d of %d is damaged: its checksum is another one", trunk, img.pages)
		}
		trunk = int64(binary.BigEndian.Uint32(page))
		n := min(int(binary.BigEndian.Uint32(page[4:])), pageSize/4-2)
		for i := range n {
			all[int64(binary.BigEndian.Uint32(page[8+4*i:]))] = true
		}
	}
	return all, nil
}

// imageName is the file in the image's file system.
const imageName = "directory.db"

// Open is for SQLite (fs.FS).
func (img *image) Open(name string) (fs.File, error) {
	if name != imageName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &imageFile{img: img}, nil
}

// imageFile reads an image from its beginning to its end.
type imageFile struct {
	img *image
	at  int64
}

func (f *imageFile) Seek(offset int64, _ int) (int64, error) {
	f.at = offset // SQLite seeks from the beginning
	return offset, nil
}

func (f *imageFile) Read(b []byte) (int, error) {
	if f.at >= f.img.pages*pageSize {
		return 0, io.EOF
	}
	var page [pageSize]byte
	n := f.at/pageSize + 1
	if _, _, err := f.img.page(n, page[:]); err != nil {
		return 0, err
	}
	if n == 1 { // the log is in what is read: SQLite must not look for it
		page[headerVersions], page[headerVersions+1] = 1, 1
	}
	got := copy(b, page[f.at%pageSize:])
	f.at += int64(got)
	return got, nil
}

func (f *imageFile) Close() error               { return nil }
func (f *imageFile) Stat() (fs.FileInfo, error) { return imageInfo{f.img}, nil }

type imageInfo struct{ img *image }

func (i imageInfo) Name() string       { return imageName }
func (i imageInfo) Size() int64        { return i.img.pages * pageSize }
func (i imageInfo) Mode() fs.FileMode  { return 0o400 }
func (i imageInfo) ModTime() time.Time { return time.Time{} }
func (i imageInfo) IsDir() bool        { return false }
func (i imageInfo) Sys() any           { return nil }
