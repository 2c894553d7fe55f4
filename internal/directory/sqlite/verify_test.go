package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"
)

// A connection whose settings did not take is refused, by the setting's name.
func TestVerifyRefuses(t *testing.T) {
	for _, c := range []struct{ query, refused string }{
		{"_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)", ""},
		{"_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)", "synchronous"},
		{"_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=foreign_keys(1)", "synchronous"},
		{"_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)", "journal_mode"},
		{"_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)", "foreign_keys"},
	} {
		base, err := sqlite.NewConnector("file:" + filepath.Join(t.TempDir(), "d.db") + "?" + c.query)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := verified{base}.Connect(t.Context())
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), "PRAGMA "+c.refused) {
			t.Errorf("%s: %v", c.query, err)
		}
		if err == nil {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
