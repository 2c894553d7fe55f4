package bench

import (
	"bytes"
	"compress/flate"
	"io"
	"net/http"
	"strings"
)

const (
	// deflateOffer is what a client of the bench asks for, and what the server takes
	// (SPEC §1.8): each message stands for itself.
	deflateOffer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
	// deflateFrom is the length from which a message is deflated, as the server does.
	deflateFrom = 512
	// rsv1 marks a deflated message (RFC 7692 §6).
	rsv1 = 0x40
	// flushed is what a deflated message leaves away at its end, and lastBlock what
	// ends the stream behind it.
	flushed   = "\x00\x00\xff\xff"
	lastBlock = "\x01\x00\x00\xff\xff"
	// longestMessage is far above what any server sends.
	longestMessage = 64 << 20
)

// tookDeflate tells whether the server agreed to exactly what was asked for.
func tookDeflate(h http.Header) bool {
	got := map[string]bool{}
	for part := range strings.SplitSeq(h.Get("Sec-WebSocket-Extensions"), ";") {
		got[strings.TrimSpace(part)] = true
	}
	for part := range strings.SplitSeq(deflateOffer, "; ") {
		if !got[part] {
			return false
		}
	}
	return true
}

// queueDeflated puts the frame behind those that wait, deflated if that is shorter.
func (c *conn) queueDeflated() error {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return err
	}
	if _, err = w.Write(c.frame); err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	f, p := c.framing, bytes.TrimSuffix(b.Bytes(), []byte(flushed))
	if len(p) < len(c.frame) {
		f.op |= rsv1
	} else {
		p = c.frame
	}
	c.out = f.append(c.out, p)
	return nil
}

// inflate returns what a deflated message comes to.
func inflate(p []byte) ([]byte, error) {
	r := flate.NewReader(io.MultiReader(bytes.NewReader(p), strings.NewReader(flushed+lastBlock)))
	out, err := io.ReadAll(io.LimitReader(r, longestMessage+1))
	if err == nil && len(out) > longestMessage {
		err = errFrame("a message that does not end")
	}
	return out, err
}
