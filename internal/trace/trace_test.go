package trace

import (
	"context"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// shelf is a conversation of three, as stored.
type shelf struct {
	entries  []im.Entry
	marks    map[im.UserID]im.Mark
	places   map[im.UserID]im.Membership
	sessions map[im.UserID][]im.Session
}

func (s *shelf) Read(_ context.Context, _ im.ConversationID, from uint64, backward bool, limit int) (out []im.Entry, err error) {
	last := uint64(len(s.entries))
	switch {
	case backward && (from == 0 || from > last):
		from = last
		fallthrough
	case backward:
		first := uint64(1)
		if from > uint64(limit) {
			first = from - uint64(limit) + 1
		}
		return s.entries[first-1 : from], nil
	case from == 0:
		from = 1
	}
	if from > last {
		return nil, nil
	}
	return s.entries[from-1 : min(last, from-1+uint64(limit))], nil
}

func (s *shelf) Heads(_ context.Context, cs []im.ConversationID, out []im.Head) error {
	for i := range cs {
		out[i] = im.Head{Seq: uint64(len(s.entries))}
	}
	return nil
}

func (s *shelf) Marks(_ context.Context, keys []im.MarkKey, out []im.Mark, _ bool) error {
	for i, k := range keys {
		out[i] = s.marks[k.User]
	}
	return nil
}

func (s *shelf) MembersPage(context.Context, im.ConversationID, im.MemberQuery) (all []im.Member, _ im.MemberPlace, _ error) {
	for _, u := range []im.UserID{"ann", "bob", "cem", "dan", "eve", "fay", "gus"} {
		if m, ok := s.places[u]; ok && m.Until == 0 {
			all = append(all, im.Member{User: u})
		}
	}
	return all, im.MemberPlace{}, nil
}

func (s *shelf) Membership(_ context.Context, u im.UserID, _ im.ConversationID) (im.Membership, bool, error) {
	m, ok := s.places[u]
	return m, ok, nil
}

func (s *shelf) Sessions(_ context.Context, u im.UserID, _ time.Time) ([]im.Session, error) {
	return s.sessions[u], nil
}

// Each reason why somebody has a message, or not, is told of who it is the reason of.
func TestReasons(t *testing.T) {
	stored := time.UnixMilli(1_700_000_000_000)
	s := &shelf{marks: map[im.UserID]im.Mark{"bob": {Received: 5, Read: 3}, "cem": {Received: 3}}, places: map[im.UserID]im.Membership{}, sessions: map[im.UserID][]im.Session{}}
	for i := range 5 {
		var id im.MessageID
		id[6], id[8], id[15] = 0x70, 0x80, byte(i+1)
		s.entries = append(s.entries, im.Entry{Conversation: "grp:tea", Seq: uint64(i + 1), ID: id, Sender: "ann", Kind: im.EntryMessage, Stored: stored})
	}
	for u, first := range map[im.UserID]uint64{"ann": 1, "bob": 1, "cem": 1, "dan": 1, "eve": 4, "fay": 1, "gus": 5} {
		s.places[u] = im.Membership{First: first}
	}
	s.places["gus"] = im.Membership{First: 5, Earlier: []im.Window{{First: 2, Until: 3}}}
	device := func(id string, seen time.Duration) im.Session {
		return im.Session{Device: im.Device{ID: id}, LastSeen: stored.Add(seen)}
	}
	s.sessions["cem"] = []im.Session{device("c1", -time.Hour)}
	s.sessions["dan"] = []im.Session{device("d1", -time.Hour), device("d2", time.Hour)}
	s.sessions["fay"] = []im.Session{device("f1", -time.Hour)}
	stores := Stores{Journal: s, Directory: s, Now: func() time.Time { return stored.Add(2 * time.Hour) }, Online: func(u im.UserID) bool { return u == "gus" }}
	r, err := stores.Message(t.Context(), "grp:tea#3")
	if err != nil {
		t.Fatal(err)
	}
	want := map[im.UserID][2]string{
		"ann": {StateSent, "sent it"},
		"bob": {StateRead, "has read up to #3, on one or more"},
		"cem": {StateReceived, "has received up to #3, on device c1"},
		"dan": {StateWaiting, "1 of 2 devices have connected since"},
		"eve": {StateNone, "may read from #4 on"},
		"fay": {StateWaiting, "no device has connected since it was stored, the last one at 2023-11-14T21:13:20Z"},
		"gus": {StateWaiting, "is logged in nowhere"},
	}
	for _, u := range r.Users {
		w := want[u.User]
		if u.State != w[0] || len(u.Why) < len(w[1]) || u.Why[:len(w[1])] != w[1] {
			t.Errorf("%s: %s, %q; want %v", u.User, u.State, u.Why, w)
		}
		delete(want, u.User)
	}
	if len(want) > 0 || r.Head != 5 || r.Now != "stored" || r.Kind != "message" {
		t.Errorf("%v are missing in %+v", want, r)
	}
	byID, err := stores.Message(t.Context(), "grp:tea/"+r.ID)
	if err != nil || byID.Seq != 3 {
		t.Errorf("%+v, %v", byID, err)
	}
	stores.Floor = func(context.Context, im.ConversationID) (uint64, error) { return 3, nil }
	if r, err = stores.Message(t.Context(), "grp:tea#3"); err != nil || r.Now != "gone" {
		t.Errorf("%+v, %v", r, err)
	}
	for name, code := range map[string]im.Code{
		"grp:tea#9": im.CodeNotFound, "grp:tea/00000000-0000-7000-8000-0000000000ff": im.CodeNotFound,
		"": im.CodeInvalidArgument, "tea#1": im.CodeInvalidArgument, "grp:tea#0": im.CodeInvalidArgument, "grp:tea/x": im.CodeInvalidArgument, "grp:tea": im.CodeInvalidArgument,
	} {
		if _, err := stores.Message(t.Context(), name); im.CodeOf(err) != code {
			t.Errorf("%q: %v, want %s", name, err, code)
		}
	}
}
