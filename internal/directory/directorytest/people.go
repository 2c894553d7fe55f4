package directorytest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
)

// peopleCase is a test of RunPeople.
type peopleCase struct {
	name string
	test func(*people)
}

// RunPeople checks an engine's contacts, groups, memberships and outbox. open
// makes an empty directory that is closed when the test ends.
func RunPeople(t *testing.T, open func(t *testing.T) *directory.DB) {
	for _, c := range slices.Concat(pushCases(), []peopleCase{
		{"ContactSides", contactSides},
		{"ContactDecisionFails", contactDecisionFails},
		{"ContactOfUnknownUser", contactOfUnknownUser},
		{"ContactPages", contactPages},
		{"ContactGate", contactGate},
		{"ContactRevisions", contactRevisions},
		{"ContactsLapse", contactsLapse},
		{"SearchUsers", searchUsers},
		{"SearchWhoMayFind", searchWhoMayFind},
		{"MayWatch", mayWatch},
		{"ReadsHidden", readsHidden},
		{"LastSeen", lastSeen},
		{"Profile", profile},
		{"PicturesOfPeople", picturesOfPeople},
		{"ProfileNews", profileNews},
		{"ProfileNewsRaced", profileNewsRaced},
		{"ContactChangesAreSerial", contactChangesAreSerial},
		{"OutboxOrder", outboxOrder},
		{"OutboxApplyTwice", outboxApplyTwice},
		{"OutboxKeepsEvents", outboxKeepsEvents},
		{"OneRosterPromise", oneRosterPromise},
		{"OneRosterPromiseRaced", oneRosterPromiseRaced},
		{"ApplyAtWrongRevision", applyAtWrongRevision},
		{"ApplyUnknownEvent", applyUnknownEvent},
		{"ApplyWithoutPromise", applyWithoutPromise},
		{"GroupRequestID", groupRequestID},
		{"GroupRequestIDRaced", groupRequestIDRaced},
		{"GroupLife", groupLife},
		{"AllGroups", allGroups},
		{"GroupBoundsOfReading", groupBoundsOfReading},
		{"GroupPages", groupPages},
		{"GroupSearch", groupSearch},
		{"GroupOfThousands", groupOfThousands},
		{"GroupRevisions", groupRevisions},
		{"GroupRestored", groupRestored},
		{"GroupRestoredFromNothing", groupRestoredFromNothing},
		{"GroupRestoredAtWrongRevision", groupRestoredAtWrongRevision},
		{"GroupSettings", groupSettings},
		{"HistoryForNewMembers", historyForNewMembers},
		{"TakenID", takenID},
		{"Invitations", invitations},
		{"InvitationsAreBounded", invitationsAreBounded},
		{"Bans", bans},
		{"Links", links},
		{"LinkRaced", linkRaced},
		{"Requests", requests},
		{"Scheduled", scheduled},
		{"Timers", timers},
		{"Lifetimes", lifetimes},
		{"Retention", retention},
		{"Stickers", stickers},
		{"MostPacks", mostPacks},
		{"Uploads", uploads},
		{"BlobsDoomed", blobsDoomed},
		{"UploadQuotas", uploadQuotas},
		{"MediaNames", mediaNames},
		{"MediaRaced", mediaRaced},
		{"Addable", addable},
		{"OpenDM", openDM},
		{"EveryWindowIsKept", everyWindowIsKept},
		{"WindowsAfterALoss", windowsAfterALoss},
		{"Followers", followers},
		{"FollowerRaced", followerRaced},
		{"SetAside", setAside},
		{"KeyedCalls", keyedCalls},
		{"KeyedCallRaced", keyedCallRaced},
		{"KeyedCallsAreBounded", keyedCallsAreBounded},
		{"PromisedPlaces", promisedPlaces},
		{"PlacesFollowChanges", placesFollowChanges},
		{"PlacesReadWhileTheyChange", placesReadWhileTheyChange},
	}) {
		t.Run(c.name, func(t *testing.T) {
			c.test(&people{T: t, db: open(t), ctx: t.Context()})
		})
	}
}

// people is an engine under test with short words for what the tests do.
type people struct {
	*testing.T
	db  *directory.DB
	ctx context.Context
	n   int
}

