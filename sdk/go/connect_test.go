package skein

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

func refuse(code wire.Code) func(*wire.Hello) *wire.ServerFrame {
	return func(*wire.Hello) *wire.ServerFrame { return wire.NewServerFrame(wire.NewError(code, "no")) }
}

func TestDialReturnsFinalErrors(t *testing.T) {
	for code, want := range map[wire.Code]error{
		wire.CodeTokenInvalid:       ErrTokenInvalid,
		wire.CodeTokenExpired:       ErrTokenExpired,
		wire.CodeSessionRevoked:     ErrSessionRevoked,
		wire.CodeBanned:             ErrBanned,
		wire.CodeAccountDeleted:     ErrAccountDeleted,
		wire.CodeReplaced:           ErrReplaced,
		wire.CodeVersionUnsupported: wire.CodeVersionUnsupported,
		wire.CodeDeviceMismatch:     wire.CodeDeviceMismatch,
	} {
		t.Run(string(code), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.onHello = refuse(code)
				if _, err := r.tryDial(); !errors.Is(err, want) {
					t.Errorf("Dial: %v, want %v", err, want)
				}
				eq(t, "attempts", r.connections(), 1)
			})
		})
	}
}

func TestDialTriesAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := 0
		r.onHello = func(*wire.Hello) *wire.ServerFrame {
			if n++; n < 4 {
				return wire.NewServerFrame(wire.NewError(wire.CodeTooManyConnections, ""))
			}
			return nil
		}
		r.dial()
		eq(t, "attempts", r.connections(), 4)
	})
}

func TestBackoffIsFullJitter(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var at []time.Time
		o := defaultOptions()
		for range 100 {
			if d := o.backoff(30); d < 0 || d > 20*time.Second {
				t.Fatalf("waits %v", d)
			}
			if d := o.backoff(0); d > 500*time.Millisecond {
				t.Fatalf("waits %v at first", d)
			}
		}
		for n, want := range map[int]time.Duration{0: 500 * time.Millisecond, 1: time.Second, 5: 16 * time.Second, 6: 20 * time.Second, 1000: 20 * time.Second} {
			eq(t, fmt.Sprint("ceiling of attempt ", n), backoffCeiling(n), want)
		}
		var attempts []int
		c := r.dial(WithOffline(), WithBackoff(func(n int) time.Duration {
			attempts = append(attempts, n)
			return time.Duration(n+1) * time.Second
		}), WithDialer(func(context.Context, string, string) (net.Conn, error) {
			at = append(at, time.Now())
			return nil, errors.New("down")
		}))
		pause(11 * time.Second)
		eq(t, "attempts", attempts, []int{0, 1, 2, 3, 4})
		for i := 1; i < len(at); i++ {
			eq(t, "wait", at[i].Sub(at[i-1]), time.Duration(i)*time.Second)
		}
		c.Reconnect() // the network is back: at once
		synctest.Wait()
		eq(t, "dials", len(at), 6)
		state, err := c.State()
		if state != StateDisconnected || err == nil {
			t.Errorf("state = %v, %v", state, err)
		}
	})
}

func TestOfflineOutbox(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		up := false
		r.onHello = func(*wire.Hello) *wire.ServerFrame {
			if !up {
				return wire.NewServerFrame(wire.NewError(wire.CodeGoingAway, ""))
			}
			return nil
		}
		c := r.dial(WithOffline(), WithOutboxLimit(2))
		p, err := c.Conversation(dm).SendAsync(bg, "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Conversation(dm).SendAsync(bg, "b"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Conversation(dm).SendAsync(bg, "c"); !errors.Is(err, ErrOutboxFull) {
			t.Errorf("third message: %v, want a full outbox", err)
		}
		if _, err := c.Conversation(dm).History(bg, 0, 1); !errors.Is(err, ErrOffline) {
			t.Errorf("history: %v", err)
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if _, err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait: %v", err)
		}
		r.do(func() { up = true })
		if _, err := p.Wait(bg); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		eq(t, "stored", r.texts(), []string{"a", "b"})
	})
}

