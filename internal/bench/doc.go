// Package bench measures a server the way users load it: virtual users over
// real sockets, durable acks, every message accounted for at its receiver.
//
// It owns the scenarios, the load generator's own lean client, the measuring of
// the server's process, the floor to compare with, and the report. It knows the
// protocol only, never the server's inside (the scenario `store` apart, which
// drives a journal).
//
// A scenario runs in a coordinator (run.go), which starts the server, makes the
// users, and tells workers what to do (worker.go). A worker drives a share of
// the users (traffic.go): in this process, or in a child process when one would
// run out of file descriptors or source ports. What an entry's receiver must have
// is kept in ledgers (ledger.go).
//
// Goroutines: one reader per connection and one pacer per worker while a
// scenario runs; all end with the scenario. Locks: a user's mu, then a
// conversation's mu.
//
// Invariants: latency counts from the intended send time (an open loop that
// falls behind shows it); warm-up is not counted; a message is lost, duplicated
// or out of order by its id at the receiver, never by comparing totals.
package bench
