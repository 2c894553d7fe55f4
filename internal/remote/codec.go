package remote

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// What nodes say to each other. Numbers are varints, strings and bytes have
// their length before them, times are seconds and nanoseconds. Every record has its
// length before it and new fields come at its end: a node that knows fewer skips
// the rest, one that knows more finds zeros. So neighbouring versions understand
// each other; a field is never removed or given another meaning.

var errMessage = errors.New("remote: malformed message")

func putString[S ~string](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func putBytes(b, v []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(v))), v...) }

func putBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func putTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.AppendVarint(b, math.MinInt64)
	}
	return binary.AppendUvarint(binary.AppendVarint(b, t.Unix()), uint64(t.Nanosecond()))
}

// timeOfMs and msOfTime are between times and Unix milliseconds, 0 being none.
func timeOfMs(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func msOfTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// putRecord appends a record that fill appends the fields of. The length has a
// fixed width, so that it can be filled in afterwards.
func putRecord(b []byte, fill func(b []byte) []byte) []byte {
	at := len(b)
	b = fill(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// reader reads what the put functions wrote. After an error it gives zeros and
// keeps the error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = errMessage
	}
	r.b = nil
}

func (r *reader) uint() uint64 {
	if len(r.b) == 0 {
		return 0 // fields that an older node does not know
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	if len(r.b) == 0 {
		return 0
	}
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// fixed reads 8 bytes.
func (r *reader) fixed() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) bool() bool { return r.byte() != 0 }

// bytes are a part of the message.
func (r *reader) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) string() string { return string(r.bytes()) }

func (r *reader) time() time.Time {
	if len(r.b) == 0 {
		return time.Time{}
	}
	v := r.int()
	if v == math.MinInt64 || r.err != nil {
		return time.Time{}
	}
	return time.Unix(v, int64(r.uint()))
}

// record gives a reader for the fields of a record.
func (r *reader) record() *reader {
	if len(r.b) < 4 {
		r.fail()
		return &reader{err: r.err}
	}
	n := binary.BigEndian.Uint32(r.b)
	if uint64(n) > uint64(len(r.b)-4) {
		r.fail()
		return &reader{err: r.err}
	}
	in := &reader{b: r.b[4 : 4+n : 4+n]}
	r.b = r.b[4+n:]
	return in
}

// count reads the length of a list whose items have at least one byte each.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

// A call's key is behind everything else, where a node of before does not look.
func putCall(b []byte, c *im.Call) []byte {
	return putString(putBytes(putString(b, c.Method), c.Payload), c.Key)
}

func (r *reader) call() im.Call {
	return im.Call{Method: r.string(), Payload: r.bytes(), Key: r.string()}
}

func putUsers(b []byte, us []im.UserID) []byte {
	b = binary.AppendUvarint(b, uint64(len(us)))
	for _, u := range us {
		b = putString(b, u)
	}
	return b
}

func (r *reader) users() []im.UserID {
	n := r.count()
	if n == 0 {
		return nil
	}
	us := make([]im.UserID, n)
	for i := range us {
		us[i] = im.UserID(r.string())
	}
	return us
}

func putDevice(b []byte, d *im.Device) []byte {
	b = putString(b, d.ID)
	b = append(b, byte(d.Class))
	return putString(b, d.Name)
}

func (r *reader) device() im.Device {
	return im.Device{ID: r.string(), Class: im.DeviceClass(r.byte()), Name: r.string()}
}

func putActor(b []byte, a *im.Actor) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, a.User)
		b = putString(b, a.Session)
		b = putString(b, a.Connection)
		b = putDevice(b, &a.Device)
		b = putString(b, a.Address)
		b = putBool(b, a.Role >= im.ServerAdmin) // all that versions of before know of roles
		b = putTime(b, timeOfMs(a.ExpiresMs))
		return append(b, byte(a.Role))
	})
}

func (r *reader) actor() im.Actor {
	in := r.record()
	a := im.Actor{
		User: im.UserID(in.string()), Session: im.SessionID(in.string()), Connection: im.ConnectionID(in.string()),
		Device: in.device(), Address: in.string(),
	}
	admin := in.bool()
	a.ExpiresMs = msOfTime(in.time())
	if len(in.b) > 0 {
		a.Role = im.ServerRole(in.byte())
	}
	if admin && a.Role < im.ServerAdmin {
		a.Role = im.ServerOwner // of a version that had one role
	}
	r.also(in)
	return a
}

// also keeps the error of a record's reader.
func (r *reader) also(in *reader) {
	if in.err != nil {
		r.fail()
	}
}

func putMessage(b []byte, m *im.Message) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, m.Conversation)
		b = append(b, m.ID[:]...)
		b = append(b, byte(m.Kind))
		b = binary.AppendUvarint(b, m.Target)
		b = binary.AppendUvarint(b, m.ReplyTo)
		b = binary.BigEndian.AppendUint64(b, m.Hash)
		return putBytes(b, m.Body)
	})
}

func (r *reader) id() (id im.MessageID) {
	if copy(id[:], r.b) != len(id) {
		r.fail()
		return id
	}
	r.b = r.b[len(id):]
	return id
}

// message is a member's message; its Body is a part of what is read.
func (r *reader) message() im.Message {
	in := r.record()
	m := im.Message{
		Conversation: im.ConversationID(in.string()), ID: in.id(), Kind: im.EntryKind(in.byte()),
		Target: in.uint(), ReplyTo: in.uint(), Hash: in.fixed(), Body: in.bytes(),
	}
	r.also(in)
	return m
}

func putEntry(b []byte, e *im.Entry) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = binary.AppendUvarint(b, e.Seq)
		b = append(b, e.ID[:]...)
		b = putString(b, e.Sender)
		b = binary.AppendVarint(b, e.Stored.UnixMilli())
		b = append(b, byte(e.Kind))
		b = binary.AppendUvarint(b, e.Count)
		b = putBool(b, e.Recalled)
		b = binary.AppendUvarint(b, e.Target)
		b = binary.AppendUvarint(b, e.Amended)
		b = binary.AppendUvarint(b, e.Pos)
		b = binary.AppendUvarint(b, e.Roster)
		b = putBytes(b, e.Body)
		return b
	})
}

// entry reads an entry of a conversation; its Body is a part of what is read.
func (r *reader) entry(c im.ConversationID) im.Entry {
	in := r.record()
	e := im.Entry{
		Conversation: c, Seq: in.uint(), ID: in.id(), Sender: im.UserID(in.string()), Stored: time.UnixMilli(in.int()), Kind: im.EntryKind(in.byte()),
		Count: in.uint(), Recalled: in.bool(), Target: in.uint(), Amended: in.uint(), Pos: in.uint(), Roster: in.uint(), Body: in.bytes(),
	}
	if in.err == nil && entrycodec.SetEvent(&e) != nil {
		in.fail()
	}
	r.also(in)
	return e
}

func putError(b []byte, err error) []byte {
	e := im.Public(err)
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, e.Code)
		b = putString(b, e.Message)
		b = putBool(binary.AppendVarint(b, int64(e.RetryAfter)), e.Everywhere)
		return putString(putString(putBool(b, e.Settled), e.Field), e.Ticket)
	})
}

func (r *reader) error() error {
	in := r.record()
	e := &im.Error{Code: im.Code(in.string()), Message: in.string(), RetryAfter: time.Duration(in.int()), Everywhere: in.bool(), Settled: in.bool(), Field: in.string(), Ticket: in.string()}
	r.also(in)
	return e
}
