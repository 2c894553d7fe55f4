package wire_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skein-im/skein/wire"
)

// stringPaths calls visit for every string field that a frame can contain, with
// the path of fields that leads to it. A message type is entered once on a path.
func stringPaths(d protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor, open map[protoreflect.FullName]bool, visit func([]protoreflect.FieldDescriptor)) {
	if open[d.FullName()] {
		return
	}
	open[d.FullName()] = true
	defer delete(open, d.FullName())
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		p := append(path[:len(path):len(path)], f)
		switch {
		case f.Kind() == protoreflect.StringKind:
			visit(p)
		case f.Message() != nil:
			stringPaths(f.Message(), p, open, visit)
		}
	}
}

// encodePath is a frame in which the field at the end of the path is value.
func encodePath(path []protoreflect.FieldDescriptor, value []byte) []byte {
	b := value
	for i := len(path) - 1; i >= 0; i-- {
		b = protowire.AppendBytes(protowire.AppendTag(nil, path[i].Number(), protowire.BytesType), b)
	}
	return b
}

// TestNoStringFieldIsForgotten finds by reflection every string in every frame
// and puts invalid UTF-8 there (SPEC §1.6).
func TestNoStringFieldIsForgotten(t *testing.T) {
	for _, frame := range []proto.Message{&wire.ClientFrame{}, &wire.ServerFrame{}} {
		count := 0
		stringPaths(frame.ProtoReflect().Descriptor(), nil, map[protoreflect.FullName]bool{}, func(path []protoreflect.FieldDescriptor) {
			count++
			name := string(path[len(path)-1].FullName())
			fresh := func() proto.Message { return frame.ProtoReflect().New().Interface() }
			if err := wire.Protobuf().Decode(encodePath(path, []byte("fine ✓")), fresh()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, bad := range []string{"\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf"} {
				if err := wire.Protobuf().Decode(encodePath(path, []byte(bad)), fresh()); err == nil {
					t.Errorf("%s: %q is accepted", name, bad)
				}
			}
			// Not what is decoded only: what is overwritten by a later value too.
			twice := append(encodePath(path, []byte("\xff")), encodePath(path, []byte("fine"))...)
			if err := wire.Protobuf().Decode(twice, fresh()); err == nil {
				t.Errorf("%s: invalid UTF-8 that is overwritten is accepted", name)
			}
		})
		if count < 20 {
			t.Errorf("%T: %d string fields found", frame, count)
		}
	}
}

func TestInvalidUTF8IsNotSent(t *testing.T) {
	frames := []proto.Message{
		wire.NewClientFrame(&wire.Send{Content: &wire.Content{Body: &wire.Content_Text{Text: "\xff"}}}),
		wire.NewClientFrame(&wire.WatchPresence{Users: []string{"ok", "\xc3"}}),
		wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{Sender: "\xff"}}}),
		wire.NewClientFrame(&wire.Call{Request: &wire.Call_Json{Json: &structpb.Struct{Fields: map[string]*structpb.Value{"\xff": structpb.NewNullValue()}}}}),
	}
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		for _, frame := range frames {
			if out, err := codec.Append([]byte("kept"), frame); err == nil || string(out) != "kept" {
				t.Errorf("%s writes %q, %v", codec.Name(), out, err)
			}
		}
	}
}

func TestDecodedFramesDoNotAliasTheInput(t *testing.T) {
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		for _, v := range append(clientVectors(t), serverVectors(t)...) {
			data, err := codec.Append(nil, v.frame)
			if err != nil {
				t.Fatal(err)
			}
			decoded := v.frame.ProtoReflect().New().Interface()
			if err := codec.Decode(data, decoded); err != nil {
				t.Fatal(err)
			}
			for i := range data {
				data[i] = 0xee
			}
			if !proto.Equal(decoded, v.frame) {
				t.Errorf("%s %s changes with its input", codec.Name(), v.name)
			}
		}
	}
	// Unknown fields as well.
	data := []byte{0x9a, 0x06, 0x01, 'x'}
	var frame wire.ClientFrame
	if err := wire.Protobuf().Decode(data, &frame); err != nil {
		t.Fatal(err)
	}
	data[3] = 'y'
	if unknown := frame.ProtoReflect().GetUnknown(); !bytes.Contains(unknown, []byte("x")) {
		t.Errorf("unknown fields are %x", unknown)
	}
}

