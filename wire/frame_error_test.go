package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skein-im/skein/wire"
)

// What is wrong with a message is named by fields of the contract and, in JSON, by its
// place; nothing that the peer wrote is quoted.
func TestFrameErrors(t *testing.T) {
	deep := strings.Repeat("[", 100)
	for _, c := range []struct {
		codec              wire.Codec
		data, frame, field string
		line, column       int
	}{
		{wire.JSON(), `{"ping":`, "ping", "ping", 1, 9},
		{wire.JSON(), `hello secret`, "", "", 1, 1},
		{wire.JSON(), `{"secret":{"a":[}}`, "", "", 1, 17},
		{wire.JSON(), "{\"send\":{\n\"content\":{\"type\":5}}}", "send", "send.content.type", 2, 19},
		{wire.JSON(), `{"send":{"mentions":["bob","al",5]}}`, "send", "send.mentions[2]", 1, 33},
		{wire.JSON(), `{"send":{"extra":{"secret":5}}}`, "send", "send.extra", 1, 28},
		{wire.JSON(), `{"s\u0065nd":{"reply_to":"x"}}`, "send", "send.replyTo", 1, 26},
		{wire.JSON(), `{"send":{"content":{"text":"é","data":5}}}`, "send", "send.content.data", 1, 32},
		{wire.JSON(), `{"read":{"seq":"1","seq":"2"}}`, "read", "read.seq", 1, 20},
		{wire.JSON(), `{"call":{"json":{"secret":` + deep, "call", "call.json", 1, 84},
		{wire.JSON(), `{"pulls":{"pulls":[{},{"from":-1}]}}`, "pulls", "pulls.pulls[1].from", 1, 31},
		// Half a surrogate, with more behind it and as the last thing said.
		{wire.JSON(), `{"renew":{"token":"\ud800","secret":"more than enough"}}`, "renew", "renew.token", 1, 19},
		{wire.JSON(), `{"renew":{"token":"\ud800"}}`, "renew", "renew.token", 1, 19},
		{wire.JSON(), `{"watchPresence":{"users":["a","\ud800"]}}`, "watchPresence", "watchPresence.users[1]", 1, 32},
		{wire.Protobuf(), "\x52\x05\x01", "ping", "ping", 0, 0},
		{wire.Protobuf(), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "", "", 0, 0},
		{wire.Protobuf(), "\x12\x08\x2a\x03bob\x2a\x01\xff", "send", "send.mentions[1]", 0, 0},
		{wire.Protobuf(), "\x12\x06\x3a\x04\x0a\x02\xc3\x28", "send", "send.extra", 0, 0},
	} {
		err := c.codec.Decode([]byte(c.data), new(wire.ClientFrame))
		var wrong *wire.FrameError
		if !errors.As(err, &wrong) {
			t.Errorf("%s %.40q: %v", c.codec.Name(), c.data, err)
			continue
		}
		if wrong.Frame != c.frame || wrong.Field != c.field || wrong.Line != c.line || wrong.Column != c.column {
			t.Errorf("%s %.40q: frame %q, field %q, %d:%d; want %q, %q, %d:%d", c.codec.Name(), c.data, wrong.Frame, wrong.Field, wrong.Line, wrong.Column, c.frame, c.field, c.line, c.column)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q is quoted: %v", c.data, err)
		}
	}
}

func TestRequestErrors(t *testing.T) {
	m, ok := wire.LookupMethod("skein.v1.GroupService/CreateGroup")
	if !ok {
		t.Fatal("no such method")
	}
	for text, field := range map[string]string{
		`{"members":["a",7]}`:                        "members[1]",
		`{"name":{"secret":1}}`:                      "name",
		`{"name":"a","members":`:                     "members",
		`{"secret":` + strings.Repeat("[", 50):       "",
		`{"secret":1,"name":"a","name":"secret"}`:    "name",
		`{"secret":9007199254740993,"members":[{}]}`: "members[0]",
	} {
		_, err := m.RequestFromJSON([]byte(text), 32)
		var wrong *wire.FrameError
		if !errors.As(err, &wrong) || wrong.Field != field || wrong.Frame != "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if _, err := m.RequestFromJSON([]byte(`{"name":"a","unheardOf":[9007199254740993]}`), 32); err != nil {
		t.Errorf("an unknown field: %v", err)
	}
	var in wire.CreateGroupRequest
	var wrong *wire.FrameError
	if err := wire.UnmarshalRequest([]byte("\x0a\x01\xff"), &in); !errors.As(err, &wrong) || wrong.Field != "name" {
		t.Errorf("protobuf: %v", err)
	}
}
