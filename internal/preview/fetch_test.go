package preview

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// hidden is a server on this machine that nobody may reach, and how often somebody did.
func hidden(t *testing.T) (port string, reached *atomic.Int64) {
	t.Helper()
	reached = new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>secret</title>")
	}))
	s.Config.ConnState = func(_ net.Conn, c http.ConnState) {
		if c == http.StateNew {
			reached.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL[strings.LastIndex(s.URL, ":")+1:], reached
}

// spellings are ways to write this machine's address.
func spellings(port string) (all []string) {
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "017700000001", "127.000.000.001", "0", "0.0.0.0",
		"localhost", "LOCALHOST", "localhost.", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
		"①②⑦.⓪.⓪.①", "127。0。0。1", "%6c%6f%63%61%6c%68%6f%73%74",
	} {
		all = append(all, "http://"+host+":"+port+"/", "https://"+host+":"+port+"/")
	}
	return all
}

func fetcherFor(t *testing.T, allow ...netip.Prefix) *fetcher {
	f := newFetcher(allow, nil, "test")
	ticks := new(atomic.Int64)
	f.now = func() time.Time { return time.Time{}.Add(time.Duration(ticks.Add(1)) * time.Hour) } // rates are another test's
	t.Cleanup(f.client.CloseIdleConnections)
	return f
}

// However this machine is written, it is not reached, neither at once nor by a redirect of
// a site that may be, of every kind.
func TestNoSpellingReachesThisMachine(t *testing.T) {
	port, reached := hidden(t)
	f := fetcherFor(t)
	for _, s := range spellings(port) {
		if g, err := f.get(t.Context(), s, "*/*"); err == nil {
			t.Errorf("%s: %s", s, g.body)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Fatalf("this machine was reached %d times", n)
	}
	// The site that redirects is on an address that is allowed alone; what it leads to is not.
	var to string
	site := siteAt(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		code := map[string]int{"/301": 301, "/302": 302, "/303": 303, "/307": 307, "/308": 308}[r.URL.Path]
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	})
	f = fetcherFor(t, netip.MustParsePrefix("127.0.0.2/32"))
	for _, s := range append(spellings(port), "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:"+port+"/_", "http://user:pass@127.0.0.2/", "//127.0.0.1:"+port+"/", "data:text/html,<title>x</title>", "javascript:1") {
		to = s
		for _, code := range []string{"/301", "/302", "/303", "/307", "/308"} {
			if g, err := f.get(t.Context(), site+code, "*/*"); err == nil {
				t.Errorf("%s to %s: %s", code, s, g.body)
			}
		}
	}
	if n := reached.Load(); n != 0 {
		t.Fatalf("by redirects this machine was reached %d times", n)
	}
}

func siteAt(t *testing.T, addr string, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// names answers every question for an address with what the name says, one after the
// other: a name that means another address each time.
func names(t *testing.T, answer func(n int64) netip.Addr) (*net.Resolver, *atomic.Int64) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	asked := new(atomic.Int64)
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil {
				continue
			}
			m.Response, m.Authoritative, m.Additionals = true, true, nil
			q := m.Questions[0]
			if q.Type == dnsmessage.TypeA {
				a := answer(asked.Add(1))
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}, Body: &dnsmessage.AResource{A: a.As4()}}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = c.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", c.LocalAddr().String())
	}}, asked
}

// A name that means this machine is refused, also one that meant something else the
// question before.
func TestHostileNames(t *testing.T) {
	port, reached := hidden(t)
	allowed := siteAt(t, "127.0.0.2:"+port, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>fine</title>")
	})
	_ = allowed
	for what, answer := range map[string]func(n int64) netip.Addr{
		"this machine": func(int64) netip.Addr { return netip.MustParseAddr("127.0.0.1") },
		"metadata":     func(int64) netip.Addr { return netip.MustParseAddr("169.254.169.254") },
		"rebinding": func(n int64) netip.Addr {
			if n%2 == 1 {
				return netip.MustParseAddr("127.0.0.2")
			}
			return netip.MustParseAddr("127.0.0.1")
		},
	} {
		f := fetcherFor(t, netip.MustParsePrefix("127.0.0.2/32"))
		var asked *atomic.Int64
		f.dialer.Resolver, asked = names(t, answer)
		fine := 0
		for range 6 {
			g, err := f.get(t.Context(), "http://site.example:"+port+"/", "*/*")
			if err == nil {
				if fine++; string(g.body) != "<title>fine</title>" {
					t.Errorf("%s: %s", what, g.body)
				}
			}
		}
		if asked.Load() == 0 || (fine > 0) != (what == "rebinding") {
			t.Errorf("%s: %d of 6 were fetched, after %d questions", what, fine, asked.Load())
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("by names this machine was reached %d times", n)
	}
}

