package bench

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// mint makes a user, if need be, and a token for a device.
func (a *attack) mint(ctx context.Context, user, device string) (string, error) {
	var got wire.MintTokenResponse
	err := a.s.call(ctx, a.s.key, "skein.v1.AdminService/MintToken", &wire.MintTokenRequest{
		User: user, Device: &wire.Device{Id: device, Class: wire.DeviceClass_DEVICE_CLASS_PHONE, Name: device}, LifetimeMs: tokensLast.Milliseconds(),
	}, &got)
	return got.GetTokens().GetAccessToken(), err
}

// rates has one account send as one new device after the other, as fast as it can.
func (a *attack) rates(ctx context.Context) error {
	if _, err := a.mint(ctx, "flood-to", "bench"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.o.Each)
	defer cancel()
	var accepted, devices atomic.Uint64
	var wg sync.WaitGroup
	began := time.Now()
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := devices.Add(1)
				token, err := a.mint(ctx, "flood", fmt.Sprintf("device-%d", n))
				if err != nil {
					return
				}
				c := a.at(180, 1, 1)
				for refused := 0; refused < 3 && ctx.Err() == nil; {
					if c.post(ctx, token, "MessageService/SendMessage", textTo("dm:flood:flood-to"), nil) == nil {
						accepted.Add(1)
					} else {
						refused++
					}
				}
				c.close()
			}
		})
	}
	wg.Wait()
	const burst, perSecond = 1000, 200 // as shipped
	may := uint64(burst + perSecond*time.Since(began).Seconds())
	a.r.Rates = AttackRates{Devices: int(devices.Load()), Accepted: accepted.Load(), OneDevice: may, Ratio: float64(accepted.Load()) / float64(may)}
	return nil
}

func textTo(conversation string) string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	id := im.NewMessageID(time.Now(), random)
	return fmt.Sprintf(`{"conversation":%q,"id":%q,"content":{"type":"text","text":"hello"}}`, conversation, base64.StdEncoding.EncodeToString(id[:]))
}

// spam has strangers make groups with a victim and ask to be their contact, again and again.
func (a *attack) spam(ctx context.Context) error {
	const victim = "spam-victim"
	token, err := a.mint(ctx, victim, "bench")
	if err != nil {
		return err
	}
	end := time.Now().Add(a.o.Each)
	var groups, invitations, requests atomic.Uint64
	err = each(ctx, a.o.Strangers, a.o.Strangers, func(i int) error {
		mine, err := a.mint(ctx, fmt.Sprintf("stranger-%d", i), "bench")
		if err != nil {
			return err
		}
		c := a.at(181, i, 1)
		defer c.close()
		for n := 0; time.Now().Before(end) && ctx.Err() == nil; n++ {
			var made struct {
				Group struct {
					Members int `json:"members"`
				} `json:"group"`
				Invited []string `json:"invited"`
			}
			if c.post(ctx, mine, "GroupService/CreateGroup", fmt.Sprintf(`{"name":"win %d","members":[%q]}`, n, victim), &made) == nil {
				if made.Group.Members > 1 {
					groups.Add(1)
				}
				invitations.Add(uint64(len(made.Invited)))
			}
			if c.post(ctx, mine, "ContactService/RequestContact", fmt.Sprintf(`{"user":%q,"message":"win"}`, victim), nil) == nil {
				requests.Add(1)
			}
			_ = c.post(ctx, mine, "ContactService/RemoveContact", fmt.Sprintf(`{"user":%q}`, victim), nil)
		}
		return nil
	})
	a.r.Spam = AttackSpam{Strangers: a.o.Strangers, Groups: groups.Load(), Invitations: invitations.Load(), Requests: requests.Load()}
	return errors.Join(err, a.at(181, 250, 1).post(ctx, token, "AccountService/ListSessions", "{}", nil))
}

