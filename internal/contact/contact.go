// Package contact owns who is what to whom: requests, contacts, blocks and
// remarks, and the two questions that follow from them: who may write to whom
// in a direct chat (SPEC §5.7), and who may watch whose presence.
//
// A pair of users has two rows, one as each side sees it. Changes are decided
// here, inside the store's transaction that read both rows, and committed
// together with the promises of the notices for the me feeds. Every side whose
// state changed gets the notice, the one who acted as well, so that all devices
// of both learn of it: the entry's sender is who did it, Users is to whom. Of
// blocks and remarks the own devices of who made them are told, nobody else.
//
// Being blocked is never shown: a request to somebody who blocked the asker is
// kept on the asker's side only, and looks like any request without an answer.
// When the block is gone, asking again delivers it.
//
// A request that nobody answers ends by itself (Options.RequestsLast), for both
// sides: who reads it later reads that it is not there, and Sweep tells both feeds.
// Who was refused may ask again after a while, each time a longer one.
//
// Profiles are account's; here is who is told that one changed (Run): all contacts who did
// not block that user, in the background, a few at a time.
//
// Every change of a side has the next revision of its user, also one by which there
// is nothing to tell any more: so who knows the list as of a revision asks for what
// is other since.
//
// It must not know SQL, the journal or how notices travel.
//
// Goroutines: none. Locks: one per shard of the permission cache, never two
// at once, and nothing is called while one is held.
//
// Invariants:
//   - a change that returned is obeyed by every later MaySend of this Service, and
//     of those that share the store: at once when it lets write, when it does not
//     as soon as they are told (Options.Changed, Forget), after OpenFor at the latest;
//   - who may no longer watch is told to the gateways before the change returns;
//   - repeating any call changes nothing and gives no second notice.
package contact

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/quota"
)

// State is what another user is to the one who looks. The numbers are the contract's.
type State = im.ContactState

// The states.
const (
	Friend = im.ContactFriend
	Asked  = im.ContactAsked
	AsksMe = im.ContactAsksMe
	None   = im.ContactNone
)

// Contact is one side's view of a pair of users.
type Contact = im.Contact

// Limits of what users write, in characters.
const (
	MaxMessage = 200
	MaxRemark  = 64
	MaxTags    = 20
	MaxTag     = 32
)

// Bounds of the time in which who was refused may not ask again: it doubles with
// each refusal in a row.
const (
	FirstCoolDown = 24 * time.Hour
	MaxCoolDown   = 16 * 24 * time.Hour
)

// WithdrawnFor is how long who took a request back may not ask the same user again, unless
// Options.AskAgain says otherwise: each request is told, so that one who asks and withdraws
// by turns would fill their feed.
const WithdrawnFor = time.Hour

// goneFor is how long it is remembered that there is nothing to tell any more.
const goneFor = 90 * 24 * time.Hour

// Limits of a page of the list.
const (
	DefaultPage = 100
	MaxPage     = 500
)

// Store keeps both sides of every pair.
type Store interface {
	// UpdateContacts reads both sides of a pair and calls decide with them, in one
	// transaction; the sides as decide leaves them and the promises it returns are
	// committed together, each that is another one under its user's next revision.
	// A side without a row is {State: None}. decide may be called more than once. found
	// is false, and decide not called, when there is no user peer, or their account was
	// deleted. decide's error
	// is returned and nothing written.
	UpdateContacts(ctx context.Context, user, peer im.UserID, decide func(mine, theirs *im.Contact) ([]im.Promise, error)) (found bool, err error)
	// Contacts returns at most limit contacts, blocks, and requests made after lapsed
	// of a user, by user id, after one.
	Contacts(ctx context.Context, user, after im.UserID, lapsed time.Time, limit int) ([]im.Contact, error)
	// ContactsSince returns at most limit sides that changed after a revision, in the
	// order of their revisions, also those without anything to tell.
	ContactsSince(ctx context.Context, user im.UserID, revision uint64, limit int) ([]im.Contact, error)
	// ContactRevision returns a user's revision, and the one up to which it is forgotten
	// who has nothing to tell.
	ContactRevision(ctx context.Context, user im.UserID) (revision, floor uint64, err error)
	// KnownTo returns at most limit users of whom one keeps something in their list, or who
	// keep something of them.
	KnownTo(ctx context.Context, user im.UserID, limit int) ([]im.UserID, error)
	// Gate returns what decides whether from may write to to: from whom to takes
	// messages, and to's side of the pair. found is false when there is no user to.
	Gate(ctx context.Context, from, to im.UserID) (policy im.DMPolicy, side im.Contact, found bool, err error)
	Sweeper
}

