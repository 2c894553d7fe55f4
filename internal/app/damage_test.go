package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
)

// The table of what may happen to a data directory: every file of it × (gone, one
// byte short, half, flipped bits, a zeroed page), as it is left by a server that
// was killed and by one that was stopped. A start serves everything, or all but
// what a damaged block of the journal held, or it is refused with every file left
// as it was. Never does it serve less and say nothing.

// lived is a data directory of a server that was used, killed and stopped.
type lived struct {
	killed, stopped string
	groups          []im.ConversationID
	users           []im.UserID
	truth           string
}

func live(t *testing.T) lived {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	l := lived{killed: filepath.Join(t.TempDir(), "killed"), stopped: filepath.Join(t.TempDir(), "stopped")}
	token := map[string]string{}
	for round, users := range [][]string{{"ann", "ben", "cleo"}, {"dan", "eve"}} {
		p := run(t, dir, Options{}, token)
		p.mint(dir, users...)
		p.as(users[0], skein.NewMemoryStore(), func(c *skein.Client) {
			g, err := c.Groups().Create(t.Context(), fmt.Sprint("group ", round), users[1:]...)
			ok(t, err)
			l.groups = append(l.groups, im.ConversationID(g.Conversation))
			for n := range 10 {
				_, err := c.Conversation(g.Conversation).Send(t.Context(), fmt.Sprint("message ", n))
				ok(t, err)
			}
		})
		for _, u := range users {
			l.users = append(l.users, im.UserID(u))
		}
		if round == 1 {
			settled(t, dir)
			ok(t, os.CopyFS(l.killed, os.DirFS(dir)))
		}
		p.stop()
	}
	ok(t, os.CopyFS(l.stopped, os.DirFS(dir)))
	for _, d := range []string{l.killed, l.stopped} {
		ok(t, os.Remove(filepath.Join(d, "journal", "reserve"))) // room for a full disk; nothing is in it
	}
	a, err := Open(t.Context(), settings(copied(t, l.stopped)), Options{})
	ok(t, err)
	l.truth, err = l.served(a)
	ok(t, errors.Join(err, a.close()))
	return l
}

// settled waits until the server is quiet: nothing in its directory changes, so a
// copy is what a kill leaves.
func settled(t *testing.T, dir string) {
	t.Helper()
	for end, last := time.Now().Add(20*time.Second), ""; ; time.Sleep(100 * time.Millisecond) {
		now := fmt.Sprint(files(t, dir))
		if now == last {
			return
		}
		if last = now; time.Now().After(end) {
			t.Fatal("the server does not become quiet")
		}
	}
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	ok(t, os.CopyFS(to, os.DirFS(dir)))
	ok(t, os.Chmod(filepath.Join(to, AdminKeyFile), 0o600))
	return to
}

// files is the content of every file.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	ok(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "journal/reserve" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(b)
		return err
	}))
	return all
}

// served is everything that an app has of what was stored.
func (l *lived) served(a *App) (string, error) {
	ctx := context.Background()
	var b strings.Builder
	users, _, err := a.accounts.ListUsers(ctx, im.AccountQuery{})
	errs := []error{err}
	for _, u := range users {
		fmt.Fprintln(&b, "user", u.ID, u.DisplayName)
	}
	for _, u := range l.users {
		sessions, err := a.directory.Sessions(ctx, u, time.Now())
		errs = append(errs, err)
		fmt.Fprintln(&b, u, "has", len(sessions), "sessions")
	}
	for _, g := range l.groups {
		members, err := a.members.groups.Members(ctx, g)
		errs = append(errs, err)
		fmt.Fprintln(&b, g, "has", members)
		entries, err := a.journal.Read(ctx, g, 0, false, 100)
		errs = append(errs, err)
		for _, e := range entries {
			fmt.Fprintln(&b, g, e.Seq, e.Sender, string(e.Body))
		}
	}
	return b.String(), errors.Join(errs...)
}

