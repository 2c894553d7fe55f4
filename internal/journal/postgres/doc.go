// Package postgres is the journal engine on a PostgreSQL database, version 15 or
// later, which any number of processes append to. It knows the domain's contract
// of a journal and the database, and, to rewrite tables of old versions, the form of
// bodies (internal/entrycodec); nothing else of the server.
//
// # Append
//
// A batch is one call of one function in the database, so one round trip, in a
// transaction that begins and ends with it: a process that is frozen, or cut off,
// holds no locks. The function makes missing heads, moves the heads in the order
// of their slots and names, which locks them, and only then looks for duplicates:
// an id is unique for its sender in its conversation, so whoever stored it held a
// lock that is ours now, and the look has a newer snapshot than the lock. As long
// as no duplicate was seen there is no look: the unique index refuses one, nothing
// is stored, and the batch is run again with it, once. The locks and the unique
// index are all that safety rests on: no clock, no lease, no retry of an unknown
// outcome. Every batch writes, also one of duplicates, so its answer has waited for
// all before it to be durable.
//
// Items that depend on what became of others are treated one by one in the same
// call: those of a conversation with a change of the roster, an amendment, or an id
// that is in the batch twice. An amendment looks at its target's row and changes it
// under the lock of the head, so it sees what was stored before it, also in the
// batch, and nobody changes the target meanwhile.
//
// # Entries, slots
//
// An entry is a row of what the server acts on, and a body that nobody here looks
// into. All keys carry a slot, a hash of the conversation's name, or of the user's
// for marks (slots.go): what is in some slots can be found, and one day moved to
// another server, without a look at the rest. A conversation has a number within its
// slot, which stands for its name in the rows of entries. The numbers are of 32 bits,
// which saves 12 bytes for every entry; a database has room for 2^31 conversations.
//
// # Pages
//
// A page (page.go) is read by the same index as entries are: its end is found by
// counting what is no amendment, at most pageRows away; then come those entries, and
// the targets of the amendments, once each. Targets that lie outside are a second
// question. Between the two somebody may amend one of them: it is told as it is then.
//
// # Positions
//
// A transaction has an id x, given in ascending order, and an entry's position is
// at least base + x: greatest(position of the head, base + x). Position answers
// base + m - 1, m being the least id that is running in its snapshot.
//
//   - Whoever is told P sees all with a position ≤ P: such an entry has
//     x ≤ P - base < m, so its transaction is over, and visible to every later
//     snapshot if it committed. Nothing later can get such a position, as it has
//     x ≥ m.
//   - Positions do not fall within a conversation: the head's is read under its
//     lock. A position that was raised to the head's is not less than its own x,
//     so the above holds for it.
//   - P does not fall, as m does not, and reaches all that was committed once no
//     older transaction runs.
//
// Whose transaction it is does not matter: one that somebody leaves open with an
// id, in any database of the server, or prepared, holds the position back for
// everybody. Nothing is lost by that; what came after it is told again with every
// sync. A goroutine looks (held.go); metric, log and Trouble name who it is.
//
// So who follows (follow.go) asks for the position, and then for a stretch of entries
// up to it: whatever any process stores later is beyond. The index of positions knows
// the pages of the table only, and a page that is not in it yet is read by every
// question, so a stretch is as many positions as had about as many entries as are
// wanted. It knows several intervals of positions for each range of pages, as newer entries
// are stored where older ones were trimmed (positions.go).
//
// A server that recovers from a crash, is promoted or restored may give ids again
// that it gave to transactions of which nothing reached the disk, and which may
// have been counted in a P. All these empty the unlogged table journal_alive;
// Append and Position refuse to work until journal_adopt has raised base, by more
// than there can be such ids, and filled it again.
//
// # Timeline
//
// journal_adopt runs on every new connection. It compares which cluster,
// database and table it finds, and the server's WAL timeline, with what is noted:
//
//   - another cluster, database or table: a dump was restored. New timeline.
//   - another WAL timeline: a standby was promoted, or an older copy recovered.
//     New timeline, unless all that was acknowledged before had waited for a
//     synchronous standby.
//   - the same with an empty journal_alive: a crash. New timeline only if fsync
//     was off.
//
// # History
//
// A position is told together with the era it is told in (im.Place). Eras are in
// journal_eras; one begins with every start of a server, at the position that
// journal_reached tells. No position beyond that row is ever told: who wants to
// tell more writes it first (journal_reached, at most 20 times a second and
// process). All that is not after it had committed before it, so a copy of the
// database, or what a crash leaves, that has the row has all of that: what was
// told in an era is of this history if and only if it is not beyond the beginning
// of the next one. The transaction ids themselves would not do: a crash takes
// back some that were counted in a position and that nothing is left of.
//
// A server that starts has new connections only, and each runs journal_adopt
// before anything else, so nothing is stored or told before the era is there. A
// server that went back without ending (a virtual machine with its memory) is
// noticed by the first process that was told more, which begins an era.
//
// A process remembers what it told and the last entry it stored; if an era begins
// without one of them, its history went back: see Options.WentBack.
//
// # Versions
//
// journal_meta tells which version the tables have, and the least that a program
// must know to use them (internal/schema). A program that knows less than the
// version and no less than that goes on, and may be started. Every connection
// shares an advisory lock on the version its program knows; a step that shuts
// programs out takes theirs alone, in its transaction, so it is taken when none of
// them is connected, and whoever connects next is refused by journal_adopt, before
// it does anything. The position, which every node asks for all the time, tells the
// two numbers as well. A step that waits for a table in use gives up after 0.4 s and
// tries again, so that appends, which would wait behind it, do not give up.
//
// Tables of versions 1 to 3 are rewritten by the first start (rewrite.go), in one
// transaction, while no program of such a version is connected; who is killed
// leaves them as they were. The history is the same afterwards: timeline, eras and
// positions are carried over, and the identity, which names the table of entries,
// names the new one if it named the old one.
//
// # Import
//
// Importer fills an empty database from another journal (import.go). Entries and
// marks keep their positions, the journal its timeline and eras, and base is set to the
// last position there was: whatever is stored later is beyond it. The table
// skein_migration notes how far it got; Open refuses a database where that is not
// the end.
//
// # Marks
//
// Marks are written behind, twice a second. Until then they are in memory, with a
// position beyond all others: whatever position a device synced at, on whichever
// process, the mark is new to it. What a user set for themselves (Mark.Mine) is
// written with them, also if a process remembers it to be so already: of what several
// processes set the last that is written counts. Written, it has that of its transaction, and who
// waits for it is called; if somebody does, soon, they are written soon. What waits
// when the history turns out to have gone back is dropped, and who waits is told:
// where the entries were that it is of, there may be others.
//
// # Locks of others
//
// Somebody may keep a lock: psql with an open transaction, a dump, a tool. No
// statement waits longer than a second for one, or than ten in all, and then did
// nothing.
//
// An append of which the caller holds aside what is locked (im.Append.NoWait) waits for
// a lock as long as three usual appends take, 5 to 100 ms: as another process that
// appends there does. Then it looks which of its conversations' rows are locked (SKIP
// LOCKED), leaves those out, as Locked, and stores the others. While rows are known to
// be locked, a goroutine looks at them (locked_watch.go): they are left out without a
// question, and asked for again when they are free. One that the same transaction holds
// for a second is Busy, and named. So a locked row costs the others those few
// milliseconds, once. The look costs the append nothing otherwise: to lock all rows with
// SKIP LOCKED first would lock each twice.
//
// What such a look does not find is waited for as before, for a second, and then the
// batch is refused: a locked table, the row of an entry that the batch amends, a
// conversation that somebody is making in an open transaction. No append waits for a
// row that all conversations share: how far positions may be told (journal_reached) is
// not written by appends.
//
// Marks likewise: what is locked is left out, and while there is such a mark all
// writes look first. Reads of a
// table that is locked as a whole are refused at once for a second after one of
// them waited in vain, so that they do not use up the connections. An append that
// gets no answer at all is given up, with its outcome unknown, and never
// cancelled: one that waits for a synchronous standby would be seen by others
// before it has arrived there. Trouble tells all this to operators.
//
// # Goroutines, locks
//
// Open starts the writer of marks, and who looks for what holds the position; a lock
// that is found starts who looks at locked rows, until they are free; the first trim, in
// tables of before, who exchanges the index of positions, on a connection of its own; the
// pools have goroutines of their own; Close ends all. marks.mu, known.mu, locked.mu and held.mu
// guard the memory, are never held together, and never while the database is asked; history.mu is taken before marks.mu by who drops
// marks with their history; flushMu, taken before marks.mu, is held by who writes marks. life is held for reading by every call, for writing by Close.
package postgres
