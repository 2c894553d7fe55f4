package skein

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// keeper is a server's side of calls: what it did, by keys, and how it answers the
// next ones.
type keeper struct {
	calls []*wire.Call
	done  []string // methods that were carried out
	kept  map[string]bool
	// next are the answers to the next calls: "lost" carries out and cuts, "cut" only
	// cuts, "" carries out and answers, a code refuses.
	next []string
}

func (k *keeper) onFrame(fc *fakeConn, f *wire.ClientFrame) bool {
	m := f.GetCall()
	if m == nil {
		return false
	}
	k.calls = append(k.calls, m)
	how := ""
	if len(k.next) > 0 {
		how, k.next = k.next[0], k.next[1:]
	}
	if how != "" && how != "lost" && how != "cut" {
		e := wire.NewError(wire.Code(how), "not now")
		e.RetryAfterMs = 1000
		reply(fc, &wire.Result{Number: m.Number, Response: &wire.Result_Error{Error: e}})
		return true
	}
	if how != "cut" && (m.IdempotencyKey == "" || !k.kept[m.IdempotencyKey]) {
		k.done = append(k.done, m.Method)
		k.kept[m.IdempotencyKey] = true
	}
	if how != "" {
		fc.hang()
		return true
	}
	reply(fc, &wire.Result{Number: m.Number, Response: &wire.Result_Body{}})
	return true
}

// keys lists the keys of the calls that came.
func (k *keeper) keys() (keys []string) {
	for _, m := range k.calls {
		keys = append(keys, m.IdempotencyKey)
	}
	return keys
}

// keeping is a client of a server that keeps so many keys.
func keeping(r *rig, keys uint32, next ...string) (*Client, *keeper) {
	k := &keeper{kept: map[string]bool{}, next: next}
	r.welcome = func(w *wire.Welcome) { w.Limits.IdempotencyKeys = keys }
	r.onFrame = k.onFrame
	return r.dial(), k
}

// A call whose answer is lost is asked for again with its key, until there is an
// answer, and is carried out once.
func TestAnswerLost(t *testing.T) {
	for _, next := range [][]string{
		{"lost"}, {"cut", "lost", "lost"}, {"lost", "unavailable", "overloaded", "lost"}, {"unknown"}, {"unknown", "rate_limited", "unknown"},
	} {
		t.Run(fmt.Sprint(next), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				c, k := keeping(r, 1000, next...)
				start := time.Now()
				if err := c.Contacts().Remove(bg, "bob"); err != nil {
					t.Fatal(err)
				}
				eq(t, "carried out", k.done, []string{contactService + "RemoveContact"})
				eq(t, "asked", len(k.calls), len(next)+1)
				key := k.calls[0].IdempotencyKey
				if len(key) < 16 || slices.Compact(k.keys())[0] != key || len(slices.Compact(k.keys())) != 1 {
					t.Errorf("keys %q", k.keys())
				}
				refusals := len(slices.DeleteFunc(slices.Clone(next), func(s string) bool { return s == "lost" || s == "cut" }))
				if waited := time.Since(start); waited < time.Duration(refusals)*time.Second {
					t.Errorf("asked again after %v of %d refusals of a second", waited, refusals)
				}
				if err := c.Contacts().Remove(bg, "bob"); err != nil || k.calls[len(k.calls)-1].IdempotencyKey == key {
					t.Errorf("the next call: %v, key %q again", err, key)
				}
			})
		})
	}
}

// What was refused and not lost is the program's to repeat.
func TestRefusedCallsAreNotRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for _, code := range []wire.Code{wire.CodeUnavailable, wire.CodeNotFound, wire.CodeRateLimited} {
			r.end()
			c, k := keeping(r, 1000, string(code))
			if err := c.Contacts().Remove(bg, "bob"); !errors.Is(err, code) || len(k.calls) != 1 {
				t.Errorf("%s: %v, %d calls", code, err, len(k.calls))
			}
		}
	})
}

// What changes something is not asked for again where a server that takes no keys had
// it, or would have it: one that never took any, and one of before or after the loss.
func TestAnswerLostWithoutKeys(t *testing.T) {
	for _, c := range []struct{ before, after uint32 }{{0, 0}, {1000, 0}, {0, 1000}} {
		inBubble(t, func(t *testing.T, r *rig) {
			client, k := keeping(r, c.before, "lost")
			r.do(func() {
				r.welcome = func(w *wire.Welcome) { w.Limits.IdempotencyKeys = c.after }
			})
			if err := client.Contacts().Remove(bg, "bob"); !errors.Is(err, ErrConnectionLost) || len(k.calls) != 1 {
				t.Errorf("%d keys, then %d: %v, %d calls", c.before, c.after, err, len(k.calls))
			}
		})
	}
}

