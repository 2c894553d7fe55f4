//go:build !linux

package bench

import (
	"os"
	"syscall"
	"time"
)

func tied() *syscall.SysProcAttr { return nil }

func datasync(f *os.File) error { return f.Sync() }

func nap(d time.Duration) { time.Sleep(d) }

// processesTell: figures of the server's process are left out of the reports.
const processesTell = false
