package wire_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// The frames of a chat message's life: 150 bytes of text.
func chatFrames() map[string]proto.Message {
	const text = "The quick brown fox jumps over the lazy dog, and then it does so again and again, until the text is as long as the messages that people send are. ok"
	content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
	const dm = "dm:u-4f1c2a9b7d3e:u-9a8b7c6d5e4f"
	return map[string]proto.Message{
		"Send": wire.NewClientFrame(&wire.Send{Conversation: dm, Id: id(1), Content: content}),
		"Ack":  wire.NewServerFrame(&wire.SendAck{Conversation: dm, Id: id(1), Seq: 123456, StoredAtMs: 1_760_000_000_123, Count: 123000}),
		"Push": wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
			Conversation: dm, Seq: 123456, Id: id(1), Sender: "u-4f1c2a9b7d3e", StoredAtMs: 1_760_000_000_123,
			Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: content, Count: 123000,
		}}}),
		"Received": wire.NewClientFrame(&wire.Received{Conversation: dm, Seq: 123456}),
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, frame := range chatFrames() {
		for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
			b.Run(name+"/"+codec.Name(), func(b *testing.B) {
				b.ReportAllocs()
				var buf []byte
				for b.Loop() {
					buf, _ = codec.Append(buf[:0], frame)
				}
				b.ReportMetric(float64(len(buf)), "bytes/frame")
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, frame := range chatFrames() {
		for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
			data, err := codec.Append(nil, frame)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(name+"/"+codec.Name(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if _, client := frame.(*wire.ClientFrame); client {
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
	}
}

func BenchmarkHeadHash(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		wire.HeadHash("dm:u-4f1c2a9b7d3e:u-9a8b7c6d5e4f", 123456)
	}
}
