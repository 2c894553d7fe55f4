package wire_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// FuzzClientReader: whatever was read before, into the same memory and of the same
// client, a frame is what it is without.
func FuzzClientReader(f *testing.F) {
	codecs := []wire.Codec{wire.Protobuf(), wire.JSON()}
	vectors := clientVectors(&testing.T{})
	for i, codec := range codecs {
		var before []byte
		for _, v := range vectors {
			data, _ := codec.Append(nil, v.frame)
			f.Add(before, data, i == 1)
			before = data
		}
	}
	f.Add([]byte(`{"read":{"conversation":"dm:a:b","seq":"5"}}`), []byte(`{"received":{"conversation":"dm:a:b\"","seq":"7"}}`), true)
	f.Add([]byte(`{"read":{"conversation":"a\"b","seq":"5"}}`), []byte(`{"received":{"conversation":"a"b","seq":"7"}}`), true)
	f.Add([]byte(`{"read":{"conversation":"é"}}`), []byte(`{"read":{"conversation":"é"}}`), true)
	f.Fuzz(func(t *testing.T, before, data []byte, json bool) {
		codec := codecs[0]
		if json {
			codec = codecs[1]
		}
		var r wire.ClientReader
		last := ""
		_, _ = r.Read(codec, before, &last)
		for range 2 {
			var want wire.ClientFrame
			got, err := r.Read(codec, bytes.Clone(data), &last)
			if wantErr := codec.Decode(data, &want); (err == nil) != (wantErr == nil) {
				t.Fatalf("in used memory: %v, without: %v", err, wantErr)
			}
			if err == nil && !proto.Equal(got, &want) {
				t.Fatalf("in used memory: %v\nwithout: %v", got, &want)
			}
			r.Forget()
		}
	})
}

// What clients say most, in the conversation they said it in before, costs nothing
// but the text of a message.
func TestAReaderAllocatesOnlyTheText(t *testing.T) {
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		for name, most := range map[string]float64{"Send": 1, "Received": 0} {
			data, err := codec.Append(nil, chatFrames()[name])
			if err != nil {
				t.Fatal(err)
			}
			var r wire.ClientReader
			last := ""
			got := testing.AllocsPerRun(100, func() {
				_, err = r.Read(codec, data, &last)
				r.Forget()
			})
			if err != nil || got > most {
				t.Errorf("%s: %s: %v allocations, at most %v, %v", codec.Name(), name, got, most, err)
			}
		}
	}
}

// Nothing of a frame is in the next one, and a name is read as it stands there,
// however much like the last one it is.
func TestAReaderForgets(t *testing.T) {
	content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}
	frames := []*wire.ClientFrame{
		wire.NewClientFrame(&wire.Send{Conversation: "dm:a:b", Id: id(1), Content: content, ReplyTo: 7, Mentions: []string{"b"}, InsteadOf: id(2)}),
		wire.NewClientFrame(&wire.Send{Conversation: "dm:a:c", Id: id(3), Content: content}),
		wire.NewClientFrame(&wire.Received{Conversation: "dm:a:b", Seq: 5}),
		wire.NewClientFrame(&wire.Received{Conversation: "dm:a:", Seq: 6}),
		wire.NewClientFrame(&wire.Received{Conversation: "dm:a:b", Seq: 0}),
		wire.NewClientFrame(&wire.Send{Conversation: `a"b`, Id: id(3)}),
		wire.NewClientFrame(&wire.Send{}),
	}
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		for _, before := range frames {
			for _, frame := range frames {
				var r wire.ClientReader
				last := ""
				for _, f := range []*wire.ClientFrame{before, frame, frame} {
					data, err := codec.Append(nil, f)
					if err != nil {
						t.Fatal(err)
					}
					if got, err := r.Read(codec, data, &last); err != nil || !proto.Equal(got, f) {
						t.Fatalf("%s: %v, %v\nbehind %v", codec.Name(), got, err, before)
					}
				}
			}
		}
	}
}
