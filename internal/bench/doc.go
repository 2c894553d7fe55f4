// Package bench measures a server the way users load it: virtual users over
// real sockets, durable acks, every message accounted for at its receiver.
//
// It owns the scenarios, the load generator's own lean client, the measuring
// of the server's process, and the report. It knows the protocol only, never the
// server's inside. The server runs in a process of its own on the same machine;
// its CPU time is read from the kernel.
//
// Goroutines: one reader per connection, one sender per connection while a
// scenario sends. All end with the scenario.
//
// Invariants: latency counts from the intended send time (an open loop that
// falls behind shows it); warm-up is not counted; a message is lost, duplicated
// or out of order by its number at the receiver, never by comparing totals.
package bench
