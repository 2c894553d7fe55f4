package ws

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

// The case groups 1 to 7 of the Autobahn test suite for servers, as a table: an
// echo server is told to, byte for byte, what a case says, and must answer with
// exactly the given frames. Violations close with protocol_error (SPEC §3.6)
// where Autobahn expects 1002 or 1007.

// caseStep is what the client sends: frames, as (FIN/RSV/opcode, payload).
type sent struct {
	head    byte
	payload string
}

// got is a frame of the server's: text and binary echoes, pongs, the close.
type got struct {
	op      byte
	payload string
}

type autobahnCase struct {
	name string
	send []sent
	want []got
	// raw replaces send.
	raw []byte
	// end: the server ends the connection after want.
	end bool
}

const (
	fin    = 0x80
	text   = 1
	bin    = 2
	closeF = 8
	ping   = 9
	pong   = 10
)

func closed(status int) got {
	return got{closeF, string(binary.BigEndian.AppendUint16(nil, uint16(status)))}
}

var violation = closed(wire.CodeProtocolError.Info().Number)

func message(op byte, payload string) sent { return sent{fin | op, payload} }

// goodbye ends a case in order.
var goodbye = message(closeF, "\x03\xe8")

func framing() (cases []autobahnCase) {
	for group, op := range []byte{text, bin} {
		for i, n := range []int{0, 125, 126, 127, 128, 65535, 65536} {
			payload := strings.Repeat("*", n)
			cases = append(cases, autobahnCase{
				name: fmt.Sprintf("1.%d.%d", group+1, i+1),
				send: []sent{message(op, payload), goodbye},
				want: []got{{op, payload}, closed(1000)}, end: true,
			})
		}
	}
	return cases
}

func pings() []autobahnCase {
	var ten autobahnCase
	ten.name, ten.end = "2.10", true
	for i := range 10 {
		p := fmt.Sprint("payload-", i)
		ten.send = append(ten.send, message(ping, p))
		ten.want = append(ten.want, got{pong, p})
	}
	ten.send, ten.want = append(ten.send, goodbye), append(ten.want, closed(1000))
	long := strings.Repeat("\xfe", 125)
	bye := func(c autobahnCase) autobahnCase {
		c.send, c.want, c.end = append(c.send, goodbye), append(c.want, closed(1000)), true
		return c
	}
	return []autobahnCase{
		bye(autobahnCase{name: "2.1 without payload", send: []sent{message(ping, "")}, want: []got{{pong, ""}}}),
		bye(autobahnCase{name: "2.2 text payload", send: []sent{message(ping, "Hello, world!")}, want: []got{{pong, "Hello, world!"}}}),
		bye(autobahnCase{name: "2.3 binary payload", send: []sent{message(ping, "\x00\xff\xfe\xfd\xfc\xfb\x00\xff")}, want: []got{{pong, "\x00\xff\xfe\xfd\xfc\xfb\x00\xff"}}}),
		bye(autobahnCase{name: "2.4 125 bytes", send: []sent{message(ping, long)}, want: []got{{pong, long}}}),
		{name: "2.5 126 bytes", send: []sent{message(ping, long+"\xfe")}, want: []got{violation}, end: true},
		bye(autobahnCase{name: "2.7 unasked pong", send: []sent{message(pong, "")}}),
		bye(autobahnCase{name: "2.8 unasked pong with payload", send: []sent{message(pong, "unsolicited")}}),
		bye(autobahnCase{name: "2.9 pong, ping", send: []sent{message(pong, "x"), message(ping, "y")}, want: []got{{pong, "y"}}}),
		ten,
	}
}

func reserved() (cases []autobahnCase) {
	for i := byte(1); i <= 7; i++ {
		for _, op := range []byte{text, bin, ping, pong, closeF} {
			cases = append(cases, autobahnCase{
				name: fmt.Sprintf("3.%d RSV %d on opcode %d", i, i, op),
				send: []sent{message(text, "first"), {fin | i<<4 | op, "x"}, message(ping, "")},
				want: []got{{text, "first"}, violation}, end: true,
			})
		}
	}
	for _, op := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		for _, payload := range []string{"", "reserved opcode"} {
			cases = append(cases, autobahnCase{
				name: fmt.Sprintf("4 opcode %d, %d bytes", op, len(payload)),
				send: []sent{message(text, "first"), message(op, payload), message(ping, "")},
				want: []got{{text, "first"}, violation}, end: true,
			})
		}
	}
	return cases
}

