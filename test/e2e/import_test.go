package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/importing"
	"github.com/skein-im/skein/internal/importing/exporttest"
	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// imports runs skein import and returns its report.
func imports(t *testing.T, system, dir string, args ...string) (r importing.Report) {
	t.Helper()
	out, _ := runs(t, "", 0, append([]string{"import", system, dir, "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if err := r.Check(); err != nil && !r.DryRun {
		t.Error(err)
	}
	return r
}

// importWorld is a server over an imported store, with who is who there.
type importWorld struct {
	*process
	ids    map[string]string // username → id
	tokens map[string]string
}

func serveImported(t *testing.T, dir string, args ...string) *importWorld {
	t.Helper()
	w := &importWorld{process: serve(t, dir, args...), ids: map[string]string{}, tokens: map[string]string{}}
	var users wire.ListUsersResponse
	if err := skein.Post(t.Context(), w.HTTP(), "skein.v1.AdminService/ListUsers", w.AdminKey(), &wire.ListUsersRequest{}, &users); err != nil {
		t.Fatal(err)
	}
	for _, u := range users.Users {
		w.ids[u.Username] = u.Id
	}
	return w
}

func (w *importWorld) call(t *testing.T, user, method string, req, resp proto.Message) {
	t.Helper()
	if w.tokens[user] == "" {
		w.tokens[user] = mint(t, w, w.ids[user], time.Hour).AccessToken
	}
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := skein.Post(t.Context(), w.HTTP(), "skein.v1."+method, w.tokens[user], req, resp)
		switch {
		case err == nil:
			return
		case !strings.Contains(err.Error(), "rate_limited") || time.Now().After(until): // it reads much
			t.Fatalf("%s as %s: %v", method, user, err)
		}
	}
}

// conversations are those of a user, by title, or id where they have none.
func (w *importWorld) conversations(t *testing.T, user string) map[string]*wire.ConversationState {
	t.Helper()
	var list wire.ListConversationsResponse
	w.call(t, user, "MessageService/ListConversations", &wire.ListConversationsRequest{}, &list)
	all := map[string]*wire.ConversationState{}
	for _, c := range list.Delta.Conversations {
		name := c.Title
		if name == "" {
			name = c.Conversation
		}
		all[name] = c
	}
	return all
}

// entries are all messages that a user reads in a conversation's line.
func (w *importWorld) entries(t *testing.T, user, conversation string) (all []*wire.Entry) {
	t.Helper()
	for from := uint64(1); ; {
		var page wire.ListEntriesResponse
		w.call(t, user, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: conversation, From: from, Limit: 200}, &page)
		if page.LastSeq == 0 || page.LastSeq < from {
			return all
		}
		for _, e := range page.Entries {
			if e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
				all = append(all, e)
			}
		}
		from = page.LastSeq + 1
	}
}

// replies are those of a thread.
func (w *importWorld) replies(t *testing.T, user, conversation string, root uint64) (all []*wire.Entry) {
	t.Helper()
	for before := uint64(0); ; {
		var page wire.ListThreadResponse
		w.call(t, user, "MessageService/ListThread", &wire.ListThreadRequest{Conversation: conversation, Seq: root, Before: before, Limit: 200}, &page)
		if len(page.Entries) == 0 {
			return all
		}
		all = append(slices.Clone(page.Entries), all...)
		before = page.Entries[0].Seq
	}
}

// line is a message as the story has it, or a server.
func (w *importWorld) line(e *wire.Entry) string {
	text := e.GetContent().GetText()
	if e.GetContent().GetType() == "file" {
		var f struct{ Name, Caption string }
		_ = json.Unmarshal([]byte(text), &f)
		text = f.Caption + " + " + f.Name
	}
	var reactions []string
	for _, r := range e.Reactions {
		reactions = append(reactions, fmt.Sprint(r.Reaction, r.Count))
	}
	return fmt.Sprintf("%s at %d edited %d/%d: %q %v replies %d main %v", e.Sender, e.StoredAtMs, e.EditedAtMs, e.Edits, text, reactions, e.GetReplies().GetCount(), e.AlsoInMain)
}

func (w *importWorld) wants(s *exporttest.Story, r *exporttest.Room, i int, system string) string {
	m := &r.Messages[i]
	text, edits := m.Text, 0
	if m.File != "" {
		text += " + " + m.FileName
	}
	if m.EditedMs > 0 {
		edits = 1
	}
	var reactions []string
	for _, x := range m.Reactions {
		e := map[string]string{"+1": "👍", "tada": "🎉"}[x.Name]
		reactions = append(reactions, fmt.Sprint(e, len(x.Users)))
	}
	replies := 0
	for k := range r.Messages {
		if r.Messages[k].Root == i && !r.Messages[k].System {
			replies++
		}
	}
	return fmt.Sprintf("%s at %d edited %d/%d: %q %v replies %d main %v", w.ids[s.Users[m.Author].Name], m.AtMs, m.EditedMs, edits, text, reactions, replies, inMain(m, system))
}

