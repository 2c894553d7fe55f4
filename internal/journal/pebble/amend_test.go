package pebble

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/skein-im/skein/internal/im"
)

// changeOf is message n, which changes an entry that was amended by the one at
// ifAmended last.
func changeOf(c im.ConversationID, n int, target, ifAmended uint64, body string) im.Append {
	a := message(c, n)
	a.Entry.Kind, a.Entry.Target, a.Entry.Body = im.EntryEvent, target, []byte("amends")
	a.Amend = im.Amend{Change: true, If: ifAmended, Body: []byte(body)}
	return a
}

// states tells the bodies of entries, as Read and Page tell them.
func states(t *testing.T, j *Journal, c im.ConversationID, until uint64) string {
	t.Helper()
	all, err := j.Read(t.Context(), c, 0, false, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var read strings.Builder
	for i := range all {
		if e := &all[i]; !e.Amends() && e.Seq <= until {
			fmt.Fprintf(&read, "%d:%s:%d:%v ", e.Seq, e.Body, e.Amended, e.Recalled)
		}
	}
	for _, backward := range []bool{false, true} {
		var paged strings.Builder
		p, err := j.Page(t.Context(), im.PageQuery{Conversation: c, From: 1, Until: until, Backward: backward, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Entries {
			e := &p.Entries[i]
			fmt.Fprintf(&paged, "%d:%s:%d:%v ", e.Seq, e.Body, e.Amended, e.Recalled)
		}
		if paged.String() != read.String() {
			t.Fatalf("a page, backward %v, tells %s, Read tells %s", backward, &paged, &read)
		}
	}
	return read.String()
}

// gate holds fsyncs of the log back, one at a time, and may have them fail.
type gate struct {
	hold, broken     atomic.Bool
	entered, release chan struct{}
}

func (g *gate) around(fs vfs.FS) vfs.FS {
	g.entered, g.release = make(chan struct{}), make(chan struct{})
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && strings.HasSuffix(op.Path, ".log") && g.hold.CompareAndSwap(true, false) {
			g.entered <- struct{}{}
			<-g.release
			if g.broken.Load() {
				return errorfs.ErrInjected
			}
		}
		return nil
	}))
}

// While the fsync of an amendment is under way, its target reads as it is durable, as
// an entry, on a page, and among those that are touched; and for ever if it fails.
func TestUnsyncedAmendmentIsInvisible(t *testing.T) {
	const before = "1:one, changed:4:false 2:message 2:0:false 3:message 3:0:false "
	for _, broken := range []bool{false, true} {
		t.Run(fmt.Sprint("broken=", broken), func(t *testing.T) {
			var g gate
			mem := vfs.NewMem()
			j := open(t, g.around(mem), func(o *Options) { o.OnFatal = func(error) {} })
			mustAppend(t, j, "grp:g", 1, 3)
			mustStore(t, j, changeOf("grp:g", 4, 1, 0, "one, changed"), im.Stored)
			g.hold.Store(true)
			g.broken.Store(broken)
			stored := make(chan error)
			go func() {
				items := []im.Append{changeOf("grp:g", 5, 1, 4, "one, again"), changeOf("grp:g", 6, 2, 0, "two, changed"), recallOf("grp:g", 7, 3)}
				stored <- j.Append(context.Background(), items, make([]im.Appended, len(items)))
			}()
			<-g.entered
			if got := states(t, j, "grp:g", 3); got != before {
				t.Errorf("while the amendments are not durable: %s", got)
			}
			p, err := j.Page(t.Context(), im.PageQuery{Conversation: "grp:g", From: 4, Until: 99, Limit: 9})
			if err != nil || p.Last != 4 || len(p.Touched) != 1 || string(p.Touched[0].Body) != "one, changed" {
				t.Errorf("touched: %+v, %v", p, err)
			}
			close(g.release)
			if err := <-stored; (err != nil) != broken {
				t.Fatal(err)
			}
			if broken {
				if got := states(t, j, "grp:g", 3); got != before {
					t.Errorf("after the fsync failed: %s", got)
				}
				return
			}
			want := "1:one, again:5:false 2:two, changed:6:false 3::7:true "
			for range 2 {
				if got := states(t, j, "grp:g", 3); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				closeJournal(t, j)
				j = open(t, mem)
			}
			closeJournal(t, j)
		})
	}
}

// A batch whose last item is invalid amends nothing, also in memory.
func TestInvalidBatchAmendsNothing(t *testing.T) {
	j := open(t, vfs.NewMem())
	defer closeJournal(t, j)
	mustAppend(t, j, "grp:g", 1, 2)
	batch := []im.Append{changeOf("grp:g", 3, 1, 0, "changed"), changeOf("grp:g", 4, 9, 0, "of none")}
	if err := j.Append(t.Context(), batch, make([]im.Appended, 2)); err == nil {
		t.Fatal("entry 9 is not there")
	}
	if got := states(t, j, "grp:g", 2); got != "1:message 1:0:false 2:message 2:0:false " {
		t.Error(got)
	}
	mustStore(t, j, changeOf("grp:g", 3, 1, 0, "changed"), im.Stored)
	if got := states(t, j, "grp:g", 2); got != "1:changed:3:false 2:message 2:0:false " {
		t.Error(got)
	}
}

// A page is bounded in bytes in both directions, whether what is large lies in it or
// is touched by it, and pages that follow each other tell everything.
func TestPageBytes(t *testing.T) {
	j := open(t, vfs.NewMem(), func(o *Options) { o.epochBytes = 300 << 10 })
	defer closeJournal(t, j)
	const n, size = 40, 90 << 10
	large := strings.Repeat("x", size)
	for i := 1; i <= n; i++ {
		m := message("grp:g", i)
		m.Entry.Body = []byte(large)
		mustStore(t, j, m, im.Stored)
	}
	for i := 1; i <= n; i++ {
		mustStore(t, j, changeOf("grp:g", n+i, uint64(n+1-i), 0, fmt.Sprint(large, i)), im.Stored)
	}
	for _, backward := range []bool{false, true} {
		for _, from := range []uint64{1, 30, n + 1} {
			q := im.PageQuery{Conversation: "grp:g", From: from, Until: 2 * n, Backward: backward, Limit: 1000}
			told := map[uint64]string{}
			pages := 0
			for ; q.From <= q.Until; pages++ {
				p, err := j.Page(t.Context(), q)
				if err != nil || p.First == 0 {
					t.Fatal(p.First, err)
				}
				bytes := 0
				for _, e := range append(p.Touched, p.Entries...) {
					bytes += len(e.Body)
					told[e.Seq] = string(e.Body)
				}
				if bytes > readBytes {
					t.Errorf("backward %v from %d: a page of %d bytes", backward, from, bytes)
				}
				if backward {
					q.Until = p.First - 1
				} else {
					q.From = p.Last + 1
				}
			}
			if len(told) != n || pages > 12 {
				t.Errorf("backward %v from %d: %d entries in %d pages", backward, from, len(told), pages)
			}
			for seq, body := range told {
				if body != fmt.Sprint(large, n+1-seq) {
					t.Errorf("backward %v from %d: entry %d is as it was", backward, from, seq)
				}
			}
		}
	}
	for _, q := range []im.PageQuery{{From: 0, Until: 9, Limit: 1}, {From: 3, Until: 2, Limit: 1}, {From: 1, Until: 9}} {
		q.Conversation = "grp:g"
		if _, err := j.Page(t.Context(), q); err == nil {
			t.Errorf("%+v was answered", q)
		}
	}
}
