package skein

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/wire"
)

// A message of this client's is the same as the one that others are pushed: whatever a
// Send says that an Entry can say is in what its ack makes of it. A poll was not, so its
// author could not see their own.
func TestAckedIsWhatWasSent(t *testing.T) {
	s := new(wire.Send)
	filled(s.ProtoReflect(), 0)
	e := entryOf(s, "ann").ProtoReflect()
	fields := s.ProtoReflect().Descriptor().Fields()
	n := 0
	for i := range fields.Len() {
		from := fields.Get(i)
		to := e.Descriptor().Fields().ByName(from.Name())
		if to == nil {
			continue
		}
		n++
		if from.Name() == "media" { // ids, and what is known of them
			if m := e.Interface().(*wire.Entry).Media; len(m) != len(s.Media) || m[0].Id != s.Media[0] {
				t.Errorf("media is %v, want %v", m, s.Media)
			}
			continue
		}
		if !e.Get(to).Equal(s.ProtoReflect().Get(from)) {
			t.Errorf("%s is %v, want %v", from.Name(), e.Get(to), s.ProtoReflect().Get(from))
		}
	}
	if n < 6 {
		t.Errorf("only %d fields", n)
	}
}

// An edit replaces all that it says, and a recall leaves nothing of what was written.
func TestAmendedIsWhatItSays(t *testing.T) {
	by, before := new(wire.Entry), new(wire.Entry)
	filled(by.ProtoReflect(), 0)
	edit := new(wire.Edit).ProtoReflect().Descriptor().Fields()
	after, gone := edited(before, by).ProtoReflect(), erased(by, 9).ProtoReflect()
	n := 0
	for i := range edit.Len() {
		f := after.Descriptor().Fields().ByName(edit.Get(i).Name())
		if f == nil {
			continue
		}
		n++
		if !after.Get(f).Equal(by.ProtoReflect().Get(f)) {
			t.Errorf("%s is %v after an edit to %v", f.Name(), after.Get(f), by.ProtoReflect().Get(f))
		}
		if gone.Has(f) {
			t.Errorf("%s is %v after a recall", f.Name(), gone.Get(f))
		}
	}
	if n < 4 {
		t.Errorf("only %d fields", n)
	}
}

// filled sets every field of a message to something.
func filled(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOf("k").MapKey(), protoreflect.ValueOf("v"))
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			v := m.Mutable(f).List().AppendMutable()
			filled(v.Message(), depth+1)
		case f.IsList():
			m.Mutable(f).List().Append(some(f))
		case f.Kind() == protoreflect.MessageKind && depth < 3:
			filled(m.Mutable(f).Message(), depth+1)
		case f.Kind() != protoreflect.MessageKind:
			m.Set(f, some(f))
		}
	}
}

func some(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("s")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{1})
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(7)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(7)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return protoreflect.ValueOfInt64(7)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	}
	return f.Default()
}
