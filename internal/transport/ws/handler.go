package ws

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

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
	if !originAllowed(r, h.o.Origins) {
		http.Error(w, "this origin may not connect; see the server's list of allowed origins", http.StatusForbidden)
		return
	}
	codec, ok := chooseCodec(r.Header["Sec-Websocket-Protocol"], h.o.Codecs)
	if !ok {
		http.Error(w, string(wire.CodeCodecUnsupported)+": ask for one of the sub-protocols "+strings.Join(h.o.Codecs, ", "), wire.CodeCodecUnsupported.Info().HTTP)
		return
	}
	if c := h.upgrade(w, r, codec); c != nil {
		go h.serve(c)
	}
}

func (h *handler) upgrade(w http.ResponseWriter, r *http.Request, codec string) *conn {
	up := ws.HTTPUpgrader{
		Timeout:  h.o.Timeout(),
		Protocol: func(p string) bool { return p == codec },
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

// chooseCodec picks the server's favourite among those the client offers.
func chooseCodec(offers, codecs []string) (string, bool) {
	var offered []string
	for _, v := range offers {
		for part := range strings.SplitSeq(v, ",") {
			offered = append(offered, strings.TrimSpace(part))
		}
	}
	for _, c := range codecs {
		if slices.Contains(offered, c) {
			return c, true
		}
	}
	return "", false
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
	host, name := strings.ToLower(u.Host), strings.ToLower(u.Hostname())
	for _, p := range patterns {
		p = strings.ToLower(p)
		subject := name
		if hasPort(p) {
			subject = host
		}
		if ok, err := path.Match(p, subject); p == subject || err == nil && ok {
			return true
		}
	}
	return false
}

func hasPort(pattern string) bool {
	colon := strings.LastIndexByte(pattern, ':')
	return colon >= 0 && !strings.HasSuffix(pattern, "]")
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
