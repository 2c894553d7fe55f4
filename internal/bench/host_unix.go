//go:build unix

package bench

import (
	"io/fs"
	"syscall"
	"time"
)

// processCPU is the CPU time this process has used.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processSwitches is how often this process' threads were switched to and from.
func processSwitches() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Nvcsw + u.Nivcsw)
}

// onDisk is what a file takes on the disk.
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// openFiles is how many files this process may have open, false if that is not known.
func openFiles() (int, bool) {
	var l syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l)
	return int(min(uint64(l.Cur), 1<<30)), err == nil
}
