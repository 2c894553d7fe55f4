package skein

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// What changed of the contacts is read in pages from the revision that the program has;
// when the server does not know it any more, the whole list takes its place.
func TestContactsSince(t *testing.T) {
	contacts := func(ids ...string) (all []*wire.Contact) {
		for _, id := range ids {
			all = append(all, &wire.Contact{User: &wire.User{Id: id}})
		}
		return all
	}
	answers := map[string]*wire.ListContactsResponse{
		"5 ":  {Contacts: contacts("a", "b"), Next: "7", Revision: 7},
		"5 7": {Contacts: contacts("c"), Revision: 9},
		"2 ":  {Contacts: contacts("a", "b"), Next: "b", Revision: 9, Reset_: true},
		"0 b": {Contacts: contacts("d"), Revision: 11},
		"0 ":  {Contacts: contacts("a", "b"), Next: "b", Revision: 10},
	}
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onCall = func(m *wire.Call) *wire.Result {
			var a proto.Message = &wire.SetTagsResponse{}
			switch m.Method {
			case "skein.v1.ContactService/ListContacts":
				var q wire.ListContactsRequest
				_ = proto.Unmarshal(m.GetBody(), &q)
				a = answers[fmt.Sprint(q.Since, " ", q.Cursor)]
			case "skein.v1.UserService/SearchUsers":
				var q wire.SearchUsersRequest
				_ = proto.Unmarshal(m.GetBody(), &q)
				a = &wire.SearchUsersResponse{Users: []*wire.User{{Id: fmt.Sprint(q.Prefix, q.Limit, q.Cursor)}}, Next: "more"}
			}
			b, _ := proto.Marshal(a)
			return &wire.Result{Response: &wire.Result_Body{Body: b}}
		}
		for _, x := range []struct {
			since uint64
			want  string
		}{{5, "a b c whole=false 9"}, {2, "a b d whole=true 9"}, {0, "a b d whole=true 10"}} {
			got, err := c.Contacts().Since(bg, x.since)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, k := range got.Contacts {
				ids = append(ids, k.User.Id)
			}
			eq(t, fmt.Sprint("since ", x.since), fmt.Sprintf("%s whole=%v %d", strings.Join(ids, " "), got.Whole, got.Revision), x.want)
		}
		users, next, err := c.Users().Search(bg, "an", 7, "page")
		if err != nil || len(users) != 1 || users[0].Id != "an7page" || next != "more" {
			t.Errorf("Search = %v, %q, %v", users, next, err)
		}
		if err := c.Contacts().SetTags(bg, "bob", "tea"); err != nil {
			t.Errorf("SetTags: %v", err)
		}
	})
}

// A contact's other profile is an event of that contact.
func TestContactProfileEvent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.do(func() {
			r.append(nil, &wire.Entry{
				Conversation: "me:" + r.user, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_CONTACT_PROFILE_CHANGED, Users: []string{"bob"}},
			})
		})
		pause(0)
		got := eventsOf[*ContactEvent](r.events)
		if len(got) != 1 || got[0].User != "bob" {
			t.Errorf("%v", got)
		}
	})
}
