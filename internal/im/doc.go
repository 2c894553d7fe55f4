// Package im is Skein's domain: the types every other package speaks in, the
// rules that need no I/O, the error type, and the contracts of the seams
// (roles.go) and of the journal (journal.go).
//
// It imports the standard library only, starts no goroutine and takes no lock.
// It does not know protobuf, SQL, sockets or how anything is wired.
//
// Invariants kept here:
//   - an id that came from outside is used only after Parse… accepted it;
//   - a conversation id names its kind, and a dm's id names both its members.
package im
