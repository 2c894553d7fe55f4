package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// verifyWorkers is how many users' groups are read at the same time.
	verifyWorkers = 4
	// verifyAgain is the pause after a reading that failed.
	verifyAgain = time.Second
)

// verifier reads rosters again after gaps, off the goroutine that delivers.
// Its goroutine runs while there is something to verify.
type verifier struct {
	g       *Gateway
	mu      sync.Mutex
	groups  map[im.ConversationID]struct{}
	users   map[im.UserID]struct{}
	running bool
}

func newVerifier(g *Gateway) *verifier {
	return &verifier{g: g, groups: map[im.ConversationID]struct{}{}, users: map[im.UserID]struct{}{}}
}

// group asks for a group's local members to be verified.
func (v *verifier) group(c im.ConversationID) {
	v.mu.Lock()
	v.groups[c] = struct{}{}
	v.start()
	v.mu.Unlock()
}

// user asks for a user's groups to be read again.
func (v *verifier) user(u im.UserID) {
	v.mu.Lock()
	v.users[u] = struct{}{}
	v.start()
	v.mu.Unlock()
}

func (v *verifier) start() {
	if !v.running {
		v.running = v.g.spawn(v.run)
	}
}

// next takes what is asked for; ok is false when the goroutine may end.
func (v *verifier) next() (groups map[im.ConversationID]struct{}, users map[im.UserID]struct{}, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.groups)+len(v.users) == 0 || v.g.ctx.Err() != nil {
		v.running = false
		return nil, nil, false
	}
	groups, users = v.groups, v.users
	v.groups, v.users = map[im.ConversationID]struct{}{}, map[im.UserID]struct{}{}
	return groups, users, true
}

func (v *verifier) run() {
	for {
		groups, users, ok := v.next()
		if !ok {
			return
		}
		epochs := make(map[im.ConversationID]uint64, len(groups))
		for c := range groups {
			if grp := v.g.groups.Locked(c, false); grp != nil {
				epochs[c] = grp.Epoch
				for s := range grp.Members {
					users[s.Actor.User] = struct{}{}
				}
				v.g.groups.Unlock(grp)
			}
		}
		failed := v.load(users)
		for c, epoch := range epochs {
			v.settle(c, epoch, users, failed)
		}
		v.g.Flush()
		if len(failed) > 0 && !v.pause(failed) {
			return
		}
	}
}

// load reads the groups of users and returns those for whom it failed.
func (v *verifier) load(users map[im.UserID]struct{}) map[im.UserID]struct{} {
	var mu sync.Mutex
	var wg sync.WaitGroup
	failed := map[im.UserID]struct{}{}
	next := make(chan im.UserID)
	for range min(verifyWorkers, len(users)) {
		wg.Go(func() {
			for u := range next {
				ctx, cancel := context.WithTimeout(v.g.ctx, authTime)
				err := v.g.loadGroups(ctx, u)
				cancel()
				if err != nil && v.g.ctx.Err() == nil {
					v.g.o.Logger.Warn("gateway: read a user's groups", "user", u, "err", err)
				}
				if err != nil {
					mu.Lock()
					failed[u] = struct{}{}
					mu.Unlock()
				}
			}
		})
	}
	for u := range users {
		next <- u
	}
	close(next)
	wg.Wait()
	return failed
}

// settle lets pushes to a group go on when all its members here were verified
// since its last gap; what was missed meanwhile is told by Heads.
func (v *verifier) settle(c im.ConversationID, epoch uint64, verified, failed map[im.UserID]struct{}) {
	grp := v.g.groups.Locked(c, false)
	if grp == nil {
		return
	}
	defer v.g.groups.Unlock(grp)
	for s := range grp.Members {
		_, ok := verified[s.Actor.User]
		_, bad := failed[s.Actor.User]
		if !ok || bad {
			v.group(c)
			return
		}
	}
	if grp.Epoch != epoch {
		return // doubted again meanwhile, and so asked for again
	}
	grp.Suspect = false
	grp.Heads(v.g.out)
}

// pause waits a little and asks for the failed ones again; false when the
// gateway closes.
func (v *verifier) pause(failed map[im.UserID]struct{}) bool {
	timer := time.NewTimer(verifyAgain)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.g.ctx.Done():
		v.mu.Lock()
		v.running = false
		v.mu.Unlock()
		return false
	}
	v.mu.Lock()
	for u := range failed {
		v.users[u] = struct{}{}
	}
	v.mu.Unlock()
	return true
}
