//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing here: keepalives notice a cut network, later.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }
