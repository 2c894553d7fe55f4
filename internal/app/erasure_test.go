package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/wire"
)

// erased is a deployment in which zoe is to be deleted: she wrote to bob, owns a group,
// saved notes, and set things for herself; bob keeps a remark on her.
type erased struct {
	*App
	t     *testing.T
	ahead *atomic.Int64
	zoe   im.UserID
	dm    im.ConversationID
	group im.ConversationID
	media string // the id of her upload
}

// Words that only she said, and that say who she was; each in all that is hers.
const (
	hers  = "quincunxial"
	named = "ptarmigan"
)

func openErased(t *testing.T, dir string, ahead *atomic.Int64) *App {
	cfg := settings(dir)
	cfg.Accounts.DMPolicy = "everyone"
	a, err := Open(t.Context(), cfg, Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	ok(t, err)
	return a
}

func newErased(t *testing.T, dir string) *erased {
	w := &erased{t: t, ahead: new(atomic.Int64)}
	w.App = openErased(t, dir, w.ahead)
	ctx := t.Context()
	for _, u := range []im.UserID{"bob", "cem"} {
		_, err := w.accounts.Mint(ctx, account.Minting{User: u})
		ok(t, err)
	}
	u, err := w.accounts.CreateUser(ctx, account.Registration{Username: "zoe." + named, Password: "correct horse", DisplayName: "Zoe " + named})
	ok(t, err)
	w.zoe, w.dm = u.ID, im.DM(u.ID, "bob")
	zoe, bob := im.Actor{User: u.ID}, im.Actor{User: "bob"}
	about := "I am " + named
	_, err = w.accounts.UpdateProfile(ctx, zoe, im.ProfileChange{About: &about, Extra: map[string]string{"desk": named}})
	ok(t, err)
	_, err = w.members.contacts.Request(ctx, zoe, "bob", "hello")
	ok(t, err)
	_, err = w.members.contacts.Accept(ctx, bob, u.ID)
	ok(t, err)
	ok(t, w.members.contacts.SetRemark(ctx, bob, u.ID, "my "+named))
	ok(t, w.members.contacts.SetRemark(ctx, zoe, "bob", hers))
	g, err := w.members.groups.Create(ctx, zoe, "Tea", []im.UserID{"bob", "cem"}, "")
	ok(t, err)
	w.group = g.Conversation
	ok(t, w.members.groups.SetRole(ctx, zoe, w.group, "cem", im.RoleAdmin))
	up, err := w.App.media.Begin(ctx, u.ID, int64(len(hers)), im.MediaFacts{Name: hers + ".txt"})
	ok(t, err)
	_, err = w.App.media.Write(ctx, u.ID, up.ID, 0, strings.NewReader(hers), nil)
	ok(t, err)
	w.media = up.ID
	for _, c := range []im.ConversationID{w.dm, w.group, im.Saved(u.ID)} {
		w.says(u.ID, c, "it is "+hers, up.ID)
		w.says(u.ID, c, hers+" again")
	}
	w.says("bob", w.dm, "what do you mean")
	draft, folder, level, until := "draft "+hers, named, im.PushNone, w.now().Add(time.Hour).Truncate(time.Millisecond)
	yes := true
	_, err = w.messaging.SetMyState(ctx, zoe, w.dm, im.MyChange{
		Draft: &draft, Folder: &folder, PushLevel: &level, Thread: &im.ThreadChange{Root: 1, Follow: &yes}, Pinned: &yes, Hidden: &yes, Unread: &yes, MutedUntil: &until,
	})
	ok(t, err)
	later := w.message(w.dm, "later "+hers)
	ok(t, w.App.later.Schedule(ctx, u.ID, later, w.now().Add(time.Hour)))
	return w
}

func (w *erased) message(c im.ConversationID, text string, media ...string) im.Message {
	w.t.Helper()
	id := im.NewMessageID(w.now(), [10]byte(sha256Of(string(c)+text)))
	m, err := contract.Message(&wire.Send{Conversation: string(c), Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}, Media: media})
	ok(w.t, err)
	return m
}

func sha256Of(s string) []byte {
	h := sha256.Sum256([]byte(s))
	return h[:10]
}

func (w *erased) says(u im.UserID, c im.ConversationID, text string, media ...string) {
	w.t.Helper()
	done := make(chan error, 1)
	w.logic.Send(w.t.Context(), im.Actor{User: u}, w.message(c, text, media...), func(_ im.Ack, err error) { done <- err })
	ok(w.t, <-done)
}

