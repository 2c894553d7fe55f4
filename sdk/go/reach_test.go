package skein_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// talks is a port at which something says a word to whoever comes, or nothing.
func talks(t *testing.T, word string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			_, _ = c.Write([]byte(word))
		}
	}()
	return l.Addr().String()
}

// Who dials what is no server is told so, with a sentence that says what is wrong: at once
// where waiting does not mend it, and otherwise when the time is over.
func TestDialSaysWhatIsWrong(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello")) }))
	t.Cleanup(page.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	noHost := skein.WithDialer(func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "chat.exmaple", IsNotFound: true}}
	})
	for _, c := range []struct {
		name, url, hint string
		atOnce          bool
		more            []skein.Option
	}{
		{"nobody listens", "ws://" + nobody + "/ws", "nothing listens there", false, nil},
		{"nobody listens, tcp", "tcp://" + nobody, "nothing listens there", false, nil},
		{"wrong path", "ws://" + address(plain) + "/chat", "says 404 Not Found: a Skein server has its connections at /ws", true, nil},
		{"a web page", "ws://" + address(page) + "/ws", "says 200 OK: a Skein server has its connections at /ws", true, nil},
		{"ws:// to TLS", "ws://" + address(secure) + "/ws", "use wss://", true, nil},
		{"wss:// to no TLS", "wss://" + address(plain) + "/ws", "use ws://", true, nil},
		{"tls:// to no TLS", "tls://" + address(plain), "use tcp://", true, nil},
		{"a certificate of nobody's", "wss://" + address(secure) + "/ws", "certificate is not good", true, nil},
		{"another name's certificate", "tls://" + address(secure), "certificate is not good", true, []skein.Option{skein.WithTLS(&tls.Config{RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "chat.other"})}},
		{"another protocol", "ws://" + talks(t, "SSH-2.0-OpenSSH_9.2\r\n") + "/ws", "another protocol", true, nil},
		{"tcp:// to HTTP", "tcp://" + talks(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "another protocol", true, nil},
		{"silence", "ws://" + talks(t, "") + "/ws", "no answer", false, nil},
		{"no such host", "ws://chat.exmaple/ws", "no host chat.exmaple", true, []skein.Option{noHost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			within := 300 * time.Millisecond
			if c.atOnce {
				within = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			began := time.Now()
			_, err := skein.Dial(ctx, c.url, append(c.more, skein.WithToken("t"), skein.WithDialTimeout(within))...)
			var e *skein.UnreachedError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.hint) || e.Address != c.url {
				t.Fatalf("%v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("that is no sentence: %v", err)
			}
		})
	}
}

// The same for calls over HTTP: who logs in at the wrong port is told so.
func TestPostSaysWhatIsWrong(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for base, hint := range map[string]string{
		plain.URL: "says 404 Not Found: a Skein server has its connections at /ws and its calls at /api",
		"https" + strings.TrimPrefix(plain.URL, "http"): "use http://",
		"127.0.0.1:8080":                    "is no address like",
		"http://" + talks(t, "SSH-2.0\r\n"): "another protocol",
	} {
		_, err := skein.Login(t.Context(), base, &wire.LoginRequest{Username: "ann", Password: "p"})
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", base, err)
		}
	}
}