// forever writes the same until nobody reads it any more.
func forever(w http.ResponseWriter, r *http.Request, b []byte) {
	for r.Context().Err() == nil {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

// hostile is a site that does what none should.
func hostile(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html")
	switch r.URL.Path {
	case "/endless":
		io.WriteString(w, "<title>endless</title>")
		forever(w, r, make([]byte, 4096))
	case "/endless-picture":
		h.Set("Content-Type", "image/png")
		forever(w, r, make([]byte, 4096))
	case "/slow":
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "/silent":
		<-r.Context().Done()
	case "/bomb":
		h.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "<title>bomb</title>")
		for range 8 { // 8 MiB of zeros
			if _, err := z.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
		z.Close()
	case "/picture-bomb":
		h.Set("Content-Type", "image/png")
		h.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 8 {
			if _, err := z.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
		z.Close()
	case "/empty-blocks": // packed bytes that unpack to nothing
		h.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for r.Context().Err() == nil {
			if z.Flush() != nil {
				return
			}
		}
	case "/broken-gzip":
		h.Set("Content-Encoding", "gzip")
		io.WriteString(w, "<title>not packed</title>")
	case "/brotli":
		h.Set("Content-Encoding", "br")
		io.WriteString(w, "<title>packed</title>")
	case "/huge-header":
		h.Set("X-Huge", strings.Repeat("a", maxHeader+1))
	case "/many-headers":
		for i := range 20_000 {
			h.Set(fmt.Sprint("X-Many-", i), "a")
		}
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/far":
		var n int
		fmt.Sscan(r.URL.RawQuery, &n)
		http.Redirect(w, r, fmt.Sprint("/far?", n+1), http.StatusFound)
	case "/long":
		http.Redirect(w, r, "/"+strings.Repeat("a", maxURL), http.StatusFound)
	case "/json":
		h.Set("Content-Type", "application/json")
	case "/no-type":
		h["Content-Type"] = nil
	case "/gone":
		w.WriteHeader(http.StatusGone)
	}
}

// What comes is bounded, whatever the site does, and nothing is kept of what is too much.
func TestHostileSites(t *testing.T) {
	var requests atomic.Int64
	site := siteAt(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		hostile(w, r)
	})
	f := fetcherFor(t, loopback...)
	f.client.Timeout = time.Minute // of those that do not let it wait
	for path, want := range map[string]string{"/endless": "<title>endless</title>", "/bomb": "<title>bomb</title>"} {
		g, err := f.get(t.Context(), site+path, "*/*")
		if err != nil || len(g.body) != maxPage || !strings.HasPrefix(string(g.body), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{
		"/endless-picture", "/slow", "/silent", "/picture-bomb", "/broken-gzip", "/brotli", "/huge-header", "/many-headers", "/loop", "/far?0", "/long", "/json", "/no-type", "/gone",
	} {
		requests.Store(0)
		if path == "/slow" || path == "/silent" {
			f.client.Timeout = 500 * time.Millisecond
		} else {
			f.client.Timeout = time.Minute
		}
		g, err := f.get(t.Context(), site+path, "*/*")
		if err == nil {
			t.Errorf("%s: %d bytes", path, len(g.body))
		}
		if n := requests.Load(); n > maxRedirects+1 {
			t.Errorf("%s: %d requests", path, n)
		}
	}
	f.client.Timeout = time.Minute
	if g, err := f.get(t.Context(), site+"/empty-blocks", "*/*"); err == nil && len(g.body) > maxPage {
		t.Errorf("blocks without anything: %d bytes", len(g.body))
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// Of what unpacks to very much no more is unpacked than is kept.
func TestUnpackedIsBounded(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 64 {
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	all := b.Len()
	from := &counted{Reader: &b}
	got, err := read(&http.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: io.NopCloser(from)}, maxPage)
	if !errors.Is(err, errLarge) || len(got) != maxPage || from.n > all/4 {
		t.Errorf("%d bytes of %d packed ones, %v", len(got), from.n, err)
	}
}

// The site learns who asks for what, and nothing else.
func TestNothingElseIsSent(t *testing.T) {
	var heads []http.Header
	var first string
	site := siteAt(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		heads = append(heads, r.Header.Clone())
		w.Header().Set("Set-Cookie", "who=me; Path=/")
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b?secret", http.StatusFound)
		}
	})
	first = site + "/a?token"
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1/")
	f := fetcherFor(t, loopback...)
	for range 2 {
		if _, err := f.get(t.Context(), first, "text/html"); err != nil {
			t.Fatal(err)
		}
	}
	if len(heads) != 4 {
		t.Fatalf("%d requests", len(heads))
	}
	for _, h := range heads {
		for _, name := range []string{"User-Agent", "Accept", "Accept-Encoding", "Connection"} {
			if h.Get(name) == "" {
				t.Errorf("no %s", name)
			}
			h.Del(name)
		}
		if len(h) != 0 {
			t.Errorf("it sent %v", h)
		}
	}
	u, _ := url.Parse("http://user:pass@site.example/")
	if f.check(u) == nil {
		t.Error("credentials are sent")
	}
}

// A host is not asked more often than may be, whoever asks by whichever address.
func TestHostsAreSpared(t *testing.T) {
	var n atomic.Int64
	site := siteAt(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, fmt.Sprint("/", n.Load()), http.StatusFound)
	})
	f := newFetcher(loopback, nil, "test")
	at := time.Unix(1000, 0)
	f.now = func() time.Time { return at }
	for range 2 * hostBurst {
		_, _ = f.get(t.Context(), site, "*/*")
	}
	if got := n.Load(); got != hostBurst {
		t.Errorf("%d requests at once", got)
	}
	at = at.Add(3 * time.Second)
	for range hostBurst {
		_, _ = f.get(t.Context(), site, "*/*")
	}
	if got := n.Load(); got != hostBurst+3*hostRate {
		t.Errorf("%d requests 3 s later", got)
	}
}

// A proxy of the environment would connect in the place of who judges the address.
func TestNoProxy(t *testing.T) {
	if newFetcher(nil, nil, "").client.Transport.(*http.Transport).Proxy != nil {
		t.Error("pages are fetched by a proxy")
	}
}
