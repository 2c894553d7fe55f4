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
// A worker drives its users on one thread over epoll (loop_linux.go), and so does
// the floor (floor_linux.go): what measures must leave the cores to what is
// measured. Frames that every message costs are made and read by hand (hot.go). A
// client sends (sending.go), takes what comes (user.go) and keeps alive (alive.go)
// as the SDKs do: it pings with a digest, syncs when it differs, and lets the next
// message take the place of a refused one.
//
// Goroutines: one per worker from the first login on, on a thread of its own;
// those that log users in; where there is no epoll one reader per connection. All
// end with the scenario. Locks: a user's mu, then a conversation's mu; the times'
// and the loop's mu are taken last.
//
// Invariants: latency counts from the intended send time (an open loop that
// falls behind shows it); a rate is exact in every second; warm-up is not counted; a message is lost, duplicated
// or out of order by its id at the receiver, never by comparing totals.
package bench
