//go:build linux || darwin || freebsd

package platform

import "golang.org/x/sys/unix"

// Free is how many bytes may still be written below a path.
func Free(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return uint64(max(st.Bavail, 0)) * uint64(st.Bsize), nil
}
