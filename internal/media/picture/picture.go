// Package picture looks at what was uploaded: what it is, by its first bytes, and of
// pictures how large they are, a form of them that says nothing but the picture, a small
// one, and a blurhash.
//
// It knows neither who uploaded it nor where it is kept.
//
// Goroutines: none. Locks: none but the semaphores of a Maker, which bound the memory of
// all that are looked at at a time, and how many are decoded.
//
// Invariants:
//   - nothing is decoded before its size is known and allowed: a picture that is small as
//     a file and huge in memory costs its first bytes;
//   - what the result says of a picture is of the picture alone: no EXIF, no XMP, no
//     comments, nothing behind its end;
//   - a picture that begins as one and cannot be decoded is refused (ErrBroken), never
//     passed on as something else.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
	"golang.org/x/sync/semaphore"
)

// ErrBroken: it begins as a picture and is none. ErrLarge: it is larger than allowed.
var (
	ErrBroken = errors.New("the picture cannot be decoded")
	ErrLarge  = errors.New("the picture is too large")
)

const (
	// side is how wide and how high a thumbnail is at most.
	side = 320
	// The qualities in which JPEGs are written: what is shown large, and small.
	quality, smallQuality = 90, 78
)

// Options are the bounds of a Maker.
type Options struct {
	// MaxPixels is how many pixels a picture may have. Default 40 million.
	MaxPixels int64
	// MaxBytes is how long a picture may be as a file. Default 32 MiB.
	MaxBytes int64
	// Memory is how much all pictures may take that are looked at at a time; who comes
	// then waits. Default 512 MiB.
	Memory int64
	// AtATime is how many are decoded at a time. Default half of the processors: a picture
	// of 12 million pixels takes one for a second, and who chats needs the others.
	AtATime int
}

// Maker looks at pictures, as many at a time as its memory and its turns let.
type Maker struct {
	o Options
	// files is what of the memory is for files, work for what is made of them. Who holds a
	// share of files waits for a turn, who has a turn for work, and nobody the other way
	// round.
	files, turns, work  *semaphore.Weighted
	forFiles, forMaking int64
}

// NewMaker makes a Maker.
func NewMaker(o Options) *Maker {
	if o.MaxPixels == 0 {
		o.MaxPixels = 40e6
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 32 << 20
	}
	if o.Memory == 0 {
		o.Memory = 512 << 20
	}
	if o.AtATime == 0 {
		o.AtATime = max(1, runtime.GOMAXPROCS(0)/2)
	}
	m := &Maker{o: o, forFiles: max(o.Memory/4, 1)}
	m.forMaking = max(o.Memory-m.forFiles, 1)
	m.files, m.turns, m.work = semaphore.NewWeighted(m.forFiles), semaphore.NewWeighted(int64(o.AtATime)), semaphore.NewWeighted(m.forMaking)
	return m
}

// Made is a picture as it may be shown.
type Made struct {
	// MIME is of Body: a WebP that had to be turned is one no more.
	MIME string
	// Width and Height are of the picture as it is shown, upright.
	Width, Height int
	Blurhash      string
	// Body is the picture, Thumbnail a small JPEG of it.
	Body, Thumbnail []byte
}

// Is tells whether a type is one of those that Make takes.
func Is(mime string) bool {
	switch mime {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}

// Make looks at a picture of size bytes, of which Sniff says that it is mime.
func (m *Maker) Make(ctx context.Context, mime string, r io.Reader, size int64) (*Made, error) {
	if size > m.o.MaxBytes {
		return nil, fmt.Errorf("%w: it has %d bytes; at most %d are allowed", ErrLarge, size, m.o.MaxBytes)
	}
	// Held to the end: so those that wait for the decoder do not fill the memory meanwhile.
	held := min(size, m.forFiles)
	if err := m.files.Acquire(ctx, held); err != nil {
		return nil, err
	}
	defer m.files.Release(held)
	file, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(file)) != size {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrBroken, len(file), size)
	}
	width, height, err := bounds(mime, file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if width <= 0 || height <= 0 {
		return nil, fmt.Errorf("%w: it has %d × %d pixels", ErrBroken, width, height)
	}
	if int64(width)*int64(height) > m.o.MaxPixels {
		return nil, fmt.Errorf("%w: it has %d × %d pixels; at most %d in all are allowed", ErrLarge, width, height, m.o.MaxPixels)
	}
	if err := m.turns.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer m.turns.Release(1)
	need := min(m.forMaking, size+perPixel(mime, file)*int64(width)*int64(height))
	if err := m.work.Acquire(ctx, need); err != nil {
		return nil, err
	}
	defer m.work.Release(need)
	return made(mime, file)
}

// perPixel is how many bytes a pixel takes while a picture is decoded, turned and written
// again, at 8 bytes each. Of a progressive JPEG the decoder keeps what all its scans say, 4
// bytes for each component, beside the picture. A PNG has up to 8 before it is turned, and two
// copies of 4 then.
func perPixel(mime string, file []byte) int64 {
	switch {
	case mime == "image/jpeg" && progressive(file):
		return 12 + 4*4
	case mime == "image/png" && orientation(mime, file) > 1:
		return 8 + 2*4
	}
	return 12
}

