package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowPriority gives every thread of this process the lowest priority; those that
// come later inherit it. On Linux the priority is a thread's own.
func lowPriority() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, 19) // without it, it only takes more
		}
	}
}
