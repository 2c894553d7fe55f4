package app

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// tidyEvery is the time between two looks.
	tidyEvery = 30 * time.Second
	// tidyLeast is what giving memory back is worth at least.
	tidyLeast = 2 << 20
)

// tidier gives memory back to the system when the process has become quiet. The
// runtime keeps what a burst took: garbage until the next collection, which may
// be two minutes away, the stacks of ended goroutines as long, and pages that
// were freed for the next burst of that size. After 10,000 logins that is more
// than the sessions are.
//
// Quiet is a process that has not given the runtime reason to collect since the
// last look. A collection more costs what any one costs: so it has to pay, an
// eighth of the memory must have come since the last time, and there is one in
// tidyEvery at most. GOGC=off is respected: then nothing is collected here.
type tidier struct {
	read func() footprint
	free func()
	// allocated is at the last look, held after the last tidying, or less.
	allocated uint64
	held      uint64
}

// footprint is the runtime's memory in bytes.
type footprint struct {
	allocated uint64 // since the start
	live      uint64 // found by the last collection
	held      uint64 // of the system's memory
	off       bool   // GOGC=off
}

func newTidier() *tidier { return &tidier{read: readFootprint, free: debug.FreeOSMemory} }

// start looks again and again, in a goroutine that stop ends and waits for.
func (t *tidier) start() (stop func()) {
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tidyEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ending:
				return
			case <-ticker.C:
				t.look()
			}
		}
	}()
	return func() { close(ending); <-ended }
}

func (t *tidier) look() {
	now := t.read()
	quiet := now.allocated-t.allocated < now.live // GOGC=100 means: collect after that many
	t.allocated = now.allocated
	t.held = min(t.held, now.held)
	if !quiet || now.off || now.held-t.held < max(t.held/8, tidyLeast) {
		return
	}
	t.free()
	t.held = t.read().held
}

func readFootprint() footprint {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/gogc:percent"},
	}
	metrics.Read(s)
	return footprint{
		allocated: s[0].Value.Uint64(), live: s[1].Value.Uint64(),
		held: s[2].Value.Uint64() - s[3].Value.Uint64(),
		off:  s[4].Value.Uint64() == math.MaxUint64,
	}
}