// inMain: Mattermost knows no replies that stand in the channel's line as well.
func inMain(m *exporttest.Message, system string) bool {
	return m.Root >= 0 && m.InMain && system != "mattermost"
}

// checkRoom compares a conversation with the story: each message, in its order, with its
// time, thread, reactions and file.
func (w *importWorld) checkRoom(t *testing.T, s *exporttest.Story, r *exporttest.Room, system, as string, state *wire.ConversationState) {
	t.Helper()
	if state == nil {
		t.Errorf("%s has no conversation %q", as, r.Name)
		return
	}
	if state.Unread != 0 || state.UnreadMentions != 0 {
		t.Errorf("%d of %q are unread", state.Unread, r.Name)
	}
	var got, want []string
	files := map[string]string{} // id → content
	bySeq := map[int]uint64{}
	main := w.entries(t, as, state.Conversation)
	at := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.System || m.Root >= 0 && !inMain(m, system) {
			continue
		}
		want = append(want, w.wants(s, r, i, system))
		if at < len(main) {
			bySeq[i] = main[at].Seq
			if m.File != "" && len(main[at].Media) == 1 {
				files[main[at].Media[0].Id] = m.File
			}
		}
		at++
	}
	for _, e := range main {
		got = append(got, w.line(e))
	}
	w.same(t, r.Name, got, want)
	for root, seq := range bySeq {
		var want, got []string
		for i := range r.Messages {
			if r.Messages[i].Root == root && !r.Messages[i].System {
				want = append(want, w.wants(s, r, i, system))
			}
		}
		if len(want) == 0 {
			continue
		}
		for _, e := range w.replies(t, as, state.Conversation, seq) {
			got = append(got, w.line(e))
		}
		w.same(t, fmt.Sprint("the thread of #", seq, " in ", r.Name), got, want)
	}
	for id, want := range files {
		if got := w.fetch(t, as, id); got != want {
			t.Errorf("the file %s has %d bytes %.40q, want %d %.40q", id, len(got), got, len(want), want)
		}
	}
}

func (w *importWorld) same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	t.Errorf("%s: %d messages, want %d", what, len(got), len(want))
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: %d is\n%s, want\n%s", what, i, got[i], want[i])
			return
		}
	}
}

func (w *importWorld) fetch(t *testing.T, as, id string) string {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, w.HTTP()+"/media/"+id, nil))(t)
	req.Header.Set("Authorization", "Bearer "+w.tokens[as])
	resp := must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	body := must(io.ReadAll(resp.Body))(t)
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET /media/%s: %s %s", id, resp.Status, body)
	}
	return string(body)
}

// room finds the conversation of a room among a user's.
func (w *importWorld) room(s *exporttest.Story, r *exporttest.Room, all map[string]*wire.ConversationState) *wire.ConversationState {
	switch r.Kind {
	case "direct":
		return all[string(im.DM(im.UserID(w.ids[s.Users[r.Members[0]].Name]), im.UserID(w.ids[s.Users[r.Members[1]].Name])))]
	case "several":
		for _, c := range all {
			if strings.Contains(c.Title, ", ") {
				return c
			}
		}
		return nil
	}
	return all[r.Name]
}

// counts compares a report with the story.
func importCounts(t *testing.T, s *exporttest.Story, r importing.Report, written, already bool) {
	t.Helper()
	messages, system, replies, reactions, files := s.Counts()
	if r.Read.Messages != messages || r.Left("message") != system || r.Read.Users != len(s.Users) || r.Read.Conversations != len(s.Rooms) {
		t.Errorf("read %+v, left out %v; want %d messages, %d of them the system's", r.Read, r.LeftOut, messages, system)
	}
	for _, x := range []struct {
		is   importing.Things
		want bool
	}{{r.Written, written}, {r.Already, already}} {
		n := int64(0)
		if x.want {
			n = 1
		}
		if x.is.Messages != n*(messages-system) || x.is.Replies != n*replies || x.is.Reactions != n*reactions || x.is.Files != n*files || x.is.Conversations != int(n)*len(s.Rooms) || x.is.Users != int(n)*len(s.Users) {
			t.Errorf("%+v, want %d times: %d messages, %d in threads, %d reactions, %d files", x.is, n, messages-system, replies, reactions, files)
		}
	}
	if r.ProblemCount != 0 {
		t.Errorf("problems: %v", r.Problems)
	}
}

