package importing

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outward"
)

// file puts the file of a part into the media, and names it; nil: there is none, and that was
// counted.
func (x *step) file(ctx context.Context, s *saidBy, p *part) (*im.Upload, error) {
	f := p.file
	if f == nil {
		return nil, nil
	}
	u, why, err := x.w.upload(ctx, s.p.id, f)
	if err != nil {
		return nil, err
	}
	if why != "" {
		x.w.r.leave("file", why, 1)
		x.w.c.Problemf(s.Where, "the file %.200q is left out: %s", f.Name, why)
		return nil, nil
	}
	named, err := x.w.t.Directory.NameMedia(ctx, []string{u.ID}, im.MediaName{
		Conversation: x.v.id, Sender: s.p.id, ID: p.id, Hash: hashOf(p.id), CheckAt: x.w.t.Now().Add(checkAfter),
	}, false)
	if err != nil {
		return nil, err
	}
	x.count.Files++
	x.count.FileBytes += u.Size
	return &named[0], nil
}

// upload keeps a file as an upload of a user. why: it is left out.
func (w *writer) upload(ctx context.Context, owner im.UserID, f *File) (u im.Upload, why string, err error) {
	if w.t.Media == nil {
		return u, "this server takes no files", nil
	}
	r, size, err := w.openFile(ctx, f)
	var left *leftError
	switch {
	case errors.As(err, &left):
		return u, left.why, nil
	case err != nil:
		return u, "", err
	}
	defer r.Close()
	if size == 0 {
		return u, "it is empty", nil
	}
	u, err = w.t.Media.Begin(ctx, owner, size, im.MediaFacts{Name: fileName(f.Name)})
	if err == nil {
		u, err = w.t.Media.Write(ctx, owner, u.ID, 0, r, nil)
	}
	switch code := im.CodeOf(err); {
	case err == nil && !u.Ready:
		return u, "it is shorter than the export says", nil
	case err == nil:
		return u, "", nil
	case code == im.CodeTooLarge:
		return u, "it is larger than this server takes (media.max_bytes)", nil
	case code == im.CodeInfected:
		return u, "the scanner found something harmful in it", nil
	case code == im.CodeInvalidArgument:
		return u, "it is damaged", nil
	}
	return u, "", err
}

// leftError is why a file is left out.
type leftError struct{ why string }

func (e *leftError) Error() string { return e.why }

// openFile opens a file of the export, or fetches it.
func (w *writer) openFile(ctx context.Context, f *File) (io.ReadCloser, int64, error) {
	if f.Path != "" {
		r, size, err := w.from.Open(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
			err = &leftError{"it is not in the export"}
		case damaged(err):
			err = &leftError{"it is damaged"}
		}
		return r, size, err
	}
	if f.URL == "" || w.o.Fetch == nil {
		return nil, 0, &leftError{"it is not in the export"}
	}
	return w.o.Fetch.get(ctx, f.URL, w.t.Media.MaxBytes())
}

