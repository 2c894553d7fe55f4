package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"context"
)

// corner is a picture of w × h that is red at the left top, blue at the right top, and
// white below.
func corner(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{255, 255, 255, 255}
			switch {
			case y < h/2 && x < w/2:
				c = color.RGBA{255, 0, 0, 255}
			case y < h/2:
				c = color.RGBA{0, 0, 255, 255}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tiffOf tells an orientation, and a secret besides.
func tiffOf(order binary.AppendByteOrder, o uint16) []byte {
	tiff := []byte("II*\x00")
	if order.String() == "BigEndian" {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, tag := range []struct{ id, value uint16 }{{0x010f, 7}, {0x0112, o}} {
		tiff = order.AppendUint16(tiff, tag.id)
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, tag.value)
		tiff = append(tiff, 0, 0)
	}
	return append(tiff, "52.5200 N 13.4050 E"...)
}

// exif is an APP1 that tells an orientation.
func exif(order binary.AppendByteOrder, o uint16) []byte {
	tiff := tiffOf(order, o)
	out := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(2+6+len(tiff)))
	return append(append(out, "Exif\x00\x00"...), tiff...)
}

func withEXIF(t *testing.T, img image.Image, order binary.AppendByteOrder, o uint16) []byte {
	t.Helper()
	j, err := asJPEG(img, 95)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(append([]byte{}, j[:2]...), exif(order, o)...), j[2:]...)
}

func make1(t *testing.T, file []byte) (*Made, error) {
	t.Helper()
	return NewMaker(Options{}).Make(t.Context(), Sniff(file), bytes.NewReader(file), int64(len(file)))
}

func decoded(t *testing.T, b []byte) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// redAt tells at which corner a picture is red.
func redAt(img image.Image) (at string) {
	b := img.Bounds()
	for name, p := range map[string]image.Point{"left top": {b.Dx() / 8, b.Dy() / 8}, "right top": {b.Dx() * 7 / 8, b.Dy() / 8}, "left bottom": {b.Dx() / 8, b.Dy() * 7 / 8}, "right bottom": {b.Dx() * 7 / 8, b.Dy() * 7 / 8}} {
		r, g, bl, _ := img.At(b.Min.X+p.X, b.Min.Y+p.Y).RGBA()
		if r > 0xc000 && g < 0x4000 && bl < 0x4000 {
			at += name
		}
	}
	return at
}

// A JPEG is put upright as its EXIF says, of either byte order, and says nothing but the
// picture then: not where it was made.
func TestOrientation(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for o := uint16(1); o <= 8; o++ {
			made, err := make1(t, withEXIF(t, corner(640, 320), order, o))
			if err != nil {
				t.Fatal(err)
			}
			isUpright(t, order.String(), made, o)
		}
	}
	for _, bad := range []string{"", "II", "II*\x00\xff\xff\xff\xff", "XX*\x00\x08\x00\x00\x00", "II*\x00\x08\x00\x00\x00\xff\xff"} {
		if o := tiffOrientation([]byte(bad)); o != 1 {
			t.Errorf("%q: %d", bad, o)
		}
	}
}

// pngChunk is a chunk with its checksum.
func pngChunk(name, body string) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(out, name+body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(name+body)))
}

// isUpright tells what is wrong with a picture of corner(640, 320) that said o.
func isUpright(t *testing.T, what string, made *Made, o uint16) {
	t.Helper()
	red := []string{1: "left top", 2: "right top", 3: "right bottom", 4: "left bottom", 5: "left top", 6: "right top", 7: "right bottom", 8: "left bottom"}
	w, h := 640, 320
	if o >= 5 {
		w, h = h, w
	}
	img, small := decoded(t, made.Body), decoded(t, made.Thumbnail)
	if img.Bounds().Dx() != w || img.Bounds().Dy() != h || made.Width != w || made.Height != h || small.Bounds().Dx() != w/2 {
		t.Errorf("%s, %d: %v, told %d × %d, small %v", what, o, img.Bounds(), made.Width, made.Height, small.Bounds())
	}
	if redAt(img) != red[o] || redAt(small) != red[o] {
		t.Errorf("%s, %d: red at %q, small %q; %q wanted", what, o, redAt(img), redAt(small), red[o])
	}
	for _, left := range []string{"eXIf", "EXIF", "Exif", "52.5200"} {
		if bytes.Contains(made.Body, []byte(left)) {
			t.Errorf("%s, %d: %q is left", what, o, left)
		}
	}
	if Sniff(made.Body) != made.MIME {
		t.Errorf("%s, %d: told to be %s, is %s", what, o, made.MIME, Sniff(made.Body))
	}
}

