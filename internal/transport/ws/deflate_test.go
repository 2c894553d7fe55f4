package ws

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

// deflated is a message's deflated form, by the standard library.
func deflated(payload string) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 9)
	_, _ = w.Write([]byte(payload))
	_ = w.Flush()
	return bytes.TrimSuffix(b.Bytes(), []byte(flushed))
}

// finished is one that ends the stream, as some clients send it.
func finished(payload string) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 9)
	_, _ = w.Write([]byte(payload))
	_ = w.Close()
	return append(b.Bytes(), 0)
}

func undo(data []byte) ([]byte, error) {
	return io.ReadAll(flate.NewReader(bytes.NewReader(append(append(slices.Clone(data), flushed...), lastBlock...))))
}

// deflatePeer is a peer that deflates what it sends and inflates what it gets.
type deflatePeer struct{ *peer }

func (p *deflatePeer) Frame(payload []byte) []byte {
	return frameBytes(fin|rsv1Bit|p.op, deflated(string(payload)))
}

const offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"

func handshakeDeflate(nc net.Conn, codec string) (transporttest.Peer, error) {
	p, err := handshakeWith(nc, codec, offer)
	if err != nil {
		return nil, err
	}
	p.inflates = true
	return &deflatePeer{p}, nil
}

func TestConformanceDeflate(t *testing.T) {
	transporttest.Run(t, transporttest.Subject{
		Listen: func(t *testing.T, o wire.ListenOptions) wire.Listener {
			o.Deflate = true
			return listen(t, "ws://127.0.0.1:0/ws", o)
		},
		Connect:   dial,
		Handshake: handshakeDeflate,
		Announce:  func(n uint64) []byte { return announce(0x82, n) },
		TryWrites: true,
		Codes:     true,
		Parks:     true,
	})
}

// Of several offers the first that can be kept is taken; what cannot be is no reason
// to refuse the connection.
func TestDeflateIsNegotiated(t *testing.T) {
	const taken = "client_no_context_takeover; permessage-deflate; server_no_context_takeover"
	for _, c := range []struct {
		offer, want string
		off         bool
	}{
		{offer: "", want: ""},
		{offer: "permessage-deflate", want: taken},
		{offer: "permessage-deflate", want: "", off: true},
		{offer: "permessage-deflate; client_max_window_bits", want: taken},
		{offer: "permessage-deflate; client_max_window_bits=9; server_no_context_takeover; client_no_context_takeover", want: taken},
		{offer: "permessage-deflate; server_max_window_bits=15", want: "client_no_context_takeover; permessage-deflate; server_max_window_bits=15; server_no_context_takeover"},
		{offer: "permessage-deflate; server_max_window_bits=10", want: ""},
		{offer: "permessage-deflate; server_max_window_bits=10, permessage-deflate", want: taken},
		{offer: "permessage-deflate, permessage-deflate", want: taken},
		{offer: "permessage-deflate; client_max_window_bits=7", want: ""},
		{offer: "permessage-deflate; client_max_window_bits=08", want: ""},
		{offer: "permessage-deflate; client_no_context_takeover=1", want: ""},
		{offer: "permessage-deflate; unknown", want: ""},
		{offer: "x-webkit-deflate-frame, permessage-foo; a=b", want: ""},
	} {
		o := options()
		o.Deflate = !c.off
		served := make(chan bool, 1)
		srv := upgradeServer(t, o, func(conn wire.Conn) {
			served <- conn.Info().Deflate
			_ = conn.Close("", "")
		})
		nc, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		header := upgradeHeader + "Sec-WebSocket-Protocol: " + wire.JSONName + "\r\n"
		if c.offer != "" {
			header += "Sec-WebSocket-Extensions: " + c.offer + "\r\n"
		}
		resp, _, err := request(nc, header)
		if err != nil || resp.StatusCode != 101 {
			t.Fatalf("%q: %v, %v", c.offer, resp, err)
		}
		parts := strings.Split(strings.Join(resp.Header["Sec-Websocket-Extensions"], ","), ";")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		slices.Sort(parts)
		if got := strings.Join(parts, "; "); got != c.want {
			t.Errorf("%q is answered with %q, want %q", c.offer, got, c.want)
		}
		if got := <-served; got != (c.want != "") {
			t.Errorf("%q: the connection deflates: %v", c.offer, got)
		}
		_ = nc.Close()
	}
}

