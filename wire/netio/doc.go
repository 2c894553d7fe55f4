// Package netio is the socket layer under Skein's transports. It owns how
// bytes are taken from and given to a net.Conn; it knows nothing of frames,
// codecs or sessions.
//
// A Socket holds no read buffer while it waits: on sockets of the operating
// system it attempts the read inside the poller's callback with a buffer from a
// pool, which goes back when there is nothing to read. Other connections (TLS)
// wait with a 64-byte buffer. What arrived of an incomplete message is kept in
// memory proportional to what arrived, never to what was announced.
//
// With a Poller (Linux) a silent socket need not have a goroutine either: the
// reader parks it and ends, and another goroutine goes on when there is
// something to read. Invariants: a wait that began is ended exactly once, by the
// first of a byte, the peer's end, BeginClose and the Poller's end; at any time
// the reader is one goroutine or none; a socket is in epoll while it is parked
// and not otherwise.
//
// Goroutines: one for each Poller, and for the end of each wait the one that
// calls resume, which is the reader's from then on; one per closed socket for at
// most a second (see Socket.Close).
//
// Locks, outer first: Socket.reading is held while a read waits, and taken by
// the closing goroutine after it has woken the reader. Poller.mu is held for a
// system call at most, never while resume runs.
package netio
