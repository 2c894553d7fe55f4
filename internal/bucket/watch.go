package bucket

import (
	"context"
	"errors"
	"io"
	"time"
)

// Source is read at any place, by several requests at a time.
type Source interface {
	Read(p []byte) (int, error)
	ReadAt(p []byte, at int64) (int, error)
	Seek(offset int64, whence int) (int64, error)
}

// watch ends a request when nothing of it moves for a while.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	most   time.Duration
}

func (b *Bucket) watch(ctx context.Context) *watch {
	ctx, cancel := context.WithCancelCause(ctx)
	return &watch{ctx, cancel, time.AfterFunc(b.still, func() { cancel(ErrStill) }), b.still}
}

// moved is told of every byte. rest is while nobody asks for any.
func (w *watch) moved() { w.timer.Reset(w.most) }
func (w *watch) rest()  { w.timer.Stop() }

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// why is the reason of an error: that the store stood still says more than that the
// request was ended for it.
func (w *watch) why(err error) error {
	if err != nil && errors.Is(context.Cause(w.ctx), ErrStill) {
		return ErrStill
	}
	return err
}

// reads is a source whose reading shows that the store takes it.
func (w *watch) reads(s Source) Source { return &watched{s, w} }

type watched struct {
	Source
	w *watch
}

func (s *watched) Read(p []byte) (int, error) {
	s.w.moved()
	return s.Source.Read(p)
}

func (s *watched) ReadAt(p []byte, at int64) (int, error) {
	s.w.moved()
	return s.Source.ReadAt(p, at)
}

// reading is a value that is being read. Only who reads waits for the store.
type reading struct {
	io.ReadCloser
	w *watch
}

func (r *reading) Read(p []byte) (int, error) {
	r.w.moved()
	n, err := r.ReadCloser.Read(p)
	r.w.rest()
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.w.why(err)
	}
	return n, err
}

func (r *reading) Close() error {
	r.w.end()
	return r.ReadCloser.Close()
}
