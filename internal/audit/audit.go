// Package audit writes a line about every entry of the journal to a file: where it
// is, who wrote it, when, what kind it is, and nothing of what it says. It is the
// first follower (internal/feed), and small, so that what it proves is the feed's.
//
// It owns the file. It must not know who calls it, nor what a body says. The file is
// rotated by its operator, who renames it: the next lines go to a new one. Each
// process has a file of its own.
//
// Goroutines: none. Locks: none; one caller at a time.
//
// Invariants: what Write returned nil for is on disk. Every line is whole, but for
// the last one after a crash or an error, which is cut off before the next is written.
// Lines of a conversation come in the order of its seqs; after a crash some come again.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/platform"
)

// Line is what is told of an entry.
type Line struct {
	Conversation string `json:"conversation"`
	Seq          uint64 `json:"seq"`
	Pos          uint64 `json:"pos"`
	Kind         string `json:"kind"`             // message, recall, event, edit, reaction, pin, vote, poll_end
	ID           string `json:"id"`               //
	Sender       string `json:"sender,omitempty"` // nobody: the server
	StoredAt     string `json:"stored_at"`        // UTC, in milliseconds
	Target       uint64 `json:"target,omitempty"` // the seq that an amendment is about
}

// LineOf tells of an entry.
func LineOf(e *im.Entry) Line {
	return Line{
		Conversation: string(e.Conversation), Seq: e.Seq, Pos: e.Pos, Kind: kind(e.Kind), ID: e.ID.String(), Sender: string(e.Sender),
		StoredAt: e.Stored.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Target: e.Target,
	}
}

func kind(k im.EntryKind) string {
	switch k {
	case im.EntryMessage, im.EntryReply:
		return "message"
	case im.EntryRecall:
		return "recall"
	case im.EntryEvent:
		return "event"
	case im.EntryEdit:
		return "edit"
	case im.EntryReaction:
		return "reaction"
	case im.EntryPin:
		return "pin"
	case im.EntryVote:
		return "vote"
	case im.EntryPollEnd:
		return "poll_end"
	case im.EntryStream:
		return "stream"
	case im.EntryPreview:
		return "preview"
	}
	return strconv.Itoa(int(k))
}

// File is an audit file. Use Open.
type File struct {
	path string
	file *os.File // nil after an error
	buf  bytes.Buffer
}

// Open opens the file, making it if there is none, and cuts off a torn last line.
func Open(path string) (*File, error) {
	f := &File{path: path}
	return f, f.open()
}

func (f *File) open() (err error) {
	_, err = os.Lstat(f.path)
	created := errors.Is(err, fs.ErrNotExist)
	f.file, err = os.OpenFile(f.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		f.file = nil
		return fmt.Errorf("audit: %w", err)
	}
	if err = cutTorn(f.file); err == nil && created {
		err = platform.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("audit: %s: %w", f.path, err), f.Close())
	}
	return nil
}

// cutTorn cuts off what follows the last whole line. It looks for it from the end.
func cutTorn(file *os.File) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buf := make([]byte, 4<<10)
	for at := end; at > 0; {
		n := min(at, int64(len(buf)))
		at -= n
		if _, err := file.ReadAt(buf[:n], at); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return truncate(file, at+int64(i)+1, end)
		}
	}
	return truncate(file, 0, end)
}

func truncate(file *os.File, to, end int64) error {
	if to == end {
		return nil
	}
	return file.Truncate(to)
}

// Write appends a line for each entry, and returns when they are on disk. After an
// error some of them may be there, as whole lines; all of them are to be written again.
func (f *File) Write(entries []im.Entry) error {
	f.buf.Reset()
	enc := json.NewEncoder(&f.buf)
	for i := range entries {
		if err := enc.Encode(LineOf(&entries[i])); err != nil {
			return fmt.Errorf("audit: entry %d of %s: %w", entries[i].Seq, entries[i].Conversation, err)
		}
	}
	if err := f.follow(); err != nil {
		return err
	}
	_, err := f.file.Write(f.buf.Bytes())
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		// What is in the file now is not known: it is opened, and looked at, again.
		return errors.Join(fmt.Errorf("audit: %w", err), f.Close())
	}
	return nil
}

// follow opens the file again when another one, or none, has its name by now.
func (f *File) follow() error {
	if f.file != nil {
		mine, err := f.file.Stat()
		if err != nil {
			return errors.Join(fmt.Errorf("audit: %w", err), f.Close())
		}
		if there, err := os.Stat(f.path); err == nil && os.SameFile(mine, there) {
			return nil
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return f.open()
}

// Close closes the file.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}
