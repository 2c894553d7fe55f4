package postgres_test

import (
	"testing"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/directorytest"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

func open(t *testing.T, url string) *directory.DB {
	t.Helper()
	d, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestConformance(t *testing.T) {
	directorytest.Run(t, func(t *testing.T) *directory.DB { return open(t, pgtest.Database(t)) })
}