// Sweeper removes what is over.
type Sweeper interface {
	// LapsedRequests returns some of the open requests that were made up to a time:
	// who asked, and whom.
	LapsedRequests(ctx context.Context, lapsed time.Time, limit int) ([][2]im.UserID, error)
	// PurgeContacts forgets some of the sides that have had nothing to tell since a
	// time, and whose users may ask again; more tells that there are more.
	PurgeContacts(ctx context.Context, before, now time.Time, limit int) (more bool, err error)
}

// PeopleStore knows what users show of themselves, and to whom.
type PeopleStore interface {
	// GuestMay tells whether one of two users is a guest, and whether they share a group. It
	// is asked about those alone whose ids say that they may be guests.
	GuestMay(ctx context.Context, a, b im.UserID) (guest, share bool, err error)
	// TellProfile has some of the contacts of one user told whose profile changed, the
	// first behind after: each gets the next revision of their list, and the promise of
	// notice. It returns who it was and the promises; "": there is nobody behind after.
	TellProfile(ctx context.Context, after im.UserID, limit int, notice func(owner, changed im.UserID) im.Promise) (changed im.UserID, told []im.Promise, err error)
	// MayWatch returns those of others, in any order, whose presence user may see.
	MayWatch(ctx context.Context, user im.UserID, others []im.UserID) ([]im.Watched, error)
	// ReadsHidden returns those of others between whom and user neither sees how far the
	// other has read.
	ReadsHidden(ctx context.Context, user im.UserID, others []im.UserID) ([]im.UserID, error)
	// NoteSeen keeps when users were there last.
	NoteSeen(ctx context.Context, seen []im.Watched) error
	// NoteWrote notes that a user wrote to another, who may answer; ForgetWrote that they may
	// not any more, and whether they might.
	NoteWrote(ctx context.Context, from, to im.UserID) error
	ForgetWrote(ctx context.Context, from, to im.UserID) (was bool, err error)
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
	// Control has the connections of users stop watching whom they may no longer
	// watch (im.Dispatch). It must not block.
	Control func(im.Control)
	// Shared: other processes change the same store. That a user may write is then
	// remembered for OpenFor only, that they may not is not remembered.
	Shared bool
	// OpenFor is how long a change by another process that nobody told of may stay
	// unknown. Default 1 min.
	OpenFor time.Duration
	// Changed is called when a change may have altered who may write to whom, for
	// the app to tell other processes, which call Forget: between a and b, or, with
	// b empty, to a. The change is answered when it returns: it may wait for the
	// others' word, a few seconds at most.
	Changed func(ctx context.Context, a, b im.UserID)
	// RequestsLast is how long a request is open. Default 30 days.
	RequestsLast time.Duration
	// RequestsPerDay is how many requests somebody may make in a day, counted by this
	// process. Default 100; below 0: no limit.
	RequestsPerDay int
	// AskAgain is how long who took a request back may not ask the same user again. Default
	// WithdrawnFor; below 0: they may at once.
	AskAgain time.Duration
	// CachedPairs bounds the permissions kept in RAM (about 150 bytes each).
	// Default 100,000.
	CachedPairs int
	// Lifetimes keeps after how long messages disappear; without it nobody sets that.
	Lifetimes LifetimeStore
}

// Service is safe for concurrent use.
type Service struct {
	store  Store
	people PeopleStore
	outbox Driver
	o      Options
	gates  *gates
	reads  reads
	asked  *quota.Quota // nil: there is no bound
	began  time.Time
	// news says that a profile changed. Capacity 1.
	news chan struct{}
}

