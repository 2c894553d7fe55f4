package e2e

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// asking counts what a client asks for, and may hide from it that the server takes
// Pulls.
type asking struct {
	wire.Codec
	alone          bool
	pull, pulls, n atomic.Int64 // frames of each, and stretches in all
}

func (c *asking) Append(dst []byte, f proto.Message) ([]byte, error) {
	if cf, ok := f.(*wire.ClientFrame); ok {
		switch {
		case cf.GetPull() != nil:
			c.pull.Add(1)
			c.n.Add(1)
		case cf.GetPulls() != nil:
			c.pulls.Add(1)
			c.n.Add(int64(len(cf.GetPulls().GetPulls())))
		}
	}
	return c.Codec.Append(dst, f)
}

func (c *asking) Decode(data []byte, f proto.Message) error {
	err := c.Codec.Decode(data, f)
	if sf, ok := f.(*wire.ServerFrame); ok && c.alone && sf.GetWelcome() != nil {
		sf.GetWelcome().Limits.Pulls = 0
	}
	return err
}

// distant is a connection on which what is written arrives later, in order.
type distant struct {
	net.Conn
	after time.Duration
	queue chan late
	once  sync.Once
}

type late struct {
	at time.Time
	p  []byte
}

func farAway(c net.Conn, after time.Duration) net.Conn {
	d := &distant{Conn: c, after: after, queue: make(chan late, 4096)}
	go func() {
		for x := range d.queue {
			time.Sleep(time.Until(x.at))
			if _, err := c.Write(x.p); err != nil {
				_ = c.Close()
			}
		}
	}()
	return d
}

func (d *distant) Write(p []byte) (n int, err error) {
	defer func() {
		if recover() != nil { // the queue is closed
			err = net.ErrClosed
		}
	}()
	d.queue <- late{time.Now().Add(d.after), append([]byte(nil), p...)}
	return len(p), nil
}

func (d *distant) Close() error {
	d.once.Do(func() { close(d.queue) })
	return d.Conn.Close()
}

// A device that comes back to many conversations with holes has all of it, whether it
// may ask for several stretches at a time or not; if it may, it asks in a few frames. The
// log tells what that saves, near and far.
func TestResumeWithHoles(t *testing.T) {
	t.Parallel()
	const others, missed = 200, 8
	w := oneNode(t, terms{settings: map[string]string{"accounts.dm_policy": "everyone"}})
	ids := wire.NewIDSource(nil, nil)
	var tokens []string
	for i := range others {
		tokens = append(tokens, mint(t, w, fmt.Sprintf("user%d", i), time.Hour).AccessToken)
	}
	mint(t, w, "ann", time.Hour)
	sayAll := func(text string) {
		for i, token := range tokens {
			id := ids.Next()
			req := &wire.SendMessageRequest{
				Conversation: skein.DM("ann", fmt.Sprintf("user%d", i)), Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
			}
			if err := skein.Post(t.Context(), w.HTTP(), "skein.v1.MessageService/SendMessage", token, req, &wire.SendMessageResponse{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	sayAll("before")
	kinds := []struct {
		alone bool
		away  time.Duration
	}{{true, 0}, {false, 0}, {true, 20 * time.Millisecond}, {false, 20 * time.Millisecond}}
	deadline := deadline(t)
	var devices []device
	for range kinds {
		d := newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_OTHER, 0)
		p := connect(t, w, d)
		for cs := []skein.Summary(nil); len(cs) < others; { // a round trip each
			var err error
			if cs, err = p.Conversations(deadline); err != nil {
				t.Fatalf("%d of %d conversations: %v", len(cs), others, err)
			}
			if _, err := p.Users().Get(deadline, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		p.leave()
		devices = append(devices, d)
	}
	for range missed {
		sayAll("while you were away")
	}
	var took []time.Duration
	for i, k := range kinds {
		codec := &asking{Codec: wire.Protobuf(), alone: k.alone}
		began := time.Now()
		p := connect(t, w, devices[i], skein.WithCodec(codec), skein.WithDialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := w.Dial(ctx, "tcp")
			if err == nil && k.away > 0 {
				c = farAway(c, k.away)
			}
			return c, err
		}))
		p.until("all that was missed", func(events []skein.Event) bool {
			n := 0
			for _, e := range events {
				if m, ok := e.(*skein.MessageEvent); ok && m.Message.Text == "while you were away" {
					n++
				}
			}
			return n == others*missed
		})
		took = append(took, time.Since(began))
		t.Logf("alone %v, %v away: %d stretches in %d + %d frames, %v", k.alone, k.away, codec.n.Load(), codec.pull.Load(), codec.pulls.Load(), took[i])
		n, frames := codec.n.Load(), codec.pull.Load()+codec.pulls.Load()
		if n < others/2 || k.alone && frames != n || !k.alone && frames > n/20+1 {
			t.Errorf("alone %v: %d frames for %d stretches", k.alone, frames, n)
		}
		p.leave()
	}
	t.Logf("together ÷ alone: near %.2f, far %.2f of the time", float64(took[1])/float64(took[0]), float64(took[3])/float64(took[2]))
}
