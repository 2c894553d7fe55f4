package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// person is a user at a device: an SDK client whose events are written down.
type person struct {
	*skein.Client
	t      *testing.T
	device device

	stop context.CancelFunc
	over chan struct{}

	mu     sync.Mutex
	news   chan struct{} // closed when there is more
	events []skein.Event
}

// device is what stays when the client ends: the login and the store.
type device struct {
	user  string
	token string
	class wire.DeviceClass
	id    string
	way   way
	store skein.Store
}

// way is how a device talks.
type way struct {
	scheme string
	codec  wire.Codec
}

func ways() []way {
	return []way{
		{"tcp", wire.Protobuf()}, {"ws", wire.JSON()}, {"ws", wire.Protobuf()}, {"tcp", wire.JSON()},
	}
}

// mint makes a session of a user of the integrator's.
func mint(t *testing.T, w World, user string, lifetime time.Duration) *wire.Tokens {
	t.Helper()
	var resp wire.MintTokenResponse
	req := &wire.MintTokenRequest{User: user, DisplayName: strings.ToUpper(user), LifetimeMs: lifetime.Milliseconds()}
	if err := skein.Post(t.Context(), w.HTTP(), "skein.v1.AdminService/MintToken", w.AdminKey(), req, &resp); err != nil {
		t.Fatal(err)
	}
	return resp.Tokens
}

// newDevice is another device of a user, which talks in one of the ways.
func newDevice(t *testing.T, w World, user string, class wire.DeviceClass, which int) device {
	t.Helper()
	return device{
		user: user, token: mint(t, w, user, time.Hour).AccessToken, class: class, id: skein.NewDeviceID(),
		way: ways()[which%len(ways())], store: skein.NewMemoryStore(),
	}
}

// join connects a user's phone.
func join(t *testing.T, w World, user string, which int, opts ...skein.Option) *person {
	t.Helper()
	return connect(t, w, newDevice(t, w, user, wire.DeviceClass_DEVICE_CLASS_PHONE, which), opts...)
}

// connect connects a device and begins to write its events down.
func connect(t *testing.T, w World, d device, opts ...skein.Option) *person {
	t.Helper()
	p, err := dial(t, w, d, opts...)
	if err != nil {
		t.Fatalf("%s: %v", d.user, err)
	}
	return p
}

func dial(t *testing.T, w World, d device, opts ...skein.Option) (*person, error) {
	all := append([]skein.Option{
		skein.WithToken(d.token), skein.WithDevice(d.id, d.class, d.user+"'s device"), skein.WithStore(d.store), skein.WithCodec(d.way.codec),
		skein.WithDialer(func(ctx context.Context, _, _ string) (net.Conn, error) { return w.Dial(ctx, d.way.scheme) }),
		skein.WithBackoff(func(n int) time.Duration { return min(time.Second, 20*time.Millisecond<<min(n, 8)) }),
	}, opts...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	url := "tcp://chat.example:1" // the dialer knows where it is
	if d.way.scheme == "ws" {
		url = "ws://chat.example/ws"
	}
	c, err := skein.Dial(ctx, url, all...)
	if err != nil {
		return nil, err
	}
	p := &person{Client: c, t: t, device: d, over: make(chan struct{}), news: make(chan struct{})}
	ctx, p.stop = context.WithCancel(context.Background())
	go p.listen(ctx)
	t.Cleanup(p.leave)
	return p, nil
}

func (p *person) listen(ctx context.Context) {
	defer close(p.over)
	for e := range p.Events(ctx) {
		p.mu.Lock()
		p.events = append(p.events, e)
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
}

// leave closes the client; the device stays.
func (p *person) leave() {
	if err := p.Close(); err != nil {
		p.t.Errorf("%s: close: %v", p.device.user, err)
	}
	p.stop()
	<-p.over
}

// until waits until ok, which is asked again at every event.
func (p *person) until(what string, ok func([]skein.Event) bool) {
	p.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		events, news := p.events, p.news
		p.mu.Unlock()
		if ok(events) {
			return
		}
		select {
		case <-news:
		case <-timeout.C:
			p.t.Fatalf("%s waited in vain for %s; the last events: %s", p.device.user, what, describe(events))
		}
	}
}

func describe(events []skein.Event) string {
	var b strings.Builder
	for _, e := range events[max(0, len(events)-8):] {
		switch e := e.(type) {
		case *skein.MessageEvent:
			fmt.Fprintf(&b, "\n\tmessage %s#%d %q", e.Message.Conversation, e.Message.Seq, e.Message.Text)
		case *skein.AckEvent:
			fmt.Fprintf(&b, "\n\tack %s#%d %q", e.Message.Conversation, e.Message.Seq, e.Message.Text)
		default:
			fmt.Fprintf(&b, "\n\t%T %+v", e, e)
		}
	}
	return b.String()
}

// find waits for an event of type E that ok takes.
func find[E skein.Event](p *person, what string, ok func(E) bool) (found E) {
	p.t.Helper()
	p.until(what, func(events []skein.Event) bool {
		for _, e := range events {
			if x, is := e.(E); is && ok(x) {
				found = x
				return true
			}
		}
		return false
	})
	return found
}

// hears waits for a message of this text, from somebody else or another device.
func (p *person) hears(text string) *skein.Message {
	p.t.Helper()
	return find(p, "message "+text, func(e *skein.MessageEvent) bool { return e.Message.Text == text }).Message
}

// says sends and waits for the ack.
func (p *person) says(conversation, text string, opts ...skein.SendOption) *skein.Message {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	m, err := p.Conversation(conversation).Send(ctx, text, opts...)
	if err != nil {
		p.t.Fatalf("%s says %q: %v", p.device.user, text, err)
	}
	return m
}

// heard lists the texts of the messages that came as events, in their order.
func (p *person) heard(conversation string) (texts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if m, ok := e.(*skein.MessageEvent); ok && m.Message.Conversation == conversation {
			texts = append(texts, m.Message.Text)
		}
	}
	return texts
}

