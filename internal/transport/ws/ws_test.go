package ws

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/skein-im/skein/internal/transport/pipe"
	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

func options() wire.ListenOptions {
	return wire.ListenOptions{}.WithCodecs(transporttest.Codecs()...)
}

// upgradeServer serves Handler as the public port does.
func upgradeServer(t *testing.T, o wire.ListenOptions, serve func(wire.Conn)) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/ws", Handler(o, serve))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestHandshakeRefusals(t *testing.T) {
	srv := upgradeServer(t, options(), func(wire.Conn) { t.Error("served") })
	const good = upgradeHeader + "Sec-WebSocket-Protocol: skein.v1.pb\r\n"
	for _, c := range []struct {
		name, header string
		status       int
		body         string
	}{
		{"no upgrade", "Accept: text/html\r\n", 426, "WebSocket"},
		{"upgrade to something else", "Connection: Upgrade\r\nUpgrade: h2c\r\n", 426, ""},
		{"old version", strings.Replace(good, "Version: 13", "Version: 8", 1), 426, ""},
		{"no version", strings.Replace(good, "Sec-WebSocket-Version: 13\r\n", "", 1), 400, ""},
		{"no key", strings.Replace(good, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", 1), 400, ""},
		{"short key", strings.Replace(good, "dGhlIHNhbXBsZSBub25jZQ==", "abc=", 1), 400, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			resp, _, err := request(nc, c.header)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != c.status || !strings.Contains(string(body), c.body) {
				t.Errorf("%d %s, want %d with %q", resp.StatusCode, body, c.status, c.body)
			}
			if c.status == 426 && c.name == "old version" && resp.Header.Get("Sec-WebSocket-Version") != "13" {
				t.Error("the answer does not tell the version")
			}
		})
	}
}