// until waits until an erasure is as it is to be.
func (w *erased) until(is func(im.Erasure) bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		e, err := w.accounts.Erase(w.t.Context(), w.zoe, false)
		ok(w.t, err)
		if is(e) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("it is %+v", e)
		}
	}
}

// done waits until everything is done that is due a minute later.
func (w *erased) done() {
	w.t.Helper()
	w.ahead.Add(int64(time.Minute))
	w.until(func(e im.Erasure) bool { return !e.Done.IsZero() })
}

// texts is what bob reads of her in a conversation, and how much of it was taken back.
func (w *erased) texts(c im.ConversationID) (said, recalled int) {
	w.t.Helper()
	r, err := w.logic.Pull(w.t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: c, From: 1, Limit: 100})
	ok(w.t, err)
	for _, e := range r.Entries {
		switch {
		case e.Kind != im.EntryMessage || e.Sender != w.zoe:
		case e.Recalled:
			recalled++
		case bytes.Contains(e.Body, []byte(hers)):
			said++
		}
	}
	return said, recalled
}

// settingsAreGone looks at what she set for herself: nothing of it is left.
func (w *erased) settingsAreGone() {
	w.t.Helper()
	marks, err := w.journal.UserMarks(w.t.Context(), w.zoe)
	ok(w.t, err)
	for _, m := range marks {
		if strings.Contains(m.Mine, hers) || strings.Contains(m.Mine, named) {
			w.t.Errorf("what she set for herself is there: %q", m.Mine)
		}
		if m.Conversation != w.dm {
			continue
		}
		left, err := entrycodec.MyState(m.Mine, w.dm)
		ok(w.t, err)
		if left != (im.MyState{Conversation: w.dm, Revision: left.Revision}) {
			w.t.Errorf("what she set for herself is there: %+v", left)
		}
	}
}

// An account that is deleted leaves what was said to others to them, unless that is to be
// erased, too; then and later.
func TestErasureOfAnAccount(t *testing.T) {
	w := newErased(t, t.TempDir())
	defer func() { ok(t, w.close()) }()
	ctx := t.Context()
	_, err := w.accounts.Erase(ctx, w.zoe, false)
	ok(t, err)
	w.until(func(e im.Erasure) bool { return e.Step == 2 })
	if _, err := w.members.contacts.Request(ctx, im.Actor{User: "bob"}, w.zoe, ""); im.CodeOf(err) != im.CodeNotFound {
		t.Errorf("who was deleted is asked to be a contact: %v", err)
	}
	if page, err := w.members.contacts.List(ctx, im.Actor{User: "bob"}, 10, "", 0); err != nil || len(page.Contacts) != 0 {
		t.Errorf("contacts of bob: %+v, %v", page, err)
	}
	g, err := w.members.groups.Get(ctx, im.Actor{User: "cem"}, w.group)
	if ok(t, err); g.Owner != "cem" || g.Members != 2 {
		t.Errorf("the group is cem's, who was an admin: %+v", g)
	}
	if _, err := w.members.MaySend(ctx, w.zoe, w.dm, im.EntryMessage); err == nil {
		t.Error("who was deleted may write")
	}
	if _, err := w.members.MaySend(ctx, "bob", w.dm, im.EntryMessage); err == nil {
		t.Error("one may write to who was deleted")
	}
	w.done()
	for _, c := range []im.ConversationID{w.dm, w.group} {
		if said, recalled := w.texts(c); said != 2 || recalled != 0 {
			t.Errorf("%s: %d messages are there, %d were taken back", c, said, recalled)
		}
	}
	// Twice at once, beside each other: what she wrote is taken back once.
	errs := make(chan error, 2)
	for range 2 {
		go func() { _, err := w.accounts.Erase(ctx, w.zoe, true); errs <- err }()
	}
	ok(t, <-errs)
	ok(t, <-errs)
	w.done()
	for _, c := range []im.ConversationID{w.dm, w.group} {
		if said, recalled := w.texts(c); said != 0 || recalled != 2 {
			t.Errorf("%s: %d messages are there, %d were taken back", c, said, recalled)
		}
		head := [1]im.Head{}
		ok(t, w.journal.Heads(ctx, []im.ConversationID{c}, head[:]))
		got, err := w.journal.Read(ctx, c, 1, false, 100)
		ok(t, err)
		recalls := 0
		for i := range got {
			if got[i].Kind == im.EntryRecall {
				recalls++
			}
		}
		if recalls != 2 {
			t.Errorf("%s: %d recalls", c, recalls)
		}
	}
	w.settingsAreGone()
	for _, c := range []im.ConversationID{im.Me(w.zoe), im.Saved(w.zoe)} {
		got, err := w.journal.Read(ctx, c, 1, false, 100)
		ok(t, err)
		for i := range got {
			if bytes.Contains(got[i].Body, []byte(hers)) {
				t.Errorf("%s has %q", c, got[i].Body)
			}
		}
	}
	if e, err := w.accounts.Erase(ctx, w.zoe, true); err != nil || e.Done.IsZero() {
		t.Errorf("it is %+v, %v", e, err)
	}
}

