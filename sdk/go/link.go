package skein

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skein-im/skein/wire"
)

// maxFrame bounds what is read from a server.
const maxFrame = 64 << 20

// highWater is how many bytes may wait for the socket before no more messages
// are taken from the outbox.
const highWater = 256 << 10

// pipe carries whole encoded frames.
type pipe interface {
	read() ([]byte, error)
	write(p []byte) error
	// close ends both directions at once.
	close()
}

// link is one connection: a pipe, the queue of its writer and the frames its
// reader found. The core owns it; mu guards what the writer shares.
type link struct {
	pipe  pipe
	codec wire.Codec

	mu      sync.Mutex
	queue   [][]byte
	queued  int
	ending  bool
	writeAt chan struct{} // capacity 1: there is something to write
	drained chan struct{} // capacity 1: the queue fell below highWater / 2

	in   chan inbound
	gone chan struct{} // closed by shut
	once sync.Once
	wg   *sync.WaitGroup // the client's
}

// inbound is a frame, or why there will be no more.
type inbound struct {
	frame *wire.ServerFrame
	err   error
}

func newLink(p pipe, codec wire.Codec, wg *sync.WaitGroup) *link {
	return &link{
		pipe: p, codec: codec, wg: wg,
		writeAt: make(chan struct{}, 1), drained: make(chan struct{}, 1),
		in: make(chan inbound, 64), gone: make(chan struct{}),
	}
}

func (l *link) start() {
	l.wg.Go(l.reader)
	l.wg.Go(l.writer)
}

// shut ends the connection; it does not wait.
func (l *link) shut() {
	l.once.Do(func() {
		close(l.gone)
		l.wg.Go(l.pipe.close) // a WebSocket's close may wait
	})
}

func (l *link) reader() {
	for {
		f, err := l.receive()
		select {
		case l.in <- inbound{f, err}:
		case <-l.gone:
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *link) receive() (*wire.ServerFrame, error) {
	b, err := l.pipe.read()
	if err != nil {
		return nil, err
	}
	f := &wire.ServerFrame{}
	if err := l.codec.Decode(b, f); err != nil {
		return nil, fmt.Errorf("skein: the server sent what is no frame: %w", err)
	}
	return f, nil
}

// send queues a frame; it never blocks. An error is the frame's fault.
func (l *link) send(f *wire.ClientFrame) error {
	b, err := l.codec.Append(nil, f)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.queue = append(l.queue, b)
	l.queued += len(b)
	l.mu.Unlock()
	signal(l.writeAt)
	return nil
}

func (l *link) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queued >= highWater
}

// finish lets the writer end the connection once everything is written.
func (l *link) finish() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	signal(l.writeAt)
}