func TestKick(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		p, _ := c.Conversation(dm).SendAsync(bg, "stored")
		<-p.Done()
		r.do(func() { r.onSend = func(*fakeConn, *wire.Send) verdict { return verdict{noStore: true} } })
		p, _ = c.Conversation(dm).SendAsync(bg, "waits")
		synctest.Wait()
		broadcast(r.fake, &wire.Kick{
			Error: wire.NewError(wire.CodeReplaced, "phone"), By: &wire.Device{Id: "d2", Name: "Phone"}, AtMs: 1000,
		})
		synctest.Wait()
		if _, err := p.Wait(bg); !errors.Is(err, ErrReplaced) {
			t.Errorf("the waiting send: %v, want replaced", err)
		}
		states := eventsOf[*StateEvent](r.events)
		last := states[len(states)-1]
		if last.State != StateStopped || !errors.Is(last.Err, ErrReplaced) || last.By.GetName() != "Phone" || last.At.UnixMilli() != 1000 {
			t.Errorf("last state = %+v", last)
		}
		pause(time.Hour)
		eq(t, "it stays away", r.connections(), 1)
		if err := c.Call(bg, "skein.v1.X/Y", &wire.Ping{}, &wire.Pong{}); !errors.Is(err, ErrReplaced) {
			t.Errorf("Call while stopped: %v", err)
		}
		if _, err := c.Conversation(dm).Send(bg, "later"); !errors.Is(err, ErrReplaced) {
			t.Errorf("Send while stopped: %v", err)
		}
		// Somebody decides that this device goes on.
		r.do(func() { r.onSend = nil })
		c.Reconnect()
		if err := c.WaitConnected(bg); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		eq(t, "stored", r.texts(), []string{"stored", "waits", "later"})
	})
}

func TestTokenSourceIsAskedAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var rejected []string
		source := func(ctx context.Context) (string, error) {
			rejected = append(rejected, RejectedToken(ctx))
			return fmt.Sprint("tok", len(rejected)), nil
		}
		r.onHello = func(h *wire.Hello) *wire.ServerFrame {
			if h.Token == "tok1" {
				return wire.NewServerFrame(wire.NewError(wire.CodeTokenExpired, ""))
			}
			return nil
		}
		r.dial(WithTokenSource(source))
		broadcast(r.fake, &wire.Kick{Error: wire.NewError(wire.CodeTokenExpired, "")})
		pause(30 * time.Second)
		eq(t, "rejected tokens", rejected, []string{"", "tok1", "tok2"})
		state, _ := r.c.State()
		eq(t, "state", state, StateConnected)
	})
}

// A server that takes logins, is up for a while and never answers the first sync:
// the pauses grow all the same, until a sync is finished.
func TestBackoffUntilASyncIsFinished(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.noSync = true
		var attempts []int
		r.dial(WithOffline(), WithBackoff(func(n int) time.Duration {
			attempts = append(attempts, n)
			return time.Second
		}))
		for range 4 {
			pause(10 * time.Second)
			r.hangUp()
			pause(2 * time.Second)
		}
		eq(t, "attempts", attempts, []int{0, 1, 2, 3})
		r.do(func() { r.noSync = false })
		r.hangUp()
		pause(2 * time.Second)
		eq(t, "state", r.state(), StateConnected)
		attempts = nil
		r.hangUp()
		pause(2 * time.Second)
		eq(t, "attempts after a finished sync", attempts, []int{0})
	})
}

