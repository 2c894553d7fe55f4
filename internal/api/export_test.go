package api

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// exportCaller passes the calls of exports on; before may refuse one, and later moves the
// clock of exports.
type exportCaller struct {
	to     *Calls
	later  atomic.Int64
	before func(ctx context.Context, from im.Actor, method string) error
}

func (c *exportCaller) Call(ctx context.Context, from im.Actor, call im.Call) ([]byte, error) {
	if c.before != nil {
		if err := c.before(ctx, from, strings.TrimPrefix(call.Method, "skein.v1.")); err != nil {
			return nil, err
		}
	}
	return c.to.Call(ctx, from, call)
}

// begins begins an export of a person's own.
func (w *world) begins(p person) string {
	w.t.Helper()
	var begun wire.BeginExportResponse
	w.must(p.token, "AccountService/BeginExport", &wire.BeginExportRequest{Password: password}, &begun)
	return begun.GetPath()
}

// says sends a message and tells its seq.
func (w *world) says(p person, conversation, words string, media ...string) uint64 {
	w.t.Helper()
	var r wire.SendMessageResponse
	w.must(p.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: conversation, Content: text(words), Media: media}, &r)
	return r.GetSeq()
}

type unzipped map[string][]byte

// unzip reads an export, and holds every part against the manifest, which is the last one.
func unzip(t *testing.T, b []byte) (unzipped, map[string]any) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	all := unzipped{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if all[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if last := z.File[len(z.File)-1].Name; last != "manifest.json" || len(all) != len(z.File) {
		t.Fatalf("the last of %d parts, %d different ones, is %s", len(z.File), len(all), last)
	}
	var manifest map[string]any
	if err := json.Unmarshal(all["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	parts := manifest["parts"].([]any)
	for i, p := range parts {
		p := p.(map[string]any)
		content := all[p["name"].(string)]
		sum := sha256.Sum256(content)
		if z.File[i].Name != p["name"] || int(p["bytes"].(float64)) != len(content) || p["sha256"] != hex.EncodeToString(sum[:]) {
			t.Errorf("%v has %d bytes", p, len(content))
		}
		lines, _ := p["lines"].(float64)
		if strings.HasSuffix(z.File[i].Name, ".jsonl") && int(lines) != bytes.Count(content, []byte("\n")) {
			t.Errorf("%v: %s", p, content)
		}
	}
	if len(parts) != len(all)-1 {
		t.Errorf("%d parts in the manifest, %d in the zip", len(parts), len(all))
	}
	return all, manifest
}

// exported downloads an export.
func (w *world) exported(path string) (unzipped, map[string]any) {
	w.t.Helper()
	r := w.status("download", request{method: http.MethodGet, path: path}, http.StatusOK)
	if h := r.Header(); h.Get("Content-Type") != "application/zip" || h.Get("Cache-Control") != "no-store" || !strings.HasPrefix(h.Get("Content-Disposition"), `attachment; filename="skein-export-`) {
		w.t.Error(h)
	}
	return unzip(w.t, r.Body.Bytes())
}

// sameEntries holds the entries of a conversation in an export against what ListEntries
// tells, but for the first of them.
func (w *world) sameEntries(p person, conversation string, without int, all unzipped) {
	w.t.Helper()
	var page wire.ListEntriesResponse
	w.must(p.token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: conversation, From: 1, Limit: 500}, &page)
	want := page.GetEntries()[without:]
	name := "conversations/" + strings.ReplaceAll(conversation, ":", ".") + ".jsonl"
	if strings.HasPrefix(conversation, "me:") {
		name = "me.jsonl"
	}
	lines := strings.Split(strings.TrimSuffix(string(all[name]), "\n"), "\n")
	if len(lines) != len(want) {
		w.t.Fatalf("%s: %d entries, not %d: %s", name, len(lines), len(want), all[name])
	}
	for i, line := range lines {
		var e wire.Entry
		if err := protojson.Unmarshal([]byte(line), &e); err != nil || !proto.Equal(&e, want[i]) {
			w.t.Errorf("%s: %v, not %v (%v)", name, &e, want[i], err)
		}
	}
}

// An export has what its user may read now, as they would be told it, and nothing else.
func TestExport(t *testing.T) {
	w := newWorld(t)
	ann, bob, eve := w.person("ann"), w.person("bob"), w.person("eve")
	w.befriend(ann, bob)
	w.must(ann.token, "ContactService/BlockUser", &wire.BlockUserRequest{User: eve.id}, nil)
	chat := dm(ann, bob)
	file := w.upload(ann, "what the file says")
	w.says(ann, chat, "look at this", file)
	taken := w.says(bob, chat, "words that were taken back")
	w.must(bob.token, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: chat, Seq: taken}, nil)
	edited := w.says(bob, chat, "frist")
	w.must(bob.token, "MessageService/EditMessage", &wire.EditMessageRequest{Conversation: chat, Seq: edited, Content: text("first")}, nil)
	w.says(ann, chat, "look again", file)

	var made wire.CreateGroupResponse
	w.must(bob.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "tea", Members: []string{ann.id}}, &made)
	group := made.GetGroup().GetConversation()
	theirs := w.upload(bob, "what bob showed")
	w.says(bob, group, "while she was there", theirs)
	w.must(bob.token, "GroupService/RemoveMembers", &wire.RemoveMembersRequest{Conversation: group, Users: []string{ann.id}}, nil)
	w.says(bob, group, "behind her back", w.upload(bob, "what she never saw"))
	w.must(bob.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "cake", Members: []string{ann.id}}, &made)
	cake := made.GetGroup().GetConversation()
	for i := range 3 {
		w.says(bob, cake, fmt.Sprint("cake ", i))
	}
	w.must(ann.token, "MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: cake, ClearedBelow: proto.Uint64(4)}, nil)
	w.says(eve, string(im.Saved(im.UserID(eve.id))), "what only eve knows")

	all, manifest := w.exported(w.begins(ann))
	if manifest["complete"] != true || manifest["user"] != ann.id || manifest["conversations"] != 3.0 || manifest["media"] != 2.0 || len(manifest["leftOut"].([]any)) != 0 {
		t.Errorf("%v", manifest)
	}
	if a, b := all["media/"+file+"-a.txt"], all["media/"+theirs+"-a.txt"]; string(a) != "what the file says" || string(b) != "what bob showed" {
		t.Errorf("%q, %q", a, b)
	}
	for _, c := range []string{chat, group, cake, string(im.Me(im.UserID(ann.id)))} {
		from := 0
		if c == cake { // what she cleared clients hide
			from = 3
		}
		w.sameEntries(ann, c, from, all)
	}
	var whole []byte
	for name, b := range all {
		whole = append(append(whole, name...), b...)
	}
	for _, never := range []string{"taken back", "behind her back", "never saw", "only eve", "cake 0", "frist", password, ann.token, ann.refresh, bob.session} {
		if bytes.Contains(whole, []byte(never)) {
			t.Errorf("it has %q", never)
		}
	}
	for part, has := range map[string]string{
		"account.json": `"username":"` + ann.username + `"`, "contacts.jsonl": bob.id, "blocks.jsonl": eve.id, "conversations.jsonl": `"kind":"group"`,
		"conversations/" + strings.ReplaceAll(cake, ":", ".") + ".members.jsonl": ann.id, "conversations/" + strings.ReplaceAll(cake, ":", ".") + ".jsonl": "cake 2",
	} {
		if !bytes.Contains(all[part], []byte(has)) {
			t.Errorf("%s has no %s: %s", part, has, all[part])
		}
	}
	if bytes.Contains(all["blocks.jsonl"], []byte(bob.id)) || len(all["scheduled.jsonl"]) != 0 {
		t.Errorf("%s", all["blocks.jsonl"])
	}
}

