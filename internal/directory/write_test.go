package directory_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
)

// crowd runs writes that all come while another one is being written, so that
// they share the next commit, and returns their errors.
func crowd(t *testing.T, d *directory.DB, writes ...func(tx *directory.WriteTx) error) []error {
	t.Helper()
	errs := make([]error, len(writes))
	var wg sync.WaitGroup
	if err := d.Tx(t.Context(), func(*directory.WriteTx) error {
		for i, w := range writes {
			wg.Go(func() {
				defer func() {
					if r := recover(); r != nil {
						errs[i] = fmt.Errorf("panicked: %v", r)
					}
				}()
				errs[i] = d.Tx(t.Context(), w)
			})
			synctest.Wait() // it waits: they come in this order
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	wg.Wait()
	return errs
}

func inserts(name string) func(*directory.WriteTx) error {
	return func(tx *directory.WriteTx) error { return insert(tx, name) }
}

// Those who wait share a commit: they find what the others wrote while nobody
// else does, and one who fails, or panics, takes nothing from them.
func TestWritersShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		refused := im.Errorf(im.CodeConflict, "no")
		var before, outside bool
		errs := crowd(t, d,
			inserts("a"),
			func(tx *directory.WriteTx) error {
				if err := insert(tx, "refused"); err != nil {
					return err
				}
				return refused
			},
			func(tx *directory.WriteTx) error { // breaks off in the middle of a statement
				_, err := tx.Exec("INSERT INTO claims (created_at, name, hash) VALUES (7, 'half', 'h'), (7, 'a', 'h')")
				return err
			},
			func(tx *directory.WriteTx) error {
				if err := insert(tx, "panicked"); err != nil {
					return err
				}
				panic("fault")
			},
			func(tx *directory.WriteTx) error {
				var err error
				if outside, err = d.HasAdminClaim(t.Context(), []byte("h")); err != nil {
					return err
				}
				if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM claims WHERE name = 'a')").Scan(&before); err != nil {
					return err
				}
				return insert(tx, "e")
			},
		)
		if errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] == nil || errs[3] == nil || errs[4] != nil {
			t.Error(errs)
		}
		if !strings.Contains(errs[3].Error(), "fault") || !strings.Contains(errs[3].Error(), "TestWritersShareACommit") {
			t.Errorf("the panic does not tell where it was: %v", errs[3])
		}
		if !before || outside {
			t.Errorf("found what came before it: %v; committed by then: %v", before, outside)
		}
		if got := names(t, d); got != "a a2 e e2" {
			t.Errorf("there is %q", got)
		}
	})
}

// A function that ends the goroutine it runs on, as a failing test does, takes
// those of its commit with it, and leaves nothing locked.
func TestWriterEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		errs := crowd(t, d,
			func(tx *directory.WriteTx) error { panic("leads") },
			inserts("with it"),
			func(tx *directory.WriteTx) error { runtime.Goexit(); return nil },
			inserts("after it"),
		)
		if errs[1] == nil || errs[2] == nil || errs[3] == nil {
			t.Error(errs)
		}
		if err := d.Tx(t.Context(), inserts("good")); err != nil {
			t.Error(err)
		}
		if got := names(t, d); got != "good good2" {
			t.Errorf("there is %q", got)
		}
	})
}

// One who gives up while it waits has written nothing and holds nobody up; one
// whose turn has come is written.
func TestWriterGivesUpInACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		early, giveUp := context.WithCancel(t.Context())
		late, tooLate := context.WithCancel(t.Context())
		answers := make([]error, 4)
		var wg sync.WaitGroup
		start := func(i int, ctx context.Context, f func(*directory.WriteTx) error) {
			wg.Go(func() { answers[i] = d.Tx(ctx, f) })
			synctest.Wait()
		}
		if err := d.Tx(t.Context(), func(*directory.WriteTx) error {
			start(0, early, inserts("early"))
			start(1, t.Context(), func(tx *directory.WriteTx) error {
				tooLate()
				return insert(tx, "between")
			})
			start(2, late, inserts("late"))
			start(3, t.Context(), inserts("last"))
			giveUp()
			synctest.Wait()
			return nil
		}); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if !errors.Is(answers[0], context.Canceled) || answers[1] != nil || answers[2] != nil || answers[3] != nil {
			t.Error(answers)
		}
		if got := names(t, d); got != "between between2 last last2 late late2" {
			t.Errorf("there is %q", got)
		}
		if err := d.Tx(early, inserts("done")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// A full disk in the middle of a shared commit is told to everybody in it, and
// the next one is as good as before.
func TestStorageFullIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		limit := func(more int) func(tx *directory.WriteTx) error {
			return func(tx *directory.WriteTx) error {
				var pages int
				if err := tx.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
					return err
				}
				return tx.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", pages+more)).Scan(&pages)
			}
		}
		if err := d.Tx(t.Context(), limit(10)); err != nil {
			t.Fatal(err)
		}
		errs := crowd(t, d,
			inserts("before"),
			func(tx *directory.WriteTx) error {
				_, err := tx.Exec("INSERT INTO claims (created_at, name, hash) VALUES (7, 'big', $1)", strings.Repeat("x", 1<<20))
				return err
			},
			inserts("after"),
		)
		for i, err := range errs {
			if im.CodeOf(err) != im.CodeStorageFull {
				t.Errorf("%d: %v", i, err)
			}
		}
		if got := names(t, d); got != "" {
			t.Errorf("there is %q", got)
		}
		if err := d.Tx(t.Context(), limit(1000)); err != nil {
			t.Fatal(err)
		}
		if err := d.Tx(t.Context(), inserts("good")); err != nil {
			t.Error(err)
		}
	})
}

// Many writers, each with a place of its own: nothing is lost or mixed up.
func TestManyWriters(t *testing.T) {
	d := open(t)
	const writers, each = 16, 30
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%d-%d-", w, i)
				err := d.Tx(t.Context(), func(tx *directory.WriteTx) error {
					if err := insert(tx, name); err != nil {
						return err
					}
					if i%3 == 0 {
						return im.Errorf(im.CodeConflict, "no")
					}
					return nil
				})
				if (err == nil) != (i%3 != 0) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	if got, want := len(strings.Fields(names(t, d))), writers*each*2/3*2; got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
}
