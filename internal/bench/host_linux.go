package bench

import (
	"os"
	"syscall"
)

// tied has a child process end with this one, however this one ends.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// datasync makes a file's content durable, as the servers do.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// processesTell: what other processes use can be read here (/proc).
const processesTell = true
