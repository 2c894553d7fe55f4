package remote

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// filled makes values in which every field may have something: a field that is
// forgotten on either side of the codec shows.
func filled[T any](t *rapid.T) T {
	var v T
	fill(t, reflect.ValueOf(&v).Elem(), 0)
	return v
}

func fill(t *rapid.T, v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		if rapid.Bool().Draw(t, "time") {
			v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 1<<36).Draw(t, "s"), rapid.Int64Range(0, 999).Draw(t, "ms")*1e6)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), depth)
			}
		}
	case reflect.String:
		v.SetString(rapid.StringMatching(`[a-z:_-]{0,8}`).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Uint8().Draw(t, "byte")))
	case reflect.Uint32:
		v.SetUint(uint64(rapid.Uint32().Draw(t, "uint32")))
	case reflect.Map:
		if rapid.Bool().Draw(t, "map") {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, depth+1)
			fill(t, value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint"))
	case reflect.Int:
		v.SetInt(int64(rapid.IntRange(0, 1<<30).Draw(t, "int")))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int64"))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "length")
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), depth+1)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "pointer") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	default:
		t.Fatalf("%s has a field of a kind that the test cannot fill", v.Type())
	}
}

// comes tells that what is written comes back.
func comes[T any](t *testing.T, name string, put func([]byte, *T) []byte, read func(*reader) T, mend ...func(*T)) {
	t.Run(name, rapid.MakeCheck(func(rt *rapid.T) {
		want := filled[T](rt)
		for _, f := range mend {
			f(&want)
		}
		b := put(nil, &want)
		in := &reader{b: append(b, 0xff)} // what follows is not touched
		got := read(in)
		if in.err != nil || len(in.b) != 1 {
			rt.Fatalf("%v, %d bytes left", in.err, len(in.b))
		}
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("got  %+v\nwant %+v", got, want)
		}
		// Every beginning of it is refused or read without harm.
		for n := range b {
			read(&reader{b: b[:n]})
		}
	}))
}

func TestCodec(t *testing.T) {
	// Nil and empty bodies mean the same, and are told apart by nobody.
	body := func(b *[]byte) {
		if *b == nil {
			*b = []byte{}
		}
	}
	stored := func(e *im.Entry) {
		// An event's body says what happened; whoever reads it is told.
		if e.Event = nil; e.Kind == im.EntryEvent {
			e.Event = &im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"u"}}
			e.Body = entrycodec.Event(e.Event)
		}
		body(&e.Body)
		e.Conversation = "dm:a:b"
		if e.Stored.IsZero() {
			e.Stored = time.UnixMilli(0)
		}
	}
	comes(t, "actor", putActor, (*reader).actor, func(a *im.Actor) {
		a.Order, a.Turn, a.Doubt, a.Had = nil, im.Turn{}, false, time.Time{} // of sends, see putSend
	})
	comes(t, "send", func(b []byte, s *sending) []byte { return putSend(b, s) }, func(r *reader) sending {
		a, m := r.send()
		return sending{user: a.User, connection: a.Connection, place: a.Turn, doubt: a.Doubt, msg: m}
	}, func(s *sending) {
		s.user, s.connection, s.place, s.doubt = "u", "c", im.Turn{At: 1 << 40, Since: 7}, true
		body(&s.msg.Body)
	})
	comes(t, "handshake", putHandshake, (*reader).handshake)
	comes(t, "message", putMessage, (*reader).message, func(m *im.Message) { body(&m.Body) })
	comes(t, "entry", putEntry, func(r *reader) im.Entry { return r.entry("dm:a:b") }, stored)
	comes(t, "sync query", putSyncQuery, (*reader).syncQuery)
	comes(t, "sync result", putSyncResult, (*reader).syncResult, func(s *im.SyncResult) {
		for i := range s.Conversations {
			c := &s.Conversations[i]
			for _, es := range [][]im.Entry{c.Told.Entries, c.Told.Touched} {
				for j := range es {
					stored(&es[j])
					es[j].Conversation = c.Conversation
				}
			}
			for j := range c.Lifetimes {
				c.Lifetimes[j].Gone = false // those that are told are not over
			}
			if end := &c.Told.End; end.Seq > 0 && c.Told.Last > 0 {
				end.Conversation, end.Seq = c.Conversation, c.Told.Last
			} else {
				*end = im.Newest{}
			}
		}
	})
	comes(t, "pull query", putPullQuery, (*reader).pullQuery)
	comes(t, "standing", putStanding, (*reader).standing)
	comes(t, "control", func(b []byte, c *im.Control) []byte { return putControl(b, c) }, func(r *reader) im.Control {
		c, err := readControl(r.b[:len(r.b)-min(len(r.b), 1)])
		r.b, r.err = r.b[len(r.b)-min(len(r.b), 1):], err
		return c
	})
	comes(t, "error", func(b []byte, e *im.Error) []byte { return putError(b, e) }, func(r *reader) im.Error { return *r.error().(*im.Error) })
}