// at is the time everything happens at.
var at = time.UnixMilli(1_700_000_000_000)

func (p *people) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func equal[T any](p *people, what string, got, want T) {
	p.Helper()
	if !reflect.DeepEqual(got, want) {
		p.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func (p *people) users(ids ...im.UserID) {
	p.Helper()
	for _, id := range ids {
		p.ok(p.db.CreateUser(p.ctx, im.Credentials{User: im.User{ID: id, DisplayName: string(id), DMPolicy: im.DMContacts, Created: at}}))
	}
}

func (p *people) promise(c im.ConversationID, by im.UserID, e im.Event) im.Promise {
	p.n++
	return im.Promise{ID: im.NewMessageID(at, [10]byte{0, 0, 0, byte(p.n >> 8), byte(p.n)}), Conversation: c, Sender: by, Event: e}
}

// pair writes both sides of a pair as given.
func (p *people) pair(mine, theirs im.Contact, promises ...im.Promise) {
	p.Helper()
	found, err := p.db.UpdateContacts(p.ctx, theirs.User, mine.User, func(a, b *im.Contact) ([]im.Promise, error) {
		*a, *b = mine, theirs
		return promises, nil
	})
	p.ok(err)
	if !found {
		p.Fatal("a user is missing")
	}
}

func (p *people) list(u im.UserID) []im.Contact {
	p.Helper()
	list, err := p.db.Contacts(p.ctx, u, "", time.Time{}, 1000)
	p.ok(err)
	return list
}

func (p *people) pending() []im.Promise {
	p.Helper()
	ps, _, err := p.db.Pending(p.ctx, 0, 1000)
	p.ok(err)
	return ps
}

// group makes a group at revision 1; its entry has seq 1.
func (p *people) group(c im.ConversationID, name string, members ...im.UserID) {
	p.Helper()
	e := p.promise(c, members[0], im.Event{Type: im.EventGroupCreated, Users: members, Text: name})
	e.SetRoster = 1
	_, err := p.db.CreateGroup(p.ctx, im.GroupInfo{Conversation: c, Name: name, Owner: members[0], Created: at}, "", e)
	p.ok(err)
	p.ok(p.db.Apply(p.ctx, e, 1))
}

// change takes a group from a revision to the next, with an entry at seq.
func (p *people) change(c im.ConversationID, by im.UserID, rev, seq uint64, e im.Event) {
	p.Helper()
	pr := p.promise(c, by, e)
	pr.IfRoster, pr.SetRoster = rev, rev+1
	accepted, err := p.db.PromiseRoster(p.ctx, pr)
	p.ok(err)
	if !accepted {
		p.Fatalf("promise at revision %d was not accepted", rev)
	}
	p.ok(p.db.Apply(p.ctx, pr, seq))
}

func (p *people) roster(c im.ConversationID) (uint64, map[im.UserID]im.Role) {
	p.Helper()
	roles := make(map[im.UserID]im.Role)
	g, err := p.db.Roster(p.ctx, c, func(m im.Member, _ uint64) { roles[m.User] = m.Role })
	p.ok(err)
	return g.Rev, roles
}

func (p *people) membership(u im.UserID, c im.ConversationID) im.Membership {
	p.Helper()
	m, found, err := p.db.Membership(p.ctx, u, c)
	p.ok(err)
	if !found {
		p.Fatalf("%s has no place in %s", u, c)
	}
	return m
}

func contactSides(p *people) {
	p.users("a", "b")
	mine := im.Contact{User: "b", State: im.ContactAsked, Remark: "bee", Tags: "tea\nwork", Message: "hi '\"; --", Asked: at, AskAfter: at.Add(time.Hour), Refusals: 2, Changed: at}
	theirs := im.Contact{User: "a", State: im.ContactAsksMe, Blocked: true, Message: "hi", Asked: at, Changed: at}
	p.pair(mine, theirs)
	mine.Revision, theirs.Revision = 1, 1
	equal(p, "a's list", p.list("a"), []im.Contact{mine})
	equal(p, "b's list", p.list("b"), []im.Contact{theirs})
	_, err := p.db.UpdateContacts(p.ctx, "b", "a", func(a, b *im.Contact) ([]im.Promise, error) {
		equal(p, "b's own side", *a, theirs)
		equal(p, "the other side", *b, mine)
		*b = im.Contact{User: "b", State: im.ContactNone}
		return nil, nil
	})
	p.ok(err)
	equal(p, "a's list when there is nothing to tell", p.list("a"), nil)
	equal(p, "b's list", p.list("b"), []im.Contact{theirs})
}

func contactDecisionFails(p *people) {
	p.users("a", "b")
	no := im.Errorf(im.CodePermissionDenied, "no")
	found, err := p.db.UpdateContacts(p.ctx, "a", "b", func(a, b *im.Contact) ([]im.Promise, error) {
		equal(p, "a side without a row", *a, im.Contact{User: "b", State: im.ContactNone})
		a.State, b.Blocked = im.ContactFriend, true
		return []im.Promise{p.promise(im.Me("b"), "a", im.Event{})}, no
	})
	if !found || !errors.Is(err, no) {
		p.Fatal(found, err)
	}
	equal(p, "lists", append(p.list("a"), p.list("b")...), nil)
	equal(p, "promises", p.pending(), nil)
}

func contactOfUnknownUser(p *people) {
	p.users("a")
	for _, pair := range [][2]im.UserID{{"a", "ghost"}, {"ghost", "a"}} {
		found, err := p.db.UpdateContacts(p.ctx, pair[0], pair[1], func(_, _ *im.Contact) ([]im.Promise, error) {
			p.Fatal("decide was called")
			return nil, nil
		})
		p.ok(err)
		equal(p, "found", found, false)
	}
}

func contactPages(p *people) {
	p.users("me", "A", "Z", "a", "b", "z")
	for _, u := range []im.UserID{"z", "a", "Z", "b", "A"} {
		p.pair(im.Contact{User: u, State: im.ContactFriend, Changed: at}, im.Contact{User: "me", State: im.ContactFriend, Changed: at})
	}
	var got []im.UserID
	for after := im.UserID(""); ; {
		page, err := p.db.Contacts(p.ctx, "me", after, time.Time{}, 2)
		p.ok(err)
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			got = append(got, c.User)
		}
		after = got[len(got)-1]
	}
	equal(p, "order", got, []im.UserID{"A", "Z", "a", "b", "z"})
}

func contactGate(p *people) {
	p.users("a", "b")
	gate := func(from, to im.UserID) string {
		policy, side, found, err := p.db.Gate(p.ctx, from, to)
		p.ok(err)
		return fmt.Sprintf("policy=%v state=%d blocked=%v found=%v", policy, side.State, side.Blocked, found)
	}
	equal(p, "strangers", gate("a", "b"), "policy=1 state=4 blocked=false found=true")
	p.pair(im.Contact{User: "b", State: im.ContactFriend}, im.Contact{User: "a", State: im.ContactFriend, Blocked: true})
	equal(p, "to one who blocks", gate("a", "b"), "policy=1 state=1 blocked=true found=true")
	equal(p, "to one who is blocked", gate("b", "a"), "policy=1 state=1 blocked=false found=true")
	_, err := p.db.UpdateUser(p.ctx, "a", im.ProfileChange{DM: im.DMEveryone})
	p.ok(err)
	equal(p, "to one who takes all", gate("b", "a"), "policy=2 state=1 blocked=false found=true")
	wrote := func(from, to im.UserID) string {
		_, side, _, err := p.db.Gate(p.ctx, from, to)
		p.ok(err)
		return fmt.Sprintf("answer=%v wrote=%v", side.Answer, side.Wrote)
	}
	p.ok(p.db.NoteWrote(p.ctx, "a", "b"))
	p.ok(p.db.NoteWrote(p.ctx, "a", "b"))
	p.ok(p.db.NoteWrote(p.ctx, "a", "ghost"))
	equal(p, "who wrote", wrote("a", "b"), "answer=false wrote=true")
	equal(p, "who was written to", wrote("b", "a"), "answer=true wrote=false")
	for _, want := range []bool{true, false} {
		was, err := p.db.ForgetWrote(p.ctx, "a", "b")
		p.ok(err)
		equal(p, "it was noted", was, want)
	}
	equal(p, "who wrote before", wrote("a", "b"), "answer=false wrote=false")
	_, _, found, err := p.db.Gate(p.ctx, "a", "ghost")
	p.ok(err)
	equal(p, "nobody", found, false)
}

// Decisions about one pair see each other's outcome, from either side.
func contactChangesAreSerial(p *people) {
	p.users("a", "b")
	const each = 10
	var wg sync.WaitGroup
	for _, pair := range [][2]im.UserID{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			for range each {
				_, err := p.db.UpdateContacts(p.ctx, pair[0], pair[1], func(a, b *im.Contact) ([]im.Promise, error) {
					a.State, b.State = im.ContactFriend, im.ContactFriend
					a.Message += "x"
					b.Message += "x"
					return nil, nil
				})
				if err != nil {
					p.Error(err)
				}
			}
		})
	}
	wg.Wait()
	equal(p, "changes seen", len(p.list("a")[0].Message), 2*each)
}

