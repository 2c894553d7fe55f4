package preview

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/outward"
)

const (
	// maxRedirects is how often a site may send the server elsewhere.
	maxRedirects = 5
	// one is how long a fetch may take, and begin how long its head.
	one, begin = 8 * time.Second, 5 * time.Second
	// maxHeader is how long the header of an answer may be, maxPage how much of a page is
	// read, packed and unpacked; a picture that is longer than maxPicture is none.
	maxHeader  = 64 << 10
	maxPage    = 512 << 10
	maxPicture = 5 << 20
	// maxURL is how long an address may be that a site sends the server to.
	maxURL = 4000
)

var (
	errNothing = errors.New("there is nothing to show")
	errLarge   = errors.New("it is too large")
)

// fetcher gets what an address leads to, within bounds.
type fetcher struct {
	agent  string
	client *http.Client
	dialer *net.Dialer
	judge  *outward.Judge
	now    func() time.Time

	mu    sync.Mutex
	hosts cache.Cache[string, *bucket]
	all   bucket
}

func newFetcher(allow, deny []netip.Prefix, agent string) *fetcher {
	f := &fetcher{agent: agent, judge: &outward.Judge{Allow: allow, Deny: deny, Ports: []uint16{80, 443}, Denied: "previews.deny"}, now: time.Now, hosts: cache.New[string, *bucket](mostBuckets)}
	f.dialer = &net.Dialer{Timeout: begin, Control: f.judge.Control}
	f.client = &http.Client{
		Timeout:       one,
		CheckRedirect: f.redirected,
		Transport: &http.Transport{
			// No proxy of the environment: it would connect for this one, and judge nothing.
			Proxy: nil, DialContext: f.dialer.DialContext,
			TLSHandshakeTimeout: begin, ResponseHeaderTimeout: begin, MaxResponseHeaderBytes: maxHeader,
			DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: false,
		},
	}
	return f
}

// check tells whether an address is one that is fetched, as far as that can be told before
// its name is looked up, and as often as may be.
func (f *fetcher) check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is not fetched", u.Scheme)
	case u.User != nil:
		return errors.New("there are credentials in the address")
	case u.Hostname() == "" || len(u.String()) > maxURL:
		return errors.New("the address has no host, or is too long")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !bucketOf(&f.hosts, strings.ToLower(u.Hostname())).take(f.now(), hostRate, hostBurst) || !f.all.take(f.now(), allRate, allBurst) {
		return errors.New("too much is fetched")
	}
	return nil
}

func (f *fetcher) redirected(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("it leads from one address to the next")
	}
	r.Header.Del("Referer")
	return f.check(r.URL)
}

// got is what came.
type got struct {
	body    []byte
	kind    string // the Content-Type, as it was said
	at      *url.URL
	picture bool // it is said to be one
}

// get fetches an address: a page, or a picture.
func (f *fetcher) get(ctx context.Context, address, accept string) (*got, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if err := f.check(u); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", f.agent)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", "gzip")
	a, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", a.Status)
	}
	out := &got{kind: a.Header.Get("Content-Type"), at: a.Request.URL}
	kind, _, err := mime.ParseMediaType(out.kind)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		out.body, err = read(a, maxPage)
		if errors.Is(err, errLarge) {
			err = nil // its head is at its beginning
		}
	case strings.HasPrefix(kind, "image/"):
		out.picture = true
		out.body, err = read(a, maxPicture)
	default:
		err = fmt.Errorf("%s is nothing to show", kind)
	}
	return out, err
}

// read reads at most so many bytes, as they come and unpacked. errLarge: there are more.
func read(a *http.Response, most int64) ([]byte, error) {
	packed := &io.LimitedReader{R: a.Body, N: most + 1}
	r := io.Reader(packed)
	switch strings.ToLower(a.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, err
		}
		r = z
	default:
		return nil, fmt.Errorf("%q is a packing that nobody asked for", a.Header.Get("Content-Encoding"))
	}
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case int64(len(b)) > most:
		return b[:most], errLarge
	case err != nil && packed.N <= 0: // cut off here
		return b, errLarge
	}
	return b, err
}
