package messaging

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// atStored has the clock stand at a time after the one at which memJournal stores.
func atStored(after time.Duration) func(*Options) {
	return func(o *Options) {
		o.EditWindow = time.Hour
		o.Now = func() time.Time { return time.UnixMilli(0).Add(after) }
	}
}

func (w *world) edit(u im.UserID, c im.ConversationID, target uint64, text string) (im.Ack, error) {
	w.t.Helper()
	m := editing(im.Message{Conversation: c, ID: w.early()}, target, text)
	return w.send(u, m)
}

// early is an id that no clock of these tests is behind.
func (w *world) early() im.MessageID {
	id := w.id()
	return im.NewMessageID(time.UnixMilli(1), [10]byte(id[6:]))
}

func (w *world) say(u im.UserID, c im.ConversationID, text string) uint64 {
	w.t.Helper()
	m := w.message(c, text)
	m.ID = w.early()
	ack, err := w.send(u, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return ack.Seq
}

// told is an entry as its reader is told it.
func (w *world) told(u im.UserID, c im.ConversationID, seq uint64) *wire.Entry {
	w.t.Helper()
	got, err := w.Pull(w.t.Context(), im.Actor{User: u}, im.PullQuery{Conversation: c, From: seq, Limit: 1})
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Seq != seq {
		w.t.Fatalf("%+v, %v", got, err)
	}
	e := got.Entries[0]
	if len(entrycodec.Told(e.Body)) != len(e.Body) {
		w.t.Error("a reader is told what is kept beside the message")
	}
	var out wire.Entry
	if err := entrycodec.Decode(e.Body, &out); err != nil {
		w.t.Fatal(err)
	}
	out.Amended, out.Recalled = e.Amended, e.Recalled
	return &out
}

// versions are what a message said before, the latest first, read in pages.
func (w *world) versions(u im.UserID, c im.ConversationID, seq uint64, page int) string {
	w.t.Helper()
	var b strings.Builder
	for before := uint32(0); ; {
		vs, next, err := w.Edits(w.t.Context(), im.Actor{User: u}, c, seq, before, page)
		if err != nil {
			return err.Error()
		}
		for _, v := range vs {
			fmt.Fprintf(&b, "%d=%s ", v.Version, v.GetContent().GetText())
		}
		if before = next; next == 0 {
			return strings.TrimSpace(b.String())
		}
	}
}

// An edit replaces what its target says, counts, and keeps what it said before: none,
// one, two and more edits than are kept.
func TestEdits(t *testing.T) {
	for _, n := range []int{0, 1, 2, entrycodec.MaxVersions, entrycodec.MaxVersions + 1, 120} {
		w := newWorld(t, atStored(time.Minute))
		seq := w.say("alice", ab, "version 1")
		for k := range n {
			if _, err := w.edit("alice", ab, seq, fmt.Sprint("version ", k+2)); err != nil {
				t.Fatal(err)
			}
		}
		e := w.told("bob", ab, seq)
		if e.GetContent().GetText() != fmt.Sprint("version ", n+1) || int(e.Edits) != n || (e.EditedAtMs == 60_000) != (n > 0) || int(e.Amended) != n+min(n, 1) {
			t.Errorf("%d edits: %v", n, e)
		}
		var want []string
		for k := n; k >= max(1, n+1-entrycodec.MaxVersions); k-- {
			want = append(want, fmt.Sprintf("%d=version %d", k, k))
		}
		for _, page := range []int{0, 1, 7} {
			if got := w.versions("bob", ab, seq, page); got != strings.Join(want, " ") {
				t.Errorf("%d edits, pages of %d: %s", n, page, got)
			}
		}
	}
}

// What is stored of an edit itself says nothing: a recall of the message erases all
// that it ever said.
func TestRecallErasesEdits(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "secret one")
	for k := range 3 {
		if _, err := w.edit("alice", ab, seq, fmt.Sprint("secret again ", k)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.send("alice", recalling(im.Message{Conversation: ab, ID: w.early()}, seq)); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.journal.entries[ab] {
		if strings.Contains(string(e.Body), "secret") {
			t.Errorf("entry %d still says %q", e.Seq, e.Body)
		}
	}
	if got := w.versions("bob", ab, seq, 0); got != "" {
		t.Errorf("versions: %s", got)
	}
	_, err := w.edit("alice", ab, seq, "more")
	wantCode(t, err, im.CodeTooLate)
	if e := w.told("bob", ab, seq); !e.Recalled || e.Content != nil {
		t.Errorf("%v", e)
	}
}

// Who is told of an edit is told what the message says by it; what is stored is not.
func TestEditIsDelivered(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "one")
	ack, err := w.edit("alice", ab, seq, "two")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.journal.entries[ab][ack.Seq-1].Body); n != 0 {
		t.Errorf("%d bytes are stored with the edit", n)
	}
	told := w.delivered(ab, ack.Seq)
	var e wire.Entry
	if err := entrycodec.Decode(told.Body, &e); err != nil {
		t.Fatal(err)
	}
	if told.Kind != im.EntryEdit || told.Target != seq || e.GetContent().GetText() != "two" || e.Edits != 1 || e.EditedAtMs != 60_000 {
		t.Errorf("%+v: %v", told, &e)
	}
}

