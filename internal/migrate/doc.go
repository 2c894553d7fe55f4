// Package migrate copies the embedded store (Pebble and SQLite) to PostgreSQL:
// the directory with its sessions and tokens, and the journal with its timeline,
// numbers, ids, hashes, times, positions and marks. A client goes on with what
// it has, and notices nothing but a pause.
//
// It knows the engines, and nothing of what the data means. Who calls it holds
// the data directory, so that no server uses the source.
//
// Order: the directory table by table, entries and marks page by page, then a
// comparison of everything with the source, and only then is the database
// usable. What is copied is noted in the database, with the page itself: who was
// interrupted goes on behind the last page. When a server used the source in
// between, the copy begins anew.
//
// Memory: a page of entries, and as many numbers as there are conversations in
// it; rows of the directory are streamed.
//
// Goroutines: during the comparison one reads the source while the caller's
// reads the database. Locks: none.
//
// Invariants:
//   - the source is never changed;
//   - a database that is in use, or another source's, is refused unchanged;
//   - a database is usable (its journal opens) only after all of it was found to
//     be equal to the source.
package migrate
