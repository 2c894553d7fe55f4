package bench

import (
	"os"
	"syscall"
	"time"
)

// tied has a child process end with this one, however this one ends.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// datasync makes a file's content durable, as the servers do.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// nap sleeps in the kernel: the thread is locked, and the runtime's timers are late
// when all cores are busy.
func nap(d time.Duration) {
	wait := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&wait, nil) // awake early: the next turn finds nothing due
}

// processesTell: what other processes use can be read here (/proc).
const processesTell = true
