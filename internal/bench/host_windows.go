package bench

import (
	"io/fs"
	"syscall"
	"time"
)

func processCPU() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(self, &created, &exited, &kernel, &user)
	}
	if err != nil {
		return 0
	}
	ticks := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100 // they count 100 ns
}

func processSwitches() float64 { return 0 }

func onDisk(info fs.FileInfo) int64 { return info.Size() }

func openFiles() (int, bool) { return 0, false }
