package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skein-im/skein/wire"
)

// floor is what the machine allows: it reads the same frames, appends them to one
// file with the same sync policy, and writes the same bytes to the same number of
// sockets, in as few system calls as it can. It checks nothing, looks nothing up,
// keeps nothing that could be read back, and trusts everybody: no chat server, a
// measure for one.
//
// One thread does everything, in rounds: what can be read is read, what came of it
// is appended and synced at once, and each socket that gets something is written
// to once. What arrives during a sync is the next round.
type floor struct {
	*epoll
	conns  []*floorConn // by descriptor
	users  map[string]*floorConn
	topics map[string]*floorTopic
	file   int

	buf     []byte
	log     []byte // what the round appends
	sends   []floorSend
	touched []*floorConn
	frame   []byte
	group   []byte // a group's push, framed
}

// floorSend is a Send in the round's log.
type floorSend struct {
	from       *floorConn
	begin, end int
}

// floorTopic is a conversation: its last number and, of a direct chat, its two.
type floorTopic struct {
	seq   uint64
	names [2]string
	two   [2]*floorConn
}

// floorConn is one connection.
type floorConn struct {
	fd      int
	ws      bool
	codec   wire.Codec // nil before the handshake
	pb      bool
	framing framing
	user    string
	in      []byte // a frame that is not whole
	out     []byte
	touched bool
	blocked bool // waits until the socket takes more
	gone    bool
}

// RunFloor serves until the context ends.
func RunFloor(ctx context.Context, ws, tcp, file string) error {
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	defer log.Close()
	e, err := newEpoll()
	if err != nil {
		return err
	}
	defer e.close()
	defer e.ringAt(ctx)()
	f := &floor{
		epoll: e, users: map[string]*floorConn{}, topics: map[string]*floorTopic{}, file: int(log.Fd()),
		buf: make([]byte, 64<<10),
	}
	defer f.hangUp()
	doors := map[int]bool{}
	for addr, isWS := range map[string]bool{ws: true, tcp: false} {
		fd, err := listen(addr)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", addr, err)
		}
		defer unix.Close(fd)
		if err := e.add(fd, fd, unix.EPOLLIN); err != nil {
			return err
		}
		doors[fd] = isWS
	}
	runtime.LockOSThread() // ends with the goroutine
	for ctx.Err() == nil {
		if err := f.round(doors); err != nil {
			return err
		}
	}
	return nil
}

func listen(addr string) (int, error) {
	a, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	to := &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, to), unix.Listen(fd, 4096))
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

func (f *floor) hangUp() {
	for _, c := range f.conns {
		if c != nil {
			_ = unix.Close(c.fd)
		}
	}
}

// round reads what has arrived, stores it, and answers.
func (f *floor) round(doors map[int]bool) error {
	events, err := f.wait(time.Time{})
	if err != nil {
		return err
	}
	for more := true; more; {
		for i := range events {
			fd := int(events[i].Fd)
			isWS, door := doors[fd]
			switch {
			case door:
				if err := f.accept(fd, isWS); err != nil {
					return err
				}
			case fd >= 0 && fd < len(f.conns) && f.conns[fd] != nil:
				f.ready(f.conns[fd], events[i].Events)
			}
		}
		// As many as an instance gives at once are not all: the round takes the rest
		// along, so that they share the sync.
		more = len(events) == len(f.events) && len(f.sends) < 4096
		if more {
			n, err := f.poll()
			if err != nil {
				return err
			}
			events = f.events[:n]
		}
	}
	return f.commit()
}

