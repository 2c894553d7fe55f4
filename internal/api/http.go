package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/export"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/wire"
)

// HTTPOptions are the settings of the HTTP door. The zero value is usable.
type HTTPOptions struct {
	// Log gets what went wrong inside; nil means slog.Default().
	Log *slog.Logger
	// Now is the clock of the metrics; nil means time.Now.
	Now func() time.Time
	// Timeout bounds one request, reading it included; as much again is the time
	// to take the answer. Default 30 s.
	Timeout time.Duration
	// MaxPerAddress bounds the requests of one address that are served at a time.
	// Default 256; negative: no bound.
	MaxPerAddress int
	// TrustedProxies may name the client's address in X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// Origins are the web origins besides the server's own whose pages may call, as
	// patterns of wire.OriginMatches, as for connections. Default none.
	Origins []string
	// Limiter is the one that Calls takes from as well (Deps.Limiter). Default one
	// of the door's own, with the default limits.
	Limiter *Limiter
	// Credentials is the line of what checks passwords and tokens of people, which
	// connections share. Default one of the door's own.
	Credentials *limits.Logins
	// Media are the uploads whose bytes go by this door; nil: there are none.
	Media *media.Service
	// Export makes exports; nil: there are none.
	Export *export.Service
	// Web is the web app: it gets what no path of the door's own has, and passes on
	// to next what it does not know. nil: there is none, and / leads to /docs/.
	Web func(next http.Handler) http.Handler
	// Slow is how long a call takes at least that has a line in the log; nil or 0: none has.
	Slow func() time.Duration
	// Metrics gets the door's metrics; nil means none.
	Metrics prometheus.Registerer
}

// maxUserAgent bounds the client name that HTTP callers leave in the session list.
const maxUserAgent = 100

// door is the HTTP door. It holds no per-request state.
type door struct {
	logic   im.Logic
	o       HTTPOptions
	busy    busy
	methods map[string]Method
	metrics *doorMetrics
	// logins is the line of what checks passwords and tokens of people.
	logins *limits.Logins
}

// NewHTTP returns the HTTP door to logic: POST /api/skein.v1.<Service>/<Method>, /media/, /export,
// /api/openapi.json, /api/docs, /docs/, /claim, and the web app.
func NewHTTP(logic im.Logic, o HTTPOptions) http.Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxPerAddress == 0 {
		o.MaxPerAddress = 256
	}
	if o.Limiter == nil {
		o.Limiter = NewLimiter(LimiterOptions{})
	}
	if o.Credentials == nil {
		o.Credentials = limits.NewLogins(o.Now)
	}
	d := &door{
		logic: logic, o: o,
		methods: make(map[string]Method),
		metrics: newDoorMetrics(o.Metrics),
		logins:  o.Credentials,
	}
	for _, m := range Methods() {
		d.methods[m.Name] = m
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", d.call)
	d.pages(mux)
	var nothing http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.fail(w, r, "", http.StatusNotFound, im.Errorf(im.CodeNotFound, "there is nothing at this path"))
	})
	if d.o.Web != nil {
		nothing = d.o.Web(nothing)
	} else {
		// Somebody who opens the server's address finds something.
		mux.Handle("GET /{$}", http.RedirectHandler("/docs/", http.StatusFound))
	}
	mux.Handle("/", nothing)
	all := http.NewServeMux()
	all.Handle("/", compressed(mux))
	all.HandleFunc(mediaPath, d.media)
	all.HandleFunc(exportPath, d.export)
	return d.bounded(all)
}

