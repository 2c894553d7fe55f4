package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

// audited is the load of a test of the audit: who sends, and what was acknowledged.
type audited struct {
	stop  context.CancelFunc
	wg    sync.WaitGroup
	mu    sync.Mutex
	acked map[string]map[uint64]bool
	total int
	news  chan struct{} // holds one
}

// load has people write in some conversations, all the time.
func load(t *testing.T, w World) *audited {
	t.Helper()
	ann, bob, cem := join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "cem", 2)
	ctx, stop := context.WithCancel(t.Context())
	a := &audited{stop: stop, acked: map[string]map[uint64]bool{}, news: make(chan struct{}, 1)}
	for _, s := range []struct {
		from *person
		to   string
	}{{ann, "bob"}, {bob, "ann"}, {bob, "cem"}, {cem, "ann"}, {cem, "bob"}, {ann, "cem"}} {
		c := s.from.DM(s.to).ID()
		a.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				m, err := s.from.Conversation(c).Send(ctx, fmt.Sprint("message ", n))
				if err != nil {
					continue // it may be stored all the same
				}
				a.mu.Lock()
				if a.acked[c] == nil {
					a.acked[c] = map[uint64]bool{}
				}
				a.acked[c][m.Seq] = true
				a.total++
				a.mu.Unlock()
				select {
				case a.news <- struct{}{}:
				default:
				}
			}
		})
	}
	t.Cleanup(func() { stop(); a.wg.Wait() })
	return a
}

// more waits until so many more were acknowledged.
func (a *audited) more(t *testing.T, n int) {
	t.Helper()
	a.mu.Lock()
	want := a.total + n
	a.mu.Unlock()
	timeout := time.After(2 * patience)
	for {
		a.mu.Lock()
		total := a.total
		a.mu.Unlock()
		if total >= want {
			return
		}
		select {
		case <-a.news:
		case <-timeout:
			t.Fatalf("%d were acknowledged, want %d", total, want)
		}
	}
}

// missing tells how many of what was acknowledged are in none of the files. In each,
// the entries of a conversation must come in order: who writes begins again somewhere
// before, perhaps, and leaves nothing out.
func (a *audited) missing(t *testing.T, paths ...string) (n int) {
	t.Helper()
	there := map[string]map[uint64]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := map[string]uint64{}
		for line := range strings.Lines(string(text)) {
			if !strings.HasSuffix(line, "\n") {
				break // it is being written, or was
			}
			var e struct {
				Conversation string
				Seq          uint64
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%s: %v: %q", path, err, line)
			}
			if there[e.Conversation] == nil {
				there[e.Conversation] = map[uint64]bool{}
			}
			before := last[e.Conversation]
			if e.Seq > before+1 && !there[e.Conversation][e.Seq-1] && len(paths) == 1 {
				t.Fatalf("%s: #%d of %s follows #%d", path, e.Seq, e.Conversation, before)
			}
			last[e.Conversation] = e.Seq
			there[e.Conversation][e.Seq] = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for c, seqs := range a.acked {
		for seq := range seqs {
			if !there[c][seq] {
				n++
			}
		}
	}
	return n
}

// complete waits until nothing is missing; nobody sends any more.
func (a *audited) complete(t *testing.T, paths ...string) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(50 * time.Millisecond) {
		n := a.missing(t, paths...)
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d acknowledged messages are not in the audit", n, a.total)
		}
	}
}

// TestAuditKilled: whenever the server is killed under load, every acknowledged
// message is in the audit afterwards, those of a conversation in order, also when the
// last line was torn.
func TestAuditKilled(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"embedded":   nil,
		"postgresql": {"--store", pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, t.TempDir(), append(args, "--set", "accounts.dm_policy=everyone", "--set", "audit.file=audit.jsonl")...)
			path := filepath.Join(p.dir, "audit.jsonl")
			a := load(t, p)
			for round := range 5 {
				a.more(t, 150)
				p.kill(t)
				if round == 2 {
					text := must(os.ReadFile(path))(t)
					if err := os.WriteFile(path, append(text, `{"conversation":"dm:ann:b`...), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				p.Start(t)
			}
			a.more(t, 150)
			a.stop()
			a.wg.Wait()
			a.complete(t, path)
			p.Stop(t)
			if n := a.missing(t, path); n != 0 {
				t.Errorf("%d are missing", n)
			}
		})
	}
}

// TestAuditFailover: of two servers on one database one writes the audit. When it is
// killed the other one goes on, and nothing is left out.
func TestAuditFailover(t *testing.T) {
	t.Parallel()
	args := []string{"--store", pgtest.Database(t), "--set", "accounts.dm_policy=everyone", "--set", "audit.file=audit.jsonl"}
	first, dir := serve(t, t.TempDir(), args...), t.TempDir()
	sameKeys(t, first.dir, dir)
	second := serve(t, dir, args...)
	path := func(p *process) string { return filepath.Join(p.dir, "audit.jsonl") }
	size := func(p *process) int64 { return must(os.Stat(path(p)))(t).Size() }
	a := load(t, second)
	writes := func(p *process) {
		t.Helper()
		for deadline := time.Now().Add(patience); size(p) == 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nobody writes")
			}
		}
	}
	a.more(t, 100)
	writes(first)
	if size(second) != 0 {
		t.Error("both write")
	}
	first.kill(t)
	a.more(t, 100)
	writes(second)
	first.Start(t)
	a.more(t, 100)
	a.stop()
	a.wg.Wait()
	a.complete(t, path(first), path(second))
	second.Stop(t) // and so makes room
	first.Stop(t)
	if n := a.missing(t, path(first), path(second)); n != 0 {
		t.Errorf("%d are missing", n)
	}
}
