package migrate

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// digest is of many rows in whatever order: how many there are, and the sum of
// their hashes. Two sets of rows with the same digest are the same.
type digest struct {
	rows uint64
	sum  [4]uint64
}

// digester hashes rows, one at a time.
type digester struct {
	of  digest
	h   hash.Hash
	buf []byte
}

func newDigester() *digester { return &digester{h: sha256.New()} }

// end adds the row in buf.
func (d *digester) end() {
	d.h.Reset()
	d.h.Write(d.buf)
	var sum [sha256.Size]byte
	d.h.Sum(sum[:0])
	d.of.rows++
	for i := range d.of.sum {
		d.of.sum[i] += binary.LittleEndian.Uint64(sum[8*i:])
	}
	d.buf = d.buf[:0]
}

func (d *digester) number(n uint64) { d.buf = binary.BigEndian.AppendUint64(d.buf, n) }

func (d *digester) truth(b bool) {
	if b {
		d.buf = append(d.buf, 1)
	} else {
		d.buf = append(d.buf, 0)
	}
}

func text[S ~string | ~[]byte](d *digester, s S) {
	d.number(uint64(len(s)))
	d.buf = append(d.buf, s...)
}

// entry adds an entry with its hash.
func (d *digester) entry(e *im.Entry, hash uint64) {
	text(d, e.Conversation)
	for _, n := range [...]uint64{e.Seq, e.Count, uint64(e.Stored.UnixMilli()), e.Pos, hash, uint64(e.Kind), e.Roster, e.ReplyTo, e.Target} {
		d.number(n)
	}
	d.buf = append(d.buf, e.ID[:]...)
	text(d, e.Sender)
	d.truth(e.Recalled)
	d.truth(e.Content.Text)
	text(d, e.Content.Type)
	text(d, e.Content.Body)
	d.number(uint64(len(e.Mentions)))
	for _, u := range e.Mentions {
		text(d, u)
	}
	d.truth(e.Event != nil)
	if v := e.Event; v != nil {
		d.number(uint64(v.Type))
		d.number(uint64(v.Role))
		until := v.Until.UTC()
		// No store of texts tells a later time.
		if last := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC); until.Year() > 9999 {
			until = last
		}
		d.number(uint64(until.Unix()))
		d.number(uint64(until.Nanosecond()))
		text(d, v.Text)
		d.number(uint64(len(v.Users)))
		for _, u := range v.Users {
			text(d, u)
		}
	}
	d.end()
}

func (d *digester) mark(m *im.Mark) {
	text(d, m.User)
	text(d, m.Conversation)
	for _, n := range [...]uint64{m.Received, m.Read, m.ReadCount, m.Pos} {
		d.number(n)
	}
	d.end()
}

// row adds a row of a directory's table.
func (d *digester) row(values []any) error {
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
