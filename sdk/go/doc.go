// Package skein is the Go client of Skein: it keeps a connection to a server,
// sends messages that survive a crash, and applies everything that happens in
// the user's conversations to a local store, in order and exactly once.
//
// It owns the client's state machine (core), the connection to the server
// (link) and the way events reach the program (hub). It must not know the
// server's packages: the protocol in proto/SPEC.md is all they share.
//
// # Goroutines and locks
//
// One goroutine owns the state of a Client (core.run); public methods hand it
// closures and wait for the answer. While connected a reader and a writer
// goroutine serve the socket, while connecting one goroutine dials. Locks are
// leaves, held for a few instructions and never together: link.mu (bytes to be
// written), hub.mu (passing events). Close ends all goroutines
// before it returns.
//
// # Invariants
//
//   - A message is in the store's outbox, with its id, before its first byte is sent.
//   - Of each conversation the store holds one contiguous window [Low..High]: every
//     entry of it that amends nothing, as it is now. Entries are applied next to High
//     only, each once; what comes early, an entry or a stretch, waits in memory until
//     what is before it was pulled. Older history extends Low downwards, on demand.
//     What lies between two times of membership in a group is not the user's: it is no
//     hole, next to the last entry of one time is the first of the following.
//   - Amendments (recalls and whatever else names a target) have their places and are
//     not kept: what they made of their targets is, and High passes none before that is
//     stored. Of two states of an entry the one that was amended later is the newer, in
//     whatever order they come; what was recalled stays so.
//   - A Sync is proved by the newest entry of all that were applied or wait to be, also
//     by one that is not kept.
//   - If more than the gap limit was missed, the window starts anew at the newest
//     entries and a GapEvent tells what was left out; nothing is skipped silently.
//   - What one turn of the loop changed (entries, windows, marks, position, outbox,
//     event queue) is one atomic batch. Acks are reported, received marks sent
//     and events delivered only after the batch is in the store.
//   - Who is a member since when and until when is what the server told last; an
//     entry that is older changes nothing of it.
//   - A position is saved in the same batch as what came with it; a conversation
//     whose head is known to lie beyond its window is remembered as such.
//   - Events about stored things are read from a queue in the store: a slow
//     handler delays them but loses none, and neither does a crash.
//   - A store that fails ends the client: memory never runs ahead of the store.
package skein
