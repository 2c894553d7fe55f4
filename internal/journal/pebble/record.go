package pebble

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The record of an entry, version 2. Numbers are unsigned varints, `stored` is a
// signed one: by how many milliseconds the entry was stored later than its id says
// it was made, which is little. The sender is a length and its bytes. Target,
// amended and roster are there if their flag says so; the body is what is left.
//
//	version_and_flags(1) kind(1) id(16) sender stored count pos [roster] [target] [amended] body
//
// Version 1 is in record1.go, for the migration only.
const recordVersion = 2 << 4 // with the flags in the lower half

// The flags of a record.
const (
	flagRecalled = 1 << iota
	flagRoster
	flagTarget
	flagAmended

	flagsAll = 1<<iota - 1
)

var errRecord = errors.New("not a record of an entry")

func appendString[S ~string](dst []byte, s S) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendRecord appends the record of e. Conversation and Seq are in the key.
func appendRecord(dst []byte, e *im.Entry) []byte {
	at := len(dst)
	dst = append(dst, recordVersion, byte(e.Kind))
	if e.Recalled {
		dst[at] |= flagRecalled
	}
	dst = append(dst, e.ID[:]...)
	dst = appendString(dst, e.Sender)
	dst = binary.AppendVarint(dst, e.Stored.UnixMilli()-e.ID.Time().UnixMilli())
	dst = binary.AppendUvarint(dst, e.Count)
	dst = binary.AppendUvarint(dst, e.Pos)
	for _, o := range [...]struct {
		flag byte
		v    uint64
	}{{flagRoster, e.Roster}, {flagTarget, e.Target}, {flagAmended, e.Amended}} {
		if o.v != 0 {
			dst[at] |= o.flag
			dst = binary.AppendUvarint(dst, o.v)
		}
	}
	return append(dst, e.Body...)
}

// decoder reads a record. After an error everything reads as zero.
type decoder struct {
	b   []byte
	at  int
	bad bool
}

func (d *decoder) byte() byte {
	if d.bad || d.at >= len(d.b) {
		d.bad = true
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *decoder) uvarint() uint64 {
	if d.bad {
		return 0
	}
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.at += n
	return v
}

// optional reads a number that is there if its flag is set; then it is not 0.
func (d *decoder) optional(flags, flag byte) uint64 {
	if flags&flag == 0 {
		return 0
	}
	v := d.uvarint()
	if v == 0 {
		d.bad = true
	}
	return v
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// bytes reads a length and that many bytes, which are not copied.
func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if d.bad || n > uint64(len(d.b)-d.at) {
		d.bad = true
		return nil
	}
	from := d.at
	d.at += int(n)
	return d.b[from:d.at]
}

func (d *decoder) string() string { return string(d.bytes()) }

// head decodes all but sender and body, and leaves d at the body.
func (d *decoder) head(e *im.Entry) (sender []byte) {
	version := d.byte()
	if version&^flagsAll != recordVersion {
		d.bad = true
	}
	e.Kind = im.EntryKind(d.byte())
	if d.bad || len(d.b)-d.at < len(e.ID) {
		d.bad = true
		return nil
	}
	copy(e.ID[:], d.b[d.at:])
	d.at += len(e.ID)
	sender = d.bytes()
	e.Stored = time.UnixMilli(e.ID.Time().UnixMilli() + d.varint()).UTC()
	e.Count = d.uvarint()
	e.Pos = d.uvarint()
	e.Roster = d.optional(version, flagRoster)
	e.Target = d.optional(version, flagTarget)
	e.Amended = d.optional(version, flagAmended)
	e.Recalled = version&flagRecalled != 0
	return sender
}

// decodeHead decodes without allocating all of e but Sender and Body; these are
// returned as bytes of value. What it costs does not grow with the body.
func decodeHead(value []byte, e *im.Entry) (sender, body []byte, err error) {
	d := decoder{b: value}
	sender = d.head(e)
	if d.bad {
		return nil, nil, errRecord
	}
	return sender, value[d.at:], nil
}

// decodeRecord fills e from a record; value is not kept. Conversation and Seq
// are left alone.
func decodeRecord(value []byte, e *im.Entry) error {
	sender, body, err := decodeHead(value, e)
	if err == nil {
		keep(e, sender, body)
	}
	return err
}

// keep sets in e copies of what decodeHead returned.
func keep(e *im.Entry, sender, body []byte) {
	e.Sender, e.Body = im.UserID(sender), nil
	if len(body) > 0 {
		e.Body = append([]byte(nil), body...)
	}
}

// The value of an id key: seq as varint, hash as 8 bytes.
func appendIDValue(dst []byte, seq, hash uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.AppendUvarint(dst, seq), hash)
}

func decodeIDValue(v []byte) (seq, hash uint64, ok bool) {
	seq, n := binary.Uvarint(v)
	if n <= 0 || len(v) != n+8 {
		return 0, 0, false
	}
	return seq, binary.BigEndian.Uint64(v[n:]), true
}

// The value of a mark key: four varints, and what is left is what the user set for
// themselves.
func appendMarkValue(dst []byte, m *im.Mark) []byte {
	dst = binary.AppendUvarint(dst, m.Received)
	dst = binary.AppendUvarint(dst, m.Read)
	dst = binary.AppendUvarint(dst, m.ReadCount)
	dst = binary.AppendUvarint(dst, m.Pos)
	return append(dst, m.Mine...)
}

func decodeMarkValue(v []byte, m *im.Mark) bool {
	d := decoder{b: v}
	m.Received, m.Read, m.ReadCount, m.Pos = d.uvarint(), d.uvarint(), d.uvarint(), d.uvarint()
	if d.bad || len(v)-d.at > im.MaxMine {
		return false
	}
	m.Mine = string(v[d.at:])
	return true
}