// TestImport: an export of each of three systems becomes a server whose users find all of it:
// as many messages as there were, in their order, with their times, threads, reactions and
// files, and nothing unread. A second run adds nothing, before and after people use it.
func TestImport(t *testing.T) {
	t.Parallel()
	for _, system := range importing.Systems() {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/postgres=%v", system, shared), func(t *testing.T) {
				t.Parallel()
				s := exporttest.Random(500, uint64(len(system)))
				dir, data := t.TempDir(), t.TempDir()
				if err := exporttest.Write(dir, system, s); err != nil {
					t.Fatal(err)
				}
				args := []string{"--set", "media.store=" + filepath.Join(data, "media")}
				if shared {
					args = append(args, "--store", pgtest.Database(t))
				}
				with := append([]string{"--data", data}, args...)
				if r := imports(t, system, dir, append(with, "--dry-run")...); r.Written != (importing.Things{}) {
					t.Errorf("a dry run wrote %+v", r.Written)
				}
				importCounts(t, s, imports(t, system, dir, with...), true, false)
				importCounts(t, s, imports(t, system, dir, with...), false, true)
				w := serveImported(t, data, args...)
				w.checkStory(t, s, system)
				w.goesOn(t, s)
				w.Stop(t)
				importCounts(t, s, imports(t, system, dir, with...), false, true)
				w.Start(t)
				if c := w.conversations(t, "user01")["general"]; c == nil || c.Unread != 1 {
					t.Errorf("after a third run: %v", c)
				}
			})
		}
	}
}

func (w *importWorld) checkStory(t *testing.T, s *exporttest.Story, system string) {
	t.Helper()
	for i := range s.Rooms {
		r := &s.Rooms[i]
		as := s.Users[r.Members[1]].Name
		if r.Kind == "direct" {
			as = s.Users[r.Members[0]].Name
		}
		w.checkRoom(t, s, r, system, as, w.room(s, r, w.conversations(t, as)))
	}
	var threads wire.ListThreadsResponse
	w.call(t, "user01", "MessageService/ListThreads", &wire.ListThreadsRequest{Limit: 200}, &threads)
	for _, x := range threads.Threads {
		if x.Unread != 0 || !x.Follows {
			t.Errorf("a thread that user01 wrote in: %v", x)
		}
	}
	if len(threads.Threads) == 0 {
		t.Error("user01 follows no thread")
	}
	for name, want := range map[string]struct {
		join wire.JoinMode
		post wire.GroupPower
	}{
		"general": {wire.JoinMode_JOIN_MODE_OPEN, wire.GroupPower_GROUP_POWER_ALL}, "secret": {wire.JoinMode_JOIN_MODE_INVITATION, wire.GroupPower_GROUP_POWER_ALL},
		"old": {wire.JoinMode_JOIN_MODE_OPEN, wire.GroupPower_GROUP_POWER_ADMINS},
	} {
		var got wire.GetGroupResponse
		w.call(t, "user02", "GroupService/GetGroup", &wire.GetGroupRequest{Conversation: w.conversations(t, "user02")[name].GetConversation()}, &got)
		if g := got.Group; g.GetName() != name || g.GetJoin() != want.join || g.GetWhoMayPost() != want.post {
			t.Errorf("%s is %v", name, g)
		}
	}
	if err := skein.Post(t.Context(), w.HTTP(), "skein.v1.AdminService/MintToken", w.AdminKey(), &wire.MintTokenRequest{User: w.ids["user11"], LifetimeMs: 60_000}, &wire.MintTokenResponse{}); err == nil {
		t.Error("somebody who was deactivated there comes in here")
	}
}

// goesOn uses what was imported: it is found, a reset link gives a password, and people go on.
func (w *importWorld) goesOn(t *testing.T, s *exporttest.Story) {
	t.Helper()
	general := w.conversations(t, "user00")["general"].GetConversation()
	var found wire.SearchMessagesResponse
	for until := time.Now().Add(patience); len(found.Found) == 0; {
		w.call(t, "user00", "MessageService/SearchMessages", &wire.SearchMessagesRequest{Query: "你好", Conversation: general}, &found)
		if time.Now().After(until) {
			t.Fatal("nothing of it is found")
		}
	}
	var link wire.CreateResetLinkResponse
	if err := skein.Post(t.Context(), w.HTTP(), "skein.v1.AdminService/CreateResetLink", w.AdminKey(), &wire.CreateResetLinkRequest{User: w.ids["user03"]}, &link); err != nil {
		t.Fatal(err)
	}
	if err := skein.Post(t.Context(), w.HTTP(), "skein.v1.AccountService/ResetPassword", "", &wire.ResetPasswordRequest{Code: link.Code, NewPassword: "a new password"}, &wire.ResetPasswordResponse{}); err != nil {
		t.Error(err)
	}
	login := &wire.LoginRequest{Username: "user03", Password: "a new password", Device: &wire.Device{Id: skein.NewDeviceID(), Class: wire.DeviceClass_DEVICE_CLASS_WEB, Name: "x"}}
	if err := skein.Post(t.Context(), w.HTTP(), "skein.v1.AccountService/Login", "", login, &wire.LoginResponse{}); err != nil {
		t.Error(err)
	}
	ann := connect(t, w, device{user: w.ids["user00"], token: w.tokens["user00"], class: wire.DeviceClass_DEVICE_CLASS_PHONE, id: skein.NewDeviceID(), way: ways()[0], store: skein.NewMemoryStore()})
	ann.says(general, "and so it goes on")
	ann.leave()
}

