// Package transporttest is the conformance suite of transports: what
// wire.Transport and wire.Conn promise, tried from the other end of the wire.
// Every transport runs it. It knows no transport; a Subject tells how to listen
// and how a client's bytes look.
package transporttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// Subject is a transport under test.
type Subject struct {
	// Listen opens a listener on a free port of the loopback.
	Listen func(t *testing.T, o wire.ListenOptions) wire.Listener
	// Connect opens a connection and sends nothing yet.
	Connect func(t *testing.T, l wire.Listener) net.Conn
	// Handshake asks for the codec as a client does and waits for the answer where
	// there is one.
	Handshake func(nc net.Conn, codec string) (Peer, error)
	// TryWrites: TryWrite takes something.
	TryWrites bool
	// Codes: a close carries its code to the peer.
	Codes bool
	// Orderly: the end of the byte stream between two messages is an orderly end.
	Orderly bool
	// Parks: its connections are sockets of the operating system as they are.
	Parks bool
	// Announce returns the beginning of a message of this length.
	Announce func(length uint64) []byte
}

// Peer is the client's end of a connection, in bytes and in messages.
type Peer interface {
	net.Conn
	// Frame returns payload as one framed message.
	Frame(payload []byte) []byte
	// Next reads the next message. A close that carries a code is a *wire.CloseError.
	Next() ([]byte, error)
}

// Codecs are the two codecs every listener of the suite knows.
func Codecs() []wire.Codec { return []wire.Codec{wire.Protobuf(), wire.JSON()} }

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"echo of all sizes", echoSizes},
		{"many messages at once", manyAtOnce},
		{"byte by byte", byteByByte},
		{"cut off at every byte", cutOffEverywhere},
		{"too long", tooLong},
		{"announced but not sent", announced},
		{"garbage", garbage},
		{"slow reader", slowReader},
		{"what was written before the close arrives", closeAfterWrites},
		{"close wakes reader and writer", closeWakes},
		{"close from many goroutines", closeFromMany},
		{"unknown codec", unknownCodec},
		{"silence before the handshake", silence},
		{"closing the listener", closeListener},
		{"parking", parking},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

// server is a listener whose connections are handed to the test.
type server struct {
	wire.Listener
	s     Subject
	conns chan wire.Conn
	done  chan error
}

func serve(t *testing.T, s Subject, o wire.ListenOptions) *server {
	t.Helper()
	if o.HandshakeTimeout == 0 {
		o.HandshakeTimeout = 10 * time.Second
	}
	srv := &server{
		Listener: s.Listen(t, o.WithCodecs(Codecs()...)),
		s:        s,
		conns:    make(chan wire.Conn),
		done:     make(chan error, 1),
	}
	go func() { srv.done <- srv.Serve(func(c wire.Conn) { srv.conns <- c }) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-srv.done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return srv
}

// connect returns both ends of a new connection.
func (srv *server) connect(t *testing.T, codec string) (wire.Conn, Peer) {
	t.Helper()
	nc := srv.s.Connect(t, srv.Listener)
	peer, err := srv.s.Handshake(nc, codec)
	if err != nil {
		t.Fatal(err)
	}
	conn := <-srv.conns
	t.Cleanup(func() {
		_ = peer.Close()
		_ = conn.Close("", "")
	})
	if got := conn.Info().Codec; got != codec {
		t.Fatalf("codec %q, want %q", got, codec)
	}
	return conn, peer
}

// send writes all of p in the background: a transport may take less than that
// before the other end reads.
func send(t *testing.T, peer Peer, p []byte) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = peer.Write(p)
	}()
	t.Cleanup(func() { _ = peer.Close(); <-done })
}

func codeOf(err error) wire.Code {
	var ce *wire.CloseError
	if errors.As(err, &ce) {
		return ce.Code
	}
	return ""
}

// pattern returns n bytes of text that differ along the way.
func pattern(n int) []byte {
	b := make([]byte, 0, n+16)
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "%d ", i)
	}
	return b[:n]
}

// TLS returns the two sides' configurations with a certificate of its own.
func TLS(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: roots, ServerName: "localhost"}
}
