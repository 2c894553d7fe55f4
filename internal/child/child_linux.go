package child

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts cmd. The kernel sends it end when this process is gone. enter, if
// it is not nil, is called before on the thread that starts it and may move that
// thread to a network namespace. Wait for cmd as always.
func Start(cmd *exec.Cmd, end syscall.Signal, enter func() error) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = end
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var err error
		if enter != nil {
			err = enter()
		}
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			started <- err
			return
		}
		pid := cmd.Process.Pid
		started <- nil
		// Until it has ended, without taking its status from who waits for it.
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	return <-started
}
