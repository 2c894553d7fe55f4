package feed

import (
	"context"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// contend waits until this process is the one who works, and returns where it begins.
// ok is false if the follower ends.
func (f *Follower) contend() (state im.FollowerState, ok bool) {
	var seen im.FollowerState
	since, failures := time.Now(), 0
	for {
		state, err := f.look()
		if err == nil && (state.Holder != seen.Holder || state.Beat != seen.Beat) {
			seen, since = state, time.Now()
		}
		if err == nil && (state.Holder == "" || f.o.Alone || time.Since(since) >= TakeAfter) {
			var led bool
			if led, err = f.take(state); led {
				state.Holder = f.holder
				return state, true
			}
		}
		if err != nil {
			if failures++; failures == 1 && f.life.Err() == nil {
				f.o.Logger.Warn("feed: look who works", "err", err)
			}
		} else {
			failures = 0
		}
		if !pause(f.life, lookEvery) {
			return state, false
		}
	}
}

func (f *Follower) look() (im.FollowerState, error) {
	ctx, cancel := context.WithTimeout(f.life, storeTime)
	defer cancel()
	return f.o.Store.Follower(ctx, f.o.Name, f.o.Shard)
}

func (f *Follower) take(seen im.FollowerState) (bool, error) {
	ctx, cancel := context.WithTimeout(f.life, storeTime)
	defer cancel()
	return f.o.Store.LeadFollower(ctx, seen, f.holder)
}

// lead works until the follower ends or another one has taken over.
func (f *Follower) lead(state im.FollowerState) {
	f.metrics.leads(state)
	defer f.metrics.left()
	ctx, stop := context.WithCancel(f.life)
	defer stop()
	k := &keeper{f: f, state: state}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		k.keep(ctx, stop)
	}()
	f.work(ctx, k)
	stop()
	<-kept
	k.leave()
}

// keeper notes where the follower is, and so that its holder is there.
type keeper struct {
	f *Follower

	mu    sync.Mutex
	state im.FollowerState // Place is what is done
	moved bool             // something was done that is not noted
	lost  bool             // another one has taken over
}

// done tells that everything up to a place is done; entries, that there was something.
func (k *keeper) done(p im.Place, entries bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state.Place, k.state.Updated = p, time.Now()
	k.moved = k.moved || entries
}

func (k *keeper) place() im.Place {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state.Place
}

// keep notes the place until ctx ends, and calls stop when the work is another's, or
// may be by now.
func (k *keeper) keep(ctx context.Context, stop func()) {
	noted, failures := time.Now(), 0
	for pause(ctx, saveEvery) {
		k.mu.Lock()
		due := k.moved || time.Since(noted) >= beatEvery || failures > 0
		k.mu.Unlock()
		if !due {
			continue
		}
		began := time.Now()
		held, err := k.save(ctx)
		switch {
		case err == nil && held:
			noted, failures = began, 0
			continue
		case err == nil:
			k.f.o.Logger.Warn("feed: another node has taken over")
			k.mu.Lock()
			k.lost = true
			k.mu.Unlock()
			stop()
			return
		}
		if failures++; failures == 1 && ctx.Err() == nil {
			k.f.o.Logger.Warn("feed: note the place", "err", err)
		}
		if time.Since(noted) >= TakeAfter {
			k.f.o.Logger.Warn("feed: stopped working: the directory does not answer, and another node may have taken over", "err", err)
			stop()
			return
		}
	}
}

// save notes the place as it is now.
func (k *keeper) save(ctx context.Context) (held bool, err error) {
	k.mu.Lock()
	s := k.state
	k.moved = false
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if held, err = k.f.o.Store.SaveFollower(ctx, s); err != nil {
		k.mu.Lock()
		k.moved = true
		k.mu.Unlock()
	}
	return held, err
}

// leave notes the place for the last time, and makes room.
func (k *keeper) leave() {
	k.mu.Lock()
	lost := k.lost
	k.mu.Unlock()
	if lost {
		return
	}
	held, err := k.save(context.Background())
	if err == nil && held {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		err = k.f.o.Store.LeaveFollower(ctx, k.f.o.Name, k.f.o.Shard, k.f.holder)
	}
	if err != nil {
		k.f.o.Logger.Warn("feed: note the place at the end; what was done since the last time is done again", "err", err)
	}
}
