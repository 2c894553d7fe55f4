package importing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// TestMappingFollows: whom an earlier run made an account stays that account: a mapping without
// them, or no mapping, makes no second one.
func TestMappingFollows(t *testing.T) {
	earlier := &Mapping{Users: []MappedUser{{Key: "U1", User: "anna-here"}, {Key: "U2", Username: "bob"}}, UsersMade: true}
	for name, tt := range map[string]struct {
		users []MappedUser
		want  string
	}{
		"the same":      {[]MappedUser{{Key: "U1", User: "anna-here"}, {Key: "U2", Username: "bob"}}, ""},
		"not made":      {[]MappedUser{{Key: "U1", User: "anna-here"}}, ""},
		"taken out":     {[]MappedUser{{Key: "U2", Username: "bob"}}, `"U1"`},
		"somebody":      {[]MappedUser{{Key: "U1", User: "carl"}}, `"U1"`},
		"nobody":        {[]MappedUser{{Key: "U1", Username: "anna"}}, `"U1"`},
		"made, becomes": {[]MappedUser{{Key: "U1", User: "anna-here"}, {Key: "U2", User: "carl"}}, `"U2"`},
	} {
		m := &Mapping{Users: tt.users}
		if err := m.Follow(earlier); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || !m.UsersMade {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	s := newStore(t)
	if err := s.Directory.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "anna-here", Username: "anna", DisplayName: "Anna", DMPolicy: im.DMContacts, Created: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	with := func(users string) string {
		return files(t, map[string]string{
			"users.json": users, "channels.json": `[{"id":"C1","name":"general","created":1600000000,"members":["U1"]}]`,
			"general/1.json": `[{"type":"message","user":"U1","ts":"1600000001.000000","text":"a"}]`,
		})
	}
	var kept *Mapping
	o := Options{System: "slack", Path: with(`[{"id":"U1","name":"anna"}]`), Planned: func(m *Mapping) error { kept = m; return nil }}
	o.Mapping = &Mapping{System: "slack", Workspace: "slack", Users: []MappedUser{{Key: "U1", User: "anna-here"}, {Key: "U9", User: "anna-here"}}}
	s.run(t, o)
	if len(kept.Users) != 2 || kept.Users[1].User != "anna-here" {
		t.Errorf("who is not in the export is forgotten: %+v", kept)
	}
	first := kept
	o.Mapping, o.Anew = nil, true
	if r, err := Run(t.Context(), o, s.Target); !errors.Is(err, ErrMappingMissing) || r.Written != (Things{}) {
		t.Errorf("without the mapping: %v", err)
	}
	o.Workspace = "other"
	if r := s.run(t, o); r.Written.Users != 1 {
		t.Errorf("another workspace: %+v", r)
	}
	o.Workspace, o.Mapping, o.Anew = "", first, false
	if r := s.run(t, o); r.Written != (Things{}) || r.Already.Messages != 1 {
		t.Errorf("with the mapping: %+v", r)
	}
}

// TestOneDirectory: what is in a directory that two channels have comes into neither.
func TestOneDirectory(t *testing.T) {
	s := newStore(t)
	r := s.run(t, Options{System: "slack", Path: files(t, map[string]string{
		"users.json":     `[{"id":"U1","name":"anna"},{"id":"U2","name":"bob"}]`,
		"channels.json":  `[{"id":"C1","name":"general","created":1600000000,"members":["U1","U2"]}]`,
		"groups.json":    `[{"id":"G1","name":"general","created":1600000000,"members":["U1"]}]`,
		"general/1.json": `[{"type":"message","user":"U1","ts":"1600000001.000000","text":"secret"}]`,
	})})
	if r.LeftOut["message: two channels have its directory"] != 1 || r.Written.Messages != 0 || r.Written.Conversations != 2 || r.ProblemCount != 1 || r.Problems[0].Where != "groups.json:1" {
		t.Errorf("%+v", r)
	}
}

// TestBecamePrivate: what is said in a channel since it is private does not come into a group that
// all may join; when it is closed it does, and who is in it and was sent away there is told.
func TestBecamePrivate(t *testing.T) {
	s := newStore(t)
	const users, first = `[{"id":"U1","name":"anna"},{"id":"U2","name":"bob"}]`, `{"type":"message","user":"U1","ts":"1600000001.000000","text":"a"}`
	s.run(t, Options{System: "slack", Path: files(t, map[string]string{
		"users.json": users, "channels.json": `[{"id":"C1","name":"general","created":1600000000,"members":["U1","U2"]}]`, "general/1.json": `[` + first + `]`,
	})})
	later := Options{System: "slack", Path: files(t, map[string]string{
		"users.json": users, "groups.json": `[{"id":"C1","name":"general","created":1600000000,"members":["U1"]}]`,
		"general/1.json": `[` + first + `,{"type":"message","user":"U1","ts":"1600000002.000000","text":"secret"}]`,
	})}
	r := s.run(t, later)
	if r.Written.Messages != 0 || r.Left("message") != 2 || r.Left("conversation") != 1 || r.ProblemCount != 1 {
		t.Errorf("open: %+v", r)
	}
	c := general(t, s)
	g, _, err := s.Directory.Group(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	change := im.Promise{
		ID: im.NewMessageID(time.UnixMilli(1600000001500), [10]byte{9}), Conversation: c, Sender: g.Owner, IfRoster: g.Rev, SetRoster: g.Rev + 1,
		Event: im.Event{Type: im.EventGroupChanged, Group: &im.GroupChange{Join: im.JoinInvitation}},
	}
	if ok, err := s.Directory.PromiseRoster(t.Context(), change); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := (&writer{t: s.Target}).drive(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	r = s.run(t, later)
	if r.Written.Messages != 1 || r.ProblemCount != 1 || !strings.Contains(r.Problems[0].What, "not in the conversation there any more") {
		t.Errorf("by invitation: %+v", r)
	}
}

// TestLineOfAnImport: an import has a line in the audit log that says who ran it and what it read
// and wrote, one for each run; one that failed says so, with what it wrote; a dry run has none.
func TestLineOfAnImport(t *testing.T) {
	s := newStore(t)
	o := Options{System: "slack", Path: filepath.Join("testdata", "slack"), Workspace: "geese", By: "root@elm"}
	o.DryRun = true
	s.run(t, o)
	lines := func() []im.Act {
		t.Helper()
		return must(s.Directory.Acts(t.Context(), im.ActQuery{Limit: 10, OldestFirst: true}))(t)
	}
	if got := lines(); len(got) != 0 {
		t.Fatalf("of a dry run: %+v", got)
	}
	o.DryRun = false
	first := s.run(t, o)
	again := s.run(t, o)
	ctx, stop := context.WithCancel(t.Context())
	o.Workspace = "other"
	o.Planned = func(m *Mapping) error {
		if m.UsersMade { // the accounts are made, and no message is written
			stop()
		}
		return nil
	}
	o.Spool = s.dir
	failed, err := Run(ctx, o, s.Target)
	if err == nil || failed.Written.Users == 0 {
		t.Fatalf("it did not fail: %v, %+v", err, failed)
	}
	got := lines()
	if len(got) != 3 {
		t.Fatalf("lines: %+v", got)
	}
	for i, r := range []*Report{first, again, failed} {
		a := got[i]
		var d struct{ Read, Written, Already Things }
		if err := json.Unmarshal([]byte(a.Detail), &d); err != nil {
			t.Fatalf("%q: %v", a.Detail, err)
		}
		if a.Action != "import" || a.Kind != im.ActAdmin || a.Role != im.ServerOwner || a.Device != "root@elm" || a.Target != r.Workspace || (a.Code != "") != (r == failed) || a.Code == im.ActBegun || time.Since(a.At) > time.Hour {
			t.Errorf("line %d: %+v", i, a)
		}
		if d.Read != r.Read || d.Written != r.Written || d.Already != r.Already || d.Read.Messages == 0 {
			t.Errorf("line %d says %s, and the report %+v", i, a.Detail, r)
		}
	}
}

// TestTimesAndFiles: each message has the time that it has in the export, to the millisecond, and
// each of its files is an upload of its author; a second run leaves both as they are.
func TestTimesAndFiles(t *testing.T) {
	s := newStore(t)
	dir := files(t, map[string]string{
		"users.json":    `[{"id":"U1","name":"anna"},{"id":"U2","name":"bob"}]`,
		"channels.json": `[{"id":"C1","name":"general","created":1600000000,"members":["U1","U2"]}]`,
		"general/1.json": `[{"type":"message","user":"U1","ts":"1600000001.234000","text":"first"},
			{"type":"message","user":"U2","ts":"1700000002.000000","text":"two files","files":[{"id":"F1","name":"a.txt"},{"id":"F2","name":"b.txt"}]}]`,
		"__uploads/F1/a.txt": "the first file",
		"__uploads/F2/b.txt": "the second file",
	})
	for n := range 2 {
		r := s.run(t, Options{System: "slack", Path: dir})
		if files := r.Written.Files + r.Already.Files; files != 2 || (n == 1) != (r.Already.Files == 2) {
			t.Errorf("run %d: %+v", n, r)
		}
		got, err := s.journal.Read(t.Context(), general(t, s), 2, false, 10) // behind the group's beginning
		if err != nil {
			t.Fatal(err)
		}
		var times []int64
		names := map[string]bool{}
		for _, e := range got {
			if e.Kind != im.EntryMessage {
				continue
			}
			times = append(times, e.Stored.UnixMilli())
			var w wire.Entry
			if err := entrycodec.Decode(e.Body, &w); err != nil {
				t.Fatal(err)
			}
			for _, m := range w.Media {
				names[m.Name] = true
			}
		}
		if want := []int64{1600000001234, 1700000002000, 1700000002000}; !slices.Equal(times, want) {
			t.Errorf("run %d: times %v, want %v", n, times, want)
		}
		if len(names) != 2 || !names["a.txt"] || !names["b.txt"] {
			t.Errorf("run %d: files %v", n, names)
		}
	}
}

// TestDeletedMeanwhile: whose account was deleted here is brought back by no later import: they
// are in no new group, and nobody's contact.
func TestDeletedMeanwhile(t *testing.T) {
	s := newStore(t)
	const users = `[{"id":"U1","name":"anna"},{"id":"U2","name":"bob","profile":{"title":"boss"}},{"id":"U3","name":"cem"}]`
	said := func(user, at, text string) string {
		return fmt.Sprintf(`{"type":"message","user":%q,"ts":"%s.000000","text":%q}`, user, at, text)
	}
	s.run(t, Options{System: "slack", Path: files(t, map[string]string{
		"users.json": users, "channels.json": `[{"id":"C1","name":"general","created":1600000000,"members":["U1","U2"]}]`, "general/1.json": "[" + said("U2", "1600000001", "a") + "]",
	})})
	id := func(name string) im.UserID { return must(s.Directory.UserByName(t.Context(), name))(t).ID }
	anna, bob, cem := id("anna"), id("bob"), id("cem")
	if _, _, err := s.Directory.BeginErasure(t.Context(), im.ErasureOrder{User: bob, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	r := s.run(t, Options{System: "slack", Path: files(t, map[string]string{
		"users.json": users, "channels.json": `[{"id":"C1","name":"general","created":1600000000,"members":["U1","U2"]},{"id":"C2","name":"bobs","created":1600000000,"creator":"U2","members":["U2"]}]`,
		"groups.json":   `[{"id":"G1","name":"secret","created":1600000000,"creator":"U2","members":["U1","U2","U3"]}]`,
		"dms.json":      `[{"id":"D1","created":1600000000,"members":["U1","U2"]},{"id":"D2","created":1600000000,"members":["U2","U3"]}]`,
		"secret/1.json": "[" + said("U2", "1600000002", "in the group") + "]", "bobs/1.json": "[" + said("U2", "1600000002", "alone") + "]",
		"D1/1.json": "[" + said("U1", "1600000003", "to bob") + "]", "D2/1.json": "[" + said("U3", "1600000003", "to bob") + "]",
		"general/1.json": "[" + said("U2", "1600000001", "a") + "]",
	})})
	if r.Written.Messages != 3 || r.Already.Messages != 1 || r.Left("message") != 1 || r.Left("conversation") != 1 {
		t.Errorf("%+v", r)
	}
	if groups := must(s.Directory.Standing(t.Context(), bob))(t); len(groups) != 1 { // general, which an erasure has them leave
		t.Errorf("groups of who was deleted: %+v", groups)
	}
	for _, u := range []im.UserID{anna, cem} {
		if _, side, _, err := s.Directory.Gate(t.Context(), u, bob); err != nil || side.State == im.ContactFriend {
			t.Errorf("who was deleted is a contact of %s: %+v, %v", u, side, err)
		}
		if _, side, _, err := s.Directory.Gate(t.Context(), bob, u); err != nil || side.State == im.ContactFriend {
			t.Errorf("%s is a contact of who was deleted: %+v, %v", u, side, err)
		}
	}
}
