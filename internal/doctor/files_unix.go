//go:build unix

package doctor

import "golang.org/x/sys/unix"

// openFiles is how many files a process may be given leave to have open.
func openFiles() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return uint64(l.Max), err
}