// harms are what may happen to the content of a file. nil: it is gone.
func harms() map[string]func([]byte) []byte {
	all := map[string]func([]byte) []byte{
		"gone":   nil,
		"short":  func(b []byte) []byte { return b[:len(b)-1] },
		"half":   func(b []byte) []byte { return b[:len(b)/2] },
		"zeroed": func(b []byte) []byte { clear(b[len(b)/2&^4095:][:min(4096, len(b)-len(b)/2&^4095)]); return b },
	}
	for _, at := range []int{10, 50, 90} {
		all[fmt.Sprintf("flipped at %d%%", at)] = func(b []byte) []byte { b[len(b)*at/100] ^= 2; return b }
	}
	return all
}

func TestDamagedDataDirectory(t *testing.T) {
	l := live(t)
	for left, dir := range map[string]string{"killed": l.killed, "stopped": l.stopped} {
		content := files(t, dir)
		for _, name := range slices.Sorted(maps.Keys(content)) {
			for what, harm := range harms() {
				if content[name] == "" && harm != nil {
					continue
				}
				t.Run(left+"/"+strings.ReplaceAll(name, "/", "_")+"/"+what, func(t *testing.T) {
					t.Parallel()
					dir := copied(t, dir)
					path := filepath.Join(dir, name)
					if harm == nil {
						ok(t, os.Remove(path))
					} else {
						ok(t, os.WriteFile(path, harm([]byte(content[name])), 0o600))
					}
					l.requireWholeOrRefused(t, dir, name)
				})
			}
		}
	}
}

func (l *lived) requireWholeOrRefused(t *testing.T, dir, name string) {
	t.Helper()
	before := files(t, dir)
	a, err := Open(t.Context(), settings(dir), Options{})
	if err == nil {
		if a.ClaimURL() != "" {
			t.Error("the next who reads the log may become the administrator of a server with messages")
		}
		served, err := l.served(a)
		if served != l.truth && (err == nil || filepath.Ext(name) != ".sst") {
			t.Errorf("served is\n%s (%v), stored was\n%s", served, err, l.truth)
		}
		ok(t, a.close())
		return
	}
	if !strings.Contains(err.Error(), dir) || !strings.Contains(strings.ToLower(err.Error()), "restore") && !strings.Contains(err.Error(), "--new-keys") {
		t.Errorf("the refusal does not say what to do: %v", err)
	}
	for range 10 {
		if _, again := Open(t.Context(), settings(dir), Options{}); again == nil || again.Error() != err.Error() {
			t.Errorf("refused with %v, then answered with %v", err, again)
		}
	}
	after := files(t, dir)
	for f := range after {
		if _, there := before[f]; !there {
			t.Errorf("a refused start made %s", f)
		}
	}
	for f := range before {
		if before[f] != after[f] {
			t.Errorf("a refused start changed %s", f)
		}
	}
	if strings.Contains(err.Error(), "--accept-loss") {
		l.requireAdviceWorks(t, dir, err)
	}
}

// requireAdviceWorks starts with --accept-loss: users are there, messages as far as the
// refusal said, and what is written in the groups then is stored. Nobody is sent in a circle.
func (l *lived) requireAdviceWorks(t *testing.T, dir string, refusal error) {
	t.Helper()
	emptied := strings.Contains(refusal.Error(), "users, sessions and groups stay")
	for _, accept := range []bool{true, false} {
		a, err := Open(t.Context(), settings(dir), Options{AcceptLoss: accept})
		if err != nil {
			t.Fatalf("refused with %v; the advice was followed, and answered with %v", refusal, err)
		}
		served, err := l.served(a)
		ok(t, errors.Join(err, a.close()))
		if emptied && !strings.Contains(served, "user ann") {
			t.Errorf("said was %v; served is %s", refusal, served)
		}
	}
	if !emptied {
		return
	}
	p := run(t, dir, Options{}, map[string]string{})
	defer p.stop()
	p.mint(dir, "ann")
	p.say("ann", skein.NewMemoryStore(), string(l.groups[0]), "we go on")
}

