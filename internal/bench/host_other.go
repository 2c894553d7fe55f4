//go:build !linux

package bench

import (
	"errors"
	"os"
)

func datasync(f *os.File) error { return f.Sync() }

// processesTell: figures of the server's process are left out of the reports.
const processesTell = false

func giveWay(nice int) func() error {
	if nice == 0 {
		return nil
	}
	return func() error { return errors.New("only on Linux can a load process give way to others") }
}