// fileName is a name of a file on one line.
func fileName(s string) string {
	return shownName(path.Base(strings.ReplaceAll(s, `\`, "/")), "file", 200)
}

// picture keeps a user's picture, and returns its id; "": there is none.
func (w *writer) picture(ctx context.Context, p *person) (string, error) {
	if p.Picture.Path == "" && (p.Picture.URL == "" || w.o.Fetch == nil) || w.t.Media == nil {
		return "", nil
	}
	f := p.Picture
	if f.Name = "picture"; f.Path != "" && !w.c.has(f.Path) {
		w.c.Problemf("user "+p.Key, "the picture %.200q is not in the export", f.Path)
		return "", nil
	}
	u, why, err := w.upload(ctx, p.id, &f)
	if err == nil && why == "" && !strings.HasPrefix(u.MIME, "image/") {
		why = "it is no picture"
	}
	if why != "" {
		w.c.Problemf("user "+p.Key, "the picture is left out: %s", why)
		return "", err
	}
	return u.ID, err
}

// Fetcher fetches files by the addresses that an export of Slack has for them.
type Fetcher struct {
	// Token is sent to Slack's own hosts, and to nobody else.
	Token string
	// Spool is a directory for what is fetched.
	Spool string
	// Client is for tests; nil: one that goes to public hosts of Slack alone.
	Client *http.Client
	// wait overrides how it is waited, for tests.
	wait func(context.Context, time.Duration) error
}

// outwardClient connects to public addresses alone, whatever a name comes to, and by no proxy.
func outwardClient() *http.Client {
	judge := &outward.Judge{Ports: []uint16{443}}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: judge.Control}
	return &http.Client{
		Timeout:   10 * time.Minute,
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 30 * time.Second, MaxIdleConnsPerHost: 4},
	}
}

// slackHost tells whether an address is where Slack has files and pictures, and whether the token goes
// there: it does not where pictures are.
func slackHost(u *url.URL) (ours, secret bool) {
	host := strings.ToLower(u.Hostname())
	secret = host == "slack.com" || strings.HasSuffix(host, ".slack.com")
	return u.Scheme == "https" && u.User == nil && u.Port() == "" && (secret || strings.HasSuffix(host, ".slack-edge.com")), secret
}

// get fetches a file of at most most bytes. What may be there later, or with another token, is a
// stopError: what is left out once is left out for ever.
func (f *Fetcher) get(ctx context.Context, address string, most int64) (io.ReadCloser, int64, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, 0, &leftError{"its address cannot be read"}
	}
	ours, secret := slackHost(u)
	if !ours {
		return nil, 0, &leftError{"its address is none of Slack's"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, 0, &leftError{"its address cannot be read"}
	}
	if secret && f.Token != "" {
		req.Header.Set("Authorization", "Bearer "+f.Token)
	}
	if f.Client == nil {
		f.Client = outwardClient()
	}
	client := *f.Client
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		ours, secret := slackHost(next.URL)
		if !ours || len(via) > 5 {
			return errElsewhere
		}
		if !secret {
			next.Header.Del("Authorization")
		}
		return nil
	}
	for try := 1; ; try++ {
		r, n, after, err := f.try(&client, req, most)
		var stop *stopError
		if !errors.As(err, &stop) || !stop.again || try == fetchTries || after > longestWait {
			return r, n, err
		}
		if after == 0 {
			after = time.Second << try
		}
		if err := f.pause(ctx, after); err != nil {
			return nil, 0, err
		}
	}
}

const (
	// fetchTries is how often a file is asked for, if that may help.
	fetchTries = 4
	// longestWait is how long is waited at most when Slack says how long.
	longestWait = 2 * time.Minute
)

var errElsewhere = errors.New("it leads elsewhere")

// stopError is why the import stops: the file may be there, and to leave it out would lose it. It
// never has the file's address, which lets whoever has it fetch the file.
type stopError struct {
	why   string
	again bool // it may help to ask again
}

func (e *stopError) Error() string {
	return "a file could not be fetched from Slack: " + e.why + "; without --fetch the import goes on without files"
}

func (f *Fetcher) pause(ctx context.Context, d time.Duration) error {
	if f.wait != nil {
		return f.wait(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// try asks once. after is how long Slack asks to wait before the next time, 0 if it does not say.
func (f *Fetcher) try(client *http.Client, req *http.Request, most int64) (_ io.ReadCloser, _ int64, after time.Duration, err error) {
	resp, err := client.Do(req)
	switch {
	case err != nil && req.Context().Err() != nil:
		return nil, 0, 0, req.Context().Err()
	case errors.Is(err, errElsewhere):
		return nil, 0, 0, &leftError{errElsewhere.Error()}
	case err != nil:
		return nil, 0, 0, &stopError{faultOf(err), true}
	}
	defer resp.Body.Close()
	switch code := resp.StatusCode; {
	case code == http.StatusForbidden || code == http.StatusNotFound || code == http.StatusGone:
		return nil, 0, 0, &leftError{fmt.Sprintf("Slack does not give it away (%d)", code)}
	case code == http.StatusUnauthorized || code == http.StatusOK && asksToLogIn(req, resp):
		return nil, 0, 0, &stopError{"Slack asks to log in; is the token in SKEIN_IMPORT_TOKEN right?", false}
	case code != http.StatusOK:
		if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
			after = time.Duration(seconds) * time.Second
		}
		return nil, 0, after, &stopError{fmt.Sprintf("it answers %d", code), code == http.StatusTooManyRequests || code >= 500}
	}
	r, n, err := f.keep(resp.Body, most)
	if err != nil && req.Context().Err() != nil {
		err = req.Context().Err()
	}
	return r, n, 0, err
}

// asksToLogIn tells whether an answer is Slack's page to log in, and not a file that is a page.
func asksToLogIn(req *http.Request, resp *http.Response) bool {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment") {
		return false
	}
	moved := resp.Request.URL.Path != req.URL.Path
	return moved || !strings.HasSuffix(req.URL.Path, ".html") && !strings.HasSuffix(req.URL.Path, ".htm")
}

// faultOf is what went wrong with a connection, in words that have no address of a file.
func faultOf(err error) string {
	var (
		op   *net.OpError
		name *net.DNSError
		cert *tls.CertificateVerificationError
		slow net.Error
	)
	switch {
	case errors.As(err, &op):
		return op.Error()
	case errors.As(err, &name):
		return name.Error()
	case errors.As(err, &cert):
		return cert.Error()
	case errors.As(err, &slow) && slow.Timeout():
		return "it took too long"
	}
	return "the connection broke, or the answer cannot be read"
}

// keep writes what is fetched aside, until it is closed.
func (f *Fetcher) keep(r io.Reader, most int64) (_ io.ReadCloser, _ int64, err error) {
	file, err := os.CreateTemp(f.Spool, "fetched-")
	if err != nil {
		return nil, 0, err
	}
	withoutName(file)
	t := &temporary{file}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	n, err := io.Copy(file, io.LimitReader(r, most+1))
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk):
		return nil, 0, err
	case err != nil:
		return nil, 0, &stopError{faultOf(err), true}
	case n > most:
		return nil, 0, &leftError{"it is larger than this server takes (media.max_bytes)"}
	}
	_, err = file.Seek(0, io.SeekStart)
	return t, n, err
}

type temporary struct{ *os.File }

func (t *temporary) Close() error { return closeAside(t.File) }
