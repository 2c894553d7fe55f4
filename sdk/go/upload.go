package skein

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/wire"
)

// Parts of an upload: one request each, that counts as a whole or not at all. A line that
// is cut gets shorter ones.
const (
	firstPart = 1 << 20
	leastPart = 64 << 10
	mostPart  = 8 << 20
	// sumBytes of the beginning and of the end tell one content from another.
	sumBytes = 64 << 10
	// stall is how long nothing may move; answerTime how long the server may look at what
	// it got before it answers.
	stall      = time.Minute
	answerTime = 5 * time.Minute
	// mostRefused is how often a part may be refused by its checksum, or an upload be gone
	// that was there, before that is the answer.
	mostRefused = 3
)

func (u *Upload) check() error {
	switch {
	case u.Body == nil:
		return wrongField("body", "is missing")
	case u.Size < 1:
		return wrongField("size", "must be at least 1 byte")
	case u.Duration < 0 || u.Duration.Milliseconds() >= 1<<32:
		return wrongField("duration", "must be from 0 to 49 days")
	case u.Width < 0 || u.Width > 1<<16:
		return wrongField("width", "must be from 0 to 65,536")
	case u.Height < 0 || u.Height > 1<<16:
		return wrongField("height", "must be from 0 to 65,536")
	case len(u.Waveform) > 100:
		return &Error{Code: wire.CodeTooLarge, Field: "waveform", Message: "waveform: has more than 100 loudnesses"}
	case !utf8.ValidString(u.Name):
		return wrongField("name", "is not valid UTF-8")
	case len(u.Name) > 2048: // the server tells more exactly
		return &Error{Code: wire.CodeTooLarge, Field: "name", Message: "name: is longer than 255 bytes"}
	}
	for _, b := range u.Waveform {
		if b > 100 {
			return wrongField("waveform", "must have loudnesses of 0 to 100")
		}
	}
	return nil
}

func wrongField(field, what string) error {
	return &Error{Code: wire.CodeInvalidArgument, Field: field, Message: field + ": " + what}
}

// uploading is one Upload under way.
type uploading struct {
	c     *Client
	u     *Upload
	base  string
	state UploadState
	// part is how long the next request is.
	part int64
	// refused counts checksums that were not those of the bytes, gone how often the server
	// had the upload no more.
	refused, gone int
}

// run goes on until the upload is complete: from wherever the server has it.
func (g *uploading) run(ctx context.Context) (*wire.Media, error) {
	var err error
	if g.base, err = g.c.baseURL(); err != nil {
		return nil, err
	}
	if err := g.begin(); err != nil {
		return nil, err
	}
	a := &attempts{c: g.c}
	for known, offset := false, int64(0); ; {
		switch {
		case g.state.ID == "":
			err = g.create(ctx, a)
			known, offset = err == nil, 0
		case !known:
			offset, err = g.ask(ctx, a)
			known = err == nil
		case offset < g.u.Size:
			var done int64
			if done, err = g.send(ctx, a, offset); err == nil {
				offset += done
			} else {
				known = false
			}
		default:
			var m *wire.Media
			if m, err = g.result(ctx, a); m != nil {
				g.tell(g.u.Size)
				return m, nil
			}
			known = err == nil
		}
		if err == nil {
			a.went()
			continue
		}
		if err = g.again(ctx, a, err); err != nil {
			return nil, err
		}
	}
}

// begin takes the state that is to be gone on with.
func (g *uploading) begin() error {
	sum, err := g.sum()
	if err != nil {
		return err
	}
	if r := g.u.Resume; r != nil && r.ID != "" {
		if r.Size != g.u.Size || r.Sum != sum {
			return ErrOtherContent
		}
		if !validMedia(r.ID) {
			return wrongField("resume.id", "must match [A-Z2-7]{26}")
		}
		g.state = *r
	}
	g.state.Size, g.state.Sum = g.u.Size, sum
	return nil
}

