package isobmff

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

var be = binary.BigEndian

// boxOf is a box with what its parts are, one after the other.
func boxOf(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(be.AppendUint32(nil, uint32(8+len(body))), []byte(kind), body)
}

// longBox has a length of 64 bits.
func longBox(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat([]byte{0, 0, 0, 1}, []byte(kind), be.AppendUint64(nil, uint64(16+len(body))), body)
}

// full is a box with a version.
func full(kind string, version byte, parts ...[]byte) []byte {
	return boxOf(kind, slices.Concat([][]byte{{version, 0, 0, 0}}, parts)...)
}

// number appends the low n bytes of v.
func number(b []byte, n int, v uint64) []byte {
	return append(b, be.AppendUint64(nil, v)[8-n:]...)
}

func hdlr(kind string) []byte {
	return full("hdlr", 0, make([]byte, 4), []byte(kind), make([]byte, 13))
}

// item is one of a picture's: in idat, or else in mdat, and in how many parts.
type item struct {
	kind, content string // content: the type of a mime
	body          []byte
	idat          bool
	parts         int
}

// form is how a picture's items are listed.
type form struct {
	version, iinf         byte
	offset, base, index   int
	metaLast, long        bool
	changed               func(meta []byte) []byte
	between, behind, more []byte
}

func infe(f form, id int, it item) []byte {
	version, n := byte(2), 2
	if f.version == 2 {
		version, n = 3, 4
	}
	b := append(number(nil, n, uint64(id)), 0, 0)
	b = append(append(b, it.kind...), "named\x00"...)
	if it.content != "" {
		b = append(append(b, it.content...), 0, 0)
	}
	return full("infe", version, b)
}

// heif is a picture with items. Their offsets are known when it is known how long the meta is.
func heif(f form, items ...item) []byte {
	file := func(mdatAt int) (meta, mdat, idat []byte) {
		wide := 2
		if f.version == 2 {
			wide = 4
		}
		var listed, where []byte
		for i, it := range items {
			listed = append(listed, infe(f, i+1, it)...)
			where = number(where, wide, uint64(i+1))
			into, from := &mdat, mdatAt
			if it.idat {
				into, from = &idat, 0
			}
			if f.version > 0 {
				where = number(where, 2, map[bool]uint64{true: 1}[it.idat])
			}
			where = number(where, 2, 0)
			base := 0
			if f.base > 0 {
				base = from + 1
			}
			where = number(where, f.base, uint64(base))
			parts := max(1, it.parts)
			where = number(where, 2, uint64(parts))
			for p := range parts {
				part := it.body[len(it.body)*p/parts : len(it.body)*(p+1)/parts]
				*into = append(*into, '|', '|')
				if f.version > 0 {
					where = number(where, f.index, 0)
				}
				where = number(where, f.offset, uint64(from+len(*into)-base))
				where = number(where, 4, uint64(len(part)))
				*into = append(*into, part...)
			}
		}
		index := f.index
		if f.version == 0 {
			index = 0
		}
		sizes := []byte{byte(f.offset<<4 | 4), byte(f.base<<4 | index)}
		count := number(nil, 2, uint64(len(items)))
		if f.iinf > 0 {
			count = number(nil, 4, uint64(len(items)))
		}
		meta = full("meta", 0, hdlr("pict"), full("iinf", f.iinf, count, listed),
			boxOf("iprp", boxOf("ipco", boxOf("irot", []byte{1}), full("udes", 0, []byte("at 52.5200 N\x00")))),
			full("iloc", f.version, sizes, number(nil, wide, uint64(len(items))), where), boxOf("idat", idat), f.more)
		if f.changed != nil {
			meta = f.changed(meta)
		}
		return meta, mdat, idat
	}
	ftyp := boxOf("ftyp", []byte("heic\x00\x00\x00\x00mif1heic"))
	box, head := boxOf, 8
	if f.long {
		box, head = longBox, 16
	}
	meta, _, _ := file(0)
	at := len(ftyp) + len(f.between) + head
	if !f.metaLast {
		at += len(meta)
	}
	meta, mdat, _ := file(at)
	if f.metaLast {
		return slices.Concat(ftyp, f.between, box("mdat", mdat), meta, f.behind)
	}
	return slices.Concat(ftyp, meta, f.between, box("mdat", mdat), f.behind)
}

