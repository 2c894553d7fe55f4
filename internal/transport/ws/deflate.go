package ws

import (
	"bytes"
	"io"
	"strconv"
	"sync"

	"github.com/gobwas/httphead"
	"github.com/klauspost/compress/flate"

	"github.com/skein-im/skein/wire"
)

const (
	// deflateFrom is the length from which a message is sent deflated, if it becomes
	// shorter by it (SPEC §1.8). Below, a single chat message's 300 bytes of JSON say,
	// a quarter is saved for more CPU time than the rest of its way takes (about 8 µs,
	// most of it for the code's tables); of a page nine tenths are for little more.
	deflateFrom = 512
	// deflateKeep is the largest buffer that goes back to a pool.
	deflateKeep = 64 << 10
	// flushed is what a deflated message leaves away at its end (RFC 7692 §7.2.1), and
	// lastBlock what ends the stream after it.
	flushed   = "\x00\x00\xff\xff"
	lastBlock = "\x01\x00\x00\xff\xff"
)

// extension answers a client's offers of permessage-deflate: the first that can be
// kept. Each message stands for itself, so nothing is kept with a connection.
type extension struct{ taken bool }

func (e *extension) negotiate(offer httphead.Option) (httphead.Option, error) {
	if e.taken || string(offer.Name) != "permessage-deflate" {
		return httphead.Option{}, nil
	}
	answer := map[string]string{"server_no_context_takeover": "", "client_no_context_takeover": ""}
	ok := true
	offer.Parameters.ForEach(func(name, value []byte) bool {
		switch string(name) {
		case "server_no_context_takeover", "client_no_context_takeover":
			ok = len(value) == 0
		case "client_max_window_bits": // a hint; any window is read
			ok = len(value) == 0 || windowBits(value) > 0
		case "server_max_window_bits": // a smaller window than 32 KiB cannot be kept to
			ok = windowBits(value) == 15
			answer["server_max_window_bits"] = "15"
		default:
			ok = false
		}
		return ok
	})
	if !ok {
		return httphead.Option{}, nil
	}
	e.taken = true
	return httphead.NewOption("permessage-deflate", answer), nil
}

// windowBits is 0 for what the RFC does not allow.
func windowBits(value []byte) int {
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 8 || n > 15 || value[0] == '0' {
		return 0
	}
	return n
}

// scratch takes what a compressor writes.
type scratch struct{ b []byte }

func (s *scratch) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// appendDeflated appends a complete server's frame with the payload deflated, or as
// it is if that is not longer.
func appendDeflated(dst []byte, op byte, payload []byte) []byte {
	s := scratches.Get().(*scratch)
	s.b = s.b[:0]
	// A scratch takes everything, so there is no error.
	_ = flate.StatelessDeflate(s, payload, false, nil)
	short := bytes.TrimSuffix(s.b, []byte(flushed))
	if len(short) < len(payload) {
		dst = appendFrame(dst, rsv1Bit|op, short)
	} else {
		dst = appendFrame(dst, op, payload)
	}
	if cap(s.b) <= deflateKeep {
		scratches.Put(s)
	}
	return dst
}

// inflater undoes a message's compression. It holds the window and the tables,
// about 45 KiB, and belongs to one message at a time.
type inflater struct {
	in     []byte
	source bytes.Reader
	stream io.ReadCloser
}

var inflaters = sync.Pool{New: func() any {
	i := new(inflater)
	i.stream = flate.NewReader(&i.source)
	return i
}}

// inflated is memory for inflated messages, which goes back when the next one is read.
var inflated = sync.Pool{New: func() any { return new([]byte) }}

// inflate returns what the deflated message comes to, in memory that is the
// connection's until the next message. Never more than limit bytes and one are made
// of it.
func (c *conn) inflate(deflated []byte) ([]byte, error) {
	c.plain = inflated.Get().(*[]byte)
	i := inflaters.Get().(*inflater)
	defer i.free()
	i.in = append(append(append(i.in[:0], deflated...), flushed...), lastBlock...)
	i.source.Reset(i.in)
	// It is of a kind that has Reset, which has no error.
	_ = i.stream.(flate.Resetter).Reset(&i.source, nil)
	out, err := readUpTo((*c.plain)[:0], i.stream, c.limit+1)
	*c.plain = out
	switch rest := i.in[len(i.in)-i.source.Len():]; {
	case len(out) > c.limit:
		return nil, tooLong(uint64(len(out)), c.limit)
	case err != nil:
		return nil, protocolError("a message cannot be inflated")
	case len(rest) > len(flushed)+len(lastBlock)+1 || len(rest) == len(flushed)+len(lastBlock)+1 && rest[0] != 0:
		// Who ends the stream by a last block appends one zero byte (RFC 7692 §7.2.3.4).
		return nil, protocolError("a deflated message goes on behind its end")
	}
	return out, nil
}

// readUpTo appends what r gives to b, at most until b has max bytes. Memory grows
// with what has come.
func readUpTo(b []byte, r io.Reader, max int) ([]byte, error) {
	for len(b) < max {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):min(cap(b), max)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// free gives the inflater back.
func (i *inflater) free() {
	if cap(i.in) > deflateKeep {
		i.in = nil
	}
	inflaters.Put(i)
}

// forget gives the last message's memory back.
func (c *conn) forget() {
	c.fragments = nil
	if c.plain == nil {
		return
	}
	if cap(*c.plain) <= deflateKeep {
		inflated.Put(c.plain)
	}
	c.plain = nil
}

// deflatedLimit is how long a message may be in its deflated form: what cannot be
// made shorter becomes a little longer.
func deflatedLimit(limit int) int { return limit + limit>>6 + 64 }

func tooLong(n uint64, limit int) error {
	return &wire.CloseError{Code: wire.CodeFrameTooLong, Reason: "a message of " + strconv.FormatUint(n, 10) + " bytes or more, the limit is " + strconv.Itoa(limit)}
}
