package skein

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// UnreachedError is why no server was found at an address, in words for a person. What was
// seen there is Err.
type UnreachedError struct {
	// Address is where the server was looked for.
	Address string
	// Hint says what is wrong, or what to look at.
	Hint string
	Err  error
	// hopeless: waiting does not mend it.
	hopeless bool
}

func (e *UnreachedError) Error() string { return "skein: " + e.Address + ": " + e.Hint }
func (e *UnreachedError) Unwrap() error { return e.Err }

// statusError is an answer to a WebSocket's opening that is none of a Skein server's.
type statusError struct {
	status int
	said   string
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// httpToTLS is how Go's servers, and others, answer who speaks HTTP to a port with TLS.
const httpToTLS = "HTTP request to an HTTPS server"

// reaching says what is wrong with an address, if err is no server's refusal.
func reaching(u *url.URL, err error) error {
	var refused *Error
	var said *UnreachedError
	if errors.As(err, &refused) || errors.As(err, &said) {
		return err
	}
	e := &UnreachedError{Address: u.Redacted(), Err: err}
	e.Hint, e.hopeless = hint(u, err)
	return e
}

// hint is what is wrong, and whether waiting does not mend it.
func hint(u *url.URL, err error) (text string, hopeless bool) {
	var dns *net.DNSError
	var status *statusError
	var record tls.RecordHeaderError
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	secure, plain := map[string]string{"ws": "wss", "tcp": "tls", "http": "https"}[u.Scheme], map[string]string{"wss": "ws", "tls": "tcp", "https": "http"}[u.Scheme]
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no host " + dns.Name, true
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(err.Error(), "actively refused"): // as Windows says it
		return "nothing listens there: does the server run, and is this its port? The one for people is 8080 unless it was set", false
	case errors.As(err, &status) && strings.Contains(status.said, httpToTLS):
		return "that port speaks TLS: use " + secure + "://", true
	case errors.As(err, &status):
		return fmt.Sprintf("what answers there says %d %s: a Skein server has its connections at /ws and its calls at /api, on the public port", status.status, http.StatusText(status.status)),
			status.status < 500 && status.status != http.StatusTooManyRequests && status.status != http.StatusRequestTimeout
	case errors.As(err, &record):
		return "that port speaks no TLS: use " + plain + "://, if nobody can listen on the way", true
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "that port speaks no TLS: use " + plain + "://, if nobody can listen on the way", true
	case errors.As(err, &name), errors.As(err, &unknown), errors.As(err, &invalid):
		return "its certificate is not good for this address: " + err.Error(), true
	// readLoopPeekFailLocked is net/http's word where the other end spoke before it was asked.
	case strings.Contains(err.Error(), "malformed HTTP"), strings.Contains(err.Error(), "readLoopPeekFailLocked"), errors.Is(err, errForeign):
		return "what listens there speaks another protocol: is it the port for " + u.Scheme + "://?", true
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.ErrUnexpectedEOF):
		return "what listens there ends the connection: is it the port for " + u.Scheme + "://?", false
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "no answer: is the address right, and does a firewall let it through?", false
	}
	return err.Error(), false
}

// errForeign: what came is no message of this protocol.
var errForeign = errors.New("another protocol")

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// first waits for the first connection: until the server is found, for dialWithin; from
// then on as long as ctx says.
func (c *Client) first(ctx context.Context) error {
	done := make(chan error, 1)
	if err := c.do(ctx, func(k *core) { k.whenConnected(done) }); err != nil {
		return err
	}
	var over <-chan time.Time
	if c.o.dialWithin > 0 {
		timer := time.NewTimer(c.o.dialWithin)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-c.stopped:
			return c.end
		case <-over:
			var found bool
			var last error
			if err := c.do(ctx, func(k *core) { found, last = k.found, k.stateErr }); err != nil {
				return err
			}
			var refused *Error
			switch {
			case found, errors.As(last, &refused): // there is one, which says to wait
			case last == nil:
				return reaching(c.url, context.DeadlineExceeded)
			default:
				return last
			}
			over = nil
		}
	}
}
