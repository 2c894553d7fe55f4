package importing

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/importing/exporttest"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/media/picture"
	"github.com/skein-im/skein/wire"
)

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// store is an embedded store in a directory.
type store struct {
	Target
	journal *pebble.Journal
	dir     string
}

func newStore(t testing.TB) *store {
	t.Helper()
	dir := t.TempDir()
	d := must(sqlite.Open(filepath.Join(dir, "directory.db"), sqlite.Options{}))(t)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	j := must(pebble.Open(filepath.Join(dir, "journal"), pebble.Options{}))(t)
	b := must(blob.Open(filepath.Join(dir, "media"), ""))(t)
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	m := media.New(media.Options{
		Uploads: d, Names: d, Store: b, Pictures: picture.NewMaker(picture.Options{MaxPixels: 1 << 20, Memory: 64 << 20}), Quota: im.MediaQuota{Open: 1 << 20}, MaxBytes: 1 << 20,
	})
	return &store{Target{Directory: d, Journal: j, Media: m, DM: im.DMContacts, Now: time.Now}, j, dir}
}

func (s *store) run(t testing.TB, o Options) *Report {
	t.Helper()
	o.Spool = s.dir
	r, err := Run(t.Context(), o, s.Target)
	if err != nil {
		t.Fatalf("%v; %+v", err, r)
	}
	if err := r.Check(); err != nil && !o.DryRun {
		t.Error(err)
	}
	return r
}

// said is what a conversation holds, a line each.
func (s *store) said(t testing.TB, c im.ConversationID) (lines []string) {
	t.Helper()
	for from := uint64(1); ; {
		got, err := s.journal.Read(t.Context(), c, from, false, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return lines
		}
		for _, e := range got {
			var w wire.Entry
			if err := entrycodec.Decode(e.Body, &w); err != nil {
				t.Fatal(err)
			}
			text := w.GetContent().GetText()
			for _, m := range w.Media { // its id is another one each time
				text = strings.ReplaceAll(text, m.Id, "ID")
			}
			line := fmt.Sprintf("%d %s", e.Kind, text)
			if e.Target != 0 {
				line += fmt.Sprint(" in ", e.Target)
			}
			for _, r := range w.Reactions {
				line += fmt.Sprintf(" %s%d", r.Reaction, r.Count)
			}
			if n := w.GetReplies().GetCount(); n > 0 {
				line += fmt.Sprint(" replies ", n)
			}
			if w.EditedAtMs > 0 {
				line += " edited"
			}
			if w.Pinned != nil {
				line += " pinned"
			}
			lines = append(lines, line)
			from = e.Seq + 1
		}
	}
}

