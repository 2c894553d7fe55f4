// Package gateway is everything between a connection (wire.Conn) and the role
// that decides and stores (im.Logic): handshake, command table, limits,
// heartbeats, and the way back from im.Dispatch to the connections.
//
// It owns the sessions of this process. It must not know how messages are
// stored, who may do what (Logic decides), which transports or codecs exist, or
// how many nodes there are.
//
// Two rooms are apart: outgoing is what waits to be written to a connection, and who
// writes it; here is who is connected, to whom, and in which groups. Here knows
// outgoing, neither knows this package.
//
// Goroutines: one per connection that is not silent, which owns the session's
// state: Serve, the caller's, until the connection parks (wire.Parker), then a
// new one each time it comes back; a parked session has none, and is changed by
// nobody. One for the timer wheel; on demand and bounded, at most callWorkers for a
// session's Calls, one that re-verifies rosters, and one that releases what large
// groups hold (pace.go); those of outgoing. Whoever calls Dispatch queues; nothing it
// calls waits for a peer.
//
// Lock order, outer to inner:
//
//	toldShard.mu → those of package here → the lock of an outgoing.Queue
//
// connections.mu, verifier.mu, pacer.mu, controls.mu, asking.mu and Gateway.mu are
// leaves. No lock is held while Logic, Options.Standing or a socket write runs.
//
// Invariants, each with a test:
//   - no frame of the server but Error and Kick precedes the Welcome;
//   - a session is registered before its groups are read and before its Sync
//     runs, so nothing falls between delta and push;
//   - a Control that arrives while its session authenticates is applied to it;
//   - nobody is told the presence of a user they may no longer watch;
//   - entries of a group are pushed to its members only; after a gap nothing is
//     pushed until the roster of the local members was read again;
//   - from a send on that is refused for now, those behind it in its conversation
//     are refused, until it comes again (order.go);
//   - while more waits to be written or is unanswered than may, nothing is read;
//   - on one connection nothing of a conversation overtakes anything: acks, pushes
//     and heads are queued in the order of the seqs (outgoing/answers.go, told.go);
//   - a large group is pushed one frame each 100 to 500 ms, by its size, and a
//     position, Heads and the acks of those who send are told behind what is held.
package gateway
