package bench

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// What is written by hand is what the codec reads, and the other way round.
func TestHotFramesAreTheProtocols(t *testing.T) {
	pb := wire.Protobuf()
	s := sent{[]byte("dm:a:b"), bytes.Repeat([]byte{7}, 16), nil}
	content := &wire.Content{Type: textType, Body: &wire.Content_Text{Text: "héllo"}}
	s.content, _ = content.MarshalVT()
	for _, x := range []struct {
		got        []byte
		want, into proto.Message
	}{
		{putSend(nil, "dm:a:b", s.id, []byte("héllo")), wire.NewClientFrame(&wire.Send{Conversation: "dm:a:b", Id: s.id, Content: content}), &wire.ClientFrame{}},
		{putReceived(nil, "dm:a:b", 300), wire.NewClientFrame(&wire.Received{Conversation: "dm:a:b", Seq: 300}), &wire.ClientFrame{}},
		{putAck(nil, &s, 300, 5), wire.NewServerFrame(&wire.SendAck{Conversation: "dm:a:b", Id: s.id, Seq: 300, StoredAtMs: 5, Count: 300}), &wire.ServerFrame{}},
		{putReceipt(nil, &received{s.conversation, 9}, "a"), wire.NewServerFrame(&wire.Receipt{Conversation: "dm:a:b", User: "a", Received: 9}), &wire.ServerFrame{}},
		{putPush(nil, &s, "a", 300, 5), wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
			Conversation: "dm:a:b", Seq: 300, Id: s.id, Sender: "a", StoredAtMs: 5, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: content, Count: 300,
		}}}), &wire.ServerFrame{}},
	} {
		if err := pb.Decode(x.got, x.into); err != nil || !proto.Equal(x.into, x.want) {
			t.Errorf("%v\n%v, want\n%v", err, x.into, x.want)
		}
	}
	_, message := frameOf(putSend(nil, "dm:a:b", s.id, []byte("héllo")))
	if back, ok := readSent(message); !ok || string(back.conversation) != "dm:a:b" || !bytes.Equal(back.id, s.id) || !bytes.Equal(back.content, s.content) {
		t.Errorf("a Send reads as %q", back)
	}
	_, message = frameOf(putReceived(nil, "dm:a:b", 300))
	if back, ok := readReceived(message); !ok || string(back.conversation) != "dm:a:b" || back.seq != 300 {
		t.Errorf("a Received reads as %v", back)
	}
	raw, err := pb.Append(nil, wire.NewServerFrame(&wire.SendAck{Conversation: "dm:a:b", Id: s.id, Seq: 7, Pos: 3}))
	if err != nil {
		t.Fatal(err)
	}
	_, message = frameOf(raw)
	if a, ok := readAck(message); !ok || a.seq != 7 || !bytes.Equal(a.id, s.id) || string(a.conversation) != "dm:a:b" {
		t.Errorf("an ack reads as %v", a)
	}
	entry := &wire.Entry{Conversation: "dm:a:b", Seq: 8, Id: s.id, Sender: "b", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: content, Pos: 9, Count: 8}
	body, err := entry.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	got, ok := readEntry(body)
	want := arrivalOf(entry)
	if !ok || got.seq != want.seq || got.kind != want.kind || !bytes.Equal(got.id, want.id) || !bytes.Equal(got.text, want.text) ||
		!bytes.Equal(got.sender, want.sender) || !bytes.Equal(got.conversation, want.conversation) {
		t.Errorf("an entry reads as %v, want %v", got, want)
	}
	for n := range body {
		_, _ = readEntry(body[:n]) // cut anywhere, it must not fail badly
	}
}

// A message comes out of its framing as it went in, however it is cut.
func TestFraming(t *testing.T) {
	for _, ws := range []bool{false, true} {
		for _, size := range []int{0, 1, 125, 126, 70_000} {
			p := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, size/7+1)[:size]
			for _, client := range []bool{false, true} {
				f := newFraming(ws, client, wire.Protobuf())
				framed := f.append(nil, p)
				if _, _, n, err := f.next(framed[:len(framed)-1]); n != 0 || err != nil {
					t.Errorf("ws %v, %d bytes, the last one missing: %d, %v", ws, size, n, err)
				}
				whole := len(framed)
				_, got, n, err := f.next(append(framed, 9, 9))
				if err != nil || n != whole || !bytes.Equal(got, p) {
					t.Errorf("ws %v, client %v, %d bytes: took %d of %d, %v", ws, client, size, n, whole, err)
				}
			}
		}
	}
	if _, _, _, err := newFraming(false, false, wire.JSON()).next([]byte{0xff, 0, 0, 0}); err == nil {
		t.Error("a message of 4 GB is waited for")
	}
}
