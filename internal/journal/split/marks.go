package split

import (
	"context"
	"errors"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// SetMarks sets the marks in the shards of their users. Who waits is called when all
// of these have written them.
func (j *Journal) SetMarks(ctx context.Context, marks []im.Mark, w im.MarkWait) error {
	parts := cut[im.Mark, struct{}](marks, nil, func(m im.Mark) int { return j.userPlace(m.User) })
	if len(parts) == 1 {
		return j.shards[parts[0].shard].Engine.SetMarks(ctx, marks, w)
	}
	var all *waiting
	if w.Stored != nil {
		all = &waiting{left: len(parts) + 1, stored: w.Stored}
		w.Stored = all.done
	}
	together(len(parts), func(k int) {
		p := &parts[k]
		p.err = j.shards[p.shard].Engine.SetMarks(ctx, p.in, w)
	})
	errs := make([]error, len(parts))
	for k := range parts {
		errs[k] = parts[k].err
	}
	err := errors.Join(errs...)
	if all != nil && err == nil {
		all.done(nil) // its own share: nobody is called before it is known that there is no error
	}
	return err
}

// waiting is who waits for several shards.
type waiting struct {
	mu     sync.Mutex
	left   int
	err    error
	stored func(error)
}

// done is called by each shard, and once when no shard has refused.
func (w *waiting) done(err error) {
	w.mu.Lock()
	w.left--
	w.err = errors.Join(w.err, err)
	last, err := w.left == 0, w.err
	w.mu.Unlock()
	if last {
		w.stored(err)
	}
}
