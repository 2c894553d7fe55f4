package main

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitAddressSpace bounds what a process may map: an allocation that follows
// from a number in the input ends it instead of the machine.
func limitAddressSpace(pid int, bytes uint64) error {
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}, nil); err != nil {
		return fmt.Errorf("bound the memory of process %d: %w", pid, err)
	}
	return nil
}

func maxRSSBytes(u *syscall.Rusage) int64 { return u.Maxrss << 10 }
