package bench

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// floorServer is what the machine allows: it reads the same frames, appends
// them to one file with the same sync policy, and writes the same bytes to the
// same number of sockets, in as few system calls as it can. It checks nothing,
// looks nothing up, keeps nothing that could be read back, and trusts everybody:
// no chat server, a measure for one.
type floorServer struct {
	mu    sync.Mutex
	conns map[string]*floorConn // by user
	queue []floorSend
	wake  chan struct{}

	file *os.File
	seqs map[string]uint64 // of the committer
}

type floorSend struct {
	from *floorConn
	send *wire.Send
}

// floorConn is one connection. out is guarded by mu.
type floorConn struct {
	net.Conn
	f     *floorServer
	user  string
	codec wire.Codec
	ws    bool
	r     *bufio.Reader

	mu    sync.Mutex
	out   []byte
	frame []byte
}

// RunFloor serves until the context ends.
func RunFloor(ctx context.Context, ws, tcp, file string) error {
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	defer log.Close()
	var committing sync.WaitGroup
	defer committing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &floorServer{conns: map[string]*floorConn{}, wake: make(chan struct{}, 1), file: log, seqs: map[string]uint64{}}
	failed := make(chan error, 3)
	for addr, isWS := range map[string]bool{ws: true, tcp: false} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		defer l.Close()
		go func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					failed <- err
					return
				}
				go f.serve(nc, isWS)
			}
		}()
	}
	committing.Go(func() { failed <- f.commit(ctx) })
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (f *floorServer) serve(nc net.Conn, isWS bool) {
	defer nc.Close()
	c := &floorConn{Conn: nc, f: f, ws: isWS, r: bufio.NewReaderSize(nc, 2048)}
	if err := c.handshake(); err != nil {
		return
	}
	var in []byte
	for {
		payload, err := c.readMessage(&in)
		if err != nil {
			return
		}
		frame := &wire.ClientFrame{}
		if err := c.codec.Decode(payload, frame); err != nil {
			return
		}
		switch x := frame.Frame.(type) {
		case *wire.ClientFrame_Send:
			f.mu.Lock()
			f.queue = append(f.queue, floorSend{c, x.Send})
			f.mu.Unlock()
			select {
			case f.wake <- struct{}{}:
			default:
			}
		case *wire.ClientFrame_Received:
			c.receipt(x.Received)
		case *wire.ClientFrame_Hello:
			c.welcome(x.Hello)
		}
	}
}

// receipt goes with whatever is written next to the other side.
func (c *floorConn) receipt(r *wire.Received) {
	a, b, _ := strings.Cut(strings.TrimPrefix(r.Conversation, "dm:"), ":")
	if a == c.user {
		a = b
	}
	c.f.mu.Lock()
	peer := c.f.conns[a]
	c.f.mu.Unlock()
	if peer != nil {
		peer.put(wire.NewServerFrame(&wire.Receipt{Conversation: r.Conversation, User: c.user, Received: r.Seq}))
	}
}

func (c *floorConn) welcome(h *wire.Hello) {
	c.user = h.Token
	c.f.mu.Lock()
	c.f.conns[c.user] = c
	c.f.mu.Unlock()
	c.put(wire.NewServerFrame(&wire.Welcome{Version: 1, User: c.user}))
	c.put(wire.NewServerFrame(&wire.SyncDelta{Number: h.GetSync().GetNumber()}))
	c.flush()
}

func (c *floorConn) handshake() error {
	if !c.ws {
		var h [4]byte
		if _, err := io.ReadFull(c.r, h[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(h[:])
		if n > 64 {
			return errors.New("no codec")
		}
		name := make([]byte, n)
		if _, err := io.ReadFull(c.r, name); err != nil {
			return err
		}
		return c.speak(string(name))
	}
	req, err := http.ReadRequest(c.r)
	if err != nil {
		return err
	}
	codec := req.Header.Get("Sec-WebSocket-Protocol")
	if err := c.speak(codec); err != nil {
		return err
	}
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]), codec)
	return err
}

func (c *floorConn) speak(codec string) (err error) {
	c.codec, err = codecByName(codec)
	return err
}

