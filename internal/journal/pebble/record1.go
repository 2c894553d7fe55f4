package pebble

import (
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// The record of an entry as schemas 1 to 3 had it. Nothing but the migration to
// schema 4 reads it, and nothing writes it any more. Numbers are unsigned varints
// (times are signed varints), strings are a length and their bytes.
//
//	version(1) flags(1) kind(1) body_length id(16) sender stored_ms count pos roster
//	reply_to target type mentions(n, strings)
//	[event: type(1) role(1) until(sec, nsec) text users(n, strings)]
//	body
const oldRecordVersion = 1

// The flags of such a record.
const (
	oldFlagRecalled = 1 << iota
	oldFlagText
	oldFlagEvent
	oldFlagUntil
)

const oldFlagsKnown = oldFlagRecalled | oldFlagText | oldFlagEvent | oldFlagUntil

// oldHead decodes the part that has the columns and leaves d behind the roster;
// what it returns is the body, which d does not have any more.
func oldHead(d *decoder, e *im.Entry) (flags byte, body []byte) {
	if d.byte() != oldRecordVersion {
		d.bad = true
	}
	flags = d.byte()
	if flags&^oldFlagsKnown != 0 {
		d.bad = true
	}
	e.Kind = im.EntryKind(d.byte())
	n := d.uvarint()
	if d.bad || uint64(len(d.b)-d.at) < n+uint64(len(e.ID)) || n > uint64(len(d.b)) {
		d.bad = true
		return 0, nil
	}
	cut := len(d.b) - int(n)
	d.b, body = d.b[:cut], d.b[cut:]
	copy(e.ID[:], d.b[d.at:])
	d.at += len(e.ID)
	e.Sender = im.UserID(d.string())
	e.Stored = time.UnixMilli(d.varint()).UTC()
	e.Count, e.Pos, e.Roster = d.uvarint(), d.uvarint(), d.uvarint()
	e.Recalled = flags&oldFlagRecalled != 0
	return flags, body
}

// decodeOldHead tells whether a record is of a message that was recalled.
func decodeOldHead(value []byte) (recalled bool) {
	d := decoder{b: value}
	var e im.Entry
	oldHead(&d, &e)
	return !d.bad && e.Recalled && e.Countable()
}

// decodeOldRecord fills e from such a record, with the body that says the same.
func decodeOldRecord(value []byte, e *im.Entry) error {
	d := decoder{b: value}
	var o entrycodec.Old
	flags, body := oldHead(&d, e)
	o.Content, o.ReplyTo, e.Target = body, d.uvarint(), d.uvarint()
	o.Type, o.Text = d.string(), flags&oldFlagText != 0
	o.Mentions = oldStrings(&d)
	switch {
	case flags&oldFlagEvent != 0:
		v := &im.Event{Type: im.EventType(d.byte()), Role: im.Role(d.byte())}
		if flags&oldFlagUntil != 0 {
			sec := d.varint()
			v.Until = time.Unix(sec, int64(d.uvarint()%1e9)).UTC()
		}
		v.Text = d.string()
		v.Users = oldStrings(&d)
		o.Event = v
	case flags&oldFlagUntil != 0:
		d.bad = true
	}
	if d.bad || d.at != len(d.b) {
		return errRecord
	}
	if !e.Recalled {
		e.Body = o.Body(e.Kind)
	}
	return nil
}

func oldStrings(d *decoder) []im.UserID {
	n := d.uvarint()
	// Each string takes a byte at least, which bounds what is allocated.
	if d.bad || n > uint64(len(d.b)-d.at) {
		d.bad = true
		return nil
	}
	if n == 0 {
		return nil
	}
	list := make([]im.UserID, n)
	for i := range list {
		list[i] = im.UserID(d.string())
	}
	return list
}