// files writes an export of which these are the files.
func files(t testing.TB, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range all {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestGolden: the exports in testdata, one of each system with what only it has, come to what
// stands here.
func TestGolden(t *testing.T) {
	for system, want := range map[string][]string{
		"slack": {
			"1 **Hello** @anna and @all, see [the docs](https://example.com/a?b=1&c=2) in #general <3 🎉 👍1 replies 2 pinned",
			"11 ~~old~~ _new_ `*code* <x>` in 2",
			"1 said in the thread and here in 2 edited",
			"1 build **passed**\nnumber 7 :party_parrot:1",
		},
		"mattermost": {
			"1 **Hello** @anna and @all 🎉 `@bob :tada:` 👍1 replies 1 pinned",
			"11 a reply in 2",
			"1 the same words",
			"1 the same words",
			"1 to nobody@example.com or @nobody. edited",
		},
		"rocketchat": {
			"1 **Hello** @anna and @all, ~~not~~ this 🎉 👍1 replies 2 pinned",
			"11 a reply in 2",
			"1 said in the thread and here in 2 edited",
			"1 > **Hello**\n\nyes",
		},
	} {
		t.Run(system, func(t *testing.T) {
			s := newStore(t)
			r := s.run(t, Options{System: system, Path: filepath.Join("testdata", system)})
			groups := general(t, s)
			got := s.said(t, groups)
			if got = got[1:]; !slices.Equal(slices.DeleteFunc(got, func(l string) bool { return strings.HasPrefix(l, "3 ") }), want) {
				t.Errorf("it says\n%q, want\n%q", got, want)
			}
			if r.LeftOut["message: system message"] != 1 || r.Written.Messages != int64(len(want)) {
				t.Errorf("%+v", r)
			}
			again := s.run(t, Options{System: system, Path: filepath.Join("testdata", system)})
			if again.Written != (Things{}) || again.Already.Messages != r.Written.Messages {
				t.Errorf("again: %+v", again)
			}
			if n := len(s.said(t, groups)); n != len(got)+1 && n < len(want) {
				t.Errorf("%d entries after a second run", n)
			}
		})
	}
}

// general is the only group of a store.
func general(t testing.TB, s *store) im.ConversationID {
	t.Helper()
	u, err := s.Directory.UserByName(t.Context(), "anna")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := s.Directory.Standing(t.Context(), u.ID)
	if err != nil || len(groups) != 1 {
		t.Fatalf("groups %v, %v", groups, err)
	}
	return groups[0].Conversation
}

// TestSortedAside: what does not fit into memory is sorted on disk, to the same end; nothing
// stays there.
func TestSortedAside(t *testing.T) {
	story := exporttest.Random(400, 5)
	dir := t.TempDir()
	if err := exporttest.Write(dir, "mattermost", story); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, size := range []int{0, 4096} {
		s := newStore(t)
		s.run(t, Options{System: "mattermost", Path: dir, sortBytes: size})
		u := must(s.Directory.UserByName(t.Context(), "user00"))(t)
		var lines []string
		for _, g := range must(s.Directory.Standing(t.Context(), u.ID))(t) {
			lines = append(lines, s.said(t, g.Conversation)...)
		}
		all = append(all, strings.Join(lines, "\n"))
		if left := must(filepath.Glob(filepath.Join(s.dir, "import-*")))(t); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	a, b := strings.Split(all[0], "\n"), strings.Split(all[1], "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d is %q in memory, %q aside", i, a[i], b[i])
		}
	}
	if len(a) != len(b) || len(a) < 100 {
		t.Errorf("%d lines in memory, %d aside", len(a), len(b))
	}
}

// TestMapping: who is taken, or is called by no name that can be here, is told, and may be
// given another name or an account that is there.
func TestMapping(t *testing.T) {
	s := newStore(t)
	if err := s.Directory.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "anna-here", Username: "anna", DisplayName: "Anna", DMPolicy: im.DMContacts, Created: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	dir := files(t, map[string]string{
		"users.json":     `[{"id":"U1","name":"anna"},{"id":"U2","name":"Übung\u202e!"},{"id":"U3","name":"anna"}]`,
		"channels.json":  `[{"id":"C1","name":"general","created":1600000000,"members":["U1","U2"]}]`,
		"general/1.json": `[{"type":"message","user":"U1","ts":"1600000001.000000","text":"<@U2>"}]`,
	})
	var planned *Mapping
	o := Options{System: "slack", Path: dir, DryRun: true, Planned: func(m *Mapping) error { planned = m; return nil }}
	r := s.run(t, o)
	if u := planned.Users; len(u) != 3 || u[0].Username != "anna-2" || u[1].Username != "_bung__" || u[2].Username != "anna-3" || r.ProblemCount != 3 {
		t.Fatalf("%+v, %v", planned, r.Problems)
	}
	o.DryRun = false
	for _, bad := range []MappedUser{{Key: "U1", User: "nobody"}, {Key: "U1", Username: "anna"}, {Key: "U1", Username: "An na"}} {
		o.Mapping = &Mapping{System: "slack", Workspace: "slack", Users: []MappedUser{bad}}
		if _, err := Run(t.Context(), o, s.Target); err == nil || !strings.Contains(err.Error(), `"U1"`) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	o.Mapping = &Mapping{System: "slack", Workspace: "slack", Users: []MappedUser{{Key: "U1", User: "anna-here"}, {Key: "U2", Username: "practice"}}}
	if r := s.run(t, o); r.Written.Users != 2 || r.Already.Users != 1 {
		t.Errorf("%+v", r)
	}
	got := must(s.journal.Read(t.Context(), general(t, s), 0, false, 9))(t)
	if last := got[len(got)-1]; last.Sender != "anna-here" || !strings.Contains(strings.Join(s.said(t, last.Conversation), " "), "@practice") {
		t.Errorf("%+v", last)
	}
}

// TestUsedMeanwhile: a chat in which people wrote here takes no older messages behind theirs.
func TestUsedMeanwhile(t *testing.T) {
	s := newStore(t)
	dir := files(t, map[string]string{
		"users.json": `[{"id":"U1","name":"anna"},{"id":"U2","name":"bob"}]`,
		"dms.json":   `[{"id":"D1","created":1600000000,"members":["U1","U2"]}]`,
		"D1/1.json":  `[{"type":"message","user":"U1","ts":"1600000001.000000","text":"one"},{"type":"message","user":"U2","ts":"1600000002.000000","text":"two"}]`,
	})
	w := &writer{o: Options{System: "slack", Workspace: "slack"}}
	dm := im.DM(w.userID("U1"), w.userID("U2"))
	out := make([]im.Appended, 1)
	own := im.Append{Entry: im.Entry{Conversation: dm, Sender: w.userID("U1"), ID: im.NewMessageID(time.Now(), [10]byte{1}), Kind: im.EntryMessage, Body: []byte{0x3a, 0}}}
	if err := s.journal.Append(t.Context(), []im.Append{own}, out); err != nil {
		t.Fatal(err)
	}
	r := s.run(t, Options{System: "slack", Path: dir})
	if r.LeftOut["message: the conversation has later messages of its own"] != 2 || r.Written.Messages != 0 || r.ProblemCount != 1 {
		t.Errorf("%+v", r)
	}
	if n := len(s.said(t, dm)); n != 1 {
		t.Errorf("%d entries", n)
	}
}

// TestHostile: what is damaged, or made to harm, is told with its place, and the rest comes
// over; nothing is written in halves.
func TestHostile(t *testing.T) {
	const base = `{"type":"version","version":1}
{"type":"channel","channel":{"team":"t","name":"c","display_name":"c","type":"O"}}
{"type":"user","user":{"username":"anna","teams":[{"name":"t","channels":[{"name":"c"},{"name":"gone"}]}]}}
`
	post := func(user, text string, at int) string {
		return fmt.Sprintf(`{"type":"post","post":{"team":"t","channel":"c","user":%q,"message":%q,"create_at":%d}}`, user, text, at)
	}
	for _, tt := range []struct {
		name, lines string
		written     int64
		want        []string // of "place: what"
	}{
		{"damaged line", post("anna", "a", 1000) + "\n{\"type\":\"post\",\"po\n" + post("anna", "b", 2000), 2, []string{"import.jsonl:5: it cannot be read"}},
		{"not what it says", `{"type":"post","post":{"message":[]}}`, 0, []string{"import.jsonl:4: it cannot be read"}},
		{"unknown type", `{"type":"wormhole"}`, 0, []string{`import.jsonl:4: of type "wormhole"`}},
		{"nothing of its type", `{"type":"post"}`, 0, []string{`import.jsonl:4: of type "post"`}},
		{"a huge line", post("anna", strings.Repeat("x", maxObject+1), 1000) + "\n" + post("anna", "b", 2000), 1, []string{"import.jsonl:4: it is longer than 16 MiB"}},
		{"times out of order", post("anna", "late", 3000) + "\n" + post("anna", "early", 1000), 2, nil},
		{"times that cannot be", post("anna", "a", 0) + "\n" + post("anna", "b", -5) + "\n" + post("anna", "c", 99999999999999), 0, []string{"import.jsonl:4: the message has no time", "import.jsonl:5: the message has no time", "import.jsonl:6: the message has no time"}},
		{"a user unknown", post("ghost", "boo", 1000), 1, []string{`import.jsonl:4: the export does not say who "ghost" is`}},
		{"a channel unknown", `{"type":"post","post":{"team":"t","channel":"x","user":"anna","message":"a","create_at":5}}`, 0, []string{`import.jsonl:4: the export does not have the channel "t/x"`}},
		{"a file outside", `{"type":"post","post":{"team":"t","channel":"c","user":"anna","message":"a","create_at":5000,"attachments":[{"path":"../../../../etc/passwd"}]}}`, 1, []string{`import.jsonl:4: the file`}},
		{"a reply to a reply", `{"type":"post","post":{"team":"t","channel":"c","user":"anna","message":"a","create_at":5000,"replies":[{"user":"anna","message":"b","create_at":6000,"replies":[{"user":"anna","message":"c","create_at":7000}]}]}}`, 2, []string{"import.jsonl:4: a reply has replies"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			r := s.run(t, Options{System: "mattermost", Path: files(t, map[string]string{"import.jsonl": base + tt.lines + "\n"})})
			var got []string
			for _, p := range r.Problems[1:] { // the first is that of the channel that is gone
				got = append(got, p.Where+": "+p.What)
			}
			if r.Written.Messages != tt.written || len(got) < len(tt.want) {
				t.Fatalf("%+v", r)
			}
			for i, w := range tt.want {
				if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
					t.Errorf("problem %d: %q, want one that begins %q", i, got, w)
				}
			}
		})
	}
}

// TestCyclicThreads: messages that are in each other's threads end up in one that begins with
// the first, or in none.
func TestCyclicThreads(t *testing.T) {
	s := newStore(t)
	message := func(id, thread, text string, at int) string {
		return fmt.Sprintf(`{"_id":%q,"rid":"r","msg":%q,"tmid":%q,"ts":{"$date":%d},"u":{"_id":"u1"}}`, id, text, thread, at)
	}
	r := s.run(t, Options{System: "rocketchat", Path: files(t, map[string]string{
		"users.json":                   `{"_id":"u1","username":"anna"}`,
		"rocketchat_room.json":         `{"_id":"r","t":"c","name":"general","ts":{"$date":{"$numberLong":"1000"}}}`,
		"rocketchat_subscription.json": `{"rid":"r","u":{"_id":"u1"},"roles":["owner"]}`,
		"rocketchat_uploads.json":      ``,
		"rocketchat_message.json": strings.Join([]string{
			message("a", "b", "a in b", 2000), message("b", "a", "b in a", 3000), message("c", "b", "c in b, which is in a", 4000), message("d", "d", "d in itself", 5000), message("e", "nowhere", "e in nothing", 6000),
		}, "\n"),
	})})
	want := []string{"1 a in b replies 2", "11 b in a in 2", "11 c in b, which is in a in 2", "1 d in itself", "1 e in nothing"}
	if got := s.said(t, general(t, s))[1:]; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if r.ProblemCount != 2 || !strings.Contains(r.Problems[0].Where, "rocketchat_message.json:1") {
		t.Errorf("%+v", r.Problems)
	}
}

// TestDamagedArray: an array that ends early gives what came before, and tells the line.
func TestDamagedArray(t *testing.T) {
	s := newStore(t)
	r := s.run(t, Options{System: "slack", Path: files(t, map[string]string{
		"users.json":     `[{"id":"U1","name":"anna"},`,
		"channels.json":  `[{"id":"C1","name":"general","created":1600000000,"members":["U1"]}]`,
		"general/1.json": "[\n{\"type\":\"message\",\"user\":\"U1\",\"ts\":\"1600000001.000000\",\"text\":\"one\"},\n{\"type\":\"message\",\"user\":\"U1\"",
		"general/2.json": `{"not":"an array"}`,
		"general/3.json": `[{"type":"message","user":"U1","ts":"x","text":"one"},17,{"type":"message","user":"U1","ts":"1600000009.000000","text":"two"}]`,
		"stray/1.json":   `[{"type":"message","user":"U1","ts":"1600000009.000000","text":"two"}]`,
	})})
	if r.Written.Messages != 2 || r.Written.Users != 1 || r.Left("message") != 3 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"users.json:1: the file is damaged", "general/1.json:3: the file is damaged", "general/2.json:1: the file is damaged", `general/3.json:1: the time "x"`, "general/3.json:1: no message", "stray/1.json: the lists"} {
		if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.HasPrefix(p.Where+": "+p.What, want) }) {
			t.Errorf("nobody tells %q: %v", want, r.Problems)
		}
	}
}