func TestTokenSourceThatCannotHelp(t *testing.T) {
	for name, source := range map[string]TokenSource{
		"the same again": func(context.Context) (string, error) { return "same", nil },
		"refused":        func(context.Context) (string, error) { return "", &Error{Code: wire.CodeTokenInvalid} },
		"always others": func() TokenSource {
			n := 0
			return func(context.Context) (string, error) { n++; return fmt.Sprint(n), nil }
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.onHello = refuse(wire.CodeTokenInvalid)
				if _, err := r.tryDial(WithTokenSource(source)); !errors.Is(err, ErrTokenInvalid) {
					t.Errorf("Dial: %v", err)
				}
				if r.connections() > maxRejections {
					t.Errorf("%d attempts", r.connections())
				}
			})
		})
	}
}

func TestTokenSourceOffline(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		n := 0
		r.dial(WithTokenSource(func(context.Context) (string, error) {
			if n++; n < 3 {
				return "", errors.New("no network")
			}
			return "tok", nil
		}))
		eq(t, "asked", n, 3)
	})
}

func TestGoAway(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.do(func() { r.onSend = nil })
		broadcast(r.fake, &wire.GoAway{RetryAfterMs: 10_000})
		synctest.Wait()
		if _, err := c.Conversation(dm).Send(bg, "finish"); err != nil {
			t.Fatal(err)
		}
		pause(10 * time.Second)
		synctest.Wait()
		eq(t, "connections", r.connections(), 2)
		eq(t, "bye", len(frames(r.fake, (*wire.ClientFrame).GetBye)), 1)
		state, _ := c.State()
		eq(t, "state", state, StateConnected)
	})
}

func TestGoAwayThenTheServerCloses(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		broadcast(r.fake, &wire.GoAway{RetryAfterMs: 10_000})
		r.hangUp()
		pause(10 * time.Second)
		synctest.Wait()
		eq(t, "connections", r.connections(), 2)
		state, _ := c.State()
		eq(t, "state", state, StateConnected)
	})
}

func TestStoreOfAnotherUser(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.end()
		r.user = "mallory"
		if _, err := r.tryDial(); !errors.Is(err, ErrOtherUser) {
			t.Errorf("Dial: %v, want ErrOtherUser", err)
		}
	})
}

// A server of a later version: unknown frames and fields change nothing; one
// that picks a version the client does not speak is refused.
func TestVersions(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.welcome = func(w *wire.Welcome) {
			w.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 900, protowire.BytesType), "new"))
		}
		c := r.dial()
		unknown := &wire.ServerFrame{}
		unknown.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 901, protowire.BytesType), "frame"))
		r.do(func() { r.conns[0].out <- unknown })
		broadcast(r.fake, &wire.Welcome{Version: 1}) // makes no sense now; ignored
		broadcast(r.fake, wire.NewError(wire.CodeUnimplemented, "what you sent"))
		r.do(func() {
			r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: 77}) // keeps its place, shows nothing
		})
		r.say(dm, "bob", "hi")
		synctest.Wait()
		eq(t, "messages", r.events.messages(), []string{"hi"})
		state, _ := c.State()
		eq(t, "state", state, StateConnected)
		h := r.hellos[0]
		if h.VersionMin != wire.VersionMin || h.VersionMax != wire.VersionMax {
			t.Errorf("hello = %v", h)
		}
		r.end()
		r.welcome = func(w *wire.Welcome) { w.Version = wire.VersionMax + 1 }
		if _, err := r.tryDial(); !errors.Is(err, wire.CodeVersionUnsupported) {
			t.Errorf("Dial: %v, want version_unsupported", err)
		}
	})
}

// An old server that leaves fields out: defaults hold.
func TestSparseWelcome(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.welcome = func(w *wire.Welcome) { w.Limits, w.Heartbeat = nil, nil }
		c := r.dial()
		if _, err := c.Conversation(dm).Send(bg, "x"); err != nil {
			t.Fatal(err)
		}
		pause(31 * time.Second)
		eq(t, "pings", len(frames(r.fake, (*wire.ClientFrame).GetPing)), 1)
	})
}

func TestSilentServerIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.do(func() {
			mute := r.conns[0]
			r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool { return c == mute } // half-open: nothing comes back
		})
		pause(time.Minute)
		eq(t, "connections", r.connections(), 2)
	})
}

