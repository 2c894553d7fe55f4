package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// holding is somebody who left a transaction open. The returned function ends it.
func holding(t *testing.T, url, statement string) func() {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "SET application_name = 'psql'; BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = c.Close(context.Background()) }
	t.Cleanup(end)
	return end
}

// appends gives a batch a deadline of its own: what hangs fails here, not the run.
func appends(t *testing.T, j *Journal, batch ...im.Append) ([]im.Appended, error) {
	t.Helper()
	out := make([]im.Appended, len(batch))
	done := make(chan error, 1)
	go func() { done <- j.Append(context.Background(), batch, out) }()
	select {
	case err := <-done:
		return out, err
	case <-time.After(20 * time.Second):
		t.Fatal("an append has no answer after 20 s")
		return nil, nil
	}
}

// Somebody left psql open with a conversation's row locked. What is sent there
// is told to be busy, all others are stored, and the journal says what is wrong.
// Once the row is free everything is as before, and nothing is stored twice.
func TestLockedRow(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	a, b, c := im.Group("a"), im.Group("b"), im.Group("c")
	store(t, j, message(a, "u", 1), message(b, "u", 2))
	for _, lock := range []string{"FOR UPDATE", "FOR SHARE"} {
		before := map[im.ConversationID]int{a: len(all(t, j, a)), b: len(all(t, j, b)), c: len(all(t, j, c))}
		n := 100 * len(all(t, j, b))
		let := holding(t, url, "SELECT * FROM journal_heads WHERE conversation = 'grp:a' "+lock)
		for round := range 3 { // the first waits for the lock, the others know
			at := n + 10*round
			out, err := appends(t, j, message(b, "u", at), message(a, "u", at+1), message(c, "v", at+2), message(a, "u", at+3), message(b, "u", at+4))
			if err != nil {
				t.Fatalf("%s, round %d: %v", lock, round, err)
			}
			for i, want := range []im.AppendStatus{im.Stored, im.Busy, im.Stored, im.Busy, im.Stored} {
				if out[i].Status != want {
					t.Errorf("%s, round %d, item %d: %+v, want %d", lock, round, i, out[i], want)
				}
			}
		}
		stopped, warnings := j.Trouble()
		if stopped != "" || len(warnings) != 1 || !strings.Contains(warnings[0], "grp:a") || !strings.Contains(warnings[0], "psql") {
			t.Errorf("%s: trouble %q, %q", lock, stopped, warnings)
		}
		let()
		free(t, j, message(a, "u", n+1))
		if out := store(t, j, message(a, "u", n+1), message(a, "u", n+3)); out[0].Status != im.Duplicate || out[1].Status != im.Stored {
			t.Errorf("%s: afterwards %+v", lock, out)
		}
		if _, warnings := j.Trouble(); len(warnings) != 0 {
			t.Errorf("%s: afterwards %q", lock, warnings)
		}
		for conversation, more := range map[im.ConversationID]int{a: 2, b: 6, c: 3} {
			if got := len(all(t, j, conversation)); got != before[conversation]+more {
				t.Errorf("%s: %s has %d entries, want %d", lock, conversation, got, before[conversation]+more)
			}
		}
	}
}

