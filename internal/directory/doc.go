// Package directory keeps the relational facts: users, sessions, contacts,
// groups, rosters, the outbox, the followers, and the answers to calls with
// idempotency keys. It holds the SQL, one text for two dialects, and the schema's
// migrations; the engines (directory/sqlite, directory/postgres) open the database
// and say what is special about it. A migration that only one dialect needs has its
// name at the end of the file's.
//
// It decides nothing: who may do what is decided by the business packages,
// which declare the interfaces that DB implements. It must not know them, nor
// a driver.
//
// Rules for the SQL, so that both dialects take it:
//   - placeholders are $1, $2 …, bound by number;
//   - times are BIGINT, Unix milliseconds, 0 for none (msOf, timeOf);
//   - hashes and other bytes are BYTEA, numbers BIGINT, booleans BOOLEAN, ids TEXT;
//   - a conflict is found with ON CONFLICT DO NOTHING and the number of rows,
//     never by parsing an error;
//   - a row that a decision depends on is locked by updating it (SQLite has no
//     SELECT … FOR UPDATE, PostgreSQL has more than one writer);
//   - what a function given to tx tells its caller it sets anew each time: it is
//     run again when it met another writer;
//   - lists behind IN come from the function in;
//   - order by ids only with the same column in the page's cursor.
//
// Goroutines: none. Locks: DB.mu around the table of prepared statements only,
// places.mu around what is kept of users' places only. Writes of an embedded
// database share commits (together): together.run is held during one,
// together.mu around the queue only, never both.
//
// Invariants:
//   - a write is all or nothing: all of it is durable when the method returns
//     nil, none of it otherwise, whatever happens to the caller's context and to
//     those who share its commit; an error with the code unknown tells that it
//     may be either, and then only looking helps. NoteWrote and OpenDM, which do the
//     same again as once, may have been done after any error;
//   - with several writers nothing depends on who else writes: what is decided on
//     is locked before it is read, a group's row before its promise and its
//     members, a user's before their sessions;
//   - a read finds every write that returned before it began, also when it is
//     answered from RAM;
//   - a schema newer than the binary knows is refused before anything is read;
//   - no secret is kept, only hashes.
package directory
