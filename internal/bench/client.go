package bench

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// conn is a lean client connection: frames in, frames out, no store. While it logs
// in, and in the scenario resume, one goroutine reads and writes and waits; later
// on its user's loop feeds it. Writes are batched by the caller with queue and flush.
type conn struct {
	socket
	codec   wire.Codec
	pb      bool // the codec is protobuf: the hot frames are made and read by hand
	deflate bool // permessage-deflate is agreed on; such a conn has no loop
	framing framing
	out     []byte // framed, not written yet
	frame   []byte
	in      []byte // read, in[at:] not used yet
	at      int
}

// socket is what carries a conn's bytes: the runtime's connection at first, then
// what the loop made of it.
type socket interface {
	Read(p []byte) (int, error)
	// Write writes all, or what the socket takes at once and no error.
	Write(p []byte) (int, error)
	SetReadDeadline(t time.Time) error
	Close() error
}

// dial connects and does the handshake of the transport. target is ws://…/ws
// or tcp://host:port; source the local address, "" for any.
func dial(target, source string, codec wire.Codec) (*conn, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: 60 * time.Second, KeepAlive: -1} // the protocol has its own, and the timers cost system calls
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	nc, err := d.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return open(nc, u, codec, false)
}

// open does the handshake of the transport, and ends the connection if that fails.
// Deflate is for WebSocket; a server that does not take it is an error.
func open(nc net.Conn, u *url.URL, codec wire.Codec, deflate bool) (*conn, error) {
	ws := u.Scheme == "ws"
	c := &conn{socket: nc, codec: codec, pb: codec.Name() == wire.ProtobufName, framing: newFraming(ws, true, codec), deflate: deflate}
	nc.SetDeadline(time.Now().Add(60 * time.Second))
	var err error
	if ws {
		err = c.upgrade(u)
	} else {
		c.out = c.framing.append(c.out, []byte(codec.Name()))
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
	offer := ""
	if c.deflate {
		offer = "Sec-WebSocket-Extensions: " + deflateOffer + "\r\n"
	}
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: %s\r\n%s\r\n", u.Path, u.Host, key, c.codec.Name(), offer)
	for err == nil {
		end := bytes.Index(c.in, []byte("\r\n\r\n"))
		if end < 0 {
			err = c.more()
			continue
		}
		c.at = end + 4
		return accepted(c.in[:c.at], key, c.deflate)
	}
	return err
}

// accepted looks at the answer to an upgrade.
func accepted(answer []byte, key string, deflate bool) error {
	resp, err := http.ReadResponse(reader(answer), nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("upgrade: %s", resp.Status)
	}
	if resp.Header.Get("Sec-WebSocket-Accept") != acceptOf(key) {
		return errors.New("upgrade: wrong Sec-WebSocket-Accept")
	}
	if deflate && !tookDeflate(resp.Header) {
		return errors.New("upgrade: the server does not take " + deflateOffer)
	}
	return nil
}

func reader(p []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(p)) }

// acceptOf is what a server answers to a WebSocket's key.
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// queue encodes a frame behind those that wait for flush.
func (c *conn) queue(f *wire.ClientFrame) error {
	var err error
	if c.frame, err = c.codec.Append(c.frame[:0], f); err == nil {
		if c.deflate && len(c.frame) >= deflateFrom {
			return c.queueDeflated()
		}
		c.out = c.framing.append(c.out, c.frame)
	}
	return err
}

// flush writes what is queued, or as much as the socket takes.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	n, err := c.Write(c.out)
	c.out = append(c.out[:0], c.out[n:]...)
	return err
}

// read waits for the next frame.
func (c *conn) read() (*wire.ServerFrame, error) {
	payload, err := c.readMessage()
	if err != nil {
		return nil, err
	}
	f := &wire.ServerFrame{}
	return f, c.codec.Decode(payload, f)
}

// readMessage waits for the next message; its bytes are valid until the next call.
func (c *conn) readMessage() ([]byte, error) {
	for {
		op, payload, n, err := c.framing.next(c.in[c.at:])
		if err == nil && n == 0 {
			err = c.more()
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		compressed := c.deflate && c.in[c.at]&rsv1 != 0
		c.at += n
		if text, err := messageOf(op, payload); text || err != nil {
			if compressed && err == nil {
				return inflate(payload)
			}
			return payload, err
		}
	}
}

// messageOf tells whether a WebSocket's frame is a message, as everything is on a
// stream; the end of the connection is an error.
func messageOf(op byte, payload []byte) (bool, error) {
	switch op {
	case 0, 1, 2:
		return true, nil
	case 8:
		return false, closedBy(payload)
	}
	return false, nil
}

// more waits for more to read.
func (c *conn) more() error {
	c.in, c.at = append(c.in[:0], c.in[c.at:]...), 0
	c.in = slices.Grow(c.in, max(2048, len(c.in)))
	n, err := c.Read(c.in[len(c.in):cap(c.in)])
	c.in = c.in[:len(c.in)+n]
	if n > 0 {
		return nil
	}
	return err
}

func closedBy(payload []byte) error {
	if len(payload) < 2 {
		return io.EOF
	}
	return fmt.Errorf("closed with %d %s", binary.BigEndian.Uint16(payload), payload[2:])
}

// device is what every virtual user's connection is.
func device() *wire.Device {
	return &wire.Device{Id: "bench", Class: wire.DeviceClass_DEVICE_CLASS_PHONE, Name: "bench"}
}

// login is what the answer to a Hello brought.
type login struct {
	timeline, position string
	conversations      []*wire.ConversationState
	// sends is the rate the server lets a device send at, nil if it does not say;
	// idle after how long a silent client pings.
	sends *wire.Rate
	idle  time.Duration
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
	l := &login{idle: idleTime}
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
			l.sends = x.Welcome.GetLimits().GetSends()
			if ms := x.Welcome.GetHeartbeat().GetIdleMs(); ms > 0 {
				l.idle = time.Duration(ms) * time.Millisecond
			}
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

// idleTime is after how long a client pings if the server does not say.
const idleTime = 30 * time.Second

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
