package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// What a process that died left on its way is removed when nobody has written to it for
// incomingTime, at the next start or the next writing that is sweepEvery after the last time.
const (
	incomingTime = time.Hour
	sweepEvery   = 10 * time.Minute
)

// leftovers are files on their way: those in dir whose names begin so.
type leftovers struct {
	dir, begin string
	now        func() time.Time
	swept      atomic.Int64 // when it was, Unix time
}

// create makes a file for what is on its way.
func (l *leftovers) create() (*os.File, error) {
	if last := l.swept.Load(); l.now().Unix()-last >= int64(sweepEvery/time.Second) && l.swept.CompareAndSwap(last, l.now().Unix()) {
		if err := l.sweep(); err != nil {
			return nil, err
		}
	}
	return os.CreateTemp(l.dir, l.begin+"*") // 0600
}

// sweep removes what others left.
func (l *leftovers) sweep() error {
	l.swept.Store(l.now().Unix())
	left, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	for _, e := range left {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), l.begin) || l.now().Sub(info.ModTime()) < incomingTime {
			continue // gone, another one's, or somebody is at it
		}
		if err := os.Remove(filepath.Join(l.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