// readsDeflated is what a connection with deflate makes of the frames: a message or
// why not.
func readsDeflated(limit int, frames ...[]byte) (string, error) {
	conn := newConn(transporttest.NewScript(slices.Concat(frames...), 0), nil, wire.JSONName, false, true, nil)
	conn.SetReadLimit(limit)
	m, err := conn.ReadMessage()
	return string(m), err
}

func TestDeflatedMessages(t *testing.T) {
	const first = rsv1Bit | text
	hello := deflated("hello")
	stored := append([]byte{0, 5, 0, 0xfa, 0xff}, "hello\x00"...)
	empty := []byte{0, 0, 0, 0xff, 0xff} // a block without a byte
	for name, c := range map[string]struct {
		frames [][]byte
		want   string
		code   wire.Code
	}{
		"one frame":            {frames: [][]byte{frameBytes(fin|first, hello)}, want: "hello"},
		"not deflated":         {frames: [][]byte{frameBytes(fin|text, []byte("hello"))}, want: "hello"},
		"stored":               {frames: [][]byte{frameBytes(fin|first, stored)}, want: "hello"},
		"the stream ends":      {frames: [][]byte{frameBytes(fin|first, finished("hello"))}, want: "hello"},
		"fragments":            {frames: [][]byte{frameBytes(first, hello[:2]), frameBytes(0, hello[2:3]), frameBytes(fin, hello[3:])}, want: "hello"},
		"a ping between":       {frames: [][]byte{frameBytes(first, hello[:2]), frameBytes(fin|ping, []byte("x")), frameBytes(fin, hello[2:])}, want: "hello"},
		"empty fragments":      {frames: [][]byte{frameBytes(first, nil), frameBytes(0, hello), frameBytes(fin, nil)}, want: "hello"},
		"an empty message":     {frames: [][]byte{frameBytes(fin|first, []byte{0})}, want: ""},
		"blocks without bytes": {frames: [][]byte{frameBytes(fin|first, slices.Concat(empty, empty, hello))}, want: "hello"},
		"as long as may be":    {frames: [][]byte{frameBytes(fin|first, deflated(strings.Repeat("a", 1000)))}, want: strings.Repeat("a", 1000)},
		"one byte too long":    {frames: [][]byte{frameBytes(fin|first, deflated(strings.Repeat("a", 1001)))}, code: wire.CodeFrameTooLong},
		"a bomb":               {frames: [][]byte{frameBytes(fin|first, deflated(strings.Repeat("a", 900_000)))}, code: wire.CodeFrameTooLong},
		"long while deflated":  {frames: [][]byte{frameBytes(fin|first, bytes.Repeat(empty, 1000))}, code: wire.CodeFrameTooLong},
		"nothing at all":       {frames: [][]byte{frameBytes(fin|first, nil)}, code: wire.CodeProtocolError},
		"no deflate":           {frames: [][]byte{frameBytes(fin|first, []byte("\xff\xff\xff"))}, code: wire.CodeProtocolError},
		"cut off":              {frames: [][]byte{frameBytes(fin|first, stored[:8])}, code: wire.CodeProtocolError},
		"behind its end":       {frames: [][]byte{frameBytes(fin|first, append(finished("hello"), hello...))}, code: wire.CodeProtocolError},
		"no UTF-8":             {frames: [][]byte{frameBytes(fin|first, deflated("\xff"))}, code: wire.CodeProtocolError},
		"RSV1 in the middle":   {frames: [][]byte{frameBytes(first, hello[:2]), frameBytes(fin|rsv1Bit, hello[2:])}, code: wire.CodeProtocolError},
		"RSV1 on a ping":       {frames: [][]byte{frameBytes(fin|rsv1Bit|ping, nil)}, code: wire.CodeProtocolError},
		"RSV2":                 {frames: [][]byte{frameBytes(fin|0x20|text, hello)}, code: wire.CodeProtocolError},
		"RSV1 and RSV3":        {frames: [][]byte{frameBytes(fin|0x50|text, hello)}, code: wire.CodeProtocolError},
	} {
		got, err := readsDeflated(1000, c.frames...)
		switch {
		case c.code == "" && (err != nil || got != c.want):
			t.Errorf("%s: %.60q, %v", name, got, err)
		case c.code != "" && closeCode(err) != c.code:
			t.Errorf("%s: %.60q, %v, want %s", name, got, err, c.code)
		}
	}
}

