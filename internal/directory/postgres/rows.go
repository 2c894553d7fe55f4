package postgres

import (
	"errors"
	"iter"
)

// pulledRows are rows that somebody else goes through, asked for one by one as
// the driver wants them.
type pulledRows struct {
	next func() ([]any, bool)
	stop func()
	row  []any
	err  error
}

var errStopped = errors.New("no more rows are wanted")

func pulled(from func(func([]any) error) error) *pulledRows {
	p := &pulledRows{}
	p.next, p.stop = iter.Pull(func(yield func([]any) bool) {
		p.err = from(func(row []any) error {
			if !yield(row) {
				return errStopped
			}
			return nil
		})
	})
	return p
}

func (p *pulledRows) Next() (ok bool) {
	p.row, ok = p.next()
	return ok
}

func (p *pulledRows) Values() ([]any, error) { return p.row, nil }

func (p *pulledRows) Err() error { return p.err }
