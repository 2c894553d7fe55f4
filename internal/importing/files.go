package importing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
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
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			err = &leftError{"it is not in the export"}
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

// get fetches a file of at most most bytes.
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
			return errors.New("it leads elsewhere")
		}
		if !secret {
			next.Header.Del("Authorization")
		}
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, &leftError{"it could not be fetched: " + err.Error()}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, 0, &leftError{fmt.Sprintf("it could not be fetched: %s", resp.Status)}
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && !strings.HasSuffix(u.Path, ".html"):
		return nil, 0, &leftError{"it could not be fetched: Slack asks to log in; is the token right?"}
	}
	return f.keep(resp.Body, most)
}

// keep writes what is fetched aside, until it is closed.
func (f *Fetcher) keep(r io.Reader, most int64) (_ io.ReadCloser, _ int64, err error) {
	file, err := os.CreateTemp(f.Spool, "fetched-")
	if err != nil {
		return nil, 0, err
	}
	t := &temporary{file}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	n, err := io.Copy(file, io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, 0, &leftError{"it could not be fetched: " + err.Error()}
	case n > most:
		return nil, 0, &leftError{"it is larger than this server takes (media.max_bytes)"}
	}
	_, err = file.Seek(0, io.SeekStart)
	return t, n, err
}

type temporary struct{ *os.File }

func (t *temporary) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }
