package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/wire"
)

// hotFrames are the arms of the frames that are written and read by hand.
func hotFrames() map[string][]string {
	return map[string][]string{
		"client": {"send", "received", "read", "ping", "pong"},
		"server": {"send_ack", "send_error", "push", "receipt", "ping", "pong"},
	}
}

func emptyFrame(direction string) proto.Message {
	frame, _ := frames(direction == "server")
	return frame
}

// fill sets every field of a message, the choice-th of each oneof, and whatever
// it contains, but for events, which are left to protojson.
func fill(m protoreflect.Message, choice int) {
	value := func(f protoreflect.FieldDescriptor) protoreflect.Value {
		switch f.Kind() {
		case protoreflect.StringKind:
			return protoreflect.ValueOfString("a \"" + string(f.Name()) + "\"\n é 👋")
		case protoreflect.BytesKind:
			return protoreflect.ValueOfBytes([]byte{0xfb, 0xff, byte(f.Number())})
		case protoreflect.BoolKind:
			return protoreflect.ValueOfBool(true)
		case protoreflect.EnumKind:
			return protoreflect.ValueOfEnum(1)
		case protoreflect.Uint32Kind:
			return protoreflect.ValueOfUint32(1<<32 - 1)
		case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
			return protoreflect.ValueOfUint64(1<<64 - 1 - uint64(f.Number()))
		case protoreflect.Int64Kind:
			return protoreflect.ValueOfInt64(1<<63 - 1)
		}
		panic(fmt.Sprintf("%s: a kind that no hot frame had: teach it here", f.FullName()))
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Fields().Get(choice%o.Fields().Len()) != f {
			continue
		}
		switch {
		case slices.Contains([]protoreflect.FullName{"skein.v1.Entry.event", "skein.v1.Entry.react", "skein.v1.Entry.reactions", "skein.v1.Entry.group_mention", "skein.v1.Send.group_mention", "skein.v1.Entry.poll", "skein.v1.Entry.vote", "skein.v1.Send.poll", "skein.v1.Entry.pinned", "skein.v1.Entry.silent", "skein.v1.Entry.forward", "skein.v1.Entry.deleted", "skein.v1.Send.silent", "skein.v1.Entry.streaming", "skein.v1.Entry.replaced", "skein.v1.Entry.cut_off", "skein.v1.Send.streaming", "skein.v1.Send.media", "skein.v1.Entry.media", "skein.v1.Send.no_preview", "skein.v1.Entry.no_preview", "skein.v1.Entry.preview", "skein.v1.Send.thread", "skein.v1.Entry.thread", "skein.v1.Entry.replies", "skein.v1.Send.also_in_main", "skein.v1.Entry.also_in_main"}, f.FullName()), f.IsMap(): // protojson's
		case f.IsList() && f.Message() != nil:
			for range 2 {
				fill(m.Mutable(f).List().AppendMutable().Message(), choice)
			}
		case f.IsList():
			m.Mutable(f).List().Append(value(f))
			m.Mutable(f).List().Append(value(f))
		case f.Message() != nil:
			fill(m.Mutable(f).Message(), choice)
		default:
			m.Set(f, value(f))
		}
	}
}

// canonical is what protojson writes, less the white space.
func canonical(t testing.TB, frame proto.Message) []byte {
	t.Helper()
	raw, err := protojson.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// checkHot expects that a frame is written and read by hand, as protojson does.
func checkHot(t *testing.T, direction string, frame proto.Message) {
	t.Helper()
	want := canonical(t, frame)
	got, ok := wire.AppendHot([]byte("before"), frame)
	if !ok || string(got) != "before"+string(want) {
		t.Errorf("written (%v)\n%s, protojson\n%s", ok, got, want)
	}
	decoded := emptyFrame(direction)
	if !wire.DecodeHot(want, decoded) {
		t.Errorf("%s is declined", want)
	} else if !proto.Equal(decoded, frame) {
		t.Errorf("read as\n%v, want\n%v", decoded, frame)
	}
}

// TestHotFramesKnowEveryField fails when a field is added to a hot message and
// not to its writer and reader.
func TestHotFramesKnowEveryField(t *testing.T) {
	for direction, arms := range hotFrames() {
		for _, arm := range arms {
			for choice := range 2 {
				frame := emptyFrame(direction)
				m := frame.ProtoReflect()
				f := m.Descriptor().Fields().ByName(protoreflect.Name(arm))
				t.Run(fmt.Sprint(direction, "/", arm, "/", choice), func(t *testing.T) {
					m.Mutable(f)
					checkHot(t, direction, frame)
					fill(m.Mutable(f).Message(), choice)
					checkHot(t, direction, frame)
				})
			}
		}
	}
}

func TestHotKinds(t *testing.T) {
	kinds := wire.EntryKind(0).Descriptor().Values()
	for i := range kinds.Len() {
		kind := wire.EntryKind(kinds.Get(i).Number())
		checkHot(t, "server", wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{Kind: kind}}}))
	}
}