// A browser tells its page nothing of a refusal before the upgrade, nor of a connection
// without one of the sub-protocols that it offered: so it comes after, in a frame and
// by the close code.
func TestRefusalsAfterTheUpgrade(t *testing.T) {
	served := make(chan wire.ConnInfo, 1)
	srv := upgradeServer(t, options(), func(c wire.Conn) {
		served <- c.Info()
		_ = c.Close(wire.CodeReplaced, "")
	})
	for _, c := range []struct {
		name, offer, takes, origin string
		code                       wire.Code
	}{
		{"unknown codec", "chat,skein.v9.pb", "chat", "", wire.CodeCodecUnsupported},
		{"foreign origin", "skein.v1.pb", "skein.v1.pb", "https://evil.example", wire.CodeOriginRefused},
		{"foreign origin, JSON", "skein.v1.json", "skein.v1.json", "https://evil.example", wire.CodeOriginRefused},
		{"foreign origin, unknown codec", "chat", "chat", "null", wire.CodeOriginRefused},
		{"no sub-protocol", "", "", "", wire.CodeReplaced},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &websocket.DialOptions{HTTPHeader: http.Header{}}
			if c.offer != "" {
				o.Subprotocols = strings.Split(c.offer, ",")
			}
			if c.origin != "" {
				o.HTTPHeader.Set("Origin", c.origin)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			conn, _, err := websocket.Dial(ctx, srv.URL+"/ws", o)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseNow()
			if conn.Subprotocol() != c.takes {
				t.Errorf("sub-protocol %q", conn.Subprotocol())
			}
			if c.code != wire.CodeReplaced {
				typ, message, err := conn.Read(ctx)
				codec := wire.JSON()
				if typ == websocket.MessageBinary {
					codec = wire.Protobuf()
				}
				f := new(wire.ServerFrame)
				if err != nil || codec.Decode(message, f) != nil || f.GetError().GetCode() != string(c.code) || (c.takes == wire.ProtobufName) != (typ == websocket.MessageBinary) {
					t.Errorf("heard %s %q, %v", typ, message, err)
				}
			} else if info := <-served; info.Codec != wire.JSONName {
				t.Errorf("serves %+v", info)
			}
			if _, _, err = conn.Read(ctx); int(websocket.CloseStatus(err)) != c.code.Info().Number {
				t.Errorf("ended with %v, want %s", err, c.code)
			}
			select {
			case info := <-served:
				t.Errorf("serves %+v", info)
			default:
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		origin, host string
		patterns     []string
		want         bool
	}{
		{"", "chat.example", nil, true},
		{"https://chat.example", "chat.example", nil, true},
		{"https://chat.example", "chat.example:443", nil, true},
		{"http://chat.example:80", "chat.example", nil, true},
		{"https://CHAT.example", "chat.example", nil, true},
		{"https://chat.example:8443", "chat.example:8443", nil, true},
		{"https://chat.example:8443", "chat.example", nil, false},
		{"https://evil.example", "chat.example", nil, false},
		{"https://chat.example.evil.example", "chat.example", nil, false},
		{"null", "chat.example", nil, false},
		{"null", "chat.example", []string{"*"}, true},
		{"file://", "chat.example", []string{"app.example"}, false},
		{"https://app.example", "chat.example", []string{"app.example"}, true},
		{"https://app.example:444", "chat.example", []string{"app.example"}, true},
		{"https://app.example:444", "chat.example", []string{"app.example:443"}, false},
		{"https://app.example:444", "chat.example", []string{"app.example:444"}, true},
		{"https://a.app.example", "chat.example", []string{"*.app.example"}, true},
		{"https://aapp.example", "chat.example", []string{"*.app.example"}, false},
		{"https://app.example.evil", "chat.example", []string{"app.example", "*.app.example"}, false},
		{"https://app.example", "chat.example", []string{"https://app.example"}, true},
		{"http://app.example", "chat.example", []string{"https://app.example"}, false},
		{"http://[::1]:8080", "chat.example", []string{"[::1]:8080"}, true},
		{"://", "chat.example", []string{"app.example"}, false},
	} {
		r := &http.Request{Header: http.Header{}, Host: c.host}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if got := originAllowed(r, c.patterns); got != c.want {
			t.Errorf("origin %q on %s with %q: %v", c.origin, c.host, c.patterns, got)
		}
	}
}

func TestServerPrefersItsOwnOrder(t *testing.T) {
	served := make(chan wire.Conn, 1)
	srv := upgradeServer(t, options(), func(c wire.Conn) { served <- c })
	for _, offer := range []string{
		"Sec-WebSocket-Protocol: other, skein.v1.json, skein.v1.pb\r\n",
		"Sec-WebSocket-Protocol: skein.v1.json\r\nSec-WebSocket-Protocol: other,skein.v1.pb\r\n",
	} {
		nc, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		resp, _, err := request(nc, upgradeHeader+offer+"Sec-WebSocket-Extensions: permessage-deflate\r\nOrigin: http://127.0.0.1\r\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Sec-WebSocket-Protocol"); resp.StatusCode != 101 || got != wire.ProtobufName {
			t.Errorf("%d, sub-protocol %q", resp.StatusCode, got)
		}
		if ext := resp.Header.Get("Sec-WebSocket-Extensions"); ext != "" {
			t.Errorf("extension %q", ext)
		}
		c := <-served
		if info := c.Info(); info.RemoteAddr != "127.0.0.1" || info.Codec != wire.ProtobufName || info.Framing == "" {
			t.Errorf("info %+v", info)
		}
		_ = c.Close("", "")
		_ = nc.Close()
	}
}

// TestEarlyFrames: a client that does not wait for the answer loses nothing.
func TestEarlyFrames(t *testing.T) {
	srv := upgradeServer(t, options(), echo)
	nc, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	both := append(frameBytes(fin|text, []byte("one")), frameBytes(fin|text, []byte("two"))...)
	head := "GET /ws HTTP/1.1\r\nHost: x\r\n" + upgradeHeader + "Sec-WebSocket-Protocol: skein.v1.json\r\n\r\n"
	if _, err := nc.Write(append([]byte(head), both[:12]...)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(nc)
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	if _, err := nc.Write(both[12:]); err != nil {
		t.Fatal(err)
	}
	p := &peer{Conn: nc, in: in, op: text}
	for _, want := range []string{"one", "two"} {
		if got, err := p.Next(); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
}

// TestInterop speaks with a WebSocket client that is not ours.
func TestInterop(t *testing.T) {
	srv := upgradeServer(t, options(), echo)
	for _, c := range []struct {
		codec string
		typ   websocket.MessageType
	}{{wire.JSONName, websocket.MessageText}, {wire.ProtobufName, websocket.MessageBinary}} {
		conn, _, err := websocket.Dial(t.Context(), srv.URL+"/ws", &websocket.DialOptions{
			Subprotocols: []string{c.codec}, CompressionMode: websocket.CompressionContextTakeover,
		})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(-1)
		for _, n := range []int{0, 1, 126, 65536, 300_000} {
			want := bytes.Repeat([]byte("x"), n)
			if err := conn.Write(t.Context(), c.typ, want); err != nil {
				t.Fatal(err)
			}
			typ, got, err := conn.Read(t.Context())
			if err != nil || typ != c.typ || !bytes.Equal(got, want) {
				t.Fatalf("%s: %d bytes: %v %d bytes, %v", c.codec, n, typ, len(got), err)
			}
		}
		pinged := make(chan error, 1)
		reading, stop := context.WithCancel(t.Context())
		conn.CloseRead(reading)
		go func() { pinged <- conn.Ping(t.Context()) }()
		if err := <-pinged; err != nil {
			t.Errorf("%s: ping: %v", c.codec, err)
		}
		if err := conn.Close(websocket.StatusNormalClosure, "done"); err != nil {
			t.Errorf("%s: close: %v", c.codec, err)
		}
		stop()
	}
}

func TestCloseCodeReachesAClient(t *testing.T) {
	srv := upgradeServer(t, options(), func(c wire.Conn) {
		_, _ = c.ReadMessage()
		_ = c.Close(wire.CodeReplaced, strings.Repeat("é", 200))
	})
	conn, _, err := websocket.Dial(t.Context(), srv.URL+"/ws", &websocket.DialOptions{Subprotocols: []string{wire.JSONName}})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	_, _, err = conn.Read(t.Context())
	if got := websocket.CloseStatus(err); int(got) != wire.CodeReplaced.Info().Number {
		t.Errorf("%v (%d)", err, got)
	}
	_ = conn.CloseNow()
}

func TestWrongKindOfMessage(t *testing.T) {
	for _, c := range []struct {
		binary bool
		op     byte
		want   bool
	}{{false, text, true}, {false, bin, false}, {true, bin, true}, {true, text, false}} {
		conn := newConn(transporttest.NewScript(frameBytes(fin|c.op, []byte("x")), 0), nil, wire.JSONName, c.binary, false, nil)
		if _, err := conn.ReadMessage(); (err == nil) != c.want {
			t.Errorf("opcode %d on a codec with binary = %v: %v", c.op, c.binary, err)
		}
	}
}

func TestEndlessEmptyFragments(t *testing.T) {
	data := frameBytes(text, nil)
	for range 5000 {
		data = append(data, frameBytes(0, nil)...)
	}
	conn := newConn(transporttest.NewScript(data, 0), nil, wire.JSONName, false, false, nil)
	if _, err := conn.ReadMessage(); err == nil || !strings.Contains(err.Error(), "empty fragments") {
		t.Errorf("a message that never ends: %v", err)
	}
}

func TestLimitCountsFragments(t *testing.T) {
	data := append(frameBytes(bin, make([]byte, 60)), frameBytes(fin, make([]byte, 41))...)
	conn := newConn(transporttest.NewScript(data, 0), nil, wire.ProtobufName, true, false, nil)
	conn.SetReadLimit(100)
	if _, err := conn.ReadMessage(); closeCode(err) != wire.CodeFrameTooLong {
		t.Errorf("60 + 41 bytes with a limit of 100: %v", err)
	}
}

// TestPingFloodIsAnsweredWithLittle: pongs do not pile up for a peer that does
// not read, and the last ping is answered.
func TestPingFloodIsAnsweredWithLittle(t *testing.T) {
	var data []byte
	for i := range 10_000 {
		data = append(data, frameBytes(fin|ping, fmt.Append(nil, i))...)
	}
	script := transporttest.NewScript(data, 0)
	conn := newConn(script, nil, wire.JSONName, false, false, nil)
	_, _ = conn.ReadMessage()
	answers := script.Written()
	if len(answers) > len(data)/2 {
		t.Errorf("%d bytes of pings got %d bytes of pongs", len(data), len(answers))
	}
	if !bytes.HasSuffix(answers, appendFrame(nil, opPong, []byte("9999"))) {
		t.Error("the last ping is not answered")
	}
}

// TestPongsStandBetweenFrames is the reason for conn.control: while data frames
// are written in pieces of any size, the peer pings. Every frame arrives whole.
func TestPongsStandBetweenFrames(t *testing.T) {
	a, b := pipe.Streams(700)
	conn := newConn(a, nil, wire.ProtobufName, true, false, nil)
	client := &peer{Conn: b, in: bufio.NewReader(b), op: bin}

	const messages = 300
	go func() { // the peer pings all the time
		for i := 0; ; i++ {
			if _, err := client.Write(frameBytes(fin|ping, fmt.Append(nil, i))); err != nil {
				return
			}
		}
	}()
	go func() { // the session's reader
		for {
			if _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	go func() { // the session's writer
		random := rand.New(rand.NewPCG(3, 4))
		for i := range messages {
			framed := conn.AppendMessage(nil, bytes.Repeat([]byte{byte(i)}, random.IntN(2000)))
			for len(framed) > 0 {
				n, err := conn.TryWrite(framed[:1+random.IntN(len(framed))])
				if err != nil {
					return
				}
				framed = framed[n:]
				if random.IntN(4) == 0 {
					if conn.Write(framed, time.Now().Add(time.Minute)) != nil {
						return
					}
					framed = nil
				}
			}
		}
	}()
	next, pongs := 0, 0
	for next < messages || pongs == 0 {
		f, err := client.read()
		if err != nil {
			t.Fatal(err)
		}
		switch f.op {
		case pong:
			pongs++
		case bin:
			if want := bytes.Repeat([]byte{byte(next)}, len(f.payload)); !bytes.Equal(f.payload, want) {
				t.Fatalf("message %d is damaged: %.40x", next, f.payload)
			}
			next++
		default:
			t.Fatalf("opcode %d", f.op)
		}
	}
	_ = client.Close()
	_ = conn.Close("", "")
}

// TestNothingAfterTheClose: the peer closes while the session is within a frame.
func TestNothingAfterTheClose(t *testing.T) {
	a, b := pipe.Streams(10)
	conn := newConn(a, nil, wire.ProtobufName, true, false, nil)
	framed := conn.AppendMessage(nil, make([]byte, 18))
	if n, err := conn.TryWrite(framed); n != 10 || err != nil {
		t.Fatalf("TryWrite = %d, %v", n, err)
	}
	go func() { _, _ = b.Write(frameBytes(fin|closeF, []byte("\x03\xe8"))) }()
	if _, err := conn.ReadMessage(); err != io.EOF {
		t.Fatalf("a close in order: %v", err)
	}
	// The answer waits for the end of the frame.
	_, _ = io.ReadFull(b, make([]byte, 10))
	if n, err := conn.TryWrite(framed[10:]); n != 10 || err != nil {
		t.Fatalf("the rest of the frame: %d, %v", n, err)
	}
	_, _ = io.ReadFull(b, make([]byte, 10))
	if n, err := conn.TryWrite(framed); n != 0 || err == nil {
		t.Fatalf("a frame after the close: %d, %v", n, err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, []byte{0x88, 2, 0x03, 0xe8}) {
		t.Fatalf("the answer to the close: %x, %v", got, err)
	}
	_ = conn.Close(wire.CodeReplaced, "")
	if rest, err := io.ReadAll(b); err != nil || len(rest) != 0 {
		t.Fatalf("after the close: %x, %v", rest, err)
	}
}

// TestOutgoingKnowsWhereFramesEnd cuts a stream of frames anywhere.
func TestOutgoingKnowsWhereFramesEnd(t *testing.T) {
	var stream []byte
	ends := map[int]bool{0: true}
	for _, n := range []int{0, 1, 125, 126, 300, 65535, 65536, 2} {
		stream = appendFrame(stream, opBinary, make([]byte, n))
		ends[len(stream)] = true
	}
	for _, step := range []int{1, 2, 3, 7, 100, len(stream)} {
		var out outgoing
		for at := 0; at < len(stream); {
			n := min(step, len(stream)-at)
			out.advance(stream[at : at+n])
			if at += n; out.between() != ends[at] {
				t.Fatalf("in steps of %d, at %d: between = %v", step, at, out.between())
			}
		}
	}
}

func TestAppendCloseKeepsCharactersWhole(t *testing.T) {
	for _, reason := range []string{"", "short", strings.Repeat("é", 100), strings.Repeat("a", 122) + "é", "bad \xff"} {
		f := appendClose(nil, 4600, reason)
		if len(f) > 127 || !strings.HasPrefix(strings.ToValidUTF8(reason, ""), string(f[4:])) && !strings.HasPrefix(reason, string(f[4:])) {
			t.Errorf("%q becomes %q", reason, f)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	for _, raw := range []string{"wss://127.0.0.1:0", "ws://127.0.0.1", "http://127.0.0.1:0", "ws://127.0.0.1:99999"} {
		if l, err := (Transport{}).Listen(t.Context(), parse(raw), options()); err == nil {
			_ = l.Close()
			t.Errorf("%s is listened on", raw)
		}
	}
}

func TestListenerServesItsPathOnly(t *testing.T) {
	l := listen(t, "ws://127.0.0.1:0/chat", options())
	done := make(chan error, 1)
	go func() { done <- l.Serve(func(c wire.Conn) { _ = c.Close("", "") }) }()
	for path, want := range map[string]int{"/chat": 426, "/ws": 404, "/": 404} {
		resp, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	_ = l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
