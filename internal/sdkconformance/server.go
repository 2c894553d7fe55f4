package sdkconformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/wire"
)

// item is something that reached the one who plays: of a connection, or of a driver.
type item struct {
	at time.Time

	conn   *conn
	opened bool
	frame  map[string]any // the client's, as canonical JSON
	broken error          // what it sent is no frame
	ended  bool

	driver *driver
	line   map[string]any // a reply or an event
	bad    string         // a line that is neither
	exited bool
}

// inbox is where items arrive.
type inbox struct {
	c    chan item
	done chan struct{} // closed when nobody reads any more
}

func (in *inbox) put(i item) {
	i.at = time.Now()
	select {
	case in.c <- i:
	case <-in.done:
	}
}

// server takes the client's connections.
type server struct {
	in    *inbox
	codec wire.Codec
	http  *http.Server
	url   string
	wg    sync.WaitGroup
}

// conn is one connection. What is not its reader's belongs to the one who plays.
type conn struct {
	ws     *websocket.Conn
	codec  wire.Codec
	n      int
	ended  bool
	mute   bool    // its Pings are not answered
	frames []frame // not asked for yet
	// marks are the furthest that were told, by conversation.
	marks map[string]mark
}

type mark struct{ received, read uint64 }

// frame is one that the client sent.
type frame struct {
	kind string
	body map[string]any
	at   time.Time
}

const (
	maxMessage   = 16 << 20
	writeTimeout = 5 * time.Second
)

func newServer(in *inbox, codec wire.Codec) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{in: in, codec: codec, url: "ws://" + l.Addr().String() + "/ws"}
	s.http = &http.Server{Handler: http.HandlerFunc(s.accept), ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(func() { _ = s.http.Serve(l) }) // until stop
	return s, nil
}

// stop ends the listener. Connections end by themselves once the inbox is done.
func (s *server) stop() {
	_ = s.http.Close()
	s.wg.Wait()
}

func (s *server) accept(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{s.codec.Name()}, InsecureSkipVerify: true})
	if err != nil {
		return // the client is told by HTTP
	}
	ws.SetReadLimit(maxMessage)
	c := &conn{ws: ws, codec: s.codec, marks: map[string]mark{}}
	s.in.put(item{conn: c, opened: true})
	s.read(c)
}

func (s *server) read(c *conn) {
	defer s.in.put(item{conn: c, ended: true})
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.in.done:
			_ = c.ws.CloseNow()
		case <-stop:
		}
	}()
	for {
		_, b, err := c.ws.Read(context.Background())
		if err != nil {
			_ = c.ws.CloseNow()
			return
		}
		f, err := decode(c.codec, b)
		s.in.put(item{conn: c, frame: f, broken: err})
	}
}

// decode reads a client's frame into its canonical JSON.
func decode(codec wire.Codec, b []byte) (map[string]any, error) {
	var f wire.ClientFrame
	if err := codec.Decode(b, &f); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(&f)
	if err != nil {
		return nil, err
	}
	m, err := object(text)
	if call, ok := m["call"].(map[string]any); ok && err == nil {
		err = readCall(call)
	}
	return m, err
}

// object reads JSON with its numbers as they are.
func object(text []byte) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	return m, nil
}

// encode makes a frame that is written as the protocol has it; an unknown field is
// the scenario's mistake.
func encode(codec wire.Codec, f map[string]any) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	var out wire.ServerFrame
	if err := protojson.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("the scenario's frame: %w", err)
	}
	return codec.Append(nil, &out)
}

// encodeRaw makes a frame of a later version: JSON as it stands, or in protobuf what
// is known of it and a field that nobody knows.
func encodeRaw(codec wire.Codec, f map[string]any) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil || !codec.Binary() {
		return text, err
	}
	var out wire.ServerFrame
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("the scenario's frame: %w", err)
	}
	b, err := codec.Append(nil, &out)
	b = protowire.AppendTag(b, 2000, protowire.BytesType)
	return protowire.AppendString(b, "of a later version"), err
}

// write sends bytes; who cannot take them is found out by the reader.
func (c *conn) write(b []byte) {
	typ := websocket.MessageText
	if c.codec.Binary() {
		typ = websocket.MessageBinary
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	_ = c.ws.Write(ctx, typ, b)
}

// cut ends the connection without a word.
func (c *conn) cut() { _ = c.ws.CloseNow() }

// close ends it with a code. It does not wait for the client's.
func (c *conn) close(code int, reason string) {
	go func() { _ = c.ws.Close(websocket.StatusCode(code), reason) }()
}