// Who may edit what, and when.
func TestWhoMayEdit(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	w.members.add("carol", im.Membership{Conversation: "grp:g", First: 2})
	w.members.add("alice", im.Membership{Conversation: "grp:g", First: 1})
	seq := w.say("alice", "grp:g", "one")
	w.say("alice", "grp:g", "two")
	ok, err := w.edit("alice", "grp:g", seq, "one, better")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		by     im.UserID
		target uint64
		want   im.Code
	}{
		{"what another wrote", "carol", 2, im.CodePermissionDenied},
		{"what another wrote, and is not theirs to read", "carol", 1, im.CodeNotFound},
		{"what is not there", "alice", 9, im.CodeNotFound},
		{"an edit", "alice", ok.Seq, im.CodeNotFound},
	} {
		_, err := w.edit(tt.by, "grp:g", tt.target, "no")
		if im.CodeOf(err) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if got := w.versions("carol", "grp:g", 1, 0); !strings.Contains(got, "no such message") {
		t.Errorf("who may not read the message reads its versions: %s", got)
	}
	_, err = w.edit("alice", "grp:g", 0, "no")
	wantCode(t, err, im.CodeInvalidArgument)
}

func TestEditWindow(t *testing.T) {
	for _, tt := range []struct {
		window, after time.Duration
		want          im.Code
	}{
		{time.Hour, time.Hour, ""}, {time.Hour, time.Hour + time.Minute, im.CodeTooLate}, {0, time.Second, im.CodePermissionDenied},
	} {
		w := newWorld(t, atStored(tt.after), func(o *Options) { o.EditWindow = tt.window })
		seq := w.say("alice", ab, "one")
		if _, err := w.edit("alice", ab, seq, "two"); tt.want == "" && err != nil || tt.want != "" && im.CodeOf(err) != tt.want {
			t.Errorf("%v of %v: %v", tt.after, tt.window, err)
		}
	}
}

// A resend of an edit is the same edit, also of a message that was edited again or
// taken back since; the same id with other words is refused.
func TestEditAgain(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "one")
	m := editing(im.Message{Conversation: ab, ID: w.early()}, seq, "two")
	first, err := w.send("alice", m)
	if err != nil {
		t.Fatal(err)
	}
	again := func(when string) {
		t.Helper()
		if ack, err := w.send("alice", m); err != nil || ack.Seq != first.Seq {
			t.Errorf("%s: %+v, %v; want %d", when, ack, err, first.Seq)
		}
	}
	again("at once")
	if _, err := w.send("alice", editing(m, seq, "something else")); im.CodeOf(err) != im.CodeIdConflict {
		t.Errorf("the same id with other words: %v", err)
	}
	if _, err := w.edit("alice", ab, seq, "three"); err != nil {
		t.Fatal(err)
	}
	again("after another edit")
	if e := w.told("bob", ab, seq); e.GetContent().GetText() != "three" || e.Edits != 2 {
		t.Errorf("%v", e)
	}
	if _, err := w.send("alice", recalling(im.Message{Conversation: ab, ID: w.early()}, seq)); err != nil {
		t.Fatal(err)
	}
	again("after the recall")
}

