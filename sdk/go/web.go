package skein

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// web is how a client fetches and uploads: by HTTP, with the dialer and the TLS settings
// of its connection. Locks: mu, a leaf, around the http.Client.
type web struct {
	mu     sync.Mutex
	client *http.Client
	tokens chan struct{} // held by who asks for a token
}

// begin bounds an operation by the life of the client; end is called behind it.
func (w *web) begin(c *Client, ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		if c.ctx.Err() != nil {
			w.close()
		}
	}
}

func (w *web) use(c *Client) *http.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client == nil {
		tr := &http.Transport{TLSClientConfig: c.o.tls.Clone(), Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute, DisableCompression: true}
		if c.o.dial != nil {
			tr.DialContext = c.o.dial
		}
		w.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the token is for this server alone
		}}
	}
	return w.client
}

func (w *web) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client != nil {
		w.client.CloseIdleConnections()
	}
}

// baseURL is where the server's HTTP is: as the program said, or beside its WebSocket.
func (c *Client) baseURL() (string, error) {
	if c.o.baseURL != "" {
		return strings.TrimSuffix(c.o.baseURL, "/"), nil
	}
	scheme := map[string]string{"ws": "http", "wss": "https"}[c.url.Scheme]
	if scheme == "" {
		return "", ErrNoBaseURL
	}
	return scheme + "://" + c.url.Host + strings.TrimSuffix(strings.TrimSuffix(c.url.Path, "/"), "/ws"), nil
}

// attempts repeats requests of one operation that end in a passing way.
type attempts struct {
	c *Client
	// token is the one in use, rejected the last that was refused, rejections how many were.
	token, rejected string
	rejections      int
	// failed counts those that failed since one got something done, last is why.
	failed int
	last   error
}

// errStalled: nothing moved for long.
var errStalled = errors.New("skein: nothing came or went for too long")

// do makes a request once; a body of the answer, if it is no refusal, is the caller's to
// close. What the server refuses is an *Error.
func (a *attempts) do(r *http.Request) (*http.Response, error) {
	if a.token == "" {
		if err := a.askToken(r.Context()); err != nil {
			return nil, err
		}
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := a.c.web.use(a.c).Do(r)
	if err != nil {
		if cause := context.Cause(r.Context()); cause != nil {
			err = cause
		}
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	if e := httpError(resp); e != nil {
		return nil, &answered{resp.StatusCode, e}
	}
	if code, known := ofHead[resp.StatusCode]; known && r.Method == http.MethodHead {
		return nil, &answered{resp.StatusCode, &Error{Code: code, Message: "the server answered " + resp.Status}}
	}
	return nil, &answered{resp.StatusCode, fmt.Errorf("skein: the server answered %s", resp.Status)}
}

// ofHead are the codes of refusals that have no body to say so.
var ofHead = map[int]wire.Code{
	http.StatusUnauthorized: wire.CodeTokenExpired, http.StatusForbidden: wire.CodePermissionDenied, http.StatusNotFound: wire.CodeNotFound,
	http.StatusTooManyRequests: wire.CodeRateLimited, http.StatusNotImplemented: wire.CodeUnimplemented,
}

// answered is a refusal with its status.
type answered struct {
	status int
	error
}

func (a *answered) Unwrap() error { return a.error }

func (a *attempts) askToken(ctx context.Context) error {
	select {
	case a.c.web.tokens <- struct{}{}:
		defer func() { <-a.c.web.tokens }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t, err := a.c.o.token(context.WithValue(ctx, rejectedKey{}, a.rejected))
	if err != nil {
		return &tokenError{err}
	}
	a.token = t
	return nil
}

// again waits until what ended with err may be tried again; otherwise it returns what it
// ends with.
func (a *attempts) again(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return a.ended(ctx, err)
	}
	var e *Error
	var status *answered
	var certificate *tls.CertificateVerificationError
	wait := time.Duration(0)
	switch {
	case errors.As(err, &e):
		switch e.Action() {
		case wire.ActionRetry, wire.ActionReconnect:
			wait = e.RetryAfter
		case wire.ActionLogin:
			a.rejections++
			if a.c.o.staticToken || a.token == "" || a.rejections >= maxRejections {
				return e
			}
			a.rejected, a.token = a.token, ""
		default:
			return e
		}
	case errors.As(err, &status) && status.status < 500 && status.status != http.StatusTooManyRequests && status.status != http.StatusRequestTimeout:
		return status.error // somebody between says no
	case errors.As(err, &certificate):
		return err
	}
	a.last = err
	a.failed++
	if err := sleep(ctx, max(wait, a.c.o.backoff(a.failed-1))); err != nil {
		return a.ended(ctx, a.last)
	}
	return nil
}

// went notes that something got done.
func (a *attempts) went() { a.failed, a.rejections = 0, 0 }

func (a *attempts) ended(ctx context.Context, last error) error {
	err := context.Cause(ctx)
	if last == nil || errors.Is(last, err) {
		return err
	}
	return fmt.Errorf("%w (last attempt: %w)", err, last)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch ends a request when nothing moves for long. moved is told of what moves, and for
// how long nothing may move then.
func watch(ctx context.Context) (_ context.Context, moved func(patience time.Duration), end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(patience, func() { cancel(errStalled) })
	return ctx, func(d time.Duration) { t.Reset(d) }, func() { t.Stop(); cancel(nil) }
}
