package here

import (
	"sync"
	"sync/atomic"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
)

// Member is a session as far as it is somebody who is connected here.
type Member struct {
	outgoing.Queue

	// Set before it is registered under its user, never changed after.
	Actor im.Actor
	// How this login stands to others that race with it (the gateway decides): its
	// time, and its place among the Controls of this gateway: when its handshake
	// began, and where the Yield it caused stands, 0 if none was seen.
	LoginAt  int64 // Unix nanoseconds
	Began    uint64
	LoginSeq uint64
	// Since is the tick at which it was welcomed, 0 before.
	Since atomic.Uint32
	// background: it does not make its user present, and is told nothing of others
	// (SPEC §6.10). Set before it is registered, then by Presence alone.
	background atomic.Bool

	// nextOfUser links the sessions of a user; guarded by the user's shard.
	nextOfUser *Member

	links struct {
		sync.Mutex
		gone   bool
		groups []*Group
	}
	// watching is guarded by Presence.mu.
	watching []im.UserID
}

// BeginInBackground is for who says so from the beginning.
func (m *Member) BeginInBackground(on bool) { m.background.Store(on) }

// InBackground tells whether it does not make its user present.
func (m *Member) InBackground() bool { return m.background.Load() }