// bounds are a picture's, without decoding it.
func bounds(mime string, file []byte) (width, height int, err error) {
	var c image.Config
	switch mime {
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(bytes.NewReader(file))
	case "image/png":
		c, err = png.DecodeConfig(bytes.NewReader(file))
	case "image/gif":
		c, err = gif.DecodeConfig(bytes.NewReader(file))
	case "image/webp":
		return webpBounds(file)
	default:
		err = fmt.Errorf("%s is no picture", mime)
	}
	return c.Width, c.Height, err
}

// made decodes a picture whose size is allowed, and writes what is kept of it.
func made(mime string, file []byte) (*Made, error) {
	var img image.Image
	body := file
	var err error
	turned := orientation(mime, file)
	switch mime {
	case "image/jpeg":
		if img, err = jpeg.Decode(bytes.NewReader(file)); err == nil {
			img = turn(img, turned)
			body, err = asJPEG(img, quality)
		}
	case "image/png":
		if img, err = png.Decode(bytes.NewReader(file)); err == nil {
			img = turn(img, turned)
			body, err = asPNG(img)
		}
	case "image/gif":
		if body, err = cleanGIF(file); err == nil {
			img, err = gif.Decode(bytes.NewReader(body))
		}
	case "image/webp":
		var first []byte
		if body, first, err = cleanWebP(file); err == nil {
			img, err = webp.Decode(bytes.NewReader(first))
		}
		if err == nil && turned > 1 {
			img, body, mime, err = upright(img, turned)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	small := shrink(img)
	out := &Made{MIME: mime, Width: img.Bounds().Dx(), Height: img.Bounds().Dy(), Blurhash: blurhash(small), Body: body}
	if mime == "image/gif" || mime == "image/webp" { // of an animation the first picture may be a part
		out.Width, out.Height, _ = bounds(mime, file)
	}
	out.Thumbnail, err = asJPEG(small, smallQuality)
	return out, err
}

// upright turns a picture of a WebP, which nothing here writes: a lossy one becomes a JPEG; one
// that is lossless, or has transparent parts, a PNG.
func upright(img image.Image, o int) (to image.Image, body []byte, mime string, err error) {
	_, lossy := img.(*image.YCbCr)
	if to = turn(img, o); lossy {
		body, err = asJPEG(to, quality)
		return to, body, "image/jpeg", err
	}
	body, err = asPNG(to)
	return to, body, "image/png", err
}

func asPNG(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}

func asJPEG(img image.Image, q int) ([]byte, error) {
	var b bytes.Buffer
	err := jpeg.Encode(&b, img, &jpeg.Options{Quality: q})
	return b.Bytes(), err
}

// longSide is how long a side is at most of a picture that is made small with the weights of
// all its pixels. These, and what lies between the two directions, are kept for a whole row
// or column: of one that is a pixel wide and as long as may be, a file of some KiB, they are
// gigabytes. A JPEG has no longer sides.
const longSide = 1 << 16

// shrink makes a picture at most side wide and high, on white where it is transparent.
func shrink(img image.Image) *image.RGBA {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	if longest := max(w, h); longest > side {
		w, h = max(1, w*side/longest), max(1, h*side/longest)
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(small, small.Bounds(), image.White, image.Point{}, draw.Src)
	scaler := draw.Scaler(draw.BiLinear)
	if longest := max(img.Bounds().Dx(), img.Bounds().Dy()); longest > longSide {
		scaler = draw.ApproxBiLinear
	}
	scaler.Scale(small, small.Bounds(), img, img.Bounds(), draw.Over, nil)
	return small
}

// turn puts a picture upright: o is the orientation that EXIF tells, 1 to 8. What is
// transparent stays so.
func turn(img image.Image, o int) image.Image {
	if o < 2 || o > 8 {
		return img
	}
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	size := image.Rect(0, 0, w, h)
	turned := size
	if o >= 5 {
		turned = image.Rect(0, 0, h, w)
	}
	if clear, ok := img.(interface{ Opaque() bool }); ok && !clear.Opaque() {
		from, ok := img.(*image.NRGBA)
		if !ok {
			from = image.NewNRGBA(size)
			draw.Draw(from, size, img, b.Min, draw.Src)
		}
		to := image.NewNRGBA(turned)
		turnPixels(to.Pix, to.Stride, from.Pix, from.Stride, w, h, o)
		return to
	}
	from, to := image.NewRGBA(size), image.NewRGBA(turned)
	draw.Draw(from, size, img, b.Min, draw.Src)
	turnPixels(to.Pix, to.Stride, from.Pix, from.Stride, w, h, o)
	return to
}

// turnPixels copies the pixels of a picture of w × h, of 4 bytes each, to where they are when
// it is upright.
func turnPixels(to []byte, toStride int, from []byte, fromStride, w, h, o int) {
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch o {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(to[ty*toStride+4*tx:][:4], from[y*fromStride+4*x:][:4])
		}
	}
}