// without is a file as it is kept.
func without(t *testing.T, mime string, file []byte) []byte {
	t.Helper()
	ps, err := Private(mime, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := io.ReadAll(Over(bytes.NewReader(file), ps))
	if err != nil || len(kept) != len(file) {
		t.Fatalf("%d bytes of %d: %v", len(kept), len(file), err)
	}
	slow, err := io.ReadAll(Over(iotest.OneByteReader(bytes.NewReader(file)), ps))
	if err != nil || !bytes.Equal(slow, kept) {
		t.Errorf("read byte by byte it is something else: %v", err)
	}
	return kept
}

const (
	place   = "52.5200 N 13.4050 E"
	picture = "pixels, pixels, pixels and pixels"
)

func exif(lead string) []byte {
	return []byte(lead + "MM\x00*\x00\x00\x00\x08\x00\x01\x88\x25\x00\x04\x00\x00\x00\x01\x00\x00\x00\x1a\x00\x00\x00\x00" + place)
}

func saysNothing(t *testing.T, what string, kept []byte) {
	t.Helper()
	for _, left := range []string{"52.5", "13.4", "N 13", "made by", "who"} {
		if bytes.Contains(kept, []byte(left)) {
			t.Errorf("%s: %q is left", what, left)
		}
	}
}

// What a picture says in items that are no pictures is written over, however they are listed
// and wherever they lie: in the file, in idat, in parts, before the meta and behind it. The
// pictures stay, each byte where it was; and EXIF is still EXIF, so decoders take it.
func TestItems(t *testing.T) {
	var forms []form
	for version := range byte(3) {
		for _, offset := range []int{4, 8} {
			for _, base := range []int{0, 4, 8} {
				for _, last := range []bool{false, true} {
					forms = append(forms, form{version: version, iinf: version & 1, offset: offset, base: base, index: 4 * int(version&1), metaLast: last, long: base == 8})
				}
			}
		}
	}
	for _, f := range forms {
		what := fmt.Sprintf("%+v", f)
		items := []item{
			{kind: "hvc1", body: []byte(picture)},
			{kind: "Exif", body: exif("\x00\x00\x00\x00")},
			{kind: "Exif", body: exif("\x00\x00\x00\x06Exif\x00\x00"), parts: 5},
			{kind: "mime", content: "application/rdf+xml", body: []byte("<x:xmpmeta " + place + ">"), parts: 2},
			{kind: "mime", content: "image/jpeg", body: []byte("a small one")},
			{kind: "uri ", body: []byte(place)},
			{kind: "grid", body: []byte(picture), idat: f.version > 0},
			{kind: "Exif", body: exif("\x00\x00\x00\x00"), idat: f.version > 0},
			{kind: "mime", content: "text/plain", body: []byte("made by " + place), idat: f.version > 0},
		}
		file := heif(f, items...)
		kept := without(t, "image/heic", file)
		saysNothing(t, what, kept)
		if n := bytes.Count(kept, []byte(picture)); n != 2 || !bytes.Contains(kept, []byte("a small one")) || !bytes.Contains(kept, []byte("irot\x01")) {
			t.Errorf("%s: of the pictures %d are left: %q", what, n, kept)
		}
		if n := bytes.Count(kept, []byte(noEXIF)); n != 2 { // the third is in parts
			t.Errorf("%s: %d are EXIF that says nothing", what, n)
		}
		if at := bytes.Index(file, []byte("<x:xmp")); kept[at] != ' ' {
			t.Errorf("%s: XMP is %q", what, kept[at:at+9])
		}
		if bytes.Count(kept, []byte("||")) != bytes.Count(file, []byte("||")) {
			t.Errorf("%s: something else was written over", what)
		}
		for _, list := range []string{"iinf", "iloc"} { // decoders find the picture by them
			at := bytes.Index(file, []byte(list))
			if n := int(be.Uint32(file[at-4:])); !bytes.Equal(file[at-4:at-4+n], kept[at-4:at-4+n]) {
				t.Errorf("%s: %s is another", what, list)
			}
		}
	}
}

// EXIF in parts is EXIF that says nothing when the parts are put together.
func TestEXIFInParts(t *testing.T) {
	file := heif(form{offset: 4}, item{kind: "Exif", body: exif("\x00\x00\x00\x00"), parts: 9})
	kept := without(t, "image/heic", file)
	var together []byte
	for _, part := range bytes.Split(kept, []byte("||"))[1:] {
		together = append(together, part...)
	}
	if want := noEXIF + strings.Repeat("\x00", len(exif("\x00\x00\x00\x00"))-len(noEXIF)); string(together) != want {
		t.Errorf("%q, %q wanted", together, want)
	}
	short := heif(form{offset: 4}, item{kind: "Exif", body: []byte("52.5200")})
	saysNothing(t, "short EXIF", without(t, "image/heic", short))
}

// Around the items a picture says as little: in boxes that are no part of it, in a film that
// moves in it, behind its end.
func TestAroundThePicture(t *testing.T) {
	it := item{kind: "av01", body: []byte(picture)}
	said := []byte("made by who at " + place)
	film := slices.Concat(boxOf("ftyp", []byte("mp42\x00\x00\x00\x00")), boxOf("mdat", []byte("moves")), boxOf("moov", full("mvhd", 0), boxOf("udta", boxOf("\xa9xyz", said))))
	for what, f := range map[string]form{
		"uuid":                     {between: boxOf("uuid", []byte("0123456789abcdef"), said)},
		"what nobody knows":        {behind: boxOf("nobo", said)},
		"behind the end":           {behind: append([]byte{0, 0, 0, 2}, said...)},
		"a little behind the end":  {behind: []byte("who")},
		"to the end":               {behind: append([]byte("\x00\x00\x00\x00sefd"), said...)},
		"free space":               {between: boxOf("free", said)},
		"a film in it":             {behind: boxOf("mpvd", film)},
		"xml, user data, in meta":  {more: slices.Concat(full("xml ", 0, said), boxOf("udta", said), boxOf("uuid", said))},
		"another film behind":      {behind: film},
		"a meta of something else": {behind: full("meta", 0, hdlr("mdir"), boxOf("ilst", said))},
	} {
		f.offset = 4
		file := heif(f, it)
		kept := without(t, "image/avif", file)
		saysNothing(t, what, kept)
		if !bytes.Contains(kept, []byte(picture)) || bytes.Contains(file, []byte("moves")) != bytes.Contains(kept, []byte("moves")) {
			t.Errorf("%s: the picture is gone: %q", what, kept)
		}
		if again := without(t, "image/avif", kept); !bytes.Equal(again, kept) {
			t.Errorf("%s: what was written over is something else the second time", what)
		}
	}
}

// A picture of which it cannot be told what it says besides is not taken.
func TestBrokenPictures(t *testing.T) {
	exifOf := item{kind: "Exif", body: exif("\x00\x00\x00\x00")}
	replaced := func(old, new string) form {
		return form{offset: 4, version: 1, changed: func(meta []byte) []byte {
			if bytes.Count(meta, []byte(old)) != 1 {
				panic(old)
			}
			return bytes.Replace(meta, []byte(old), []byte(new), 1)
		}}
	}
	at := func(n int) func([]byte) []byte { // so many bytes behind the name of iloc begins a large number
		return func(meta []byte) []byte {
			meta[bytes.Index(meta, []byte("iloc"))+n] = 0x7f
			return meta
		}
	}
	whole := heif(form{offset: 4, version: 1}, exifOf)
	long := full("iinf", 0, make([]byte, mostTable))
	many := []byte{0x44, 0x00, 0, 1, 0, 1, 0, 0, 0xff, 0xff}
	many = append(many, bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 1}, 0xffff)...)
	twice := full("iloc", 0, []byte{0x44, 0x00, 0, 2}, many[4:], many[4:])
	for what, file := range map[string][]byte{
		"cut off":                whole[:len(whole)-1],
		"cut off in the meta":    whole[:100],
		"an iloc of later times": heif(replaced("iloc\x01", "iloc\x03"), exifOf),
		"an infe of later times": heif(replaced("infe\x02", "infe\x04"), exifOf),
		"numbers of 3 bytes":     heif(replaced("iloc\x01\x00\x00\x00\x44", "iloc\x01\x00\x00\x00\x43"), exifOf),
		"in another item":        heif(replaced("\x00\x01\x00\x01\x00\x00\x00\x00\x00\x01", "\x00\x01\x00\x01\x00\x02\x00\x00\x00\x01"), exifOf),
		"in an idat without":     heif(replaced("idat", "none"), item{kind: "Exif", body: exif(""), idat: true}),
		"two lists of items":     heif(form{offset: 4, more: full("iinf", 0, []byte{0, 0})}, exifOf),
		"no list of places":      heif(replaced("iloc", "none"), exifOf),
		"more items than listed": heif(replaced("\x44\x00\x00\x01\x00\x01", "\x44\x00\x00\x02\x00\x01"), exifOf),
		"a list of a MiB":        heif(form{offset: 4, changed: func([]byte) []byte { return full("meta", 0, hdlr("pict"), long) }}),
		"65,536 parts and more": heif(form{offset: 4, changed: func([]byte) []byte {
			return full("meta", 0, hdlr("pict"), full("iinf", 0, []byte{0, 1}, infe(form{}, 1, exifOf)), twice)
		}}),
		"an offset beyond":        heif(form{offset: 8, changed: at(18)}, exifOf),
		"a length beyond":         heif(form{offset: 8, changed: at(26)}, exifOf),
		"a box beyond its parent": heif(replaced("\x00\x00\x00\x09irot", "\x00\x00\x10\x09irot"), exifOf),
	} {
		ps, err := Private("image/heic", bytes.NewReader(file), int64(len(file)))
		if !errors.Is(err, ErrBroken) || ps != nil {
			t.Errorf("%s: %v, %d patches", what, err, len(ps))
		}
	}
}
