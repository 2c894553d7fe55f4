// Package isobmff finds what files of ISO/IEC 14496-12 say besides what they show or play,
// and writes over it: in HEIC and AVIF the items with EXIF and XMP, in MP4, QuickTime, 3GP and
// M4A what cameras write of the place, of themselves and of who made it.
//
// It owns which boxes and items those are. No byte moves and no length changes, so that no
// offset in the file does: a box that goes becomes one of free space, filled with zeros; an
// item stays, and is empty EXIF, or blanks. It decodes no picture. It must not know what
// uploads are, or who sent them.
//
// The bytes are a stranger's. What it guarantees, whatever they are: time in proportion to
// them, with at most some MiB of memory, and only a small part of a long film is read; patches
// that lie within the file, in its order, and not over each other.
//
// What of a film is broken or cut off is looked at as far as it goes, and the rest is as it
// came: no player finds anything there either. A picture whose items cannot be told is
// ErrBroken: it is not passed on with what they may say.
//
// Goroutines and locks: none.
package isobmff

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrBroken: what the file says besides what it shows cannot be told from the rest.
var ErrBroken = errors.New("the file is broken")

// mostPatches bounds the memory. Cameras write a metadata track in chunks of about a second:
// this is many hours.
const mostPatches = 1 << 16

// Is tells whether files of a type are made of boxes.
func Is(mime string) bool {
	switch mime {
	case "image/heic", "image/avif", "video/mp4", "video/quicktime", "video/3gpp", "audio/mp4":
		return true
	}
	return false
}

// Patch is what is written over Size bytes at an offset: Begin, which is no longer than they
// are, and then Fill.
type Patch struct {
	At, Size int64
	Begin    string
	Fill     byte
}

// Private finds what is to be written over in a file of size bytes. Errors that are not
// ErrBroken are those of r.
func Private(mime string, r io.ReaderAt, size int64) ([]Patch, error) {
	f := &finder{r: r, size: size, picture: mime == "image/heic" || mime == "image/avif"}
	if err := f.walk("", 0, size); err != nil {
		return nil, err
	}
	return disjoint(f.found), nil
}

// disjoint sorts patches; where one lies over another, the one that begins first counts.
func disjoint(ps []Patch) []Patch {
	slices.SortFunc(ps, func(a, b Patch) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(b.Size, a.Size)) })
	out, end := ps[:0], int64(0)
	for _, p := range ps {
		if over := end - p.At; over > 0 {
			if over >= p.Size {
				continue
			}
			p.At, p.Size, p.Begin = end, p.Size-over, p.Begin[min(over, int64(len(p.Begin))):]
		}
		out, end = append(out, p), p.At+p.Size
	}
	return out
}

// Over reads a file from its begin, with the patches that Private found written over it.
func Over(r io.Reader, ps []Patch) io.Reader { return &over{r: r, ps: ps} }

type over struct {
	r  io.Reader
	at int64
	ps []Patch // those that are not behind at
}

func (o *over) Read(b []byte) (int, error) {
	n, err := o.r.Read(b)
	end := o.at + int64(n)
	for ; len(o.ps) > 0 && o.ps[0].At < end; o.ps = o.ps[1:] {
		p := o.ps[0]
		for i := max(p.At, o.at); i < min(p.At+p.Size, end); i++ {
			b[i-o.at] = p.Fill
			if k := i - p.At; k < int64(len(p.Begin)) {
				b[i-o.at] = p.Begin[k]
			}
		}
		if p.At+p.Size > end {
			break
		}
	}
	o.at = end
	return n, err
}

// finder walks through the boxes of a file.
type finder struct {
	r       io.ReaderAt
	size    int64
	picture bool
	found   []Patch
	track   track // the one that is walked through
}

// box is one that lies within the box around it: what is inside is from body to end.
type box struct {
	kind          string
	at, body, end int64
}

// add notes a patch.
func (f *finder) add(p Patch) error {
	if p.Size <= 0 {
		return nil
	}
	if len(f.found) == mostPatches {
		return fmt.Errorf("%w: it says too much besides what it shows", ErrBroken)
	}
	f.found = append(f.found, p)
	return nil
}

