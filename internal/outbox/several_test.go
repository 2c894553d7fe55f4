package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// node is a process: a directory and a journal that others have as well.
type node struct {
	*outbox.Runner
	db      *directory.DB
	journal *commonJournal
	// killed: it dies when the entry is stored, before the change is applied.
	killed bool
	told   []im.Promise // Applied
}

// commonJournal stores an id once; unlike a single committer, it lets the nodes
// apply at the same time.
type commonJournal struct {
	mu      sync.Mutex
	entries []im.MessageID
	meet    *sync.WaitGroup // those who apply wait for each other here
}

var errKilled = errors.New("killed")

func (n *node) AppendEvent(_ context.Context, p im.Promise, apply func(uint64) error) (uint64, error) {
	j := n.journal
	j.mu.Lock()
	seq := uint64(0)
	for i, id := range j.entries {
		if id == p.ID {
			seq = uint64(i + 1)
		}
	}
	if seq == 0 {
		j.entries = append(j.entries, p.ID)
		seq = uint64(len(j.entries))
	}
	meet := j.meet
	j.mu.Unlock()
	if n.killed {
		return 0, errKilled
	}
	if meet != nil {
		meet.Done()
		meet.Wait()
	}
	return seq, apply(seq)
}

func nodes(t *testing.T, j *commonJournal, open func() (*directory.DB, error)) []*node {
	var all []*node
	for range 2 {
		db, err := open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		n := &node{db: db, journal: j}
		n.Runner = outbox.New(db, n, outbox.Options{Shared: true, Applied: func(p im.Promise, _ uint64) { n.told = append(n.told, p) }})
		all = append(all, n)
	}
	return all
}

// The same promise driven by two processes at the same time, and by one after
// the other was killed between the journal and the directory, is one entry and
// one change.
func TestTwoDriveOnePromise(t *testing.T) {
	u := pgtest.Database(t)
	file := filepath.Join(t.TempDir(), "d.db")
	for name, open := range map[string]func() (*directory.DB, error){
		"postgres": func() (*directory.DB, error) { return postgres.Open(t.Context(), u, postgres.Options{}) },
		"sqlite":   func() (*directory.DB, error) { return sqlite.Open(file, sqlite.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			j := &commonJournal{}
			ns := nodes(t, j, open)
			c := im.Group("g")
			rev := uint64(0)
			promise := func(e im.Event) im.Promise {
				t.Helper()
				p := im.Promise{ID: im.NewMessageID(time.Now(), [10]byte{9: byte(rev)}), Conversation: c, Sender: "o", Event: e, IfRoster: rev, SetRoster: rev + 1}
				rev++
				ok := true
				var err error
				if rev == 1 {
					_, err = ns[0].db.CreateGroup(t.Context(), im.GroupInfo{Conversation: c, Name: "g", Owner: "o"}, "", p)
				} else {
					ok, err = ns[rev%2].db.PromiseRoster(t.Context(), p)
				}
				if err != nil || !ok {
					t.Fatal(ok, err)
				}
				return p
			}
			for i := range 12 {
				e := im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"o"}, Text: "g"}
				if i > 0 {
					e = im.Event{Type: im.EventMemberAdded, Users: []im.UserID{im.UserID(fmt.Sprint("m", i))}}
				}
				p := promise(e)
				switch {
				case i%3 == 2: // one dies, the other needs the change and helps
					ns[0].killed = true
					if err := ns[0].Drive(t.Context(), p); !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					ns[0].killed = false
					if err := ns[1].Help(t.Context(), c); err != nil {
						t.Fatal(err)
					}
					if err := ns[0].Drive(t.Context(), p); err != nil { // it was not dead after all
						t.Fatal(err)
					}
				default:
					j.meet = &sync.WaitGroup{}
					j.meet.Add(2)
					var both sync.WaitGroup
					both.Go(func() {
						if err := ns[0].Drive(t.Context(), p); err != nil {
							t.Error(err)
						}
					})
					both.Go(func() {
						if err := ns[1].Help(t.Context(), c); err != nil {
							t.Error(err)
						}
					})
					both.Wait()
					j.meet = nil
				}
				for _, n := range ns {
					g, _, err := n.db.Group(t.Context(), c, nil)
					if err != nil || g.Rev != rev || g.Members != i+1 {
						t.Fatalf("after %d: revision %d, %d members, %v", i, g.Rev, g.Members, err)
					}
					if left, err := n.db.PendingOf(t.Context(), c); err != nil || len(left) != 0 {
						t.Fatal(left, err)
					}
				}
			}
			if len(j.entries) != 12 {
				t.Errorf("%d entries", len(j.entries))
			}
		})
	}
}
