package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/platform"
	"github.com/skein-im/skein/internal/supervise"
)

// A start writes: what the journal's log holds is put into tables, and each store begins
// files of its own. On a disk without room for that the journal tries again for ever, and
// nothing listens meanwhile. So it is waited for before a store is opened, and told.

const (
	// roomToStart is what a start writes besides what the journal's log holds.
	roomToStart = 4 << 20
	// roomLook is how often is looked for room, roomTold how often the log says that it is
	// still waited for.
	roomLook = time.Second
	roomTold = time.Minute
)

// waitForRoom returns when there is room for the start of an embedded store. What the
// journal keeps in reserve for a full disk is given up for it.
func (a *App) waitForRoom(ctx context.Context, free func(dir string) (uint64, error)) error {
	if free == nil {
		free = platform.Free
	}
	journal := a.data.file("journal")
	lacking := func() (why string, err error) {
		need, err := pebble.RoomToOpen(journal)
		if err != nil {
			return "", err
		}
		need += roomToStart
		has, err := free(a.cfg.Data)
		if err == nil && has < need && pebble.GiveUpReserve(journal) {
			a.log.Error("the disk is full: the journal's reserve was given up for the start", "dir", journal, "free", has)
			has, err = free(a.cfg.Data)
		}
		if err != nil || has >= need {
			return "", nil // where it cannot be asked for, what is too much fails when it is written
		}
		return fmt.Sprintf("waiting for room before it can start: %d bytes are free in %s, %d are needed", has, a.cfg.Data, need), nil
	}
	why, err := lacking()
	if why == "" || err != nil {
		return err
	}
	var reason atomic.Pointer[string]
	reason.Store(&why)
	defer a.answerWaiting(&reason)()
	tick := time.NewTicker(roomLook)
	defer tick.Stop()
	var last time.Time
	for {
		if time.Since(last) >= roomTold {
			a.log.Error(why)
			a.tell(supervise.Status(why))
			last = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped while it was %s", why)
		case <-tick.C:
		}
		if why, err = lacking(); why == "" || err != nil {
			if err == nil {
				a.log.Info("there is room: the start goes on")
				a.tell(supervise.Status("starting"))
			}
			return err
		}
		reason.Store(&why)
	}
}

// answerWaiting answers at the private port while nothing else does, until stop. A port
// that the supervisor opened is left for the server: who asks there waits.
func (a *App) answerWaiting(reason *atomic.Pointer[string]) (stop func()) {
	if a.cfg.Admin.Listen == "" || a.sockets[socketNames["admin.listen"]] != nil {
		return func() {}
	}
	l, err := net.Listen("tcp", a.cfg.Admin.Listen)
	if err != nil {
		a.log.Warn("the private port does not tell what is waited for", "err", err)
		return func() {}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(readiness{Reasons: []string{*reason.Load()}}) // a client that went away
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l) // it ends when it is closed
	}()
	return func() {
		_ = s.Close()
		<-ended
	}
}
