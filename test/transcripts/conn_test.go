package transcripts

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/wire"
)

// patience is how long anything that must come may take.
const patience = 30 * time.Second

// heard is a frame, or how the connection ended.
type heard struct {
	text  string // canonical JSON
	value any
	end   error // then there is no frame
	code  int   // close code of a WebSocket
}

func (h heard) String() string {
	if h.end != nil {
		return fmt.Sprintf("the end of the connection (close code %d, %v)", h.code, h.end)
	}
	return h.text
}

// frame names what the frame carries.
func (h heard) frame() string {
	for k := range h.value.(map[string]any) {
		return k
	}
	return ""
}

// conn is one connection of a transcript.
type conn struct {
	codec wire.Codec
	link  link
	in    chan heard // closed after the end
	// kept are frames that came before an expected one, or after.
	kept []heard
	// seen is the last entry of each conversation this connection knows of. It
	// belongs to the reader.
	seen    map[string]uint64
	ready   bool // it has been welcomed
	refused int  // status of a refused handshake
	over    bool // its end was expected

	mu  sync.Mutex
	log []string // what was heard, all of it
}

func (c *conn) logf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, clip(fmt.Sprintf(format, args...)))
}

// link carries messages; read fails with the end.
type link interface {
	read() ([]byte, error)
	write(message []byte) error
	// other writes a message of the other kind (text or binary).
	other(message []byte) error
	bytes(b []byte) error
	// announce begins a message of n bytes and sends as much as the peer takes.
	announce(n int)
	close()
}

func dial(ctx context.Context, v variant, s *server, codecName string, seen map[string]uint64) (*conn, error) {
	c := &conn{codec: wire.JSON(), in: make(chan heard, 1<<14), seen: seen}
	if codecName == wire.ProtobufName {
		c.codec = wire.Protobuf()
	}
	var err error
	if v.transport == "ws" {
		c.link, c.refused, err = dialWS(ctx, s.ws, codecName)
	} else {
		c.link, err = dialTCP(ctx, s.tcp, codecName)
	}
	if c.refused != 0 {
		return c, nil
	}
	if err == nil {
		go c.reader()
	}
	return c, err
}

func (c *conn) reader() {
	defer close(c.in)
	for {
		raw, err := c.link.read()
		if err == nil {
			if err = c.decode(raw); err == nil {
				continue
			}
		}
		h := heard{end: err}
		var ce websocket.CloseError
		if errors.As(err, &ce) {
			h.code = int(ce.Code)
		}
		c.logf("%v", h)
		c.in <- h
		return
	}
}

// decode passes a message on as canonical JSON. What a server writes as JSON is
// canonical already (SPEC §1.3). How many entries share a Push depends on the
// moment: here each has its own.
func (c *conn) decode(raw []byte) error {
	f := &wire.ServerFrame{}
	if err := c.codec.Decode(raw, f); err != nil {
		return fmt.Errorf("the server sent what is no frame: %w: %q", err, raw)
	}
	text, err := wire.JSON().Append(nil, f)
	if err != nil {
		return err
	}
	if !c.codec.Binary() && string(raw) != string(text) {
		return fmt.Errorf("the server wrote %s, canonical is %s", raw, text)
	}
	frames := []*wire.ServerFrame{f}
	if es := f.GetPush().GetEntries(); len(es) > 1 {
		frames = frames[:0]
		for _, e := range es {
			frames = append(frames, wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{e}}))
		}
	}
	c.logf("%s", text)
	for _, f := range frames {
		if c.note(f) {
			continue
		}
		if text, err = wire.JSON().Append(nil, f); err != nil {
			return err
		}
		value, err := parseJSON(string(text))
		if err != nil {
			return err
		}
		c.in <- heard{text: string(text), value: value}
	}
	return nil
}

// encode turns the text of a frame into a message of the connection's codec.
func (c *conn) encode(text string) ([]byte, error) {
	if !c.codec.Binary() {
		return []byte(text), nil
	}
	f := &wire.ClientFrame{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), f); err != nil {
		return nil, err
	}
	var tree map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	keepUnknown(f.ProtoReflect(), tree)
	return proto.Marshal(f)
}

// keepUnknown gives a message an unknown field for every name that it does not
// have, down to the frame's own fields.
func keepUnknown(m protoreflect.Message, tree map[string]json.RawMessage) {
	n := protowire.Number(2000)
	for name, raw := range tree {
		d := m.Descriptor().Fields().ByJSONName(name)
		var sub map[string]json.RawMessage
		switch {
		case d == nil:
			m.SetUnknown(protowire.AppendBytes(protowire.AppendTag(m.GetUnknown(), n, protowire.BytesType), raw))
			n++
		case d.Message() != nil && !d.IsList() && !d.IsMap() && d.Message().FullName() != "google.protobuf.Struct" && json.Unmarshal(raw, &sub) == nil:
			keepUnknown(m.Mutable(d).Message(), sub)
		}
	}
}

// wsLink is a WebSocket.
type wsLink struct {
	ws   *websocket.Conn
	ctx  context.Context
	kind websocket.MessageType
}

func dialWS(ctx context.Context, url, codec string) (link, int, error) {
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{codec}})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, resp.StatusCode, nil
		}
		return nil, 0, err
	}
	ws.SetReadLimit(-1)
	l := &wsLink{ws, ctx, websocket.MessageText}
	if codec == wire.ProtobufName {
		l.kind = websocket.MessageBinary
	}
	return l, 0, nil
}

func (l *wsLink) read() ([]byte, error) {
	kind, b, err := l.ws.Read(l.ctx)
	if err == nil && kind != l.kind {
		err = fmt.Errorf("a message of kind %v", kind)
	}
	return b, err
}

func (l *wsLink) write(b []byte) error { return l.ws.Write(l.ctx, l.kind, b) }
func (l *wsLink) other(b []byte) error { return l.ws.Write(l.ctx, 3-l.kind, b) }
func (l *wsLink) bytes([]byte) error   { return errors.New("bytes is for tcp") }
func (l *wsLink) announce(n int)       { _ = l.write([]byte(strings.Repeat(" ", n))) } // it may be closed meanwhile
func (l *wsLink) close()               { _ = l.ws.CloseNow() }

// tcpLink is a stream of length-prefixed messages.
type tcpLink struct{ nc net.Conn }

func dialTCP(ctx context.Context, address, codec string) (link, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &tcpLink{nc}
	return l, l.write([]byte(codec))
}

func (l *tcpLink) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(l.nc, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(l.nc, b)
	return b, err
}

func (l *tcpLink) write(b []byte) error {
	_, err := l.nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func (l *tcpLink) bytes(b []byte) error {
	_, err := l.nc.Write(b)
	return err
}

func (l *tcpLink) other([]byte) error { return errors.New("other is for ws") }
func (l *tcpLink) announce(n int)     { _ = l.bytes(binary.BigEndian.AppendUint32(nil, uint32(n))) }
func (l *tcpLink) close()             { _ = l.nc.Close() }