// Nobody has an export but with a ticket of the server's, of its user, in its time. An
// administrator's is of whom they named.
func TestExportTickets(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	path := w.begins(ann)
	get := func(path string) request { return request{method: http.MethodGet, path: path} }
	for what, p := range map[string]string{
		"another's":    strings.Replace(path, "user="+ann.id, "user="+bob.id, 1),
		"an admin's":   path + "&admin=",
		"none":         exportPath,
		"no signature": path[:strings.Index(path, "signature=")],
		"a session":    strings.Replace(path, ann.session, bob.session, 1),
	} {
		if p == path {
			t.Fatalf("%s is the same", what)
		}
		w.status(what, get(p), http.StatusNotFound)
	}
	w.status("a token alone", request{method: http.MethodGet, path: exportPath, header: http.Header{"Authorization": {"Bearer " + ann.token}}}, http.StatusNotFound)
	w.status("another method", request{method: http.MethodPost, path: path}, http.StatusMethodNotAllowed)
	w.status("the right one", get(path), http.StatusOK)

	root := w.login(w.root)
	var by wire.ExportUserResponse
	w.must(root.token, "AdminService/ExportUser", &wire.ExportUserRequest{User: bob.id}, &by)
	if _, m := w.exported(by.GetPath()); m["user"] != bob.id || m["byAdministrator"] != true {
		t.Error(m)
	}
	w.must(adminKey, "AdminService/ExportUser", &wire.ExportUserRequest{User: bob.id}, &by)
	if _, m := w.exported(by.GetPath()); m["user"] != bob.id {
		t.Error(m)
	}
	w.exports.later.Store(int64(6 * time.Minute))
	w.status("too late", get(path), http.StatusNotFound)

	path = w.begins(ann)
	w.must(ann.token, "AccountService/Logout", &wire.LogoutRequest{}, nil)
	if r := do(w.http, get(path)); w.failure("AccountService/BeginExport", r) != im.CodeSessionRevoked {
		t.Error(r.Body)
	}
	w.must(root.token, "AdminService/EraseUser", &wire.EraseUserRequest{User: bob.id}, nil)
	if r := do(w.http, get(by.GetPath())); w.failure("AccountService/BeginExport", r) != im.CodeNotFound { // its time is over
		t.Error(r.Body)
	}
	if code := w.call(root.token, "AdminService/ExportUser", &wire.ExportUserRequest{User: bob.id}, nil); code != im.CodeAccountDeleted {
		t.Error(code)
	}
}

