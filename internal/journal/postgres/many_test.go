package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// Processes append to the same conversations at the same time, each item sent by
// two of them, in batches that overlap in another order: each id is stored once,
// and who sent it hears the same seq.
func TestManyProcesses(t *testing.T) {
	url := pgtest.Database(t)
	const processes, writers, rounds, size, conversations = 3, 2, 20, 12, 8
	var mu sync.Mutex
	heard := map[string]uint64{}
	stored := 0
	moved := map[im.MessageID]bool{} // sent to another conversation by each writer: stored in both
	for n := 6; n < rounds*size; n += 40 {
		moved[message("grp:x", "x", n+1).Entry.ID] = true
	}
	var wg sync.WaitGroup
	for range processes {
		j := open(t, url)
		defer j.Close()
		for w := range writers {
			wg.Go(func() {
				for r := range rounds {
					var batch []im.Append
					for k := range size {
						n := r*size + (k*(w+1)*5)%size
						item := message(im.Group(fmt.Sprint(n%conversations)), im.UserID(fmt.Sprint("u", n%3)), n+1)
						if moved[item.Entry.ID] {
							item.Entry.Conversation = im.Group(fmt.Sprint(w))
						}
						batch = append(batch, item)
					}
					out := make([]im.Appended, size)
					if err := j.Append(t.Context(), batch, out); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for i := range out {
						k := fmt.Sprint(batch[i].Entry.Sender, batch[i].Entry.ID, batch[i].Entry.Conversation)
						switch {
						case out[i].Status != im.Stored && out[i].Status != im.Duplicate:
							t.Errorf("%s: %+v", k, out[i])
						case heard[k] != 0 && heard[k] != out[i].Seq:
							t.Errorf("%s is at seq %d and %d", k, heard[k], out[i].Seq)
						default:
							heard[k] = out[i].Seq
						}
						if out[i].Status == im.Stored {
							stored++
						}
					}
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	want := rounds*size + len(moved)
	if stored != want {
		t.Errorf("%d items were stored, want %d", stored, want)
	}
	j := open(t, url)
	defer j.Close()
	total := 0
	for c := range conversations {
		entries := all(t, j, im.Group(fmt.Sprint(c)))
		for k, seq := range once(t, entries) {
			if at := heard[k+fmt.Sprint(im.Group(fmt.Sprint(c)))]; at != seq {
				t.Errorf("%s is at seq %d, its sender heard %d", k, seq, at)
			}
		}
		total += len(entries)
	}
	if total != want {
		t.Errorf("%d entries, want %d", total, want)
	}
}

// Whoever syncs by position while several processes append misses nothing: what
// is not visible at a position has a greater one.
func TestPositionsMissNothing(t *testing.T) {
	url := pgtest.Database(t)
	const processes, rounds, conversations = 3, 60, 5
	var wg sync.WaitGroup
	for p := range processes {
		j := open(t, url)
		defer j.Close()
		wg.Go(func() {
			for r := range rounds {
				var batch []im.Append
				for k := range 1 + (r+p)%4 {
					batch = append(batch, message(im.Group(fmt.Sprint((p+k)%conversations)), im.UserID(fmt.Sprint("p", p)), r*4+k+1))
				}
				if err := j.Append(t.Context(), batch, make([]im.Appended, len(batch))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	j := open(t, url)
	defer j.Close()
	got := map[string]bool{}
	var since, last uint64
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true // one more round
		default:
		}
		at, err := j.told(t.Context())
		pos := at.Pos
		if err != nil || pos < last {
			t.Fatalf("position %d after %d, %v", pos, last, err)
		}
		heads, more, err := j.Changed(t.Context(), since, conversations)
		if err != nil || more {
			t.Fatal(more, err)
		}
		for _, h := range heads {
			for _, e := range all(t, j, h.Conversation) {
				if e.Pos > since {
					got[fmt.Sprint(e.Conversation, e.Seq)] = true
				}
			}
		}
		since, last = pos, pos
	}
	for c := range conversations {
		for _, e := range all(t, j, im.Group(fmt.Sprint(c))) {
			if !got[fmt.Sprint(e.Conversation, e.Seq)] {
				t.Errorf("%s seq %d at %d was missed", e.Conversation, e.Seq, e.Pos)
			}
		}
	}
}

// A position stays before a transaction that is under way, whatever committed
// after it began: that one may yet commit, with a lower position.
func TestPositionStaysBeforeWhatIsUnderWay(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	store(t, j, message("grp:g", "a", 1))
	under, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer under.Close(context.Background())
	tx, err := under.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var own uint64 // what would be the position of what it stores
	if err := tx.QueryRow(t.Context(), "SELECT base + pg_current_xact_id()::text::bigint FROM journal_meta").Scan(&own); err != nil {
		t.Fatal(err)
	}
	if out := store(t, j, message("grp:h", "a", 2)); out[0].Pos <= own {
		t.Fatalf("stored at %d, before %d", out[0].Pos, own)
	}
	for range 3 {
		if at, err := j.told(t.Context()); err != nil || at.Pos >= own {
			t.Errorf("position %v, %v, while a transaction for %d is under way", at, err, own)
		}
		store(t, j, message("grp:h", "a", 3))
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		at, err := j.told(t.Context())
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("position %v, %v, after the transaction for %d", at, err, own)
		}
		if at.Pos > own {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A mark that is only in the memory of its process is ahead of every position,
// also of those that others gave out; written, it is seen by all.
func TestMarksOfManyProcesses(t *testing.T) {
	url := pgtest.Database(t)
	a, b := open(t, url), open(t, url)
	defer a.Close()
	defer b.Close()
	c := im.Group("g")
	store(t, b, message(c, "x", 1), message(c, "x", 2))
	mark := im.Mark{User: "u", Conversation: c, Received: 2, Read: 1, ReadCount: 1}
	if err := a.SetMarks(t.Context(), []im.Mark{mark}, im.MarkWait{}); err != nil {
		t.Fatal(err)
	}
	keys, out := []im.MarkKey{{User: "u", Conversation: c}}, make([]im.Mark, 1)
	if err := a.Marks(t.Context(), keys, out, false); err != nil || out[0].Received != 2 {
		t.Fatalf("%+v, %v", out[0], err)
	}
	store(t, b, message(c, "x", 3))
	if at, err := b.told(t.Context()); err != nil || out[0].Pos <= at.Pos {
		t.Fatalf("the mark is at %d, not beyond %+v, %v", out[0].Pos, at, err)
	}
	if err := a.flushMarks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Marks(t.Context(), keys, out, false); err != nil || out[0].Received != 2 || out[0].Read != 1 || out[0].ReadCount != 1 {
		t.Fatalf("%+v, %v", out[0], err)
	}
	// Each moves one of them; neither takes the other's back.
	for _, set := range []struct {
		j    *Journal
		mark im.Mark
	}{{a, im.Mark{User: "u", Conversation: c, Received: 3}}, {b, im.Mark{User: "u", Conversation: c, Read: 2, ReadCount: 2}}, {a, im.Mark{User: "u", Conversation: c, Read: 1}}} {
		if err := set.j.SetMarks(t.Context(), []im.Mark{set.mark}, im.MarkWait{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range []*Journal{a, b} {
		if err := j.flushMarks(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, url)
	defer d.Close()
	if marks, err := d.UserMarks(t.Context(), "u"); err != nil || len(marks) != 1 || marks[0].Received != 3 || marks[0].Read != 2 || marks[0].ReadCount != 2 {
		t.Fatalf("%+v, %v", marks, err)
	}
}

// What a user sets for themselves is written though nothing else moves, whoever waits
// for it is told, and the last one counts, whatever a process remembers; marks that
// move leave it, and it leaves them.
func TestMineOfManyProcesses(t *testing.T) {
	url := pgtest.Database(t)
	a, b := open(t, url), open(t, url)
	defer a.Close()
	defer b.Close()
	c := im.Group("g")
	set := func(j *Journal, m im.Mark) {
		t.Helper()
		m.User, m.Conversation = "u", c
		done := make(chan error, 1)
		must(t, j.SetMarks(t.Context(), []im.Mark{m}, im.MarkWait{Stored: func(err error) { done <- err }, Soon: true}))
		must(t, <-done)
	}
	want := func(mine string, received, read uint64) (pos uint64) {
		t.Helper()
		for _, j := range []*Journal{a, b} {
			out := make([]im.Mark, 1)
			must(t, j.Marks(t.Context(), []im.MarkKey{{User: "u", Conversation: c}}, out, false))
			if m := out[0]; m.Mine != mine || m.Received != received || m.Read != read {
				t.Fatalf("%+v, want %q, received %d, read %d", m, mine, received, read)
			}
			pos = out[0].Pos
		}
		return pos
	}
	set(a, im.Mark{Mine: "pinned"})
	want("pinned", 0, 0)
	set(b, im.Mark{Received: 3, Read: 2})
	set(a, im.Mark{Received: 4})
	want("pinned", 4, 2)
	set(b, im.Mark{Mine: "muted"})
	want("muted", 4, 2)
	set(b, im.Mark{Mine: "pinned"})
	set(a, im.Mark{Mine: "muted"}) // which is what a last saw there
	want("muted", 4, 2)
	set(b, im.Mark{Mine: "pinned"})
	pos := want("pinned", 4, 2)
	set(a, im.Mark{Mine: "pinned"})
	if again := want("pinned", 4, 2); again != pos {
		t.Errorf("set to what it was, the mark moved from %d to %d", pos, again)
	}
	// More than one transaction's worth, and more than is remembered.
	var marks []im.Mark
	for n := range 200 {
		marks = append(marks, im.Mark{User: im.UserID(fmt.Sprint("long", n)), Conversation: c, Mine: strings.Repeat(string(rune('a'+n%26)), im.MaxMine-n)})
	}
	done := make(chan error, 1)
	must(t, a.SetMarks(t.Context(), marks, im.MarkWait{Stored: func(err error) { done <- err }}))
	must(t, <-done)
	if a.marks.mine() != 0 {
		t.Errorf("%d bytes wait", a.marks.mine())
	}
	keys, out := make([]im.MarkKey, len(marks)), make([]im.Mark, len(marks))
	for i := range marks {
		keys[i] = im.MarkKey{User: marks[i].User, Conversation: c}
	}
	for _, recent := range []bool{true, true, false} {
		must(t, a.Marks(t.Context(), keys, out, recent))
		for i := range out {
			if out[i].Mine != marks[i].Mine {
				t.Fatalf("%d bytes of %d", len(out[i].Mine), len(marks[i].Mine))
			}
		}
	}
}

// Changed reads the pages of newer entries only.
func TestChangedUsesTheIndex(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	batch := make([]im.Append, 1000)
	for r := range 30 {
		for i := range batch {
			batch[i] = message(im.Group(fmt.Sprint(i%100)), "a", r*1000+i+1)
		}
		store(t, j, batch...)
	}
	pgtest.Exec(t, url, "SELECT brin_summarize_new_values('journal_entries_pos'); ANALYZE journal_entries")
	at, err := j.told(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pos := at.Pos
	store(t, j, message("grp:7", "b", 1), message("grp:8", "b", 2), message("grp:new", "b", 3), message("grp:7", "b", 4))
	heads, more, err := j.Changed(t.Context(), pos, 10)
	if err != nil || more || len(heads) != 3 {
		t.Fatalf("%+v, %v, %v", heads, more, err)
	}
	for _, h := range heads {
		if want := map[im.ConversationID]uint64{"grp:7": 302, "grp:8": 301, "grp:new": 1}[h.Conversation]; h.Seq != want {
			t.Errorf("%+v, want seq %d", h, want)
		}
	}
	if heads, more, err = j.Changed(t.Context(), pos, 2); err != nil || !more || len(heads) != 2 {
		t.Errorf("%+v, %v, %v", heads, more, err)
	}
	if heads, _, err = j.Changed(t.Context(), 1<<63, 2); err != nil || len(heads) != 0 {
		t.Errorf("%+v, %v", heads, err)
	}
	c, err := j.acquire(t.Context(), j.readers)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	rows, err := c.Query(t.Context(), fmt.Sprintf("EXPLAIN (ANALYZE, TIMING off) EXECUTE %s(%d, 10)", stmtChanged, pos))
	if err != nil {
		t.Fatal(err)
	}
	var plan []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(plan, "\n")
	if !strings.Contains(text, "journal_entries_pos") || strings.Contains(text, "Seq Scan on journal_entries") {
		t.Errorf("the plan reads all entries:\n%s", text)
	}
}

// Whoever follows while several processes append, and others have transactions that
// began before and end later, is told every entry once, each conversation in order.
func TestFollowMissesNothing(t *testing.T) {
	url := pgtest.Database(t)
	const processes, rounds, conversations = 3, 40, 5
	var writing, following sync.WaitGroup
	var last [processes]uint64
	for p := range processes {
		j := open(t, url)
		defer j.Close()
		writing.Go(func() {
			for r := range rounds {
				var batch []im.Append
				for k := range 1 + (r+p)%4 {
					batch = append(batch, message(im.Group(fmt.Sprint((p+k)%conversations)), im.UserID(fmt.Sprint("p", p)), r*4+k+1))
				}
				out := make([]im.Appended, len(batch))
				if err := j.Append(t.Context(), batch, out); err != nil {
					t.Error(err)
				}
				for i := range out {
					last[p] = max(last[p], out[i].Pos)
				}
			}
		})
	}
	done := make(chan struct{})
	for _, limit := range []int{1, 300} {
		j := open(t, url)
		defer j.Close()
		following.Go(func() {
			var at im.Place
			seqs := map[im.ConversationID]uint64{}
			for end := uint64(0); end == 0 || at.Pos < end; {
				select {
				case <-done:
					end = max(last[0], last[1], last[2])
				default:
				}
				f, err := j.After(t.Context(), at, limit)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range f.Entries {
					if e.Seq != seqs[e.Conversation]+1 {
						t.Errorf("entry %d of %s follows %d", e.Seq, e.Conversation, seqs[e.Conversation])
						return
					}
					seqs[e.Conversation] = e.Seq
				}
				at = f.UpTo
			}
			for c := range conversations {
				name := im.Group(fmt.Sprint(c))
				if n := len(all(t, j, name)); seqs[name] != uint64(n) {
					t.Errorf("%d entries of %s were told, of %d", seqs[name], name, n)
				}
			}
		})
	}
	writing.Wait()
	close(done)
	following.Wait()
}