func nested(depth int) *structpb.Struct {
	v := structpb.NewNullValue()
	for range depth - 1 {
		v = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"a": v}})
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{"a": v}}
}

func TestDepthIsBounded(t *testing.T) {
	call := func(depth int) *wire.ClientFrame {
		return wire.NewClientFrame(&wire.Call{Request: &wire.Call_Json{Json: nested(depth)}})
	}
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		data, err := codec.Append(nil, call(50))
		if err != nil {
			t.Fatalf("%s: 50 levels: %v", codec.Name(), err)
		}
		if err := codec.Decode(data, &wire.ClientFrame{}); err != nil {
			t.Errorf("%s: 50 levels: %v", codec.Name(), err)
		}
	}
	data, err := proto.Marshal(call(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Protobuf().Decode(data, &wire.ClientFrame{}); err == nil {
		t.Error("protobuf: 100 levels are accepted")
	}
	for _, deep := range []string{
		`{"call":{"json":` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100) + `}}`,
		`{"call":{"json":{"a":` + strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + `}}}`,
		`{"unknown":` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}`,
		strings.Repeat(`{"a":`, 100_000),
	} {
		if err := wire.JSON().Decode([]byte(deep), &wire.ClientFrame{}); err == nil {
			t.Errorf("JSON: %.40s… is accepted", deep)
		}
	}
	// What JSON lets through, protobuf can carry.
	limit := `{"call":{"json":` + strings.Repeat(`{"a":`, 58) + `1` + strings.Repeat(`}`, 58) + `}}`
	var frame wire.ClientFrame
	if err := wire.JSON().Decode([]byte(limit), &frame); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Protobuf().Append(nil, &frame); err != nil {
		t.Errorf("the deepest JSON does not fit into protobuf: %v", err)
	}
}

// TestSmallInputCostsLittle: 128 KiB of the most expensive bytes.
func TestSmallInputCostsLittle(t *testing.T) {
	const size = 128 << 10
	field := func(num protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
	}
	item := func(num protowire.Number) []byte { return bytes.Repeat(field(num, nil), size/2) }
	list := field(1, append(field(1, []byte("k")), field(2, field(6, item(1)))...)) // Struct{k: ListValue}
	full := field(9, field(4, field(1, append(field(1, []byte("k")), field(2, field(6, bytes.Repeat(field(1, nil), 16_000)))...))))
	cases := map[string][]byte{
		"pb at the bound":   full,
		"json at the bound": []byte(`{"call":{"json":{"a":[` + strings.Repeat("{},", 8_000) + `1]}}}`),
		"pb mentions":       field(2, item(5)),
		"pb list values":    field(9, field(4, list)),
		"pb users":          field(8, item(1)),
		"pb unknown fields": item(99),
		"pb groups":         bytes.Repeat([]byte{0x9b, 0x06}, size/2),
		"json list":         []byte(`{"call":{"json":{"a":[` + strings.Repeat("1,", size/2) + `1]}}}`),
		"json unknown":      []byte(`{"x":[` + strings.Repeat("{},", size/3) + `{}]}`),
		"json keys":         []byte(`{` + strings.Repeat(`"":0,`, size/5) + `"":0}`),
	}
	for name, data := range cases {
		codec := wire.Protobuf()
		if strings.HasPrefix(name, "json") {
			codec = wire.JSON()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := codec.Decode(data, &wire.ClientFrame{})
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes cost %d (%v)", name, len(data), took, err)
		if took > 4<<20 {
			t.Errorf("%s: %d bytes cost %d bytes of memory", name, len(data), took)
		}
	}
}

func TestPagesFit(t *testing.T) {
	delta := &wire.SyncDelta{}
	for i := range 500 {
		delta.Conversations = append(delta.Conversations, &wire.ConversationState{
			Conversation: fmt.Sprintf("grp:%d", i),
			Entries: []*wire.Entry{{Seq: 1, Mentions: make([]string, 20), Content: &wire.Content{Type: "text"},
				Event: &wire.Event{Users: make([]string, 10)}}},
		})
	}
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		data, err := codec.Append(nil, wire.NewServerFrame(delta))
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.Decode(data, &wire.ServerFrame{}); err != nil {
			t.Errorf("%s: a page of the list: %v", codec.Name(), err)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	const secret = "the text of a message"
	for name, in := range map[string]string{
		"nothing":                ``,
		"no object":              `[]`,
		"a string":               `"read"`,
		"cut off":                `{"read":{"seq":"1"`,
		"two values":             `{"bye":{}}{"bye":{}}`,
		"two frames":             `{"bye":{},"ping":{}}`,
		"the same frame twice":   `{"bye":{},"bye":{}}`,
		"a field twice":          `{"read":{"seq":"1","seq":"2"}}`,
		"a field by both names":  `{"watchPresence":{},"watch_presence":{}}`,
		"a Struct's key twice":   `{"call":{"json":{"a":1,"a":2}}}`,
		"invalid UTF-8":          "{\"send\":{\"content\":{\"text\":\"\xff\"}}}",
		"invalid UTF-8, unknown": "{\"x\":\"\xc3\"}",
		"half a surrogate":       `{"send":{"content":{"text":"\ud83d"}}}`,
		"control character":      "{\"send\":{\"content\":{\"text\":\"\n\"}}}",
		"a number too large":     `{"read":{"seq":"18446744073709551616"}}`,
		"a negative number":      `{"read":{"seq":-1}}`,
		"a fraction":             `{"read":{"seq":1.5}}`,
		"no base64":              `{"send":{"id":"***"}}`,
		"another type":           `{"send":{"content":{"text":7,"type":"` + secret + `"}}}`,
		"text":                   `{"send":{"content":{"text":{"a":"` + secret + `"}}}}`,
		"a comment":              `{/**/}`,
		"trailing comma":         `{"bye":{},}`,
		"secret":                 `{"send":` + secret + `}`,
	} {
		err := wire.JSON().Decode([]byte(in), &wire.ClientFrame{})
		if err == nil {
			t.Errorf("%s: %s is accepted", name, in)
		} else if strings.Contains(err.Error(), "the text") {
			t.Errorf("%s: the error quotes the message: %v", name, err)
		}
	}
}

func TestJSONIsCompactAndTheSameEveryTime(t *testing.T) {
	frame := serverVectors(t)[3].frame
	first, err := wire.JSON().Append(nil, frame)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(first, []byte(`": `)) || bytes.Contains(first, []byte(`, "`)) {
		t.Errorf("white space between tokens: %s", first)
	}
	for range 20 {
		if again, _ := wire.JSON().Append(nil, proto.Clone(frame)); !bytes.Equal(first, again) {
			t.Fatalf("%s\nthen\n%s", first, again)
		}
	}
}

func TestOnlyFrames(t *testing.T) {
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		if _, err := codec.Append(nil, &wire.Send{}); err == nil {
			t.Errorf("%s encodes what is no frame", codec.Name())
		}
		if err := codec.Decode(nil, &wire.Send{}); err == nil {
			t.Errorf("%s decodes what is no frame", codec.Name())
		}
	}
}

// What clients send most is decoded into few pieces of memory: a Send takes its
// parts, the conversation and the text; a Received its parts and the conversation.
func TestHotFramesAllocateLittle(t *testing.T) {
	for name, most := range map[string]float64{"Send": 3, "Received": 2} {
		data, err := wire.Protobuf().Append(nil, chatFrames()[name])
		if err != nil {
			t.Fatal(err)
		}
		var f wire.ClientFrame
		got := testing.AllocsPerRun(100, func() {
			f.Reset()
			err = wire.Protobuf().Decode(data, &f)
		})
		if err != nil || got > most {
			t.Errorf("%s: %v allocations, at most %v, %v", name, got, most, err)
		}
	}
}
