package pebble

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func sampleEntries() []im.Entry {
	id := im.NewMessageID(time.UnixMilli(1_700_000_000_123), [10]byte{1, 2, 3})
	at := time.UnixMilli(1_700_000_000_456).UTC()
	return []im.Entry{
		{ID: id, Sender: "a", Kind: im.EntryMessage, Stored: at, Count: 1, Pos: 1, Body: []byte("hi")},
		{ID: id, Sender: "b", Kind: im.EntryMessage, Stored: at, Count: 300, Pos: 1 << 40, Roster: 9, Amended: 7, Recalled: true},
		{ID: id, Kind: im.EntryRecall, Stored: at, Target: 1 << 50},
		{ID: id, Kind: 77, Stored: time.UnixMilli(-5).UTC(), Roster: 1, Target: 2, Amended: 1 << 63, Body: []byte{0, 1, 0xff}},
		{ID: im.MessageID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, Kind: im.EntryEvent, Stored: time.UnixMilli(0).UTC(), Body: []byte{8}},
		{},
	}
}

func TestRecordRoundTrip(t *testing.T) {
	for i, e := range sampleEntries() {
		if e.Stored.IsZero() {
			e.Stored = time.UnixMilli(0).UTC()
		}
		var got im.Entry
		if err := decodeRecord(appendRecord(nil, &e), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, e) {
			t.Errorf("entry %d: got %+v, want %+v", i, got, e)
		}
	}
}

// What a body says goes with the entry, and is not kept a second time.
func TestRecordHasNoEvent(t *testing.T) {
	e := sampleEntries()[0]
	bare := appendRecord(nil, &e)
	e.Event = &im.Event{Type: im.EventMemberAdded}
	if got := appendRecord(nil, &e); string(got) != string(bare) {
		t.Errorf("%x, want %x", got, bare)
	}
}

// TestRecordIsStable pins the bytes: a stored record must stay readable.
func TestRecordIsStable(t *testing.T) {
	e := sampleEntries()[3]
	e.Sender, e.Stored = "me", time.UnixMilli(1_700_000_000_456).UTC()
	const want = "2e4d018bcfe5687b71028300000000000000026d659a0500000102808080808080808080010001ff"
	if got := hex.EncodeToString(appendRecord(nil, &e)); got != want {
		t.Errorf("the record changed; readers of version 2 would not understand it:\n got %s\nwant %s", got, want)
	}
}

func TestRecordRefusesEveryCut(t *testing.T) {
	for i, e := range sampleEntries() {
		whole := appendRecord(nil, &e)
		for n := range len(whole) - len(e.Body) {
			var got im.Entry
			if decodeRecord(whole[:n], &got) == nil {
				t.Errorf("entry %d: %d of %d bytes were taken for a record", i, n, len(whole))
			}
		}
	}
	for _, version := range []byte{0, 1, 3 << 4, 0xf0} {
		other := appendRecord(nil, &sampleEntries()[0])
		other[0] = version
		if decodeRecord(other, new(im.Entry)) == nil {
			t.Errorf("a record of another version was read: %x", version)
		}
	}
}

// A stored message takes no more than it did with schema 3: record, id's key and
// what is kept there.
func TestSizeOfAMessage(t *testing.T) {
	text := make([]byte, 150)
	for i := range text {
		text[i] = byte('a' + i%26)
	}
	id := im.NewMessageID(time.UnixMilli(1_700_000_000_123), [10]byte{1, 2, 3})
	for _, tt := range []struct {
		name   string
		c      im.ConversationID
		sender im.UserID
		roster uint64
	}{
		{"dm", im.DM("user000001", "user000002"), "user000001", 0},
		{"group", im.Group("0123456789abcdef"), "user000001", 12},
		{"dm of long names", im.DM("01hf7y4jbnm2b5dz0q6c9x8wka", "01hf7y4jbnm2b5dz0q6c9x8wkb"), "01hf7y4jbnm2b5dz0q6c9x8wka", 0},
	} {
		e := im.Entry{Conversation: tt.c, Sender: tt.sender, ID: id, Kind: im.EntryMessage, Stored: id.Time().Add(40 * time.Millisecond), Count: 1000, Pos: 1_000_000, Roster: tt.roster}
		old := len(oldRecord(&e, &entrycodec.Old{Type: "text", Text: true, Content: text})) + 1 + len(id) + len(tt.sender) + len(appendIDValue(nil, 1000, 1))
		e.Body, _ = entrycodec.Message(tt.c, &wire.Send{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: string(text)}}})
		var s secret
		now := len(appendRecord(nil, &e)) + len(s.idKey(nil, spaceID, &e)) + len(appendIDValue(nil, 1000, 1))
		t.Logf("%s: %d bytes, %d before", tt.name, now, old)
		if now > old {
			t.Errorf("%s: %d bytes, %d before", tt.name, now, old)
		}
	}
}

// FuzzRecord: no bytes make the decoder panic or allocate beyond their length;
// what it accepts survives being written again; the decoder of heads agrees.
func FuzzRecord(f *testing.F) {
	for _, e := range sampleEntries() {
		f.Add(appendRecord(nil, &e))
	}
	f.Add([]byte{recordVersion | flagsAll, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again, head im.Entry
		err := decodeRecord(data, &e)
		sender, body, headErr := decodeHead(data, &head)
		if err != nil {
			return
		}
		keep(&head, sender, body)
		if headErr != nil || !reflect.DeepEqual(head, e) {
			t.Fatalf("head %+v (%v) of %+v", head, headErr, e)
		}
		if len(e.Sender)+len(e.Body) > len(data) {
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
