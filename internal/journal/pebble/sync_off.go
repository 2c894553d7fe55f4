//go:build skein_nosync

package pebble

// noSync leaves fsync out, to prove that the power-cut tests can fail:
//
//	go test -tags skein_nosync -run TestPowerCut ./internal/journal/pebble
//
// must fail. Never build a server with this tag.
const noSync = true