// TestVectorsAreHot: the hot frames among the golden vectors do not take the
// way of protojson, but for those that are rare.
func TestVectorsAreHot(t *testing.T) {
	rare := []string{"push_event", "push_event_restored", "push_event_settings", "push_event_nickname", "push_event_nickname_ends", "push_unknown_event", "push_unknown_kind", "push_extra", "push_reaction", "push_reacted", "push_group_mention", "send_group_mention", "push_vote", "push_vote_anonymous", "push_poll_end", "push_poll", "send_poll", "push_pinned", "push_pin", "push_silent", "push_forward", "push_merged", "send_silent", "send_extra", "send_extra_text", "send_streaming", "push_stream", "push_stream_cut", "push_lifetime", "push_security", "push_media", "send_media", "push_preview", "push_previewed", "send_no_preview", "send_thread", "push_thread_reply", "push_thread_root", "push_thread_recall", "send_thread_also", "push_thread_also"}
	seen := 0
	for direction, vectors := range map[string][]frameVector{"client": clientVectors(t), "server": serverVectors(t)} {
		for _, v := range vectors {
			m := v.frame.ProtoReflect()
			arm := string(m.WhichOneof(m.Descriptor().Oneofs().Get(0)).Name())
			hot := slices.Contains(hotFrames()[direction], arm) && !slices.Contains(rare, v.name)
			got, ok := wire.AppendHot(nil, v.frame)
			if ok != hot {
				t.Errorf("%s %s is written by hand: %v", direction, v.name, ok)
			}
			if !hot {
				continue
			}
			seen++
			if want := canonical(t, v.frame); !bytes.Equal(got, want) {
				t.Errorf("written\n%s, protojson\n%s", got, want)
			}
			// A time before 1970 is as rare.
			if decoded := emptyFrame(direction); !wire.DecodeHot(got, decoded) && !bytes.Contains(got, []byte(`"-1"`)) {
				t.Errorf("%s is declined", got)
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d hot vectors", seen)
	}
}

// TestHotText writes every byte at the beginning, within and at the end of texts
// with and without escapes, and expects protojson's bytes or its refusal.
func TestHotText(t *testing.T) {
	for c := range 256 {
		for _, form := range []string{"%", "%abc", "abc%", "0123456%89 and more", "%\n0123456789", "0123456789\n%", "é%é", "👋 %\"0123456789"} {
			text := strings.Replace(form, "%", string([]byte{byte(c)}), 1)
			frame := wire.NewClientFrame(&wire.Send{Content: &wire.Content{Body: &wire.Content_Text{Text: text}}})
			if !utf8.ValidString(text) {
				if out, ok := wire.AppendHot(nil, frame); ok {
					t.Errorf("%q is written as %s", text, out)
				}
				continue
			}
			checkHot(t, "client", frame)
		}
	}
}

// TestUnusualFramesAreWrittenByProtojson: what the writer by hand declines.
func TestUnusualFramesAreWrittenByProtojson(t *testing.T) {
	for name, frame := range map[string]proto.Message{
		"an empty frame":         &wire.ClientFrame{},
		"nil":                    (*wire.ServerFrame)(nil),
		"a nil arm":              &wire.ClientFrame{Frame: (*wire.ClientFrame_Send)(nil)},
		"an arm without message": &wire.ServerFrame{Frame: &wire.ServerFrame_Push{}},
		"a cold frame":           wire.NewClientFrame(&wire.Bye{}),
		"a nil entry":            wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{Seq: 1}, nil}}),
		"an event":               wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{Seq: 1}, {Event: &wire.Event{}}}}),
		"an unknown kind":        wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{Kind: -7}}}),
		"a nil body":             wire.NewClientFrame(&wire.Send{Content: &wire.Content{Body: (*wire.Content_Data)(nil)}}),
	} {
		if out, ok := wire.AppendHot(nil, frame); ok {
			t.Errorf("%s is written by hand: %s", name, out)
		}
		want := canonical(t, frame)
		if got, err := wire.JSON().Append([]byte("before"), frame); err != nil || string(got) != "before"+string(want) {
			t.Errorf("%s: %s (%v), protojson: %s", name, got, err, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				b := []byte(strings.Repeat("~", length))
				b[at] = byte(c)
				b[length-1-at/2] |= 0x80 // beyond ASCII behind it, or in its place
				n, ascii := wire.Plain(b)
				want := bytes.IndexFunc(b, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
				if want < 0 {
					want = length
				}
				if n != want {
					t.Fatalf("%q: %d, want %d", b, n, want)
				}
				if ascii && slices.Max(append(b[:n], 0)) >= 0x80 {
					t.Fatalf("%q: the first %d are said to be ASCII", b, n)
				}
			}
		}
	}
	if _, ascii := wire.Plain([]byte("all of this is ASCII")); !ascii {
		t.Error("ASCII is not seen")
	}
}

// TestJSONAllocations: JSON may take two allocations more than protobuf.
func TestJSONAllocations(t *testing.T) {
	pb, js := wire.Protobuf(), wire.JSON()
	for name, frame := range chatFrames() {
		cost := func(codec wire.Codec) (write, fresh, read float64) {
			buf, err := codec.Append(nil, frame)
			if err != nil {
				t.Fatal(err)
			}
			write = testing.AllocsPerRun(100, func() { _, _ = codec.Append(buf[:0], frame) })
			fresh = testing.AllocsPerRun(100, func() { _, _ = codec.Append(nil, frame) })
			into := frame.ProtoReflect().New().Interface()
			read = testing.AllocsPerRun(100, func() {
				proto.Reset(into)
				_ = codec.Decode(buf, into)
			})
			return write, fresh, read
		}
		pbWrite, pbFresh, pbRead := cost(pb)
		write, fresh, read := cost(js)
		if write > pbWrite || fresh > pbFresh+2 || read > pbRead+2 {
			t.Errorf("%s: %v allocations to append, %v to write, %v to read; protobuf %v, %v, %v",
				name, write, fresh, read, pbWrite, pbFresh, pbRead)
		}
	}
}
