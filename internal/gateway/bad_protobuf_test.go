package gateway

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/wire"
)

// wrongBytes is a way to spoil a field in protobuf: it returns what stands in the place
// of the field's record, and whether there is such a way for the field.
type wrongBytes struct {
	name  string
	spoil func(f protoreflect.FieldDescriptor, record []byte) ([]byte, bool)
}

// holding is a record of a field that holds these bytes.
func holding(num protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), content)
}

// number is a record of a field that holds a number, or this as one.
func number(f protoreflect.FieldDescriptor, varint ...byte) []byte {
	return append(protowire.AppendTag(nil, f.Number(), protowire.VarintType), varint...)
}

func isVarint(f protoreflect.FieldDescriptor) bool {
	return !f.IsList() && (isNumber(f) && f.Kind() != protoreflect.Fixed64Kind || f.Kind() == protoreflect.BoolKind || f.Kind() == protoreflect.EnumKind)
}

func isDelimited(f protoreflect.FieldDescriptor) bool {
	return f.Message() != nil || f.IsList() || isText(f)
}

// groups are unknown groups in each other.
func groups(deep int) []byte {
	begin, end := protowire.AppendTag(nil, 4001, protowire.StartGroupType), protowire.AppendTag(nil, 4001, protowire.EndGroupType)
	return append(bytes.Repeat(begin, deep), bytes.Repeat(end, deep)...)
}

// structs is a google.protobuf.Struct of so many in each other.
func structs(deep int) (b []byte) {
	for range deep {
		b = holding(1, append(holding(1, []byte("k")), holding(2, holding(5, b))...))
	}
	return b
}

// wrongsInProtobuf are the ways. The spoilt record stands last in its message, so that
// what it takes too much of is not its neighbour's.
func wrongsInProtobuf() []wrongBytes {
	instead := func(when func(protoreflect.FieldDescriptor) bool, with func(protoreflect.FieldDescriptor) []byte) func(protoreflect.FieldDescriptor, []byte) ([]byte, bool) {
		return func(f protoreflect.FieldDescriptor, _ []byte) ([]byte, bool) { return with(f), when(f) }
	}
	varint := func(b ...byte) func(protoreflect.FieldDescriptor) []byte {
		return func(f protoreflect.FieldDescriptor) []byte { return number(f, b...) }
	}
	content := func(b []byte) func(protoreflect.FieldDescriptor) []byte {
		return func(f protoreflect.FieldDescriptor) []byte { return holding(f.Number(), b) }
	}
	beside := func(more []byte) func(protoreflect.FieldDescriptor, []byte) ([]byte, bool) {
		return func(_ protoreflect.FieldDescriptor, record []byte) ([]byte, bool) {
			return append(bytes.Clone(record), more...), true
		}
	}
	opaque := func(f protoreflect.FieldDescriptor) bool {
		return f.Message() != nil && f.Message().FullName() == "google.protobuf.Struct"
	}
	return []wrongBytes{
		{"missing", func(protoreflect.FieldDescriptor, []byte) ([]byte, bool) { return nil, true }},
		{"of another wire type", func(f protoreflect.FieldDescriptor, _ []byte) ([]byte, bool) {
			if isDelimited(f) {
				return number(f, 1), true
			}
			return holding(f.Number(), []byte("x")), true
		}},
		{"unknown beside it", beside(holding(4000, []byte("secret")))},
		{"groups beside it, 1,000 deep", beside(groups(1000))},
		{"too long", instead(isText, content([]byte(strings.Repeat("abcd", 1500))))},
		{"too many", func(f protoreflect.FieldDescriptor, record []byte) ([]byte, bool) {
			return bytes.Repeat(record, 1501), f.IsList() && len(record) < 9
		}},
		{"empty", instead(isDelimited, content(nil))},
		{"null", instead(isVarint, varint(0))},
		{"cut off", func(_ protoreflect.FieldDescriptor, record []byte) ([]byte, bool) {
			return record[:len(record)-1], len(record) > 0
		}},
		{"a number without an end", instead(isVarint, varint(0x80))},
		{"a number of 11 bytes", instead(isVarint, varint(append(bytes.Repeat([]byte{0x81}, 10), 1)...))},
		{"1 in 3 bytes", instead(isVarint, varint(0x81, 0x80, 0))},
		{"2^63", instead(isVarint, varint(protowire.AppendVarint(nil, 1<<63)...))},
		{"2^64-1", instead(isVarint, varint(protowire.AppendVarint(nil, 1<<64-1)...))},
		{"no UTF-8", instead(isText, content([]byte{'a', 0xff}))},
		{"half a surrogate", instead(isText, content([]byte{0xed, 0xa0, 0x80}))},
		{"longer than the message", instead(isDelimited, func(f protoreflect.FieldDescriptor) []byte {
			return append(protowire.AppendVarint(protowire.AppendTag(nil, f.Number(), protowire.BytesType), 1000), 'x')
		})},
		{"no messages in it", instead(func(f protoreflect.FieldDescriptor) bool { return f.Message() != nil }, content([]byte{0xff, 0xff, 0xff}))},
		{"itself in it, 1,000 deep", instead(opaque, content(structs(1000)))},
		{"twice", func(_ protoreflect.FieldDescriptor, record []byte) ([]byte, bool) {
			return append(bytes.Clone(record), record...), true
		}},
	}
}

