// Package story goes through all of Skein's API: Ann with a phone and a laptop, Bob
// with a phone, and Carol with nothing but calls meet, write, and make groups. Every
// method is called, and what each device has to hear of it is waited for.
//
// It is told through one door at a time, HTTP or the connection, so that both do the
// same. It imports what a program of anybody's can import: wire, and the Go SDK.
package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Server is where the story happens.
type Server struct {
	// URL is the base of the HTTP API. The connection is at the same host, with ws.
	URL string
	// AdminKey is an integrator's.
	AdminKey string
	// ClaimCode makes the first administrator; empty if there is one. Then it is the key,
	// over HTTP, that does what administrators do, through either door.
	ClaimCode string
	// Dial opens connections for WebSockets; nil: to the host of URL.
	Dial skein.DialFunc
}

// Door is how methods are called.
type Door string

// The doors.
const (
	HTTP       Door = "http"
	Connection Door = "connection"
)

// patience is how long anything that must come may take.
const patience = 20 * time.Second

// Tell tells the story through a door and writes it to out, a line for each call and
// for what is heard. It returns the methods that were called, in their order. The
// error says which step went wrong. Users have names of their own, so that a story can
// be told again on the same server.
func Tell(ctx context.Context, s Server, door Door, out io.Writer) (methods []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &teller{ctx: ctx, server: s, door: door, out: out, names: map[string]string{}, called: map[string]bool{}, tag: strings.ToLower(skein.NewKey()[:8])}
	defer t.close()
	for _, c := range []struct {
		title string
		tell  func(*teller)
	}{
		{"Accounts", accounts}, {"People", people}, {"Contacts", contacts}, {"Profiles", profiles}, {"Security", security}, {"Providers", providers}, {"Messages", messages}, {"My own view", mine},
		{"Groups", groups}, {"Mentions", mentions}, {"Polls", polls}, {"Media", media}, {"Previews", previews}, {"Pins", pins}, {"Threads", threads}, {"Forwarding", forwarding}, {"Later", later}, {"Search", search}, {"Streams", streams}, {"Members", members}, {"Who may join", joining}, {"Links", links}, {"Administrators", administrators}, {"Good bye", goodBye},
	} {
		t.say("\n%s", c.title)
		c.tell(t)
		if t.err != nil {
			return nil, fmt.Errorf("%s, by %s: %w", c.title, door, t.err)
		}
	}
	return slices.Sorted(maps.Keys(t.called)), nil
}

// teller tells a story. After the first failure, err, its methods do nothing.
type teller struct {
	ctx    context.Context
	server Server
	door   Door
	out    io.Writer
	tag    string // ends the usernames
	err    error

	ann, bob, carol           *person
	annPhone, annLaptop, bobs *device
	dm, tea                   string // conversations

	called map[string]bool

	mu    sync.Mutex        // around names: the devices' events are described beside the story
	names map[string]string // of ids
}

// person is a user. Whoever has a device calls through it; the others have a token.
type person struct {
	// key: it is no user, but an integrator's key, which is for HTTP alone.
	key                bool
	id, token, refresh string
	device             *device
}

func (t *teller) say(format string, args ...any) {
	if t.err == nil {
		fmt.Fprintf(t.out, format+"\n", args...)
	}
}

func (t *teller) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// check fails the story unless something is so.
func (t *teller) check(is bool, what string, got any) {
	if t.err == nil && !is {
		t.fail("%s: %v", what, got)
	}
}

// call calls a method as somebody, nil for nobody, through the story's door.
func (t *teller) call(by *person, method string, req, resp proto.Message) {
	if t.err != nil {
		return
	}
	if err := t.try(by, method, req, resp); err != nil {
		t.fail("%s: %w", method, err)
		return
	}
	t.say("  %-8s %s", t.nameOf(by), method)
}

// refused calls a method that has to be refused with a code.
func (t *teller) refused(by *person, method string, req proto.Message, code wire.Code) {
	if t.err != nil {
		return
	}
	var e *skein.Error
	// Nobody reads the answer.
	if err := t.try(by, method, req, new(wire.Result)); !errors.As(err, &e) || e.Code != code {
		t.fail("%s: %v, want %s", method, err, code)
		return
	}
	t.say("  %-8s %s: %s", t.nameOf(by), method, code)
}

// try calls a method. A server lets an address try few passwords in a row; who is told to
// wait for some seconds does.
func (t *teller) try(by *person, method string, req, resp proto.Message) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	t.called[method] = true
	for {
		err := t.once(ctx, by, method, req, resp)
		var e *skein.Error
		if !errors.As(err, &e) || e.Code != wire.CodeRateLimited || e.RetryAfter > patience {
			return err
		}
		select {
		case <-time.After(e.RetryAfter):
		case <-ctx.Done():
			return err
		}
	}
}

func (t *teller) once(ctx context.Context, by *person, method string, req, resp proto.Message) error {
	full := "skein.v1." + method
	switch {
	case t.door == HTTP && by == nil:
		return skein.Post(ctx, t.server.URL, full, "", req, resp)
	case t.door == HTTP || by != nil && by.key:
		return skein.Post(ctx, t.server.URL, full, by.token, req, resp)
	case by == nil:
		return callOnce(ctx, t.server, "", full, req, resp)
	case by.device != nil:
		return by.device.client.Call(ctx, full, req, resp)
	}
	return callOnce(ctx, t.server, by.token, full, req, resp)
}

// name gives an id a name.
func (t *teller) name(id, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names[id] = name
}

func (t *teller) nameOf(p *person) string {
	if p == nil {
		return "somebody"
	}
	return t.who(p.id)
}

// who is somebody's name, the id of who has none.
func (t *teller) who(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.names[id]; ok {
		return n
	}
	return id
}

// all are the names of several, in their order.
func (t *teller) all(ids []string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = t.who(id)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// hears waits until each of the devices was told something, as describe writes it.
func (t *teller) hears(line string, devices ...*device) {
	for _, d := range devices {
		if t.err != nil {
			return
		}
		if err := d.hear(t.ctx, line); err != nil {
			t.fail("%w", err)
			return
		}
		t.say("           %-14s hears: %s", d.name, line)
	}
}

func (t *teller) close() {
	for _, d := range []*device{t.annPhone, t.annLaptop, t.bobs} {
		if d != nil {
			d.close()
		}
	}
}

// dialer is the network of the server.
func (s *Server) dialer() skein.DialFunc {
	if s.Dial != nil {
		return s.Dial
	}
	return new(net.Dialer).DialContext
}

// socket is the address of the connection.
func (s *Server) socket() string {
	return "ws" + strings.TrimPrefix(s.URL, "http") + "/ws"
}