// New makes a Service.
func New(store Store, people PeopleStore, outbox Driver, o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = func(b []byte) { _, _ = rand.Read(b) } // never fails
	}
	if o.Control == nil {
		o.Control = func(im.Control) {}
	}
	if o.Changed == nil {
		o.Changed = func(context.Context, im.UserID, im.UserID) {}
	}
	if o.OpenFor <= 0 {
		o.OpenFor = time.Minute
	}
	if o.RequestsLast <= 0 {
		o.RequestsLast = 30 * 24 * time.Hour
	}
	if o.AskAgain == 0 {
		o.AskAgain = WithdrawnFor
	}
	if o.RequestsPerDay == 0 {
		o.RequestsPerDay = 100
	}
	if o.CachedPairs <= 0 {
		o.CachedPairs = 100_000
	}
	s := &Service{store: store, people: people, outbox: outbox, o: o, gates: newGates(o.CachedPairs), reads: newReads(o.CachedPairs), began: o.Now(), news: make(chan struct{}, 1)}
	if o.RequestsPerDay > 0 {
		s.asked = quota.New(o.RequestsPerDay, 24*time.Hour)
	}
	return s
}

// Request asks a user to become a contact. If they have asked already, both
// become contacts. Message is shown to them. Who was refused, or took a request back, is
// told rate_limited until they may ask again, as is who made too many in a day.
func (s *Service) Request(ctx context.Context, actor im.Actor, user im.UserID, message string) (Contact, error) {
	if err := checkText("message", message, MaxMessage); err != nil {
		return Contact{}, err
	}
	counted := false
	return s.change(ctx, actor, user, func(mine, theirs *Contact) (event, error) {
		switch {
		case mine.State == Friend:
			return event{}, nil
		case mine.Blocked:
			return event{}, im.Errorf(im.CodePermissionDenied, "you blocked this user: unblock them first")
		case mine.State == AsksMe, theirs.State == Asked:
			return befriend(mine, theirs), nil
		}
		if mine.State != Asked {
			if wait := mine.AskAfter.Sub(s.o.Now()); wait > 0 {
				e := im.Errorf(im.CodeRateLimited, "this user refused, or the last request was taken back: ask again later")
				e.RetryAfter = wait
				return event{}, e
			}
			if s.asked != nil && !counted {
				if wait := s.asked.Take(actor.User, 1, s.o.Now()); wait > 0 {
					e := im.Errorf(im.CodeRateLimited, "you may ask %d users a day", s.o.RequestsPerDay)
					e.RetryAfter = wait
					return event{}, e
				}
				counted = true
			}
			mine.State, mine.Message, mine.Asked = Asked, message, s.o.Now()
		}
		if !theirs.Blocked && theirs.State == None {
			theirs.State, theirs.Message, theirs.Asked = AsksMe, mine.Message, mine.Asked
		}
		return event{kind: im.EventContactRequested, text: mine.Message}, nil
	})
}

// Accept answers a request: both become contacts.
func (s *Service) Accept(ctx context.Context, actor im.Actor, user im.UserID) (Contact, error) {
	return s.change(ctx, actor, user, func(mine, theirs *Contact) (event, error) {
		switch mine.State {
		case Friend:
			return event{}, nil
		case AsksMe:
			return befriend(mine, theirs), nil
		}
		return event{}, im.Errorf(im.CodeNotFound, "this user has not asked you")
	})
}

// Refuse answers a request with no: who asked may not ask again for a while. Without
// a request it does nothing.
func (s *Service) Refuse(ctx context.Context, actor im.Actor, user im.UserID) error {
	_, err := s.change(ctx, actor, user, func(mine, theirs *Contact) (event, error) {
		if mine.State != AsksMe {
			return event{}, nil
		}
		theirs.Refusals++
		theirs.AskAfter = s.o.Now().Add(coolDown(theirs.Refusals))
		return part(mine, theirs, im.EventContactRefused), nil
	})
	return err
}

// Remove ends a contact, or an open request of either, for both sides. What the caller wrote
// to the other is not answered any more without being contacts.
func (s *Service) Remove(ctx context.Context, actor im.Actor, user im.UserID) error {
	if err := s.noAnswers(ctx, actor, user); err != nil {
		return err
	}
	_, err := s.change(ctx, actor, user, func(mine, theirs *Contact) (event, error) {
		if mine.State == None {
			return event{}, nil
		}
		if again := s.o.Now().Add(s.o.AskAgain); s.o.AskAgain > 0 && mine.State == Asked && mine.AskAfter.Before(again) {
			mine.AskAfter = again
		}
		return part(mine, theirs, im.EventContactRemoved), nil
	})
	return err
}

