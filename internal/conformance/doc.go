// Package conformance finds out whether a server speaks the Skein protocol: it
// plays conversations written as text (transcripts/, the language is in README.md),
// strangers' mistakes and load with cut connections against a server that runs, and
// tells of each case whether it passed, what was expected and what came, or why it
// was left out.
//
// It owns the language, the cases and the report. It knows a server through its
// sockets only, and what it makes there has names of its own, so that a server in
// use is not hurt. A case that needs a server of another configuration asks for one
// (Needs) and is left out, with the reason, where nobody has it.
//
// Goroutines: some workers that play cases, one reader for each connection; all end
// with Run. Locks: a conn's, for what it heard; the Report's; neither is held while
// another one is taken.
//
// Invariants: a case never ends by silence, each wait has a deadline; every case of
// every variant is in the report exactly once.
package conformance
