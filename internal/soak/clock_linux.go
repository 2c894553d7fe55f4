package soak

import "golang.org/x/sys/unix"

// Now is the machine's monotonic clock in nanoseconds: histories of several
// processes can be compared.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("soak: no monotonic clock: " + err.Error())
	}
	return t.Nano()
}
