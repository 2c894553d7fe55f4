// Package certs is where the server's certificates come from: files, which are read again
// when they change, and authorities that speak ACME (RFC 8555), such as Let's Encrypt.
//
// It owns when files are looked at, and what ACME keeps. It knows nothing of what is said
// over the connections.
//
// Invariants:
//   - who connects gets the certificate of files that were changed a second ago at most;
//     connections that are there already live on with the one they have;
//   - files that cannot be used, or do not belong together, change nothing: the certificate
//     from before stays, and the log has one line for each such state of the files. So it
//     does not matter which of the two is replaced first.
//
// Goroutines: none of its own; files are looked at by who connects. Locks: Files.mu, under
// which files are read.
package certs