// bounded holds every request to its time and its address's share: who sends or
// takes too slowly is cut off, and cannot make up for it in number.
func (d *door) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = withID(w, r)
		// Writers that have no connection, as in tests, have no deadlines and need none.
		now, c := time.Now(), http.NewResponseController(w)
		_ = c.SetReadDeadline(now.Add(d.o.Timeout))
		_ = c.SetWriteDeadline(now.Add(2 * d.o.Timeout))
		who := addressKey(address(r, d.o.TrustedProxies))
		if !d.busy.enter(who, d.o.MaxPerAddress) {
			err := im.Errorf(im.CodeRateLimited, "too many requests at the same time; at most %d", d.o.MaxPerAddress)
			err.RetryAfter = time.Second
			d.fail(w, r, "", statusOf(err), err)
			return
		}
		defer d.busy.leave(who)
		next.ServeHTTP(w, r)
	})
}

// call serves one method call.
func (d *door) call(w http.ResponseWriter, r *http.Request) {
	start := d.o.Now()
	secure(w.Header())
	if d.cors(w, r) {
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	m, ok := d.methods[name]
	code := im.Code("ok")
	actor, err := d.serve(w, r, name, m, ok)
	if err != nil {
		code = d.fail(w, r, m.Name, statusOf(err), err)
	}
	took := d.o.Now().Sub(start)
	d.metrics.observe(m.Name, code, took)
	logSlow(r.Context(), d.o.Log, d.o.Slow, "http", m.Name, took, code, actor.User)
}

// serve answers a method call, or returns the error to answer with, and who called.
func (d *door) serve(w http.ResponseWriter, r *http.Request, name string, m Method, known bool) (actor im.Actor, err error) {
	if !known {
		if strings.HasPrefix(name, "skein.") {
			return actor, im.Errorf(im.CodeUnimplemented, "this server has no such method")
		}
		return actor, im.Errorf(im.CodeNotFound, "there is nothing at this path; methods are at /api/skein.v1.<Service>/<Method>")
	}
	if r.Method != http.MethodPost {
		return actor, errMethod
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.o.Timeout)
	defer cancel()

	// Nothing of the request is looked at for who may not call the method.
	actor, err = d.admit(ctx, w, r, m)
	if err != nil {
		return actor, err
	}
	key, err := keyOf(r)
	if err != nil {
		return actor, err
	}
	form, err := formOf(r)
	if err != nil {
		return actor, err
	}
	payload, err := form.read(w, r, m)
	if err != nil {
		return actor, err
	}
	if err := d.o.Limiter.bytes(m.Class, actor, len(payload)); err != nil {
		return actor, err
	}
	answer, err := d.ask(ctx, actor, m, payload, key)
	if err != nil {
		return actor, late(m, err)
	}
	return actor, form.write(w, m, answer)
}

// ask asks logic. Who logs in waits in line for it, as those do who connect; whose password
// is hashed waits there, in a queue that is fair between networks: a slot of the line held
// meanwhile would be one that whoever guesses has taken from the others.
func (d *door) ask(ctx context.Context, actor im.Actor, m Method, payload []byte, key string) ([]byte, error) {
	if m.Class == ClassCredential && !hashes(m.Name) {
		leave, err := d.logins.Enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return d.logic.Call(ctx, actor, im.Call{Method: m.Name, Payload: payload, Key: key})
}

// admit finds out who calls, and whether they are the kind of caller the method
// is for and may call now.
func (d *door) admit(ctx context.Context, w http.ResponseWriter, r *http.Request, m Method) (im.Actor, error) {
	addr := address(r, d.o.TrustedProxies)
	actor := im.Actor{Address: addr.String()}
	token, err := bearer(r)
	if err != nil {
		return actor, err
	}
	if token != "" {
		actor, err = d.logic.Authenticate(ctx, im.Handshake{Token: token, Client: clientOf(r), Address: addr.String(), Request: im.RequestOf(ctx)})
		if err != nil {
			// An address that keeps coming with bad tokens is told to wait. Good ones
			// from behind the same address are not held up.
			if im.Public(err).Code.Info().Action == im.ActionLogin {
				if q, ok := d.o.Limiter.take(classFailure, addressKey(addr)); !ok {
					return actor, limited(q)
				}
			}
			return actor, err
		}
		actor.Address = addr.String()
	}
	q, ok := d.o.Limiter.admit(m.Class, actor)
	q.write(w.Header())
	if !ok {
		return actor, limited(q)
	}
	err = m.Who.allows(actor)
	if err != nil && m.Who >= Staff && actor.User != "" { // the audit log is where logic is
		_, _ = d.logic.Call(ctx, actor, im.Call{Method: refusedPrefix + m.Name})
	}
	return actor, err
}

// bearer returns the token of the request, "" if there is none.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", im.Errorf(im.CodeUnauthenticated, "Authorization must be given once, as: Bearer <access token>")
	}
	if len(token) > maxTokenBytes {
		return "", im.Errorf(im.CodeTokenInvalid, "the access token is longer than any of this server")
	}
	return token, nil
}

