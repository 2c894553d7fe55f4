package soak

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// Device is a virtual user's client: it keeps itself connected, applies what
// arrives, and writes all of it down.
type Device interface {
	// Name is the user's and the device's id.
	Name() (user, device string)
	// Send sends a text that no other message of the run has. It returns when the
	// message is in the device's outbox, and waits while too many are.
	Send(ctx context.Context, conversation, text string) error
	// MarkRead marks everything the device holds of the conversation as read.
	MarkRead(ctx context.Context, conversation string) error
	// Pending is how many messages wait for an answer.
	Pending() int
	// Holds is up to where the device holds each conversation.
	Holds() map[string]uint64
	// Close ends it and tells whether its history is whole.
	Close() error
	// View is what the device keeps, read after Close.
	View(ctx context.Context) (View, error)
}

// DeviceOptions is what a device needs to be one.
type DeviceOptions struct {
	// URLs are where the server listens: ws://host/ws or tcp://host, one for each
	// gateway. A device that loses its connection tries the next one.
	URLs  []string
	Token string
	User  string
	// Device is its id.
	Device string
	Codec  wire.Codec
	// History is where it writes what it sees.
	History *Recorder
	// InFlight bounds the messages that wait for an answer; default 64.
	InFlight int
	// Reconnect is the longest wait before it connects again. 0: the SDK's own, and
	// RestartStorm for a raw client.
	Reconnect time.Duration
	// Patience is how long a raw client waits for an answer while it hears nothing,
	// before it tries elsewhere. 0: for ever. The SDK has its own.
	Patience time.Duration
	// Stay is how long a raw client stays connected at most. 0: for ever.
	Stay time.Duration
	// Mortal: its process may be killed at any moment. What became of a message is
	// then told by events as well, perhaps to another process than sent it, and
	// nothing is claimed that is not on disk yet.
	Mortal bool
	// Slow is how long an SDK client's program takes with an event at most, so that
	// some wait for it.
	Slow time.Duration
	// Acked, if set, is told where the device's messages stand. It must not block.
	Acked func(spot)
}

func (o DeviceOptions) inFlight() int {
	if o.InFlight > 0 {
		return o.InFlight
	}
	return 64
}

// RestartStorm is a Reconnect so short that every restart of the server is
// followed by a storm.
const RestartStorm = 150 * time.Millisecond
