// Package directorytest is what every engine of the directory must pass. It
// uses the directory as the business packages do, and knows no engine.
package directorytest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
)

// Run checks an engine. open makes an empty directory that is closed when the
// test ends.
func Run(t *testing.T, open func(t *testing.T) *directory.DB) {
	t.Run("Accounts", func(t *testing.T) { RunAccounts(t, open) })
	t.Run("People", func(t *testing.T) { RunPeople(t, open) })
}

// RunAccounts checks an engine's users, sessions, tokens and claims.
func RunAccounts(t *testing.T, open func(t *testing.T) *directory.DB) {
	for _, c := range []struct {
		name string
		test func(*accounts)
	}{
		{"UserRoundTrip", userRoundTrip},
		{"UserConflicts", userConflicts},
		{"UserNameRaced", userNameRaced},
		{"ManyUsers", manyUsers},
		{"UserPages", userPages},
		{"UpdateUser", updateUser},
		{"ReplacePasswordHash", replacePasswordHash},
		{"ChangePassword", changePassword},
		{"Claim", claim},
		{"ClaimRaced", claimRaced},
		{"ClaimOffered", claimOffered},
		{"ClaimOfferRaced", claimOfferRaced},
		{"OpenSession", openSession},
		{"OpenSessionRefused", openSessionRefused},
		{"OpenSessionKeepsExisting", openSessionKeepsExisting},
		{"TokenRoundTrip", tokenRoundTrip},
		{"BindDevice", bindDevice},
		{"BindDeviceRaced", bindDeviceRaced},
		{"RotateTokens", rotateTokens},
		{"RotateTokensRaced", rotateTokensRaced},
		{"SessionsSeen", sessionsSeen},
		{"HadDevice", hadDevice},
		{"LooksLike", looksLike},
		{"ListSessions", listSessions},
		{"EndSessions", endSessions},
		{"EndSessionsRaced", endSessionsRaced},
		{"PurgeSessions", purgeSessions},
		{"PurgeIsBounded", purgeIsBounded},
		{"ReadsOwnWrites", readsOwnWrites},
		{"SecondFactor", secondFactor},
		{"SecondSession", secondSession},
		{"SecondRaced", secondRaced},
		{"Tickets", tickets},
		{"ResetPassword", resetPassword},
		{"RegistrationLinks", registrationLinks},
		{"Guests", guests},
		{"Erasure", erasure},
		{"ErasureSteps", erasureSteps},
		{"ServerRoles", serverRoles},
		{"ServerRolesRaced", serverRolesRaced},
		{"Barred", barred},
		{"AccountsListed", accountsListed},
		{"AuditLog", auditLog},
		{"SignInsAreWritten", signInsAreWritten},
		{"Reports", reports},
		{"ServerSettings", serverSettings},
		{"ServerLists", serverLists},
		{"FilterReports", filterReports},
		{"Queues", queues},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(&accounts{T: t, db: open(t)}) })
	}
}

// start is when the tests begin, in whole milliseconds as a directory keeps them.
func start() time.Time { return time.UnixMilli(1_700_000_000_123) }

// accounts is an engine under test with short words for what the tests do.
type accounts struct {
	*testing.T
	db *directory.DB
}

func (a *accounts) ok(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *accounts) code(err error, code im.Code) {
	a.Helper()
	if im.CodeOf(err) != code {
		a.Errorf("got %v, want %q", err, code)
	}
}

// get unwraps what must succeed.
func get[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func someone(id string) im.Credentials {
	return im.Credentials{PasswordHash: "hash of " + id, User: im.User{
		ID: im.UserID(id), Username: "name_" + id, DisplayName: "Ünï " + id, DMPolicy: im.DMContacts, Created: start(),
	}}
}

func (a *accounts) user(id string) im.Credentials {
	a.Helper()
	c := someone(id)
	a.ok(a.db.CreateUser(a.Context(), c))
	return c
}

func hashOf(s string) (h im.TokenHash) {
	copy(h[:], fmt.Sprintf("%032s", s))
	return h
}

// opening is a session with an access and a refresh token named after it.
func opening(user im.UserID, id string) im.SessionOpening {
	return im.SessionOpening{
		Session: im.Session{
			ID: im.SessionID(id), User: user, Device: im.Device{ID: "d-" + id, Class: im.DeviceWeb, Name: "näme"},
			Client: "c/1", Created: start(), LastSeen: start(), LastAddress: "192.0.2.1",
		},
		Expires: start().Add(2 * time.Hour),
		Tokens: []im.Token{
			{Hash: hashOf("a" + id), Kind: im.TokenAccess, Created: start(), Expires: start().Add(time.Hour)},
			{Hash: hashOf("r" + id), Kind: im.TokenRefresh, Created: start(), Expires: start().Add(2 * time.Hour)},
		},
	}
}

func (a *accounts) session(user im.UserID, id string) im.SessionOpening {
	a.Helper()
	o := opening(user, id)
	a.ok(a.db.OpenSession(a.Context(), o))
	return o
}

// ended reports whether a session has ended, by one of its tokens.
func (a *accounts) ended(id string) bool {
	a.Helper()
	return !get(a.db.TokenByHash(a.Context(), hashOf("a"+id))).Ended.IsZero()
}

// once runs fn n times at once; one must succeed and all others get the code.
func (a *accounts) once(n int, code im.Code, fn func(i int) error) (winner int) {
	a.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = fn(i) })
	}
	all.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won, winner = won+1, i
		default:
			a.code(err, code)
		}
	}
	if won != 1 {
		a.Errorf("%d won, want 1", won)
	}
	return winner
}

func sameUser(a, b im.User) bool {
	return a.Is(&b) && a.ID == b.ID && a.Role == b.Role && a.Barred == b.Barred && a.Created.Equal(b.Created)
}

func sameSession(a, b im.Session) bool {
	times := a.Created.Equal(b.Created) && a.LastSeen.Equal(b.LastSeen)
	a.Created, a.LastSeen = b.Created, b.LastSeen
	return times && a == b
}
