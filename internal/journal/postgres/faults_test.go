package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// A connection that is cut while the reply to a commit is on its way: the
// outcome is unknown, and asking again tells it.
func TestReplyIsLost(t *testing.T) {
	p := newProxy(t, pgtest.Database(t))
	j := open(t, p.url)
	defer j.Close()
	c := im.Group("g")
	store(t, j, message(c, "a", 1))
	p.set(func() { p.cut = true })
	batch := []im.Append{message(c, "a", 2), message(c, "b", 3)}
	err := j.Append(t.Context(), batch, make([]im.Appended, 2))
	if !errors.Is(err, im.ErrOutcomeUnknown) {
		t.Fatalf("error %v, want ErrOutcomeUnknown", err)
	}
	p.set(func() { p.cut = false })
	for i, o := range store(t, j, batch...) {
		if o.Status != im.Duplicate || o.Seq != uint64(i)+2 {
			t.Errorf("item %d: %+v, want the duplicate at seq %d", i, o, i+2)
		}
	}
	if n := len(all(t, j, c)); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}

// Connections that were cut while nobody used them are noticed before a batch is
// sent: its outcome would be unknown.
func TestIdleConnectionsAreCut(t *testing.T) {
	p := newProxy(t, pgtest.Database(t))
	j := open(t, p.url)
	defer j.Close()
	for n := range 5 {
		if out := store(t, j, message("grp:g", "a", n+1)); out[0].Status != im.Stored {
			t.Fatalf("%+v", out)
		}
		if got := len(all(t, j, "grp:g")); got != n+1 {
			t.Fatalf("%d entries, want %d", got, n+1)
		}
		p.close()
	}
}

// A process that is frozen blocks nobody, wherever it was: before its request
// was there as a whole, or before it could take the reply.
func TestFrozenProcess(t *testing.T) {
	for name, freeze := range map[string]func(p *proxy){
		"in the request":    func(p *proxy) { p.requests = 2000 },
		"before its end":    func(p *proxy) { p.requests = 20_000 },
		"before the answer": func(p *proxy) { p.replies = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			p := newProxy(t, url)
			frozen, other := open(t, p.url), open(t, url)
			defer frozen.Close()
			defer other.Close()
			var batch []im.Append
			for n := range 300 {
				batch = append(batch, message(im.Group(fmt.Sprint(n%10)), "frozen", n+1))
			}
			store(t, frozen, batch[:10]...) // it is connected, and knows the heads
			p.set(func() { freeze(p) })
			done := make(chan error, 1)
			out := make([]im.Appended, len(batch)-10)
			go func() { done <- frozen.Append(context.WithoutCancel(t.Context()), batch[10:], out) }()
			for n := range 50 {
				for _, o := range store(t, other, message(im.Group(fmt.Sprint(n%10)), "other", n+1)) {
					if o.Status != im.Stored {
						t.Fatalf("%+v", o)
					}
				}
			}
			select {
			case err := <-done:
				t.Fatalf("the frozen process went on: %v", err)
			default:
			}
			p.set(func() { p.requests, p.replies = endless, endless })
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			total := 0
			for n := range 10 {
				entries := all(t, other, im.Group(fmt.Sprint(n)))
				once(t, entries)
				total += len(entries)
			}
			if total != len(batch)+50 {
				t.Errorf("%d entries, want %d", total, len(batch)+50)
			}
		})
	}
}

// While the server is down an append is refused at once; as soon as it is back
// the first one succeeds, on the connections of before.
func TestServerIsDown(t *testing.T) {
	s, err := pgtest.Start(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop() }()
	j, err := Open(t.Context(), pgtest.On(t, s.URL()), Options{Logger: quiet(), WentBack: func(why string) { t.Errorf("the history went back (%s) though nothing was lost", why) }})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := im.Group("g")
	n := 0
	timeline := j.Timeline()
	var last im.Place
	var told []im.Place
	for _, end := range []func() error{s.Kill, s.Stop} {
		n++
		store(t, j, message(c, "a", n))
		pos, err := j.told(t.Context())
		if err != nil || pos.Pos <= last.Pos {
			t.Fatalf("position %+v after %+v, %v", pos, last, err)
		}
		last, told = pos, append(told, pos)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		item := message(c, "a", n+1)
		for range 3 {
			if err := j.Append(ctx, []im.Append{item}, make([]im.Appended, 1)); !errors.Is(err, im.ErrJournalUnavailable) {
				t.Errorf("error %v, want ErrJournalUnavailable", err)
			}
			if _, err := j.Read(ctx, c, 0, true, 1); !errors.Is(err, im.ErrJournalUnavailable) {
				t.Errorf("Read: error %v, want ErrJournalUnavailable", err)
			}
			if err := j.Ping(ctx); err == nil {
				t.Error("a server that is down answered")
			}
		}
		// Marks wait for it.
		if err := j.SetMarks(ctx, []im.Mark{{User: "a", Conversation: c, Read: uint64(n)}}, im.MarkWait{}); err != nil {
			t.Errorf("SetMarks: %v", err)
		}
		cancel()
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		n++
		if out := store(t, j, item); out[0].Status != im.Stored || out[0].Pos <= last.Pos {
			t.Errorf("after the restart: %+v, the position was %+v", out[0], last)
		}
		for _, p := range told {
			if held, err := j.holds(t.Context(), p); err != nil || !held {
				t.Errorf("place %+v is another history's (%v), though nothing was lost", p, err)
			}
		}
		if marks, err := j.UserMarks(t.Context(), "a"); err != nil || len(marks) != 1 || marks[0].Read != uint64(n-1) {
			t.Errorf("marks %+v, %v", marks, err)
		}
	}
	if got := j.Timeline(); got != timeline {
		t.Errorf("the timeline %q became %q though nothing was lost", timeline, got)
	}
}

