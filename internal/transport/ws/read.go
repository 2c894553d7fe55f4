package ws

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"github.com/skein-im/skein/wire"
)

// maxEmptyFragments bounds frames that bring a message no further.
const maxEmptyFragments = 1000

func (c *conn) SetReadLimit(bytes int) { c.limit = bytes }

func (c *conn) Received() uint64 { return c.sock.Received() }

// Park: between two messages nothing of the last one is needed any more.
func (c *conn) Park(resume func()) bool {
	if c.readErr != nil {
		return false
	}
	c.forget()
	return c.sock.Park(resume)
}

func (c *conn) Nudge() { c.sock.Nudge() }

// message path 1/6: a frame comes off the socket.
//
// ReadMessage returns a message of one frame where it lies in the read buffer,
// and one of several frames, or a deflated one, from memory of its own.
func (c *conn) ReadMessage() ([]byte, error) {
	if c.readErr != nil {
		return nil, c.readErr
	}
	c.forget()
	message, err := c.readMessage()
	if len(c.pongs) > 0 {
		c.sendPongs()
	}
	if err != nil && err != wire.ErrNudged && !errors.Is(err, net.ErrClosed) {
		c.readErr = err
	}
	return message, err
}

func (c *conn) readMessage() ([]byte, error) {
	empty, deflated := 0, false
	for first := true; ; {
		h, err := c.readHeader()
		if err == wire.ErrNudged && !first {
			continue // within a message
		}
		if err != nil {
			return nil, err
		}
		if h.control() {
			if err := c.readControl(&h); err != nil {
				return nil, err
			}
			continue
		}
		if first {
			deflated = h.deflated
		}
		if err := c.checkData(&h, first, deflated); err != nil {
			return nil, err
		}
		payload, err := c.readPayload(&h)
		if err != nil {
			return nil, err
		}
		if !first || !h.fin {
			c.fragments = append(c.fragments, payload...)
			payload = c.fragments
		}
		if h.fin {
			if deflated {
				if payload, err = c.inflate(payload); err != nil {
					return nil, err
				}
			}
			if !c.binary && !utf8.Valid(payload) {
				return nil, protocolError("a text message is not valid UTF-8")
			}
			return payload, nil
		}
		if first = false; h.length == 0 {
			if empty++; empty > maxEmptyFragments {
				return nil, protocolError("too many empty fragments")
			}
		}
	}
}

// checkData judges a data frame by its header, before memory for it is taken.
func (c *conn) checkData(h *header, first, deflated bool) error {
	switch {
	case first && h.op == opContinuation:
		return protocolError("a continuation of nothing")
	case !first && h.op != opContinuation:
		return protocolError("a new message before the end of the last")
	case first && (h.op == opBinary) != c.binary:
		if c.binary {
			return protocolError("%s messages are binary", c.info.Codec)
		}
		return protocolError("%s messages are text", c.info.Codec)
	}
	limit := c.limit
	if deflated {
		limit = deflatedLimit(limit)
	}
	if total := uint64(len(c.fragments)) + h.length; total > uint64(limit) {
		return tooLong(total, limit)
	}
	return nil
}

// fill waits for n bytes. An end without a close frame is not orderly.
func (c *conn) fill(n int) error {
	if len(c.sock.Peek()) >= n {
		return nil
	}
	if len(c.pongs) > 0 {
		c.sendPongs()
	}
	err := c.sock.Fill(n)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (c *conn) readHeader() (header, error) {
	if err := c.fill(minHeader); err != nil {
		return header{}, err
	}
	if err := c.fill(headerSize(c.sock.Peek()[1])); err != nil {
		return header{}, err
	}
	return parseHeader(c.sock.Peek(), c.info.Deflate)
}

// readPayload waits for the frame's payload and unmasks it in place.
func (c *conn) readPayload(h *header) ([]byte, error) {
	end := h.size + int(h.length)
	if err := c.fill(end); err != nil {
		return nil, err
	}
	payload := c.sock.Peek()[h.size:end:end]
	ws.Cipher(payload, h.mask, 0)
	c.sock.Skip(end)
	return payload, nil
}

func (c *conn) readControl(h *header) error {
	payload, err := c.readPayload(h)
	if err != nil {
		return err
	}
	switch h.op {
	case opPing:
		c.queuePong(payload)
	case opClose:
		return c.readClose(payload)
	}
	return nil
}

// readClose answers the peer's close with the same code and ends the reading.
func (c *conn) readClose(payload []byte) error {
	status := 1000
	switch {
	case len(payload) == 1:
		return protocolError("a close frame with half a code")
	case len(payload) >= 2:
		status = int(binary.BigEndian.Uint16(payload))
		if !validStatus(status) {
			return protocolError("the close code %d is reserved", status)
		}
		if !utf8.Valid(payload[2:]) {
			return protocolError("the reason of a close is not valid UTF-8")
		}
	}
	c.sendPongs()
	c.answerClose(status)
	return io.EOF
}

// Buffered reports whether a whole message has arrived. It looks at the headers
// only; a frame that ReadMessage will refuse ends the look.
func (c *conn) Buffered() bool {
	if c.readErr != nil {
		return true
	}
	b := c.sock.Peek()
	for len(b) >= minHeader && len(b) >= headerSize(b[1]) {
		h, err := parseHeader(b, c.info.Deflate)
		if err != nil || h.op == opClose {
			return true
		}
		if h.length > uint64(len(b)-h.size) {
			return false
		}
		if h.fin && !h.control() {
			return true
		}
		b = b[h.size+int(h.length):]
	}
	return false
}