// What ends an export in the middle leaves a download that is cut off, and no zip.
func TestExportThatEndsEarly(t *testing.T) {
	w := newWorld(t)
	root := w.login(w.root)
	srv := httptest.NewServer(w.http)
	defer srv.Close()
	for what, end := range map[string]func(p person) error{
		"the server fails":     func(person) error { return errors.New("a disk is gone") },
		"the session is ended": func(p person) error { w.must(p.token, "AccountService/Logout", &wire.LogoutRequest{}, nil); return nil },
		"the user is deleted": func(p person) error {
			w.must(root.token, "AdminService/EraseUser", &wire.EraseUserRequest{User: p.id}, nil)
			return nil
		},
		"an answer is too late": func(person) error { return im.Errorf(im.CodeNotFound, "no such conversation") }, // is none of these: it goes on
	} {
		p, q := w.person("ann"), w.person("bob")
		w.befriend(p, q)
		file := w.upload(p, strings.Repeat("0123456789abcdef", 16<<10)) // more than is kept back
		w.says(p, dm(p, q), "one")
		w.says(p, string(im.Saved(im.UserID(p.id))), "two", file)
		path, reads := w.begins(p), 0
		w.exports.before = func(_ context.Context, from im.Actor, method string) error {
			if method != "MessageService/ListEntries" || from.User != im.UserID(p.id) {
				return nil
			}
			if reads++; reads == 4 { // the feed twice, a conversation, and now the other
				return end(p)
			}
			return nil
		}
		r, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		w.exports.before = nil
		if what == "an answer is too late" {
			_, m := unzip(t, b)
			if err != nil || m["complete"] != true || len(m["leftOut"].([]any)) != 1 {
				t.Error(what, err, m)
			}
			continue
		}
		if r.StatusCode != http.StatusOK || len(b) < 32<<10 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d, %d bytes, %v", what, r.StatusCode, len(b), err)
		}
		if _, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: a zip", what)
		}
		if leave, err := w.calls.Export.Enter(im.UserID(p.id)); err != nil {
			t.Errorf("%s: %v", what, err)
		} else {
			leave()
		}
	}
}

