// Package backup copies an embedded store away, and brings it back.
//
// A backup lies in a repository: a directory, or a prefix in a bucket of any
// S3-compatible store. Files are cut into chunks, and a chunk is kept under the
// hash of its content, once, whatever number of backups hold it. So a backup
// copies only what changed since the ones before, and each is complete by itself.
//
//	backups/<id>.json     what a backup holds (Manifest); written last
//	chunks/<hh>/<sha256>  the content
//
// Pictures and files are held blob by blob, as chunks of the same kind: those that the
// store's directory names, and a list of them. A blob never changes, so one that the backup
// before held is not read again. One that is not where it should be, or is damaged there, is
// noted and told, and the backup goes on: it is what there is. Restore puts blobs where the
// new configuration keeps them. The index of searches is not held: it is made anew.
//
// Secrets of the server (the data directory's `keys`) are not in it: they go to a
// repository of their own, if at all (PutKeys).
//
// What is copied stands still: a snapshot that the server made (app), or the
// data directory of a stopped one. It is read whole before, entry by entry, and
// its digest is in the manifest; the chunks are read back after. Restore compares
// every chunk, and gives the journal another timeline, because clients may know
// messages that the backup does not. Drill restores to a place of its own, reads
// everything, and compares the digest.
//
// Goroutines: none. Locks: none. Memory: a chunk or two.
//
// Invariants:
//   - a manifest is there only when every chunk of its backup is, and was read
//     back with the right content (a blob's, when it was stored first);
//   - the source is never changed;
//   - Restore leaves all of a store behind, or nothing.
package backup
