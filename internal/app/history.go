package app

import (
	"sync/atomic"
	"time"
)

// history passes on that the database is not, or no longer, what it was.
type history struct {
	app atomic.Pointer[App] // from when there is somebody to tell
	// last is what was last said of it.
	last atomic.Pointer[setBack]
}

// setBack is a time at which the history went back.
type setBack struct {
	at  time.Time
	why string
}

// wentBack drops what is remembered here and tells the clients.
func (h *history) wentBack(why string) {
	h.last.Store(&setBack{time.Now(), why})
	a := h.app.Load()
	if a == nil {
		return
	}
	a.members.contacts.Forget("", "")
	a.members.groups.WentBack()
	a.messaging.WentBack()
	if a.gateway != nil {
		a.gateway.WentBack()
	}
}

func (h *history) newEra() {
	if a := h.app.Load(); a != nil && a.node != nil {
		a.node.NewEra()
	}
}