func outboxOrder(p *people) {
	p.users("a", "b")
	var all []im.Promise
	for i := range 5 {
		// The ids run against the order, to show that they do not decide it.
		pr := p.promise(im.Me([]im.UserID{"a", "b"}[i%2]), "a", im.Event{Type: im.EventContactRequested, Text: fmt.Sprint(i)})
		pr.ID[15] = byte(200 - i)
		all = append(all, pr)
	}
	p.pair(im.Contact{User: "b", State: im.ContactFriend}, im.Contact{User: "a", State: im.ContactFriend}, all[:3]...)
	p.pair(im.Contact{User: "b", State: im.ContactFriend}, im.Contact{User: "a", State: im.ContactFriend}, all[3:]...)
	equal(p, "all", p.pending(), all)
	first, place, err := p.db.Pending(p.ctx, 0, 2)
	p.ok(err)
	rest, _, err := p.db.Pending(p.ctx, place, 100)
	p.ok(err)
	equal(p, "pages", append(first, rest...), all)
	of, err := p.db.PendingOf(p.ctx, im.Me("b"))
	p.ok(err)
	equal(p, "b's", of, []im.Promise{all[1], all[3]})

	// A promise made after others were applied still comes last.
	p.ok(p.db.Apply(p.ctx, all[4], 1))
	p.ok(p.db.Apply(p.ctx, all[0], 1))
	late := p.promise(im.Me("a"), "a", im.Event{Type: im.EventContactRemoved})
	p.pair(im.Contact{User: "b", State: im.ContactFriend}, im.Contact{User: "a", State: im.ContactFriend}, late)
	equal(p, "left", p.pending(), append(slices.Clone(all[1:4]), late))
}

