package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

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

// aside is a batch of who holds aside what is locked.
func aside(batch ...im.Append) []im.Append {
	for i := range batch {
		batch[i].NoWait = true
	}
	return batch
}

// asideUntil appends until no item is Locked, and returns what became of them and how
// often they were.
func asideUntil(t *testing.T, j *Journal, batch ...im.Append) ([]im.Appended, int) {
	t.Helper()
	for locked := range 1000 {
		out, err := appends(t, j, aside(batch...)...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(out, func(a im.Appended) bool { return a.Status == im.Locked }) {
			return out, locked
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatal("still locked")
	return nil, 0
}

func statuses(t *testing.T, what string, out []im.Appended, want ...im.AppendStatus) {
	t.Helper()
	for i := range out {
		if out[i].Status != want[i] {
			t.Errorf("%s, item %d: %+v, want %d", what, i, out[i], want[i])
		}
	}
}

// Two rows are locked, and whoever appends holds aside what is: the others' items, of
// the same batches, are stored while the rows are still locked, and what is sent to
// those two is Locked, all of it, until they are let go; then it is stored in order.
// One more is locked while they are. The clock stands still, so none of this waits for
// the second after which a row is Busy.
func TestLockedRowsAreLeftOut(t *testing.T) {
	url := pgtest.Database(t)
	now := time.Now()
	j, err := Open(t.Context(), url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	a, b, c, d := im.Group("a"), im.Group("b"), im.Group("c"), im.Group("d")
	store(t, j, message(a, "u", 1), message(b, "u", 2), message(c, "u", 3), message(d, "u", 4))
	first := holding(t, url, "SELECT * FROM journal_heads WHERE conversation IN ('grp:a', 'grp:b') FOR UPDATE")
	for round := range 20 {
		n := 100 + 10*round
		out, err := appends(t, j, aside(message(c, "u", n), message(a, "u", n+1), message(b, "v", n+2), message(a, "u", n+3), message(c, "u", n+4), message("grp:new", "u", n+5))...)
		if err != nil {
			t.Fatal(err)
		}
		statuses(t, "two are locked", out, im.Stored, im.Locked, im.Locked, im.Locked, im.Stored, im.Stored)
	}
	second := holding(t, url, "UPDATE journal_heads SET count = count WHERE conversation = 'grp:d'")
	out, err := appends(t, j, aside(message(d, "u", 1000), message(a, "u", 1001), message(c, "u", 1002))...)
	if err != nil {
		t.Fatal(err)
	}
	statuses(t, "three are locked", out, im.Locked, im.Locked, im.Stored)
	if stopped, warnings := j.Trouble(); stopped != "" || len(warnings) != 0 {
		t.Errorf("trouble %q, %q, before a second is over", stopped, warnings)
	}
	for _, conversation := range []im.ConversationID{a, b, d} {
		if got := len(all(t, j, conversation)); got != 1 {
			t.Errorf("%s has %d entries while it is locked", conversation, got)
		}
	}
	first()
	out, _ = asideUntil(t, j, message(a, "u", 101), message(b, "v", 102), message(a, "u", 103))
	statuses(t, "let go", out, im.Stored, im.Stored, im.Stored)
	if out[0].Seq != 2 || out[2].Seq != 3 {
		t.Errorf("stored as %d and %d", out[0].Seq, out[2].Seq)
	}
	out, err = appends(t, j, aside(message(d, "u", 1000), message(a, "u", 104))...)
	if err != nil {
		t.Fatal(err)
	}
	statuses(t, "one is locked still", out, im.Locked, im.Stored)
	second()
	out, _ = asideUntil(t, j, message(d, "u", 1000))
	statuses(t, "let go", out, im.Stored)
	for watching := true; watching; <-time.After(time.Millisecond) {
		j.locked.mu.Lock()
		watching = j.locked.watching
		j.locked.mu.Unlock()
	}
}

// A row that stays locked is Busy after a second, and named; before, it is Locked, and
// a lock that was waited for in vain is not waited for again.
func TestLockedForASecondIsBusy(t *testing.T) {
	url := pgtest.Database(t)
	r := prometheus.NewRegistry()
	j, err := Open(t.Context(), url, Options{Logger: quiet(), Registerer: r})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	a, b := im.Group("a"), im.Group("b")
	store(t, j, message(a, "u", 1), message(b, "u", 1))
	let := holding(t, url, "SELECT * FROM journal_heads WHERE conversation = 'grp:a' FOR UPDATE")
	out, locked := asideUntil(t, j, message(a, "u", 2))
	statuses(t, "after a while", out, im.Busy)
	if locked == 0 {
		t.Error("it was busy at once")
	}
	if waited := metric(t, r, "skein_journal_lock_timeouts_total"); waited != 1 {
		t.Errorf("a lock was waited for in vain %v times", waited)
	}
	if n := metric(t, r, "skein_journal_locked_conversations"); n != 1 {
		t.Errorf("%v conversations are told to be locked", n)
	}
	if _, warnings := j.Trouble(); len(warnings) != 1 || !strings.Contains(warnings[0], "grp:a") || !strings.Contains(warnings[0], "psql") {
		t.Errorf("trouble %q", warnings)
	}
	let()
	free(t, j, message(a, "u", 2))
	if _, warnings := j.Trouble(); len(warnings) != 0 {
		t.Errorf("afterwards %q", warnings)
	}
}

// Who holds aside what is locked waits for a lock as long as three usual appends take,
// within bounds; the others wait a second. One append that took long changes little.
func TestPatience(t *testing.T) {
	var j Journal
	notes := func(n int, took time.Duration) {
		for range n {
			j.locked.usual.note(took)
		}
	}
	for _, x := range []struct {
		notes       int
		took        time.Duration
		least, most time.Duration
	}{
		{0, 0, leastPatience, leastPatience},
		{100, 10 * time.Millisecond, 29 * time.Millisecond, 30 * time.Millisecond},
		{1, time.Minute, 30 * time.Millisecond, 70 * time.Millisecond},
		{100, time.Minute, mostPatience, mostPatience},
		{100, time.Microsecond, leastPatience, leastPatience},
	} {
		notes(x.notes, x.took)
		if got := j.patience(true); got < x.least || got > x.most {
			t.Errorf("after %d appends of %s: %s", x.notes, x.took, got)
		}
	}
	if got := j.patience(false); got != lockTimeout {
		t.Errorf("who does not hold aside waits %s", got)
	}
}

// Who holds a row counts: one transaction after the other, none of them for a second,
// are others that append, and nobody is refused for them.
func TestHoldersThatFollowEachOther(t *testing.T) {
	var l locked
	l.init()
	c, now := im.Group("a"), time.Now()
	asked := []im.ConversationID{c}
	at := func(after time.Duration, transaction string, want im.AppendStatus) {
		t.Helper()
		by := map[im.ConversationID]holder{}
		if transaction != "" {
			by[c] = holder{transaction: transaction}
		}
		begun, ended := l.found(asked, by, false, now.Add(after))
		if got := l.sort([]im.Append{{Entry: im.Entry{Conversation: c}}}, true, now.Add(after))[c]; got != want {
			t.Errorf("after %s: %d, want %d", after, got, want)
		}
		if (len(begun) == 1) != (after == 2100*time.Millisecond) || (len(ended) == 1) != (after == 4*time.Second) {
			t.Errorf("after %s: told that %v began, %v ended", after, begun, ended)
		}
	}
	at(0, "1", im.Locked)
	at(900*time.Millisecond, "1", im.Locked)
	at(1100*time.Millisecond, "2", im.Locked)
	at(2000*time.Millisecond, "2", im.Locked)
	at(2100*time.Millisecond, "2", im.Busy)
	at(2200*time.Millisecond, "3", im.Busy) // and so it stays until the row is free
	at(4*time.Second, "", 0)
	at(5*time.Second, "4", im.Locked)
	if cs, wait := l.next(now.Add(5*time.Second + lockedKnown)); len(cs) != 0 || wait == 0 || l.n.Load() != 0 {
		t.Errorf("nobody asks for %v any more", cs)
	}
}

// What an append waits for may be something else than the row of a conversation that it
// could leave out: here the row of an entry that is recalled, and a conversation that
// somebody is making. That is waited for as long as before, a second, and refused;
// nothing is stored, and all goes on when it is let go.
func TestALockThatIsNoConversationsRow(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	a, b := im.Group("a"), im.Group("b")
	store(t, j, message(a, "u", 1), message(b, "u", 1))
	recall := message(a, "u", 2)
	recall.Entry.Kind, recall.Entry.Target, recall.Amend.Recall = im.EntryRecall, 1, true
	fresh := im.Group("fresh")
	for what, x := range map[string]struct {
		statement string
		item      im.Append
	}{
		"an entry's row": {"SELECT FROM journal_entries WHERE seq = 1 FOR UPDATE", recall},
		"a new conversation": {fmt.Sprintf("INSERT INTO journal_heads (slot, conversation, seq, count, stored, roster, pos) VALUES (%d, 'grp:fresh', 0, 0, 0, 0, 0)", im.SlotOf(fresh)),
			message(fresh, "u", 3)},
	} {
		let := holding(t, url, x.statement)
		if _, err := appends(t, j, aside(x.item)...); !errors.Is(err, im.ErrJournalUnavailable) {
			t.Errorf("%s: %v, want unavailable", what, err)
		}
		out, err := appends(t, j, aside(message(b, "u", len(what)))...)
		if err != nil {
			t.Fatal(err)
		}
		statuses(t, what, out, im.Stored)
		let()
		if out, err = appends(t, j, aside(x.item)...); err != nil {
			t.Fatal(err)
		}
		statuses(t, what+", let go", out, im.Stored)
	}
}

// Two processes append to one conversation, with items held aside that are Locked: all
// are stored, each process's in its order, and nobody is told that it is busy.
func TestTwoProcessesHoldAside(t *testing.T) {
	url := pgtest.Database(t)
	c := im.Group("a")
	const batches = 60
	var wg sync.WaitGroup
	var js []*Journal
	for range 2 {
		j := open(t, url)
		defer j.Close()
		js = append(js, j)
	}
	for i, j := range js {
		wg.Go(func() {
			for n := range batches {
				u := im.UserID(fmt.Sprint("u", i))
				out, _ := asideUntil(t, j, message(c, u, 2*n), message(c, u, 2*n+1))
				if out[0].Status != im.Stored || out[1].Status != im.Stored || out[1].Seq != out[0].Seq+1 {
					t.Errorf("batch %d: %+v", n, out)
				}
			}
		})
	}
	wg.Wait()
	entries := all(t, js[0], c)
	if got := len(once(t, entries)); got != 2*2*batches {
		t.Errorf("%d entries", got)
	}
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
	for _, batch := range [][]im.Append{{message(c, "u", 2)}, aside(message(c, "u", 2))} {
		if _, err := appends(t, j, batch...); !errors.Is(err, im.ErrJournalUnavailable) || im.Public(err).RetryAfter <= 0 {
			t.Errorf("error %v, want unavailable, to be tried again later", err)
		}
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
	set("v", 3)
	if err := j.flushMarks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := written("v"); v != 3 {
		t.Errorf("written: %d, want 3", v)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(j.metrics.lockWaits)
	if waited := metric(t, r, "skein_journal_lock_timeouts_total"); waited != 1 {
		t.Errorf("%v writes waited for the lock in vain, all others' marks with them", waited)
	}
	if _, warnings := j.Trouble(); len(warnings) != 1 {
		t.Errorf("trouble: %q", warnings)
	}
	out := make([]im.Mark, 1)
	if err := j.Marks(t.Context(), []im.MarkKey{{User: "u", Conversation: c}}, out, false); err != nil || out[0].Read != 2 {
		t.Errorf("mark %+v, %v", out[0], err)
	}
	let()
	for tries := 0; written("u") != 2; tries++ { // the server may need a moment to end the other's connection
		if err := j.flushMarks(t.Context()); err != nil || tries == 1000 {
			t.Fatalf("written at last: %d, %v", written("u"), err)
		}
		<-time.After(5 * time.Millisecond)
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
