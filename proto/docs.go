// Package proto holds the protocol's documents, for servers to show: what a
// client's author reads belongs to the version that answers them.
package proto

import "embed"

// Spec is SPEC.md.
//
//go:embed SPEC.md
var Spec []byte

// Codes is CODES.md.
//
//go:embed CODES.md
var Codes []byte

// Files are the .proto files, in skein/v1.
//
//go:embed skein/v1/*.proto
var Files embed.FS
