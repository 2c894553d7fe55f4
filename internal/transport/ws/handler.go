package ws

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gobwas/ws"

	"github.com/skein-im/skein/wire"
)

// Handler upgrades requests to WebSocket connections and calls serve for each,
// in a goroutine of its own that outlives the request and holds nothing of it.
// The connection is serve's from the call on. Its address is the
// request's RemoteAddr, which a handler before this one may have set to what a
// trusted proxy says.
func Handler(o wire.ListenOptions, serve func(wire.Conn)) http.Handler {
	return &handler{o: o, serve: serve}
}

type handler struct {
	o     wire.ListenOptions
	serve func(wire.Conn)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !hasToken(r.Header["Connection"], "upgrade") || !hasToken(r.Header["Upgrade"], "websocket") {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		http.Error(w, "this address speaks WebSocket only", http.StatusUpgradeRequired)
		return
	}
	protocol, codec, refusal := h.judge(r)
	switch c := h.upgrade(w, r, protocol, codec); {
	case c == nil:
	case refusal != nil:
		c.refuse(refusal)
	default:
		go h.serve(c)
	}
}

// judge picks the sub-protocol that is answered and the codec. Who is refused is told
// why after the upgrade, in a frame and by the close code: a browser tells its page
// nothing of what is refused before. For the same reason the sub-protocol is always one
// that was offered, if any was.
func (h *handler) judge(r *http.Request) (protocol, codec string, refusal *wire.Error) {
	protocol, codec, ok := chooseCodec(r.Header["Sec-Websocket-Protocol"], h.o.Codecs)
	switch {
	case !originAllowed(r, h.o.Origins):
		refusal = wire.NewError(wire.CodeOriginRefused, "this origin may not connect; see the server's list of allowed origins")
	case !ok:
		refusal = wire.NewError(wire.CodeCodecUnsupported, "ask for one of the sub-protocols "+strings.Join(h.o.Codecs, ", "))
	}
	if refusal != nil && codec != wire.ProtobufName {
		codec = wire.JSONName
	}
	return protocol, codec, refusal
}

// refuse tells why the connection ends, and ends it.
func (c *conn) refuse(e *wire.Error) {
	codec := wire.JSON()
	if c.binary {
		codec = wire.Protobuf()
	}
	if frame, err := codec.Append(nil, wire.NewServerFrame(e)); err == nil {
		_ = c.Write(c.AppendMessage(nil, frame), time.Now().Add(time.Second)) // the peer may be gone
	}
	_ = c.Close(wire.Code(e.Code), e.Message)
}

func (h *handler) upgrade(w http.ResponseWriter, r *http.Request, protocol, codec string) *conn {
	up := ws.HTTPUpgrader{
		Timeout:  h.o.Timeout(),
		Protocol: func(p string) bool { return p == protocol },
	}
	var deflate extension
	if h.o.Deflate {
		up.Negotiate = deflate.negotiate
	}
	nc, rw, _, err := up.Upgrade(r, w)
	if err != nil {
		// The upgrader has answered with the reason.
		if nc != nil {
			_ = nc.Close()
		}
		return nil
	}
	// A client may send before it has the answer.
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		_ = nc.Close()
		return nil
	}
	c := newConn(nc, early, codec, h.o.Binary(codec), deflate.taken, h.o.Poller)
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		c.info.RemoteAddr = strings.Clone(host) // nothing of the request stays
	}
	return c
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// chooseCodec picks the server's favourite among those the client offers: sub-protocol
// and codec are the same then. Who offers none speaks JSON. If the server knows none of
// them the sub-protocol is the first one.
func chooseCodec(offers, codecs []string) (protocol, codec string, ok bool) {
	var offered []string
	for _, v := range offers {
		for part := range strings.SplitSeq(v, ",") {
			if p := strings.TrimSpace(part); p != "" {
				offered = append(offered, p)
			}
		}
	}
	for _, c := range codecs {
		if slices.Contains(offered, c) {
			return c, c, true
		}
	}
	if len(offered) > 0 {
		return offered[0], "", false
	}
	return "", wire.JSONName, slices.Contains(codecs, wire.JSONName)
}

// originAllowed keeps pages of other sites from using a visitor's browser.
// Programs that are no browsers send no Origin.
func originAllowed(r *http.Request, patterns []string) bool {
	values := r.Header["Origin"]
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	if slices.Contains(patterns, "*") {
		return true
	}
	u, err := url.Parse(values[0])
	if err != nil || u.Host == "" {
		return false
	}
	if strings.EqualFold(stripDefaultPort(u.Scheme, u.Host), stripDefaultPort(u.Scheme, r.Host)) {
		return true
	}
	return wire.OriginMatches(values[0], patterns)
}

func stripDefaultPort(scheme, host string) string {
	switch scheme {
	case "http", "ws":
		return strings.TrimSuffix(host, ":80")
	case "https", "wss":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}
