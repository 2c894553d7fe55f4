package isobmff

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// mostTable is how long the lists of a picture's items may be, each. A picture of 1,000 tiles
// has 30 KB.
const mostTable = 1 << 20

// noEXIF is an item of EXIF that says nothing: how far it is to its TIFF, which has an empty
// directory and no second one. Decoders refuse a picture whose EXIF is no TIFF.
const noEXIF = "\x00\x00\x00\x00MM\x00*\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00"

// meta looks at the meta of a file: that of a picture has its items, any other goes.
func (f *finder) meta(b box) error {
	var handler string
	parts := map[string]box{}
	for at := b.body + 4; at < b.end; { // a version before them
		p, ok, err := f.head(at, b.end)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch p.kind {
		case "hdlr":
			if handler, err = f.text(p.body+8, 4, p.end); err != nil {
				return err
			}
		case "iinf", "iloc", "idat":
			if _, twice := parts[p.kind]; twice {
				return fmt.Errorf("%w: it has two of %s", ErrBroken, p.kind)
			}
			parts[p.kind] = p
		case "iprp":
			err = f.walk("iprp", p.body, p.end)
		default:
			err = f.look("meta", p)
		}
		if err != nil {
			return err
		}
		at = p.end
	}
	if handler != "pict" {
		return f.free(b)
	}
	return f.items(parts["iinf"], parts["iloc"], parts["idat"])
}

// text reads n bytes; "": there are not as many.
func (f *finder) text(at, n, end int64) (string, error) {
	if at+n > end {
		return "", nil
	}
	b := make([]byte, n)
	err := f.read(b, at)
	return string(b), err
}

// list reads what is in a box that lists items.
func (f *finder) list(b box) (*cursor, error) {
	if b.end-b.body > mostTable {
		return nil, fmt.Errorf("%w: its %s has %d bytes; at most %d are read", ErrBroken, b.kind, b.end-b.body, mostTable)
	}
	all := make([]byte, b.end-b.body)
	return &cursor{b: all}, f.read(all, b.body)
}

// items writes over those that are no pictures.
func (f *finder) items(iinf, iloc, idat box) error {
	list, err := f.list(iinf)
	if err != nil {
		return err
	}
	private := list.privateItems()
	if list.bad {
		return fmt.Errorf("%w: the list of its items cannot be read", ErrBroken)
	}
	if len(private) == 0 {
		return nil
	}
	if list, err = f.list(iloc); err != nil {
		return err
	}
	l := locator{f: f, cursor: list, idat: idat, private: private}
	err = l.items()
	if err == nil && list.bad {
		err = fmt.Errorf("%w: where its items are cannot be read", ErrBroken)
	}
	return err
}

// privateItems are those of iinf that say something besides the picture, each with what is
// written over it: EXIF, texts (XMP is one) and what only an address tells the kind of.
// Pictures have kinds of their own, or are of a type image/.
func (c *cursor) privateItems() map[uint32]Patch {
	if len(c.b) == 0 {
		return nil
	}
	private := map[uint32]Patch{}
	n := 2
	if c.uint(4)>>24 > 0 {
		n = 4
	}
	c.uint(n) // how many there are: all are read
	for len(c.b) > 0 && !c.bad {
		size, kind := c.uint(4), string(c.take(4))
		e := &cursor{b: c.take(size - 8)}
		if c.bad || kind != "infe" {
			continue
		}
		version, n := e.uint(4)>>24, 2
		if version == 3 {
			n = 4
		}
		id := uint32(e.uint(n))
		e.uint(2) // protection
		kind = "mime"
		if version >= 2 {
			kind = string(e.take(4))
		}
		e.name() // its own
		switch kind {
		case "Exif":
			private[id] = Patch{Begin: noEXIF}
		case "mime":
			if !strings.HasPrefix(strings.ToLower(e.name()), "image/") {
				private[id] = Patch{Fill: ' '}
			}
		case "uri ":
			private[id] = Patch{}
		}
		c.bad = c.bad || e.bad || version > 3
	}
	return private
}

// locator reads iloc.
type locator struct {
	*cursor
	f       *finder
	idat    box
	private map[uint32]Patch
}

func (l *locator) items() error {
	version := l.uint(4) >> 24
	sizes := l.uint(2)
	offset, length, base, index := int(sizes>>12), int(sizes>>8&15), int(sizes>>4&15), int(sizes&15)
	if version == 0 {
		index = 0
	}
	for _, n := range []int{offset, length, base, index} {
		l.bad = l.bad || n != 0 && n != 4 && n != 8
	}
	wide := 2
	if version == 2 {
		wide = 4
	}
	l.bad = l.bad || version > 2
	for range l.uint(wide) {
		if l.bad {
			return nil
		}
		id, method := uint32(l.uint(wide)), uint64(0)
		if version > 0 {
			method = l.uint(2) & 15
		}
		l.uint(2) // which file: this one
		from := l.uint(base)
		extents := &cursor{b: l.take(l.uint(2) * uint64(index+offset+length))}
		p, ok := l.private[id]
		if !ok || l.bad {
			continue
		}
		within, err := l.within(method)
		if err != nil {
			return err
		}
		for len(extents.b) > 0 {
			extents.uint(index)
			at := extents.uint(offset)
			if p, err = l.extent(p, within, from, at, extents.uint(length)); err != nil {
				return err
			}
		}
	}
	return nil
}

// within is what the offsets of an item count in, by its construction method.
func (l *locator) within(method uint64) (box, error) {
	switch {
	case method == 0:
		return box{end: l.f.size}, nil
	case method == 1 && l.idat.end > 0:
		return l.idat, nil
	}
	return box{}, fmt.Errorf("%w: it has EXIF or XMP where they cannot be found", ErrBroken)
}

// extent writes over a part of an item, and returns what is written over the next one. One
// without a length is all of what it lies in, which is no item's alone.
func (l *locator) extent(p Patch, in box, base, offset, length uint64) (Patch, error) {
	room := uint64(in.end - in.body)
	if base > room || offset > room-base || length > room-base-offset {
		return p, fmt.Errorf("%w: an item lies outside of it", ErrBroken)
	}
	rest := p.Begin
	p.At, p.Size = in.body+int64(base+offset), int64(length)
	p.Begin = rest[:min(length, uint64(len(rest)))]
	err := l.f.add(p)
	p.Begin = rest[len(p.Begin):]
	return p, err
}

// cursor reads a list that is in memory. bad: it ended too early.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.b, c.bad = nil, true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// uint reads a number of n bytes, at most 8.
func (c *cursor) uint(n int) uint64 {
	var b [8]byte
	copy(b[8-n:], c.take(uint64(n)))
	return binary.BigEndian.Uint64(b[:])
}

// name reads up to a zero, or the end.
func (c *cursor) name() string {
	name, rest, _ := bytes.Cut(c.b, []byte{0})
	c.b = rest
	return string(name)
}