func TestInvalidSends(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		for name, f := range map[string]func() (*Pending, error){
			"conversation": func() (*Pending, error) { return c.Conversation("dm:b:a").SendAsync(bg, "x") },
			"feed":         func() (*Pending, error) { return c.Conversation("me:alice").SendAsync(bg, "x") },
			"empty":        func() (*Pending, error) { return c.Conversation(dm).SendAsync(bg, "") },
			"UTF-8":        func() (*Pending, error) { return c.Conversation(dm).SendAsync(bg, "\xff") },
			"type":         func() (*Pending, error) { return c.Conversation(dm).SendAsync(bg, "x", ContentType("Text!")) },
			"mention":      func() (*Pending, error) { return c.Conversation(dm).SendAsync(bg, "x", Mention("a.b")) },
		} {
			if _, err := f(); !errors.Is(err, ErrInvalidArgument) {
				t.Errorf("%s: %v, want invalid_argument", name, err)
			}
		}
		if _, err := c.Conversation(dm).SendAsync(bg, "x", Mention(slices.Repeat([]string{"a"}, 101)...)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("mentions: %v", err)
		}
		// Too long for this server: refused here, the connection lives.
		p, err := c.Conversation(dm).SendAsync(bg, string(make([]byte, 1001)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(bg); !errors.Is(err, ErrTooLarge) {
			t.Errorf("too long: %v", err)
		}
		if _, err := c.Conversation(dm).Send(bg, "", ContentType("image"), Data([]byte{0xff, 0})); err != nil {
			t.Errorf("bytes: %v", err)
		}
		eq(t, "connections", r.connections(), 1)
	})
}

func TestCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onCall = func(m *wire.Call) *wire.Result {
			switch m.Method {
			case "skein.v1.UserService/FindUser":
				var q wire.FindUserRequest
				if err := proto.Unmarshal(m.GetBody(), &q); err != nil {
					t.Error(err)
				}
				b, _ := proto.Marshal(&wire.FindUserResponse{User: &wire.User{Id: "id-" + q.Username}})
				return &wire.Result{Response: &wire.Result_Body{Body: b}}
			case "skein.v1.ContactService/ListContacts":
				var q wire.ListContactsRequest
				_ = proto.Unmarshal(m.GetBody(), &q)
				resp := &wire.ListContactsResponse{Contacts: []*wire.Contact{{Remark: "page" + q.Cursor}}}
				if q.Cursor == "" {
					resp.Next = "2"
				}
				b, _ := proto.Marshal(resp)
				return &wire.Result{Response: &wire.Result_Body{Body: b}}
			case "skein.v1.GroupService/LeaveGroup":
				return &wire.Result{}
			}
			return &wire.Result{Response: &wire.Result_Error{Error: &wire.Error{Code: "too_late", Message: "m", RetryAfterMs: 5}}}
		}
		u, err := c.Users().Find(bg, "bob")
		if err != nil || u.Id != "id-bob" {
			t.Errorf("Find = %v, %v", u, err)
		}
		list, err := c.Contacts().List(bg)
		if err != nil || len(list) != 2 || list[1].Remark != "page2" {
			t.Errorf("List = %v, %v", list, err)
		}
		if err := c.Groups().Leave(bg, grp); err != nil {
			t.Errorf("Leave: %v", err)
		}
		err = c.Conversation(dm).Recall(bg, 1)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrTooLate) || e.RetryAfter != 5*time.Millisecond {
			t.Errorf("Recall: %v", err)
		}
	})
}