// Whole stores that are gone, of a former time, or of another server.
func TestStoresOfDifferentTimes(t *testing.T) {
	l, other := live(t), live(t)
	older := func(t *testing.T, dir string, parts ...string) {
		for _, part := range parts {
			ok(t, os.RemoveAll(filepath.Join(dir, part)))
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"no directory": {func(t *testing.T, dir string) { older(t, dir, "directory.db", "directory.db-wal", "directory.db-shm") }, "directory (users, sessions, groups) is missing"},
		"an empty directory": {func(t *testing.T, dir string) {
			older(t, dir, "directory.db-wal", "directory.db-shm")
			ok(t, os.WriteFile(filepath.Join(dir, "directory.db"), nil, 0o600))
		}, "directory (users, sessions, groups) is missing"},
		"no journal": {func(t *testing.T, dir string) { older(t, dir, "journal") }, "journal (messages) is missing"},
		"another server's journal": {func(t *testing.T, dir string) {
			older(t, dir, "journal")
			ok(t, os.CopyFS(filepath.Join(dir, "journal"), os.DirFS(filepath.Join(other.stopped, "journal"))))
		}, "is of another server"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, l.stopped)
			c.change(t, dir)
			before := files(t, dir)
			for range 3 {
				if _, err := Open(t.Context(), settings(dir), Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Restore both") {
					t.Fatalf("answered with %v", err)
				}
			}
			if after := files(t, dir); !maps.Equal(before, after) {
				t.Error("a refused start changed something")
			}
			for range 2 { // the loss is accepted once
				a, err := Open(t.Context(), settings(dir), Options{AcceptLoss: true})
				ok(t, err)
				if name != "no journal" && a.ClaimURL() != "" {
					t.Error("the next who reads the log may become the administrator of a server with messages")
				}
				ok(t, a.close())
			}
			a, err := Open(t.Context(), settings(dir), Options{})
			ok(t, err)
			ok(t, a.close())
		})
	}
}

// In one database the two stores come back together, unless somebody takes a part
// of it for the whole.
func TestHalfADatabase(t *testing.T) {
	const users, messages = "TRUNCATE users, groups CASCADE", "TRUNCATE journal_heads, journal_entries, journal_marks"
	for name, c := range map[string]struct{ empty, want string }{
		"no users":    {users, "directory (users, sessions, groups) is missing"},
		"no messages": {messages, "journal (messages) is missing"},
		"both":        {"SELECT 1", ""},
		"neither":     {messages + "; " + users, ""},
	} {
		t.Run(name, func(t *testing.T) {
			empty, want := c.empty, c.want
			url, dir, token := pgtest.Database(t), t.TempDir(), map[string]string{}
			cfg := settings(dir)
			cfg.Store = url
			p := runWith(t, cfg, Options{}, token)
			p.mint(dir, "ann", "ben")
			p.as("ann", skein.NewMemoryStore(), func(c *skein.Client) {
				_, err := c.Groups().Create(t.Context(), "friends", "ben")
				ok(t, err)
			})
			p.stop()
			before, err := pgtest.Collect[struct{ Timeline string }](t.Context(), url, "SELECT timeline FROM journal_meta")
			ok(t, err)
			pgtest.Exec(t, url, empty)
			a, err := Open(t.Context(), cfg, Options{})
			if err == nil {
				defer a.close()
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("answered with %v", err)
			}
			if want == "" {
				return
			}
			var timelines []string
			for _, accept := range []bool{true, false, true} { // it is accepted once
				a, err := Open(t.Context(), cfg, Options{AcceptLoss: accept})
				ok(t, err)
				if a.ClaimURL() != "" && strings.HasPrefix(want, "directory") {
					t.Error("the next who reads the log may become the administrator of a server with messages")
				}
				timelines = append(timelines, a.journal.Timeline())
				ok(t, a.close())
			}
			if timelines[0] == before[0].Timeline || timelines[1] != timelines[0] || timelines[2] != timelines[0] {
				t.Errorf("the timeline was %s, then %q", before[0].Timeline, timelines)
			}
		})
	}
}
