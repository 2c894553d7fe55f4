package e2e

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// mountSmall puts a file system of its own, of so many bytes, on a directory.
// It needs the right to mount.
func mountSmall(t *testing.T, dir string, bytes int) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return nil
}

// freeBytes is how much may be written below dir.
func freeBytes(t *testing.T, dir string) int {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int(st.Bavail) * int(st.Bsize)
}
