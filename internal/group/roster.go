package group

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// MaySend decides whether a user may write in a group, and tells the revision
// of the roster it decided on: the journal accepts the message only if that is
// still the one. It is asked for every group message and answers from RAM. The
// revision is valid with the code muted as well.
func (s *Service) MaySend(ctx context.Context, user im.UserID, c im.ConversationID) (rev uint64, err error) {
	return s.mayAsking(ctx, user, c, im.GroupSend)
}

// MaySendNow is MaySend from RAM alone: known is false where the directory would
// have to be asked. With others on the same directory that is so for every no.
func (s *Service) MaySendNow(user im.UserID, c im.ConversationID) (rev uint64, known bool, err error) {
	return s.mayNow(user, c, im.GroupSend)
}

// MayReact is MaySend for a reaction: where admins alone may write, every member may
// react. Who is muted may not.
func (s *Service) MayReact(ctx context.Context, user im.UserID, c im.ConversationID) (rev uint64, err error) {
	return s.mayAsking(ctx, user, c, im.GroupReact)
}

// MayReactNow is MaySendNow for a reaction.
func (s *Service) MayReactNow(user im.UserID, c im.ConversationID) (rev uint64, known bool, err error) {
	return s.mayNow(user, c, im.GroupReact)
}

// MayPin is MaySend for a pin: who of those that may write may pin is the group's to say.
func (s *Service) MayPin(ctx context.Context, user im.UserID, c im.ConversationID) (rev uint64, err error) {
	return s.mayAsking(ctx, user, c, im.GroupPin)
}

// MayPinNow is MaySendNow for a pin.
func (s *Service) MayPinNow(user im.UserID, c im.ConversationID) (rev uint64, known bool, err error) {
	return s.mayNow(user, c, im.GroupPin)
}

func (s *Service) mayAsking(ctx context.Context, user im.UserID, c im.ConversationID, action im.GroupAction) (rev uint64, err error) {
	err = s.decide(ctx, c, func(r *roster) error {
		rev, err = s.may(r, user, action)
		return err
	}, user)
	return rev, err
}

func (s *Service) mayNow(user im.UserID, c im.ConversationID, action im.GroupAction) (rev uint64, known bool, err error) {
	r := s.rosters.certain(c)
	if r == nil {
		return 0, false, nil
	}
	rev, err = s.may(r, user, action)
	return rev, err == nil || !s.o.Shared, err
}

