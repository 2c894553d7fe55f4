package pebble

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The record of an entry, version 1. Numbers are unsigned varints (times are
// signed varints), strings are a length and their bytes. The body comes last, so
// that all strings can share one copy of what lies before it.
//
//	version(1) flags(1) kind(1) body_length id(16) sender stored_ms count pos roster
//	reply_to target type mentions(n, strings)
//	[event: type(1) role(1) until(sec, nsec) text users(n, strings)]
//	body
const recordVersion = 1

// The flags of a record.
const (
	flagRecalled = 1 << iota
	flagText
	flagEvent
	flagUntil
)

const flagsKnown = flagRecalled | flagText | flagEvent | flagUntil

var errRecord = errors.New("not a record of an entry")

func appendString[S ~string](dst []byte, s S) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendStrings[S ~string](dst []byte, list []S) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, s := range list {
		dst = appendString(dst, s)
	}
	return dst
}

// appendRecord appends the record of e. Conversation and Seq are in the key.
func appendRecord(dst []byte, e *im.Entry) []byte {
	var flags byte
	if e.Recalled {
		flags |= flagRecalled
	}
	if e.Content.Text {
		flags |= flagText
	}
	if e.Event != nil {
		flags |= flagEvent
		if !e.Event.Until.IsZero() {
			flags |= flagUntil
		}
	}
	dst = append(dst, recordVersion, flags, byte(e.Kind))
	dst = binary.AppendUvarint(dst, uint64(len(e.Content.Body)))
	dst = append(dst, e.ID[:]...)
	dst = appendString(dst, e.Sender)
	dst = binary.AppendVarint(dst, e.Stored.UnixMilli())
	dst = binary.AppendUvarint(dst, e.Count)
	dst = binary.AppendUvarint(dst, e.Pos)
	dst = binary.AppendUvarint(dst, e.Roster)
	dst = binary.AppendUvarint(dst, e.ReplyTo)
	dst = binary.AppendUvarint(dst, e.Target)
	dst = appendString(dst, e.Content.Type)
	dst = appendStrings(dst, e.Mentions)
	if v := e.Event; v != nil {
		dst = append(dst, byte(v.Type), byte(v.Role))
		if flags&flagUntil != 0 {
			dst = binary.AppendVarint(dst, v.Until.Unix())
			dst = binary.AppendUvarint(dst, uint64(v.Until.Nanosecond()))
		}
		dst = appendString(dst, v.Text)
		dst = appendStrings(dst, v.Users)
	}
	return append(dst, e.Content.Body...)
}

// decoder reads a record. After an error everything reads as zero.
type decoder struct {
	// b is the record without its body, s the same bytes as a string when strings
	// are wanted.
	b    []byte
	s    string
	body []byte
	at   int
	bad  bool
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

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// span reads a length and returns where that many bytes lie.
func (d *decoder) span() (from, to int) {
	n := d.uvarint()
	if d.bad || n > uint64(len(d.b)-d.at) {
		d.bad = true
		return 0, 0
	}
	from = d.at
	d.at += int(n)
	return from, d.at
}

func (d *decoder) string() string {
	from, to := d.span()
	if to > len(d.s) {
		return ""
	}
	return d.s[from:to]
}

func decodeStrings[S ~string](d *decoder) []S {
	n := d.uvarint()
	// Each string takes a byte at least, which bounds what is allocated.
	if d.bad || n > uint64(len(d.b)-d.at) {
		d.bad = true
		return nil
	}
	if n == 0 {
		return nil
	}
	list := make([]S, n)
	for i := range list {
		list[i] = S(d.string())
	}
	return list
}

// head decodes the part every reader needs and leaves d behind the roster.
// Sender is set when strings are wanted; its bytes are returned either way.
func (d *decoder) head(e *im.Entry, strings bool) (flags byte, sender []byte) {
	if d.byte() != recordVersion {
		d.bad = true
	}
	flags = d.byte()
	if flags&^flagsKnown != 0 {
		d.bad = true
	}
	e.Kind = im.EntryKind(d.byte())
	body := d.uvarint()
	if d.bad || uint64(len(d.b)-d.at) < body+uint64(len(e.ID)) || body > uint64(len(d.b)) {
		d.bad = true
		return 0, nil
	}
	cut := len(d.b) - int(body)
	d.b, d.body = d.b[:cut], d.b[cut:]
	if strings {
		d.s = string(d.b)
	}
	copy(e.ID[:], d.b[d.at:])
	d.at += len(e.ID)
	from, to := d.span()
	sender = d.b[from:to]
	if strings {
		e.Sender = im.UserID(d.s[from:to])
	}
	e.Stored = time.UnixMilli(d.varint()).UTC()
	e.Count = d.uvarint()
	e.Pos = d.uvarint()
	e.Roster = d.uvarint()
	e.Recalled = flags&flagRecalled != 0
	return flags, sender
}

// decodeHead decodes without allocating: Stored, Count, Pos, Roster, ID, Kind
// and Recalled are set, the sender is returned as bytes of value.
func decodeHead(value []byte, e *im.Entry) (sender []byte, err error) {
	d := decoder{b: value}
	_, sender = d.head(e, false)
	if d.bad {
		return nil, errRecord
	}
	return sender, nil
}

// decodeRecord fills e from a record; value is not kept. Conversation and Seq
// are left alone.
func decodeRecord(value []byte, e *im.Entry) error {
	d := decoder{b: value}
	flags, _ := d.head(e, true)
	e.ReplyTo = d.uvarint()
	e.Target = d.uvarint()
	e.Content.Type = d.string()
	e.Content.Text = flags&flagText != 0
	e.Mentions = decodeStrings[im.UserID](&d)
	switch {
	case flags&flagEvent != 0:
		v := &im.Event{Type: im.EventType(d.byte()), Role: im.Role(d.byte())}
		if flags&flagUntil != 0 {
			sec := d.varint()
			v.Until = time.Unix(sec, int64(d.uvarint()%1e9)).UTC()
		}
		v.Text = d.string()
		v.Users = decodeStrings[im.UserID](&d)
		e.Event = v
	case flags&flagUntil != 0:
		d.bad = true
	}
	if d.bad || d.at != len(d.b) {
		return errRecord
	}
	if len(d.body) > 0 {
		e.Content.Body = append([]byte(nil), d.body...)
	}
	return nil
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

// The value of a mark key: four varints.
func appendMarkValue(dst []byte, m *im.Mark) []byte {
	dst = binary.AppendUvarint(dst, m.Received)
	dst = binary.AppendUvarint(dst, m.Read)
	dst = binary.AppendUvarint(dst, m.ReadCount)
	return binary.AppendUvarint(dst, m.Pos)
}

func decodeMarkValue(v []byte, m *im.Mark) bool {
	d := decoder{b: v}
	m.Received, m.Read, m.ReadCount, m.Pos = d.uvarint(), d.uvarint(), d.uvarint(), d.uvarint()
	return !d.bad && d.at == len(v)
}
