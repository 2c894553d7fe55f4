package postgres

import "encoding/binary"

// The types' numbers in PostgreSQL, which never change.
const (
	oidBytea = 17
	oidInt8  = 20
	oidInt2  = 21
	oidInt4  = 23
	oidText  = 25
	oidUUID  = 2950
)

// column builds an array in PostgreSQL's binary form. Its memory is used again.
type column struct {
	buf   []byte
	n     uint32
	nulls uint32
}

// begin starts an array of values of a type.
func (c *column) begin(oid uint32) {
	b := append(c.buf[:0], 0, 0, 0, 1, 0, 0, 0, 0) // dimensions, nulls
	b = binary.BigEndian.AppendUint32(b, oid)
	c.buf = append(b, 0, 0, 0, 0, 0, 0, 0, 1) // length, first index
	c.n, c.nulls = 0, 0
}

func (c *column) int8(v uint64) {
	c.n++
	c.buf = binary.BigEndian.AppendUint64(append(c.buf, 0, 0, 0, 8), v)
}

func (c *column) int8OrNull(v uint64) {
	if v == 0 {
		c.null()
	} else {
		c.int8(v)
	}
}

func (c *column) int4(v int) {
	c.n++
	c.buf = binary.BigEndian.AppendUint32(append(c.buf, 0, 0, 0, 4), uint32(v))
}

func (c *column) int2(v uint16) { c.n++; c.buf = append(c.buf, 0, 0, 0, 2, byte(v>>8), byte(v)) }

func (c *column) null() {
	c.n++
	c.nulls++
	c.buf = append(c.buf, 0xff, 0xff, 0xff, 0xff)
}

// add appends a text, bytea or uuid.
func add[S ~string | ~[]byte](c *column, v S) {
	c.n++
	c.buf = append(binary.BigEndian.AppendUint32(c.buf, uint32(len(v))), v...)
}

// end returns the array. Of nothing but nulls it is null itself, which the
// database takes for as many nulls as needed.
func (c *column) end() []byte {
	if c.n == 0 {
		clear(c.buf[:8]) // no dimensions
		return c.buf[:12]
	}
	if c.nulls == c.n {
		return nil
	}
	if c.nulls > 0 {
		c.buf[7] = 1
	}
	binary.BigEndian.PutUint32(c.buf[12:], c.n)
	return c.buf
}

// texts returns an array of names.
func texts[S ~string](c *column, names []S) []byte {
	c.begin(oidText)
	for _, n := range names {
		add(c, n)
	}
	return c.end()
}

// numbers returns an array of positions in a list, which count from 1 there.
func numbers(c *column, at []int32) []byte {
	c.begin(oidInt4)
	for _, i := range at {
		c.int4(int(i) + 1)
	}
	return c.end()
}

func int8Param(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func int4Param(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

func boolParam(v bool) []byte {
	if v {
		return []byte{1}
	}
	return []byte{0}
}

// The values of a row, in binary form; null is zero.

func int8Of(v []byte) uint64 {
	if len(v) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(v)
}

func int2Of(v []byte) uint16 {
	if len(v) != 2 {
		return 0
	}
	return binary.BigEndian.Uint16(v)
}

func int4Of(v []byte) int {
	if len(v) != 4 {
		return 0
	}
	return int(int32(binary.BigEndian.Uint32(v)))
}

func boolOf(v []byte) bool { return len(v) == 1 && v[0] != 0 }

// array walks over a one-dimensional array in binary form; null is empty.
type array struct {
	rest []byte
	n    int
}

func arrayOf(v []byte) array {
	if len(v) < 20 {
		return array{}
	}
	return array{rest: v[20:], n: int(binary.BigEndian.Uint32(v[12:]))}
}

// next returns the next value, nil for null and at the end.
func (a *array) next() []byte {
	if len(a.rest) < 4 {
		return nil
	}
	n := int32(binary.BigEndian.Uint32(a.rest))
	a.rest = a.rest[4:]
	if n < 0 || int(n) > len(a.rest) {
		return nil
	}
	v := a.rest[:n]
	a.rest = a.rest[n:]
	return v
}
