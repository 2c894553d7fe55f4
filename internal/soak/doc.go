// Package soak puts virtual users on a server, writes down everything they see
// (the history) and checks it against what Skein promises (the invariants).
//
// It owns the workload, the clients, the history and the checker. It knows the
// protocol and the SDK as any client does, and nothing of the server's inside:
// who runs the server, hurts it and reads its store is the caller's business
// (test/faults).
//
// Goroutines: a raw client runs one that keeps it connected and, while it is, a
// reader and a writer; an SDK client runs one that handles events; a Process, one
// that waits for its process's end; the workload runs one per sending device. All end with Close or with the context they were
// given. Locks: rawClient.mu and sdkClient.mu guard a client's state,
// Recorder.mu a history's file; a client's lock may be held while the recorder's
// is taken, never the other way round. Process.call is held for a request to the
// process, and taken before Process.mu, which guards which process it is.
//
// Invariants:
//   - a record is in the history before what it tells becomes visible to
//     anybody else, so that a kill of the client loses no claim;
//   - every message's content is unique in a run, so that what is stored is told
//     by its hash, whatever became of its id;
//   - the checker believes nothing that a client derived: it compares what was
//     asked, answered and shown.
package soak