// spoiltBytes encodes a message with the record of the field at the path target spoilt
// and last.
func spoiltBytes(m protoreflect.Message, path, target string, w *wrongBytes) (b []byte, spoilt bool) {
	var last []byte
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		at := strings.TrimPrefix(path+"."+f.JSONName(), ".")
		if at != target && !m.Has(f) {
			continue
		}
		record, in := recordOf(m, f, at, target, w)
		spoilt = spoilt || in
		if at == target && w != nil {
			last, spoilt = w.spoil(f, record)
			continue
		}
		b = append(b, record...)
	}
	return append(b, last...), spoilt
}

// recordOf is the record of one field; of a field that is not there one of a good value.
func recordOf(m protoreflect.Message, f protoreflect.FieldDescriptor, at, target string, w *wrongBytes) (b []byte, spoilt bool) {
	switch {
	case strings.HasPrefix(target, at+".") && f.IsList():
		b, spoilt = spoiltBytes(m.Get(f).List().Get(0).Message(), at, target, w)
		return holding(f.Number(), b), spoilt
	case strings.HasPrefix(target, at+"."):
		b, spoilt = spoiltBytes(m.Get(f).Message(), at, target, w)
		return holding(f.Number(), b), spoilt
	case !m.Has(f):
		if isDelimited(f) {
			return holding(f.Number(), []byte("hi")), false
		}
		return number(f, 1), false
	}
	one := m.New()
	one.Set(f, m.Get(f))
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(one.Interface())
	if err != nil {
		panic(fmt.Sprintf("%s: %v", at, err)) // good values
	}
	return b, false
}

// badProtobuf are all bad messages in protobuf, and a good one of each frame, in a
// settled order.
func badProtobuf() (all []said) {
	send := holding(2, nil)
	for _, m := range []struct {
		name string
		text []byte
	}{
		{"nothing", nil}, {"not protobuf", []byte("hello")}, {"JSON", []byte(`{"ping":{}}`)}, {"cut off", []byte{0x12, 5, 1}}, {"a tag without an end", []byte{0x80}},
		{"of field 0", []byte{0, 1}}, {"of field 2^29", protowire.AppendVarint(nil, 1<<32)}, {"of wire type 6", []byte{0x16, 1}}, {"of wire type 7", []byte{0x17, 1}},
		{"of a group's end", []byte{0x14}}, {"of a group without an end", []byte{0x13}}, {"of a group that ends as another", []byte{0x13, 0x1c}},
		{"groups, 10,000 deep", groups(10_000)}, {"groups, 1,000 deep", groups(1000)}, {"of an unknown frame", holding(77, []byte{8, 3})}, {"of two frames", append(holding(10, nil), holding(11, nil)...)},
		{"of one frame in two parts", append(bytes.Clone(send), send...)}, {"of 17,000 elements", holding(13, bytes.Repeat(holding(1, nil), 17_000)[:16_000])},
	} {
		all = append(all, said{"(a message) " + m.name, string(m.text)})
	}
	frames := (*wire.ClientFrame)(nil).ProtoReflect().Descriptor()
	for i := range frames.Fields().Len() {
		f := frames.Fields().Get(i)
		frame := f.JSONName()
		body, _ := writeJSON(f.Message(), frame, "", nil)
		good := new(wire.ClientFrame)
		if err := protojson.Unmarshal(fmt.Appendf(nil, "{%q:%s}", frame, body), good); err != nil {
			panic(fmt.Sprintf("%s: %v", frame, err))
		}
		text, _ := spoiltBytes(good.ProtoReflect(), "", "", nil)
		all = append(all, said{frame + " good", string(text)})
		for _, target := range append([]string{frame}, paths(f.Message(), frame)...) {
			for _, w := range wrongsInProtobuf() {
				if text, ok := spoiltBytes(good.ProtoReflect(), "", target, &w); ok && text != nil {
					all = append(all, said{target + " " + w.name, string(text)})
				}
			}
		}
	}
	return all
}
