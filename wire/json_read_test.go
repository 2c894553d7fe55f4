package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// spellings are frames as clients may spell them. hot tells those that the
// reader by hand must read; it may leave the others to protojson only.
func spellings() map[bool][]string {
	return map[bool][]string{true: {
		" {\t\"read\" :\r\n { \"conversation\" : \"c\" , \"seq\" : \"5\" } } \n",
		`{"read":{}}`, `{ "read" : { } }`, `{"read":{"seq":5,"conversation":"c"}}`, `{"read":{"seq":0}}`, `{"read":{"seq":"0"}}`,
		`{"read":{"seq":18446744073709551615}}`, `{"read":{"seq":"18446744073709551615"}}`, `{"read":{"seq": 1 }}`,
		`{"read":{"conversation":""}}`, "{\"read\":{\"conversation\":\"\u007f\u2028\ufffd\"}}",
		`{"read":{"conversation":"\"\\\/\b\f\n\r\t\u0000\u00e9\u4F60\uFFFD\uffff and on"}}`,
		`{"read":{"conversation":"\ud83d\ude00"}}`, `{"read":{"conversation":"你\n好 \uD83D\uDE00"}}`, `{"read":{"conversation":"\\\"}"}}`,
		`{"send":{"id":""}}`, `{"send":{"id":"AQ=="}}`, `{"send":{"id":"AQ"}}`, `{"send":{"id":"AQI="}}`, `{"send":{"id":"AQI"}}`, `{"send":{"id":"AQID"}}`,
		`{"send":{"id":"-_-_"}}`, `{"send":{"id":"+/+/"}}`, `{"send":{"id":"A---"}}`, `{"send":{"id":"A___"}}`, `{"send":{"id":"-_8="}}`, `{"send":{"id":"-_8"}}`, `{"send":{"id":"AR=="}}`,
		`{"send":{"id":"01965b3c-4d5e-7001-8000-00000000abcd"}}`, `{"send":{"id":"01965B3C-4D5E-7001-8000-00000000ABCD"}}`, `{"send":{"id":"01965b3C-4d5E-7001-8000-00000000aBcD"}}`,
		`{"send":{"insteadOf":"01965b3c-4d5e-7001-8000-00000000abcd"}}`, `{"send":{"insteadOf":"01965b3c-4d5e-7001-8000x00000000abcd"}}`,
		`{"send":{"mentions":[]}}`, `{"send":{"mentions":[ ]}}`, `{"send":{"mentions":[ "a" , "" , "\u0061" ]}}`,
		`{"send":{"content":{}}}`, `{"send":{"content":{"text":""}}}`, `{"send":{"content":{"data":""}}}`,
		`{"ping":{"digest":0}}`, `{"ping":{"digest":"9"}}`, `{"pong":{"serverTimeMs":9223372036854775807,"resync":true}}`, `{"pong":{"resync":false}}`,
		`{"push":{}}`, `{"push":{"entries":[]}}`, `{"push":{"entries":[{},{"recalled":true},{"kind":"ENTRY_KIND_RECALL","target":"1"}]}}`,
		`{"sendError":{"id":"AQ==","error":{"code":"c","message":"m","retryAfterMs":4294967295}}}`, `{"sendError":{"error":{"retryAfterMs":"1"}}}`,
	}, false: {
		``, ` `, `{}`, `null`, `[]`, `1`, `"read"`, `{"bye":{}}`, `{"read":null}`, `{"read":[]}`, `{"read":""}`, `{"read":{}`, `{"read":{}}}`, `{"read":{}}x`,
		`{"read":{},}`, `{"read":{},"read":{}}`, `{"read":{},"send":{}}`, `{"read":{},"x":1}`, `{"x":1,"read":{}}`, `{,"read":{}}`, `{"read"{}}`, `{"read":}`,
		`{"\u0072ead":{}}`, `{"Read":{}}`, `{"read":{"seq":"1","seq":"2"}}`, `{"read":{"seq":"1","seq":"1"}}`, `{"read":{"seq":null}}`, `{"read":{"seq":null,"seq":"1"}}`,
		`{"read":{"seq":18446744073709551616}}`, `{"read":{"seq":"18446744073709551616"}}`, `{"read":{"seq":99999999999999999999999}}`, `{"read":{"seq":-1}}`, `{"read":{"seq":-0}}`,
		`{"read":{"seq":1.0}}`, `{"read":{"seq":1.5}}`, `{"read":{"seq":1e3}}`, `{"read":{"seq":"1e3"}}`, `{"read":{"seq":1E+2}}`, `{"read":{"seq":0.1e1}}`, `{"read":{"seq":01}}`, `{"read":{"seq":"01"}}`, `{"read":{"seq":00}}`,
		`{"read":{"seq":" 1"}}`, `{"read":{"seq":"1 "}}`, `{"read":{"seq":""}}`, `{"read":{"seq":"}}`, `{"read":{"seq":"\u0031"}}`, `{"read":{"seq":1"}}`, `{"read":{"seq":"1}}`, `{"read":{"seq":"1x}}`, `{"read":{"seq":"1x"}}`, `{"read":{"seq":"1\"}}`, `{"read":{"seq":1x}}`, `{"read":{"seq":+1}}`,
		`{"read":{"seq":true}}`, `{"read":{"seq":"1","x":{"y":[1,null,{}]}}}`, `{"read":{"x":"\ud83d","seq":"1"}}`, `{"read":{"":1}}`,
		`{"read":{"seq":1,}}`, `{"read":{"seq":1 2}}`, `{"read":{"seq":1;"conversation":"c"}}`, `{"read":{"seq"=1}}`, "{\"read\":{\v}}", "\ufeff{\"read\":{}}", "{\"read\":{}}\x00",
		"{\"read\":{\"conversation\":\"\xff\"}}", "{\"read\":{\"conversation\":\"\\n\xc3\"}}", "{\"read\":{\"conversation\":\"\xe4\xbd\\u00a0\"}}", "{\"read\":{\"conversation\":\"\xed\xa0\xbd\xed\xb8\x80\"}}", "{\"read\":{\"\xff\":1}}",
		"{\"read\":{\"conversation\":\"a\nb\"}}", "{\"read\":{\"conversation\":\"\x00\"}}", "{\"read\":{\"conversation\":\"\\n\x1f\"}}",
		`{"read":{"conversation":"\ud83d"}}`, `{"read":{"conversation":"\ude00\ud83d"}}`, `{"read":{"conversation":"\ud83d\u0041"}}`, `{"read":{"conversation":"\ud83dxude00"}}`, `{"read":{"conversation":"\ud83d\n234"}}`,
		`{"read":{"conversation":"\x41"}}`, `{"read":{"conversation":"\u00g0"}}`, `{"read":{"conversation":"\u00"}}`, `{"read":{"conversation":"\u+041"}}`, `{"read":{"conversation":"\U0041"}}`, `{"read":{"conversation":"\'"}}`, `{"read":{"conversation":"\`, `{"read":{"conversation":"\"`, `{"read":{"conversation":"a`,
		`{"read":{"conversation":7}}`, `{"read":{"conversation":null}}`, `{"read":{"conversation":["c"]}}`, `{"read":{'conversation':"c"}}`,
		`{"send":{"id":"A"}}`, `{"send":{"id":"AQ="}}`, `{"send":{"id":"A==="}}`, `{"send":{"id":"=="}}`, `{"send":{"id":"AQ==AQ=="}}`, `{"send":{"id":"-/8="}}`, `{"send":{"id":"\/\/8="}}`, `{"send":{"id":"AQ\n=="}}`, "{\"send\":{\"id\":\"AQ\n==\"}}", "{\"send\":{\"id\":\"AQ\r==\"}}", "{\"send\":{\"id\":\"AQID\n\"}}", "{\"send\":{\"id\":\"\r\n\r\nAQID\"}}", `{"send":{"id":"A Q="}}`, `{"send":{"id":"***"}}`, `{"send":{"id":7}}`, `{"send":{"id":null}}`,
		`{"send":{"id":"01965b3c-4d5e-7001-8000-00000000abcg"}}`, `{"send":{"id":"01965b3c-4d5e-7001-8000-00000000abc"}}`, `{"send":{"id":"01965b3c-4d5e-7001-8000-00000000abcd0"}}`, `{"send":{"id":"01965b3c4-d5e-7001-8000-00000000abcd"}}`, `{"send":{"id":"01965b3c_4d5e_7001_8000_00000000abcd"}}`,
		`{"send":{"id":"\u00301965b3c-4d5e-7001-8000-00000000abcd"}}`, `{"send":{"id":"{01965b3c-4d5e-7001-8000-00000000abcd}"}}`, `{"send":{"id":"01965b3c4d5e7001800000000000abcd"}}`,
		`{"send":{"reply_to":"1"}}`, `{"send":{"replyTo":"1","reply_to":"1"}}`, `{"send":{"mentions":["a",]}}`, `{"send":{"mentions":[,]}}`, `{"send":{"mentions":["a" "b"]}}`, `{"send":{"mentions":[null]}}`, `{"send":{"mentions":null}}`, `{"send":{"mentions":"a"}}`, `{"send":{"mentions":[["a"]]}}`, `{"send":{"mentions":["a"}}`, `{"send":{"mentions":[1]}}`,
		`{"send":{"content":{"text":"a","data":"AQ=="}}}`, `{"send":{"content":{"text":"a","text":"b"}}}`, `{"send":{"content":{"text":null,"data":"AQ=="}}}`, `{"send":{"content":{"data":null,"text":"a"}}}`, `{"send":{"content":null}}`, `{"send":{"content":[]}}`,
		`{"send":{"content":{"text":{"text":"a"}}}}`, `{"send":{"content":{"text":"a"},"content":{"text":"b"}}}`,
		`{"ping":{"digest":null}}`, `{"ping":{"digest":"0x1"}}`, `{"pong":{"resync":truex}}`, `{"pong":{"resync":"true"}}`, `{"pong":{"resync":1}}`, `{"pong":{"resync":tru}}`, `{"pong":{"resync":null}}`, `{"pong":{"resync":true,"resync":true}}`, `{"pong":{"resync":True}}`,
		`{"pong":{"serverTimeMs":9223372036854775808}}`, `{"pong":{"serverTimeMs":"-1"}}`, `{"pong":{"serverTimeMs":-1}}`, `{"pong":{"serverTimeMs":"--1"}}`, `{"pong":{"server_time_ms":1}}`,
		`{"push":{"entries":[{"kind":1}]}}`, `{"push":{"entries":[{"kind":"NEW"}]}}`, `{"push":{"entries":[{"kind":"ENTRY_KIND_\u004dESSAGE"}]}}`, `{"push":{"entries":[{"kind":null}]}}`, `{"push":{"entries":[null]}}`, `{"push":{"entries":{}}}`, `{"push":{"entries":[[]]}}`, `{"push":{"entries":[{}}`, `{"push":{"entries":[],"entries":[]}}`, `{"push":{"x":[]}}`,
		`{"push":{"entries":[{"event":{"type":"EVENT_TYPE_MEMBER_ADDED","users":["a"]}}]}}`, `{"push":{"entries":[{"storedAtMs":"-1"}]}}`, `{"push":{"entries":[{"recalled":null}]}}`,
		`{"sendError":{"error":{"retryAfterMs":4294967296}}}`, `{"sendError":{"error":null}}`, `{"sendError":{"error":"x"}}`, `{"sendError":{"error":{"retryAfterMs":-1}}}`, `{"sendAck":{"send_ack":1}}`, `{"send_ack":{}}`,
	}}
}

// checkDecode expects of one input that the reader by hand either does what
// protojson does or declines and leaves the frame alone. It reports whether it
// was read by hand, by a client's or a server's frame.
func checkDecode(t *testing.T, in []byte, server bool) bool {
	t.Helper()
	data := bytes.Clone(in)
	hot, slow := frames(server)
	ok, err := wire.DecodeHot(data, hot), wire.DecodeJSON(data, slow)
	if !bytes.Equal(data, in) {
		t.Fatalf("%q was changed to %q", in, data)
	}
	if !ok {
		if empty, _ := frames(server); !proto.Equal(hot, empty) {
			t.Fatalf("%q is declined and leaves %v", in, hot)
		}
		return false
	}
	if err != nil {
		t.Fatalf("%q is read as %v, protojson: %v", in, hot, err)
	}
	for i := range data {
		data[i] = 0xee
	}
	if !proto.Equal(hot, slow) {
		t.Fatalf("%q is read as\n%v, protojson\n%v", in, hot, slow)
	}
	return true
}

func TestSpellings(t *testing.T) {
	for hot, list := range spellings() {
		for _, in := range list {
			client, server := checkDecode(t, []byte(in), false), checkDecode(t, []byte(in), true)
			if (client || server) != hot {
				t.Errorf("%q is read by hand: %v", in, !hot)
			}
			// Cut off anywhere it is no frame.
			for n := range strings.TrimRight(in, " \n") {
				if hot && (checkDecode(t, []byte(in[:n]), false) || checkDecode(t, []byte(in[:n]), true)) {
					t.Errorf("%q is read by hand", in[:n])
				}
			}
		}
	}
}

// TestDecodeHotReplaces: a frame that is used again keeps nothing.
func TestDecodeHotReplaces(t *testing.T) {
	frame := wire.NewClientFrame(&wire.Send{Conversation: "c", Mentions: []string{"a"}})
	frame.ProtoReflect().SetUnknown([]byte{0x9a, 0x06, 0x01, 'x'})
	want := wire.NewClientFrame(&wire.Send{ReplyTo: 1})
	if !wire.DecodeHot([]byte(`{"send":{"replyTo":"1"}}`), frame) || !proto.Equal(frame, want) {
		t.Errorf("%v, want %v", frame, want)
	}
	if wire.DecodeHot([]byte(`{"send":{"replyTo":"2"`), frame) || !proto.Equal(frame, want) {
		t.Errorf("declined, %v, want %v", frame, want)
	}
}

// TestHotElementsAreBounded: at the same number as in any other frame.
func TestHotElementsAreBounded(t *testing.T) {
	const bound = 16_384
	for elements, ok := range map[int]bool{bound: true, bound + 1: false} {
		// Three brackets, and a comma before each mention but the first.
		in := []byte(`{"send":{"mentions":["a,{[]}"` + strings.Repeat(`,"a"`, elements-3) + `]}}`)
		if checkDecode(t, in, false) != ok {
			t.Errorf("%d elements are read by hand: %v", elements, !ok)
		}
		if err := wire.JSON().Decode(in, &wire.ClientFrame{}); (err == nil) != ok {
			t.Errorf("%d elements: %v", elements, err)
		}
	}
	entries := `{"push":{"entries":[` + strings.Repeat(`{},`, 70_000) + `{}]}}`
	if checkDecode(t, []byte(entries), true) {
		t.Error("140,000 elements are read")
	}
	if err := wire.JSON().Decode([]byte(entries), &wire.ServerFrame{}); !bounded(err) {
		t.Errorf("140,000 elements: %v", err)
	}
	if !checkDecode(t, fmt.Appendf(nil, `{"push":{"entries":[{"mentions":[%q]}%s]}}`, "a", strings.Repeat(`,{"count":"1"}`, 60_000)), true) {
		t.Error("120,000 elements are declined")
	}
}