// The server is killed again and again while processes append: what was
// acknowledged is there, once; what was not is there once or not at all.
func TestServerIsKilled(t *testing.T) {
	s, err := pgtest.Start(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop() }()
	url := pgtest.On(t, s.URL())
	const writers, rounds = 3, 4
	progress := make(chan struct{}, 1000)
	stop := make(chan struct{})
	acked := make([]map[string]uint64, writers)
	failed := make(chan error, writers)
	cs := []im.ConversationID{"grp:a", "grp:b", "grp:c"}
	for w := range writers {
		j := open(t, url)
		defer j.Close()
		acked[w] = map[string]uint64{}
		go func() { failed <- appendUntil(j, cs, im.UserID(fmt.Sprint("w", w)), acked[w], progress, stop) }()
	}
	for range rounds {
		for range 40 {
			<-progress
		}
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	for range 40 {
		<-progress
	}
	close(stop)
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	j := open(t, url)
	defer j.Close()
	for _, c := range cs {
		seqs := once(t, all(t, j, c))
		for w := range acked {
			for k, seq := range acked[w] {
				if in, ok := strings.CutPrefix(k, string(c)); ok && seqs[in] != seq {
					t.Errorf("%s: %s was acknowledged at seq %d and is at %d", c, in, seq, seqs[in])
				}
			}
		}
	}
}

// appendUntil appends, asks again after every error, and notes what was
// acknowledged.
func appendUntil(j *Journal, cs []im.ConversationID, sender im.UserID, acked map[string]uint64, progress chan<- struct{}, stop <-chan struct{}) error {
	for n := 1; ; n += 6 {
		var batch []im.Append
		for k := range 6 {
			batch = append(batch, message(cs[(n/6+k)%len(cs)], sender, n+k))
		}
		out := make([]im.Appended, len(batch))
		for {
			err := j.Append(context.Background(), batch, out)
			if err == nil {
				break
			}
			if !errors.Is(err, im.ErrJournalUnavailable) && !errors.Is(err, im.ErrOutcomeUnknown) {
				return err
			}
		}
		for i := range out {
			if out[i].Status != im.Stored && out[i].Status != im.Duplicate {
				return fmt.Errorf("item %d of %d: %+v", i, n, out[i])
			}
			acked[fmt.Sprint(batch[i].Entry.Conversation, sender, batch[i].Entry.ID)] = out[i].Seq
		}
		select {
		case progress <- struct{}{}:
		case <-stop:
			return nil
		}
	}
}

// What the server refuses was not stored, is not the end of the engine, and is
// told apart.
func TestServerRefuses(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	c := im.Group("g")
	store(t, j, message(c, "a", 1))
	pgtest.Exec(t, url, "CREATE TABLE refuse (code text, times int); CREATE SEQUENCE refused")
	pgtest.Exec(t, url, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE r refuse; BEGIN
			SELECT * INTO r FROM refuse;
			IF FOUND AND nextval('refused') <= r.times THEN RAISE EXCEPTION USING ERRCODE = r.code; END IF;
			RETURN NULL;
		END $$`)
	pgtest.Exec(t, url, "CREATE TRIGGER refuse AFTER INSERT ON journal_entries EXECUTE FUNCTION refuse()")
	n := 2
	for _, tt := range []struct {
		code  string
		times int
		want  error
	}{
		{"53100", 1, im.ErrJournalFull},
		{"57014", 1, im.ErrJournalUnavailable}, // cancelled
		{"25006", 1, im.ErrJournalUnavailable}, // read-only
		{"XX000", 1, im.ErrJournalUnavailable},
		{"53200", 1, im.ErrJournalUnavailable}, // out of memory
		{"22021", 1, im.ErrAppendInvalid},
		{"40P01", 3, nil}, // run again
		{"40001", 3, nil},
		{"40P01", 1 << 30, im.ErrJournalUnavailable},
	} {
		pgtest.Exec(t, url, fmt.Sprintf("DELETE FROM refuse; SELECT setval('refused', 1, false); INSERT INTO refuse VALUES ('%s', %d)", tt.code, tt.times))
		err := j.Append(t.Context(), []im.Append{message(c, "a", n)}, make([]im.Appended, 1))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.code, err, tt.want)
		}
		if err == nil {
			n++
		}
		pgtest.Exec(t, url, "DELETE FROM refuse")
		if got := len(all(t, j, c)); got != n-1 {
			t.Errorf("%s: %d entries, want %d", tt.code, got, n-1)
		}
		if out := store(t, j, message(c, "a", n)); out[0].Seq != uint64(n) {
			t.Errorf("%s: afterwards %+v, want seq %d", tt.code, out[0], n)
		}
		n++
	}
	bad := message(c, "a", n)
	bad.Entry.Sender = "a\x00b"
	if err := j.Append(t.Context(), []im.Append{bad}, make([]im.Appended, 1)); !errors.Is(err, im.ErrAppendInvalid) {
		t.Errorf("a text with a zero byte: %v", err)
	}
}
