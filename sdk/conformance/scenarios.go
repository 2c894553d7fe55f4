// Package conformance holds the behaviour scenarios of client SDKs: data that any
// client is held to, whatever language it is written in. README.md tells the form of a
// scenario and the lines by which a client is driven. The package owns the files and
// nothing else; skein-lab plays them.
//
// Goroutines: none. Locks: none.
package conformance

import (
	"embed"
	"io/fs"
)

//go:embed scenarios/*.json
var files embed.FS

// Scenarios returns the directory of the scenarios.
func Scenarios() fs.FS {
	dir, err := fs.Sub(files, "scenarios")
	if err != nil {
		panic(err) // the directory is compiled in
	}
	return dir
}
