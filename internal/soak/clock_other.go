//go:build !linux

package soak

import "time"

var started = time.Now()

// Now is this process's monotonic clock in nanoseconds: only histories of one
// process can be compared.
func Now() int64 { return int64(time.Since(started)) }
