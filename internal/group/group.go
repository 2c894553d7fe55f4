// Package group owns the rosters: who is in a group, with which role, and what
// that allows. Powers are im.Authorize's table; strangers and former members
// are told not_found.
//
// Every change of a roster (a mute, a new name and a new role are such changes
// too) is an entry of the group's journal and takes the roster from revision N
// to N+1. It is decided here on the roster at N, promised in the directory on
// the condition that the roster still is at N and nothing else is promised,
// appended to the journal on the same condition (IfRoster, SetRoster), and made
// visible with the entry's seq. So changes happen one at a time, and a message
// is accepted only under the roster it was allowed by: MaySend tells the
// revision it decided on, the journal compares.
//
// An operation that meets a promise of another one (running just now, or left
// by a crash) drives it first, then decides again.
//
// The rosters in use are in RAM, each at a revision. The outbox tells of every
// change that it applied (Applied), so that they are taken on instead of being
// read again; whoever hears from the journal that there was a change says so
// (Refresh), and the next question compares the revision with the directory's.
// Neither has to come for a decision to be right: the journal compares too. It
// never hears of what was refused; with other processes on the same directory
// (Options.Shared) a no is given by what the directory has then, and by nobody
// while a change that concerns the user is promised and not applied.
//
// It must not know SQL, the journal or dispatch.
//
// Goroutines: none. Locks: Service.turns lets one change of a group run at a
// time in this process, which only saves repetition; rosters.mu guards the
// cache and pace.mu who wrote when in slow mode; nothing is called while one of them
// is held. A turn is taken before rosters.mu.
//
// Invariants:
//   - nobody acts beyond their role as of the revision the change was decided on;
//   - a change that returned nil is in the journal and visible;
//   - an error `unknown` means that the change is promised and will happen, or,
//     when the database did not answer, that it may be; any other error means that
//     it will not.
package group

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/quota"
)

// Group is a group as one member sees it.
type Group = im.GroupInfo

// Member is a current member of a group.
type Member = im.Member

// Limits.
const (
	// MaxName is the longest name in characters.
	MaxName = 64
	// MaxUsers is how many users one call may add or remove.
	MaxUsers = 1000
	// MaxPerEntry is how many users one entry names; a call with more makes
	// several. A group is created by one entry, whatever its size.
	MaxPerEntry = 500
	// DefaultPage and MaxPage are the limits of a page of members.
	DefaultPage = 200
	MaxPage     = 1000
	// MaxQuery is the longest beginning of a name in characters.
	MaxQuery = 64
	// maxLooks is how many names are looked at for one page of who has such a name.
	maxLooks = 2000
)

// attempts is how often a change is decided again because the roster moved.
const attempts = 8

// Store keeps groups and rosters.
type Store interface {
	// CreateGroup stores a group without members at revision 0 and the promise of
	// its creation, in one transaction. When the owner has used the request id
	// (not "") before, it stores nothing and returns that group's conversation,
	// otherwise g's. A conversation that there is already is already_exists.
	CreateGroup(ctx context.Context, g im.GroupInfo, requestID string, p im.Promise) (im.ConversationID, error)
	// Requested returns the conversation that CreateGroup gave for a request id, or "".
	Requested(ctx context.Context, owner im.UserID, requestID string) (im.ConversationID, error)
	// Group returns a group (Role not set) and those of users who are members, as
	// of one moment. The zero group means that there is none.
	Group(ctx context.Context, c im.ConversationID, users []im.UserID) (im.GroupInfo, []im.Member, error)
	// Roster calls each for all members, with the seq they see from, and returns the
	// revision, the name and the settings, as of one moment. A group that does not
	// exist has revision 0.
	Roster(ctx context.Context, c im.ConversationID, each func(m im.Member, first uint64)) (im.GroupInfo, error)
	// MembersPage returns members after a place, those of greater roles first. looked is
	// not zero where it looked at as many as it may (im.MemberQuery.Looks) and found fewer
	// than the limit: the last place that it looked at.
	MembersPage(ctx context.Context, c im.ConversationID, q im.MemberQuery) (all []im.Member, looked im.MemberPlace, err error)
	// PromiseRoster stores a promise if the group's revision is p.IfRoster and
	// nothing else is promised; otherwise it stores nothing and returns false.
	PromiseRoster(ctx context.Context, p im.Promise) (bool, error)
	// PendingOf returns the promises of a conversation.
	PendingOf(ctx context.Context, c im.ConversationID) ([]im.Promise, error)
	// Periods returns after how long messages disappear, of those of the conversations
	// that have such periods.
	Periods(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID][]im.Period, error)
}

