// Package prototext is an example of a codec of one's own: frames in
// protobuf's text format, which is pleasant to type by hand when one looks for
// a mistake. It is registered from outside, see examples/embedded.
//
// It must not know transports. It holds no state: no goroutines, no locks.
package prototext

import (
	"fmt"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// Name is how clients ask for the codec.
const Name = "example.v1.prototext"

// Codec is a wire.Codec.
type Codec struct{}

var _ wire.Codec = Codec{}

// Name returns the name.
func (Codec) Name() string { return Name }

// Binary is false: messages are UTF-8 text.
func (Codec) Binary() bool { return false }

// Append appends the text form of a frame.
func (Codec) Append(dst []byte, frame proto.Message) ([]byte, error) {
	return prototext.MarshalOptions{}.MarshalAppend(dst, frame)
}

// Decode reads the text form of a frame. Unknown fields and frames are
// ignored, strings that are no UTF-8 are refused.
func (Codec) Decode(data []byte, frame proto.Message) error {
	if err := (prototext.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, frame); err != nil {
		// The cause quotes its input, and message text must not reach a log.
		return fmt.Errorf("%s: not a frame", Name)
	}
	return nil
}
