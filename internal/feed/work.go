package feed

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// work reads and handles until ctx ends.
func (f *Follower) work(ctx context.Context, k *keeper) {
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		got, err := f.read(ctx, k)
		if err != nil {
			f.failed(ctx, "feed: read", err)
			pause(ctx, backoff(failures))
			failures++
			continue
		}
		failures = 0
		f.metrics.read(&got, k.place())
		if err := f.handle(ctx, got.Entries); err != nil {
			return // ctx ended
		}
		k.done(got.UpTo, len(got.Entries) > 0)
		f.metrics.done(&got, began)
		if got.UpTo == got.Now {
			f.rest(ctx, began)
		}
	}
}

// read returns what comes next. After the history went back it begins where the one
// that is here and the one it was in agree.
func (f *Follower) read(ctx context.Context, k *keeper) (im.Followed, error) {
	at := k.place()
	got, err := f.o.Journal.After(ctx, at, f.o.Page)
	if !errors.Is(err, im.ErrOtherHistory) {
		return got, err
	}
	agreed, err := f.o.Journal.Agree(ctx, at)
	if err != nil {
		return got, err
	}
	f.o.Logger.Warn("feed: the journal's history went back; what follows the place that is known of both is handled again", "was", at.Pos, "from", agreed.Pos)
	k.done(agreed, true)
	return f.o.Journal.After(ctx, agreed, f.o.Page)
}

// rest waits until there may be more.
func (f *Follower) rest(ctx context.Context, began time.Time) {
	if !pause(ctx, f.o.Gather-time.Since(began)) {
		return
	}
	t := time.NewTimer(pollEvery)
	defer t.Stop()
	select {
	case <-f.wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// handle has entries done, in order, or set aside. An error is that ctx has ended.
func (f *Follower) handle(ctx context.Context, entries []im.Entry) error {
	if len(entries) == 0 {
		return ctx.Err()
	}
	for tries, outages := 1, 0; ; {
		err := f.call(ctx, entries)
		if err == nil {
			f.metrics.entries.Add(float64(len(entries)))
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.failed(ctx, "feed: handle", err)
		switch {
		case errors.Is(err, errLater):
			outages++
		case len(entries) > 1: // one of them is to blame
			half := len(entries) / 2
			if err := f.handle(ctx, entries[:half]); err != nil {
				return err
			}
			return f.handle(ctx, entries[half:])
		case errors.Is(err, errPermanent) || tries >= f.o.Tries:
			return f.setAside(ctx, &entries[0], err)
		default:
			tries++
		}
		if !pause(ctx, backoff(tries+outages-2)) {
			return ctx.Err()
		}
	}
}

// call runs the handler; a panic is an error.
func (f *Follower) call(ctx context.Context, entries []im.Entry) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n\n%s", r, debug.Stack())
		}
	}()
	return f.o.Handler(ctx, entries)
}

// setAside notes that the follower goes on without an entry. It must be noted: until
// then nothing goes on.
func (f *Follower) setAside(ctx context.Context, e *im.Entry, why error) error {
	p := im.SetAside{
		Name: f.o.Name, Shard: f.o.Shard, Conversation: e.Conversation, Seq: e.Seq, Pos: e.Pos,
		Reason: textOf(why), At: time.Now(),
	}
	for failures := 0; ; failures++ {
		err := f.o.Store.SetAside(ctx, p)
		if err == nil {
			break
		}
		f.failed(ctx, "feed: note what is set aside", err)
		if !pause(ctx, backoff(failures)) {
			return ctx.Err()
		}
	}
	f.metrics.aside.Inc()
	f.o.Logger.Error("feed: an entry is set aside: it failed alone, and the follower goes on without it", "conversation", e.Conversation, "seq", e.Seq, "err", why)
	return nil
}

// textOf is what an error says, as far as every store takes it: valid UTF-8 without a
// zero byte, and not too long.
func textOf(err error) string {
	s := strings.ReplaceAll(err.Error(), "\x00", "")
	return strings.ToValidUTF8(s[:min(len(s), 1000)], "")
}

// failed counts and logs an error that is tried again.
func (f *Follower) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	f.metrics.errors.Inc()
	f.o.Logger.Warn(what, "err", err)
}