// Block makes a user unable to write, ask or watch; they are not told. Their
// open request disappears from the caller's list, not from theirs. Contacts
// stay contacts.
func (s *Service) Block(ctx context.Context, actor im.Actor, user im.UserID) error {
	if err := s.noAnswers(ctx, actor, user); err != nil {
		return err
	}
	_, err := s.change(ctx, actor, user, func(mine, _ *Contact) (event, error) {
		mine.Blocked = true
		if mine.State == AsksMe {
			mine.State, mine.Message, mine.Asked = None, "", time.Time{}
		}
		return event{kind: im.EventContactBlocked, private: true}, nil
	})
	return err
}

// noAnswers has what the caller wrote to another not answered any more by that alone.
func (s *Service) noAnswers(ctx context.Context, actor im.Actor, user im.UserID) error {
	if err := checkPair(actor, user); err != nil {
		return err
	}
	was, err := s.people.ForgetWrote(ctx, actor.User, user)
	if was || err != nil { // a commit may have succeeded without our learning of it
		s.forget(actor.User, user)
		s.o.Changed(ctx, actor.User, user)
	}
	if err != nil {
		return fmt.Errorf("end that %s is answered by %s: %w", actor.User, user, err)
	}
	return nil
}

// Unblock takes a block back.
func (s *Service) Unblock(ctx context.Context, actor im.Actor, user im.UserID) error {
	_, err := s.change(ctx, actor, user, func(mine, _ *Contact) (event, error) {
		mine.Blocked = false
		return event{kind: im.EventContactUnblocked, private: true}, nil
	})
	return err
}

// SetRemark gives somebody of the caller's list a private alias; empty removes it.
func (s *Service) SetRemark(ctx context.Context, actor im.Actor, user im.UserID, remark string) error {
	if err := im.CheckName("remark", remark, 0, MaxRemark); err != nil {
		return err
	}
	_, err := s.change(ctx, actor, user, func(mine, _ *Contact) (event, error) {
		if mine.State == None && !mine.Blocked {
			return event{}, im.Errorf(im.CodeNotFound, "this user is not in your list")
		}
		mine.Remark = remark
		return event{kind: im.EventContactRemarked, text: remark, private: true}, nil
	})
	return err
}

// event is the notice of a change; the zero event is none.
type event struct {
	kind im.EventType
	text string
	// private: it is for the devices of the one who acts only.
	private bool
}

func befriend(mine, theirs *Contact) event {
	mine.State, theirs.State = Friend, Friend
	for _, side := range [...]*Contact{mine, theirs} {
		side.Message, side.Asked, side.AskAfter, side.Refusals = "", time.Time{}, time.Time{}, 0
	}
	return event{kind: im.EventContactAccepted}
}

func part(mine, theirs *Contact, kind im.EventType) event {
	mine.State, theirs.State = None, None
	mine.Message, theirs.Message = "", ""
	mine.Asked, theirs.Asked = time.Time{}, time.Time{}
	return event{kind: kind}
}

// coolDown is how long who was refused so often in a row may not ask again.
func coolDown(refusals int) time.Duration {
	return min(FirstCoolDown<<min(refusals-1, 10), MaxCoolDown)
}

