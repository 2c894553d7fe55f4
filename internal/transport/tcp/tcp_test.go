package tcp

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, rawURL string, o wire.ListenOptions) wire.Listener {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Transport{}.Listen(context.Background(), u, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConformanceTCP(t *testing.T) {
	transporttest.Run(t, transporttest.Subject{
		Listen: func(t *testing.T, o wire.ListenOptions) wire.Listener {
			return listen(t, "tcp://127.0.0.1:0", o)
		},
		Connect: func(t *testing.T, l wire.Listener) net.Conn {
			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			return nc
		},
		Handshake: transporttest.StreamHandshake,
		Announce:  transporttest.StreamAnnounce,
		TryWrites: true,
		Orderly:   true,
		Parks:     true,
	})
}

func TestConformanceTLS(t *testing.T) {
	server, client := transporttest.TLS(t)
	transporttest.Run(t, transporttest.Subject{
		Listen: func(t *testing.T, o wire.ListenOptions) wire.Listener {
			o.TLS = server
			return listen(t, "tls://127.0.0.1:0", o)
		},
		Connect: func(t *testing.T, l wire.Listener) net.Conn {
			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			return tls.Client(nc, client)
		},
		Handshake: transporttest.StreamHandshake,
		Announce:  transporttest.StreamAnnounce,
		Orderly:   true,
	})
}

func TestListenRefuses(t *testing.T) {
	for _, raw := range []string{"tls://127.0.0.1:0", "tcp://127.0.0.1", "tcp://127.0.0.1:0/path", "udp://127.0.0.1:0", "tcp://127.0.0.1:99999"} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if l, err := (Transport{}).Listen(context.Background(), u, wire.ListenOptions{}); err == nil {
			_ = l.Close()
			t.Errorf("%s is listened on", raw)
		}
	}
	l := listen(t, "tcp://127.0.0.1:0", wire.ListenOptions{})
	defer l.Close()
	u := &url.URL{Scheme: "tcp", Host: l.Addr().String()}
	if _, err := (Transport{}).Listen(context.Background(), u, wire.ListenOptions{}); err == nil {
		t.Error("a port in use is listened on")
	}
}
