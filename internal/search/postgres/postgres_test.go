package postgres_test

import (
	"errors"
	"testing"

	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/indextest"
	"github.com/skein-im/skein/internal/search/postgres"
)

func open(t *testing.T, url string) *postgres.Index {
	x := postgres.New(url, 4)
	t.Cleanup(func() { x.Close() })
	return x
}

func TestIndex(t *testing.T) {
	indextest.Run(t, func(t *testing.T) indextest.Open {
		url := pgtest.Database(t)
		return func(t *testing.T) search.Index { return open(t, url) }
	})
}

// Tables that somebody dropped are told, and made again.
func TestDropped(t *testing.T) {
	url := pgtest.Database(t)
	x := open(t, url)
	if _, err := x.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, "DROP SCHEMA "+postgres.Schema+" CASCADE")
	if err := x.SaveState(t.Context(), search.State{}); !errors.Is(err, search.ErrDamaged) {
		t.Fatalf("SaveState: %v", err)
	}
	if err := x.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.Apply(t.Context(), []search.Doc{{Conversation: "grp:a", Seq: 1, Pos: 1, Terms: []string{"w"}}}); err != nil {
		t.Fatal(err)
	}
	if s, err := x.State(t.Context()); err != nil || s.Docs != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A database that is away is an error, and no damage.
func TestAway(t *testing.T) {
	x := open(t, "postgres://nobody:none@127.0.0.1:1/none")
	if _, err := x.State(t.Context()); err == nil || errors.Is(err, search.ErrDamaged) {
		t.Errorf("%v", err)
	}
}
