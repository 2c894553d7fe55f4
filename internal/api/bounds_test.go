package api

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// pipes is a listener whose connections are pipes: nothing is buffered, so a
// peer that does not read holds up the server at once.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serve runs the handler and returns a function that opens a connection to it.
// ended gets every connection that the server has done with.
func serve(t *testing.T, h http.Handler) (dial func() net.Conn, ended chan struct{}) {
	l, ended := make(pipes), make(chan struct{}, 10)
	s := &http.Server{Handler: h, ConnState: func(_ net.Conn, st http.ConnState) {
		if st == http.StateClosed {
			ended <- struct{}{}
		}
	}}
	go s.Serve(l)
	t.Cleanup(func() { close(l); s.Close() })
	return func() net.Conn {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close() })
		l <- b
		return a
	}, ended
}

// Who does not take the answer once kept it, and all that belongs to it, in the
// server's memory for as long as it liked.
func TestHTTPPeerThatDoesNotRead(t *testing.T) {
	for name, request := range map[string]string{
		"call":     "POST /api/skein.v1.UserService/GetUsers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"refusal":  "POST /api/skein.v1.UserService/Nope HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"document": "GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n",
		"file":     "GET /api/docs HTTP/1.1\r\nHost: x\r\n\r\n",
		"page":     "GET /claim HTTP/1.1\r\nHost: x\r\n\r\n",
		// These send a part only.
		"slow body": "POST /api/skein.v1.UserService/GetUsers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: 200\r\n\r\n{",
		"slow form": "POST /claim HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 200\r\n\r\ncode=",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logic := &fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { return nil, nil }}
				dial, ended := serve(t, NewHTTP(logic, HTTPOptions{Log: quiet(), Timeout: 10 * time.Second}))
				if _, err := io.WriteString(dial(), request); err != nil {
					t.Fatal(err)
				}
				time.Sleep(21 * time.Second) // synthetic
				synctest.Wait()
				select {
				case <-ended:
				default:
					t.Error("the server waits still")
				}
			})
		})
	}
}

func TestHTTPRequestsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		logic := &fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { <-release; return nil, nil }}
		door := NewHTTP(logic, HTTPOptions{Log: quiet(), MaxPerAddress: 2})
		q := post("AccountService/Login", "", "{}")
		q.remote = "192.0.2.1:1"
		codes := make(chan int, 2)
		for range 2 {
			go func() { codes <- do(door, q).Code }()
		}
		synctest.Wait()
		w := do(door, q)
		if code, _ := errorOf(t, w); w.Code != http.StatusTooManyRequests || code != im.CodeRateLimited || w.Header().Get("Retry-After") != "1" {
			t.Errorf("the third: %d %s %v", w.Code, code, w.Header())
		}
		page := request{method: http.MethodGet, path: "/api/docs", remote: "192.0.2.1:2"}
		if w := do(door, page); w.Code != http.StatusTooManyRequests {
			t.Errorf("a page: %d", w.Code)
		}
		page.remote = "192.0.2.2:1"
		if w := do(door, page); w.Code != http.StatusOK {
			t.Errorf("another address: %d", w.Code)
		}
		close(release)
		if a, b := <-codes, <-codes; a != http.StatusOK || b != http.StatusOK {
			t.Errorf("the first two: %d, %d", a, b)
		}
		if w := do(door, q); w.Code != http.StatusOK {
			t.Errorf("after them: %d", w.Code)
		}
	})
}

// A deadline is of one request: a connection that is used again has its own.
func TestHTTPDeadlinesEndWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, _ := serve(t, NewHTTP(&fakeLogic{}, HTTPOptions{Log: quiet(), Timeout: 10 * time.Second}))
		c := dial()
		r := bufio.NewReader(c)
		for i := range 3 {
			if _, err := io.WriteString(c, "GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			w, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(w.Body)
			if err != nil || len(b) != len(openAPI) {
				t.Fatalf("answer %d: %d bytes, %v", i, len(b), err)
			}
			time.Sleep(time.Minute) // synthetic
		}
	})
}