// A PNG is put upright as its EXIF says, wherever in the file that is, and what is transparent
// stays so.
func TestOrientationOfPNG(t *testing.T) {
	p := pngOf(t, corner(640, 320))
	for o := uint16(1); o <= 8; o++ {
		for what, at := range map[string]int{"before": 33, "behind": len(p) - 12} {
			said := pngChunk("eXIf", string(tiffOf(binary.BigEndian, o)))
			made, err := make1(t, slices.Concat(p[:at], said, p[at:]))
			if err != nil {
				t.Fatal(err)
			}
			isUpright(t, what+" the picture", made, o)
		}
	}
	clear := map[string]draw.Image{"8 bits": image.NewNRGBA(image.Rect(0, 0, 4, 2)), "16 bits": image.NewNRGBA64(image.Rect(0, 0, 4, 2)), "a palette": image.NewPaletted(image.Rect(0, 0, 4, 2), color.Palette{color.NRGBA{}, color.NRGBA{255, 0, 0, 128}})}
	for what, img := range clear {
		img.Set(3, 0, color.NRGBA{255, 0, 0, 128})
		p := pngOf(t, img)
		made, err := make1(t, slices.Concat(p[:33], pngChunk("eXIf", string(tiffOf(binary.LittleEndian, 6))), p[33:]))
		if err != nil {
			t.Fatal(err)
		}
		got := decoded(t, made.Body)
		if got.Bounds() != image.Rect(0, 0, 2, 4) || color.NRGBAModel.Convert(got.At(1, 3)) != (color.NRGBA{255, 0, 0, 128}) {
			t.Errorf("%s: %v, %v", what, got.Bounds(), got.At(1, 3))
		}
	}
	for cut := range p { // no cut is a panic
		_ = pngOrientation(p[:cut])
	}
	if got := perPixel("image/png", slices.Concat(p[:33], pngChunk("eXIf", string(tiffOf(binary.BigEndian, 6))), p[33:])); got != 16 {
		t.Errorf("one that is turned takes %d bytes a pixel", got)
	}
}

// bits are written as a lossless WebP has them, the lowest of each byte first.
type bits struct {
	b []byte
	n int
}

func (b *bits) put(v, n int) {
	for i := range n {
		if b.n%8 == 0 {
			b.b = append(b.b, 0)
		}
		b.b[b.n/8] |= byte(v>>i&1) << (b.n % 8)
		b.n++
	}
}

// losslessWebP is a VP8L of a picture whose colours are 0 or 255, and whose alpha 128 or 255.
func losslessWebP(img *image.RGBA, alpha bool) []byte {
	b := &bits{b: []byte{0x2f}, n: 8}
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	b.put(w-1, 14)
	b.put(h-1, 14)
	b.put(0, 1+3+1+1+1) // hints, version; no transforms, no cache of colours, one group of codes
	for _, least := range []int{0, 0, 0, 128} {
		b.put(0b111, 3) // two symbols of 8 bits
		b.put(least, 8)
		b.put(255, 8)
	}
	b.put(0b001, 4) // no distances
	for i := 0; i < len(img.Pix); i += 4 {
		for _, c := range []int{1, 0, 2} { // green, red, blue
			b.put(int(img.Pix[i+c]>>7), 1)
		}
		if alpha {
			b.put(0, 1)
		} else {
			b.put(1, 1)
		}
	}
	return b.b
}