// A call whose answer is lost says so; creating a group asks again under the same request id.
func TestCallsOverALostConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		var requests []string
		r.onFrame = func(fc *fakeConn, f *wire.ClientFrame) bool {
			m := f.GetCall()
			if m == nil {
				return false
			}
			if m.Method == "skein.v1.GroupService/CreateGroup" {
				var q wire.CreateGroupRequest
				_ = proto.Unmarshal(m.GetBody(), &q)
				if requests = append(requests, q.RequestId); len(requests) > 1 {
					b, _ := proto.Marshal(&wire.CreateGroupResponse{Group: &wire.Group{Conversation: grp}})
					reply(fc, &wire.Result{Number: m.Number, Response: &wire.Result_Body{Body: b}})
					return true
				}
			}
			fc.hang()
			return true
		}
		if err := c.Contacts().Remove(bg, "bob"); !errors.Is(err, ErrConnectionLost) {
			t.Errorf("Remove: %v", err)
		}
		g, err := c.Groups().Create(bg, "G")
		if err != nil || g.Conversation != grp {
			t.Fatalf("Create = %v, %v", g, err)
		}
		if len(requests) != 2 || requests[0] != requests[1] || requests[0] == "" {
			t.Errorf("request ids = %q", requests)
		}
	})
}

func TestPresenceAndTyping(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		if err := c.WatchPresence(bg, "bob"); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			_ = c.Conversation(dm).Typing(bg)
		}
		synctest.Wait()
		broadcast(r.fake, &wire.Presence{User: "bob", Online: true})
		broadcast(r.fake, &wire.Typing{Conversation: dm, User: "bob"})
		if err := c.Conversation(dm).Signal(bg, "cursor", []byte{1}); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []error{
			c.Conversation("dm:x").Signal(bg, "cursor", nil), c.Conversation(dm).Signal(bg, "Cursor", nil), c.Conversation(dm).Signal(bg, "cursor", make([]byte, 1025)),
		} {
			if bad == nil {
				t.Error("a signal that no server takes was sent")
			}
		}
		for i := range byte(2) {
			broadcast(r.fake, &wire.Signal{Conversation: dm, User: "bob", Type: "cursor", Data: []byte{i}})
			broadcast(r.fake, &wire.Signal{Conversation: dm, User: "bob", Type: "other", Data: []byte{i}})
			synctest.Wait()
		}
		r.hangUp()
		pause(time.Minute / 2)
		if sent := frames(r.fake, (*wire.ClientFrame).GetSignal); len(sent) != 1 || sent[0].Type != "cursor" || string(sent[0].Data) != "\x01" {
			t.Errorf("signals = %v", sent)
		}
		if ev := eventsOf[*SignalEvent](r.events); len(ev) != 4 || ev[0].User != "bob" || ev[1].Type != "other" || ev[2].Data[0] != 1 {
			t.Errorf("signals = %v", ev)
		}
		eq(t, "watches, repeated", len(frames(r.fake, (*wire.ClientFrame).GetWatchPresence)), 2)
		eq(t, "typing, throttled", len(frames(r.fake, (*wire.ClientFrame).GetTyping)), 1)
		if ev := eventsOf[*PresenceEvent](r.events); len(ev) != 1 || !ev[0].Online || ev[0].User != "bob" {
			t.Errorf("presence = %v", ev)
		}
		if ev := eventsOf[*TypingEvent](r.events); len(ev) != 1 || ev[0].Conversation != dm {
			t.Errorf("typing = %v", ev)
		}
	})
}

// A flood of passing events is bounded, the state is never among the dropped.
func TestPassingEventsAreBounded(t *testing.T) {
	h := newHub()
	h.post(passingKey{kind: "state"}, &StateEvent{State: StateClosed})
	for i := range 10 * maxPassing {
		u := fmt.Sprint(i)
		h.post(passingKey{"presence", "", u}, &PresenceEvent{User: u})
	}
	n := 0
	e, _ := h.pop()
	if s, ok := e.(*StateEvent); !ok || s.State != StateClosed {
		t.Errorf("first = %v, want the state", e)
	}
	for ; e != nil; e, _ = h.pop() {
		n++
	}
	if n > maxPassing {
		t.Errorf("%d events kept", n)
	}
}