// free makes a box one of free space.
func (f *finder) free(b box) error {
	const kind = "free"
	err := f.add(Patch{At: b.at + 4, Size: int64(len(kind)), Begin: kind})
	return cmp.Or(err, f.add(Patch{At: b.body, Size: b.end - b.body}))
}

func (f *finder) read(p []byte, at int64) error {
	n, err := f.r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	return err
}

// head reads the head of a box. ok: there is one. One that says it is longer than what it lies
// in ends there, in a film; a picture is broken then.
func (f *finder) head(at, end int64) (b box, ok bool, err error) {
	var h [16]byte
	if end-at < 8 {
		return b, false, nil
	}
	if err := f.read(h[:8], at); err != nil {
		return b, false, err
	}
	b = box{kind: string(h[4:8]), at: at, body: at + 8}
	size := uint64(binary.BigEndian.Uint32(h[:]))
	switch size {
	case 0:
		size = uint64(end - at)
	case 1:
		if end-at < 16 {
			return b, false, nil
		}
		if err := f.read(h[8:], at+8); err != nil {
			return b, false, err
		}
		size, b.body = binary.BigEndian.Uint64(h[8:]), at+16
	}
	if size < uint64(b.body-at) {
		return b, false, nil
	}
	if size > uint64(end-at) {
		if f.picture {
			return b, false, fmt.Errorf("%w: it is cut off, or its parts do not fit together", ErrBroken)
		}
		size = uint64(end - at)
	}
	b.end = at + int64(size)
	return b, true, nil
}

// restFree is the head of free space up to the end of the file.
const restFree = "\x00\x00\x00\x00free"

// walk looks at the boxes in another one, "" for the file, until one is none. What lies behind
// the boxes of a picture goes.
func (f *finder) walk(in string, at, end int64) error {
	for at < end {
		b, ok, err := f.head(at, end)
		if err != nil {
			return err
		}
		if !ok {
			if in == "" && f.picture {
				rest := min(int64(len(restFree)), end-at)
				return f.add(Patch{At: at, Size: end - at, Begin: restFree[:rest]})
			}
			return nil
		}
		if err := f.look(in, b); err != nil {
			return err
		}
		at = b.end
	}
	return nil
}

// look does with a box what is done with its kind where it lies. The names of the two are of
// the standards, and what they hold is said there; mpvd is the film of a moving photo, sefd
// what Samsung writes behind a picture.
func (f *finder) look(in string, b box) error {
	switch in + "/" + b.kind {
	case "/meta":
		return f.meta(b)
	case "moov/trak":
		return f.trak(b)
	case "/moov", "/moof", "/mpvd", "mpvd/moov", "mpvd/moof", "moof/traf", "trak/mdia", "mdia/minf", "minf/stbl", "iprp/ipco":
		return f.walk(b.kind, b.body, b.end)
	case "mdia/hdlr":
		f.track.handler = b
	case "stbl/stsz":
		f.track.sizes = b
	case "stbl/stsc":
		f.track.runs = b
	case "stbl/stco", "stbl/co64":
		f.track.chunks = b
	case "traf/uuid": // how it is decrypted
	case "trak/uuid":
		return f.uuid(b)
	case "ipco/udes", "ipco/crtt", "ipco/mdft": // descriptions and times are no part of a picture
		return f.free(b)
	default:
		switch b.kind {
		case "udta", "meta", "uuid", "free", "skip", "xml ", "bxml", "sefd":
			return f.free(b)
		case "ftyp", "styp", "mdat", "sidx", "ssix", "mfra", "pdin", "etyp":
		default:
			if in == "" && f.picture {
				return f.free(b)
			}
		}
	}
	return nil
}

// spherical is the uuid of what says that a film is shown all around.
const spherical = "\xff\xcc\x82\x63\xf8\x55\x4a\x93\x88\x14\x58\x7a\x02\x52\x1f\xdd"

func (f *finder) uuid(b box) error {
	id := make([]byte, min(int64(len(spherical)), b.end-b.body))
	if err := f.read(id, b.body); err != nil {
		return err
	}
	if string(id) == spherical {
		return nil
	}
	return f.free(b)
}
