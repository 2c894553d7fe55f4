package later

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"
)

// worker looks every second for what is due, and leaves the work to the one process
// that has the lease.
//
// Goroutines: one, from Start to Close.
type worker struct {
	lease   leasing
	look    func(context.Context) error
	what    string // it is that waits, while the directory cannot be asked
	log     *slog.Logger
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
}

// begin makes one; node names this process, and alone tells that no other has the store.
func (w *worker) begin(name string, store Lease, node string, alone bool) {
	w.lease = leasing{name: name, store: store, holder: node + "/" + rand.Text(), alone: alone}
	w.life, w.end = context.WithCancel(context.Background())
}

// Start begins to look.
func (w *worker) Start() { w.running.Go(w.run) }

// Close ends it, and waits for what is being done to be answered or given up.
func (w *worker) Close() {
	w.end()
	w.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	w.lease.leave(ctx)
}

func (w *worker) run() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	failed := false
	for {
		err := w.look(w.life)
		if err != nil && !failed && w.life.Err() == nil {
			w.log.Warn(w.what+" wait: the directory cannot be asked", "err", err)
		}
		failed = err != nil
		select {
		case <-w.life.Done():
			return
		case <-ticker.C:
		}
	}
}
