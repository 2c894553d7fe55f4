package media

import (
	"context"
	"errors"
	"io"
	"sort"

	"github.com/skein-im/skein/internal/im"
)

// windowBytes is how much is read at a time where an upload is looked at here and there.
const windowBytes = 64 << 10

// window reads pieces anywhere.
type window struct {
	ctx    context.Context
	store  Store
	pieces []im.MediaPiece // one behind the other, none is empty
	at     int64           // where b begins
	b      []byte          // what was read last
	all    [windowBytes]byte
}

// ReadAt is io.ReaderAt's, but for one caller at a time.
func (w *window) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		from := at + int64(n)
		if from < w.at || from >= w.at+int64(len(w.b)) {
			if err := w.open(from); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], w.b[from-w.at:])
	}
	return n, nil
}

// open reads what of a piece begins at an offset, io.EOF if nothing does.
func (w *window) open(at int64) error {
	w.b = nil
	i := sort.Search(len(w.pieces), func(i int) bool { return w.pieces[i].Start+w.pieces[i].Size > at })
	if i == len(w.pieces) || w.pieces[i].Start > at {
		return io.EOF
	}
	p := w.pieces[i]
	r, err := w.store.Get(w.ctx, p.Blob, at-p.Start)
	if err != nil {
		return err
	}
	b := w.all[:min(windowBytes, p.Start+p.Size-at)]
	_, err = io.ReadFull(r, b)
	if err = errors.Join(err, r.Close()); err == nil {
		w.at, w.b = at, b
	}
	return err
}
