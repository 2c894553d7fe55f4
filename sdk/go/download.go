package skein

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// DownloadOption changes what Download fetches.
type DownloadOption func(*download)

// Thumbnail fetches the small picture of an upload: a JPEG of at most 320 pixels a side.
// ErrNotFound: there is none (Media.Thumbnail tells).
func Thumbnail() DownloadOption { return func(d *download) { d.thumbnail = true } }

// Part fetches length bytes from offset on, 0: all the rest. Less comes where there is less,
// nothing where there is none. So a program goes on with what it fetched before.
func Part(offset, length int64) DownloadOption {
	return func(d *download) { d.offset, d.length = offset, length }
}

// OnProgress is called with how many bytes of how many were written, those before the Part
// among them.
func OnProgress(f func(done, total int64)) DownloadOption {
	return func(d *download) { d.progress = f }
}

// Download writes an upload to w and tells how many bytes it wrote. place is
// Message.MediaPlace, or the id alone. After a cut it goes on behind the last byte that it
// wrote, until ctx ends; each byte is written once, in order.
//
// An *Error is the server's refusal: ErrNotFound where it is not the user's to read, or not
// any more, or is no upload. An error of w is returned as it is. ErrNoBaseURL as of Upload.
func (c *Client) Download(ctx context.Context, place *wire.MediaPlace, w io.Writer, opts ...DownloadOption) (written int64, err error) {
	d := &download{c: c, w: w, length: 0}
	for _, o := range opts {
		o(d)
	}
	switch {
	case !validMedia(place.GetId()):
		return 0, wrongField("id", "must match [A-Z2-7]{26}")
	case place.GetConversation() != "" && kindOf(place.Conversation) == KindInvalid:
		return 0, wrongField("conversation", "is not a conversation")
	case place.GetConversation() != "" && place.Seq == 0:
		return 0, wrongField("seq", "is missing")
	case d.offset < 0:
		return 0, wrongField("offset", "must not be negative")
	case d.length < 0:
		return 0, wrongField("length", "must not be negative")
	}
	base, err := c.baseURL()
	if err != nil {
		return 0, err
	}
	d.address = base + "/media/" + place.Id
	if d.thumbnail {
		d.address += "/thumbnail"
	}
	if place.Conversation != "" {
		d.address += "?" + url.Values{"conversation": {place.Conversation}, "seq": {strconv.FormatUint(place.Seq, 10)}}.Encode()
	}
	ctx, end := c.web.begin(c, ctx)
	defer end()
	err = d.run(ctx)
	return d.done, err
}

// download is one Download under way.
type download struct {
	c              *Client
	w              io.Writer
	address        string
	thumbnail      bool
	offset, length int64 // length 0: all the rest
	progress       func(done, total int64)

	done int64
	etag string
}

func (d *download) run(ctx context.Context) error {
	a := &attempts{c: d.c}
	for {
		before := d.done
		over, err := d.fetch(ctx, a)
		if over {
			return err
		}
		if d.done > before {
			a.went()
		}
		if err := a.again(ctx, err); err != nil {
			return err
		}
	}
}

// fetch makes one request; over: there is no more to do, or what is wrong stays so.
func (d *download) fetch(ctx context.Context, a *attempts) (over bool, err error) {
	rctx, moved, end := watch(ctx)
	defer end()
	r, err := http.NewRequestWithContext(rctx, http.MethodGet, d.address, nil)
	if err != nil {
		return true, fmt.Errorf("skein: download: %w", err)
	}
	from := d.offset + d.done
	if from > 0 || d.length > 0 {
		last := ""
		if d.length > 0 {
			last = strconv.FormatInt(d.offset+d.length-1, 10)
		}
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%s", from, last))
	}
	if d.etag != "" {
		r.Header.Set("If-Match", d.etag)
	}
	resp, err := a.do(r)
	var status *answered
	switch {
	case errors.As(err, &status) && status.status == http.StatusRequestedRangeNotSatisfiable:
		return true, nil // there is no more
	case errors.As(err, &status) && status.status == http.StatusPreconditionFailed:
		return true, ErrOtherContent
	case err != nil:
		return false, err
	}
	defer resp.Body.Close()
	begin, end1, total, err := contentRange(resp)
	if err == nil && begin != from && resp.StatusCode == http.StatusPartialContent {
		err = fmt.Errorf("skein: download: asked from %d on, the server answered from %d on", from, begin)
	}
	if err != nil {
		return true, err
	}
	d.etag = resp.Header.Get("ETag")
	if resp.StatusCode == http.StatusOK { // all of it, whatever was asked for
		if _, err := io.CopyN(io.Discard, resp.Body, min(from, total)); err != nil {
			return false, err
		}
		end1 = total
		if d.length > 0 {
			end1 = min(total, d.offset+d.length)
		}
	}
	return d.copy(resp.Body, end1, total, moved)
}

// copy writes what comes, up to end.
func (d *download) copy(r io.Reader, end, total int64, moved func(time.Duration)) (over bool, err error) {
	buf := make([]byte, 32<<10)
	for at := d.offset + d.done; at < end; at = d.offset + d.done {
		n, err := r.Read(buf[:min(int64(len(buf)), end-at)])
		if n > 0 {
			moved(stall)
			wrote, err := d.w.Write(buf[:n])
			d.done += int64(wrote)
			if err == nil && wrote < n {
				err = io.ErrShortWrite
			}
			if err != nil {
				return true, err
			}
			if d.progress != nil {
				d.progress(d.offset+d.done, total)
			}
		}
		if err != nil && d.offset+d.done < end {
			return false, fmt.Errorf("skein: download: %w", err)
		}
	}
	return true, nil
}

// contentRange tells which bytes an answer has, from begin up to end, and how many there
// are in all.
func contentRange(resp *http.Response) (begin, end, total int64, err error) {
	if resp.StatusCode == http.StatusOK && resp.ContentLength >= 0 {
		return 0, resp.ContentLength, resp.ContentLength, nil
	}
	said, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	if n, _ := fmt.Sscanf(said, "%d-%d/%d", &begin, &end, &total); ok && n == 3 && begin <= end && end < total {
		return begin, end + 1, total, nil
	}
	return 0, 0, 0, fmt.Errorf("skein: download: the server answered %s, range %q", resp.Status, said)
}
