//go:build !linux

package main

import "syscall"

// limited: other systems have no such limit, or do not keep it.
func limited(_ uint64, command ...string) []string { return command }

func maxRSSBytes(u *syscall.Rusage) int64 { return u.Maxrss }
