package directory_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

func openShared(t *testing.T) *directory.DB {
	t.Helper()
	d, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{})
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

// Two that lock the same rows the other way round both succeed: one is run
// again, from the beginning.
func TestDeadlockIsRepeated(t *testing.T) {
	d := openShared(t)
	for _, name := range []string{"a", "b"} {
		if err := d.Tx(t.Context(), inserts(name)); err != nil {
			t.Fatal(err)
		}
	}
	var held, all sync.WaitGroup
	held.Add(2)
	var calls atomic.Int32
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		all.Go(func() {
			first := true
			err := d.Tx(context.Background(), func(tx *directory.WriteTx) error {
				calls.Add(1)
				if _, err := tx.Exec("UPDATE claims SET created_at = created_at + 1 WHERE name = $1", order[0]); err != nil {
					return err
				}
				if first {
					first = false
					held.Done()
					held.Wait()
				}
				_, err := tx.Exec("UPDATE claims SET created_at = created_at + 1 WHERE name = $1", order[1])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if calls.Load() < 3 {
		t.Errorf("%d calls: they did not meet", calls.Load())
	}
	if err := d.Tx(t.Context(), func(tx *directory.WriteTx) error {
		var sum int
		if err := tx.QueryRow("SELECT CAST(SUM(created_at) AS BIGINT) FROM claims WHERE name IN ('a', 'b')").Scan(&sum); err != nil {
			return err
		}
		if sum != 7+2+7+2 {
			t.Errorf("the sum is %d: a change was lost or made twice", sum)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// A transaction that loses its connection before the commit is run again on
// another one; a name that is taken is tried a few times and told as it is.
func TestWhatIsRepeated(t *testing.T) {
	d := openShared(t)
	calls := 0
	err := d.Tx(t.Context(), func(tx *directory.WriteTx) error {
		calls++
		if err := insert(tx, "good"); err != nil {
			return err
		}
		if calls == 1 {
			_, err := tx.Exec("SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		}
		return nil
	})
	if err != nil || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
	calls = 0
	err = d.Tx(t.Context(), func(tx *directory.WriteTx) error {
		calls++
		return insert(tx, "good")
	})
	if im.CodeOf(err) != im.CodeUnavailable || calls != 5 {
		t.Errorf("%v after %d calls", err, calls)
	}
	// Nobody waits any more: it is not tried again.
	calls = 0
	ctx, cancel := context.WithCancel(t.Context())
	err = d.Tx(ctx, func(tx *directory.WriteTx) error {
		calls++
		cancel()
		return insert(tx, "good")
	})
	if err == nil || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if got := names(t, d); got != "good good2" {
		t.Errorf("there is %q", got)
	}
}

// The rules of transactions hold with a server as they do embedded: all or
// nothing, and one who gives up after the last statement does not stop the commit.
func TestTxOfServer(t *testing.T) {
	d := openShared(t)
	failed := im.Errorf(im.CodeConflict, "no")
	err := d.Tx(t.Context(), func(tx *directory.WriteTx) error {
		if err := insert(tx, "error"); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) {
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
	ctx, cancel := context.WithCancel(t.Context())
	if err := d.Tx(ctx, func(tx *directory.WriteTx) error {
		cancel()
		return insert(tx, "late")
	}); err != nil {
		t.Error(err)
	}
	if err := d.Tx(ctx, inserts("never")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := names(t, d); got != "late late2" {
		t.Errorf("there is %q", got)
	}
}
