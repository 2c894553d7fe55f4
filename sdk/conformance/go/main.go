// Command go drives the Go SDK through the scenarios of sdk/conformance: commands come
// on stdin and are answered on stdout, with the client's events among the answers, a
// JSON object a line. sdk/conformance/README.md has the commands. It knows the SDK and
// nothing of the scenarios.
//
// Goroutines: one reads commands, one tells events, one for each history, thread or call
// that is asked for. Locks: driver.mu, around a line that is written.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/sqlitestore"
	"github.com/skein-im/skein/wire"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

// command is a line of stdin. Which fields count depends on what it does.
type command struct {
	ID int    `json:"id"`
	Do string `json:"do"`

	URL      string  `json:"url"`
	Store    string  `json:"store"`
	Codec    string  `json:"codec"`
	Token    string  `json:"token"`
	Device   string  `json:"device"`
	Random   float64 `json:"random"`
	Pipeline int     `json:"pipeline"`

	Conversation string            `json:"conversation"`
	Text         string            `json:"text"`
	Type         string            `json:"type"`
	Fallback     string            `json:"fallback"`
	Data         []byte            `json:"data"`
	Extra        map[string]string `json:"extra"`
	Mentions     []string          `json:"mentions"`
	ReplyTo      uint64            `json:"reply_to"`
	Seq          uint64            `json:"seq"`
	Before       uint64            `json:"before"`
	Limit        int               `json:"limit"`
	Message      string            `json:"message"`
	Users        []string          `json:"users"`
	On           bool              `json:"on"`
	Method       string            `json:"method"`
	Request      json.RawMessage   `json:"request"`
	Key          string            `json:"key"`
}

// driver is a client and how it is talked to.
type driver struct {
	mu    sync.Mutex
	out   io.Writer
	token atomic.Pointer[string]
	store *sqlitestore.Store
	c     *skein.Client
	wg    sync.WaitGroup
}

type object = map[string]any

var errNotStarted = errors.New("the client is not started")

// serve carries out commands until there are no more.
func serve(in io.Reader, out io.Writer) error {
	d := &driver{out: out}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return fmt.Errorf("a command cannot be read: %w", err)
		}
		if c.Do == "history" || c.Do == "thread" || c.Do == "call" { // waits for the server; what else is asked does not
			d.wg.Go(func() { d.answer(&c) })
			continue
		}
		d.answer(&c)
	}
	if d.c != nil {
		_ = d.stop() // nobody is there to be told
	}
	return lines.Err()
}