// sum tells a content from others.
func (g *uploading) sum() (string, error) {
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, g.u.Size) // a hash takes all
	n := min(g.u.Size, sumBytes)
	for _, at := range []int64{0, g.u.Size - n} {
		if err := g.hash(h, at, n); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hash reads n bytes at an offset, all of them.
func (g *uploading) hash(h io.Writer, at, n int64) error {
	read, err := io.Copy(h, io.NewSectionReader(g.u.Body, at, n))
	switch {
	case err != nil:
		return &contentError{fmt.Errorf("skein: upload: %w", err)}
	case read < n:
		return &contentError{fmt.Errorf("%w: at %d of %d bytes", ErrShortContent, at+read, g.u.Size)}
	}
	return nil
}

// contentError is of what is to be uploaded: another attempt does not help.
type contentError struct{ error }

func (e *contentError) Unwrap() error { return e.error }

// again waits until it may be tried again, or tells what the upload ends with.
func (g *uploading) again(ctx context.Context, a *attempts, err error) error {
	var status *answered
	var own *contentError
	if errors.As(err, &own) {
		return own.error
	}
	if errors.As(err, &status) && ctx.Err() == nil {
		switch {
		case status.status == statusChecksum: // a bit was lost, or the content is another one by now
			if g.refused++; g.refused < mostRefused {
				return nil
			}
			return status.error
		case errors.Is(err, ErrNotFound) && g.state.ID != "":
			// Its time was over; or the answer that told why it was refused did not come.
			if g.gone++; g.gone < mostRefused {
				g.state.ID = ""
				return nil
			}
			return status.error
		}
	}
	g.part = max(leastPart, g.part/2)
	return a.again(ctx, err)
}

// statusChecksum is tus's own: the bytes are not those of the checksum.
const statusChecksum = 460

func (g *uploading) tell(done int64) {
	if g.u.Progress != nil {
		g.u.Progress(done)
	}
}

// request makes one of tus, SPEC §13.2. id may be empty.
func (g *uploading) request(ctx context.Context, method, id string, body io.Reader) (*http.Request, error) {
	address := g.base + "/media/uploads"
	if id != "" {
		address += "/" + id
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, &contentError{fmt.Errorf("skein: upload: %w", err)}
	}
	r.Header.Set("Tus-Resumable", "1.0.0")
	return r, nil
}

// create begins an upload. One whose answer is lost stays empty, and is thrown away by the
// server.
func (g *uploading) create(ctx context.Context, a *attempts) error {
	rctx, _, end := watch(ctx)
	defer end()
	r, err := g.request(rctx, http.MethodPost, "", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Upload-Length", strconv.FormatInt(g.u.Size, 10))
	if said := g.metadata(); said != "" {
		r.Header.Set("Upload-Metadata", said)
	}
	resp, err := a.do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	id := path.Base(resp.Header.Get("Location"))
	if resp.StatusCode != http.StatusCreated || !validMedia(id) {
		return &contentError{fmt.Errorf("skein: upload: the server answered %s without an upload", resp.Status)}
	}
	g.state.ID = id
	if g.u.Save != nil {
		if err := g.u.Save(g.state); err != nil {
			return &contentError{fmt.Errorf("skein: upload: save its state: %w", err)}
		}
	}
	return nil
}

// metadata is what the user says of the upload.
func (g *uploading) metadata() string {
	var parts []string
	add := func(key string, value []byte) {
		if len(value) > 0 {
			parts = append(parts, key+" "+base64.StdEncoding.EncodeToString(value))
		}
	}
	number := func(key string, n int64) {
		if n > 0 {
			add(key, strconv.AppendInt(nil, n, 10))
		}
	}
	add("filename", []byte(g.u.Name))
	number("duration_ms", g.u.Duration.Milliseconds())
	number("width", int64(g.u.Width))
	number("height", int64(g.u.Height))
	add("waveform", g.u.Waveform)
	return strings.Join(parts, ",")
}

// ask tells how far the server has it.
func (g *uploading) ask(ctx context.Context, a *attempts) (int64, error) {
	rctx, _, end := watch(ctx)
	defer end()
	r, err := g.request(rctx, http.MethodHead, g.state.ID, nil)
	if err != nil {
		return 0, err
	}
	resp, err := a.do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	offset, err := strconv.ParseInt(resp.Header.Get("Upload-Offset"), 10, 64)
	if err != nil || offset < 0 || offset > g.u.Size {
		return 0, &contentError{fmt.Errorf("skein: upload: the server has %q of %d bytes", resp.Header.Get("Upload-Offset"), g.u.Size)}
	}
	g.tell(offset)
	return offset, nil
}

// send brings the next part, and tells how much of it the server has now: all.
func (g *uploading) send(ctx context.Context, a *attempts, offset int64) (int64, error) {
	n := min(g.part, g.u.Size-offset)
	if rest := g.u.Size - offset - n; rest < leastPart {
		n += rest
	}
	h := sha256.New()
	if err := g.hash(h, offset, n); err != nil {
		return 0, err
	}
	rctx, moved, end := watch(ctx)
	defer end()
	body := &telling{r: io.NewSectionReader(g.u.Body, offset, n), left: n, moved: moved, tell: func(done int64) { g.tell(offset + done) }}
	defer body.stop()
	r, err := g.request(rctx, http.MethodPatch, g.state.ID, io.NopCloser(body))
	if err != nil {
		return 0, err
	}
	r.ContentLength = n
	r.Header.Set("Content-Type", "application/offset+octet-stream")
	r.Header.Set("Upload-Offset", strconv.FormatInt(offset, 10))
	r.Header.Set("Upload-Checksum", "sha256 "+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	resp, err := a.do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.Header.Get("Upload-Offset") != strconv.FormatInt(offset+n, 10) {
		return 0, fmt.Errorf("skein: upload: the server has %q after %d bytes", resp.Header.Get("Upload-Offset"), offset+n)
	}
	g.part, g.refused = min(mostPart, 2*g.part), 0
	return n, nil
}

// result asks what a complete upload became; nil: the server looks at it yet.
func (g *uploading) result(ctx context.Context, a *attempts) (*wire.Media, error) {
	found, err := g.c.Media(ctx, &wire.MediaPlace{Id: g.state.ID})
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	if err := sleep(ctx, g.c.o.backoff(a.failed)); err != nil {
		return nil, err
	}
	_, err = g.ask(ctx, a) // it looks at it again, or tells that it is gone
	return nil, err
}

// telling tells how much of it was read, until it is stopped: a request that has failed may
// read on for a moment. Its lock is held while it reads and tells.
type telling struct {
	mu         sync.Mutex
	stopped    bool
	r          io.Reader
	done, left int64
	moved      func(time.Duration)
	tell       func(done int64)
}

func (t *telling) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return 0, io.ErrClosedPipe
	}
	n, err := t.r.Read(p)
	t.done += int64(n)
	t.left -= int64(n)
	if t.left <= 0 {
		t.moved(answerTime)
	} else {
		t.moved(stall)
	}
	if n > 0 {
		t.tell(t.done)
	}
	return n, err
}

func (t *telling) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}

// validMedia: [A-Z2-7]{26}, SPEC §13.
func validMedia(id string) bool {
	for i := range len(id) {
		if c := id[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return len(id) == 26
}