// A WebP that is to be turned is written anew, upright, as what it is told to be; of one that
// is not, and of an animation, nothing is.
func TestOrientationOfWebP(t *testing.T) {
	said := func(flags byte, name string, picture []byte, w, h int, exif []byte) []byte {
		head := []byte{flags, 0, 0, 0, byte(w - 1), byte((w - 1) >> 8), 0, byte(h - 1), byte((h - 1) >> 8), 0}
		return riff(appendChunk(appendChunk(appendChunk(nil, "VP8X", head), name, picture), "EXIF", exif))
	}
	for o := uint16(1); o <= 8; o++ {
		for _, begin := range []string{"", "Exif\x00\x00"} {
			made, err := make1(t, said(webpEXIF, "VP8L", losslessWebP(corner(640, 320), false), 640, 320, append([]byte(begin), tiffOf(binary.LittleEndian, o)...)))
			if err != nil {
				t.Fatal(err)
			}
			isUpright(t, "a WebP", made, o)
			if want := map[bool]string{true: "image/png", false: "image/webp"}[o > 1]; made.MIME != want {
				t.Errorf("%d: %s, %s wanted", o, made.MIME, want)
			}
		}
	}
	made, err := make1(t, said(webpEXIF|webpAlpha, "VP8L", losslessWebP(corner(4, 2), true), 4, 2, tiffOf(binary.LittleEndian, 8)))
	if err != nil {
		t.Fatal(err)
	}
	if got := color.NRGBAModel.Convert(decoded(t, made.Body).At(0, 3)); got != (color.NRGBA{255, 0, 0, 128}) {
		t.Errorf("transparent parts: %v", got)
	}
	lossy, err := content(unbase64(t, webpLossy))
	if err != nil {
		t.Fatal(err)
	}
	if made, err = make1(t, said(webpEXIF, "VP8 ", lossy[8:], 1, 1, tiffOf(binary.LittleEndian, 3))); err != nil || made.MIME != "image/jpeg" || Sniff(made.Body) != "image/jpeg" {
		t.Errorf("a lossy one: %v, %+v", err, made)
	}
	still := appendChunk(make([]byte, 16), "VP8L", losslessWebP(corner(1, 1), false))
	if made, err = make1(t, said(webpEXIF|webpAnimated, "ANMF", still, 1, 1, tiffOf(binary.LittleEndian, 6))); err != nil || made.MIME != "image/webp" || !bytes.Contains(made.Body, []byte("ANMF")) {
		t.Errorf("an animation: %v, %+v", err, made)
	}
}

// A PNG loses what it says besides the picture, and keeps what is transparent.
func TestPNG(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 40, 20))
	img.Set(3, 3, color.NRGBA{255, 0, 0, 128})
	p := pngOf(t, img)
	file := append(append(append([]byte{}, p[:33]...), pngChunk("tEXt", "Author\x00somebody")...), p[33:]...)
	file = append(file, "behind the end"...)
	made, err := make1(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(made.Body, []byte("somebody")) || bytes.Contains(made.Body, []byte("behind")) {
		t.Error("text is left")
	}
	if got := color.NRGBAModel.Convert(decoded(t, made.Body).At(3, 3)); got != (color.NRGBA{255, 0, 0, 128}) {
		t.Error(got)
	}
	if small := decoded(t, made.Thumbnail); small.Bounds().Dx() != 40 {
		t.Errorf("a small picture grew: %v", small.Bounds())
	}
}

