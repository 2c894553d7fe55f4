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
// Goroutines: none of its own, except one per closed socket for at most a
// second (see Socket.Close).
//
// Locks: Socket.reading is held while a read waits, and taken by the closing
// goroutine after it has woken the reader. It is never held with another lock.
package netio