func fragmentation() []autobahnCase {
	ok := func(name string, want []got, send ...sent) autobahnCase {
		return autobahnCase{name: name, send: append(send, goodbye), want: append(want, closed(1000)), end: true}
	}
	bad := func(name string, want []got, send ...sent) autobahnCase {
		return autobahnCase{name: name, send: send, want: append(want, violation), end: true}
	}
	both := []got{{text, "fragment1fragment2"}}
	return []autobahnCase{
		bad("5.1 ping in two", nil, sent{ping, "fragment1"}, sent{fin, "fragment2"}),
		bad("5.2 pong in two", nil, sent{pong, "fragment1"}, sent{fin, "fragment2"}),
		ok("5.3-5.5 text in two", both, sent{text, "fragment1"}, sent{fin, "fragment2"}),
		ok("5.6-5.8 ping between", []got{{pong, "ping payload"}, both[0]}, sent{text, "fragment1"}, message(ping, "ping payload"), sent{fin, "fragment2"}),
		bad("5.9 continuation of nothing, fin", nil, sent{fin, "non-continuation"}, message(text, "Hello")),
		bad("5.12 continuation of nothing", nil, sent{0, "non-continuation"}, message(text, "Hello")),
		bad("5.15 continuation after the end", both, sent{text, "fragment1"}, sent{fin, "fragment2"}, sent{0, "fragment3"}, message(text, "fragment4")),
		bad("5.16 continuation first", nil, sent{0, "fragment1"}, sent{text, "fragment2"}, sent{fin, "fragment3"}),
		bad("5.17 continuation with fin first", nil, sent{fin, "fragment1"}, sent{text, "fragment2"}, sent{fin, "fragment3"}),
		bad("5.18 text within text", nil, sent{text, "fragment1"}, message(text, "fragment2")),
		ok("5.19 pings between five", []got{{pong, "pongme 1!"}, {pong, "pongme 2!"}, {text, "f1f2f3f4f5"}},
			sent{text, "f1"}, sent{0, "f2"}, message(ping, "pongme 1!"), sent{0, "f3"}, sent{0, "f4"}, message(ping, "pongme 2!"), sent{fin, "f5"}),
		ok("empty fragments", []got{{text, "x"}}, sent{text, ""}, sent{0, "x"}, sent{0, ""}, sent{fin, ""}),
		ok("nothing but empty fragments", []got{{text, ""}}, sent{text, ""}, sent{0, ""}, sent{fin, ""}),
	}
}

func utf8Cases() (cases []autobahnCase) {
	kosme := "Hello-µ@ßöäüàá-UTF-8!!"
	good := func(name string, parts ...string) {
		c := autobahnCase{name: "6 " + name, end: true, want: []got{{text, strings.Join(parts, "")}, closed(1000)}}
		for i, p := range parts {
			head := byte(0)
			if i == 0 {
				head = text
			}
			if i == len(parts)-1 {
				head |= fin
			}
			c.send = append(c.send, sent{head, p})
		}
		c.send = append(c.send, goodbye)
		cases = append(cases, c)
	}
	good("1.1 empty", "")
	good("2.1 one frame", kosme)
	good("2.2 on a boundary", kosme[:7], kosme[7:])
	good("2.3 byte by byte", strings.Split(fmt.Sprintf("%x", kosme), "")...)
	var bytewise []string
	for i := range len(kosme) {
		bytewise = append(bytewise, kosme[i:i+1])
	}
	good("2.4 within characters", bytewise...)
	for _, s := range []string{
		"κόσμε", "\x00", "\u0080", "\u0800", "\U00010000", "\u007f", "\u07ff", "\uffff", "\U0010ffff", "\ud7ff", "\ue000", "\ufffd", "\ufffe", "\U0001fffe",
	} {
		good(fmt.Sprintf("valid %x", s), s)
	}
	for _, s := range []string{
		"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited", "\xf4\x90\x80\x80", "\x80", "\xbf", "\x80\xbf", "\xc0\x20", "\xfe", "\xff",
		"\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80", "\xc0", "\xe0\x80", "\xf0\x80\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xc1\xbf",
		"\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xed\xa0\x80\xed\xb0\x80", "ok\xe2\x82",
	} {
		cases = append(cases,
			autobahnCase{name: fmt.Sprintf("6 invalid %x", s), send: []sent{message(text, s)}, want: []got{violation}, end: true},
			autobahnCase{name: fmt.Sprintf("6 invalid %x, split", s), send: []sent{{text, s[:len(s)/2]}, {fin, s[len(s)/2:]}}, want: []got{violation}, end: true},
			autobahnCase{name: fmt.Sprintf("6 bytes %x", s), send: []sent{message(bin, s), goodbye}, want: []got{{bin, s}, closed(1000)}, end: true},
		)
	}
	return cases
}