// An animated GIF stays animated, and loses its comments, what applications wrote into
// it and what lies behind its end.
func TestGIF(t *testing.T) {
	pal := color.Palette{color.White, color.RGBA{255, 0, 0, 255}}
	g := &gif.GIF{LoopCount: 3}
	for i := range 3 {
		p := image.NewPaletted(image.Rect(0, 0, 50, 30), pal)
		p.SetColorIndex(i, i, 1)
		g.Image, g.Delay = append(g.Image, p), append(g.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	head := 13 + 3<<(1+b.Bytes()[10]&7)*int(b.Bytes()[10]>>7)
	file := append([]byte{}, b.Bytes()[:head]...)
	file = append(file, "\x21\xfe\x08a secret\x00\x21\xff\x0bXMP DataXMP\x05where\x00"...)
	file = append(append(file, b.Bytes()[head:]...), "behind"...)
	made, err := make1(t, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"secret", "XMP", "where", "behind"} {
		if bytes.Contains(made.Body, []byte(left)) {
			t.Errorf("%q is left", left)
		}
	}
	all, err := gif.DecodeAll(bytes.NewReader(made.Body))
	if err != nil || len(all.Image) != 3 || all.LoopCount != 3 || made.Width != 50 {
		t.Errorf("%v, %+v", err, made)
	}
	for cut := range len(b.Bytes()) { // no cut is a panic
		_, _ = cleanGIF(b.Bytes()[:cut])
	}
}

// One pixel each: lossy, and lossless with alpha.
const (
	webpLossy    = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	webpLossless = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
)

func unbase64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A WebP stays as it is without EXIF and XMP; of an animation the first picture is shown
// small.
func TestWebP(t *testing.T) {
	for _, s := range []string{webpLossy, webpLossless} {
		made, err := make1(t, unbase64(t, s))
		if err != nil || made.Width != 1 || made.Height != 1 || len(made.Thumbnail) == 0 {
			t.Fatalf("%v: %+v", err, made)
		}
	}
	part, err := content(unbase64(t, webpLossless))
	if err != nil {
		t.Fatal(err)
	}
	frame := appendChunk(append(make([]byte, 16), part...), "EXIF", []byte("13.4050 E"))
	body := appendChunk(nil, "VP8X", []byte{webpAnimated | webpEXIF | webpXMP, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	body = appendChunk(body, "ANIM", make([]byte, 6))
	body = appendChunk(appendChunk(body, "ANMF", frame), "ANMF", frame)
	body = appendChunk(appendChunk(body, "EXIF", []byte("52.5200 N")), "XMP ", []byte("who"))
	made, err := make1(t, append(riff(body), "behind"...))
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"EXIF", "52.5", "13.4", "XMP", "who", "behind"} {
		if bytes.Contains(made.Body, []byte(left)) {
			t.Errorf("%q is left", left)
		}
	}
	if bytes.Count(made.Body, []byte("ANMF")) != 2 || made.Body[20] != webpAnimated {
		t.Errorf("%q", made.Body)
	}
	small := appendChunk(nil, "VP8X", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) // 1 × 1, it says
	big := appendChunk(nil, "VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0})
	if _, err := make1(t, riff(append(small, big...))); !errors.Is(err, ErrBroken) {
		t.Errorf("a picture larger than it says: %v", err)
	}
}

// What is small as a file and huge as a picture is refused before it is decoded, whatever
// its form; and what is no picture behind its first bytes.
func TestBombs(t *testing.T) {
	head := make([]byte, 13)
	binary.BigEndian.PutUint32(head, 100_000)
	binary.BigEndian.PutUint32(head[4:], 100_000)
	head[8], head[9] = 8, 6
	bombs := map[string][]byte{
		"png":  append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", string(head))...),
		"gif":  []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"),
		"jpeg": []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"),
		"webp": riff(appendChunk(nil, "VP8X", []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})),
	}
	for name, b := range bombs {
		if _, err := make1(t, b); !errors.Is(err, ErrLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range [][]byte{[]byte("\x89PNG\r\n\x1a\nno picture"), []byte("GIF89a"), []byte("\xff\xd8\xff no"), riff([]byte("VP8 \xff\xff\xff\xff")), pngOf(t, corner(9, 9))[:60], {0xff, 0xd8, 0xff, 0xe0}} {
		if _, err := make1(t, b); !errors.Is(err, ErrBroken) {
			t.Errorf("%.20q: %v", b, err)
		}
	}
	m := NewMaker(Options{MaxBytes: 10})
	if _, err := m.Make(t.Context(), "image/png", strings.NewReader(""), 11); !errors.Is(err, ErrLarge) {
		t.Errorf("too long a file: %v", err)
	}
}

// All pictures that are looked at at a time share the memory: who comes then waits, and
// can be taken away.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := pngOf(t, corner(100, 100))
		m := NewMaker(Options{Memory: 100 * 100 * 12})
		if err := m.work.Acquire(t.Context(), m.forMaking); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := m.Make(ctx, "image/png", bytes.NewReader(file), int64(len(file))); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		made := 0
		for range 3 {
			all.Go(func() {
				if _, err := m.Make(t.Context(), "image/png", bytes.NewReader(file), int64(len(file))); err != nil {
					t.Error(err)
				}
				made++
			})
		}
		synctest.Wait()
		if made > 0 {
			t.Error("nobody waited")
		}
		cancel()
		m.work.Release(m.forMaking)
		all.Wait()
	})
}

// While as many pictures are decoded as may be, others wait, also where there is memory.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := pngOf(t, corner(100, 100))
		m := NewMaker(Options{AtATime: 2})
		if err := m.turns.Acquire(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		made := make(chan error, 1)
		go func() {
			_, err := m.Make(t.Context(), "image/png", bytes.NewReader(file), int64(len(file)))
			made <- err
		}()
		synctest.Wait()
		if len(made) > 0 {
			t.Error("it was made without a turn")
		}
		m.turns.Release(1)
		if err := <-made; err != nil {
			t.Error(err)
		}
		if !m.turns.TryAcquire(1) {
			t.Error("the turn was not given back")
		}
	})
}

