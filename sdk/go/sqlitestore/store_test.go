package sqlitestore

import (
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (skein.Store, func() skein.Store) {
		path := filepath.Join(t.TempDir(), "a b?#%.db") // names that are special in a URL
		var s *Store
		reopen := func() skein.Store {
			if s != nil {
				if err := s.Close(); err != nil {
					t.Fatalf("Close: %v", err)
				}
			}
			var err error
			if s, err = Open(path); err != nil {
				t.Fatalf("Open: %v", err)
			}
			return s
		}
		t.Cleanup(func() { s.Close() })
		return reopen(), reopen
	})
}

func TestSecondOpenIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Open(path); err == nil {
		other.Close()
		t.Fatal("two clients could share one store")
	}
	s.Close()
	s, err = Open(path)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	s.Close()
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err = Open(path); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Fatalf("err = %v, want one that names the newer version", err)
	}
}