// People keeps who may be added, who is asked instead and what they say, and who may
// not come (back).
type People interface {
	// Addable returns those of users, in any order, who exist and have not blocked
	// the actor, with what decides whether they are added or asked.
	Addable(ctx context.Context, actor im.UserID, users []im.UserID) ([]im.Addable, error)
	// GroupsOf counts the groups a user is in.
	GroupsOf(ctx context.Context, user im.UserID) (int, error)
	// Invite keeps invitations, each with the promise of its notice, in one
	// transaction, and returns the promises of those that are new.
	Invite(ctx context.Context, all []im.Invitation, notices []im.Promise) ([]im.Promise, error)
	// Invitation returns a user's open invitation to a group, false if there is none.
	Invitation(ctx context.Context, user im.UserID, c im.ConversationID, now time.Time) (im.Invitation, bool, error)
	// Invitations returns at most limit of a user by conversation, after one.
	Invitations(ctx context.Context, user im.UserID, now time.Time, after im.ConversationID, limit int) ([]im.Invitation, error)
	// Uninvite removes one with the promise of its notice; false: there was none.
	Uninvite(ctx context.Context, user im.UserID, c im.ConversationID, now time.Time, notice im.Promise) (bool, error)
	// Banned returns those of users, in any order, who are banned at a time. What was
	// applied before it was called is seen.
	Banned(ctx context.Context, c im.ConversationID, users []im.UserID, now time.Time) ([]im.Ban, error)
	// BansPage returns at most limit bans by user id, after one.
	BansPage(ctx context.Context, c im.ConversationID, now time.Time, after im.UserID, limit int) ([]im.Ban, error)
}

// Driver drives committed promises to the journal.
type Driver interface {
	// Drive appends and applies a promise. After an error the promise stands and
	// is driven again later.
	Drive(ctx context.Context, p im.Promise) error
}

// Options are all optional.
type Options struct {
	Now func() time.Time
	// Random fills its argument with random bytes.
	Random func([]byte)
	// MaxMembers is the largest group. Default 10,000.
	MaxMembers int
	// MaxGroups is how many groups a user may be in. Default 1,000.
	MaxGroups int
	// AddsPerHour is how many users somebody may add or invite in an hour, counted by
	// this process. Default 10,000; below 0: no limit.
	AddsPerHour int
	// StrangersPerDay is how often a user is added to groups by who is none of their
	// contacts, in a day, counted by this process; who adds them more often asks them.
	// Default 100; below 0: no limit.
	StrangersPerDay int
	// MadePerDay is how many groups somebody may make in a day, counted by this process.
	// Default 200; below 0: no limit.
	MadePerDay int
	// CachedMembers bounds the rosters kept in RAM by their members in all (about
	// 150 bytes each). Default 1,000,000.
	CachedMembers int
	// Shared: other processes change groups in the same directory. A no is then
	// given after two small reads of it.
	Shared bool
	// Help drives what a group has promised, whoever promised it, and does not wait
	// for that.
	Help func(im.ConversationID)
	// Places is what Erase needs, All what All does.
	Places     Places
	All        Catalogue
	Registerer prometheus.Registerer
}

// Service is safe for concurrent use.
type Service struct {
	store     Store
	people    People
	doors     Doors
	outbox    Driver
	o         Options
	limits    atomic.Pointer[Limits]
	rosters   *rosters
	pace      pace
	adds      *quota.Quota
	strangers *quota.Quota
	askers    *quota.Quota
	made      *quota.Quota
	seed      maphash.Seed
	turns     [256]chan struct{}
	loads     prometheus.Counter
	retries   prometheus.Counter
}

