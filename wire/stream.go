package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/wire/netio"
)

const (
	// FramingLen32 names the framing of streams: a 4-byte big-endian length, then
	// that many bytes (SPEC §1.1).
	FramingLen32 = "len32"

	lenSize = 4
	// maxCodecName bounds the first message of a stream.
	maxCodecName = 64
	// helloLimit is what a message may have before the Hello (SPEC §1.5).
	helloLimit = 16 << 10
)

// NewStreamListener serves Skein on any listener of byte streams: each
// connection's first message names its codec (SPEC §1.2), then messages are
// framed by their length. It is all that a transport over a new kind of stream
// needs; see examples/transport-unix.
func NewStreamListener(ln net.Listener, o ListenOptions) Listener {
	return &streamListener{
		ln:      netio.Listen(ln, o.Log),
		o:       o,
		opening: map[net.Conn]struct{}{},
	}
}

// streamListener's lock guards opening, the connections whose handshake is
// going on; it is nil after Close.
type streamListener struct {
	ln *netio.Listener
	o  ListenOptions

	mu      sync.Mutex
	opening map[net.Conn]struct{}
}

func (l *streamListener) Addr() net.Addr { return l.ln.Addr() }

func (l *streamListener) Serve(serve func(Conn)) error {
	for {
		nc, err := l.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", l.ln.Addr(), err)
		}
		if !l.begin(nc) {
			_ = nc.Close()
			return nil
		}
		go func() {
			conn, err := AcceptStream(nc, l.o)
			if !l.end(nc) {
				_ = nc.Close()
				return
			}
			if err == nil {
				serve(conn)
			}
		}()
	}
}

func (l *streamListener) begin(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opening == nil {
		return false
	}
	l.opening[nc] = struct{}{}
	return true
}

func (l *streamListener) end(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.opening, nc)
	return l.opening != nil
}

func (l *streamListener) Close() error {
	err := l.ln.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for nc := range l.opening {
		_ = nc.Close()
	}
	l.opening = nil
	return err
}

// AcceptStream does the server's side of the handshake: it reads the codec's
// name. A name that is not in o.Codecs is answered with one Error frame in JSON
// and the connection is closed; so it is when the name does not come in time.
func AcceptStream(nc net.Conn, o ListenOptions) (Conn, error) {
	c := newStreamConn(nc, "", o.Poller)
	if err := nc.SetDeadline(time.Now().Add(o.Timeout())); err != nil {
		_ = nc.Close()
		return nil, err
	}
	c.limit = maxCodecName
	name, err := c.ReadMessage()
	if err != nil {
		if ce := (*CloseError)(nil); errors.As(err, &ce) {
			c.refuse(CodeCodecUnsupported, "the first message must be the name of a codec: "+strings.Join(o.Codecs, ", "))
		}
		_ = c.Close(CodeHelloTimeout, "")
		return nil, err
	}
	if !slices.Contains(o.Codecs, string(name)) {
		c.refuse(CodeCodecUnsupported, "this server speaks "+strings.Join(o.Codecs, ", "))
		_ = c.Close(CodeCodecUnsupported, "")
		return nil, &CloseError{CodeCodecUnsupported, "the client asked for an unknown codec"}
	}
	if err := nc.SetDeadline(time.Time{}); err != nil {
		_ = nc.Close()
		return nil, err
	}
	c.info.Codec = string(name)
	c.limit = helloLimit
	return c, nil
}

// refuse tells a client in JSON why the connection ends.
func (c *streamConn) refuse(code Code, message string) {
	payload, err := JSON().Append(nil, NewServerFrame(NewError(code, message)))
	if err == nil {
		_ = c.Write(c.AppendMessage(nil, payload), time.Now().Add(time.Second))
	}
}

// OpenStream does the client's side of the handshake: it names the codec.
func OpenStream(nc net.Conn, codec string) (Conn, error) {
	c := newStreamConn(nc, codec, nil)
	if err := c.Write(c.AppendMessage(nil, []byte(codec)), time.Now().Add(5*time.Second)); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

// NewStreamConn frames messages on a byte stream whose codec is settled
// already. nc belongs to the Conn. The read limit is 16 KiB at first.
//
// Sockets of the operating system are read without holding a buffer while idle
// and can be written without waiting; of other connections those that implement
// netio.TryWriter can.
func NewStreamConn(nc net.Conn, codec string) Conn { return newStreamConn(nc, codec, nil) }

func newStreamConn(nc net.Conn, codec string, poller *netio.Poller) *streamConn {
	s := netio.New(nc, poller)
	return &streamConn{
		sock:  s,
		info:  ConnInfo{Codec: codec, Framing: FramingLen32, RemoteAddr: s.RemoteAddr()},
		limit: helloLimit,
	}
}

type streamConn struct {
	sock *netio.Socket
	info ConnInfo
	// limit belongs to the reader.
	limit int
}

func (c *streamConn) Info() ConnInfo         { return c.info }
func (c *streamConn) SetReadLimit(bytes int) { c.limit = bytes }
func (c *streamConn) Received() uint64       { return c.sock.Received() }

func (c *streamConn) Park(resume func()) bool { return c.sock.Park(resume) }
func (c *streamConn) Nudge()                  { c.sock.Nudge() }

func (c *streamConn) ReadMessage() ([]byte, error) {
	if err := c.sock.Fill(lenSize); err != nil {
		return nil, err
	}
	n := uint64(binary.BigEndian.Uint32(c.sock.Peek()))
	if n == 0 {
		return nil, &CloseError{CodeProtocolError, "a message of length 0"}
	}
	if n > uint64(c.limit) {
		return nil, &CloseError{CodeFrameTooLong, fmt.Sprintf("a message of %d bytes, the limit is %d", n, c.limit)}
	}
	if err := c.sock.Fill(lenSize + int(n)); err != nil {
		return nil, err
	}
	message := c.sock.Peek()[lenSize : lenSize+n : lenSize+n]
	c.sock.Skip(lenSize + int(n))
	return message, nil
}

func (c *streamConn) Buffered() bool {
	b := c.sock.Peek()
	return len(b) >= lenSize && uint64(len(b)-lenSize) >= uint64(binary.BigEndian.Uint32(b))
}

func (c *streamConn) AppendMessage(dst, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

func (c *streamConn) TryWrite(p []byte) (int, error) { return c.sock.TryWrite(p) }

func (c *streamConn) Write(p []byte, deadline time.Time) error {
	_, err := c.sock.Write(p, deadline)
	return err
}

// Close tells nothing: on a stream the code is in an Error or Kick frame that
// was written before.
func (c *streamConn) Close(Code, string) error {
	if !c.sock.BeginClose() {
		return nil
	}
	return c.sock.Close(nil)
}
