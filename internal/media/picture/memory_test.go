package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
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

// allocated is how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A picture that is a pixel wide, or high, and very long is made small within the memory that
// it waited for: its thumbnail does not take more than the picture.
func TestLongPictures(t *testing.T) {
	const long = 1 << 20
	for _, b := range []image.Rectangle{image.Rect(0, 0, 1, long), image.Rect(0, 0, long, 1)} {
		img := image.NewGray(b)
		for i := range img.Pix {
			img.Pix[i] = 200
		}
		var small *image.RGBA
		if n := allocated(func() { small = shrink(img) }); n > 12*long {
			t.Errorf("%v: %d bytes for a thumbnail", b.Max, n)
		}
		if w, h := small.Bounds().Dx(), small.Bounds().Dy(); max(w, h) != side || min(w, h) != 1 || small.Pix[4*(w*h/2)] != 200 {
			t.Errorf("%v: %d × %d, %v", b.Max, w, h, small.Pix[4*(w*h/2):][:4])
		}
	}
}

// progressiveJPEG is grey, n × n pixels, in one scan of what may be more.
func progressiveJPEG(n uint16) []byte {
	b := []byte("\xff\xd8\xff\xc2\x00\x11\x08")
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, n), n)
	b = append(b, "\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"...)
	b = append(append(b, "\xff\xc4\x00\x14\x00\x01"...), make([]byte, 16)...) // one code, of one bit: no difference
	b = append(b, "\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x00\x00"...)
	blocks := int(n/8) * int(n/8)
	return append(append(b, make([]byte, (3*blocks+7)/8)...), 0xff, 0xd9)
}

// A progressive JPEG takes more memory than others, and waits for as much.
func TestProgressiveJPEG(t *testing.T) {
	const n = 1024
	file := progressiveJPEG(n)
	var err error
	took := allocated(func() { _, err = jpeg.Decode(bytes.NewReader(file)) })
	if err != nil {
		t.Fatal(err)
	}
	if most := perPixel("image/jpeg", file) * n * n; took > most {
		t.Errorf("it takes %d bytes, and waits for %d", took, most)
	}
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, image.NewRGBA(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	if p := perPixel("image/jpeg", plain.Bytes()); p != 12 {
		t.Errorf("one that is not takes %d bytes a pixel", p)
	}
}