func TestParcels(t *testing.T) {
	for _, p := range []im.Parcel{
		{Entries: []im.Entry{{Conversation: "grp:g", Seq: 3, Body: []byte{}, Stored: time.UnixMilli(5)}}, Origin: []im.ConnectionID{"c"}},
		{Head: &im.ParcelHead{Conversation: "dm:a:b", Seq: 9, Roster: 2}},
		{Head: &im.ParcelHead{Conversation: "grp:g", Seq: 9, Roster: 2, Added: []im.UserID{"u", "v"}}},
		{MyState: &im.MyState{Conversation: "dm:a:b", Revision: 3, Draft: "so", Deleted: im.NewSeqSet(im.SeqRange{First: 2, Last: 3}), Folder: "Work", HiddenCount: 7, UnreadAt: 8, PushLevel: im.PushMentions, Threads: im.NewThreadMarks(im.ThreadMark{Root: 4, Read: 9})}},
		{Receipt: &im.Mark{User: "u", Conversation: "dm:a:b", Received: 4, Read: 3, ReadCount: 2}},
		{Typing: &im.ParcelTyping{Conversation: "grp:g", User: "u"}},
		{Floor: &im.Floor{Conversation: "grp:g", Seq: 1 << 40, Count: 5}},
		{Custom: &im.CustomSignal{Conversation: "grp:g", User: "u", Type: "cursor", Data: []byte{0, 1}}},
	} {
		got, ok := readParcel(putParcel(nil, &p))
		if !ok || !reflect.DeepEqual(got, p) {
			t.Errorf("got %+v, want %+v", got, p)
		}
	}
	if _, ok := readParcel(putRecord([]byte{version}, func(b []byte) []byte { return append(b, 99) })); ok {
		t.Error("a parcel that only newer nodes know was read")
	}
	if _, ok := readParcel([]byte{version + 1, 0, 0, 0, 0}); ok {
		t.Error("a message of another version was read")
	}
}

// A neighbour that knows more fields is understood, and so is one that knows fewer.
func TestNeighbouringVersions(t *testing.T) {
	actor := im.Actor{User: "u", ExpiresMs: 1000}
	more := putRecord(nil, func(b []byte) []byte { return append(append(b, putActor(nil, &actor)[4:]...), "and more"...) })
	if got := (&reader{b: more}).actor(); got != actor {
		t.Errorf("got %+v", got)
	}
	fewer := putRecord(nil, func(b []byte) []byte { return putString(b, "u") })
	if got := (&reader{b: fewer}).actor(); got != (im.Actor{User: "u"}) {
		t.Errorf("got %+v", got)
	}
}

// Nothing that comes from the bus brings a node down.
func FuzzMessages(f *testing.F) {
	p := im.Parcel{Head: &im.ParcelHead{Conversation: "dm:a:b", Seq: 9}}
	f.Add("u.a", putParcel(nil, &p))
	f.Add("ctl", putControl(nil, &im.Control{User: "u"}))
	f.Add("hb", (&beat{name: "x", roles: roleLogic, ready: true}).append(nil))
	u := up{from: "x", to: 1, number: 1, first: 1, sends: 1}
	f.Add("l.gl", u.append(nil))
	d := down{from: "x", to: 1, number: 1}
	f.Add("n.gl", d.append(nil))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		n := fuzzed(t)
		handler{n}.Message(subject, data)
		handler{n}.Idle()
	})
}