// What changes nothing, or does the same again, needs no key, and is asked for again
// of every server.
func TestAnswerLostOfSafeCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, k := keeping(r, 0, "lost", "", "lost", "", "lost", "")
		if _, err := c.Users().Get(bg, "bob"); err != nil {
			t.Error(err)
		}
		if err := c.Contacts().Block(bg, "bob"); err != nil {
			t.Error(err)
		}
		eq(t, "keys", k.keys(), []string{"", "", "", ""})
		if _, err := c.Groups().Create(bg, "G"); err != nil {
			t.Error(err)
		}
		var a, b wire.CreateGroupRequest
		if err := errors.Join(proto.Unmarshal(k.calls[4].GetBody(), &a), proto.Unmarshal(k.calls[5].GetBody(), &b)); err != nil {
			t.Fatal(err)
		}
		if a.RequestId == "" || a.RequestId != b.RequestId || k.calls[4].IdempotencyKey != a.RequestId {
			t.Errorf("request ids %q, %q, key %q", a.RequestId, b.RequestId, k.calls[4].IdempotencyKey)
		}
	})
}

// A program's own key is the call's, also of another client, a day later.
func TestWithKey(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, k := keeping(r, 1000)
		own := NewKey()
		ctx := WithKey(bg, own)
		for range 2 {
			if _, err := c.Groups().Create(ctx, "G"); err != nil {
				t.Fatal(err)
			}
			if err := c.Call(ctx, "skein.v1.TeaService/Brew", &wire.Ping{}, &wire.Pong{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Groups().Get(ctx, grp); err != nil {
			t.Fatal(err)
		}
		eq(t, "keys", k.keys(), []string{own, own, own, own, ""})
		if a, b := k.calls[0].GetBody(), k.calls[2].GetBody(); string(a) != string(b) {
			t.Errorf("the same call asks for %x, then %x", a, b)
		}
	})
}

// Who gives up is told that it may have been done; and a call that ends every
// connection is given up.
func TestCallsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, _ := keeping(r, 1000, "lost", "unavailable", "unavailable", "unavailable", "unavailable", "unavailable")
		ctx, cancel := context.WithTimeout(bg, 3*time.Second)
		defer cancel()
		if err := c.Contacts().Remove(ctx, "bob"); !errors.Is(err, ErrConnectionLost) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at its deadline: %v", err)
		}
	})
	inBubble(t, func(t *testing.T, r *rig) {
		c, k := keeping(r, 1000, slices.Repeat([]string{"cut"}, 100)...)
		if err := c.Contacts().Remove(bg, "bob"); !errors.Is(err, ErrConnectionLost) || len(k.calls) != mostLost {
			t.Errorf("%v after %d calls", err, len(k.calls))
		}
	})
	inBubble(t, func(t *testing.T, r *rig) {
		c, _ := keeping(r, 1000, "lost", "unavailable")
		r.do(func() {
			r.onHello = func(h *wire.Hello) *wire.ServerFrame {
				return wire.NewServerFrame(wire.NewError(wire.CodeBanned, "go"))
			}
		})
		if err := c.Contacts().Remove(bg, "bob"); !errors.Is(err, ErrConnectionLost) || !errors.Is(err, ErrBanned) {
			t.Errorf("stopped meanwhile: %v", err)
		}
	})
}

// Over HTTP the key is a header.
func TestPostSendsKeys(t *testing.T) {
	var keys []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		keys = append(keys, q.Header.Get("Idempotency-Key"))
		_, _ = w.Write([]byte("{}"))
	}))
	defer srv.Close()
	own := NewKey()
	for _, f := range []func() error{
		func() error { _, err := Register(bg, srv.URL, &wire.RegisterRequest{}); return err },
		func() error { _, err := Register(WithKey(bg, own), srv.URL, &wire.RegisterRequest{}); return err },
		func() error { _, err := Login(bg, srv.URL, &wire.LoginRequest{}); return err },
		func() error { _, err := Refresh(bg, srv.URL, "r"); return err },
		func() error {
			return Post(bg, srv.URL, "skein.v1.AdminService/ListUsers", "t", &wire.ListUsersRequest{}, &wire.ListUsersResponse{})
		},
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 5 || len(keys[0]) < 16 || keys[1] != own || len(keys[2]) < 16 || keys[0] == keys[2] || keys[3] != "" || keys[4] != "" {
		t.Errorf("keys %q", keys)
	}
}