// A process that ends after any part of the work: the next one goes on, and all is done.
func TestErasureGoesOnAfterAnEnd(t *testing.T) {
	dir := t.TempDir()
	w := newErased(t, dir)
	_, err := w.accounts.Erase(t.Context(), w.zoe, true)
	ok(t, err)
	for n := range w.erasureSteps(w.members) {
		step := w.erasureSteps(w.members)[n]
		// The part is done and not noted, as if the process had died in between.
		e := im.Erasure{User: w.zoe, Messages: true}
		_, err := step.Do(t.Context(), e)
		ok(t, err)
		ok(t, w.close())
		w.App = openErased(t, dir, w.ahead)
		if due, err := w.directory.DueErasures(t.Context(), 10); err != nil || len(due) != 1 {
			t.Fatalf("step %d: %+v, %v", n, due, err)
		}
	}
	w.done()
	if said, recalled := w.texts(w.dm); said != 0 || recalled != 2 {
		t.Errorf("%d messages are there, %d were taken back", said, recalled)
	}
	if due, err := w.directory.DueErasures(t.Context(), 10); err != nil || len(due) != 0 {
		t.Errorf("left: %+v, %v", due, err)
	}
	ok(t, w.close())
}

// Who was deleted fetches nothing more, also by a link that she was given before; others
// what she sent.
func TestErasureEndsLinks(t *testing.T) {
	w := newErased(t, t.TempDir())
	defer func() { ok(t, w.close()) }()
	for _, u := range []im.UserID{w.zoe, "bob"} {
		if _, err := w.App.media.Find(t.Context(), u, w.media, media.Place{}); err != nil {
			t.Errorf("%s fetches the upload: %v", u, err)
		}
	}
	_, err := w.accounts.Erase(t.Context(), w.zoe, false)
	ok(t, err)
	if _, err := w.App.media.Find(t.Context(), w.zoe, w.media, media.Place{}); im.CodeOf(err) != im.CodeNotFound {
		t.Errorf("who was deleted fetches her upload: %v", err)
	}
	if _, err := w.App.media.Find(t.Context(), "bob", w.media, media.Place{}); err != nil {
		t.Errorf("bob fetches what she sent: %v", err)
	}
}

// What remains: no file of the data directory has a word of hers, or one that says who she
// was, but two that give up later what they do not tell any more: the journal's, within an
// hour (its TestRecallGivesRoomBack), and the index of the search, when it is merged.
func TestErasureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w := newErased(t, dir)
	before := filesWith(t, dir, hers, named)
	if len(before) < 4 { // the journal, the directory, the index, the upload
		t.Errorf("before: %v", before)
	}
	_, err := w.accounts.Erase(t.Context(), w.zoe, true)
	ok(t, err)
	w.done()
	// Uploads that nothing names any more go a day later, their bytes with them.
	for range 8 {
		w.ahead.Add(int64(25 * time.Hour))
		ok(t, w.App.media.Sweep(t.Context()))
	}
	w.finds(0)
	ok(t, w.close())
	for _, f := range filesWith(t, dir, hers, named) {
		if !strings.HasPrefix(f, "/journal/db/") && !strings.HasPrefix(f, "/search.db") {
			t.Errorf("%s", f)
		}
	}
}

// finds waits until the index knows what was taken back.
func (w *erased) finds(want int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	s := search.New(w.index, w.indexer, w.messaging, prometheus.NewRegistry())
	for {
		r, err := s.Search(ctx, im.Actor{User: "bob"}, search.Question{Query: hers, Limit: 10})
		ok(w.t, err)
		if len(r.Found) == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// filesWith are the files below a directory that have one of the words, of whatever case.
func filesWith(t *testing.T, dir string, words ...string) (found []string) {
	t.Helper()
	ok(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, w := range words {
			if at := bytes.Index(bytes.ToLower(data), []byte(w)); at >= 0 {
				found = append(found, strings.TrimPrefix(path, dir)+" has "+w+": "+strings.ToValidUTF8(string(data[max(at-40, 0):min(at+40, len(data))]), "."))
			}
		}
		return nil
	}))
	return found
}
