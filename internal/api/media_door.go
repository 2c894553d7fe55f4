package api

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/media/picture"
)

// Where media are: GET /media/<id> and its thumbnail, uploads at /media/uploads.
const (
	mediaPath     = "/media/"
	uploadsPath   = "/media/uploads"
	thumbnailPath = "/thumbnail"
)

// errStatus is an error with a status of HTTP of its own.
type errStatus struct {
	status int
	error
}

func (e errStatus) Unwrap() error { return e.error }

// media serves everything below /media/. Bytes take as long as they do, so it has limits of
// its own (slow).
func (d *door) media(w http.ResponseWriter, r *http.Request) {
	start := d.o.Now()
	secure(w.Header())
	if d.cors(w, r) {
		return
	}
	s := &slow{c: http.NewResponseController(w), start: time.Now(), wait: d.o.Timeout, r: r.Body, w: w}
	r.Body = io.NopCloser(readSlowly{s})
	name, serve := "media", d.fetch
	if r.URL.Path == uploadsPath || strings.HasPrefix(r.URL.Path, uploadsPath+"/") {
		name, serve = "uploads", d.tus
	}
	code := im.Code("ok")
	err := errNoMedia
	if d.o.Media != nil {
		if served := serve(writeSlowly{w, s}, r); served != nil {
			s.answers()
			code = d.failMedia(w, r, name, served)
		}
	} else {
		code = d.fail(w, r, name, statusOf(err), err)
	}
	d.metrics.observe(name, code, d.o.Now().Sub(start))
}

func (d *door) failMedia(w http.ResponseWriter, r *http.Request, name string, err error) im.Code {
	status := statusOf(err)
	if own, ok := err.(errStatus); ok {
		status = own.status
	}
	return d.fail(w, r, name, status, err)
}

// slow ends a connection whose peer sends, or takes, less than leastRate for long.
type slow struct {
	c     *http.ResponseController
	start time.Time
	wait  time.Duration
	bytes int64
	r     io.Reader
	w     io.Writer
}

// leastRate is how many bytes a second are to come, on average, after the first moment.
const leastRate = 1 << 10

// until is when what is done now has to be done: soon, and not later than the rate allows.
func (s *slow) until() time.Time {
	most := s.start.Add(2*s.wait + time.Duration(s.bytes/leastRate)*time.Second)
	if soon := time.Now().Add(s.wait); soon.Before(most) {
		return soon
	}
	return most
}

// answers gives the answer time of its own: a picture may have waited for others for long
// since the last byte of it came.
func (s *slow) answers() { _ = s.c.SetWriteDeadline(time.Now().Add(2 * s.wait)) }

type readSlowly struct{ *slow }

func (s readSlowly) Read(p []byte) (int, error) {
	_ = s.c.SetReadDeadline(s.until()) // writers without a connection have none
	n, err := s.r.Read(p)
	s.bytes += int64(n)
	_ = s.c.SetWriteDeadline(time.Now().Add(2 * s.wait))
	return n, err
}

type writeSlowly struct {
	http.ResponseWriter
	s *slow
}

func (w writeSlowly) WriteHeader(status int) {
	w.s.answers()
	w.ResponseWriter.WriteHeader(status)
}

func (w writeSlowly) Write(p []byte) (int, error) {
	_ = w.s.c.SetWriteDeadline(w.s.until())
	n, err := w.ResponseWriter.Write(p)
	w.s.bytes += int64(n)
	return n, err
}

// fetch answers GET and HEAD of an upload or its thumbnail.
func (d *door) fetch(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return errMethod
	}
	id, thumbnail := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, mediaPath), thumbnailPath)
	user, at, err := d.whoFetches(w, r, id, thumbnail)
	if err != nil {
		return err
	}
	if !contract.ValidMedia(id) {
		return im.Errorf(im.CodeNotFound, "no such upload")
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.o.Timeout)
	defer cancel()
	u, err := d.o.Media.Find(ctx, user, id, at)
	if err == nil && (!u.Ready || thumbnail && u.Thumbnail == "") {
		err = im.Errorf(im.CodeNotFound, "no such upload")
	}
	if err != nil {
		return err
	}
	return d.give(w, r, u, thumbnail)
}