// A blurhash is what others make of the same picture.
func TestBlurhash(t *testing.T) {
	white, many := image.NewRGBA(image.Rect(0, 0, 32, 32)), image.NewRGBA(image.Rect(0, 0, 32, 32))
	for y := range 32 {
		for x := range 32 {
			white.Set(x, y, color.White)
			many.Set(x, y, color.RGBA{uint8(x * 8), uint8(y * 8), uint8((x * y) % 256), 255})
		}
	}
	for img, want := range map[image.Image]string{white: "L9TSUA~qfQ~q~qoffQoffQfQfQfQ", many: "LxH2cZ2mwtX3l[WAjve?gFflfTfl"} {
		if got := blurhash(img); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	made, err := make1(t, pngOf(t, corner(64, 64)))
	if err != nil || len(made.Blurhash) != 28 || made.Blurhash[0] != 'L' {
		t.Errorf("%v: %+v", err, made)
	}
}

// What something is says its content, not its name; what a browser would run is unknown.
func TestSniff(t *testing.T) {
	for head, want := range map[string]string{
		"<html><script>alert(1)</script>":                    Unknown,
		"<?xml version=\"1.0\"?><svg onload=\"alert(1)\"/>":  Unknown,
		"  <svg xmlns=\"http://www.w3.org/2000/svg\"></svg>": Unknown,
		"\xef\xbb\xbf<svg/>":                                 Unknown,
		"plain words":                                        "text/plain",
		"%PDF-1.7":                                           "application/pdf",
		"PK\x03\x04":                                         "application/zip",
		"\x00\x00\x00\x20ftypM4A \x00\x00":                   "audio/mp4",
		"\x00\x00\x00\x20ftypisom\x00\x00":                   "video/mp4",
		"\x00\x00\x00\x20ftypheic\x00\x00":                   "image/heic",
		"\x00\x00\x00\x20ftyphevx\x00\x00":                   "image/heic",
		"\x00\x00\x00\x20ftypcrx \x00\x00":                   Unknown,
		"OggS\x00\x02OpusHead":                               "audio/ogg",
		"RIFF\x00\x00\x00\x00WAVEfmt ":                       "audio/wav",
		"\x1a\x45\xdf\xa3":                                   "video/webm",
		"\xff\xfb\x90\x00":                                   "audio/mpeg",
		"\xff\xf1\x50\x80":                                   "audio/aac",
		"\xff\xd8\xff\xe0":                                   "image/jpeg",
		"GIF89a":                                             "image/gif",
		"":                                                   "text/plain",
		"\x00\x01\x02\x03 nothing that we know":              Unknown,
	} {
		if got := Sniff([]byte(head)); got != want {
			t.Errorf("%q: %s, not %s", head, got, want)
		}
	}
	for mime, want := range map[string]bool{"image/png": true, "audio/ogg": true, "video/mp4": true, "image/svg+xml": false, "text/html": false, "text/plain": false, "application/pdf": false, "image/heic": false, Unknown: false} {
		if Shown(mime) != want {
			t.Errorf("%s is shown: %v", mime, !want)
		}
	}
}

// Whatever somebody uploads as a picture ends in a picture or an error.
func FuzzMake(f *testing.F) {
	var j, g bytes.Buffer
	_ = jpeg.Encode(&j, corner(16, 8), nil)
	_ = gif.Encode(&g, corner(16, 8), nil)
	f.Add(j.Bytes())
	f.Add(g.Bytes())
	for _, s := range []string{webpLossy, webpLossless} {
		b, _ := base64.StdEncoding.DecodeString(s)
		f.Add(b)
	}
	m := NewMaker(Options{MaxPixels: 1 << 16})
	f.Fuzz(func(t *testing.T, file []byte) {
		made, err := m.Make(t.Context(), Sniff(file), bytes.NewReader(file), int64(len(file)))
		if err == nil && (len(made.Body) == 0 || len(made.Thumbnail) == 0 || made.Width <= 0) {
			t.Errorf("%+v", made)
		}
	})
}
