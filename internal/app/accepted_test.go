package app

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	dirpostgres "github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// Nodes that are started at once with --accept-loss, over a journal whose directory is
// lost: one begins a timeline, and the others say that they go on with it. Each of two
// once began its own, and served under the one it had begun.
func TestNodesAcceptALossAtOnce(t *testing.T) {
	ctx, url := t.Context(), pgtest.Database(t)
	quiet := slog.New(slog.DiscardHandler)
	directory, err := dirpostgres.Open(ctx, url, dirpostgres.Options{MaxConns: 4, Logger: quiet})
	ok(t, err)
	defer directory.Close()
	open := func() *postgres.Journal {
		j, err := postgres.Open(ctx, url, postgres.Options{MaxConns: 2, Logger: quiet})
		if err != nil {
			t.Error(err)
			return nil
		}
		t.Cleanup(func() { _ = j.Close() })
		return j
	}
	first := open()
	out := make([]im.Appended, 1)
	ok(t, first.Append(ctx, []im.Append{{Entry: im.Entry{Conversation: im.Group("g"), ID: im.MessageID{1}, Kind: im.EntryMessage, Sender: "ann", Body: []byte("kept")}}}, out))
	before := first.Timeline()
	const nodes, rounds = 2, 25
	for round := range rounds {
		ok(t, directory.SetPair(ctx, im.Pair{})) // lost again
		var logs [nodes]bytes.Buffer
		var apps [nodes]App
		for n := range apps {
			apps[n] = App{directory: directory, log: slog.New(slog.NewTextHandler(&logs[n], nil))}
			if round%2 == 0 { // all were connected before anything was begun
				apps[n].shared = open()
			}
		}
		var wg sync.WaitGroup
		for n := range apps {
			wg.Go(func() {
				if apps[n].shared == nil {
					apps[n].shared = open()
				}
				if err := apps[n].compareShared(ctx, true); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		began, went := 0, 0
		for n := range apps {
			switch said := logs[n].String(); {
			case strings.Contains(said, "served under a new timeline"):
				began++
			case strings.Contains(said, "goes on with the timeline"):
				went++
			default:
				t.Errorf("round %d: node %d says %q", round, n, said)
			}
		}
		now, other := apps[0].shared.Timeline(), apps[1].shared.Timeline()
		if began != 1 || went != nodes-1 || now != other || now == before {
			t.Fatalf("round %d: %d began a timeline, %d went on with it, and the nodes are under %s and %s after %s", round, began, went, now, other, before)
		}
		if pair, err := directory.Pair(ctx); err != nil || !strings.HasSuffix(pair.Identity, " "+now) {
			t.Errorf("round %d: %q is noted of %s, %v", round, pair.Identity, now, err)
		}
		before = now
		for n := range apps {
			ok(t, apps[n].shared.(*postgres.Journal).Close())
		}
	}
}
