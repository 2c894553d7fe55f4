package wire

import (
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxJSONDepth is how deep objects and arrays may stand in each other. What is
// within it is within maxDepth in protobuf too.
const maxJSONDepth = 60

var jsonPosition = regexp.MustCompile(`\(line (\d+):(\d+)\)`)

// JSON returns the codec `skein.v1.json`: the canonical proto3 JSON mapping,
// written without white space and always the same for the same frame. Unknown
// fields are ignored, so an unknown frame leaves the frame empty. A key that
// stands twice in an object, invalid UTF-8 and deep nesting are refused. Decoded
// frames do not alias the input. A client's ids may be written as the text of a UUID.
//
// protojson defines the language; it takes ten times as long as the protobuf
// codec, as it goes by reflection. The frames that a chat is made of are written
// (json_write.go) and read (json_read.go) by hand, as fast as in protobuf. This
// changes no result: the writer writes the same bytes or declines, the reader
// reads to the same frame or declines, and what one declines is done by
// protojson from the beginning. Neither refuses a frame by itself.
// FuzzJSONHotEncode and FuzzJSONHotDecode hold both against protojson.
func JSON() Codec { return jsonCodec{} }

type jsonCodec struct{}

func (jsonCodec) Name() string { return JSONName }
func (jsonCodec) Binary() bool { return false }

func (jsonCodec) Append(dst []byte, frame proto.Message) ([]byte, error) {
	if out, ok := appendHot(dst, frame); ok {
		return out, nil
	}
	if rule, _ := ruleFor(frame); rule == nil {
		return dst, notAFrame(frame)
	}
	return appendJSON(dst, frame)
}

// appendJSON appends a frame as protojson writes it, less the white space.
func appendJSON(dst []byte, frame proto.Message) ([]byte, error) {
	out, err := protojson.MarshalOptions{}.MarshalAppend(dst, frame)
	if err != nil {
		return dst, err
	}
	return out[:len(dst)+compactJSON(out[len(dst):])], nil
}

// compactJSON removes the spaces between tokens, which protojson puts in at
// random, in place, and returns the length.
func compactJSON(b []byte) int {
	n := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case ' ':
			continue
		case '"':
			end := i + 1
			for b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			n += copy(b[n:], b[i:end+1])
			i = end
		default:
			b[n] = b[i]
			n++
		}
	}
	return n
}

func (c jsonCodec) Decode(data []byte, frame proto.Message) error {
	return c.decode(data, frame, nil)
}

func (jsonCodec) decode(data []byte, frame proto.Message, mem *ClientReader) error {
	_, elements := ruleFor(frame)
	if elements == 0 {
		return notAFrame(frame)
	}
	if decodeHot(data, frame, elements, mem) {
		return nil
	}
	return decodeJSON(data, frame, elements)
}

// decodeJSON reads any frame with protojson, within the bounds.
func decodeJSON(data []byte, frame proto.Message, elements int) error {
	if at, err := checkJSON(data, elements); err != nil {
		return jsonFault(data, frame.ProtoReflect().Descriptor(), at, err)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, frame); err != nil {
		return wrongJSON(data, frame.ProtoReflect().Descriptor(), err)
	}
	readIDs(frame)
	return nil
}

// checkJSON bounds depth and number of elements before anything is built. That
// it is JSON at all is protojson's to find out. An error is at the byte it comes with.
func checkJSON(data []byte, elements int) (int, error) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxJSONDepth {
				return i, errDepth
			}
			elements--
		case '}', ']':
			depth--
		case ',':
			elements--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
		if elements < 0 {
			return i, errElements
		}
	}
	return 0, nil
}