// A bomb costs no more than the limit says, and what it took goes back.
func TestABombTakesLittle(t *testing.T) {
	bomb := frameBytes(fin|rsv1Bit|bin, deflated(strings.Repeat("\x00", 64<<20)))
	const limit = 256 << 10
	cost, ok := transporttest.CostsAtMost(8*limit, func() {
		conn := newConn(transporttest.NewScript(slices.Clone(bomb), 0), nil, wire.ProtobufName, true, true, nil)
		conn.SetReadLimit(limit)
		if _, err := conn.ReadMessage(); closeCode(err) != wire.CodeFrameTooLong {
			t.Errorf("64 MiB of zeros: %v", err)
		}
	})
	if !ok {
		t.Errorf("%d bytes of it cost %d bytes of memory", len(bomb), cost)
	}
}

// What is sent deflated is what was to be sent; short and incompressible messages
// are sent as they are.
func TestMessagesAreSentDeflated(t *testing.T) {
	random := make([]byte, 5000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	conn := newConn(transporttest.NewScript(nil, 0), nil, wire.ProtobufName, true, true, nil)
	for name, c := range map[string]struct {
		payload []byte
		head    byte
	}{
		"nothing":        {nil, fin | bin},
		"511 bytes":      {bytes.Repeat([]byte("a"), 511), fin | bin},
		"512 bytes":      {bytes.Repeat([]byte("a"), 512), fin | rsv1Bit | bin},
		"incompressible": {random, fin | bin},
		"text":           {[]byte(strings.Repeat(`{"push":{"entries":[]}}`, 4000)), fin | rsv1Bit | bin},
		"long":           {bytes.Repeat(random, 50), fin | rsv1Bit | bin},
	} {
		framed := conn.AppendMessage([]byte("x"), c.payload)
		var out outgoing
		if out.advance(framed[1:]); !out.between() || framed[1] != c.head {
			t.Errorf("%s: no frame, or its head is %x, want %x", name, framed[1], c.head)
			continue
		}
		body := framed[1+headerSize(framed[2]):]
		if c.head&rsv1Bit != 0 {
			if len(body) >= len(c.payload) {
				t.Errorf("%s: %d bytes became %d", name, len(c.payload), len(body))
			}
			body, _ = undo(body)
		}
		if !bytes.Equal(body, c.payload) {
			t.Errorf("%s: %d bytes arrive, want %d", name, len(body), len(c.payload))
		}
	}
}

// A connection that agreed on deflate costs what one costs that did not: in its
// record, and in what it keeps after messages in both directions.
func TestDeflateCostsAConnectionNothing(t *testing.T) {
	heap := func(deflate bool) float64 {
		const n = 2000
		message := frameBytes(fin|bin, []byte(strings.Repeat("hello ", 100)))
		if deflate {
			message = frameBytes(fin|rsv1Bit|bin, deflated(strings.Repeat("hello ", 100)))
		}
		conns := make([]*conn, 0, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range n {
			c := newConn(transporttest.NewScript(message, 0), nil, wire.ProtobufName, true, deflate, nil)
			if m, err := c.ReadMessage(); err != nil || len(m) != 600 {
				t.Fatalf("%d bytes, %v", len(m), err)
			}
			if framed := c.AppendMessage(nil, message); len(framed) == 0 {
				t.Fatal("nothing is sent")
			}
			c.forget() // as it does before it waits
			conns = append(conns, c)
		}
		runtime.GC()
		runtime.GC() // pools hold what they have over one
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(conns)
		return float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / n
	}
	without, with := heap(false), heap(true)
	if with > without+32 {
		t.Errorf("an idle connection with deflate costs %.0f bytes, one without %.0f", with, without)
	}
}

// FuzzDeflate: whatever a peer that deflates sends, in whatever pieces, the same comes
// out and no message is longer than the limit; what is sent is what was meant.
func FuzzDeflate(f *testing.F) {
	hello := deflated(strings.Repeat("hello", 100))
	f.Add(frameBytes(fin|rsv1Bit|text, hello), uint8(1))
	f.Add(slices.Concat(frameBytes(rsv1Bit|bin, hello[:3]), frameBytes(fin|ping, nil), frameBytes(fin, hello[3:])), uint8(2))
	f.Add(frameBytes(fin|rsv1Bit|bin, finished("x")), uint8(3))
	f.Add(frameBytes(fin|rsv1Bit|text, deflated(strings.Repeat("a", 100_000))), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		const limit = 16 << 10
		run := func(chunk int, binary bool) string {
			conn := newConn(transporttest.NewScript(slices.Clone(data), chunk), nil, wire.JSONName, binary, true, nil)
			conn.SetReadLimit(limit)
			summary, n := transporttest.Transcript(conn)
			if n > limit*(1+len(data)/6) {
				t.Fatalf("%d bytes of messages out of %d", n, len(data))
			}
			return summary
		}
		for _, binary := range []bool{false, true} {
			if want, got := run(0, binary), run(int(chunk), binary); got != want {
				t.Fatalf("in pieces of %d:\n%s\nat once:\n%s", chunk, got, want)
			}
		}
		framed := appendDeflated(nil, opBinary, data)
		body := framed[headerSize(framed[1]):]
		if framed[0]&rsv1Bit != 0 {
			var err error
			if body, err = undo(body); err != nil {
				t.Fatalf("%x cannot be inflated: %v", framed, err)
			}
		}
		if !bytes.Equal(body, data) {
			t.Fatalf("%x arrives as %x", data, body)
		}
	})
}

// BenchmarkDeflate is what a message costs that is sent and received.
func BenchmarkDeflate(b *testing.B) {
	entry := `{"seq":"%d","id":"AZO9V2dOcACAAAAAAAAAAQ==","conversation":"dm:u0123456789abcdef:u9876543210fedcba","sender":"u0123456789abcdef","kind":"MESSAGE","storedAtMs":"1763839200000","count":"%[1]d","pos":"%[1]d","content":{"type":"text","text":"see you at the station at %[1]d past six"}}`
	var page []string
	for i := range 50 {
		page = append(page, fmt.Sprintf(entry, i))
	}
	for name, payload := range map[string]string{"push": `{"push":{"entries":[` + strings.Join(page[:3], ",") + `]}}`, "page": `{"range":{"entries":[` + strings.Join(page, ",") + `]}}`} {
		for _, deflate := range []bool{false, true} {
			conn := newConn(transporttest.NewScript(nil, 0), nil, wire.JSONName, false, deflate, nil)
			b.Run(fmt.Sprintf("send/%s/deflate=%v", name, deflate), func(b *testing.B) {
				b.ReportAllocs()
				var framed []byte
				for b.Loop() {
					framed = conn.AppendMessage(framed[:0], []byte(payload))
				}
				b.ReportMetric(float64(len(framed)), "bytes")
			})
		}
		b.Run("receive/"+name, func(b *testing.B) {
			conn := newConn(transporttest.NewScript(nil, 0), nil, wire.JSONName, false, true, nil)
			conn.SetReadLimit(1 << 20)
			in := deflated(payload)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.inflate(in); err != nil {
					b.Fatal(err)
				}
				conn.forget()
			}
		})
	}
}
