package messaging

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// startAt is where a pull begins that names a time: at the first entry up to last that is
// the user's and was stored then or later; backward, at the last one of theirs before it.
// 0: there is none. What they may not read decides nothing that they are told.
func (r *reading) startAt(ctx context.Context, at time.Time, last uint64, backward bool) (uint64, error) {
	earlier, err := r.earlier(ctx)
	if err != nil {
		return 0, err
	}
	windows := append(earlier[:len(earlier):len(earlier)], im.Window{First: r.m.First, Until: last})
	start, err := r.seqAt(ctx, at, max(windows[0].First, 1), last)
	if err != nil {
		return 0, err
	}
	before := uint64(0)
	for _, w := range windows {
		if w.Until < max(w.First, 1) {
			continue
		}
		if !backward && start <= w.Until {
			return max(start, w.First), nil
		}
		if w.First < start {
			before = min(w.Until, start-1)
		}
	}
	if backward {
		return before, nil
	}
	return 0, nil
}

// seqAt is the first entry from first up to last that was stored at a time or later,
// last+1 if there is none. It halves what is between, so it costs some 20 reads of one
// entry in a conversation of a million; where the server's clock went back it finds one
// near.
func (r *reading) seqAt(ctx context.Context, at time.Time, first, last uint64) (uint64, error) {
	end := last + 1
	for first < end {
		mid := first + (end-first)/2
		es, err := r.s.journal.Read(ctx, r.m.Conversation, mid, false, 1)
		if err != nil {
			return 0, err
		}
		// What is not there any more was stored before what is.
		if len(es) > 0 && es[0].Seq == mid && !es[0].Stored.Before(at) {
			end = mid
		} else {
			first = mid + 1
		}
	}
	return end, nil
}
