package bench

import (
	"os"
	"syscall"
)

// datasync makes a file's content durable, as the servers do.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// processesTell: what other processes use can be read here (/proc).
const processesTell = true
