package api

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
)

// The protocol of uploads (tus.io), as far as SPEC §13.2 has it.
const (
	tusVersion    = "1.0.0"
	tusExtensions = "creation,creation-with-upload,expiration,checksum,termination"
	tusType       = "application/offset+octet-stream"
	tusChecksums  = "sha1,sha256"
	// statusChecksum is tus's own: the bytes are not those of the checksum.
	statusChecksum = 460
	// maxName is how long a name is, maxMetadata all that is said of an upload.
	maxName     = 255
	maxMetadata = 4 << 10
	maxWaveform = 100
)

// tus serves uploads.
func (d *door) tus(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Tus-Resumable", tusVersion)
	method := r.Method
	if other := r.Header.Get("X-HTTP-Method-Override"); other != "" {
		method = other
	}
	if method == http.MethodOptions {
		h.Set("Tus-Version", tusVersion)
		h.Set("Tus-Extension", tusExtensions)
		h.Set("Tus-Checksum-Algorithm", tusChecksums)
		h.Set("Tus-Max-Size", strconv.FormatInt(d.o.Media.MaxBytes(), 10))
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	class := ClassWrite
	if method == http.MethodHead {
		class = ClassRead
	}
	// Nothing of the request is looked at for who may not upload.
	actor, err := d.admit(r.Context(), w, r, Method{Name: "uploads", Who: User, Class: class})
	if err != nil {
		return err
	}
	if r.Header.Get("Tus-Resumable") != tusVersion {
		h.Set("Tus-Version", tusVersion)
		return errStatus{http.StatusPreconditionFailed, im.Wrong("Tus-Resumable", "must be %s", tusVersion)}
	}
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, uploadsPath), "/")
	if id == "" {
		if method != http.MethodPost {
			return errMethod
		}
		return d.tusCreate(w, r, actor.User)
	}
	if !contract.ValidMedia(id) {
		return im.Errorf(im.CodeNotFound, "no such upload")
	}
	switch method {
	case http.MethodHead:
		u, err := d.o.Media.Of(r.Context(), actor.User, id)
		if err != nil {
			return err
		}
		h.Set("Upload-Length", strconv.FormatInt(lengthOf(&u), 10))
		tell(h, &u)
		w.WriteHeader(http.StatusOK)
		return nil
	case http.MethodPatch:
		return d.tusPatch(w, r, actor.User, id)
	case http.MethodDelete:
		if err := d.o.Media.Drop(r.Context(), actor.User, id); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return errMethod
}

// lengthOf is how long an upload is for who uploads it. A picture that was written anew has
// another length as it is kept.
func lengthOf(u *im.Upload) int64 {
	if u.Ready {
		return u.Received
	}
	return u.Size
}

// tell says how far an upload is.
func tell(h http.Header, u *im.Upload) {
	h.Set("Upload-Offset", strconv.FormatInt(u.Received, 10))
	if !u.Ready {
		h.Set("Upload-Expires", u.Expires.UTC().Format(http.TimeFormat))
	}
}

// tusCreate begins an upload, and takes what the request has of it.
func (d *door) tusCreate(w http.ResponseWriter, r *http.Request, user im.UserID) error {
	if r.Header.Get("Upload-Defer-Length") != "" {
		return im.Wrong("Upload-Defer-Length", "is not taken: say Upload-Length")
	}
	size, err := strconv.ParseInt(r.Header.Get("Upload-Length"), 10, 64)
	if err != nil {
		return im.Wrong("Upload-Length", "must be a number of bytes")
	}
	facts, err := metadata(r.Header.Get("Upload-Metadata"))
	if err != nil {
		return err
	}
	with := r.Header.Get("Content-Type") == tusType && r.ContentLength != 0
	var sum *media.Sum
	if with {
		if sum, err = checksum(r); err != nil {
			return err
		}
	}
	u, err := d.o.Media.Begin(r.Context(), user, size, facts)
	if err != nil {
		return err
	}
	id := u.ID
	if with {
		if u, err = d.o.Media.Write(r.Context(), user, id, 0, r.Body, sum); err != nil {
			// The answer names no upload, so nobody could go on with it, or end it.
			_ = d.o.Media.Drop(context.WithoutCancel(r.Context()), user, id)
			return tusError(err)
		}
	}
	w.Header().Set("Location", uploadsPath+"/"+id)
	tell(w.Header(), &u)
	w.WriteHeader(http.StatusCreated)
	return nil
}

