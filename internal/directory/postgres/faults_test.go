package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

func someone(id string) im.Credentials {
	return im.Credentials{User: im.User{ID: im.UserID(id), Username: "name_" + id, DisplayName: id, DMPolicy: im.DMContacts, Created: time.UnixMilli(1)}}
}

func exists(t *testing.T, d *directory.DB, id string) bool {
	t.Helper()
	users, err := d.Users(t.Context(), []im.UserID{im.UserID(id)})
	if err != nil {
		t.Fatal(err)
	}
	return len(users) == 1
}

// A commit whose answer is lost may have happened: that is what is told, and it
// is not tried again.
func TestCommitWithoutAnswer(t *testing.T) {
	u := pgtest.Database(t)
	p := newProxy(t, u)
	d, direct := open(t, p.url), open(t, u)
	for _, happens := range []bool{true, false} {
		p.breakCommits(func() bool { return happens })
		id := fmt.Sprint("u", happens)
		err := d.CreateUser(t.Context(), someone(id))
		if im.CodeOf(err) != im.CodeUnknown || im.CodeUnknown.Info().Action != im.ActionRetry {
			t.Errorf("%v: got %v", happens, err)
		}
		if n := p.seen(); n != 1 {
			t.Errorf("%v: committed %d times", happens, n)
		}
		p.breakCommits(nil)
		// The server may be at it still: taking the name waits for that.
		again := direct.CreateUser(t.Context(), someone(id))
		if (im.CodeOf(again) == im.CodeConflict) != happens || exists(t, direct, id) != true {
			t.Errorf("%v: %v", happens, again)
		}
		if err := d.CreateUser(t.Context(), someone(id+"next")); err != nil {
			t.Errorf("the pool did not recover: %v", err)
		}
	}
}

// A server that is frozen fails a read and a write of a caller who would wait
// for ever, and is used again when it goes on.
func TestServerFrozen(t *testing.T) {
	p := newProxy(t, pgtest.Database(t))
	d, err := postgres.Open(t.Context(), p.url, postgres.Options{MaxConns: 2, StatementTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.CreateUser(t.Context(), someone("before")); err != nil {
		t.Fatal(err)
	}
	p.setSilent(true)
	if _, err := d.UserCredentials(context.Background(), "before"); im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("a read: %v", err)
	}
	if err := d.CreateUser(context.Background(), someone("during")); im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("a write: %v", err)
	}
	p.setSilent(false)
	if err := d.CreateUser(t.Context(), someone("after")); err != nil {
		t.Errorf("the pool did not recover: %v", err)
	}
}

// A server that takes no writes, as a standby, is as good as none.
func TestReadOnlyServer(t *testing.T) {
	u := pgtest.Database(t)
	open(t, u)
	parsed, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, u, "ALTER DATABASE "+strings.TrimPrefix(parsed.Path, "/")+" SET default_transaction_read_only = on")
	if _, err := postgres.Open(t.Context(), u, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "read only") {
		t.Errorf("it was opened: %v", err)
	}
}