// Who goes away while their export is made leaves their place to others; nobody has two, and
// the server makes as many as it may.
func TestExportsAtOnce(t *testing.T) {
	w := newWorld(t)
	srv := httptest.NewServer(w.http)
	defer srv.Close()
	var people []person
	for range 3 {
		people = append(people, w.person("ann"))
	}
	inside, ended := make(chan bool, 3), make(chan error, 3)
	w.exports.before = func(ctx context.Context, _ im.Actor, method string) error {
		if method != "ContactService/ListContacts" {
			return nil
		}
		inside <- true
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, goAway := context.WithTimeout(t.Context(), 30*time.Second)
	defer goAway()
	for _, p := range people[:2] {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+w.begins(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := http.DefaultClient.Do(q)
			ended <- err
		}()
		<-inside
	}
	for _, tc := range []struct {
		p    person
		want im.Code
	}{{people[0], im.CodeRateLimited}, {people[2], im.CodeOverloaded}} {
		r := do(w.http, request{method: http.MethodGet, path: w.begins(tc.p)})
		if code := w.failure("AccountService/BeginExport", r); code != tc.want || r.Header().Get("Retry-After") == "" {
			t.Error(code, r.Header())
		}
	}
	goAway()
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("it was answered")
		}
	}
	w.exports.before = nil
	for until := time.Now().Add(30 * time.Second); ; {
		leave, err := w.calls.Export.Enter(im.UserID(people[0].id))
		if err == nil {
			leave()
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // the other end of a connection that was closed
	}
}

// Who reads too slowly is let go of, however much there is to come; who is as fast as they
// are to be is not.
func TestPatience(t *testing.T) {
	p := &patient{w: httptest.NewRecorder(), wait: time.Second}
	p.c = http.NewResponseController(p.w)
	p.bytes, p.blocked = 100*leastExport, 101*time.Second
	if _, err := p.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	p.blocked = 102*time.Second + time.Millisecond
	if _, err := p.Write([]byte("x")); err != errSlowReader {
		t.Error(err)
	}
}

// What is written to while the list of conversations is read is in it all the same, though
// that takes it to the front, which was read; and each is there once, up to what was its last
// entry then.
func TestExportWhileOthersWrite(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.befriend(ann, bob)
	var made wire.CreateGroupResponse
	var groups []string
	for i := range 102 { // more than a page
		w.must(bob.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: fmt.Sprint("tea ", i), Members: []string{ann.id}}, &made)
		groups = append(groups, made.GetGroup().GetConversation())
	}
	w.says(bob, groups[0], "the first word")
	oldest, asked := groups[1], 0
	w.says(bob, groups[2], "another word")
	path := w.begins(ann)
	w.exports.before = func(_ context.Context, _ im.Actor, method string) error {
		switch method {
		case "MessageService/ListConversations":
			if asked++; asked == 2 { // the second page is about to be read
				w.says(bob, oldest, "said meanwhile")
			}
		case "MessageService/ListEntries":
			if asked > 0 {
				asked = -1 << 20
				w.says(bob, groups[0], "said behind the list")
			}
		}
		return nil
	}
	all, manifest := w.exported(path)
	w.exports.before = nil
	if manifest["conversations"] != float64(len(groups)) || manifest["complete"] != true {
		t.Errorf("%v conversations of %d", manifest["conversations"], len(groups))
	}
	for _, c := range groups {
		if n := bytes.Count(all["conversations.jsonl"], []byte(`"conversation":"`+c+`","kind"`)); n != 1 {
			t.Errorf("%s is there %d times", c, n)
		}
	}
	part := func(c string) string { return string(all["conversations/"+strings.ReplaceAll(c, ":", ".")+".jsonl"]) }
	if has := part(oldest); !strings.Contains(has, "said meanwhile") {
		t.Error(has)
	}
	if has := part(groups[0]); !strings.Contains(has, "the first word") || strings.Contains(has, "said behind the list") {
		t.Error(has)
	}
}