func closes() (cases []autobahnCase) {
	closing := func(name, payload string, answer got) {
		cases = append(cases, autobahnCase{name: "7 " + name, send: []sent{message(text, "a"), message(closeF, payload)}, want: []got{{text, "a"}, answer}, end: true})
	}
	status := func(n int) string { return closed(n).payload }
	closing("1.1 in order", status(1000), closed(1000))
	closing("3.1 without a code", "", closed(1000))
	closing("3.2 half a code", "a", violation)
	closing("3.4 with a reason", status(1000)+"Hello World!", closed(1000))
	closing("3.5 longest reason", status(1000)+strings.Repeat("*", 123), closed(1000))
	closing("3.6 reason too long", status(1000)+strings.Repeat("*", 124), violation)
	closing("5.1 invalid UTF-8 in the reason", status(1000)+"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80", violation)
	for _, n := range []int{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999} {
		closing(fmt.Sprint("7 valid code ", n), status(n), closed(n))
	}
	for _, n := range []int{0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535} {
		closing(fmt.Sprint("9 invalid code ", n), status(n), violation)
	}
	return append(cases,
		autobahnCase{name: "7.1.2 two closes", send: []sent{goodbye, goodbye}, want: []got{closed(1000)}, end: true},
		autobahnCase{name: "7.1.3 ping after close", send: []sent{goodbye, message(ping, "")}, want: []got{closed(1000)}, end: true},
		autobahnCase{name: "7.1.4 message after close", send: []sent{goodbye, message(text, "x")}, want: []got{closed(1000)}, end: true},
		autobahnCase{name: "7.1.5 close within a message", send: []sent{{text, "fragment1"}, goodbye, {fin, "fragment2"}}, want: []got{closed(1000)}, end: true},
		autobahnCase{name: "7.1.6 much before the close", send: []sent{message(text, strings.Repeat("BAsd7&jh23", 20_000)), message(text, "Hello"), goodbye},
			want: []got{{text, strings.Repeat("BAsd7&jh23", 20_000)}, {text, "Hello"}, closed(1000)}, end: true},
	)
}

func headers() []autobahnCase {
	raw := func(name string, b ...byte) autobahnCase {
		return autobahnCase{name: name, raw: b, want: []got{violation}, end: true}
	}
	return []autobahnCase{
		raw("not masked", 0x81, 0x02, 'h', 'i'),
		raw("not masked, empty", 0x81, 0x00),
		raw("length not minimal, 16 bits", append([]byte{0x81, 0x80 | 126, 0, 5, 1, 2, 3, 4}, "hello"...)...),
		raw("length not minimal, 64 bits", append([]byte{0x81, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4}, "hello"...)...),
		raw("length negative", 0x81, 0x80|127, 0x80, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4),
		raw("ping without fin", 0x09, 0x80, 1, 2, 3, 4),
	}
}

func TestAutobahn(t *testing.T) {
	l := listen(t, "ws://127.0.0.1:0", wire.ListenOptions{}.WithCodecs(transporttest.Codecs()...))
	served := make(chan error, 1)
	go func() { served <- l.Serve(echo) }()
	t.Cleanup(func() {
		_ = l.Close()
		<-served
	})
	groups := slices.Concat(framing(), pings(), reserved(), fragmentation(), utf8Cases(), closes(), headers())
	if len(groups) < 150 {
		t.Fatalf("%d cases", len(groups))
	}
	for _, c := range groups {
		all := c.raw
		codec := wire.JSONName
		for _, s := range c.send {
			all = append(all, frameBytes(s.head, []byte(s.payload))...)
			if s.head&0xf == bin {
				codec = wire.ProtobufName
			}
		}
		if codec == wire.ProtobufName && slices.ContainsFunc(c.send, func(s sent) bool { return s.head&0xf == text }) {
			codec = wire.JSONName
		}
		for _, chop := range []int{len(all), 1, 997} {
			if chop == 1 && len(all) > 2000 {
				continue
			}
			t.Run(fmt.Sprintf("%s/chopped by %d", c.name, chop), func(t *testing.T) {
				runCase(t, l, codec, c, slices.Collect(slices.Chunk(all, max(chop, 1))))
			})
		}
	}
}

// echo answers every message with itself, as the session does: with TryWrite,
// then Write.
func echo(conn wire.Conn) {
	conn.SetReadLimit(1 << 20)
	for {
		m, err := conn.ReadMessage()
		if err != nil {
			_ = conn.Close(closeCode(err), "")
			return
		}
		framed := conn.AppendMessage(nil, m)
		n, err := conn.TryWrite(framed)
		if err == nil && n < len(framed) {
			err = conn.Write(framed[n:], time.Now().Add(10*time.Second))
		}
		if err != nil {
			_ = conn.Close("", "")
			return
		}
	}
}

func closeCode(err error) wire.Code {
	if ce, ok := err.(*wire.CloseError); ok {
		return ce.Code
	}
	return ""
}

func runCase(t *testing.T, l wire.Listener, codec string, c autobahnCase, chunks [][]byte) {
	client, err := handshake(dial(t, l), codec)
	if err != nil {
		t.Fatal(err)
	}
	p := client.(*peer)
	defer p.Close()
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for _, chunk := range chunks {
			if _, err := p.Write(chunk); err != nil {
				return // the server may have closed already
			}
		}
	}()
	for i, want := range c.want {
		f, err := p.read()
		if err != nil {
			t.Fatalf("frame %d: %v, want opcode %d %.40q", i, err, want.op, want.payload)
		}
		if f.op == closeF && want.op == closeF && len(f.payload) > 2 {
			f.payload = f.payload[:2] // the reason is for people
		}
		if f.op != want.op || !f.fin || !bytes.Equal(f.payload, []byte(want.payload)) {
			t.Fatalf("frame %d: opcode %d %.60q, want %d %.60q", i, f.op, f.payload, want.op, want.payload)
		}
	}
	if c.end {
		if f, err := p.read(); err != io.EOF {
			t.Fatalf("after the close: %v %v, want the end", f, err)
		}
	}
	<-wrote
}
