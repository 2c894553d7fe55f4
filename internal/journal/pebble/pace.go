package pebble

import (
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Flushes and compactions write as fast as they can, and then a commit's fsync
// waits behind their bytes, and its goroutines for a processor. The pacer holds
// them back to a rate that follows the load, and makes them give way at every
// block.
const (
	// paceBase is what background work may write per second when nothing is
	// appended.
	paceBase = 16 << 20
	// paceShare is what it may write per byte of the log. Everything is written
	// about three times.
	paceShare = 8
	// paceBurst is how much may be saved up.
	paceBurst = 1 << 20
	// paceSleep is how long a writer sleeps before it looks again.
	paceSleep = 2 * time.Millisecond
	// paceLook is how often the store is asked whether it falls behind.
	paceLook = 500 * time.Millisecond
)

// pacer is safe for concurrent use.
type pacer struct {
	// behind reports that background work must not be held back.
	behind func() bool

	mu     sync.Mutex
	on     bool
	credit float64 // bytes
	filled time.Time
	looked time.Time
	free   bool // the last answer of behind
}

// start begins to hold writers back, stop lets them go.
func (p *pacer) start() { p.set(true) }
func (p *pacer) stop()  { p.set(false) }

func (p *pacer) set(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on, p.filled, p.looked, p.free = on, time.Now(), time.Now(), false
}

// logged notes bytes written to the log.
func (p *pacer) logged(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.credit = min(p.credit+paceShare*float64(n), paceBurst)
}

// wait returns when n bytes may be written in the background.
func (p *pacer) wait(n int) {
	runtime.Gosched()
	for {
		ok, look := p.take(n)
		if ok {
			return
		}
		if look {
			free := p.behind()
			p.mu.Lock()
			p.free = free
			p.mu.Unlock()
			continue
		}
		time.Sleep(paceSleep)
	}
}

// take takes n bytes of credit if there is any; look asks for a call of behind.
func (p *pacer) take(n int) (ok, look bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on {
		return true, false
	}
	now := time.Now()
	p.credit = min(p.credit+paceBase*now.Sub(p.filled).Seconds(), paceBurst)
	p.filled = now
	if now.Sub(p.looked) >= paceLook {
		p.looked = now
		return false, true
	}
	if p.credit < 0 && !p.free {
		return false, false
	}
	p.credit = max(p.credit-float64(n), -paceBurst)
	return true, false
}

// pacedFS paces the tables Pebble writes.
type pacedFS struct {
	vfs.FS
	p *pacer
}

func (fs pacedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, category)
	return fs.paced(f, category), err
}

func (fs pacedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldname, newname, category)
	return fs.paced(f, category), err
}

func (fs pacedFS) paced(f vfs.File, category vfs.DiskWriteCategory) vfs.File {
	switch {
	case f == nil:
	case category == "pebble-wal":
		return logFile{f, fs.p}
	case category == "pebble-memtable-flush" || category == "pebble-compaction":
		return tableFile{f, fs.p}
	}
	return f
}

type logFile struct {
	vfs.File
	p *pacer
}

func (f logFile) Write(b []byte) (int, error) {
	f.p.logged(len(b))
	return f.File.Write(b)
}

type tableFile struct {
	vfs.File
	p *pacer
}

func (f tableFile) Write(b []byte) (int, error) {
	f.p.wait(len(b))
	return f.File.Write(b)
}
