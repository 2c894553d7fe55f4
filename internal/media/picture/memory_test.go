package picture

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// begun tells when something is read of it.
type begun struct {
	io.Reader
	n    *atomic.Int32
	seen bool
}

func (b *begun) Read(p []byte) (int, error) {
	if !b.seen {
		b.seen = true
		b.n.Add(1)
	}
	return b.Reader.Read(p)
}

// Pictures that wait for the decoder do not all lie in memory meanwhile: no more are read
// than have room, and who gives up makes room.
func TestFilesWaitOutside(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	size := int64(file.Len())
	synctest.Test(t, func(t *testing.T) {
		m := NewMaker(Options{Memory: 8 * size}) // room for two files
		if err := m.work.Acquire(t.Context(), m.forMaking); err != nil {
			t.Fatal(err)
		}
		var read atomic.Int32
		var made, failed atomic.Int32
		ctx, giveUp := context.WithCancel(t.Context())
		for i := range 10 {
			of := t.Context()
			if i < 2 {
				of = ctx
			}
			go func() {
				_, err := m.Make(of, "image/png", &begun{Reader: bytes.NewReader(file.Bytes()), n: &read}, size)
				if err != nil {
					failed.Add(1)
					return
				}
				made.Add(1)
			}()
		}
		synctest.Wait()
		if n := read.Load(); n != 2 {
			t.Errorf("%d files were read, there is room for 2", n)
		}
		giveUp()
		synctest.Wait()
		if n := failed.Load(); n != 2 {
			t.Errorf("%d gave up, 2 were told to", n)
		}
		m.work.Release(m.forMaking)
		synctest.Wait()
		if made.Load() != 8 {
			t.Errorf("%d were made, %d not", made.Load(), failed.Load())
		}
	})
}