// tusPatch goes on with an upload.
func (d *door) tusPatch(w http.ResponseWriter, r *http.Request, user im.UserID, id string) error {
	if r.Header.Get("Content-Type") != tusType {
		return errStatus{http.StatusUnsupportedMediaType, im.Wrong("Content-Type", "must be %s", tusType)}
	}
	offset, err := strconv.ParseInt(r.Header.Get("Upload-Offset"), 10, 64)
	if err != nil || offset < 0 {
		return im.Wrong("Upload-Offset", "must be a number of bytes")
	}
	sum, err := checksum(r)
	if err != nil {
		return err
	}
	u, err := d.o.Media.Write(r.Context(), user, id, offset, r.Body, sum)
	if err != nil {
		return tusError(err)
	}
	tell(w.Header(), &u)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func tusError(err error) error {
	if errors.Is(err, media.ErrChecksum) {
		return errStatus{statusChecksum, err}
	}
	return err
}

// checksum is what the request's bytes are checked by; nil: nothing.
func checksum(r *http.Request) (*media.Sum, error) {
	text := r.Header.Get("Upload-Checksum")
	if text == "" {
		return nil, nil
	}
	name, value, _ := strings.Cut(text, " ")
	var h hash.Hash
	switch name {
	case "sha1":
		h = sha1.New()
	case "sha256":
		h = sha256.New()
	default:
		return nil, im.Wrong("Upload-Checksum", "must be of one of %s", tusChecksums)
	}
	want, err := base64.StdEncoding.DecodeString(value)
	if err != nil || len(want) != h.Size() {
		return nil, im.Wrong("Upload-Checksum", "must be %d bytes as base64", h.Size())
	}
	return &media.Sum{Hash: h, Want: want}, nil
}

// metadata is what the uploader says of an upload: `key base64,key base64`. Of keys that
// nobody knows nothing is kept.
func metadata(text string) (f im.MediaFacts, err error) {
	if len(text) > maxMetadata {
		return f, im.TooLarge("Upload-Metadata", "has %d bytes; at most %d are allowed", len(text), maxMetadata)
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, encoded, _ := strings.Cut(part, " ")
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
		if err != nil {
			return f, im.Wrong("Upload-Metadata", "has a value of %.64q that is not base64", key)
		}
		if err := said1(&f, key, raw); err != nil {
			return f, err
		}
	}
	return f, nil
}

// said1 takes one key of what is said.
func said1(f *im.MediaFacts, key string, raw []byte) error {
	number := func(most uint64) (uint64, error) {
		n, err := strconv.ParseUint(string(raw), 10, 64)
		if err != nil || n > most {
			return 0, im.Wrong("Upload-Metadata."+key, "must be a number up to %d", most)
		}
		return n, nil
	}
	switch key {
	case "filename", "name":
		return fileName(f, string(raw))
	case "duration_ms":
		n, err := number(1<<32 - 1)
		f.Duration = time.Duration(n) * time.Millisecond
		return err
	case "width":
		n, err := number(1 << 16)
		f.Width = uint32(n)
		return err
	case "height":
		n, err := number(1 << 16)
		f.Height = uint32(n)
		return err
	case "waveform":
		if len(raw) > maxWaveform {
			return im.TooLarge("Upload-Metadata.waveform", "has %d bytes; at most %d are allowed", len(raw), maxWaveform)
		}
		for _, b := range raw {
			if b > 100 {
				return im.Wrong("Upload-Metadata.waveform", "must have loudnesses of 0 to 100")
			}
		}
		f.Waveform = raw
	}
	return nil
}

// fileName takes the name of a file, without the path that stands before it, and without
// what changes the direction of text: by that a program looks like a picture.
func fileName(f *im.MediaFacts, name string) error {
	if !utf8.ValidString(name) {
		return im.Wrong("Upload-Metadata.filename", "must be UTF-8")
	}
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, path.Base(strings.ReplaceAll(name, `\`, "/")))
	if name == "." || name == "/" || name == ".." {
		name = ""
	}
	if len(name) > maxName {
		return im.TooLarge("Upload-Metadata.filename", "has %d bytes; at most %d are allowed", len(name), maxName)
	}
	if name != "" {
		if err := contract.CheckText("filename", name, 1, maxName); err != nil {
			return im.In("Upload-Metadata", err)
		}
	}
	f.Name = name
	return nil
}
