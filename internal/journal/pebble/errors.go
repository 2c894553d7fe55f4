package pebble

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	cerrors "github.com/cockroachdb/errors"
	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// errClosed answers calls after Close.
var errClosed = errors.New("journal: closed")

// ShortenedError is why Open refuses a directory that lost acknowledged
// entries, or may have.
type ShortenedError struct {
	Dir string
	// Have is the position the journal came back with, Witnessed the last one
	// known to have been durable.
	Have, Witnessed uint64
	// Reason says which sign of loss was found.
	Reason string
}

func (e *ShortenedError) Error() string {
	advice := "Restore the newest backup; or start once with --accept-loss, which serves what is left under a new timeline, so that clients notice"
	if e.Have == 0 {
		advice = "Restore the newest backup; or start once with --accept-loss, which begins an empty journal under a new timeline: users, sessions and groups stay"
	}
	if e.Witnessed == 0 { // there is nothing to compare with
		return fmt.Sprintf("journal %s: %s: it ends at position %d, and nothing tells whether that is all that was acknowledged. "+
			"If nobody put other files here, it may well be whole. %s", e.Dir, e.Reason, e.Have, advice)
	}
	return fmt.Sprintf("journal %s: %s (it ends at position %d, position %d was durable): acknowledged messages are missing. %s",
		e.Dir, e.Reason, e.Have, e.Witnessed, advice)
}

// FilesError is why Open refuses a directory whose files are not those the
// journal was left with: opened all the same, it would be served with a part of
// its messages, and the rest deleted.
type FilesError struct {
	Dir string
	// File is the one that is wrong, Reason what is wrong with it.
	File, Reason string
	// Unreadable: the store cannot be opened, or not be read as far as a start reads
	// it. Accepted, it is kept aside whole, and an empty journal begins.
	Unreadable bool
	cause      error
}

func (e *FilesError) Error() string {
	if e.Unreadable {
		return fmt.Sprintf("journal %s: %s: %s: no message can be served with it; nothing was changed. "+
			"Put the file back if you have it as it was, or restore the newest backup; or start once with --accept-loss, which begins an empty journal under a new timeline: "+
			"all messages are gone from the server then, users, groups and sessions stay, and the files of the store are kept, moved to lost-1, lost-2 … in this directory",
			e.Dir, e.File, e.Reason)
	}
	return fmt.Sprintf("journal %s: %s: %s: acknowledged messages may be missing; nothing was changed. "+
		"Restore the newest backup; or start once with --accept-loss, which serves what can be read under a new timeline, so that clients notice",
		e.Dir, e.File, e.Reason)
}

func (e *FilesError) Unwrap() error { return e.cause }

// VersionError is why Open refuses a directory written by a newer version.
type VersionError struct {
	Dir         string
	Have, Known uint64
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("journal %s: written by a newer version of skein (schema %d, this version knows %d): "+
		"run that version, or restore a backup made before the upgrade", e.Dir, e.Have, e.Known)
}

// LockedError is why Open refuses a directory that another process uses.
type LockedError struct {
	Dir   string
	Cause error
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("journal %s: in use by another process (lock: %v): stop it, or use another data directory", e.Dir, e.Cause)
}

func (e *LockedError) Unwrap() error { return e.Cause }

// CorruptionError is damage found in a stored file.
type CorruptionError struct {
	Dir string
	// File is where, as far as it is known.
	File  string
	Cause error
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("journal %s: %s is damaged: %s: restore it from a backup", e.Dir, e.File, plain(e.Cause))
}

func (e *CorruptionError) Unwrap() []error { return []error{e.Cause, im.ErrJournalDamaged} }

// plain is the text of an error of Pebble without what has none: each line once, and
// nothing for the error that only carries details.
func plain(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && line != "<corruption detail carrier>" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// explain adds to an error of Pebble where it happened. Pebble keeps the file
// of a damage in the details of its errors, which their text leaves out.
func (j *Journal) explain(err error) error { return explain(j.dir, err) }

// named is explain for errors that do not name the journal by themselves.
func (j *Journal) named(err error) error {
	var known *CorruptionError
	if err = j.explain(err); errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("journal %s: %w", j.dir, err)
}

func explain(dir string, err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	file := "a file"
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		file = info.Path
	} else if d := cerrors.FlattenDetails(err); d != "" {
		file = d
	}
	return &CorruptionError{Dir: dir, File: file, Cause: err}
}
