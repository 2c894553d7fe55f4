package group_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/outbox/outboxtest"
)

// world is the service over a real directory and a journal in RAM.
type world struct {
	*group.Service
	t       testing.TB
	store   *store
	journal *outboxtest.Journal
	now     time.Time
}

// store is the directory, counted and with a hook.
type store struct {
	*directory.DB
	rosters      atomic.Int32
	groups       atomic.Int32
	afterGroup   func()
	beforeRoster func()
	afterRoster  func()
	promised     func()
	everyone     bool // may be added
}

func (s *store) Roster(ctx context.Context, c im.ConversationID, each func(im.Member, uint64)) (im.GroupInfo, error) {
	s.rosters.Add(1)
	if s.beforeRoster != nil {
		s.beforeRoster()
	}
	g, err := s.DB.Roster(ctx, c, each)
	if s.afterRoster != nil {
		s.afterRoster()
	}
	return g, err
}

func (s *store) Group(ctx context.Context, c im.ConversationID, users []im.UserID) (im.GroupInfo, []im.Member, error) {
	s.groups.Add(1)
	g, members, err := s.DB.Group(ctx, c, users)
	if s.afterGroup != nil {
		s.afterGroup()
	}
	return g, members, err
}

func (s *store) PromiseRoster(ctx context.Context, p im.Promise) (bool, error) {
	accepted, err := s.DB.PromiseRoster(ctx, p)
	if s.promised != nil {
		s.promised()
	}
	return accepted, err
}

func (s *store) Addable(ctx context.Context, by im.UserID, users []im.UserID) ([]im.Addable, error) {
	if !s.everyone {
		return s.DB.Addable(ctx, by, users)
	}
	all := make([]im.Addable, len(users))
	for i, u := range users {
		all[i].User = u
	}
	return all, nil
}

func newWorld(t testing.TB, o group.Options, users ...im.UserID) *world {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &world{t: t, store: &store{DB: db}, journal: &outboxtest.Journal{}, now: time.UnixMilli(1_700_000_000_000)}
	o.Now = func() time.Time { return w.now }
	w.Service = w.another(o)
	w.users(users...)
	return w
}

// another is a second process on the same directory and journal.
func (w *world) another(o group.Options) *group.Service {
	if o.Now == nil {
		o.Now = func() time.Time { return w.now }
	}
	var s *group.Service
	applied := func(p im.Promise, seq uint64) { s.Applied(p, seq) }
	s = group.New(w.store, w.store, w.store, outbox.New(w.store, w.journal, outbox.Options{Applied: applied}), o)
	return s
}

// restart replays what was left and returns a service that remembers nothing.
func (w *world) restart() {
	w.t.Helper()
	w.journal.Stop = nil
	if left, err := outbox.New(w.store, w.journal, outbox.Options{}).Replay(w.t.Context()); left != 0 || err != nil {
		w.t.Fatal(left, err)
	}
	w.Service = w.another(group.Options{})
}

