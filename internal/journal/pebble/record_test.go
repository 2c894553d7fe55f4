package pebble

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func sampleEntries() []im.Entry {
	id := im.NewMessageID(time.UnixMilli(1_700_000_000_123), [10]byte{1, 2, 3})
	at := time.UnixMilli(1_700_000_000_456).UTC()
	return []im.Entry{
		{ID: id, Sender: "a", Kind: im.EntryMessage, Stored: at, Count: 1, Pos: 1, Content: im.Content{Type: "text", Body: []byte("hi"), Text: true}},
		{ID: id, Sender: "b", Kind: im.EntryMessage, Stored: at, Count: 300, Pos: 1 << 40, Roster: 9, ReplyTo: 7, Mentions: []im.UserID{"a", ""}, Recalled: true},
		{ID: id, Kind: im.EntryRecall, Stored: at, Target: 1 << 50},
		{ID: id, Kind: im.EntryEvent, Stored: at, Event: &im.Event{Type: im.EventMemberMuted, Role: im.RoleOwner, Users: []im.UserID{"x"}, Until: time.Unix(1_900_000_000, 5).UTC(), Text: "t"}},
		{ID: id, Kind: im.EntryEvent, Stored: time.UnixMilli(-5).UTC(), Event: &im.Event{}},
	}
}

func TestRecordRoundTrip(t *testing.T) {
	for i, e := range sampleEntries() {
		var got im.Entry
		if err := decodeRecord(appendRecord(nil, &e), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, e) {
			t.Errorf("entry %d: got %+v, want %+v", i, got, e)
		}
	}
}

// TestRecordIsStable pins the bytes: a stored record must stay readable.
func TestRecordIsStable(t *testing.T) {
	e := sampleEntries()[3]
	e.Content = im.Content{Type: "x", Body: []byte{0xff}}
	const want = "010c0301018bcfe5687b710283000000000000000090a7abfef962000000000001780007" +
		"0380ccfd930e050174010178ff"
	if got := hex.EncodeToString(appendRecord(nil, &e)); got != want {
		t.Errorf("the record changed; readers of version %d would not understand it:\n got %s\nwant %s", recordVersion, got, want)
	}
}

func TestRecordRefusesEveryCut(t *testing.T) {
	for i, e := range sampleEntries() {
		whole := appendRecord(nil, &e)
		for n := range whole {
			var got im.Entry
			if decodeRecord(whole[:n], &got) == nil {
				t.Errorf("entry %d: %d of %d bytes were taken for a record", i, n, len(whole))
			}
		}
		if decodeRecord(append(whole, 0), new(im.Entry)) == nil {
			// A byte more changes where the body begins.
			t.Errorf("entry %d: a byte too many was not noticed", i)
		}
	}
	newer := appendRecord(nil, &sampleEntries()[0])
	newer[0] = recordVersion + 1
	if decodeRecord(newer, new(im.Entry)) == nil {
		t.Error("a record of another version was read")
	}
}

// FuzzRecord: no bytes make the decoder panic or allocate beyond their length;
// what it accepts survives being written again; the decoder of heads agrees.
func FuzzRecord(f *testing.F) {
	for _, e := range sampleEntries() {
		f.Add(appendRecord(nil, &e))
	}
	f.Add([]byte{recordVersion, flagEvent, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again, head im.Entry
		err := decodeRecord(data, &e)
		sender, headErr := decodeHead(data, &head)
		if err != nil {
			return
		}
		if headErr != nil || string(sender) != string(e.Sender) || head.ID != e.ID || head.Count != e.Count ||
			head.Pos != e.Pos || head.Roster != e.Roster || head.Kind != e.Kind || !head.Stored.Equal(e.Stored) {
			t.Fatalf("head %+v (%v) of %+v", head, headErr, e)
		}
		if len(e.Mentions) > len(data) || len(e.Content.Body) > len(data) {
			t.Fatalf("more than the data holds: %+v", e)
		}
		if err := decodeRecord(appendRecord(nil, &e), &again); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, e) {
			t.Fatalf("got %+v, want %+v", again, e)
		}
	})
}
