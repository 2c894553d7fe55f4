//go:build unix

package platform

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the lock of an open file for this process, and does not wait for it:
// ErrLocked, if another one has it. It ends when the file is closed.
func Lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Mkdir makes a directory that only this user can enter.
func Mkdir(path string) error { return os.Mkdir(path, 0o700) }

// Mode is who may do what with a file, and whether that is known here.
func Mode(st fs.FileInfo) (mode fs.FileMode, known bool) { return st.Mode().Perm(), true }
