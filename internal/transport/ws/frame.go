package ws

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/skein-im/skein/wire"
)

const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa

	finBit  = 0x80
	rsvBits = 0x70
	rsv1Bit = 0x40
	maskBit = 0x80

	minHeader  = 2
	maxControl = 125
)

// header is the beginning of a client's frame.
type header struct {
	fin bool
	// deflated: RSV1 is set.
	deflated bool
	op       byte
	mask     [4]byte
	length   uint64
	// size is that of the header itself.
	size int
}

func (h *header) control() bool { return h.op&0x8 != 0 }

// headerSize tells from the first two bytes of a frame how long its header is.
func headerSize(b1 byte) int {
	size := minHeader
	switch b1 & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if b1&maskBit != 0 {
		size += 4
	}
	return size
}

func protocolError(format string, args ...any) error {
	return &wire.CloseError{Code: wire.CodeProtocolError, Reason: fmt.Sprintf(format, args...)}
}

// parseHeader reads the header b begins with, complete by headerSize, and
// refuses what a client may not send. The first frame of a message may be marked as
// deflated where that was agreed.
func parseHeader(b []byte, deflate bool) (header, error) {
	h := header{fin: b[0]&finBit != 0, op: b[0] & 0xf, size: headerSize(b[1])}
	if rsv := b[0] & rsvBits; rsv != 0 {
		if !deflate || rsv != rsv1Bit || h.op != opText && h.op != opBinary {
			return h, protocolError("a reserved bit is set without an extension")
		}
		h.deflated = true
	}
	if b[1]&maskBit == 0 {
		return h, protocolError("a client's frame must be masked")
	}
	switch h.length = uint64(b[1] & 0x7f); h.length {
	case 126:
		if h.length = uint64(binary.BigEndian.Uint16(b[2:])); h.length < 126 {
			return h, protocolError("the length is not in its shortest form")
		}
	case 127:
		if h.length = binary.BigEndian.Uint64(b[2:]); h.length <= 0xffff || h.length>>63 != 0 {
			return h, protocolError("the length is not in its shortest form")
		}
	}
	copy(h.mask[:], b[h.size-4:])
	switch h.op {
	case opContinuation, opText, opBinary:
	case opClose, opPing, opPong:
		if !h.fin || h.length > maxControl {
			return h, protocolError("a control frame is fragmented or longer than 125 bytes")
		}
	default:
		return h, protocolError("the opcode %d is reserved", h.op)
	}
	return h, nil
}

// appendFrame appends a complete server's frame.
func appendFrame(dst []byte, op byte, payload []byte) []byte {
	dst = append(dst, finBit|op)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, byte(n))
	case n <= 0xffff:
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
	}
	return append(dst, payload...)
}

// appendClose appends a close frame. The reason is cut at 123 bytes, between
// two characters.
func appendClose(dst []byte, status int, reason string) []byte {
	const max = maxControl - 2
	for len(reason) > max || !utf8.ValidString(reason) {
		if len(reason) > max {
			reason = reason[:max]
		} else {
			reason = reason[:len(reason)-1]
		}
	}
	payload := make([]byte, 0, maxControl)
	payload = binary.BigEndian.AppendUint16(payload, uint16(status))
	return appendFrame(dst, opClose, append(payload, reason...))
}

// validStatus reports whether a peer may send the close code (RFC 6455 §7.4 and
// the IANA registry).
func validStatus(status int) bool {
	switch {
	case status >= 1000 && status <= 1003, status >= 1007 && status <= 1014:
		return true
	}
	return status >= 3000 && status <= 4999
}

// outgoing follows the written bytes and knows where in a frame they end.
type outgoing struct {
	head [10]byte
	have uint8 // a small one: it stands in the same word
	left uint64
}

// between reports whether the stream stands between two frames.
func (o *outgoing) between() bool { return o.have == 0 && o.left == 0 }

func (o *outgoing) advance(p []byte) {
	for len(p) > 0 {
		if o.left > 0 {
			n := min(o.left, uint64(len(p)))
			o.left -= n
			p = p[n:]
			continue
		}
		o.head[o.have] = p[0]
		o.have++
		p = p[1:]
		if o.have < minHeader || int(o.have) < headerSize(o.head[1]&^maskBit) {
			continue
		}
		switch o.left = uint64(o.head[1] & 0x7f); o.left {
		case 126:
			o.left = uint64(binary.BigEndian.Uint16(o.head[2:]))
		case 127:
			o.left = binary.BigEndian.Uint64(o.head[2:])
		}
		o.have = 0
	}
}
