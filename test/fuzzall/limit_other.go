//go:build !linux

package main

import "syscall"

// limitAddressSpace does nothing here: GOMEMLIMIT alone bounds the memory.
func limitAddressSpace(int, uint64) error { return nil }

func maxRSSBytes(u *syscall.Rusage) int64 { return u.Maxrss }
