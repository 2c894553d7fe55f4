package wire

import (
	"slices"

	"google.golang.org/protobuf/proto"
)

// The names of the codecs of version 1.
const (
	ProtobufName = "skein.v1.pb"
	JSONName     = "skein.v1.json"
)

// Protobuf returns the codec `skein.v1.pb`: frames as protobuf. It accepts and
// refuses exactly what the reference implementation does, but for bounds on
// depth and number of elements. Decoded frames do not alias the input.
func Protobuf() Codec { return protobufCodec{} }

type protobufCodec struct{}

func (protobufCodec) Name() string { return ProtobufName }
func (protobufCodec) Binary() bool { return true }

func (protobufCodec) Append(dst []byte, frame proto.Message) ([]byte, error) {
	start := len(dst)
	var err error
	switch f := frame.(type) {
	case *ClientFrame:
		if f.GetCall().GetJson() != nil || len(f.GetSend().GetExtra()) > 0 {
			return appendDeterministic(dst, frame)
		}
		n := f.SizeVT()
		dst = slices.Grow(dst, n)[:start+n]
		_, err = f.MarshalToSizedBufferVT(dst[start:])
	case *ServerFrame:
		if f.GetResult().GetJson() != nil || hasExtra(f) {
			return appendDeterministic(dst, frame)
		}
		n := f.SizeVT()
		dst = slices.Grow(dst, n)[:start+n]
		_, err = f.MarshalToSizedBufferVT(dst[start:])
	default:
		return dst, notAFrame(frame)
	}
	if err != nil {
		return dst[:start], err
	}
	// The generated code writes any string. What the other side would refuse,
	// and close the connection for, must fail here.
	rule, elements := ruleFor(frame)
	c := check{left: elements}
	if err := c.message(dst[start:], rule, 0); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// hasExtra tells that an entry in a frame has a map.
func hasExtra(f *ServerFrame) bool {
	in := func(es []*Entry) bool {
		return slices.ContainsFunc(es, func(e *Entry) bool { return len(e.GetExtra()) > 0 })
	}
	switch m := f.Frame.(type) {
	case *ServerFrame_Push:
		return in(m.Push.GetEntries())
	case *ServerFrame_Range:
		return in(m.Range.GetEntries()) || in(m.Range.GetTouched())
	case *ServerFrame_SyncDelta:
		return slices.ContainsFunc(m.SyncDelta.GetConversations(), func(c *ConversationState) bool {
			return in(c.GetEntries()) || in(c.GetTouched())
		})
	}
	return false
}

// appendDeterministic is for frames with a map: the generated code writes maps in random order.
func appendDeterministic(dst []byte, frame proto.Message) ([]byte, error) {
	out, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, frame)
	if err != nil {
		return dst, err
	}
	rule, elements := ruleFor(frame)
	c := check{left: elements}
	if err := c.message(out[len(dst):], rule, 0); err != nil {
		return dst, err
	}
	return out, nil
}

func (c protobufCodec) Decode(data []byte, frame proto.Message) error {
	return c.decode(data, frame, nil)
}

func (protobufCodec) decode(data []byte, frame proto.Message, mem *ClientReader) error {
	rule, elements := ruleFor(frame)
	if rule == nil {
		return notAFrame(frame)
	}
	c := check{left: elements}
	if err := c.message(data, rule, 0); err != nil {
		return wrongProtobuf(data, frame, err)
	}
	if c.odd {
		if err := proto.Unmarshal(data, frame); err != nil {
			return wrongProtobuf(data, frame, err)
		}
		return nil
	}
	if f, ok := frame.(*ClientFrame); ok && f.Frame == nil && decodeParts(data, f, mem) {
		return nil
	}
	return frame.(interface{ UnmarshalVT([]byte) error }).UnmarshalVT(data)
}
