// Package app ties the knot: it opens the stores, makes the services, the
// gateway and the doors, starts and stops them in the right order. It is the
// only package that knows all others, and it decides nothing else.
//
// Goroutines: one per listener, one per HTTP server, one that waits for the
// silent connections (netio.Poller), one that gives memory back when the process
// is quiet; the followers' (internal/feed) are their own; all end with Serve. Locks: none.
//
// Order of a start: settings, and the files that they name (Check) → data directory → keys → directory → journal → whose keys they are → services →
// groups reconciled with the journal → outbox replay → listeners → followers. A listener that cannot be opened (port in use)
// ends the start before anything was served. Order of a stop: not ready →
// clients sent away and flushed → HTTP ended → senders answered → outbox →
// followers → stores. What was acknowledged is durable at every moment, so a kill -9
// instead loses nothing either.
package app
