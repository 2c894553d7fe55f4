package split

import (
	"context"
	"errors"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// Append is one append of each shard that the batch concerns, all at the same time.
func (j *Journal) Append(ctx context.Context, batch []im.Append, out []im.Appended) error {
	if len(out) != len(batch) {
		return fmt.Errorf("%w: %d outcomes for %d items", im.ErrAppendInvalid, len(out), len(batch))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	parts := cut(batch, out, j.placeOf)
	if len(parts) == 1 {
		return j.shards[parts[0].shard].Engine.Append(ctx, batch, out)
	}
	// From here on it is begun: no part is cancelled, or the others would be stored alone.
	ctx = context.WithoutCancel(ctx)
	together(len(parts), func(k int) {
		p := &parts[k]
		p.err = j.shards[p.shard].Engine.Append(ctx, p.in, p.out)
	})
	var refused []error
	for k := range parts {
		p := &parts[k]
		switch {
		case p.err == nil:
			p.put(out)
		case errors.Is(p.err, im.ErrJournalFailed):
			return p.err
		default:
			if refused == nil {
				refused = make([]error, len(batch))
			}
			for _, i := range p.at {
				refused[i] = p.err
			}
		}
	}
	// What one shard may or may not have stored is asked of all again: the others find
	// theirs.
	for k := range parts {
		if errors.Is(parts[k].err, im.ErrOutcomeUnknown) {
			return parts[k].err
		}
	}
	if refused != nil {
		return &im.PartlyError{Errs: refused}
	}
	return nil
}