// keyOf returns the idempotency key of the request, "" if there is none. It may
// stand in quotation marks, as a string does in structured headers.
func keyOf(r *http.Request) (string, error) {
	values := r.Header.Values(IdempotencyHeader)
	if len(values) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(values[0])
	if unquoted, ok := strings.CutPrefix(key, `"`); ok {
		key = strings.TrimSuffix(unquoted, `"`)
	}
	if len(values) > 1 || key == "" {
		return "", im.Wrong("idempotencyKey", "must be given once, in the header %s", IdempotencyHeader)
	}
	return key, checkKey(key)
}

// clientOf names the calling program for the session list.
func clientOf(r *http.Request) string {
	ua := strings.ToValidUTF8(r.UserAgent(), "")
	ua = strings.Map(func(c rune) rune {
		if c < 0x20 || c == 0x7f {
			return -1
		}
		return c
	}, ua)
	if c := []rune(ua); len(c) > maxUserAgent {
		return string(c[:maxUserAgent])
	}
	return ua
}

// secure sets the headers every answer has.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// form is how a request is written: canonical JSON or protobuf. The answer
// comes in the same form.
type form struct{ json bool }

func formOf(r *http.Request) (form, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		return form{json: true}, nil
	case err == nil && kind == "application/proto":
		return form{}, nil
	}
	return form{}, im.Errorf(im.CodeCodecUnsupported, "Content-Type must be application/json or application/proto")
}

// jsonDepth bounds the nesting of JSON requests; no request has more than 5.
const jsonDepth = 32

// read reads the request and returns its protobuf encoding. JSON may take twice
// the bytes: bytes are base64 in it, and text may be escaped. The encoding has
// to keep the limit all the same.
func (f form) read(w http.ResponseWriter, r *http.Request, m Method) ([]byte, error) {
	most := m.MaxBytes
	if f.json {
		most = 2*m.MaxBytes + 1024
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(most)))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, im.Errorf(im.CodeTooLarge, "the request is too long; %s takes at most %d bytes in this form", m.Name, most)
	case err != nil:
		return nil, im.Wrap(err, im.CodeInvalidArgument, "the request did not arrive completely")
	}
	if !f.json {
		return body, nil
	}
	if len(body) == 0 {
		return nil, nil
	}
	method, ok := wire.LookupMethod(m.Name)
	if !ok {
		return nil, im.Errorf(im.CodeUnimplemented, "this server has no such method")
	}
	payload, err := method.RequestFromJSON(body, jsonDepth)
	if err != nil {
		return nil, contract.Unread(err)
	}
	return payload, nil
}

// write answers with the protobuf encoding of a response, in the form.
func (f form) write(w http.ResponseWriter, m Method, answer []byte) error {
	kind := "application/proto"
	if f.json {
		kind = "application/json"
		method, ok := wire.LookupMethod(m.Name)
		if !ok {
			return im.Errorf(im.CodeUnimplemented, "this server has no such method")
		}
		text, err := method.ResponseToJSON(answer)
		if err != nil {
			return im.Wrap(err, im.CodeInternal, "the server failed")
		}
		answer = text
	}
	w.Header().Set("Content-Type", kind)
	// Nobody is left to be told when the peer has gone away.
	_, _ = w.Write(answer)
	return nil
}