// whoFetches is who asks, by their token or a link, and the message that they name.
func (d *door) whoFetches(w http.ResponseWriter, r *http.Request, id string, thumbnail bool) (u im.UserID, at media.Place, err error) {
	q := r.URL.Query()
	if c := q.Get("conversation"); c != "" {
		if at.Conversation, err = im.ParseConversationID(c); err != nil {
			return "", at, err
		}
		if at.Seq, err = strconv.ParseUint(q.Get("seq"), 10, 64); err != nil || at.Seq == 0 {
			return "", at, im.Wrong("seq", "must be a number from 1 on")
		}
	}
	m := Method{Name: "media", Who: User, Class: ClassRead}
	signature := q.Get("signature")
	if signature == "" || r.Header.Get("Authorization") != "" {
		actor, err := d.admit(r.Context(), w, r, m)
		return actor.User, at, err
	}
	until, err := strconv.ParseInt(q.Get("until"), 10, 64)
	user, notUser := im.ParseUserID(q.Get("user"))
	l := media.Link{User: user, Media: id, Thumbnail: thumbnail, At: at, Until: time.UnixMilli(until)}
	if err != nil || notUser != nil || !d.o.Media.Check(l, signature) {
		if quota, ok := d.o.Limiter.take(classFailure, addressKey(address(r, d.o.TrustedProxies))); !ok {
			return "", at, limited(quota)
		}
		return "", at, im.Errorf(im.CodeNotFound, "no such link, or its time is over")
	}
	if quota, ok := d.o.Limiter.admit(m.Class, im.Actor{User: user}); !ok {
		return "", at, limited(quota)
	}
	return user, at, nil
}

// maxRanges is how many parts of an upload one request gets; who asks for more gets all.
const maxRanges = 8

// give writes what was found.
func (d *door) give(w http.ResponseWriter, r *http.Request, u im.Upload, thumbnail bool) error {
	h := w.Header()
	kind, size, tag, shown := u.MIME, u.Size, u.Hash, picture.Shown(u.MIME)
	if thumbnail {
		kind, tag, shown = "image/jpeg", u.Thumbnail, true
	}
	first, err := d.o.Media.Open(r.Context(), u, thumbnail, 0)
	if err != nil {
		return err
	}
	s := &seeker{size: size, r: first, open: func(offset int64) (io.ReadCloser, error) {
		return d.o.Media.Open(r.Context(), u, thumbnail, offset)
	}}
	defer s.Close()
	if thumbnail { // small, and of a length that nobody noted
		all, err := io.ReadAll(first)
		if err != nil {
			return im.Wrap(err, im.CodeUnavailable, "the server cannot read the bytes now")
		}
		s.size, s.r, s.open = int64(len(all)), nil, func(offset int64) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(string(all[min(offset, int64(len(all))):]))), nil
		}
	}
	disposition := "attachment"
	if shown {
		disposition = "inline"
	}
	if u.Name != "" && !thumbnail {
		disposition = mime.FormatMediaType(disposition, map[string]string{"filename": u.Name})
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", disposition)
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	// Of another unit: RFC 9110 has it ignored, net/http refuses it.
	if ranges := r.Header.Get("Range"); strings.Count(ranges, ",") >= maxRanges || !strings.HasPrefix(ranges, "bytes=") {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, s)
	return nil
}

// seeker reads something that is opened at an offset.
type seeker struct {
	size, at int64
	r        io.ReadCloser // at the offset at; nil: not open
	open     func(offset int64) (io.ReadCloser, error)
}

func (s *seeker) Read(p []byte) (int, error) {
	if s.at >= s.size {
		return 0, io.EOF
	}
	if s.r == nil {
		r, err := s.open(s.at)
		if err != nil {
			return 0, err
		}
		s.r = r
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.size-s.at)])
	s.at += int64(n)
	return n, err
}

func (s *seeker) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("before the beginning: %d", offset)
	}
	if offset != s.at {
		s.Close()
		s.at = offset
	}
	return offset, nil
}

func (s *seeker) Close() {
	if s.r != nil {
		_ = s.r.Close() // it was only read
		s.r = nil
	}
}
