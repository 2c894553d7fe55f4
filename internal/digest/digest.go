// Package digest tells whether two stores hold the same: entries, marks and the
// rows of a directory's tables, in whatever order they are read.
//
// It knows the values, and no engine. It starts no goroutine and takes no lock.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/skein-im/skein/internal/im"
)

// Digest is of many rows in whatever order: how many there are, and the sum of
// their hashes. Two sets of rows with the same digest are the same. Digests are
// compared with ==.
type Digest struct {
	Rows uint64
	sum  [4]uint64
}

// Sum is the sum of the hashes in hexadecimal.
func (d Digest) Sum() string {
	var b [sha256.Size]byte
	for i, n := range d.sum {
		binary.BigEndian.PutUint64(b[8*i:], n)
	}
	return hex.EncodeToString(b[:])
}

// Digester hashes rows, one at a time.
type Digester struct {
	of  Digest
	h   hash.Hash
	buf []byte
}

// New begins a digest of no rows.
func New() *Digester { return &Digester{h: sha256.New()} }

// Digest is that of the rows so far.
func (d *Digester) Digest() Digest { return d.of }

// end adds the row in buf.
func (d *Digester) end() {
	d.h.Reset()
	d.h.Write(d.buf)
	var sum [sha256.Size]byte
	d.h.Sum(sum[:0])
	d.of.Rows++
	for i := range d.of.sum {
		d.of.sum[i] += binary.LittleEndian.Uint64(sum[8*i:])
	}
	d.buf = d.buf[:0]
}

func (d *Digester) number(n uint64) { d.buf = binary.BigEndian.AppendUint64(d.buf, n) }

func (d *Digester) truth(b bool) {
	if b {
		d.buf = append(d.buf, 1)
	} else {
		d.buf = append(d.buf, 0)
	}
}

func text[S ~string | ~[]byte](d *Digester, s S) {
	d.number(uint64(len(s)))
	d.buf = append(d.buf, s...)
}

// Entry adds an entry with its hash.
func (d *Digester) Entry(e *im.Entry, hash uint64) {
	text(d, e.Conversation)
	for _, n := range [...]uint64{e.Seq, e.Count, uint64(e.Stored.UnixMilli()), e.Pos, hash, uint64(e.Kind), e.Roster, e.Target, e.Amended} {
		d.number(n)
	}
	d.buf = append(d.buf, e.ID[:]...)
	text(d, e.Sender)
	d.truth(e.Recalled)
	text(d, e.Body)
	d.end()
}

// Mark adds a mark.
func (d *Digester) Mark(m *im.Mark) {
	text(d, m.User)
	text(d, m.Conversation)
	for _, n := range [...]uint64{m.Received, m.Read, m.ReadCount, m.Pos} {
		d.number(n)
	}
	text(d, m.Mine)
	d.end()
}

// Row adds a row of a directory's table.
func (d *Digester) Row(values []any) error {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			d.buf = append(d.buf, 0)
		case string:
			d.buf = append(d.buf, 1)
			text(d, v)
		case []byte:
			d.buf = append(d.buf, 2)
			text(d, v)
		case int64:
			d.buf = append(d.buf, 3)
			d.number(uint64(v))
		case bool:
			d.buf = append(d.buf, 4)
			d.truth(v)
		default:
			return fmt.Errorf("a value of type %T", v)
		}
	}
	d.end()
	return nil
}
