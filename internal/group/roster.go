package group

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// MaySend decides whether a user may write in a group, and tells the revision
// of the roster it decided on: the journal accepts the message only if that is
// still the one. It is asked for every group message and answers from RAM. The
// revision is valid with the code muted as well.
func (s *Service) MaySend(ctx context.Context, user im.UserID, c im.ConversationID) (rev uint64, err error) {
	r, err := s.roster(ctx, c)
	if err != nil {
		return 0, err
	}
	m := r.members[user]
	if err := im.Authorize(m.role, im.GroupSend, im.RoleNone); err != nil {
		return 0, err
	}
	if m.mutedUntil != 0 && s.o.Now().UnixMilli() < m.mutedUntil {
		return r.rev, im.Errorf(im.CodeMuted, "you may not write here until %s", time.UnixMilli(m.mutedUntil).UTC().Format(time.RFC3339))
	}
	return r.rev, nil
}

// MayRecall decides whether a user may take back an author's message: their
// own, or as an admin that of somebody with a lower role. Ask MaySend for the
// revision first: rosters only move forward, so the journal refuses the entry
// if this one was decided on a later roster.
func (s *Service) MayRecall(ctx context.Context, user im.UserID, c im.ConversationID, author im.UserID) error {
	r, err := s.roster(ctx, c)
	if err != nil {
		return err
	}
	role := r.members[user].role
	if user == author {
		return im.Authorize(role, im.GroupRead, im.RoleNone)
	}
	return im.Authorize(role, im.GroupRecallOthers, r.members[author].role)
}

// Refresh drops the cached roster: the journal said that it changed.
func (s *Service) Refresh(c im.ConversationID) { s.rosters.drop(c) }

// roster returns a group's roster from RAM, or reads it once for all who ask at
// the same time.
func (s *Service) roster(ctx context.Context, c im.ConversationID) (*roster, error) {
	if c.Kind() != im.KindGroup {
		return nil, im.Errorf(im.CodeNotFound, "no such group")
	}
	l, mine := s.rosters.get(c)
	if mine {
		l.roster, l.err = s.load(ctx, c)
		s.rosters.loaded(c, l)
		close(l.ready)
	}
	select {
	case <-l.ready:
		return l.roster, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Service) load(ctx context.Context, c im.ConversationID) (*roster, error) {
	s.loads.Inc()
	// Others wait for this read: the caller's end must not be theirs.
	rev, list, err := s.store.Roster(context.WithoutCancel(ctx), c)
	if err != nil {
		return nil, fmt.Errorf("roster of %s: %w", c, err)
	}
	r := &roster{rev: rev, members: make(map[im.UserID]cachedMember, len(list))}
	for _, m := range list {
		cm := cachedMember{role: m.Role}
		if !m.MutedUntil.IsZero() {
			cm.mutedUntil = m.MutedUntil.UnixMilli()
		}
		r.members[m.User] = cm
	}
	return r, nil
}

// roster is a group's roster at one revision; it is never changed.
type roster struct {
	rev     uint64
	members map[im.UserID]cachedMember
}

type cachedMember struct {
	mutedUntil int64 // Unix milliseconds, 0 = may write
	role       im.Role
}

// loading is a roster in RAM, or on its way there until ready is closed.
type loading struct {
	ready  chan struct{}
	roster *roster
	err    error
	cost   int
}

// rosters keeps what was used lately in two generations: what is used moves to
// the young one, and when that is full the old one is dropped.
//
// A read that began before a drop is never found after it, so whoever drops a
// roster because the directory has a newer one sees the newer one.
type rosters struct {
	mu         sync.Mutex
	young, old map[im.ConversationID]*loading
	cost       int // of young
	limit      int
}

func newRosters(members int) *rosters {
	return &rosters{young: make(map[im.ConversationID]*loading), limit: max(members/2, 1)}
}

// get returns the entry of a group; mine tells the caller to fill it.
func (r *rosters) get(c im.ConversationID) (l *loading, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l = r.young[c]; l != nil {
		return l, false
	}
	if l = r.old[c]; l != nil {
		delete(r.old, c)
		r.insert(c, l)
		return l, false
	}
	l = &loading{ready: make(chan struct{}), cost: 1}
	r.insert(c, l)
	return l, true
}

func (r *rosters) insert(c im.ConversationID, l *loading) {
	if r.cost+l.cost > r.limit && len(r.young) > 0 {
		r.old, r.young, r.cost = r.young, make(map[im.ConversationID]*loading), 0
	}
	r.young[c] = l
	r.cost += l.cost
}

// loaded counts what an entry costs now. A failed one is not kept, nor is the
// roster of a group that does not exist.
func (r *rosters) loaded(c im.ConversationID, l *loading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young[c] != l && r.old[c] != l {
		return // dropped while it was read
	}
	r.remove(c)
	if l.err == nil && l.roster.rev != 0 {
		l.cost += len(l.roster.members)
		r.insert(c, l)
	}
}

func (r *rosters) drop(c im.ConversationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c)
}

func (r *rosters) remove(c im.ConversationID) {
	if l := r.young[c]; l != nil {
		r.cost -= l.cost
		delete(r.young, c)
	}
	delete(r.old, c)
}