// New makes a Service. store, people and doors are of one directory.
func New(store Store, people People, doors Doors, outbox Driver, o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = func(b []byte) { _, _ = rand.Read(b) } // never fails
	}
	if o.MaxMembers <= 0 {
		o.MaxMembers = 10_000
	}
	if o.MaxGroups <= 0 {
		o.MaxGroups = 1000
	}
	if o.AddsPerHour == 0 {
		o.AddsPerHour = 10_000
	}
	if o.StrangersPerDay == 0 {
		o.StrangersPerDay = 100
	}
	if o.MadePerDay == 0 {
		o.MadePerDay = 200
	}
	if o.Help == nil {
		o.Help = func(im.ConversationID) {}
	}
	if o.CachedMembers <= 0 {
		o.CachedMembers = 1_000_000
	}
	metrics := promauto.With(o.Registerer)
	s := &Service{
		store: store, people: people, doors: doors, outbox: outbox, o: o, seed: maphash.MakeSeed(),
		rosters: newRosters(o.CachedMembers), pace: newPace(pacedMembers), adds: quota.New(o.AddsPerHour, time.Hour), strangers: quota.New(o.StrangersPerDay, 24*time.Hour),
		askers: quota.New(o.StrangersPerDay, 24*time.Hour), made: quota.New(o.MadePerDay, 24*time.Hour),
		loads: metrics.NewCounter(prometheus.CounterOpts{
			Name: "skein_group_roster_loads_total",
			Help: "Rosters read from the directory because RAM had none.",
		}),
		retries: metrics.NewCounter(prometheus.CounterOpts{
			Name: "skein_group_change_retries_total",
			Help: "Roster changes decided again because the roster moved.",
		}),
	}
	s.limits.Store(&Limits{MaxMembers: o.MaxMembers, MaxGroups: o.MaxGroups, AddsPerHour: o.AddsPerHour, StrangersPerDay: o.StrangersPerDay, MadePerDay: o.MadePerDay})
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	return s
}

// Get returns a group to a member.
func (s *Service) Get(ctx context.Context, actor im.Actor, c im.ConversationID) (Group, error) {
	v, err := s.view(ctx, actor, c, nil)
	if err != nil {
		return Group{}, err
	}
	return v.Group, im.Authorize(v.Role, im.GroupRead, im.RoleNone)
}

// Members returns all current members, for the server's own use.
func (s *Service) Members(ctx context.Context, c im.ConversationID) ([]im.UserID, error) {
	var users []im.UserID
	if _, err := s.store.Roster(ctx, c, func(m Member, _ uint64) { users = append(users, m.User) }); err != nil {
		return nil, fmt.Errorf("members of %s: %w", c, err)
	}
	return users, nil
}

// view is a group at one revision, as a decision needs it.
type view struct {
	Group                        // Role is the actor's
	members map[im.UserID]Member // the actor and those asked for, if members; without Joined
	// by is what the change uses up: set by who decides.
	by im.JoinBy
}

func (v *view) roleOf(u im.UserID) im.Role { return v.members[u].Role }

func (s *Service) view(ctx context.Context, actor im.Actor, c im.ConversationID, users []im.UserID) (view, error) {
	if err := checkActor(actor); err != nil {
		return view{}, err
	}
	if c.Kind() != im.KindGroup {
		return view{}, im.Errorf(im.CodeNotFound, "no such group")
	}
	v, err := s.look(ctx, actor, c, users)
	if err != nil || v.Role != im.RoleNone {
		return v, err
	}
	if promised, err := s.isPromised(ctx, c, []im.UserID{actor.User}); err != nil || !promised {
		return v, err
	}
	if err := s.settle(ctx, c); err != nil {
		return view{}, im.Wrap(err, im.CodeUnavailable, "a change of the group is not done yet")
	}
	return s.look(ctx, actor, c, users)
}

func (s *Service) look(ctx context.Context, actor im.Actor, c im.ConversationID, users []im.UserID) (view, error) {
	asked := append([]im.UserID{actor.User}, users...)
	v := view{members: make(map[im.UserID]Member, len(asked))}
	if r := s.rosters.peek(c); r != nil {
		g, _, err := s.store.Group(ctx, c, nil)
		if err != nil {
			return view{}, fmt.Errorf("read group: %w", err)
		}
		if g.Rev == r.rev { // then the directory's members are those in RAM
			for _, u := range asked {
				if m := r.member(u); m.role != im.RoleNone {
					v.members[u] = m.member(u)
				}
			}
			v.Group, v.Role = g, v.members[actor.User].Role
			return v, nil
		}
	}
	g, members, err := s.store.Group(ctx, c, asked)
	if err != nil {
		return view{}, fmt.Errorf("read group: %w", err)
	}
	for _, m := range members {
		v.members[m.User] = m
	}
	v.Group, v.Role = g, v.members[actor.User].Role
	return v, nil
}

