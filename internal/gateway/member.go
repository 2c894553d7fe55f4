package gateway

import (
	"sync"
	"sync/atomic"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
)

// member is a session as far as it is somebody who is connected here.
type member struct {
	outgoing.Queue

	// Set before it is registered under its user, never changed after.
	actor im.Actor
	// How this login stands to others that race with it (see remembered.beats): its
	// time, and its place among the Controls of this gateway: when its handshake
	// began, and where the Yield it caused stands, 0 if none was seen.
	loginAt  int64 // Unix nanoseconds
	began    uint64
	loginSeq uint64
	// since is the tick at which it was welcomed, 0 before.
	since atomic.Uint32

	// nextOfUser links the sessions of a user; guarded by the user's shard.
	nextOfUser *member

	links struct {
		sync.Mutex
		gone   bool
		groups []*group
	}
	// watching is guarded by presence.mu.
	watching []im.UserID
}