// dump is all that a server tells of a story's rooms, without the ids of uploads.
func (w *importWorld) dump(t *testing.T, s *exporttest.Story) string {
	t.Helper()
	var b strings.Builder
	for i := range s.Rooms {
		r := &s.Rooms[i]
		as := s.Users[r.Members[0]].Name
		c := w.room(s, r, w.conversations(t, as))
		fmt.Fprintf(&b, "%s unread %d to %d\n", c.GetConversation(), c.GetUnread(), c.GetSeq())
		for _, e := range w.entries(t, as, c.GetConversation()) {
			fmt.Fprintf(&b, "#%d %x %s\n", e.Seq, e.Id, w.line(e))
			if e.GetReplies().GetCount() > 0 {
				for _, x := range w.replies(t, as, c.GetConversation(), e.Seq) {
					fmt.Fprintf(&b, "  #%d %x %s\n", x.Seq, x.Id, w.line(x))
				}
			}
		}
	}
	return b.String()
}

// TestImportKilled: an import that is killed again and again, wherever it was, comes to the
// same as one that was not.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("postgres=%v", shared), func(t *testing.T) {
			t.Parallel()
			s := exporttest.Random(3000, 7)
			dir := t.TempDir()
			if err := exporttest.Write(dir, "rocketchat", s); err != nil {
				t.Fatal(err)
			}
			var dumps []string
			for _, killed := range []bool{false, true} {
				data := t.TempDir()
				args := []string{"--set", "media.store=" + filepath.Join(data, "media")}
				if shared {
					args = append(args, "--store", pgtest.Database(t))
				}
				with := append([]string{"--data", data}, args...)
				kills := 0
				for wait := 60 * time.Millisecond; killed && kills < 12; wait += 60 * time.Millisecond {
					p := launch(t, nil, append([]string{"import", "rocketchat", dir}, with...)...)
					select {
					case <-p.done:
						killed = false // it came to its end
					case <-time.After(wait):
						if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
							t.Fatal(err)
						}
						<-p.done
						kills++
					}
				}
				r := imports(t, "rocketchat", dir, with...)
				messages, system, _, _, _ := s.Counts()
				if r.Written.Messages+r.Already.Messages != messages-system {
					t.Errorf("%+v and %+v", r.Written, r.Already)
				}
				t.Logf("killed %d times; the last run wrote %d of %d messages", kills, r.Written.Messages, messages)
				w := serveImported(t, data, args...)
				dumps = append(dumps, w.dump(t, s))
				w.Stop(t)
			}
			if dumps[0] != dumps[1] {
				a, b := strings.Split(dumps[0], "\n"), strings.Split(dumps[1], "\n")
				for i := range min(len(a), len(b)) {
					if a[i] != b[i] {
						t.Fatalf("line %d of %d and %d: without a kill\n%s\nwith\n%s", i, len(a), len(b), a[i], b[i])
					}
				}
				t.Fatalf("%d and %d lines", len(a), len(b))
			}
		})
	}
}

// TestImportRefuses: an import does not touch the store of a server that runs.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	s := exporttest.Random(10, 1)
	dir := t.TempDir()
	if err := exporttest.Write(dir, "slack", s); err != nil {
		t.Fatal(err)
	}
	p := serve(t, t.TempDir())
	if _, stderr := runs(t, "", 1, "import", "slack", dir, "--data", p.dir); !strings.Contains(stderr, "in use by another process") || !strings.Contains(stderr, "stop the server first") {
		t.Errorf("a running server's store: %q", stderr)
	}
	database := pgtest.Database(t)
	q := serve(t, t.TempDir(), "--store", database)
	if _, stderr := runs(t, "", 1, "import", "slack", dir, "--data", t.TempDir(), "--store", database); !strings.Contains(stderr, "stop every node first") {
		t.Errorf("a running server's database: %q", stderr)
	}
	q.Stop(t)
	for _, args := range [][]string{{"import", "mattermost", dir}, {"import", "rocketchat", dir}} {
		if _, stderr := runs(t, "", 1, append(args, "--data", t.TempDir())...); !strings.Contains(stderr, "no export of") && !strings.Contains(stderr, "export of Mattermost") {
			t.Errorf("%v: %q", args, stderr)
		}
	}
}
