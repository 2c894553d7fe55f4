package skein

import (
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// NoPreview asks the server not to find out what the links of the message lead to (SPEC
// §4.34). It holds for what the message says after edits, too.
func NoPreview() SendOption {
	return func(s *wire.Send) { s.NoPreview = true }
}

// previewed is a message as the server's look at its first link leaves it.
func previewed(e, by *wire.Entry) *wire.Entry {
	c := proto.Clone(e).(*wire.Entry)
	c.Preview, c.Amended = by.Preview, by.Seq
	return c
}
