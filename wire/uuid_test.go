package wire_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// TestUUIDText: wherever a client names an id in JSON it may be the text of a UUID, and
// means what its base64 means. Nothing else of 27 bytes becomes an id.
func TestUUIDText(t *testing.T) {
	want := []byte{0x01, 0x96, 0x5b, 0x3c, 0x4d, 0x5e, 0x70, 0x01, 0x80, 0, 0, 0, 0, 0, 0xab, 0xcd}
	for text, means := range map[string][]byte{
		"01965b3c-4d5e-7001-8000-00000000abcd":     want,
		"01965B3C-4D5E-7001-8000-00000000ABCD":     want,
		"01965b3C-4d5E-7001-8000-00000000aBcD":     want,
		"AZZbPE1ecAGAAAAAAACrzQ==":                 want,
		"AZZbPE1ecAGAAAAAAACrzQ":                   want,
		"":                                         nil,
		"00000000-0000-0000-0000-000000000000":     make([]byte, 16), // no v7: for the server to refuse
		"0000000000000000000000000000000000000000": bytes.Repeat([]byte{0xd3, 0x4d, 0x34}, 10),
		"000000000000000000000000000000000000":     bytes.Repeat([]byte{0xd3, 0x4d, 0x34}, 9),
		"01965b3c-4d5e-7001-8000-00000000abcg":     nil, // anything but 16 bytes
	} {
		var c, s wire.ClientFrame
		decode(t, `{"send":{"id":"`+text+`","insteadOf":"`+text+`"}}`, &c)
		ids := map[string][]byte{"id": c.GetSend().GetId(), "insteadOf": c.GetSend().GetInsteadOf()}
		decode(t, `{"send":{"unknown":1,"id":"`+text+`","insteadOf":"`+text+`"}}`, &s) // not by hand
		ids["id by protojson"], ids["insteadOf by protojson"] = s.GetSend().GetId(), s.GetSend().GetInsteadOf()
		decode(t, `{"sync":{"newest":{"id":"`+text+`"}}}`, &c)
		ids["sync"] = c.GetSync().GetNewest().GetId()
		decode(t, `{"hello":{"sync":{"newest":{"id":"`+text+`"}}}}`, &c)
		ids["hello"] = c.GetHello().GetSync().GetNewest().GetId()
		var send wire.SendMessageRequest
		request(t, "SendMessage", `{"id":"`+text+`"}`, &send)
		ids["SendMessage"] = send.Id
		var list wire.ListConversationsRequest
		request(t, "ListConversations", `{"newest":{"id":"`+text+`"}}`, &list)
		ids["ListConversations"] = list.GetNewest().GetId()
		for where, id := range ids {
			if means == nil && text != "" {
				if len(id) == 16 {
					t.Errorf("%s: %q is read as the id %x", where, text, id)
				}
			} else if !bytes.Equal(id, means) {
				t.Errorf("%s: %q is read as %x, want %x", where, text, id, means)
			}
		}
	}
}

// Without its sub-messages a frame has no ids, and in protobuf 27 bytes are no id.
func TestUUIDTextIsJSON(t *testing.T) {
	for _, in := range []string{`{}`, `{"sync":{}}`, `{"hello":{}}`, `{"send":{}}`, `{"sync":null}`, `{"hello":{"sync":null}}`} {
		var c wire.ClientFrame
		decode(t, in, &c)
	}
	long := bytes.Repeat([]byte{0xd3, 0x4d, 0x34}, 9)
	var text wire.Send
	if err := protojson.Unmarshal([]byte(`{"id":"01965b3c-4d5e-7001-8000-00000000abcd"}`), &text); err != nil || len(text.Id) != len(long) {
		t.Fatalf("%x, %v: not what the text of a UUID decodes to", text.Id, err)
	}
	data, err := wire.Protobuf().Append(nil, wire.NewClientFrame(&text))
	if err != nil {
		t.Fatal(err)
	}
	var c wire.ClientFrame
	if err := wire.Protobuf().Decode(data, &c); err != nil || !bytes.Equal(c.GetSend().GetId(), text.Id) {
		t.Errorf("in protobuf %x became %x, %v", text.Id, c.GetSend().GetId(), err)
	}
}

func decode(t *testing.T, in string, f *wire.ClientFrame) {
	t.Helper()
	f.Reset()
	if err := wire.JSON().Decode([]byte(in), f); err != nil {
		t.Fatalf("%s: %v", in, err)
	}
}

func request(t *testing.T, method, in string, to proto.Message) {
	t.Helper()
	m, ok := wire.LookupMethod("skein.v1.MessageService/" + method)
	if !ok {
		t.Fatalf("no method %s", method)
	}
	data, err := m.RequestFromJSON([]byte(in), 32)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}