// change runs a decision on both sides of a pair and drives the notices to
// those whose state it changed. What is committed is done: a notice that cannot
// be driven now comes later, by itself, and is no error of the change.
func (s *Service) change(ctx context.Context, actor im.Actor, user im.UserID, decide func(mine, theirs *Contact) (event, error)) (Contact, error) {
	if err := checkPair(actor, user); err != nil {
		return Contact{}, err
	}
	var mine Contact
	var notices []im.Promise
	var moved, sight bool
	found, err := s.store.UpdateContacts(ctx, actor.User, user, func(a, b *im.Contact) ([]im.Promise, error) {
		notices, moved, sight = nil, false, false
		wasA, wasB, now := *a, *b, s.o.Now()
		lapsed := s.lapse(a, now)
		lapsed = s.lapse(b, now) || lapsed
		ev, err := decide(a, b)
		if err != nil {
			return nil, err
		}
		if lapsed && ev.kind == 0 {
			ev.kind = im.EventContactExpired
		}
		clearGone(a)
		clearGone(b)
		changed := a.State != wasA.State || ev.private && *a != wasA
		if *a != wasA {
			a.Changed = now
		}
		if *b != wasB {
			b.Changed = now
		}
		if ev.kind != 0 && changed {
			notices = append(notices, s.notice(now, actor.User, actor.User, user, ev))
		}
		if ev.kind != 0 && !ev.private && b.State != wasB.State {
			notices = append(notices, s.notice(now, user, actor.User, user, ev))
		}
		mine = *a
		// A block is told again, however often it is made: the first word may have been lost.
		sight = a.Blocked || a.Blocked != wasA.Blocked || (a.State == Friend) != (wasA.State == Friend)
		moved = a.State != wasA.State || a.Blocked != wasA.Blocked || b.State != wasB.State || b.Blocked != wasB.Blocked
		return notices, nil
	})
	// Also after an error: a commit may have succeeded without our learning of it.
	s.forget(actor.User, user)
	if sight {
		s.lookAgain(actor.User, user)
	}
	if moved {
		s.o.Changed(ctx, actor.User, user)
	}
	if err != nil {
		return Contact{}, fmt.Errorf("change contact: %w", err)
	}
	if !found {
		return Contact{}, im.Errorf(im.CodeNotFound, "no such user")
	}
	for _, p := range notices {
		_ = s.outbox.Drive(ctx, p) // the outbox counts the failure and repeats it
	}
	return mine, nil
}

// lookAgain has the gateways look who of a pair may watch the other: at once nobody,
// until they asked MayWatch. A watch that was asked for before the change was committed
// is found by the Control, a later one is answered as it is now.
func (s *Service) lookAgain(a, b im.UserID) {
	s.o.Control(im.Control{User: b, Unwatch: a})
	s.o.Control(im.Control{User: a, Unwatch: b})
}

// notice is the promise of an entry in owner's feed: from did it to to.
func (s *Service) notice(now time.Time, owner, from, to im.UserID, ev event) im.Promise {
	var random [10]byte
	s.o.Random(random[:])
	return im.Promise{
		ID:           im.NewMessageID(now, random),
		Conversation: im.Me(owner),
		Sender:       from,
		Event:        im.Event{Type: ev.kind, Users: []im.UserID{to}, Text: ev.text},
	}
}

// lapse ends a request that nobody answered in time, and tells whether it did.
func (s *Service) lapse(c *Contact, now time.Time) bool {
	if c.State != Asked && c.State != AsksMe || c.Asked.After(now.Add(-s.o.RequestsLast)) {
		return false
	}
	c.State, c.Message, c.Asked = None, "", time.Time{}
	return true
}

// clearGone takes away what a user keeps of somebody who is in their list no more.
func clearGone(c *Contact) {
	if c.State == None && !c.Blocked {
		c.Remark, c.Tags = "", ""
	}
}

func checkActor(actor im.Actor) error {
	if actor.User == "" {
		return im.Errorf(im.CodePermissionDenied, "this needs a user's own token")
	}
	return nil
}

func checkPair(actor im.Actor, user im.UserID) error {
	if err := checkActor(actor); err != nil {
		return err
	}
	if _, err := im.ParseUserID(string(user)); err != nil {
		return err
	}
	if user == actor.User {
		e := im.Errorf(im.CodePermissionDenied, "user is yourself") // a user like others, but not for this caller
		e.Field = "user"
		return e
	}
	return nil
}

func checkText(field, s string, limit int) error {
	if !utf8.ValidString(s) {
		return im.Wrong(field, "is not UTF-8")
	}
	if strings.IndexByte(s, 0) >= 0 { // which not every database keeps in a text
		return im.Wrong(field, "has a character NUL")
	}
	if utf8.RuneCountInString(s) > limit {
		return im.TooLarge(field, "may have at most %d characters", limit)
	}
	return nil
}
