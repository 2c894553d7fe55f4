//go:build !linux

package postgres

import "syscall"

// setUserTimeout: only Linux has it; elsewhere keep-alives notice, later.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