func outboxApplyTwice(p *people) {
	p.group("grp:g", "g", "o", "m")
	p.change("grp:g", "o", 1, 5, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"m"}})
	gone := p.membership("m", "grp:g")
	again := p.promise("grp:g", "o", im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"m", "n"}})
	again.IfRoster, again.SetRoster = 2, 3
	accepted, err := p.db.PromiseRoster(p.ctx, again)
	p.ok(err)
	equal(p, "accepted", accepted, true)
	equal(p, "before it is applied", p.membership("m", "grp:g"), gone)
	for range 2 {
		p.ok(p.db.Apply(p.ctx, again, 9))
	}
	p.change("grp:g", "o", 3, 12, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"n"}})
	p.ok(p.db.Apply(p.ctx, again, 9)) // long after: must not bring n back
	rev, roles := p.roster("grp:g")
	equal(p, "revision", rev, 4)
	equal(p, "roster", roles, map[im.UserID]im.Role{"o": im.RoleOwner, "m": im.RoleMember})
	equal(p, "m", p.membership("m", "grp:g"), im.Membership{Conversation: "grp:g", First: 9, Title: "g", Earlier: []im.Window{{First: 1, Until: 5}}})
	equal(p, "promises", p.pending(), nil)
}

func outboxKeepsEvents(p *people) {
	p.group("grp:g", "g", "o", "m")
	pr := p.promise("grp:g", "o", im.Event{Type: im.EventMemberMuted, Users: []im.UserID{"m"}, Role: im.RoleAdmin, Until: at.UTC(), Text: "因为 \"x\""})
	pr.IfRoster, pr.SetRoster = 1, 2
	_, err := p.db.PromiseRoster(p.ctx, pr)
	p.ok(err)
	equal(p, "promise", p.pending(), []im.Promise{pr})
}
