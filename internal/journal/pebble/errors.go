package pebble

import (
	"errors"
	"fmt"

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
	return fmt.Sprintf("journal %s: %s (it ends at position %d, position %d was durable): acknowledged messages are missing. "+
		"Restore the newest backup; or start once with --accept-loss, which serves what is left under a new timeline, so that clients notice",
		e.Dir, e.Reason, e.Have, e.Witnessed)
}

// FilesError is why Open refuses a directory whose files are not those the
// journal was left with: opened all the same, it would be served with a part of
// its messages, and the rest deleted.
type FilesError struct {
	Dir string
	// File is the one that is wrong, Reason what is wrong with it.
	File, Reason string
}

func (e *FilesError) Error() string {
	return fmt.Sprintf("journal %s: %s: %s: acknowledged messages may be missing; nothing was changed. "+
		"Restore the newest backup; or start once with --accept-loss, which serves what can be read under a new timeline, so that clients notice",
		e.Dir, e.File, e.Reason)
}

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
	return fmt.Sprintf("journal %s: %s is damaged: %v: restore it from a backup", e.Dir, e.File, e.Cause)
}

func (e *CorruptionError) Unwrap() []error { return []error{e.Cause, im.ErrJournalDamaged} }

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
