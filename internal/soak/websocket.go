package soak

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// wsLink is a WebSocket client of our own (RFC 6455), shared with neither the
// server nor the SDK: a mistake that both libraries agree on is seen here.
// wmu makes the pong of the reader and the writer's messages take turns.
type wsLink struct {
	nc     net.Conn
	in     *bufio.Reader
	opcode byte // of our messages

	wmu sync.Mutex
}

// The opcodes of frames.
const (
	opContinue = 0x0
	opText     = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xa
)

func openWebSocket(nc net.Conn, u *url.URL, codec wire.Codec) (*wsLink, error) {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	text := base64.StdEncoding.EncodeToString(key[:])
	req := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {text}, "Sec-Websocket-Protocol": {codec.Name()},
	}}
	if err := nc.SetDeadline(time.Now().Add(writeTimeout)); err != nil {
		return nil, err
	}
	if err := req.Write(nc); err != nil {
		return nil, err
	}
	in := bufio.NewReader(nc)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(text + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	switch want := base64.StdEncoding.EncodeToString(sum[:]); {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("soak: upgrade answered with %s", resp.Status)
	case resp.Header.Get("Sec-Websocket-Accept") != want:
		return nil, errors.New("soak: upgrade answered with a wrong key")
	case resp.Header.Get("Sec-Websocket-Protocol") != codec.Name():
		return nil, fmt.Errorf("soak: the server chose the codec %q", resp.Header.Get("Sec-Websocket-Protocol"))
	}
	l := &wsLink{nc: nc, in: in, opcode: opText}
	if codec.Binary() {
		l.opcode = opBinary
	}
	return l, nc.SetDeadline(time.Time{})
}

func (l *wsLink) deadline(t time.Time) error { return l.nc.SetDeadline(t) }
func (l *wsLink) close() error               { return l.nc.Close() }
func (l *wsLink) write(message []byte) error { return l.frame(l.opcode, message) }

// frame writes one masked frame.
func (l *wsLink) frame(opcode byte, payload []byte) error {
	head := []byte{0x80 | opcode}
	switch n := len(payload); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n <= 0xffff:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // never fails
	head = append(head, mask[:]...)
	at := len(head)
	out := append(head, payload...)
	for i := range out[at:] {
		out[at+i] ^= mask[i&3]
	}
	l.wmu.Lock()
	defer l.wmu.Unlock()
	if err := l.nc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := l.nc.Write(out)
	return err
}

func (l *wsLink) read() ([]byte, error) {
	var message bytes.Buffer
	began := false
	for {
		fin, opcode, payload, err := l.readFrame()
		if err != nil {
			return nil, err
		}
		switch opcode {
		case opPing:
			if err := l.frame(opPong, payload); err != nil {
				return nil, err
			}
			continue
		case opPong:
			continue
		case opClose:
			return nil, io.EOF
		case opContinue:
			if !began {
				return nil, errors.New("soak: a continuation of nothing")
			}
		case l.opcode:
			if began {
				return nil, errors.New("soak: a message within a message")
			}
			began = true
		default:
			return nil, fmt.Errorf("soak: a frame of opcode %d", opcode)
		}
		message.Write(payload)
		if fin {
			return message.Bytes(), nil
		}
	}
}

func (l *wsLink) readFrame() (fin bool, opcode byte, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(l.in, head[:]); err != nil {
		return
	}
	fin, opcode = head[0]&0x80 != 0, head[0]&0x0f
	if head[0]&0x70 != 0 || head[1]&0x80 != 0 {
		return fin, opcode, nil, errors.New("soak: reserved bits or a mask in a frame of the server")
	}
	n := uint64(head[1])
	switch n {
	case 126:
		var b [2]byte
		if _, err = io.ReadFull(l.in, b[:]); err != nil {
			return
		}
		n = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		if _, err = io.ReadFull(l.in, b[:]); err != nil {
			return
		}
		n = binary.BigEndian.Uint64(b[:])
	}
	if n > frameLimit {
		return fin, opcode, nil, fmt.Errorf("soak: a frame of %d bytes", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(l.in, payload)
	return
}
