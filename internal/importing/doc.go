// Package importing brings what was said elsewhere into a store: the exports of Slack,
// Mattermost and Rocket.Chat (docs/migration.md says how they are made, and what of them
// comes over).
//
// It goes two ways over an export. A Source, one for each system, reads it and tells a
// Collector, in words that are nobody's: users, conversations, messages. The Collector keeps
// the first two, and sorts the messages by conversation and time, on disk where they are
// many. Then the writer makes accounts, groups and direct chats of them, and stores the
// messages in their order, with their times, and their files.
//
// It writes to a store that no server uses (app.OpenOffline holds an embedded one, and a
// database against other imports; that no node is connected to it it looks once, and whoever runs
// it starts none meanwhile), because a server
// decides what is stored when, and stores at its own time. So nothing is fanned out, and
// nobody is woken: to the devices that come later it is history. Search and whatever else
// follows the journal finds it there, as all else.
//
// It must not know engines, HTTP, or who may do what.
//
// Memory: users, conversations and the first messages of threads are kept (some 300 bytes
// for each), of messages at most sortBytes (32 MiB) and 64 KiB for each of the files that they
// are sorted in, which is one for every 32 MiB. One line or one object of an export is at
// most maxObject long. Of Mattermost some 40 bytes a post are
// kept beside (mattermost.posts), of Rocket.Chat some 180 an upload (rocketchat.uploads); nothing
// else depends on how long an export is, and files go through in pieces.
//
// Goroutines: none. Locks: none; a run is one goroutine's.
//
// Invariants:
//   - what an import makes has ids that follow from where it comes from: the workspace's
//     name, and the id there. So a second run finds all of it and adds nothing, and one that
//     was killed goes on: what is stored is asked for before it is stored;
//   - each message of the export is counted once: written, already there, or left out for a
//     reason that the report names;
//   - times do not go back within a conversation. One that has messages of its own, or has
//     got some since an import was cut off, takes no older ones: they are left out, and told;
//   - a file that may come later (Slack limits, or does not answer) stops the run: what is
//     stored once without its file stays without it;
//   - what is written has a line in the audit log before it, which says at the end how much it was;
//   - what cannot be read is told with its file and line, and the rest goes on. A message is
//     stored as a whole or not at all;
//   - nothing outside of the export's directory or zip is read, and of a zip no more than it
//     says of itself, and than is usual of compression.
package importing
