// Package ws is the transport of the schemes ws:// and wss://, and of /ws on
// the public HTTP port: a message is a WebSocket message (RFC 6455), text for a
// text codec and binary for a binary one. It owns the upgrade (codec by
// sub-protocol, origins), framing and closing; it knows nothing of what messages
// mean. The handshake is gobwas/ws's on net/http; frames are read here, from
// wire/netio, without holding a buffer while idle.
//
// The one extension is permessage-deflate without contexts (RFC 7692, SPEC §1.8):
// compressors, inflaters and what they write into come from pools for one message,
// so a connection with it costs what one without it does (deflate.go).
//
// Goroutines: net/http's during the handshake; then one per connection, which
// runs serve and references nothing of net/http, or none while it is parked.
//
// Who writes: the session writes data frames, one goroutine at a time, and may
// stop within a frame (TryWrite). Pongs and the answer to a close come up in the
// reading goroutine. They must not stand within a data frame, and the reader must
// not wait for the writer nor the writer for a slow peer's pong. So:
//   - conn.writer is the right to write, held for one TryWrite or Write;
//   - conn.out knows from the written bytes whether the stream stands between two
//     frames;
//   - control frames are put in conn.control (bounded; the oldest pongs drop) and
//     written by whoever has the right to write when the stream stands between two
//     frames: the reader at once if nobody writes, else the writer when done. If
//     the socket takes nothing then, they wait for the next write: a peer that does
//     not read has no use for a pong yet.
//
// Locks: conn.writer before conn.control.mu, which is a leaf. Neither is held
// while serve runs. Close wakes a waiting writer before it takes conn.writer.
//
// Invariants: a control frame never stands within another frame; nothing is
// sent after a close frame; memory for a message is taken after its length
// passed the limit, and in proportion to what arrived; of a deflated message no
// more is inflated than the limit.
package ws