func (d *driver) tell(line any) {
	b, err := json.Marshal(line)
	if err != nil {
		b = fmt.Appendf(nil, `{"event":"broken","message":%q}`, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.out.Write(append(b, '\n')) // without a reader stdin ends as well
}

func (d *driver) answer(c *command) {
	reply, err := d.do(context.Background(), c)
	if reply == nil {
		reply = object{}
	}
	if err != nil {
		reply["error"] = failure(err)
	}
	reply["id"] = c.ID
	d.tell(reply)
}

// failure is an error as the runner reads it.
func failure(err error) object {
	var e *skein.Error
	switch {
	case errors.As(err, &e):
		return object{"code": string(e.Code), "message": e.Message}
	case errors.Is(err, skein.ErrConnectionLost):
		return object{"code": string(wire.CodeUnknown), "message": err.Error()}
	case errors.Is(err, skein.ErrOffline):
		return object{"code": "offline", "message": err.Error()}
	}
	return object{"code": "failed", "message": err.Error()}
}

func (d *driver) do(ctx context.Context, c *command) (object, error) {
	if c.Do == "start" {
		return nil, d.start(ctx, c)
	}
	if d.c == nil {
		return nil, errNotStarted
	}
	v := d.c.Conversation(c.Conversation)
	switch c.Do {
	case "stop":
		return nil, d.stop()
	case "send":
		return send(ctx, v, c)
	case "read":
		return nil, v.MarkRead(ctx, c.Seq)
	case "view":
		return d.view(ctx, v)
	case "history":
		ms, err := v.History(ctx, c.Before, c.Limit)
		return object{"messages": shown(ms)}, err
	case "thread":
		return thread(ctx, v, c)
	case "list":
		all, err := d.c.Conversations(ctx)
		ids := make([]string, len(all))
		for i, s := range all {
			ids[i] = s.ID
		}
		return object{"conversations": ids}, err
	case "outbox":
		ms, err := d.c.Outbox(ctx)
		return object{"messages": shown(ms)}, err
	case "status":
		return status(d.c.State()), nil
	case "reconnect":
		d.c.Reconnect()
		return nil, nil
	case "token":
		d.token.Store(&c.Token)
		return nil, nil
	case "retry", "discard":
		id, err := skein.ParseMessageID(c.Message)
		if err != nil {
			return nil, err
		}
		if c.Do == "retry" {
			return nil, d.c.Retry(ctx, id)
		}
		return nil, d.c.Discard(ctx, id)
	case "watch":
		return nil, d.c.WatchPresence(ctx, c.Users...)
	case "background":
		return nil, d.c.SetBackground(ctx, c.On)
	case "typing":
		return nil, v.Typing(ctx)
	case "signal":
		return nil, v.Signal(ctx, c.Type, c.Data)
	case "call":
		return d.call(ctx, c)
	}
	return object{"error": object{"code": "unsupported", "message": c.Do}}, nil
}

func (d *driver) start(ctx context.Context, c *command) error {
	d.token.Store(&c.Token)
	store, err := sqlitestore.Open(filepath.Join(c.Store, "client.db"))
	if err != nil {
		return err
	}
	codec := wire.JSON()
	if c.Codec == wire.ProtobufName {
		codec = wire.Protobuf()
	}
	d.store = store
	d.c, err = skein.Dial(ctx, c.URL,
		skein.WithTokenSource(func(context.Context) (string, error) { return *d.token.Load(), nil }),
		skein.WithStore(store), skein.WithCodec(codec), skein.WithOffline(),
		skein.WithDevice(c.Device, wire.DeviceClass_DEVICE_CLASS_OTHER, "conformance"),
		skein.WithRandom(func() float64 { return c.Random }), skein.WithPipeline(c.Pipeline),
	)
	if err != nil {
		return err
	}
	d.wg.Go(d.events)
	return nil
}

func (d *driver) stop() error {
	err := d.c.Close()
	d.wg.Wait()
	return errors.Join(err, d.store.Close())
}

// call asks for any method of the API.
func (d *driver) call(ctx context.Context, c *command) (object, error) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.Replace(c.Method, "/", ".", 1)))
	if err != nil {
		return nil, err
	}
	method, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no method", c.Method)
	}
	req, resp := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := protojson.Unmarshal(c.Request, req); err != nil {
		return nil, err
	}
	if c.Key != "" {
		ctx = skein.WithKey(ctx, c.Key)
	}
	if err := d.c.Call(ctx, c.Method, req, resp); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(resp)
	return object{"response": json.RawMessage(text)}, err
}

func send(ctx context.Context, v *skein.Conversation, c *command) (object, error) {
	var opts []skein.SendOption
	if c.Type != "" {
		opts = append(opts, skein.ContentType(c.Type))
	}
	if c.Fallback != "" {
		opts = append(opts, skein.Fallback(c.Fallback))
	}
	if c.Data != nil {
		opts = append(opts, skein.Data(c.Data))
	}
	if c.ReplyTo != 0 {
		opts = append(opts, skein.ReplyTo(c.ReplyTo))
	}
	if len(c.Mentions) > 0 {
		opts = append(opts, skein.Mention(c.Mentions...))
	}
	for k, value := range c.Extra {
		opts = append(opts, skein.Extra(k, value))
	}
	p, err := v.SendAsync(ctx, c.Text, opts...)
	if err != nil {
		return nil, err
	}
	return object{"message": p.ID.String()}, nil
}
