package push

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outward"
)

const (
	// one is how long sending to a push service may take.
	one = 8 * time.Second
	// maxAnswer is how much of an answer is read, for the log.
	maxAnswer = 1 << 10
)

// newClient makes a client that connects where the judge lets it, and follows no redirect.
func newClient(j *outward.Judge) *http.Client {
	dialer := &net.Dialer{Timeout: one / 2, Control: j.Control}
	return &http.Client{
		Timeout:       one,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// No proxy of the environment: it would connect for this one, and judge nothing.
			Proxy: nil, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: one / 2, ResponseHeaderTimeout: one, MaxResponseHeaderBytes: 16 << 10,
			MaxIdleConns: 100, MaxIdleConnsPerHost: parallel, IdleConnTimeout: time.Minute,
		},
	}
}

func newTokens() cache.Cache[string, token] { return cache.New[string, token](mostServices) }

// answerError is an answer of a push service that is none of success.
type answerError struct {
	status int
	text   string
	// gone: there is no such subscription; final: it will be answered so again; after is how
	// long to wait at least.
	gone, final bool
	after       time.Duration
}

func (e *answerError) Error() string { return fmt.Sprintf("the answer is %d: %s", e.status, e.text) }

// send gives a payload to the push service of a device.
func (s *Service) send(ctx context.Context, w *im.PushWork, payload []byte, urgency string) error {
	u, err := url.Parse(w.Endpoint)
	if err != nil {
		return &answerError{text: "no address", final: true}
	}
	body, err := encrypt(payload, w.Point, w.Auth, s.o.Random)
	if err != nil {
		return &answerError{text: err.Error(), final: true}
	}
	authorization, err := s.keys.authorization(ctx, u)
	if err != nil {
		return err
	}
	to := s.services.enter(u.Host, s.o.Now())
	if to == nil {
		return errSilent
	}
	err = s.ask(ctx, w, body, authorization, urgency)
	s.services.leave(to, s.o.Now(), err)
	return err
}

// ask gives a body to the push service of a device.
func (s *Service) ask(ctx context.Context, w *im.PushWork, body []byte, authorization, urgency string) error {
	ctx, cancel := context.WithTimeout(ctx, one)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Endpoint, bytes.NewReader(body))
	if err != nil {
		return &answerError{text: "no address", final: true}
	}
	r.Header = http.Header{
		"Authorization": {authorization}, "Content-Encoding": {"aes128gcm"}, "Content-Type": {"application/octet-stream"},
		"Ttl": {strconv.Itoa(int(s.o.TTL.Seconds()))}, "Urgency": {urgency}, "Topic": {topic(w)}, "User-Agent": {"Skein"},
	}
	a, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode >= 200 && a.StatusCode < 300 {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	return &answerError{
		status: a.StatusCode, text: strconv.QuoteToASCII(string(text)),
		gone:  a.StatusCode == http.StatusNotFound || a.StatusCode == http.StatusGone,
		final: a.StatusCode < 500 && a.StatusCode != http.StatusTooManyRequests && a.StatusCode != http.StatusRequestTimeout,
		after: retryAfter(a.Header.Get("Retry-After"), s.o.Now()),
	}
}

// retryAfter is what a push service asks for, in seconds or as a date.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(min(n, 86400)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// topic has a push service keep the last push of a conversation alone. It tells nobody which
// that is: it is made with the subscription's secret.
func topic(w *im.PushWork) string {
	mac := hmac.New(sha256.New, w.Auth)
	mac.Write([]byte(w.Conversation))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24]) // 32 characters, the most there may be
}

func hostOf(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil {
		return u.Host
	}
	return ""
}

func portOf(u *url.URL) uint16 {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return uint16(n)
	}
	return 443
}
