package export

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
)

type place = media.Place

// wanted is an upload that is to be written.
type wanted struct {
	id string
	at place
}

// Why something was left out: the user may not have it any more, or the server does not
// have it, or not all of it, which makes the export not complete.
const (
	gone    = "gone"
	missing = "missing"
)

// want notes an upload that something names, once.
func (e *export) want(id string, at place) {
	if contract.ValidMedia(id) && !e.seen[id] {
		e.seen[id] = true
		e.wanted = append(e.wanted, wanted{id, at})
	}
}

// uploads writes those that were noted.
func (e *export) uploads() error {
	for _, w := range e.wanted {
		if err := e.step(); err != nil {
			return err
		}
		why, err := e.upload(w)
		if err != nil {
			return err
		}
		if why != "" {
			e.leftOut = append(e.leftOut, leftOut{Media: w.id, Conversation: string(w.at.Conversation), Seq: w.at.Seq, Why: why})
		}
	}
	e.wanted = e.wanted[:0]
	return nil
}

// upload writes one, or tells why it is left out.
func (e *export) upload(w wanted) (why string, err error) {
	if e.s.o.Media == nil {
		return missing, nil
	}
	var u im.Upload
	find := func(at place) error {
		return e.again(func() (err error) {
			u, err = e.s.o.Media.Find(e.ctx, e.t.User, w.id, at)
			return err
		})
	}
	if err = find(w.at); im.CodeOf(err) == im.CodeNotFound {
		err = find(place{}) // what this message may not give any more another one may
	}
	if im.CodeOf(err) == im.CodeNotFound || err == nil && !u.Ready {
		return gone, nil
	}
	if err != nil {
		return "", err
	}
	r, err := e.s.o.Media.Open(e.ctx, u, false, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return missing, nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close() // it is only read
	name := "media/" + w.id
	if safe := SafeName(u.Name); safe != "" {
		name += "-" + safe
	}
	e.stats.Media++
	err = e.part(name, zip.Store, e.begun, func() error { return e.copy(r, u.Size) })
	if errors.Is(err, errShort) { // what there is of it is written already
		return missing, nil
	}
	return "", err
}

// errShort: the bytes that the server has of an upload are not as many as it knows that there are.
var errShort = errors.New("the upload is damaged")

// copyAtOnce is how much of an upload is written between two looks whether the export may go on.
const copyAtOnce = 1 << 20

func (e *export) copy(r io.Reader, size int64) error {
	var done int64
	for {
		n, err := io.CopyN(e.w, r, copyAtOnce)
		done += n
		switch {
		case err == io.EOF && done != size:
			return errShort
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := e.step(); err != nil {
			return err
		}
	}
}

// maxSafe is how long a file's name in the zip is, besides its id.
const maxSafe = 100

// SafeName makes a name of an upload one that can be a file's anywhere: no path, no
// character that is not seen or turns the direction of text, none that a file system has a
// use of its own for, no dot or space at an end. Of what nothing is left it is empty.
func SafeName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, strings.ContainsRune(`/\:*?"<>|`, r):
			return '_'
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Co, r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, name)
	for len(name) > maxSafe { // the end says what it is
		_, n := utf8.DecodeRuneInString(name)
		name = name[n:]
	}
	return strings.Trim(name, ". ")
}