func (s *Service) may(r *roster, user im.UserID, action im.GroupAction) (rev uint64, err error) {
	m := r.member(user)
	err = r.switches.Authorize(m.role, action, im.RoleNone)
	if err == nil && action == im.GroupPin { // who may not write pins nothing
		err = r.switches.Authorize(m.role, im.GroupSend, im.RoleNone)
	}
	if err != nil {
		return r.rev, err
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
	return s.decide(ctx, c, func(r *roster) error {
		role := r.member(user).role
		if user == author {
			return im.Authorize(role, im.GroupRead, im.RoleNone)
		}
		return im.Authorize(role, im.GroupRecallOthers, r.member(author).role)
	}, user, author)
}

// May decides whether a user may do something in a group, as MayRecall does.
func (s *Service) May(ctx context.Context, user im.UserID, c im.ConversationID, action im.GroupAction) error {
	return s.decide(ctx, c, func(r *roster) error {
		return r.switches.Authorize(r.member(user).role, action, im.RoleNone)
	}, user)
}

// decide asks the roster in RAM. What it allows, the journal checks against its
// own revision. Nobody checks a no: with others on the same directory it is given
// only by what the directory has, of the users in question.
func (s *Service) decide(ctx context.Context, c im.ConversationID, ask func(*roster) error, users ...im.UserID) error {
	r, err := s.roster(ctx, c)
	if err != nil {
		return err
	}
	no := ask(r)
	if no == nil || !s.o.Shared {
		return no
	}
	// Before the group: what is applied in between is seen there.
	promised, err := s.isPromised(ctx, c, users)
	if err != nil {
		return err
	}
	now, err := s.now(ctx, c, users)
	if err != nil {
		return err
	}
	if no = ask(now); no == nil || now.rev != r.rev {
		// Whatever the revisions say: the directory may have gone back, and be another
		// one under the same number.
		s.rosters.replace(c, r, nil)
	}
	if no != nil && promised {
		s.o.Help(c)
		return &im.Error{Code: im.CodeUnavailable, Message: "a change of the group is under way", RetryAfter: promisedRetry}
	}
	return no
}

// promisedRetry is when who waits for a change that is promised asks again.
const promisedRetry = time.Second

// isPromised tells whether a change that concerns one of the users is promised
// and not applied. Mostly it is just being made, and nobody asks about it yet. But
// users know of a change that was applied already when the server was put back to
// a copy in which it is not: until then they are neither members nor not.
func (s *Service) isPromised(ctx context.Context, c im.ConversationID, users []im.UserID) (bool, error) {
	pending, err := s.store.PendingOf(ctx, c)
	if err != nil {
		return false, fmt.Errorf("promises of %s: %w", c, err)
	}
	for _, p := range pending {
		for _, u := range users {
			if p.SetRoster != 0 && (u == p.Sender || slices.Contains(p.Event.Users, u)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// now reads the group from the directory, with these users alone.
func (s *Service) now(ctx context.Context, c im.ConversationID, users []im.UserID) (*roster, error) {
	g, members, err := s.store.Group(ctx, c, users)
	if err != nil {
		return nil, fmt.Errorf("members of %s: %w", c, err)
	}
	r := &roster{rev: g.Rev, name: g.Name, switches: g.Settings.GroupSwitches, base: make(map[im.UserID]cachedMember, len(members))}
	for _, m := range members {
		r.base[m.User] = cachedMember{mutedUntil: millis(m.MutedUntil), role: m.Role}
	}
	return r, nil
}

// Membership tells from RAM what a member may read of a group whose journal's
// head has a roster revision: all of it, from First on. known is false when the
// roster that is kept here is older than that, when there is none, and for those
// who are no members; then the directory knows.
//
// It needs no word of what other nodes do: who is a member at the head's
// revision or a later one may see all up to the head, because the entry that
// removed them, if there is one, comes behind it.
func (s *Service) Membership(user im.UserID, c im.ConversationID, rev uint64) (m im.Membership, known bool) {
	r := s.rosters.peek(c)
	if r == nil || r.rev < rev {
		return im.Membership{}, false
	}
	cm := r.member(user)
	if cm.role == im.RoleNone {
		return im.Membership{}, false
	}
	return im.Membership{Conversation: c, First: cm.first, Title: r.name}, true
}

// Refresh makes the next question about a group ask the directory whether the
// roster that is kept is still the one: the journal said that it changed.
func (s *Service) Refresh(c im.ConversationID) { s.rosters.doubt(c) }

// WentBack forgets all rosters: the directory went back, and its revisions may
// mean other changes than they did.
func (s *Service) WentBack() { s.rosters.dropAll() }

// Applied takes a roster on by a change that was just made visible, with its
// entry's seq. It is told by the outbox, before the entry is delivered.
//
// It may have been made visible by another process, long ago, and be told more
// than once: of a group there is one change at most from a revision, so from
// the roster before it leads to the one after it, whoever applied it; any other
// roster stays.
func (s *Service) Applied(p im.Promise, seq uint64) {
	old := s.rosters.peek(p.Conversation)
	switch {
	case old != nil && old.rev == p.IfRoster:
		s.rosters.replace(p.Conversation, old, old.with(p, seq))
	case old == nil && p.Event.Type == im.EventGroupCreated:
		s.rosters.seed(p.Conversation, (&roster{}).with(p, seq))
	}
}

// roster returns a group's roster from RAM, or reads it once for all who ask at
// the same time.
func (s *Service) roster(ctx context.Context, c im.ConversationID) (*roster, error) {
	if c.Kind() != im.KindGroup {
		return nil, im.Errorf(im.CodeNotFound, "no such group")
	}
	for {
		l, doubt, mine := s.rosters.get(c)
		if mine {
			l.roster, l.err = s.load(ctx, c)
			s.rosters.loaded(c, l)
			close(l.ready)
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if doubt == 0 {
			return l.roster, l.err
		}
		// One small read instead of all members: after a change of this process's own
		// the roster was taken on by Applied, and after most others as well.
		g, _, err := s.store.Group(ctx, c, nil)
		if err != nil {
			return nil, fmt.Errorf("revision of %s: %w", c, err)
		}
		if s.rosters.confirm(c, l, doubt, g.Rev) {
			return l.roster, nil
		}
	}
}

func (s *Service) load(ctx context.Context, c im.ConversationID) (*roster, error) {
	s.loads.Inc()
	r := &roster{base: make(map[im.UserID]cachedMember)}
	// Others wait for this read: the caller's end must not be theirs.
	g, err := s.store.Roster(context.WithoutCancel(ctx), c, func(m Member, first uint64) {
		r.base[m.User] = cachedMember{mutedUntil: millis(m.MutedUntil), first: first, role: m.Role}
	})
	if err != nil {
		return nil, fmt.Errorf("roster of %s: %w", c, err)
	}
	r.rev, r.name, r.switches = g.Rev, g.Name, g.Settings.GroupSwitches
	return r, nil
}

// roster is a group's roster at one revision; it is never changed.
type roster struct {
	rev      uint64
	name     string
	switches im.GroupSwitches
	// base is shared by the rosters of some revisions; over has who is not as there,
	// with no role who left.
	base, over map[im.UserID]cachedMember
}

type cachedMember struct {
	mutedUntil int64  // Unix milliseconds, 0 = may write
	first      uint64 // sees from here
	role       im.Role
}

func (m cachedMember) member(u im.UserID) Member {
	full := Member{User: u, Role: m.role}
	if m.mutedUntil != 0 {
		full.MutedUntil = time.UnixMilli(m.mutedUntil)
	}
	return full
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (r *roster) member(u im.UserID) cachedMember {
	if m, ok := r.over[u]; ok {
		return m
	}
	return r.base[u]
}

// admins are the owner and the admins by id, at most most of them.
func (r *roster) admins(most int) []im.UserID {
	var owner, all []im.UserID
	for _, members := range []map[im.UserID]cachedMember{r.base, r.over} {
		for u := range members {
			switch m := r.member(u); {
			case m.role == im.RoleOwner:
				owner = append(owner, u)
			case m.role == im.RoleAdmin:
				all = append(all, u)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(append(owner[:min(len(owner), 1)], all...))
	return all[:min(len(all), most)]
}

// size is what a roster takes in RAM, in members.
func (r *roster) size() int { return len(r.base) + len(r.over) }

// with returns the roster after a change of it, nil if the change is not known
// here. It does what the directory does when it applies the promise. It costs as
// much as what changed lately, not as the group is large.
func (r *roster) with(p im.Promise, seq uint64) *roster {
	next := &roster{rev: p.SetRoster, name: r.name, switches: r.switches, base: r.base, over: make(map[im.UserID]cachedMember, len(r.over)+len(p.Event.Users))}
	maps.Copy(next.over, r.over)
	change := func(users []im.UserID, f func(*cachedMember)) {
		for _, u := range users {
			if m := next.member(u); m.role != im.RoleNone {
				f(&m)
				next.over[u] = m
			}
		}
	}
	join := func(users []im.UserID) {
		for _, u := range users {
			if next.member(u).role == im.RoleNone {
				next.over[u] = cachedMember{first: seq, role: im.RoleMember}
			}
		}
	}
	e := p.Event
	switch e.Type {
	case im.EventGroupCreated:
		next.name, next.switches = e.Text, im.NewGroupSettings().GroupSwitches.With(e.Group)
		join(e.Users)
		change([]im.UserID{p.Sender}, func(m *cachedMember) { m.role = im.RoleOwner })
	case im.EventGroupRenamed:
		next.name = e.Text
	case im.EventMemberBanned, im.EventMemberUnbanned, im.EventMemberNicknamed, im.EventLifetimeChanged: // nothing that decides
	case im.EventGroupChanged:
		next.switches = r.switches.With(e.Group)
	case im.EventMemberAdded:
		join(e.Users)
	case im.EventMemberLeft, im.EventMemberRemoved:
		change(e.Users, func(m *cachedMember) { *m = cachedMember{} })
	case im.EventGroupDismissed:
		next.base, next.over = nil, nil
	case im.EventRoleChanged:
		change(e.Users[:1], func(m *cachedMember) { m.role = e.Role })
	case im.EventMemberMuted:
		change(e.Users[:1], func(m *cachedMember) { m.mutedUntil = millis(e.Until) })
	case im.EventOwnerChanged:
		change(e.Users[:1], func(m *cachedMember) { m.role = im.RoleOwner })
		change([]im.UserID{p.Sender}, func(m *cachedMember) { m.role = im.RoleAdmin })
	default:
		return nil
	}
	next.settle()
	return next
}

// settle makes a new base when much is not as in the old one: rarely enough to
// cost little, and soon enough that copying over does.
func (r *roster) settle() {
	if len(r.over) <= len(r.base)/64+64 {
		return
	}
	base := make(map[im.UserID]cachedMember, len(r.base)+len(r.over))
	maps.Copy(base, r.base)
	for u, m := range r.over {
		if m.role == im.RoleNone {
			delete(base, u)
		} else {
			base[u] = m
		}
	}
	r.base, r.over = base, nil
}

// loading is a roster in RAM, or on its way there until ready is closed.
type loading struct {
	ready  chan struct{}
	roster *roster
	err    error
	// The rest is guarded by rosters.mu.
	cost int
	kept bool // it is here, not on its way
	// doubt is not 0 while it may not be the present one any more, and another
	// number for every time that this was said.
	doubt uint64
}

// rosters keeps those of the groups that were used lately, within a number of
// members in all.
//
// A read that began before a doubt is never found after it, so whoever doubts a
// roster because the directory has a newer one sees the newer one.
type rosters struct {
	mu     sync.Mutex
	of     cache.Cache[im.ConversationID, *loading]
	doubts uint64
}

func newRosters(members int) *rosters {
	return &rosters{of: cache.Sized(members, func(_ im.ConversationID, l *loading) int { return l.cost })}
}

// get returns the entry of a group and its doubt; mine tells the caller to fill it.
func (r *rosters) get(c im.ConversationID) (l *loading, doubt uint64, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, _ = r.of.Get(c); l != nil {
		return l, l.doubt, false
	}
	l = &loading{ready: make(chan struct{}), cost: 1}
	r.of.Put(c, l)
	return l, 0, true
}

// peek returns the roster of a group if it is here, nil otherwise.
func (r *rosters) peek(c im.ConversationID) *roster {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, _ := r.of.Get(c); l != nil && l.kept {
		return l.roster
	}
	return nil
}

// certain returns the roster of a group if it is here and nobody doubts it.
func (r *rosters) certain(c im.ConversationID) *roster {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, _ := r.of.Get(c); l != nil && l.kept && l.doubt == 0 {
		return l.roster
	}
	return nil
}

// loaded counts what an entry costs now. A failed one is not kept, nor is the
// roster of a group that does not exist.
func (r *rosters) loaded(c im.ConversationID, l *loading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now, _ := r.of.Peek(c); now != l {
		return // dropped while it was read
	}
	r.of.Delete(c)
	if l.err == nil && l.roster.rev != 0 {
		l.cost, l.kept = 1+l.roster.size(), true
		r.of.Put(c, l)
	}
}

// dropAll forgets all, and what is being read.
func (r *rosters) dropAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of.Clear()
}

// replace puts the next revision in an old one's place, if that is there still,
// with the same doubts; nil takes it out.
func (r *rosters) replace(c im.ConversationID, old, next *roster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, _ := r.of.Get(c)
	if l == nil || !l.kept || l.roster != old {
		return
	}
	r.of.Delete(c)
	if next != nil {
		r.of.Put(c, ready(next, l.doubt))
	}
}

// seed keeps the first roster of a group if nobody asked for it yet. A promise
// may be driven again, long after: so it is doubted.
func (r *rosters) seed(c im.ConversationID, first *roster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, here := r.of.Get(c); !here {
		r.doubts++
		r.of.Put(c, ready(first, r.doubts))
	}
}

func ready(r *roster, doubt uint64) *loading {
	l := &loading{ready: make(chan struct{}), roster: r, cost: 1 + r.size(), kept: true, doubt: doubt}
	close(l.ready)
	return l
}

// doubt says that a roster may not be the present one any more.
func (r *rosters) doubt(c im.ConversationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, _ := r.of.Peek(c)
	switch {
	case l == nil:
	case l.kept:
		r.doubts++
		l.doubt = r.doubts
	default: // a read that began before
		r.of.Delete(c)
	}
}

// confirm ends a doubt with the revision that the directory has: true when it is
// the entry's, otherwise the entry goes.
func (r *rosters) confirm(c im.ConversationID, l *loading, doubt, rev uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now, _ := r.of.Get(c); now != l {
		return false // and what is there now is not of this caller's making
	}
	if l.roster.rev != rev {
		r.of.Delete(c)
		return false
	}
	if l.doubt == doubt {
		l.doubt = 0
	}
	return true
}

func (r *rosters) drop(c im.ConversationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of.Delete(c)
}
