//go:build !linux

package doctor

import (
	"errors"
	"time"
)

// fsys is a file system.
type fsys struct {
	kind        string
	free, total uint64
}

func fileSystem(string) (fsys, error) { return fsys{}, errors.ErrUnsupported }

func clock() (bool, time.Duration, error) { return false, 0, errors.ErrUnsupported }
