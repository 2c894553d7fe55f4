// Package pebble is the embedded engine of im.Journal, on the Pebble key-value
// store. It passes internal/journal/journaltest.
//
// It owns one directory: `db` (Pebble's files), `witness` (see witness.go),
// `files` (ledger.go) and `lost-1` … (what was there when a loss was accepted).
// It does not know what a message means, who may send one, or who reads it.
//
// # Keys
//
//	0x00 name                      meta: schema version, timeline, a bound of ids, the secret of ids
//	0x00 gone epoch(4)             something was given up of this epoch (gone.go)
//	0x1e id(16) names(8)           id of an entry → seq, hash; names: a hash of conversation and sender (keys.go)
//	0x1f id(16) names(8)           the same for ids that do not come in order
//	0x21 sender                    an id greater than all of this sender, or equal
//	0x22 len user conversation     mark → received, read, count at read, pos, what the user set for themselves
//	0x23 slot(2)                   chain value of a recent position, a ring
//	0x24                           the last position, its chain value and the epoch
//	0x25 len conversation seq(8)   segment: from this seq on entries lie in an epoch
//	0x26 number(8)                 an era of the history → id, begin (eras.go)
//	0x27 len conversation seq(8)   this message was recalled → position of the recall (recalls.go)
//	0x2f ^epoch(4) len conversation seq(8)   entry → record (record.go)
//
// Lengths are one byte, so a prefix is never ambiguous, whatever the ids hold.
// Entries lie by epoch first (segments.go), so that what a message costs does
// not grow with the journal. There is no key for the head of a conversation: it
// is its last entry. An entry that is amended is written again where it lies, with
// what it is now; the amendment is an entry of its own (amend.go). One that is trimmed
// is, too, without what it said (trim.go). The other spaces are those of older schemas (migrate.go).
//
// # Goroutines and locks
//
// Append runs on its caller's goroutine, one at a time, and so do the steps of a trim
// between them. Four goroutines are the
// journal's own: one writes the witness behind the commits, one writes marks
// beside them, one begins an era now and then, one gives back the room of what was trimmed. Pebble's own flush and merge; the pacer (pace.go) makes them
// give way to commits.
//
// pairMu orders what is kept of the directory (pair.go) and is held during an
// fsync. The ledger's locks are Pebble's background work's and taken last.
//
// windows.mu is held while one who follows reads a part of an epoch (follow.go).
//
// Lock order: life → trimMu → windows.mu → mu, life → marksMu → flushMu → mu, and
// life → trimMu → appendMu → mu; gone.mu is taken last. life is
// held for reading by every call and taken by Close. marksMu orders SetMarks
// calls, flushMu the writes of marks. appendMu orders commits and is held
// during an fsync. mu guards what readers and the committer share (heads,
// durable position, marks in memory) and is never held during I/O.
//
// # Marks
//
// Marks are in memory first and written together, a little later, by one
// goroutine: all that are dirty when a write begins fly, are stored in parts
// beside the appends, the last part with an fsync, and land; then who waits for
// one of them is called. So any number share an fsync.
//
// # Invariants
//
//   - Append answers only after its batch is durable (fsync), and readers see
//     nothing that is not: Pebble shows a batch before its fsync is done, so
//     reads leave out entries beyond the durable position, and show what such a
//     batch amends as it is durable (Journal.held).
//   - Whether an amendment's condition holds is decided from its target as the items
//     before it leave it; the target is written in the same batch, once, and so
//     is that it was recalled. What was recalled stays so.
//   - A conversation has at most one segment per epoch, its entries of that epoch,
//     and the first segment begins with seq 1. A segment is stored in the batch
//     of its first entry.
//   - (conversation, sender, id) is stored once, for ever. An id greater than all its
//     sender stored, in any conversation, is new for certain; any other is looked up.
//     A key of ids has a hash of the names, so what is found counts only if the entry
//     there has this id and sender. The bound of a sender's
//     ids is kept in memory exactly, and on disk some minutes ahead, moved in the
//     same batch as the id that passes it; until a sender has passed what was
//     read, the greatest id of the whole store is its bound if that is less. No
//     clock of ours is involved, and a client whose clock is ahead costs
//     look-ups of its own ids, and for those minutes after a restart of others'.
//   - Every opening begins an era, and so does every hour in which something was
//     stored: its id and the position are durable before the first position of it
//     is given out. So a position that another copy of this directory gave out,
//     or this one before it was put back, is told apart for ever.
//   - After a failed commit or fsync nothing is ever acknowledged again.
//   - A start that is refused wrote nothing: all that can refuse it is read before
//     (check.go), through a file system that cannot write.
//   - No file is deleted, and no log reused, before the ledger knows the manifest
//     that allows it.
//   - A journal that came back shorter than it was witnessed, or with another
//     content, is not opened unless the operator accepts the loss; then the
//     timeline changes.
package pebble