func (w *world) users(ids ...im.UserID) {
	w.t.Helper()
	for _, u := range ids {
		if err := w.store.CreateUser(w.t.Context(), im.Credentials{User: im.User{ID: u, DisplayName: string(u), DMPolicy: im.DMContacts, Created: w.now}}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) block(user, peer im.UserID) {
	w.t.Helper()
	if _, err := w.store.UpdateContacts(w.t.Context(), user, peer, func(mine, _ *im.Contact) ([]im.Promise, error) {
		mine.Blocked = true
		return nil, nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

func actor(u im.UserID) im.Actor { return im.Actor{User: u} }

func (w *world) create(owner im.UserID, members ...im.UserID) im.ConversationID {
	w.t.Helper()
	g, err := w.Create(w.t.Context(), actor(owner), "friends", members, "")
	w.ok(err)
	return g.Conversation
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wantCode(err error, code im.Code) {
	w.t.Helper()
	if got := im.CodeOf(err); got != code {
		w.t.Fatalf("code %q, want %q (%v)", got, code, err)
	}
}

func (w *world) rev(c im.ConversationID) uint64 {
	w.t.Helper()
	g, err := w.store.DB.Roster(w.t.Context(), c, func(im.Member, uint64) {})
	w.ok(err)
	return g.Rev
}

// members are the current members in order.
func (w *world) members(c im.ConversationID) []im.UserID {
	w.t.Helper()
	users, err := w.Members(w.t.Context(), c)
	w.ok(err)
	slices.Sort(users)
	return users
}

// model is a group as its journal tells it.
type model struct {
	name    string
	owner   im.UserID
	rev     uint64
	set     im.GroupSettings
	members map[im.UserID]im.Member
	first   map[im.UserID]uint64
	until   map[im.UserID]uint64
}

// tell makes an entry's change, and checks that its sender had the power.
func (m *model) tell(p im.Promise, seq uint64) error {
	e := p.Event
	if p.IfRoster != m.rev || p.SetRoster != m.rev+1 {
		return fmt.Errorf("entry %d goes from revision %d to %d, the roster was at %d", seq, p.IfRoster, p.SetRoster, m.rev)
	}
	m.rev++
	action, targeted := map[im.EventType]im.GroupAction{
		im.EventGroupRenamed: im.GroupRename, im.EventMemberAdded: im.GroupAdd, im.EventMemberRemoved: im.GroupRemove,
		im.EventRoleChanged: im.GroupSetRole, im.EventMemberMuted: im.GroupMute, im.EventOwnerChanged: im.GroupTransfer,
		im.EventMemberLeft: im.GroupRead, im.EventGroupChanged: im.GroupChangeSettings,
		im.EventGroupDismissed: im.GroupDismiss, im.EventMemberBanned: im.GroupBan, im.EventMemberUnbanned: im.GroupBan, im.EventMemberNicknamed: im.GroupNickname, im.EventLifetimeChanged: im.GroupLifetime,
	}[e.Type], e.Type == im.EventMemberRemoved || e.Type == im.EventRoleChanged || e.Type == im.EventMemberMuted || e.Type == im.EventOwnerChanged
	if e.Type != im.EventGroupCreated {
		targets := []im.UserID{""}
		if targeted {
			targets = e.Users
		}
		for _, u := range targets {
			if e.Type == im.EventMemberAdded && slices.Equal(e.Users, []im.UserID{p.Sender}) {
				continue // they were invited
			}
			if err := m.set.Authorize(m.members[p.Sender].Role, action, m.members[u].Role); err != nil {
				return fmt.Errorf("entry %d: %s had no power to do %d to %q: %w", seq, p.Sender, e.Type, u, err)
			}
		}
	}
	for _, u := range e.Users {
		old, in := m.members[u]
		if e.Type == im.EventMemberBanned || e.Type == im.EventMemberUnbanned {
			if in {
				return fmt.Errorf("entry %d tells of %s, who is in, as of somebody who is not", seq, u)
			}
			continue
		}
		switch e.Type {
		case im.EventGroupCreated, im.EventMemberAdded:
			if in {
				return fmt.Errorf("entry %d adds %s who is in", seq, u)
			}
			m.members[u] = im.Member{User: u, Role: im.RoleMember}
			m.first[u], m.until[u] = seq, 0
			continue
		}
		if !in {
			return fmt.Errorf("entry %d happens to %s who is not in", seq, u)
		}
		switch e.Type {
		case im.EventMemberLeft, im.EventMemberRemoved, im.EventGroupDismissed:
			delete(m.members, u)
			m.until[u] = seq
			continue
		case im.EventRoleChanged:
			old.Role = e.Role
		case im.EventMemberMuted:
			old.MutedUntil = e.Until
		case im.EventOwnerChanged:
			old.Role, m.owner = im.RoleOwner, u
		}
		m.members[u] = old
	}
	switch e.Type {
	case im.EventGroupCreated:
		m.owner, m.name, m.set = p.Sender, e.Text, im.NewGroupSettings().With(e.Group)
		m.members[p.Sender] = im.Member{User: p.Sender, Role: im.RoleOwner}
	case im.EventOwnerChanged:
		m.members[p.Sender] = im.Member{User: p.Sender, Role: im.RoleAdmin}
	case im.EventGroupRenamed:
		m.name = e.Text
	case im.EventGroupChanged:
		m.set = m.set.With(e.Group)
	}
	return nil
}

// agrees checks that the directory is what the journal tells, entry by entry.
func (w *world) agrees(c im.ConversationID) {
	w.t.Helper()
	m := model{members: map[im.UserID]im.Member{}, first: map[im.UserID]uint64{}, until: map[im.UserID]uint64{}}
	for i, p := range w.journal.Entries(c) {
		w.ok(m.tell(p, uint64(i+1)))
	}
	g, list, err := w.store.Group(w.t.Context(), c, slices.Collect(maps.Keys(m.first)))
	w.ok(err)
	if g.Name != m.name || g.Owner != m.owner || g.Rev != m.rev || g.Members != len(m.members) || g.Rev != w.journal.Roster(c) {
		w.t.Fatalf("the directory has %+v, the journal tells %q %s %d %d", g, m.name, m.owner, m.rev, len(m.members))
	}
	if !reflect.DeepEqual(g.Settings, m.set) {
		w.t.Fatalf("the directory has %+v, the journal tells %+v", g.Settings, m.set)
	}
	if len(list) != len(m.members) {
		w.t.Fatalf("the directory has %d members, the journal tells %d", len(list), len(m.members))
	}
	for _, got := range list {
		want := m.members[got.User]
		if got.Role != want.Role || !got.MutedUntil.Equal(want.MutedUntil) {
			w.t.Fatalf("the directory has %+v, the journal tells %+v", got, want)
		}
	}
	for u, first := range m.first {
		place, found, err := w.store.Membership(w.t.Context(), u, c)
		w.ok(err)
		if !found || place.First != first || place.Until != m.until[u] {
			w.t.Fatalf("%s may read %+v, the journal tells %d to %d", u, place, first, m.until[u])
		}
		place.Earlier, place.ReadTo = nil, 0 // RAM has the last time only
		if got, known := w.Membership(u, c, m.rev); known && !reflect.DeepEqual(got, place) {
			w.t.Fatalf("%s may read %+v, RAM has %+v", u, place, got)
		}
	}
	w.decidesAlike(c, slices.Collect(maps.Keys(m.first)))
}

// decidesAlike checks that the service, once it is told of changes by others,
// decides as one that remembers nothing.
func (w *world) decidesAlike(c im.ConversationID, users []im.UserID) {
	w.t.Helper()
	w.Refresh(c)
	fresh := w.another(group.Options{})
	users = users[:min(len(users), 20)]
	for _, u := range users {
		rev, err := w.MaySend(w.t.Context(), u, c)
		wantRev, wantErr := fresh.MaySend(w.t.Context(), u, c)
		if rev != wantRev || im.CodeOf(err) != im.CodeOf(wantErr) {
			w.t.Fatalf("%s may send: %d %v, the directory says %d %v", u, rev, err, wantRev, wantErr)
		}
		for _, author := range users {
			err, wantErr := w.MayRecall(w.t.Context(), u, c, author), fresh.MayRecall(w.t.Context(), u, c, author)
			if im.CodeOf(err) != im.CodeOf(wantErr) {
				w.t.Fatalf("%s may recall %s's: %v, the directory says %v", u, author, err, wantErr)
			}
		}
	}
}
