package bench

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// storeReadEntries is how many entries a read asks for.
const storeReadEntries = 50

// storeSample is how many conversations have their entries compared at the end,
// and storeSampleEntries how many of each end of them.
const (
	storeSample        = 100
	storeSampleEntries = 1000
)

// reads reads entries of random conversations for half a step: the last ones, or
// a range anywhere in it.
func (r *storeRun) reads(old bool) (StoreRead, error) {
	out := StoreRead{Kind: "last", Entries: storeReadEntries}
	if old {
		out.Kind = "old"
	}
	var in time.Duration
	for begin := time.Now(); out.Reads == 0 || time.Since(begin) < r.o.Step/2; {
		if err := r.ctx.Err(); err != nil {
			return out, err
		}
		c := r.rng.IntN(len(r.load.convs))
		head := uint64(r.book.heads[c])
		first := max(head, storeReadEntries) - storeReadEntries + 1
		if old {
			first = 1 + r.rng.Uint64N(first)
		}
		start := time.Now()
		page, err := r.readPage(c, first, old)
		if err != nil {
			return out, err
		}
		in += time.Since(start)
		out.Reads++
		want := min(head, first+storeReadEntries-1)
		r.ordered(page, first, want)
	}
	out.PerS = float64(out.Reads) / in.Seconds()
	out.Micros = float64(in.Nanoseconds()) / 1e3 / float64(out.Reads)
	return out, nil
}

func (r *storeRun) readPage(c int, first uint64, old bool) ([]im.Entry, error) {
	if old {
		return r.j.Read(r.ctx, r.load.convs[c], first, false, storeReadEntries)
	}
	return r.j.Read(r.ctx, r.load.convs[c], 0, true, storeReadEntries)
}

// ordered checks that a page has just the entries first … last. Its end may be
// missing when the entries are large.
func (r *storeRun) ordered(page []im.Entry, first, last uint64) {
	for i := range page {
		if page[i].Seq != first+uint64(i) || page[i].Seq > last {
			r.book.disordered++
			return
		}
	}
	if len(page) == 0 && first <= last {
		r.book.lost++
	}
}

// reopen closes the journal, measures it at rest, opens it again and verifies
// what it holds.
func (r *storeRun) reopen(report *StoreReport) error {
	closing := r.close
	r.close = nil
	if err := closing(); err != nil {
		return err
	}
	bytes, err := r.bytes()
	if err != nil {
		return err
	}
	report.BytesPerMessage = float64(bytes) / float64(max(len(r.book.seqs), 1))
	start := time.Now()
	if err := r.open(); err != nil {
		return err
	}
	report.ReopenMs = float64(time.Since(start).Microseconds()) / 1e3
	if _, err := r.j.Read(r.ctx, r.load.convs[0], 0, true, 1); err != nil {
		return err
	}
	r.next(1, 0)
	if err := r.j.Append(r.ctx, r.batch, r.out); err != nil {
		return err
	}
	report.ReadyMs = float64(time.Since(start).Microseconds()) / 1e3
	r.checked()
	r.say("  reopened in %.0f ms; verifying", report.ReopenMs)
	return r.verify()
}

// verify compares all heads, and both ends of a sample of conversations.
func (r *storeRun) verify() error {
	out := make([]im.Head, 1024)
	for from := 0; from < len(r.load.convs); from += len(out) {
		part := r.load.convs[from:min(from+len(out), len(r.load.convs))]
		if err := r.j.Heads(r.ctx, part, out[:len(part)]); err != nil {
			return err
		}
		for i := range part {
			r.book.head(from+i, out[i])
		}
	}
	var sample []int
	for range min(storeSample, len(r.load.convs)) {
		sample = append(sample, r.rng.IntN(len(r.load.convs)))
	}
	for c, want := range r.book.wanted(sample) {
		end := uint64(1)
		if len(want) > storeSampleEntries {
			end = uint64(len(want) - storeSampleEntries + 1)
		}
		for _, from := range []uint64{1, end} {
			if err := r.verifyRange(c, want, from); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *storeRun) verifyRange(c int, want []uint32, from uint64) error {
	for last := from + storeSampleEntries; from < last; {
		page, err := r.j.Read(r.ctx, r.load.convs[c], from, false, storeSampleEntries)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil // the heads told what is missing at the end
		}
		r.book.entries(c, want, from, page)
		from = page[len(page)-1].Seq + 1
	}
	return nil
}

func (r *storeRun) bytes() (int64, error) {
	if r.postgres != nil {
		return r.postgres.bytes(r.ctx)
	}
	return diskBytes(r.dir)
}

// diskBytes is what the files below dir take on the disk.
func diskBytes(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an engine that keeps nothing here
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			total += onDisk(info)
		}
		return nil
	})
	return total, err
}
