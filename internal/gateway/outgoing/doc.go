// Package outgoing is what waits to be written to connections, and who writes it.
//
// It owns, of each connection (Queue), what is queued, framed already and bounded in
// bytes; the answers to sends that have a place in it (answers.go); the positions
// that are told with it (position.go). Of all of them (Queues) it owns the frames
// that many share (Fanout) and the writers. It must not know who is connected, what
// a client may ask for, or what an entry means to a group: it reaches the session
// that a Queue is part of through Owner alone.
//
// Goroutines: as many writers as the process uses cores, each while it has something
// to write (writers.go), and one for a connection whose peer reads slowly. Whoever
// queues and flushes writes to a few sockets at most; what a session answers itself
// its own goroutine writes. Nothing of this waits for a peer, but the goroutine of
// that peer's connection.
//
// Who flushes is the one goroutine that all messages pass, so it writes no more than
// writeHere sockets: with more, a node would take what one core can write. Fewer are
// not worth waking somebody. Measured against a Flush that writes everything, on two
// cores, both servers at the same time: CPU per message 0.99 to 1.02 at saturation,
// 1.00 at 8,000 messages a second, 1.03 and 1.01 at 2,000 and 200; allocations the
// same, context switches 0.88 to 1.00. Batches are smaller then (0.75 to 0.8),
// because nobody waits for the writes before the next, and writes per message 1.04.
// Handing over everything (writeHere 0) costs a third more context switches at
// 2,000 messages a second; 24 or 32 could not be told from 8, nor could pushes that
// wait for 16 batches instead of 8. What more cores gain was not measured.
//
// Lock order: sends.telling → Queue.mu → dirty.mu or the Owner's; writer.mu →
// Counts.mu. Queues.mu is a leaf. No lock is held while a socket is written to.
//
// Invariants, each with a test:
//   - one goroutine at a time writes to a connection, in the order of its queue;
//   - pushes beyond the bound are dropped and repaired by a Resync, answers never are;
//   - who flushes writes to no more than writeHere sockets, and a session waits for
//     its writer once, whatever is queued for it meanwhile;
//   - acks keep their order, whoever tells them;
//   - an ack passes the pushes of a large group;
//   - a writer that is held up holds up its own sessions and no others;
//   - a frame is encoded once per codec and framing, however many get it.
package outgoing
