//go:build unix && !linux

package main

import "golang.org/x/sys/unix"

func lowPriority() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19) } // without it, it only takes more