// reaches waits until everything up to seq is applied.
func (p *person) reaches(conversation string, seq uint64) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s#%d", conversation, seq), func([]skein.Event) bool {
		s, err := p.Conversation(conversation).Summary(p.t.Context())
		return err == nil && s.High >= seq
	})
}

// history is everything the device has of a conversation, as lines.
func (p *person) history(conversation string) (lines []string) {
	p.t.Helper()
	const page = 1000
	var all []*skein.Message
	for before, more := uint64(0), true; more; {
		ms, err := p.Conversation(conversation).History(p.t.Context(), before, page)
		if err != nil {
			p.t.Fatalf("%s: history of %s: %v", p.device.user, conversation, err)
		}
		all = append(ms, all...)
		if more = len(ms) == page; more {
			before = ms[0].Seq
		}
	}
	for _, m := range all {
		lines = append(lines, fmt.Sprintf("#%d %s from %s at %d %v %s %q %x →%d %v recalled=%v target=%d count=%d %v",
			m.Seq, m.ID, m.Sender, m.Time.UnixMilli(), m.Kind, m.Type, m.Text, m.Data, m.ReplyTo, m.Mentions, m.Recalled, m.Target, m.Count, m.Event))
	}
	return lines
}

// agree waits until all have n entries of a conversation and checks that they
// are the same, numbered from 1 without a gap.
func agree(t *testing.T, conversation string, n int, all ...*person) {
	t.Helper()
	for _, p := range all {
		p.reaches(conversation, uint64(n))
	}
	want := all[0].history(conversation)
	if len(want) != n {
		t.Errorf("%s has %d entries of %s, want %d:\n%s", all[0].device.user, len(want), conversation, n, strings.Join(want, "\n"))
	}
	for i, line := range want {
		if !strings.HasPrefix(line, fmt.Sprintf("#%d ", i+1)) {
			t.Errorf("entry %d is %s", i+1, line)
		}
	}
	for _, p := range all[1:] {
		if got := p.history(conversation); !slices.Equal(got, want) {
			t.Errorf("%s has\n%s\n%s has\n%s", p.device.user, strings.Join(got, "\n"), all[0].device.user, strings.Join(want, "\n"))
		}
	}
}

// befriend makes contacts of all of them.
func befriend(t *testing.T, all ...*person) {
	t.Helper()
	for i, a := range all {
		for _, b := range all[i+1:] {
			for _, x := range [][2]*person{{a, b}, {b, a}} { // asking each other is accepting
				if _, err := x[0].Contacts().Request(t.Context(), x[1].User(), ""); err != nil {
					t.Fatalf("%s asks %s: %v", x[0].device.user, x[1].device.user, err)
				}
			}
		}
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