// The replies of a thread are there whatever became of its first message for the user: also
// where they deleted it for themselves, and, of those that were said since, where they cleared
// it; and where it was taken back.
func TestExportOfThreads(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.befriend(ann, bob)
	chat := dm(ann, bob)
	reply := func(root uint64, words string) {
		t.Helper()
		w.must(bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text(words), Thread: root}, nil)
	}
	cleared, plain, deleted, recalled := w.says(ann, chat, "root that is cleared"), w.says(ann, chat, "root"), w.says(ann, chat, "root that is deleted"), w.says(ann, chat, "root that is taken back")
	reply(cleared, "reply that was cleared")
	reply(plain, "reply to the plain one")
	reply(deleted, "reply to the deleted one")
	reply(recalled, "reply to the one taken back")
	w.must(ann.token, "MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: chat, Delete: []uint64{deleted}}, nil)
	w.must(ann.token, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: chat, Seq: recalled}, nil)
	all, _ := w.exported(w.begins(ann))
	part := "conversations/" + strings.ReplaceAll(chat, ":", ".")
	for _, words := range []string{"reply that was cleared", "reply to the plain one", "reply to the deleted one", "reply to the one taken back"} {
		if n := bytes.Count(all[part+".threads.jsonl"], []byte(words)); n != 1 {
			t.Errorf("%q is there %d times: %s", words, n, all[part+".threads.jsonl"])
		}
	}
	if bytes.Contains(all[part+".jsonl"], []byte("root that is deleted")) || bytes.Contains(all[part+".jsonl"], []byte("reply")) {
		t.Errorf("%s", all[part+".jsonl"])
	}
	below := w.says(ann, chat, "all before is cleared")
	w.must(ann.token, "MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: chat, ClearedBelow: &below}, nil)
	reply(cleared, "reply since it was cleared")
	reply(cleared, "one more since")
	all, _ = w.exported(w.begins(ann))
	for words, want := range map[string]int{"reply since it was cleared": 1, "one more since": 1, "reply that was cleared": 0, "root": 0, "reply to the plain one": 0} {
		if n := bytes.Count(all[part+".threads.jsonl"], []byte(words)) + bytes.Count(all[part+".jsonl"], []byte(words)); n != want {
			t.Errorf("%q is there %d times: %s", words, n, all[part+".threads.jsonl"])
		}
	}
}

// A picture of a preview is an upload that the message names as any other.
func TestExportOfPreviews(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.befriend(ann, bob)
	const link = "https://tea.example/green"
	id := w.preview(dm(ann, bob), w.says(bob, dm(ann, bob), link), link)
	all, manifest := w.exported(w.begins(ann))
	if len(all["media/"+id]) == 0 || manifest["media"] != 1.0 {
		t.Errorf("%v", manifest)
	}
}

// A guest has an export as users do, without what only users have.
func TestExportOfAGuest(t *testing.T) {
	w := newWorld(t)
	guest := w.guest("Gus")
	w.says(guest, string(im.Saved(im.UserID(guest.id))), "a note of a guest")
	var begun wire.BeginExportResponse
	w.must(guest.token, "AccountService/BeginExport", &wire.BeginExportRequest{}, &begun)
	all, manifest := w.exported(begun.GetPath())
	if manifest["complete"] != true || !bytes.Contains(all["account.json"], []byte(`"identities":[]`)) || !bytes.Contains(all["account.json"], []byte("Gus")) {
		t.Errorf("%v: %s", manifest, all["account.json"])
	}
	if part := all["conversations/dm."+guest.id+"."+guest.id+".jsonl"]; !bytes.Contains(part, []byte("a note of a guest")) {
		t.Errorf("%s", part)
	}
}

// An administrator whose role is taken away has no more of a user's than anybody: neither
// by what they were given before, nor by what they are reading.
func TestExportOfOneWhoIsNoAdministrator(t *testing.T) {
	w := newWorld(t)
	root, adam, ann := w.login(w.root), w.person("adam"), w.person("ann")
	role := func(r wire.ServerRole) {
		t.Helper()
		w.must(root.token, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: adam.id, Role: r}, nil)
	}
	var by wire.ExportUserResponse
	begin := func() request {
		t.Helper()
		role(wire.ServerRole_SERVER_ROLE_ADMIN)
		w.must(adam.token, "AdminService/ExportUser", &wire.ExportUserRequest{User: ann.id}, &by)
		return request{method: http.MethodGet, path: by.GetPath()}
	}
	w.exported(begin().path)
	q := begin()
	role(wire.ServerRole_SERVER_ROLE_MODERATOR)
	w.status("given before", q, http.StatusForbidden)
	q = begin()
	w.exports.before = func(_ context.Context, _ im.Actor, method string) error {
		if method == "MessageService/ListConversations" {
			w.exports.before = nil
			role(wire.ServerRole_SERVER_ROLE_UNSPECIFIED)
		}
		return nil
	}
	w.status("taken away meanwhile", q, http.StatusForbidden)
}