// Kill -9 of the server under load: what was answered is there after the
// restart, the errors tell what they mean, and the pool recovers by itself.
func TestServerKilled(t *testing.T) {
	s, err := pgtest.Start(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	u := pgtest.On(t, s.URL())
	d := open(t, u)
	for round := range 2 {
		l := &load{T: t, d: d, prefix: fmt.Sprintf("u%d-", round)}
		l.start()
		until(t, func() bool { return l.n.Load() > 100 })
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		if _, err := d.UserCredentials(t.Context(), "nobody"); im.CodeOf(err) != im.CodeUnavailable {
			t.Errorf("without a server: %v", err)
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		before := l.n.Load()
		until(t, func() bool { return l.n.Load() > before+100 })
		l.stop()
		l.check()
	}
}

// The old primary is back, stands first in the URL and takes writes, as nobody
// fenced it. Connections that were made since lead to the one that was promoted,
// and those that led to the old one are not used.
func TestOldPrimaryIsBack(t *testing.T) {
	old, next, both := pgtest.Forked(t)
	d := open(t, both)
	pgtest.Succeed(t, old, next)
	made := func(id string) bool {
		t.Helper()
		until(t, func() bool { return d.CreateUser(t.Context(), someone(id)) == nil })
		got, err := pgtest.Collect[struct{ N int }](t.Context(), next.URL(), "SELECT count(*)::int AS n FROM users WHERE id = $1", id)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].N == 1
	}
	if !made("ann") {
		t.Error("after the failover it was stored somewhere else")
	}
	if err := old.Restart(); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, next.URL(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'skein directory'")
	if !made("bob") {
		t.Error("it was stored on the old primary")
	}
}

// load are users being made, and what was answered.
type load struct {
	*testing.T
	d              *directory.DB
	prefix         string
	stored, unsure sync.Map
	n              atomic.Int64
	end            chan struct{}
	all            sync.WaitGroup
}

func (l *load) start() {
	l.end = make(chan struct{})
	for w := range 8 {
		l.all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-l.end:
					return
				default:
					l.one(fmt.Sprintf("%s%d-%d", l.prefix, w, i))
				}
			}
		})
	}
}

func (l *load) one(id string) {
	switch err := l.d.CreateUser(context.Background(), someone(id)); im.CodeOf(err) {
	case "":
		l.stored.Store(id, true)
		l.n.Add(1)
	case im.CodeUnknown:
		l.unsure.Store(id, true)
	case im.CodeUnavailable:
		if _, err := l.d.UserCredentials(context.Background(), "nobody"); im.CodeOf(err) != im.CodeUnavailable && im.CodeOf(err) != im.CodeNotFound {
			l.Errorf("a read: %v", err)
		}
	default:
		l.Errorf("a write: %v", err)
	}
}

func (l *load) stop() {
	close(l.end)
	l.all.Wait()
}

func (l *load) check() {
	there := map[string]bool{}
	for after := im.UserID(""); ; {
		page, err := l.d.ListUsers(l.Context(), im.AccountQuery{After: after, Limit: 1000})
		if err != nil {
			l.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, x := range page {
			there[string(x.ID)] = true
		}
		after = page[len(page)-1].ID
	}
	l.stored.Range(func(id, _ any) bool {
		if !there[id.(string)] {
			l.Errorf("%s was acknowledged and is lost", id)
		}
		return true
	})
	for id := range there {
		_, ok := l.stored.Load(id)
		_, maybe := l.unsure.Load(id)
		if !ok && !maybe && strings.HasPrefix(id, l.prefix) {
			l.Errorf("%s failed and is there", id)
		}
	}
}

// until waits for what other goroutines make true.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	end := time.After(time.Minute)
	for !ok() {
		select {
		case <-end:
			t.Fatal("it does not happen")
		case <-time.After(time.Millisecond):
		}
	}
}

// Connections that were ended behind the pool's back are replaced: the calls
// after it succeed, reads and writes.
func TestConnectionsEnded(t *testing.T) {
	u := pgtest.Database(t)
	d := open(t, u)
	for i := range 3 {
		var all sync.WaitGroup
		for j := range 16 { // fills the pool
			all.Go(func() {
				for k := range 5 {
					if err := d.CreateUser(t.Context(), someone(fmt.Sprintf("u%d-%d-%d", i, j, k))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		pgtest.Exec(t, u, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'skein directory' AND datname = current_database()")
		if i == 1 {
			if !exists(t, d, "u1-0-0") {
				t.Error("it is not there")
			}
			continue
		}
		if err := d.CreateUser(t.Context(), someone(fmt.Sprint("after", i))); err != nil {
			t.Error(err)
		}
	}
}

// A full set of connections and a server that is away are told as such.
func TestOpenFails(t *testing.T) {
	p := newProxy(t, pgtest.Database(t))
	p.l.Close()
	_, err := postgres.Open(t.Context(), p.url+"?password=secret", postgres.Options{})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	if _, err := postgres.Open(t.Context(), "postgres://u:secret@[::1/x", postgres.Options{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