func (l *link) writer() {
	for {
		l.mu.Lock()
		batch, ending := l.queue, l.ending
		l.queue = nil
		l.mu.Unlock()
		for _, b := range batch {
			if err := l.pipe.write(b); err != nil {
				l.pipe.close() // the reader reports it
				return
			}
			l.mu.Lock()
			was := l.queued
			l.queued -= len(b)
			crossed := was >= highWater/2 && l.queued < highWater/2
			l.mu.Unlock()
			if crossed {
				signal(l.drained)
			}
		}
		if len(batch) > 0 {
			continue
		}
		if ending {
			l.shut()
			return
		}
		select {
		case <-l.writeAt:
		case <-l.gone:
			return
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// openPipe connects to a ws, wss, tcp or tls URL and settles the codec. SPEC §1.
func openPipe(ctx context.Context, u *url.URL, o *options) (pipe, error) {
	switch u.Scheme {
	case "ws", "wss":
		return openWS(ctx, u, o)
	case "tcp", "tls":
		return openStream(ctx, u, o)
	}
	return nil, fmt.Errorf("skein: unknown scheme %q: want ws, wss, tcp or tls", u.Scheme)
}

func openStream(ctx context.Context, u *url.URL, o *options) (pipe, error) {
	dial := o.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "tls" {
		cfg := o.tls.Clone()
		if cfg == nil {
			cfg = &tls.Config{}
		}
		if cfg.ServerName == "" {
			cfg.ServerName = u.Hostname()
		}
		tc := tls.Client(conn, cfg)
		if err := tc.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		conn = tc
	}
	p := &streamPipe{conn: conn, r: bufio.NewReader(conn)}
	stop := context.AfterFunc(ctx, p.close)
	defer stop()
	if err := p.write([]byte(o.codec.Name())); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// streamPipe frames by a 4-byte big-endian length. SPEC §1.1.
type streamPipe struct {
	conn net.Conn
	r    *bufio.Reader
	out  []byte
}

func (p *streamPipe) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxFrame {
		return nil, fmt.Errorf("skein: the server sent a message of %d bytes: %w", n, errForeign)
	}
	// Grow with what arrives: a length alone takes no memory.
	b := make([]byte, 0, min(n, 64<<10))
	for uint32(len(b)) < n {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		m, err := io.ReadFull(p.r, b[len(b):min(cap(b), int(n))])
		b = b[:len(b)+m]
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (p *streamPipe) write(b []byte) error {
	p.out = binary.BigEndian.AppendUint32(p.out[:0], uint32(len(b)))
	p.out = append(p.out, b...)
	_ = p.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := p.conn.Write(p.out)
	if cap(p.out) > 64<<10 {
		p.out = nil
	}
	return err
}

func (p *streamPipe) close() { p.conn.Close() }

// writeTimeout bounds one write to a peer that does not read.
const writeTimeout = 20 * time.Second

type wsPipe struct {
	conn   *websocket.Conn
	typ    websocket.MessageType
	ctx    context.Context
	cancel context.CancelFunc
	client *http.Client
}

func openWS(ctx context.Context, u *url.URL, o *options) (pipe, error) {
	tr := &http.Transport{TLSClientConfig: o.tls.Clone(), Proxy: http.ProxyFromEnvironment}
	if o.dial != nil {
		tr.DialContext = o.dial
	}
	client := &http.Client{Transport: tr}
	how := &websocket.DialOptions{HTTPClient: client, Subprotocols: []string{o.codec.Name()}}
	if o.deflate {
		how.CompressionMode = websocket.CompressionNoContextTakeover
	}
	conn, resp, err := websocket.Dial(ctx, u.String(), how)
	if err != nil {
		tr.CloseIdleConnections()
		return nil, refusal(resp, err)
	}
	if conn.Subprotocol() != o.codec.Name() {
		_ = conn.CloseNow()
		tr.CloseIdleConnections()
		return nil, &Error{Code: wire.CodeCodecUnsupported, Message: "the server did not choose " + o.codec.Name()}
	}
	conn.SetReadLimit(maxFrame)
	p := &wsPipe{conn: conn, typ: websocket.MessageText, client: client}
	if o.codec.Binary() {
		p.typ = websocket.MessageBinary
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// refusal reads the error a server answered instead of the upgrade.
func refusal(resp *http.Response, err error) error {
	if resp == nil || resp.Body == nil {
		return err
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))         // what came is enough to tell
	if e := errorIn(raw); e != nil && e.Code != wire.CodeNotFound { // that is the path's
		return e
	}
	return &statusError{resp.StatusCode, string(raw), err}
}

// httpError reads SPEC §8's error body, nil if it is none.
func httpError(resp *http.Response) *Error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil
	}
	return errorIn(raw)
}

func errorIn(raw []byte) *Error {
	body := &wire.Error{}
	if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, body) != nil || body.Code == "" {
		return nil
	}
	return errorOf(body)
}

func (p *wsPipe) read() ([]byte, error) {
	_, b, err := p.conn.Read(p.ctx)
	var ce websocket.CloseError
	if errors.As(err, &ce) {
		if e := closeError(int(ce.Code), ce.Reason); e != nil {
			return nil, e
		}
	}
	return b, err
}

func (p *wsPipe) write(b []byte) error {
	ctx, cancel := context.WithTimeout(p.ctx, writeTimeout)
	defer cancel()
	return p.conn.Write(ctx, p.typ, b)
}

func (p *wsPipe) close() {
	p.cancel()
	_ = p.conn.CloseNow()
	p.client.CloseIdleConnections()
}