// readMessage returns the next message; its bytes are valid until the next call.
func (c *floorConn) readMessage(in *[]byte) ([]byte, error) {
	var h [14]byte
	var n int
	if !c.ws {
		if _, err := io.ReadFull(c.r, h[:4]); err != nil {
			return nil, err
		}
		n = int(binary.BigEndian.Uint32(h[:]))
	} else {
		if _, err := io.ReadFull(c.r, h[:6]); err != nil {
			return nil, err
		}
		switch n = int(h[1] & 0x7f); n {
		case 126: // the load generator sends nothing longer
			if _, err := io.ReadFull(c.r, h[6:8]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint16(h[2:]))
			copy(h[2:], h[4:8])
		case 127:
			return nil, errors.New("a frame that long is not of this scenario")
		}
	}
	if n > 1<<20 {
		return nil, errors.New("a frame that long is not of this scenario")
	}
	if cap(*in) < n {
		*in = make([]byte, n)
	}
	p := (*in)[:n]
	if _, err := io.ReadFull(c.r, p); err != nil {
		return nil, err
	}
	if c.ws {
		mask := [4]byte(h[2:6])
		for i := range p {
			p[i] ^= mask[i&3]
		}
	}
	return p, nil
}

// put queues a frame; write sends it.
func (c *floorConn) put(f *wire.ServerFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.frame, err = c.codec.Append(c.frame[:0], f); err == nil {
		c.out = c.appendFramed(c.out, c.frame)
	}
}

// putFramed queues bytes that others get as well.
func (c *floorConn) putFramed(p []byte) {
	c.mu.Lock()
	c.out = append(c.out, p...)
	c.mu.Unlock()
}

func (c *floorConn) appendFramed(dst, p []byte) []byte {
	n := len(p)
	switch {
	case !c.ws:
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	default:
		op := byte(0x81)
		if c.codec.Binary() {
			op = 0x82
		}
		if n < 126 {
			dst = append(dst, op, byte(n))
		} else {
			dst = binary.BigEndian.AppendUint16(append(dst, op, 126), uint16(n))
		}
	}
	return append(dst, p...)
}

func (c *floorConn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) == 0 {
		return
	}
	_, _ = c.Write(c.out) // a client that went away ends its own reading
	c.out = c.out[:0]
}

// commit gathers while the last batch is being synced, like the server does.
func (f *floorServer) commit(ctx context.Context) error {
	var batch []floorSend
	var record []byte
	touched := map[*floorConn]struct{}{}
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return nil
		}
		f.mu.Lock()
		batch, f.queue = f.queue, batch[:0]
		f.mu.Unlock()
		record = record[:0]
		var err error
		for _, s := range batch {
			n := len(record)
			record = slices.Grow(record, s.send.SizeVT())[:n+s.send.SizeVT()]
			if _, err = s.send.MarshalToSizedBufferVT(record[n:]); err != nil {
				return err
			}
		}
		if _, err := f.file.Write(record); err != nil {
			return err
		}
		if err := datasync(f.file); err != nil {
			return err
		}
		now := time.Now().UnixMilli()
		for _, s := range batch {
			f.deliver(s, now, touched)
		}
		for c := range touched {
			c.flush()
			delete(touched, c)
		}
	}
}

// deliver queues the ack for the sender and the push for the others.
func (f *floorServer) deliver(s floorSend, now int64, touched map[*floorConn]struct{}) {
	f.seqs[s.send.Conversation]++
	seq := f.seqs[s.send.Conversation]
	s.from.put(wire.NewServerFrame(&wire.SendAck{Id: s.send.Id, Conversation: s.send.Conversation, Seq: seq, StoredAtMs: now, Count: seq}))
	touched[s.from] = struct{}{}
	push := wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
		Conversation: s.send.Conversation, Seq: seq, Id: s.send.Id, Sender: s.from.user, StoredAtMs: now,
		Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: s.send.Content, Count: seq,
	}}})
	if dm, ok := strings.CutPrefix(s.send.Conversation, "dm:"); ok {
		a, b, _ := strings.Cut(dm, ":")
		if a == s.from.user {
			a = b
		}
		f.mu.Lock()
		peer := f.conns[a]
		f.mu.Unlock()
		if peer != nil {
			peer.put(push)
			touched[peer] = struct{}{}
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var framed []byte // all speak the same
	for _, c := range f.conns {
		if c == s.from {
			continue
		}
		if framed == nil {
			payload, err := c.codec.Append(nil, push)
			if err != nil {
				return
			}
			framed = c.appendFramed(nil, payload)
		}
		c.putFramed(framed)
		touched[c] = struct{}{}
	}
}
