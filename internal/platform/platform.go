// Package platform is what the server asks of the operating system where systems
// differ: a lock on a file, names that are durable, directories and files that
// nobody else can read.
//
// It knows nothing of what is kept. Goroutines, locks: none.
//
// Invariants: what cannot be had is an error or is said, never pretended; a lock
// ends with its process, however that ends.
package platform

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked: another process has the lock.
var ErrLocked = errors.New("locked by another process")

// MkdirAllSync makes a directory and its parents, as Mkdir does, durably.
func MkdirAllSync(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MkdirAllSync(parent); err != nil {
			return err
		}
	}
	if err := Mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncDir(parent)
}

// MkdirAll makes a directory, with its parents, that only this user can enter.
// What is there stays as it is.
func MkdirAll(path string) error {
	switch st, err := os.Stat(path); {
	case err == nil && !st.IsDir():
		return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("not a directory")}
	case err == nil:
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := Mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