// Amendments of one message that come at once, also with recalls and messages among
// them, are all stored or refused for what came before them; each is made from what the
// ones before it made. This process, and one beside others, whose appends it learns of
// by their being refused.
func TestEditsAtOnce(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared=", shared), func(t *testing.T) {
			w := newWorld(t, atStored(time.Minute), func(o *Options) {
				if shared {
					o.Known = func(im.ConversationID) (im.Head, bool) { return im.Head{}, false }
				}
			})
			seq, other := w.say("alice", ab, "version 1"), w.say("alice", ab, "other")
			// The first append takes its time, so that the others wait together.
			hold := make(chan struct{})
			w.journal.mu.Lock()
			w.journal.fail = func(after bool) error {
				if !after {
					<-hold
				}
				return nil
			}
			w.journal.mu.Unlock()
			const n = 40
			var got []<-chan outcome
			for k := range n {
				got = append(got, w.start("alice", editing(im.Message{Conversation: ab, ID: w.early()}, seq, fmt.Sprint("edit ", k))))
				if k%5 == 0 {
					m := w.message(ab, "between")
					m.ID = w.early()
					got = append(got, w.start("alice", m))
				}
				if k == n/2 {
					got = append(got, w.start("alice", recalling(im.Message{Conversation: ab, ID: w.early()}, other)),
						w.start("alice", editing(im.Message{Conversation: ab, ID: w.early()}, other, "too late")))
				}
			}
			close(hold)
			late := 0
			for _, c := range got {
				switch o := <-c; {
				case im.CodeOf(o.err) == im.CodeTooLate:
					late++
				case o.err != nil:
					t.Error(o.err)
				}
			}
			if late != 1 {
				t.Errorf("%d edits came too late, want that of the recalled message", late)
			}
			e := w.told("bob", ab, seq)
			if e.Edits != n || e.GetContent().GetText() != fmt.Sprint("edit ", n-1) {
				t.Errorf("%v", e)
			}
			if vs := strings.Fields(w.versions("bob", ab, seq, 0)); len(vs) != 2*n {
				t.Errorf("versions: %v", vs)
			}
		})
	}
}

// Another process amends between the look and the append: the edit is decided anew.
func TestEditAfterAnothers(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "one")
	times := 0
	w.journal.mu.Lock()
	w.journal.fail = func(after bool) error {
		if times++; !after && times == 1 {
			w.journal.mu.Lock()
			w.journal.fail = nil
			w.journal.mu.Unlock()
			w.amend(ab, seq, "another's")
		}
		return nil
	}
	w.journal.mu.Unlock()
	if _, err := w.edit("alice", ab, seq, "mine"); err != nil {
		t.Fatal(err)
	}
	if got := w.versions("bob", ab, seq, 0); got != "1=another's" {
		t.Errorf("the edit was made from a state that was over: %s", got)
	}
}

// What cannot be read is not overwritten.
func TestEditOfUnreadable(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "one")
	w.journal.mu.Lock()
	w.journal.entries[ab][seq-1].Body = []byte{1, 2, 3}
	w.journal.mu.Unlock()
	_, err := w.edit("alice", ab, seq, "two")
	wantCode(t, err, im.CodeUnprocessable)
	if _, _, err := w.Edits(context.Background(), im.Actor{User: "bob"}, ab, seq, 0, 0); im.CodeOf(err) != im.CodeUnprocessable {
		t.Errorf("its versions: %v", err)
	}
}

// An edit whose outcome was unknown at first was stored once, and who is there looks
// for it.
func TestEditOfUnknownOutcome(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "one")
	w.journal.mu.Lock()
	w.journal.fail = func(after bool) error {
		if !after {
			return nil
		}
		w.journal.mu.Lock()
		w.journal.fail = nil
		w.journal.mu.Unlock()
		return errors.Join(im.ErrOutcomeUnknown)
	}
	w.journal.mu.Unlock()
	ack, err := w.edit("alice", ab, seq, "two")
	if err != nil || ack.Seq != seq+1 || ack.Follows {
		t.Fatalf("%+v, %v", ack, err)
	}
	if e := w.told("bob", ab, seq); e.Edits != 1 {
		t.Errorf("%v", e)
	}
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	if len(w.out.reminded) != 1 || w.out.reminded[0].Seq != ack.Seq {
		t.Errorf("reminded: %+v", w.out.reminded)
	}
}

// Who may not write takes back what they said; who is no member any more does not.
func TestRecallByWhoMayNotWrite(t *testing.T) {
	for _, c := range []im.ConversationID{ab, "grp:g"} {
		for _, code := range []im.Code{im.CodeMuted, im.CodePermissionDenied, im.CodeNotContact, im.CodeNotFound} {
			w := newWorld(t)
			seq := w.say("alice", c, "one")
			w.members.mu.Lock()
			w.members.deny["alice"] = im.Errorf(code, "not now")
			w.members.mu.Unlock()
			_, err := w.send("alice", editing(im.Message{Conversation: c, ID: w.early()}, seq, "two"))
			wantCode(t, err, code)
			_, err = w.send("alice", recalling(im.Message{Conversation: c, ID: w.early()}, seq))
			if code == im.CodeNotFound {
				wantCode(t, err, code)
				continue
			}
			wantCode(t, err, "")
			if e := w.journal.entries[c][seq-1]; !e.Recalled || e.Body != nil {
				t.Errorf("%s: %+v, want it recalled", c, e)
			}
		}
	}
}
