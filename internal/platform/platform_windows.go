package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Lock takes the lock of an open file for this process, and does not wait for it:
// ErrLocked, if another one has it. It ends when the file is closed. Here it
// covers a byte far behind the content, because Windows keeps others from reading
// what is locked.
func Lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// SyncDir makes the names in a directory durable, as far as the file system does
// that on request: NTFS logs them by itself, and one that refuses to flush a
// directory (the error is that of a missing right or function) has no other way.
func SyncDir(path string) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	d, err := windows.CreateFile(name, windows.GENERIC_WRITE, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err == nil {
		err = errors.Join(windows.FlushFileBuffers(d), windows.CloseHandle(d))
	}
	for _, cannot := range []error{windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_INVALID_PARAMETER, windows.ERROR_NOT_SUPPORTED} {
		if errors.Is(err, cannot) {
			return nil
		}
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: path, Err: err}
	}
	return nil
}

// Mkdir makes a directory that only this user, the system and administrators can
// enter. A mode would do nothing: without a list of its own a directory has that
// of its parent, and below C:\ everybody may read.
func Mkdir(path string) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("this process's user: %w", err)
	}
	const everything = "(A;OICI;FA;;;%s)"
	list, err := windows.SecurityDescriptorFromString("D:P" + fmt.Sprintf(everything+everything+everything, user.User.Sid, "SY", "BA"))
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	attributes := windows.SecurityAttributes{SecurityDescriptor: list}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	if err := windows.CreateDirectory(name, &attributes); err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// Mode is who may do what with a file, and whether that is known here: Windows has
// lists, not modes, and files inherit those of the directories that Mkdir makes.
func Mode(fs.FileInfo) (mode fs.FileMode, known bool) { return 0, false }
