package wire_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// The frames of a chat message's life: 150 bytes of text, or of data.
func chatFrames() map[string]proto.Message {
	const text = "The quick brown fox jumps over the lazy dog, and then it does so again and again, until the text is as long as the messages that people send are. ok"
	content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
	data := &wire.Content{Type: "text", Body: &wire.Content_Data{Data: []byte(text)}}
	han := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: strings.Repeat("敏捷的棕狐", 10)}}
	lines := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: strings.Repeat("\"One line\", he said.\n", 7)}}
	const dm = "dm:u-4f1c2a9b7d3e:u-9a8b7c6d5e4f"
	send := func(c *wire.Content) proto.Message {
		return wire.NewClientFrame(&wire.Send{Conversation: dm, Id: id(1), Content: c})
	}
	push := func(c *wire.Content) proto.Message {
		return wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
			Conversation: dm, Seq: 123456, Id: id(1), Sender: "u-4f1c2a9b7d3e", StoredAtMs: 1_760_000_000_123,
			Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: c, Count: 123000,
		}}})
	}
	return map[string]proto.Message{
		"Send": send(content), "SendData": send(data), "SendHan": send(han), "SendLines": send(lines),
		"Ack":  wire.NewServerFrame(&wire.SendAck{Conversation: dm, Id: id(1), Seq: 123456, StoredAtMs: 1_760_000_000_123, Count: 123000}),
		"Push": push(content), "PushData": push(data), "PushHan": push(han), "PushLines": push(lines),
		"Received": wire.NewClientFrame(&wire.Received{Conversation: dm, Seq: 123456}),
		"Receipt":  wire.NewServerFrame(&wire.Receipt{Conversation: dm, User: "u-4f1c2a9b7d3e", Received: 123456, Read: 123450}),
	}
}

// protojsonCodec is the JSON codec without its hand-written part.
type protojsonCodec struct{ wire.Codec }

func (protojsonCodec) Name() string { return "protojson" }
func (protojsonCodec) Append(dst []byte, frame proto.Message) ([]byte, error) {
	return wire.AppendJSON(dst, frame)
}
func (protojsonCodec) Decode(data []byte, frame proto.Message) error {
	return wire.DecodeJSON(data, frame)
}

// eachCodec runs a benchmark of every frame with every codec, those of one frame
// one after another.
func eachCodec(b *testing.B, run func(b *testing.B, codec wire.Codec, frame proto.Message)) {
	frames := chatFrames()
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON(), protojsonCodec{wire.JSON()}} {
			b.Run(name+"/"+codec.Name(), func(b *testing.B) {
				b.ReportAllocs()
				run(b, codec, frames[name])
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	eachCodec(b, func(b *testing.B, codec wire.Codec, frame proto.Message) {
		var buf []byte
		for b.Loop() {
			buf, _ = codec.Append(buf[:0], frame)
		}
		b.ReportMetric(float64(len(buf)), "bytes/frame")
	})
}

func BenchmarkDecode(b *testing.B) {
	eachCodec(b, func(b *testing.B, codec wire.Codec, frame proto.Message) {
		data, err := codec.Append(nil, frame)
		if err != nil {
			b.Fatal(err)
		}
		_, client := frame.(*wire.ClientFrame)
		for b.Loop() {
			if client {
				err = codec.Decode(data, new(wire.ClientFrame))
			} else {
				err = codec.Decode(data, new(wire.ServerFrame))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkHeadHash(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		wire.HeadHash("dm:u-4f1c2a9b7d3e:u-9a8b7c6d5e4f", 123456)
	}
}