// free appends until the row is known to be free.
func free(t *testing.T, j *Journal, item im.Append) {
	t.Helper()
	for range 200 {
		out, err := appends(t, j, item)
		if err == nil && out[0].Status == im.Stored {
			return
		}
		if err != nil || out[0].Status != im.Busy {
			t.Fatalf("%+v, %v", out[0], err)
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatal("still busy long after the lock was let go")
}

// A whole table is locked: everything that needs it is refused within a bounded
// time as something that may work later, nothing is stored, and what does not
// need it goes on.
func TestLockedTable(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	c := im.Group("a")
	store(t, j, message(c, "u", 1))
	let := holding(t, url, "LOCK TABLE journal_heads IN EXCLUSIVE MODE")
	if _, err := appends(t, j, message(c, "u", 2)); !errors.Is(err, im.ErrJournalUnavailable) || im.Public(err).RetryAfter <= 0 {
		t.Errorf("error %v, want unavailable, to be tried again later", err)
	}
	if stopped, _ := j.Trouble(); stopped == "" {
		t.Error("nothing can be stored, and the journal does not say so")
	}
	if got := len(all(t, j, c)); got != 1 {
		t.Errorf("%d entries", got)
	}
	let()
	if out, err := appends(t, j, message(c, "u", 2)); err != nil || out[0].Status != im.Stored {
		t.Errorf("afterwards %+v, %v", out, err)
	}
	if stopped, _ := j.Trouble(); stopped != "" {
		t.Errorf("afterwards: %s", stopped)
	}

	let = holding(t, url, "LOCK TABLE journal_marks IN ACCESS EXCLUSIVE MODE")
	for range 30 { // more than there are connections
		_, err := j.UserMarks(t.Context(), "u")
		if im.CodeOf(err) != im.CodeUnavailable || im.Public(err).RetryAfter <= 0 {
			t.Fatalf("marks: %v, want unavailable, to be tried again later", err)
		}
		if got := len(all(t, j, c)); got != 2 {
			t.Errorf("%d entries", got)
		}
	}
	if out, err := appends(t, j, message(c, "u", 3)); err != nil || out[0].Status != im.Stored {
		t.Errorf("with marks locked: %+v, %v", out, err)
	}
	let()
}

// One mark's row is locked: all other marks are written, and that one as soon as
// it is let go; in between it is what it was set to for whoever asks here.
func TestLockedMark(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	c := im.Group("a")
	set := func(u im.UserID, read uint64) {
		if err := j.SetMarks(t.Context(), []im.Mark{{User: u, Conversation: c, Received: read, Read: read}}, im.MarkWait{}); err != nil {
			t.Fatal(err)
		}
	}
	written := func(u string) uint64 {
		got, err := pgtest.Collect[struct{ Read int64 }](t.Context(), url, `SELECT read FROM journal_marks WHERE "user" = $1`, u)
		if err != nil || len(got) > 1 {
			t.Fatal(got, err)
		}
		if len(got) == 0 {
			return 0
		}
		return uint64(got[0].Read)
	}
	set("u", 1)
	if err := j.flushMarks(t.Context()); err != nil {
		t.Fatal(err)
	}
	let := holding(t, url, `SELECT * FROM journal_marks WHERE "user" = 'u' FOR UPDATE`)
	set("u", 2)
	set("v", 2)
	if err := j.flushMarks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, v := written("u"), written("v"); u != 1 || v != 2 {
		t.Errorf("written: %d and %d, want 1 and 2", u, v)
	}
	if _, warnings := j.Trouble(); len(warnings) != 1 {
		t.Errorf("trouble: %q", warnings)
	}
	out := make([]im.Mark, 1)
	if err := j.Marks(t.Context(), []im.MarkKey{{User: "u", Conversation: c}}, out, false); err != nil || out[0].Read != 2 {
		t.Errorf("mark %+v, %v", out[0], err)
	}
	let()
	if err := j.flushMarks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u := written("u"); u != 2 {
		t.Errorf("written at last: %d", u)
	}
}

// An append that gets no answer is given up after a while with its outcome
// unknown, and is not cancelled: asked again, it is there.
func TestGivenUpIsNotCancelled(t *testing.T) {
	p := newProxy(t, pgtest.Database(t))
	j := open(t, p.url)
	defer j.Close()
	c := im.Group("a")
	store(t, j, message(c, "u", 1))
	p.set(func() { p.replies = 0 })
	if _, err := appends(t, j, message(c, "u", 2)); !errors.Is(err, im.ErrOutcomeUnknown) {
		t.Fatalf("error %v, want an unknown outcome", err)
	}
	p.set(func() { p.replies = endless })
	if out, err := appends(t, j, message(c, "u", 2)); err != nil || out[0].Status != im.Duplicate {
		t.Errorf("asked again: %+v, %v", out, err)
	}
}
