package isobmff

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// track is what of a track tells where its samples are.
type track struct {
	handler, sizes, runs, chunks box
}

// trak looks at a track. One of metadata goes with its samples: cameras write there, once a
// second and more often, where they are.
func (f *finder) trak(b box) error {
	f.track = track{}
	if err := f.walk("trak", b.body, b.end); err != nil {
		return err
	}
	kind, err := f.text(f.track.handler.body+8, 4, f.track.handler.end)
	if err != nil || kind != "meta" && kind != "camm" {
		return err
	}
	if err := f.samples(); err != nil {
		return err
	}
	return f.free(b)
}

// samples writes over the samples of the track, as far as its tables tell them: stsc how many
// are in each chunk, stsz how long they are, stco or co64 where each chunk begins.
func (f *finder) samples() error {
	sizes, runs, chunks := f.table(f.track.sizes), f.table(f.track.runs), f.table(f.track.chunks)
	wide := 4
	if f.track.chunks.kind == "co64" {
		wide = 8
	}
	sizes.uint(4) // a version
	each, left := sizes.uint(4), sizes.uint(4)
	runs.uint(8) // a version, and how many there are
	chunks.uint(8)
	run := func() (first, per uint64) {
		first, per = runs.uint(4), runs.uint(4)
		runs.uint(4) // how they are described
		return first, per
	}
	per := uint64(0)
	next, nextPer := run()
	for i := uint64(1); left > 0; i++ {
		at := chunks.uint(wide)
		if chunks.err != nil {
			break
		}
		for runs.err == nil && next <= i {
			per = nextPer
			next, nextPer = run()
		}
		n := min(per, left)
		left -= n
		size := each * n
		if each == 0 {
			size = sizes.sum(n)
		}
		if at >= uint64(f.size) {
			continue
		}
		if err := f.add(Patch{At: int64(at), Size: int64(min(size, uint64(f.size)-at))}); err != nil {
			return err
		}
	}
	for _, t := range []*table{sizes, runs, chunks} {
		if t.err != nil && !errors.Is(t.err, io.EOF) && !errors.Is(t.err, io.ErrUnexpectedEOF) {
			return t.err
		}
	}
	return nil
}

// table reads numbers one after the other. err: it is at its end, or cannot be read.
type table struct {
	r   *bufio.Reader
	err error
}

func (f *finder) table(b box) *table {
	return &table{r: bufio.NewReaderSize(io.NewSectionReader(f.r, b.body, b.end-b.body), 64<<10)}
}

func (t *table) uint(n int) uint64 {
	var b [8]byte
	if t.err == nil {
		_, t.err = io.ReadFull(t.r, b[8-n:])
	}
	return binary.BigEndian.Uint64(b[:])
}

// sum adds the next n numbers, or as many as there are.
func (t *table) sum(n uint64) (sum uint64) {
	for ; n > 0 && t.err == nil; n-- {
		sum += t.uint(4)
	}
	return sum
}
