package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/journal/pebble"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// process is a server of a test, with everything on.
type process struct {
	t     *testing.T
	url   string
	token map[string]string
	stop  func()
}

func settings(dir string) config.Config {
	cfg := config.Default()
	cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = dir, "127.0.0.1:0", ""
	cfg.Gateway.DrainTime = 0
	return cfg
}

func run(t *testing.T, dir string, o Options, token map[string]string) *process {
	t.Helper()
	return runWith(t, settings(dir), o, token)
}

func runWith(t *testing.T, cfg config.Config, o Options, token map[string]string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := Open(ctx, cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx) }()
	return &process{t: t, url: a.URL(), token: token, stop: func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mint makes the users and their tokens.
func (p *process) mint(dir string, users ...string) {
	p.t.Helper()
	key, err := os.ReadFile(filepath.Join(dir, AdminKeyFile))
	ok(p.t, err)
	for _, u := range users {
		var resp wire.MintTokenResponse
		ok(p.t, skein.Post(p.t.Context(), p.url, "skein.v1.AdminService/MintToken", strings.TrimSpace(string(key)), &wire.MintTokenRequest{User: u}, &resp))
		p.token[u] = resp.Tokens.AccessToken
	}
}

// as connects a user for the time of f.
func (p *process) as(user string, store skein.Store, f func(*skein.Client)) {
	p.t.Helper()
	c, err := skein.Dial(p.t.Context(), "ws"+strings.TrimPrefix(p.url, "http")+"/ws",
		skein.WithToken(p.token[user]), skein.WithStore(store), skein.WithDevice("d-"+user, wire.DeviceClass_DEVICE_CLASS_DESKTOP, ""))
	ok(p.t, err)
	defer c.Close()
	ok(p.t, c.WaitConnected(p.t.Context()))
	f(c)
}

func (p *process) say(user string, store skein.Store, group, text string) {
	p.t.Helper()
	p.as(user, store, func(c *skein.Client) {
		// A send that the server answers with `unavailable` is repeated for ever.
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
		defer cancel()
		_, err := c.Conversation(group).Send(ctx, text)
		ok(p.t, err)
	})
}

// reads is what the server shows a user of a conversation: texts, and the
// names of events.
func (p *process) reads(user, group string) []string {
	p.t.Helper()
	var resp wire.ListEntriesResponse
	ok(p.t, skein.Post(p.t.Context(), p.url, "skein.v1.MessageService/ListEntries", p.token[user], &wire.ListEntriesRequest{Conversation: group, Limit: 100}, &resp))
	var all []string
	for _, e := range resp.Entries {
		if e.Event != nil {
			all = append(all, strings.TrimPrefix(e.Event.Type.String(), "EVENT_TYPE_"))
		} else {
			all = append(all, e.Content.GetText())
		}
	}
	return all
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The story: an operator accepts the loss of the journal's end. The directory
// kept the roster changes that were lost, so no group that had any took a
// message again, and who had been removed would have read what came later.
func TestGroupsAfterALoss(t *testing.T) {
	for _, tc := range []struct {
		name string
		// accept makes a start possible again and returns its options.
		accept func(t *testing.T, dir string) Options
	}{
		{"accepted at the start", func(t *testing.T, dir string) Options {
			var short *pebble.ShortenedError
			if _, err := Open(t.Context(), settings(dir), Options{}); !errors.As(err, &short) {
				t.Fatalf("started with a shortened journal: %v", err)
			}
			return Options{AcceptLoss: true}
		}},
		{"accepted before, and crashed", func(t *testing.T, dir string) Options {
			j, err := pebble.Open(filepath.Join(dir, "journal"), pebble.Options{AcceptLoss: true})
			ok(t, err)
			ok(t, j.Close())
			return Options{}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, stores, tokens := t.TempDir(), map[string]skein.Store{}, map[string]string{}
			group := loseRosterChanges(t, dir, stores, tokens)
			p := run(t, dir, tc.accept(t, dir), tokens)
			afterALoss(t, p, stores, group)
			p.stop()
			p = run(t, dir, Options{}, tokens) // and nothing is restored twice
			defer p.stop()
			same(t, "owner, later", p.reads("owner", group), "GROUP_CREATED", "MEMBER_REMOVED", "kept", "GROUP_RESTORED", "again", "and again", "GROUP_RENAMED")
		})
	}
}

// loseRosterChanges leaves a data directory whose journal lost that gone was
// removed from the group and late was added to it.
func loseRosterChanges(t *testing.T, dir string, stores map[string]skein.Store, tokens map[string]string) (group string) {
	t.Helper()
	users := []string{"owner", "member", "early", "gone", "late"}
	for _, u := range users {
		stores[u] = skein.NewMemoryStore()
	}
	ctx := t.Context()
	p := run(t, dir, Options{}, tokens)
	p.mint(dir, users...)
	p.as("owner", stores["owner"], func(c *skein.Client) {
		g, err := c.Groups().Create(ctx, "friends", "member", "early", "gone")
		ok(t, err)
		group = g.Conversation
		_, err = c.Groups().Remove(ctx, group, "early")
		ok(t, err)
	})
	p.say("member", stores["member"], group, "kept")
	p.stop()

	db := filepath.Join(dir, "journal", "db")
	older := filepath.Join(t.TempDir(), "db")
	ok(t, os.CopyFS(older, os.DirFS(db)))
	p = run(t, dir, Options{}, tokens)
	p.as("owner", stores["owner"], func(c *skein.Client) {
		_, err := c.Groups().Remove(ctx, group, "gone")
		ok(t, err)
		_, err = c.Groups().Add(ctx, group, "late")
		ok(t, err)
	})
	p.say("member", stores["member"], group, "lost")
	same(t, "late, before", p.reads("late", group), "MEMBER_ADDED", "lost")
	p.stop()
	ok(t, os.RemoveAll(db))
	ok(t, os.CopyFS(db, os.DirFS(older)))
	return group
}

func afterALoss(t *testing.T, p *process, stores map[string]skein.Store, group string) {
	t.Helper()
	p.say("member", stores["member"], group, "again") // a client that had seen what is lost
	p.say("late", skein.NewMemoryStore(), group, "and again")
	kept := []string{"GROUP_CREATED", "MEMBER_REMOVED", "kept"}
	all := append(slices.Clone(kept), "GROUP_RESTORED", "again", "and again")
	same(t, "owner", p.reads("owner", group), all...)
	same(t, "member", p.reads("member", group), all...)
	same(t, "late", p.reads("late", group), "GROUP_RESTORED", "again", "and again")
	same(t, "gone", p.reads("gone", group), kept...)
	same(t, "early", p.reads("early", group), kept[:2]...)
	for _, u := range []string{"gone", "early"} {
		p.as(u, stores[u], func(c *skein.Client) {
			if _, err := c.Conversation(group).Send(t.Context(), "let me in"); !errors.Is(err, skein.ErrNotFound) {
				t.Errorf("%s sends: %v", u, err)
			}
		})
	}
	p.as("member", stores["member"], func(c *skein.Client) {
		ms, err := c.Conversation(group).History(t.Context(), 0, 100)
		ok(t, err)
		var texts []string
		for _, m := range ms {
			if m.Event == nil {
				texts = append(texts, m.Text)
			}
		}
		same(t, "the member's device", texts, "kept", "again", "and again")
	})
	p.as("owner", stores["owner"], func(c *skein.Client) { // the roster changes again
		_, err := c.Groups().Rename(t.Context(), group, "friends again")
		ok(t, err)
	})
}