func (f *floor) accept(door int, isWS bool) error {
	for {
		fd, _, err := unix.Accept4(door, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return os.NewSyscallError("accept4", err)
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // as the servers do
		for fd >= len(f.conns) {
			f.conns = append(f.conns, nil)
		}
		f.conns[fd] = &floorConn{fd: fd, ws: isWS}
		if err := f.add(fd, fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
}

// ready reads once: what is left makes the socket ready again.
func (f *floor) ready(c *floorConn, events uint32) {
	if events&unix.EPOLLOUT != 0 {
		f.flush(c)
	}
	if events&^unix.EPOLLOUT == 0 || c.gone {
		return
	}
	n, err := rawRead(c.fd, f.buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return
	case err != nil || n == 0:
		f.drop(c)
		return
	}
	p := f.buf[:n]
	if len(c.in) > 0 {
		c.in = append(c.in, p...)
		p = c.in
	}
	rest, err := f.take(c, p)
	if err != nil {
		f.drop(c)
		return
	}
	c.in = append(c.in[:0], rest...)
	if len(c.in) == 0 {
		c.in = nil
	}
}

func (f *floor) drop(c *floorConn) {
	c.gone = true
	f.conns[c.fd] = nil
	if f.users[c.user] == c {
		delete(f.users, c.user)
	}
	_ = unix.Close(c.fd)
}

// take does what whole messages say and returns the rest.
func (f *floor) take(c *floorConn, p []byte) ([]byte, error) {
	if c.codec == nil {
		n, err := f.handshake(c, p)
		if err != nil || n == 0 {
			return p, err
		}
		p = p[n:]
	}
	for {
		_, payload, n, err := c.framing.next(p)
		if err != nil || n == 0 {
			return p, err
		}
		if err := f.on(c, payload); err != nil {
			return p, err
		}
		p = p[n:]
	}
}

// handshake returns how many bytes it took, 0 if it is not whole.
func (f *floor) handshake(c *floorConn, p []byte) (int, error) {
	if !c.ws {
		_, name, n, err := c.framing.next(p)
		if err != nil || n == 0 {
			return 0, err
		}
		return n, c.speak(string(name))
	}
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, nil
	}
	req, err := http.ReadRequest(reader(p[:end+4]))
	if err != nil {
		return 0, err
	}
	codec := req.Header.Get("Sec-WebSocket-Protocol")
	if err := c.speak(codec); err != nil {
		return 0, err
	}
	c.out = fmt.Appendf(c.out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
		acceptOf(req.Header.Get("Sec-WebSocket-Key")), codec)
	f.touch(c)
	return end + 4, nil
}

func (c *floorConn) speak(name string) (err error) {
	if c.codec, err = codecByName(name); err == nil {
		c.pb = c.codec.Name() == wire.ProtobufName
		c.framing = newFraming(c.ws, false, c.codec)
	}
	return err
}

func (f *floor) on(c *floorConn, payload []byte) error {
	if c.pb {
		switch num, message := frameOf(payload); num {
		case hotSend:
			f.log = append(f.log, message...)
			f.sends = append(f.sends, floorSend{c, len(f.log) - len(message), len(f.log)})
			return nil
		case hotReceived:
			if r, ok := readReceived(message); ok {
				f.receipt(c, &r)
			}
			return nil
		}
	}
	frame := &wire.ClientFrame{}
	if err := c.codec.Decode(payload, frame); err != nil {
		return err
	}
	switch x := frame.Frame.(type) {
	case *wire.ClientFrame_Send:
		begin, n := len(f.log), x.Send.SizeVT()
		f.log = slices.Grow(f.log, n)[:begin+n]
		if _, err := x.Send.MarshalToSizedBufferVT(f.log[begin:]); err != nil {
			return err
		}
		f.sends = append(f.sends, floorSend{c, begin, begin + n})
	case *wire.ClientFrame_Received:
		f.receipt(c, &received{[]byte(x.Received.Conversation), x.Received.Seq})
	case *wire.ClientFrame_Ping:
		f.put(c, wire.NewServerFrame(&wire.Pong{}))
		f.touch(c)
	case *wire.ClientFrame_Hello:
		c.user = x.Hello.Token
		f.users[c.user] = c
		f.put(c, wire.NewServerFrame(&wire.Welcome{Version: 1, User: c.user}))
		f.put(c, wire.NewServerFrame(&wire.SyncDelta{Number: x.Hello.GetSync().GetNumber()}))
		f.touch(c)
	}
	return nil
}

// put queues a frame that is not one of the hot ones, or not protobuf.
func (f *floor) put(c *floorConn, frame *wire.ServerFrame) {
	var err error
	if f.frame, err = c.codec.Append(f.frame[:0], frame); err == nil {
		c.out = c.framing.append(c.out, f.frame)
	}
}

func (f *floor) touch(c *floorConn) {
	if !c.touched {
		c.touched = true
		f.touched = append(f.touched, c)
	}
}

// topicOf returns the one of a conversation.
func (f *floor) topicOf(conversation []byte) *floorTopic {
	t := f.topics[string(conversation)]
	if t == nil {
		t = &floorTopic{}
		if dm, ok := strings.CutPrefix(string(conversation), "dm:"); ok {
			t.names[0], t.names[1], _ = strings.Cut(dm, ":")
		}
		f.topics[string(conversation)] = t
	}
	return t
}

// peer is the connection of the other one of a direct chat, nil if there is none.
func (f *floor) peer(t *floorTopic, c *floorConn) *floorConn {
	i := 0
	if t.names[0] == c.user {
		i = 1
	}
	if p := t.two[i]; p == nil || p.gone {
		t.two[i] = f.users[t.names[i]]
	}
	return t.two[i]
}

// receipt goes with whatever is written next to the other side.
func (f *floor) receipt(c *floorConn, r *received) {
	t := f.topicOf(r.conversation)
	if t.names[0] == "" {
		return
	}
	p := f.peer(t, c)
	switch {
	case p == nil:
	case p.pb:
		f.frame = putReceipt(f.frame[:0], r, c.user)
		p.out = p.framing.append(p.out, f.frame)
	default:
		f.put(p, wire.NewServerFrame(&wire.Receipt{Conversation: string(r.conversation), User: c.user, Received: r.seq}))
	}
}

// commit stores the round's messages, then tells of them.
func (f *floor) commit() error {
	if len(f.sends) > 0 {
		for p := f.log; len(p) > 0; {
			n, err := rawWrite(f.file, p)
			if err != nil {
				return os.NewSyscallError("write", err)
			}
			p = p[n:]
		}
		if _, _, errno := syscall.RawSyscall(unix.SYS_FDATASYNC, uintptr(f.file), 0, 0); errno != 0 {
			return os.NewSyscallError("fdatasync", errno)
		}
		now := uint64(time.Now().UnixMilli())
		for _, s := range f.sends {
			if x, ok := readSent(f.log[s.begin:s.end]); ok {
				f.deliver(s.from, &x, now)
			}
		}
		clear(f.sends)
		f.sends, f.log = f.sends[:0], f.log[:0]
	}
	for i, c := range f.touched {
		f.touched[i], c.touched = nil, false
		f.flush(c)
	}
	f.touched = f.touched[:0]
	return nil
}

// deliver queues the ack for the sender and the push for the others.
func (f *floor) deliver(from *floorConn, s *sent, now uint64) {
	t := f.topicOf(s.conversation)
	t.seq++
	if from.pb {
		f.frame = putAck(f.frame[:0], s, t.seq, now)
		from.out = from.framing.append(from.out, f.frame)
	} else {
		f.put(from, wire.NewServerFrame(&wire.SendAck{Id: s.id, Conversation: string(s.conversation), Seq: t.seq, StoredAtMs: int64(now), Count: t.seq}))
	}
	f.touch(from)
	if t.names[0] != "" {
		if p := f.peer(t, from); p != nil {
			p.out = f.push(p.out, p, from, s, t.seq, now)
			f.touch(p)
		}
		return
	}
	f.group = f.group[:0]
	for _, c := range f.users {
		if c == from {
			continue
		}
		if len(f.group) == 0 { // all speak the same
			f.group = f.push(f.group, c, from, s, t.seq, now)
		}
		c.out = append(c.out, f.group...)
		f.touch(c)
	}
}

// push appends a Push as c reads it.
func (f *floor) push(dst []byte, c, from *floorConn, s *sent, seq, now uint64) []byte {
	if c.pb {
		f.frame = putPush(f.frame[:0], s, from.user, seq, now)
		return c.framing.append(dst, f.frame)
	}
	content := &wire.Content{}
	if content.UnmarshalVT(s.content) != nil {
		return dst
	}
	var err error
	f.frame, err = c.codec.Append(f.frame[:0], wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
		Conversation: string(s.conversation), Seq: seq, Id: s.id, Sender: from.user, StoredAtMs: int64(now),
		Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: content, Count: seq,
	}}}))
	if err != nil {
		return dst
	}
	return c.framing.append(dst, f.frame)
}

// flush writes what waits; what the socket does not take waits on.
func (f *floor) flush(c *floorConn) {
	if len(c.out) == 0 || c.gone {
		return
	}
	n, err := rawWrite(c.fd, c.out)
	if err != nil {
		f.drop(c)
		return
	}
	c.out = append(c.out[:0], c.out[n:]...)
	blocked := len(c.out) > 0
	if blocked != c.blocked {
		c.blocked = blocked
		if f.watch(c.fd, c.fd, blocked) != nil {
			f.drop(c)
		}
	}
}
