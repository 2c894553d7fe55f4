package bench

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// conn is a lean client connection: frames in, frames out, no store. Reading
// belongs to one goroutine; writes are batched by the caller with queue and
// flush, also from one goroutine at a time.
type conn struct {
	net.Conn
	codec wire.Codec
	ws    bool
	r     *bufio.Reader
	out   []byte
	frame []byte
	in    []byte
}

// dial connects and does the handshake of the transport. target is ws://…/ws
// or tcp://host:port; source the local address, "" for any.
func dial(target, source string, codec wire.Codec) (*conn, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: 60 * time.Second}
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	nc, err := d.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, codec: codec, ws: u.Scheme == "ws", r: bufio.NewReaderSize(nc, 2048)}
	nc.SetDeadline(time.Now().Add(60 * time.Second))
	if c.ws {
		err = c.upgrade(u)
	} else {
		c.out = binary.BigEndian.AppendUint32(c.out, uint32(len(codec.Name())))
		c.out = append(c.out, codec.Name()...)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	nc.SetDeadline(time.Time{})
	return c, nil
}

func (c *conn) upgrade(u *url.URL) error {
	const key = "c2tlaW4gYmVuY2htYXJrIQ==" // any 16 bytes
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: %s\r\n\r\n", u.Path, u.Host, key, c.codec.Name())
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("upgrade: %s", resp.Status)
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	if resp.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		return errors.New("upgrade: wrong Sec-WebSocket-Accept")
	}
	return nil
}

// queue encodes a frame behind those that wait for flush.
func (c *conn) queue(f *wire.ClientFrame) error {
	var err error
	if c.frame, err = c.codec.Append(c.frame[:0], f); err != nil {
		return err
	}
	n := len(c.frame)
	if !c.ws {
		c.out = binary.BigEndian.AppendUint32(c.out, uint32(n))
		c.out = append(c.out, c.frame...)
		return nil
	}
	op := byte(0x81)
	if c.codec.Binary() {
		op = 0x82
	}
	switch {
	case n < 126:
		c.out = append(c.out, op, 0x80|byte(n))
	case n < 1<<16:
		c.out = append(c.out, op, 0x80|126)
		c.out = binary.BigEndian.AppendUint16(c.out, uint16(n))
	default:
		c.out = append(c.out, op, 0x80|127)
		c.out = binary.BigEndian.AppendUint64(c.out, uint64(n))
	}
	mask := [4]byte{0x5a, 0x13, 0xc7, 0x21}
	c.out = append(c.out, mask[:]...)
	at := len(c.out)
	c.out = append(c.out, c.frame...)
	for i := range c.frame {
		c.out[at+i] ^= mask[i&3]
	}
	return nil
}

func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

// read returns the next frame.
func (c *conn) read() (*wire.ServerFrame, error) {
	payload, err := c.readMessage()
	if err != nil {
		return nil, err
	}
	f := &wire.ServerFrame{}
	return f, c.codec.Decode(payload, f)
}

// buffered reports whether more has arrived already.
func (c *conn) buffered() bool { return c.r.Buffered() > 0 }

func (c *conn) readMessage() ([]byte, error) {
	if !c.ws {
		var h [4]byte
		if _, err := io.ReadFull(c.r, h[:]); err != nil {
			return nil, err
		}
		return c.take(int(binary.BigEndian.Uint32(h[:])))
	}
	for {
		var h [8]byte
		if _, err := io.ReadFull(c.r, h[:2]); err != nil {
			return nil, err
		}
		op, n := h[0]&0x0f, int(h[1]&0x7f)
		switch n {
		case 126:
			if _, err := io.ReadFull(c.r, h[:2]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint16(h[:2]))
		case 127:
			if _, err := io.ReadFull(c.r, h[:8]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint64(h[:8]))
		}
		payload, err := c.take(n)
		switch {
		case err != nil:
			return nil, err
		case op == 8:
			return nil, closedBy(payload)
		case op == 1 || op == 2:
			return payload, nil
		}
	}
}

func closedBy(payload []byte) error {
	if len(payload) < 2 {
		return io.EOF
	}
	return fmt.Errorf("closed with %d %s", binary.BigEndian.Uint16(payload), payload[2:])
}

func (c *conn) take(n int) ([]byte, error) {
	if n > 16<<20 {
		return nil, fmt.Errorf("frame of %d bytes", n)
	}
	if cap(c.in) < n {
		c.in = make([]byte, n+n/2)
	}
	c.in = c.in[:n]
	_, err := io.ReadFull(c.r, c.in)
	return c.in, err
}

// device is what every virtual user's connection is.
func device() *wire.Device {
	return &wire.Device{Id: "bench", Class: wire.DeviceClass_DEVICE_CLASS_PHONE, Name: "bench"}
}

// login is what the answer to a Hello brought.
type login struct {
	timeline, position string
	conversations      []*wire.ConversationState
	// bytes of the Welcome and the first delta; pages is how many deltas it took.
	bytes, pages int
}

// hello logs in and syncs: from a position, or, if it is empty, the whole list.
// The caller sets deadlines.
func (c *conn) hello(token, timeline, position string) (*login, error) {
	f := wire.NewClientFrame(&wire.Hello{
		VersionMin: 1, VersionMax: 1, Token: token, Client: "skein-bench", Device: device(),
		Sync: &wire.Sync{Position: position, Timeline: timeline, Limit: syncPage},
	})
	if err := errors.Join(c.queue(f), c.flush()); err != nil {
		return nil, err
	}
	l := &login{}
	for {
		payload, err := c.readMessage()
		if err != nil {
			return nil, err
		}
		got := &wire.ServerFrame{}
		if err := c.codec.Decode(payload, got); err != nil {
			return nil, err
		}
		switch x := got.Frame.(type) {
		case *wire.ServerFrame_Welcome:
			l.bytes += len(payload)
		case *wire.ServerFrame_Error:
			return nil, fmt.Errorf("%s: %s", x.Error.Code, x.Error.Message)
		case *wire.ServerFrame_Kick:
			return nil, fmt.Errorf("%s: %s", x.Kick.Error.GetCode(), x.Kick.Error.GetMessage())
		case *wire.ServerFrame_SyncDelta:
			d := x.SyncDelta
			if d.Error != nil {
				return nil, fmt.Errorf("sync: %s: %s", d.Error.Code, d.Error.Message)
			}
			if l.pages++; l.pages == 1 {
				l.bytes += len(payload)
				l.timeline = d.Timeline
			}
			if l.position == "" { // of the first page of the list, or the last of a resume
				l.position = d.Position
			}
			l.conversations = append(l.conversations, d.Conversations...)
			if d.Next == "" {
				return l, nil
			}
			next := wire.NewClientFrame(&wire.Sync{Timeline: d.Timeline, Limit: syncPage, Cursor: d.Next})
			if d.Position == "" {
				next.GetSync().Position = position
			}
			if err := errors.Join(c.queue(next), c.flush()); err != nil {
				return nil, err
			}
		}
	}
}

// syncPage is how many conversations a page of the list has.
const syncPage = 500

// codecByName knows the two codecs of the protocol.
func codecByName(name string) (wire.Codec, error) {
	for _, c := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		if c.Name() == name || strings.TrimPrefix(c.Name(), "skein.v1.") == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("codec %q: want pb or json", name)
}