// change decides, promises and drives one roster change. decide returns nil
// when there is nothing to do. users are those it wants to see in the view.
func (s *Service) change(ctx context.Context, actor im.Actor, c im.ConversationID, users []im.UserID, decide func(v *view) (*im.Event, error)) error {
	done, err := s.turn(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	for range attempts {
		v, err := s.view(ctx, actor, c, users)
		if err != nil {
			return err
		}
		event, err := decide(&v)
		if event == nil || err != nil {
			return err
		}
		p := s.promise(c, actor.User, v.Rev, *event)
		accepted, err := s.promiseRoster(ctx, p, v.by)
		if err != nil {
			return fmt.Errorf("promise a roster change: %w", err)
		}
		if accepted {
			return unknown(s.drive(ctx, p))
		}
		s.retries.Inc()
		if err := s.settle(ctx, c); err != nil {
			return im.Wrap(err, im.CodeConflict, "another change of this group is not done yet")
		}
	}
	return im.Errorf(im.CodeConflict, "this group changes too fast just now")
}

func (s *Service) promiseRoster(ctx context.Context, p im.Promise, by im.JoinBy) (bool, error) {
	if by == (im.JoinBy{}) {
		return s.store.PromiseRoster(ctx, p)
	}
	return s.doors.PromiseJoin(ctx, p, by, s.o.Now())
}

// turn waits until no other change of the group runs in this process.
func (s *Service) turn(ctx context.Context, c im.ConversationID) (done func(), err error) {
	t := s.turns[maphash.String(s.seed, string(c))%uint64(len(s.turns))]
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, im.Wrap(ctx.Err(), im.CodeConflict, "another change of this group is not done yet")
	}
}

// settle drives what another operation left or is about to do.
func (s *Service) settle(ctx context.Context, c im.ConversationID) error {
	pending, err := s.store.PendingOf(ctx, c)
	if err != nil {
		return fmt.Errorf("promises of %s: %w", c, err)
	}
	for _, p := range pending {
		if err := s.drive(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) drive(ctx context.Context, p im.Promise) error {
	err := s.outbox.Drive(ctx, p)
	s.Refresh(p.Conversation) // also after an error: it may have been applied
	return err
}

func (s *Service) promise(c im.ConversationID, by im.UserID, rev uint64, e im.Event) im.Promise {
	var random [10]byte
	s.o.Random(random[:])
	return im.Promise{
		ID: im.NewMessageID(s.o.Now(), random), Conversation: c, Sender: by, Event: e,
		IfRoster: rev, SetRoster: rev + 1,
	}
}

// newConversation makes a group id that nobody can guess: 80 random bits.
func (s *Service) newConversation() im.ConversationID {
	var random [10]byte
	s.o.Random(random[:])
	return im.Group(strings.ToLower(base32.StdEncoding.EncodeToString(random[:])))
}

func (s *Service) tooMany() error {
	return im.Errorf(im.CodeTooLarge, "a group may have at most %d members", s.limits.Load().MaxMembers)
}

// unknown tells that a promised change was not seen done.
func unknown(err error) error {
	if err == nil {
		return nil
	}
	return im.Wrap(err, im.CodeUnknown, "the change was accepted but is not done yet; look again in a moment")
}

var errNoUser = errors.New("actor without a user")

func checkActor(actor im.Actor) error {
	if actor.User == "" {
		return im.Wrap(errNoUser, im.CodePermissionDenied, "this needs a user's own token")
	}
	return nil
}

// checkUsers accepts a list of users from outside, each once.
func checkUsers(users []im.UserID) ([]im.UserID, error) {
	if len(users) > MaxUsers {
		return nil, im.TooLarge("users", "may be at most %d in one call", MaxUsers)
	}
	seen := make(map[im.UserID]bool, len(users))
	kept := make([]im.UserID, 0, len(users))
	for _, u := range users {
		if _, err := im.ParseUserID(string(u)); err != nil {
			return nil, err
		}
		if !seen[u] {
			seen[u] = true
			kept = append(kept, u)
		}
	}
	return kept, nil
}

func without(users []im.UserID, u im.UserID) []im.UserID {
	kept := users[:0]
	for _, x := range users {
		if x != u {
			kept = append(kept, x)
		}
	}
	return kept
}
