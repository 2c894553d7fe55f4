package wire

import "google.golang.org/protobuf/proto"

// What the tests of package wire_test see of the two ways of the JSON codec: by
// hand, which may decline, and by protojson.

func AppendHot(dst []byte, frame proto.Message) ([]byte, bool) { return appendHot(dst, frame) }

func AppendJSON(dst []byte, frame proto.Message) ([]byte, error) { return appendJSON(dst, frame) }

func DecodeHot(data []byte, frame proto.Message) bool {
	_, elements := ruleFor(frame)
	return decodeHot(data, frame, elements, nil)
}

func DecodeJSON(data []byte, frame proto.Message) error {
	_, elements := ruleFor(frame)
	return decodeJSON(data, frame, elements)
}

func ReadIDs(m proto.Message) { readIDs(m) }

func Plain(b []byte) (int, bool) { return plain(b) }

// Repeats are the methods that need no idempotency key.
func Repeats() map[string]Repeat { return repeats }