// chatting has a pair send a message every 10 ms, one after the other's ack.
func (a *attack) chatting(ctx context.Context, token, conversation string, d time.Duration) (Latency, error) {
	c, err := dial(a.s.reachable["ws"][0], "", wire.Protobuf())
	if err != nil {
		return Latency{}, err
	}
	defer c.Close()
	if _, err := c.hello(token, "", ""); err != nil {
		return Latency{}, err
	}
	var h histogram
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		var random [10]byte
		_, _ = rand.Read(random[:]) // never fails
		id := im.NewMessageID(time.Now(), random)
		began := time.Now()
		send := &wire.Send{Conversation: conversation, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}}}
		if err := errors.Join(c.queue(wire.NewClientFrame(send)), c.flush()); err != nil {
			return Latency{}, err
		}
		for acked := false; !acked; {
			f, err := c.read()
			if err != nil {
				return Latency{}, err
			}
			if e := f.GetSendError(); e != nil {
				return Latency{}, fmt.Errorf("an innocent's message: %v", e)
			}
			acked = f.GetSendAck() != nil
		}
		h.record(time.Since(began))
	}
	return h.latency(), nil
}

// sockets opens connections that say nothing, or a byte of a request each second, and opens
// anew those that are closed.
func (a *attack) sockets(ctx context.Context) error {
	token, err := a.mint(ctx, "calm", "bench")
	if err == nil {
		_, err = a.mint(ctx, "calm-peer", "bench")
	}
	if err != nil {
		return err
	}
	x := &a.r.Sockets
	if x.Alone, err = a.chatting(ctx, token, "dm:calm:calm-peer", a.o.Each/2); err != nil {
		return err
	}
	holding, cancel := context.WithCancel(ctx)
	var opened atomic.Int64
	var wg sync.WaitGroup
	for i := range a.o.Sockets {
		wg.Go(func() { a.hold(holding, i, &opened) })
	}
	// The pair and the newcomers come when they are all there, or as many as are let in.
	for last := int64(-1); last != opened.Load() && holding.Err() == nil; time.Sleep(500 * time.Millisecond) {
		last = opened.Load()
	}
	var in, came atomic.Int64
	newcomers := make(chan struct{})
	go func() {
		defer close(newcomers)
		for end := time.Now().Add(a.o.Each); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			c := a.at(185, int(came.Add(1))%250, 1)
			c.http.Timeout = 5 * time.Second
			if c.post(ctx, token, "AccountService/ListSessions", "{}", nil) == nil {
				in.Add(1)
			}
			c.close()
		}
	}()
	x.Beside, err = a.chatting(ctx, token, "dm:calm:calm-peer", a.o.Each)
	<-newcomers
	cancel()
	wg.Wait()
	x.Opened, x.Newcomers, x.NewcomersIn = int(opened.Load()), int(came.Load()), int(in.Load())
	x.P50Ratio, x.P99Ratio = x.Beside.P50/x.Alone.P50, x.Beside.P99/x.Alone.P99
	return err
}

// hold keeps the nth connection open, idle, with slow headers or with a slow body.
func (a *attack) hold(ctx context.Context, n int, opened *atomic.Int64) {
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 186, byte(n%100), 1)}}
	say := []string{"", "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", "POST /api/skein.v1.AccountService/Login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"}[n%3]
	for ctx.Err() == nil {
		c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(a.s.api, "http://"))
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		opened.Add(1)
		stop := context.AfterFunc(ctx, func() { c.Close() })
		_, err = c.Write([]byte(say))
		for err == nil && ctx.Err() == nil {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err = c.Read(make([]byte, 256)); errors.Is(err, errTimeout(err)) && say != "" {
				_, err = c.Write([]byte("x"))
			} else if errors.Is(err, errTimeout(err)) {
				err = nil
			}
		}
		stop()
		c.Close()
	}
}

// errTimeout is err if it is a deadline that passed.
func errTimeout(err error) error {
	if t := net.Error(nil); errors.As(err, &t) && t.Timeout() {
		return err
	}
	return net.ErrClosed
}
