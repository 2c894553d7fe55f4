//go:build !linux

package pg

import (
	"syscall"
	"time"
)

// userTimeout: only Linux has it; elsewhere keep-alives notice, later.
func userTimeout(time.Duration) func(string, string, syscall.RawConn) error { return nil }
