package directory_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
)

func open(t *testing.T) *directory.DB {
	t.Helper()
	d, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
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

func insert(tx *directory.WriteTx, name string) error {
	// Placeholders count by number, in any order and more than once.
	_, err := tx.Exec("INSERT INTO claims (created_at, name, hash) VALUES ($2, $1, $3), ($2, $1 || '2', $3)", name, 7, []byte("h"))
	return err
}

func names(t *testing.T, d *directory.DB) string {
	t.Helper()
	var all []string
	err := d.Tx(t.Context(), func(tx *directory.WriteTx) error {
		rows, err := tx.Query("SELECT name FROM claims WHERE created_at = 7 ORDER BY name")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			all = append(all, name)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestTxAllOrNothing(t *testing.T) {
	d := open(t)
	failed := im.Errorf(im.CodeConflict, "no")
	err := d.Tx(t.Context(), func(tx *directory.WriteTx) error {
		if err := insert(tx, "error"); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) || im.CodeOf(err) != im.CodeConflict {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		d.Tx(t.Context(), func(tx *directory.WriteTx) error {
			if err := insert(tx, "panic"); err != nil {
				return err
			}
			panic("fault")
		})
	}()
	if err := d.Tx(t.Context(), func(tx *directory.WriteTx) error { return insert(tx, "good") }); err != nil {
		t.Error(err)
	}
	if got := names(t, d); got != "good good2" {
		t.Errorf("there is %q", got)
	}
}

// A caller who gives up after the last statement does not stop the commit; one
// who gives up while waiting for the writer has written nothing.
func TestTxAndGivingUp(t *testing.T) {
	d := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Tx(ctx, func(tx *directory.WriteTx) error {
		if err := insert(tx, "late"); err != nil {
			return err
		}
		waiting, stop := context.WithCancel(ctx)
		answer := make(chan error, 1)
		go func() {
			answer <- d.Tx(waiting, func(tx *directory.WriteTx) error { return insert(tx, "waiting") })
		}()
		stop()
		if err := <-answer; !errors.Is(err, context.Canceled) {
			t.Errorf("who waited got %v", err)
		}
		cancel()
		return nil
	})
	if err != nil {
		t.Errorf("commit: %v", err)
	}
	if got := names(t, d); got != "late late2" {
		t.Errorf("there is %q", got)
	}
}

// A full disk is told as such, stores nothing, and reading goes on.
func TestStorageFull(t *testing.T) {
	d := open(t)
	user := func(i int) im.Credentials {
		id := fmt.Sprint("u", i)
		return im.Credentials{User: im.User{ID: im.UserID(id), Username: id, DisplayName: strings.Repeat("x", 2000), DMPolicy: im.DMContacts, Created: time.UnixMilli(1)}}
	}
	err := d.Tx(t.Context(), func(tx *directory.WriteTx) error { // the write connection's bound from now on
		var pages int
		if err := tx.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
			return err
		}
		return tx.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", pages+10)).Scan(&pages)
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for err == nil {
		if err = d.CreateUser(t.Context(), user(stored)); err == nil {
			stored++
		}
	}
	if im.CodeOf(err) != im.CodeStorageFull || stored == 0 {
		t.Fatalf("after %d users: %v", stored, err)
	}
	users, err := d.ListUsers(t.Context(), im.AccountQuery{Limit: 1000})
	if err != nil || len(users) != stored {
		t.Errorf("%d users, %v; want %d", len(users), err, stored)
	}
}
