//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

// Start starts cmd. This system does not tie it to this process; enter must be nil.
func Start(cmd *exec.Cmd, _ syscall.Signal, enter func() error) error {
	if enter != nil {
		if err := enter(); err != nil {
			return err
		}
	}
	return cmd.Start()
}