// TestHostileZip: names that lead out, links, doubles and bombs are left out, and told.
func TestHostileZip(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(h *zip.FileHeader, content io.Reader) {
		w := must(z.CreateHeader(h))(t)
		if _, err := io.Copy(w, content); err != nil {
			t.Fatal(err)
		}
	}
	text := func(name, content string) {
		add(&zip.FileHeader{Name: name, Method: zip.Deflate}, strings.NewReader(content))
	}
	text("users.json", `[{"id":"U1","name":"anna"}]`)
	text("channels.json", `[{"id":"C1","name":"general","created":1600000000,"members":["U1"]}]`)
	text("../../evil.json", "[]")
	text("/etc/passwd", "x")
	text(`..\evil.json`, "x")
	text("general/1.json", `[{"type":"message","user":"U1","ts":"1600000001.000000","text":"one"}]`)
	text("general/1.json", `[{"type":"message","user":"U1","ts":"1600000002.000000","text":"double"}]`)
	link := &zip.FileHeader{Name: "__uploads/F1/link"}
	link.SetMode(os.ModeSymlink | 0o777)
	add(link, strings.NewReader("/etc/passwd"))
	add(&zip.FileHeader{Name: "general/2.json", Method: zip.Deflate}, io.LimitReader(zeros{}, 100<<20))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "export.zip")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	r := s.run(t, Options{System: "slack", Path: name})
	if r.Written.Messages != 1 || r.ProblemCount != 6 {
		t.Errorf("%+v", r)
	}
	if got := s.said(t, general(t, s)); got[len(got)-1] != "1 one" {
		t.Errorf("%q", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestLinksOut: a link in a directory leads nowhere.
func TestLinksOut(t *testing.T) {
	dir := files(t, map[string]string{"in.json": "[]"})
	secret := files(t, map[string]string{"secret": "x"})
	if err := os.Symlink(filepath.Join(secret, "secret"), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	a := must(openArchive(dir, func(string, string) {}))(t)
	defer a.Close()
	for _, name := range []string{"out", "../" + filepath.Base(secret) + "/secret", filepath.Join(secret, "secret")} {
		if r, _, err := a.open(name); err == nil {
			r.Close()
			t.Errorf("%s was opened", name)
		}
		if a.has(name) {
			t.Errorf("%s is there", name)
		}
	}
	if !a.has("in.json") {
		t.Error("in.json is not there")
	}
}

// TestManyReactions: a message takes as many reactions as it can, and tells of the others.
func TestManyReactions(t *testing.T) {
	s := newStore(t)
	var users, by []string
	for i := range maxReacted + 10 {
		users = append(users, fmt.Sprintf(`{"id":"U%d","name":"user%d"}`, i, i))
		by = append(by, fmt.Sprintf(`"U%d"`, i))
	}
	users = append(users, `{"id":"A","name":"anna"}`)
	r := s.run(t, Options{System: "slack", Path: files(t, map[string]string{
		"users.json":    "[" + strings.Join(users, ",") + "]",
		"channels.json": `[{"id":"C1","name":"general","created":1600000000,"members":["A","U1"]}]`,
		"general/1.json": `[{"type":"message","user":"A","ts":"1600000001.000000","text":"one","reactions":[{"name":"heart","users":["A","A","nobody"]},{"name":"` +
			strings.Repeat("long", 30) + `","users":["A"]},{"name":"+1","users":[` + strings.Join(by, ",") + `]}]}]`,
	})})
	if r.Written.Reactions != maxReacted || r.LeftOut["reaction: too many on one message"] != 11 || r.LeftOut["reaction: twice by one user"] != 1 || r.LeftOut["reaction: by somebody unknown"] != 1 || r.LeftOut["reaction: its name cannot be used"] != 1 {
		t.Errorf("%+v", r.LeftOut)
	}
	if got := s.said(t, general(t, s)); got[len(got)-1] != fmt.Sprintf("1 one ❤️1 👍%d", maxReacted-1) {
		t.Errorf("%q", got)
	}
}

// TestLongText: a text that is too long for one message becomes several, and nothing of it is
// lost.
func TestLongText(t *testing.T) {
	s := newStore(t)
	long := strings.Repeat("Grüße ", 30_000)
	r := s.run(t, Options{System: "mattermost", Path: files(t, map[string]string{"import.jsonl": `{"type":"version","version":1}
{"type":"channel","channel":{"team":"t","name":"c","display_name":"c","type":"O"}}
{"type":"user","user":{"username":"anna","teams":[{"name":"t","channels":[{"name":"c"}]}]}}
{"type":"post","post":{"team":"t","channel":"c","user":"anna","message":"` + long + `","create_at":1000}}`})})
	var all strings.Builder
	for _, line := range s.said(t, general(t, s))[1:] {
		all.WriteString(strings.TrimPrefix(line, "1 "))
	}
	if all.String() != long || r.Written.Messages != 1 || r.Parts != 3 {
		t.Errorf("%d bytes of %d, %d parts", all.Len(), len(long), r.Parts)
	}
}

// TestMemory: an import of many messages needs no memory for all of them.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	if err := exporttest.Write(dir, "mattermost", exporttest.Random(20_000, 9)); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	var most uint64
	o := Options{System: "mattermost", Path: dir, Spool: s.dir, sortBytes: 256 << 10, Progress: func(string, int64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := s.run(t, o)
	if grown := int64(most) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d messages took %d MiB", r.Written.Messages, grown>>20)
	}
}

// dialTo connects to one address, whichever is asked for.
func dialTo(address string) func(ctx context.Context, network, _ string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}
