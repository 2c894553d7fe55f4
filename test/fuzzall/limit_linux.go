package main

import (
	"strconv"
	"syscall"
)

// limited is a command whose process, and all that it starts, may map so many
// bytes: an allocation that follows from a number in the input ends it instead
// of the machine. The shell sets the limit before the program begins, so that
// none of its workers can be earlier.
func limited(bytes uint64, command ...string) []string {
	return append([]string{"sh", "-c", `ulimit -v "$0" && exec "$@"`, strconv.FormatUint(bytes>>10, 10)}, command...)
}

func maxRSSBytes(u *syscall.Rusage) int64 { return u.Maxrss << 10 }
