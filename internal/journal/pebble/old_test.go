package pebble

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// oldRecord is the record of an entry as schemas 1 to 3 had it.
func oldRecord(e *im.Entry, o *entrycodec.Old) []byte {
	var flags byte
	set := func(flag byte, on bool) {
		if on {
			flags |= flag
		}
	}
	set(oldFlagRecalled, e.Recalled)
	set(oldFlagText, o.Text)
	set(oldFlagEvent, o.Event != nil)
	set(oldFlagUntil, o.Event != nil && !o.Event.Until.IsZero())
	dst := []byte{oldRecordVersion, flags, byte(e.Kind)}
	dst = binary.AppendUvarint(dst, uint64(len(o.Content)))
	dst = append(dst, e.ID[:]...)
	dst = appendString(dst, e.Sender)
	dst = binary.AppendVarint(dst, e.Stored.UnixMilli())
	for _, n := range []uint64{e.Count, e.Pos, e.Roster, o.ReplyTo, e.Target} {
		dst = binary.AppendUvarint(dst, n)
	}
	list := func(users []im.UserID) {
		dst = binary.AppendUvarint(dst, uint64(len(users)))
		for _, u := range users {
			dst = appendString(dst, u)
		}
	}
	dst = appendString(dst, o.Type)
	list(o.Mentions)
	if v := o.Event; v != nil {
		dst = append(dst, byte(v.Type), byte(v.Role))
		if !v.Until.IsZero() {
			dst = binary.AppendVarint(dst, v.Until.Unix())
			dst = binary.AppendUvarint(dst, uint64(v.Until.Nanosecond()))
		}
		dst = appendString(dst, v.Text)
		list(v.Users)
	}
	return append(dst, o.Content...)
}

// oldSample is an entry of schema 3 with what it says.
type oldSample struct {
	e im.Entry
	o entrycodec.Old
}

func oldSamples() []oldSample {
	id := im.NewMessageID(time.UnixMilli(1_700_000_000_123), [10]byte{1, 2, 3})
	at := time.UnixMilli(1_700_000_000_456).UTC()
	until := time.UnixMilli(1_900_000_000_007).UTC()
	return []oldSample{
		{im.Entry{ID: id, Sender: "a", Kind: im.EntryMessage, Stored: at, Count: 1, Pos: 1}, entrycodec.Old{Type: "text", Content: []byte("hi"), Text: true}},
		{im.Entry{ID: id, Sender: "b", Kind: im.EntryMessage, Stored: at, Count: 300, Pos: 1 << 40, Roster: 9}, entrycodec.Old{Type: "x", Content: []byte{0xff}, ReplyTo: 7, Mentions: []im.UserID{"a", ""}}},
		{im.Entry{ID: id, Sender: "b", Kind: im.EntryMessage, Stored: at, Recalled: true}, entrycodec.Old{}},
		{im.Entry{ID: id, Kind: im.EntryRecall, Stored: at, Target: 1 << 50}, entrycodec.Old{}},
		{im.Entry{ID: id, Kind: im.EntryEvent, Stored: at}, entrycodec.Old{Event: &im.Event{Type: im.EventMemberMuted, Role: im.RoleOwner, Users: []im.UserID{"x"}, Until: until, Text: "t"}}},
		{im.Entry{ID: id, Kind: im.EntryEvent, Stored: time.UnixMilli(-5).UTC()}, entrycodec.Old{Event: &im.Event{}}},
	}
}

// A record of schema 3 becomes the entry whose body says the same.
func TestOldRecord(t *testing.T) {
	for i, s := range oldSamples() {
		want := s.e
		if !s.e.Recalled {
			want.Body = s.o.Body(s.e.Kind)
		}
		whole := oldRecord(&s.e, &s.o)
		var got im.Entry
		if err := decodeOldRecord(whole, &got); err != nil || !reflect.DeepEqual(got, want) && len(got.Body)+len(want.Body) > 0 {
			t.Errorf("entry %d: got %+v, %v, want %+v", i, got, err, want)
		}
		if recalled := decodeOldHead(whole); recalled != (s.e.Recalled && s.e.Countable()) {
			t.Errorf("entry %d is taken for recalled: %v", i, recalled)
		}
		for n := range whole {
			if decodeOldRecord(whole[:n], new(im.Entry)) == nil {
				t.Errorf("entry %d: %d of %d bytes were taken for a record", i, n, len(whole))
			}
		}
		if decodeOldRecord(append(whole, 0), new(im.Entry)) == nil {
			t.Errorf("entry %d: a byte too many was not noticed", i)
		}
	}
	// What version 1 wrote, byte by byte.
	const stored = "010c0301018bcfe5687b710283000000000000000090a7abfef962000000000001780007" +
		"0380ccfd930e050174010178ff"
	raw, err := hex.DecodeString(stored)
	if err != nil {
		t.Fatal(err)
	}
	var got im.Entry
	if err := decodeOldRecord(raw, &got); err != nil || got.Kind != im.EntryEvent || got.Stored.UnixMilli() != 1_700_000_000_456 {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzOldRecord: no bytes make the decoder of old records panic, or allocate much
// beyond their length.
func FuzzOldRecord(f *testing.F) {
	for _, s := range oldSamples() {
		f.Add(oldRecord(&s.e, &s.o))
	}
	f.Add([]byte{oldRecordVersion, oldFlagEvent, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again im.Entry
		if decodeOldRecord(data, &e) != nil {
			return
		}
		if err := decodeRecord(appendRecord(nil, &e), &again); err != nil || !bytes.Equal(again.Body, e.Body) || again.ID != e.ID || again.Pos != e.Pos {
			t.Fatalf("%+v became %+v, %v", e, again, err)
		}
	})
}

// toSchema3 makes a journal what version 3 would have written. What the entries say
// is taken for the text of a message.
func toSchema3(t *testing.T, j *Journal) {
	t.Helper()
	it, err := j.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := j.db.NewBatch()
	set := func(key, value []byte) {
		if err := b.Set(key, value, nil); err != nil {
			t.Fatal(err)
		}
	}
	ids := (&Reader{j: j})
	known, err := ids.newIDReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		k, v := bytes.Clone(it.Key()), it.Value()
		switch k[0] {
		case spaceEntry:
			e := im.Entry{Conversation: im.ConversationID(k[6 : len(k)-8]), Seq: seqOfKey(k)}
			if err := decodeRecord(v, &e); err != nil {
				t.Fatal(err)
			}
			o := entrycodec.Old{}
			if e.Kind == im.EntryMessage && !e.Recalled {
				o = entrycodec.Old{Type: "text", Text: true, Content: e.Body}
			}
			set(append([]byte{midEntries}, k[1:]...), oldRecord(&e, &o))
			seq, hash, err := known.get(&e)
			if err != nil || seq != e.Seq {
				t.Fatal(seq, err)
			}
			space := byte(midIDs)
			if known.key[0] == spaceStrayID {
				space = midStrayIDs
			}
			set(append(append([]byte{space}, e.ID[:]...), e.Sender...), appendIDValue(nil, seq, hash))
		case spaceID, spaceStrayID:
		default:
			continue
		}
		if err := b.Delete(k, nil); err != nil {
			t.Fatal(err)
		}
	}
	set([]byte(keySchema), []byte{3})
	if err := errors.Join(b.Delete([]byte(keySecret), nil), it.Close(), known.it.Close(), b.Commit(pebble.Sync)); err != nil {
		t.Fatal(err)
	}
}
