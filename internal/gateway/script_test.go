package gateway

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// scriptConn is a wire.Conn whose peer is the test itself: what it says is in
// a queue, what it hears is kept, and how much it takes can be set.
type scriptConn struct {
	codec wire.Codec
	info  wire.ConnInfo

	mu     sync.Mutex
	cond   sync.Cond
	in     [][]byte
	closed bool
	code   wire.Code
	// takes is how many bytes the peer takes: < 0 any number.
	takes int
	// discard counts only.
	discard bool
	got     []byte
	bytes   int
	writes  int
}

func newScript(codec wire.Codec, frames ...*wire.ClientFrame) *scriptConn {
	c := &scriptConn{codec: codec, info: wire.ConnInfo{Codec: codec.Name(), Framing: "script", RemoteAddr: "192.0.2.1"}, takes: -1}
	c.cond.L = &c.mu
	c.say(frames...)
	return c
}

func (c *scriptConn) say(frames ...*wire.ClientFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range frames {
		b, err := c.codec.Append(nil, f)
		if err != nil {
			panic(err)
		}
		c.in = append(c.in, b)
	}
	c.cond.Broadcast()
}

func (c *scriptConn) sayRaw(b []byte) {
	c.mu.Lock()
	c.in = append(c.in, b)
	c.cond.Broadcast()
	c.mu.Unlock()
}

// take lets the peer take n more bytes, < 0: all from now on.
func (c *scriptConn) take(n int) {
	c.mu.Lock()
	c.takes = n
	c.cond.Broadcast()
	c.mu.Unlock()
}

func (c *scriptConn) Info() wire.ConnInfo { return c.info }
func (c *scriptConn) SetReadLimit(int)    {}

func (c *scriptConn) ReadMessage() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.in) == 0 && !c.closed {
		c.cond.Wait()
	}
	if c.closed {
		return nil, io.EOF
	}
	b := c.in[0]
	c.in = c.in[1:]
	return b, nil
}

func (c *scriptConn) Buffered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.in) > 0
}

func (c *scriptConn) AppendMessage(dst, payload []byte) []byte {
	n := len(payload)
	return append(append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)), payload...)
}

func (c *scriptConn) TryWrite(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, io.ErrClosedPipe
	}
	return c.accept(p), nil
}

// accept takes what the peer takes. Caller holds mu.
func (c *scriptConn) accept(p []byte) int {
	n := len(p)
	if c.takes >= 0 {
		n = min(n, c.takes)
		c.takes -= n
	}
	if n > 0 {
		c.writes++
		c.bytes += n
		if !c.discard {
			c.got = append(c.got, p[:n]...)
		}
		c.cond.Broadcast()
	}
	return n
}

func (c *scriptConn) Write(p []byte, deadline time.Time) error {
	timer := time.AfterFunc(time.Until(deadline), func() {
		c.mu.Lock()
		c.cond.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(p) > 0 {
		switch {
		case c.closed:
			return io.ErrClosedPipe
		case !time.Now().Before(deadline):
			return os.ErrDeadlineExceeded
		}
		n := c.accept(p)
		if p = p[n:]; n == 0 {
			c.cond.Wait()
		}
	}
	return nil
}

func (c *scriptConn) Close(code wire.Code, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed, c.code = true, code
		c.cond.Broadcast()
	}
	return nil
}

func (c *scriptConn) isClosed() (bool, wire.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed, c.code
}

// heard returns the short forms of what was written since the last call.
func (c *scriptConn) heard() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.got) >= 4 {
		n := int(c.got[0])<<24 | int(c.got[1])<<16 | int(c.got[2])<<8 | int(c.got[3])
		if len(c.got) < 4+n {
			break
		}
		f := new(wire.ServerFrame)
		if err := c.codec.Decode(c.got[4:4+n], f); err != nil {
			return append(out, "undecodable: "+err.Error())
		}
		out = append(out, brief(f))
		c.got = c.got[4+n:]
	}
	return out
}

func (c *scriptConn) counts() (writes, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes, c.bytes
}
