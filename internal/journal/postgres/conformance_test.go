package postgres

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/journaltest"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// quiet is a logger for tests that provoke complaints.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func open(t testing.TB, url string) *Journal {
	t.Helper()
	j, err := Open(context.Background(), url, Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestConformance(t *testing.T) {
	journaltest.Run(t, journaltest.Harness{New: func(t testing.TB) journaltest.Store {
		url := pgtest.Database(t)
		return journaltest.Store{Open: func(t testing.TB) im.Journal { return open(t, url) }}
	}})
}
