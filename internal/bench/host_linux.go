package bench

import (
	"os"
	"syscall"
)

// datasync makes a file's content durable, as the servers do.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// processesTell: what other processes use can be read here (/proc).
const processesTell = true

// giveWay has a process that is started give way to others by nice: the thread that
// starts it has it so, and it ends with the process.
func giveWay(nice int) func() error {
	if nice == 0 {
		return nil
	}
	return func() error { return syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice) }
}
