package directorytest

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// secondFactor: a secret counts once it was confirmed; codes are used up once; what is
// taken away is gone with its codes and tickets.
func secondFactor(a *accounts) {
	ctx := a.Context()
	a.user("u1")
	_, err := a.db.SecondFactor(ctx, "u1")
	a.code(err, im.CodeNotFound)
	a.code(a.db.PutSecondFactor(ctx, "nobody", []byte("s"), start()), im.CodeNotFound)
	a.ok(a.db.PutSecondFactor(ctx, "u1", []byte("first"), start()))
	a.ok(a.db.PutSecondFactor(ctx, "u1", []byte("second"), start()))
	codes := [][]byte{[]byte("code 1"), []byte("code 2")}
	a.code(a.db.ActivateSecondFactor(ctx, "u1", []byte("first"), 7, codes), im.CodeConflict)
	if get(a.db.UserByName(ctx, "name_u1")).SecondFactor {
		a.Error("it counts before it was confirmed")
	}
	a.ok(a.db.ActivateSecondFactor(ctx, "u1", []byte("second"), 7, codes))
	a.code(a.db.ActivateSecondFactor(ctx, "u1", []byte("second"), 7, codes), im.CodeConflict)
	a.code(a.db.PutSecondFactor(ctx, "u1", []byte("third"), start()), im.CodeAlreadyExists)
	if f := get(a.db.SecondFactor(ctx, "u1")); !f.Active || string(f.Sealed) != "second" || f.Step != 7 || f.Recovery != 2 {
		a.Errorf("it is %+v", f)
	}
	if !get(a.db.UserByName(ctx, "name_u1")).SecondFactor || !get(a.db.UserCredentials(ctx, "u1")).SecondFactor {
		a.Error("it does not count")
	}
	fresh := im.SecondChange{Recovery: [][]byte{[]byte("code 3")}}
	a.code(a.db.ChangeSecondFactor(ctx, "u1", im.SecondStep{Step: 7}, fresh), im.CodeBadCredentials)
	a.code(a.db.ChangeSecondFactor(ctx, "u1", im.SecondStep{Recovery: []byte("code 3")}, fresh), im.CodeBadCredentials)
	a.ok(a.db.ChangeSecondFactor(ctx, "u1", im.SecondStep{Recovery: []byte("code 1")}, fresh))
	a.code(a.db.ChangeSecondFactor(ctx, "u1", im.SecondStep{Recovery: []byte("code 2")}, fresh), im.CodeBadCredentials)
	a.ok(a.db.ChangeSecondFactor(ctx, "u1", im.SecondStep{Step: 8}, im.SecondChange{Remove: true}))
	_, err = a.db.SecondFactor(ctx, "u1")
	a.code(err, im.CodeNotFound)
}

// secondSession: with an active second factor a session needs a ticket and a code, and
// uses both up, or neither.
func secondSession(a *accounts) {
	ctx := a.Context()
	u := a.user("u1")
	with := func(id string, ticket []byte, step *im.SecondStep) error {
		o := opening("u1", id)
		o.IfPasswordHash, o.Ticket, o.Second = u.PasswordHash, ticket, step
		return a.db.OpenSession(ctx, o)
	}
	a.ok(with("s1", nil, nil))
	a.ok(a.db.PutSecondFactor(ctx, "u1", []byte("s"), start()))
	a.ok(with("s2", nil, nil))
	a.ok(a.db.ActivateSecondFactor(ctx, "u1", []byte("s"), 7, [][]byte{[]byte("code 1")}))
	a.code(with("s3", nil, nil), im.CodeConflict)
	a.ok(a.db.OpenSession(ctx, opening("u1", "minted"))) // without a password
	ticket := func(name string) []byte {
		a.ok(a.db.PutTicket(ctx, im.Ticket{Hash: []byte(name), Kind: im.TicketLogin, User: "u1", Bound: "b", Tries: 2, Created: start(), Expires: start().Add(time.Minute)}, 8))
		return []byte(name)
	}
	one := ticket("t1")
	a.code(with("s4", one, &im.SecondStep{Step: 7}), im.CodeBadCredentials)
	a.ok(with("s5", one, &im.SecondStep{Step: 8}))
	a.code(with("s6", one, &im.SecondStep{Step: 9}), im.CodeConflict)
	a.ok(with("s7", ticket("t2"), &im.SecondStep{Recovery: []byte("code 1")}))
	a.code(with("s8", ticket("t3"), &im.SecondStep{Recovery: []byte("code 1")}), im.CodeBadCredentials)
	if got := len(get(a.db.Sessions(ctx, "u1", start()))); got != 5 {
		a.Errorf("%d sessions", got)
	}
}

// secondRaced: of a login with the password alone and the activation that races it, the
// login fails or came first; a code opens one session, however many come with it.
func secondRaced(a *accounts) {
	ctx := a.Context()
	u := a.user("u1")
	a.ok(a.db.PutSecondFactor(ctx, "u1", []byte("s"), start()))
	a.ok(a.db.ActivateSecondFactor(ctx, "u1", []byte("s"), 7, nil))
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		name := string(rune('a' + i))
		a.ok(a.db.PutTicket(ctx, im.Ticket{Hash: []byte(name), Kind: im.TicketLogin, User: "u1", Tries: 2, Created: start(), Expires: start().Add(time.Minute)}, 8))
		all.Go(func() {
			o := opening("u1", name)
			o.IfPasswordHash, o.Ticket, o.Second = u.PasswordHash, []byte(name), &im.SecondStep{Step: 8}
			errs[i] = a.db.OpenSession(ctx, o)
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		a.code(err, im.CodeBadCredentials)
	}
	if won != 1 {
		a.Errorf("one code opened %d sessions: %v", won, errs)
	}
}

// tickets: as many tries as they have, as long as they hold, the newest of a user's.
func tickets(a *accounts) {
	ctx := a.Context()
	a.user("u1")
	a.user("u2")
	put := func(user im.UserID, name string, kind im.TicketKind, after time.Duration, most int) {
		a.Helper()
		created := start().Add(after)
		a.ok(a.db.PutTicket(ctx, im.Ticket{Hash: []byte(name), Kind: kind, User: user, Bound: "hash", Flag: true, Tries: 2, Created: created, Expires: created.Add(time.Hour)}, most))
	}
	try := func(name string, kind im.TicketKind, at time.Time, want im.Code) im.Ticket {
		a.Helper()
		t, err := a.db.TryTicket(ctx, kind, []byte(name), at)
		a.code(err, want)
		return t
	}
	put("u1", "a", im.TicketLogin, 0, 2)
	put("u1", "b", im.TicketLogin, time.Second, 2)
	put("u2", "c", im.TicketLogin, 2*time.Second, 2)
	put("u1", "d", im.TicketReset, 3*time.Second, 1)
	put("u1", "e", im.TicketLogin, 4*time.Second, 2)
	try("a", im.TicketLogin, start(), im.CodeNotFound)
	try("d", im.TicketLogin, start(), im.CodeNotFound)
	if t := try("b", im.TicketLogin, start(), ""); t.User != "u1" || t.Bound != "hash" || !t.Flag || t.Tries != 1 || !t.Expires.Equal(start().Add(time.Second+time.Hour)) {
		a.Errorf("the ticket is %+v", t)
	}
	if t := get(a.db.Ticket(ctx, im.TicketLogin, []byte("b"), start())); t.Tries != 1 {
		a.Errorf("looking at it took a try: %+v", t)
	}
	try("b", im.TicketLogin, start(), "")
	try("b", im.TicketLogin, start(), im.CodeNotFound)
	try("c", im.TicketLogin, start().Add(2*time.Hour), im.CodeTooLate)
	try("d", im.TicketReset, start(), "")
}

// resetPassword: once, with all that ends by it.
func resetPassword(a *accounts) {
	ctx := a.Context()
	u := a.user("u1")
	a.ok(a.db.OpenSession(ctx, opening("u1", "s1")))
	a.ok(a.db.PutSecondFactor(ctx, "u1", []byte("s"), start()))
	a.ok(a.db.ActivateSecondFactor(ctx, "u1", []byte("s"), 7, [][]byte{[]byte("code")}))
	put := func(name string, kind im.TicketKind, flag bool) im.Ticket {
		t := im.Ticket{Hash: []byte(name), Kind: kind, User: "u1", Flag: flag, Tries: 1, Created: start(), Expires: start().Add(time.Hour)}
		a.ok(a.db.PutTicket(ctx, t, 8))
		return t
	}
	put("login", im.TicketLogin, false)
	reset := put("reset", im.TicketReset, false)
	ended, err := a.db.ResetPassword(ctx, reset, "another hash", start())
	a.ok(err)
	if len(ended) != 1 || ended[0] != "s1" {
		a.Errorf("it ended %v", ended)
	}
	if c := get(a.db.UserCredentials(ctx, "u1")); c.PasswordHash == u.PasswordHash || !c.SecondFactor {
		a.Errorf("the user is %+v", c)
	}
	_, err = a.db.ResetPassword(ctx, reset, "a third hash", start())
	a.code(err, im.CodeNotFound)
	_, err = a.db.TryTicket(ctx, im.TicketLogin, []byte("login"), start())
	a.code(err, im.CodeNotFound)
	_, err = a.db.ResetPassword(ctx, put("again", im.TicketReset, true), "a third hash", start())
	a.ok(err)
	if c := get(a.db.UserCredentials(ctx, "u1")); c.SecondFactor || c.PasswordHash != "a third hash" {
		a.Errorf("the user is %+v", c)
	}
}

// registrationLinks: how often, and as long as, they hold; a use is one step with the
// account.
func registrationLinks(a *accounts) {
	ctx := a.Context()
	put := func(id string, uses, most int) error {
		return a.db.PutRegistrationLink(ctx, im.RegistrationLink{ID: id, Hash: []byte("hash " + id), Note: "nöte", MaxUses: uses, Created: start(), Expires: start().Add(time.Hour)}, most)
	}
	a.ok(put("l1", 1, 2))
	a.ok(put("l2", 0, 2))
	a.code(put("l3", 0, 2), im.CodeTooLarge)
	join := func(name, link string) error {
		c := someone(name)
		o := opening(c.ID, "s-"+name)
		o.Create, o.Invitation = &c, []byte("hash "+link)
		return a.db.OpenSession(ctx, o)
	}
	a.ok(join("u1", "l1"))
	a.code(join("u2", "l1"), im.CodePermissionDenied)
	if _, err := a.db.UserCredentials(ctx, "u2"); im.CodeOf(err) != im.CodeNotFound {
		a.Errorf("a refused registration made a user: %v", err)
	}
	a.ok(join("u2", "l2"))
	a.code(join("u1", "l2"), im.CodeConflict) // the id; and it is no use
	if links := get(a.db.RegistrationLinks(ctx, start())); len(links) != 1 || links[0].ID != "l2" || links[0].Uses != 1 || links[0].Note != "nöte" || !links[0].Expires.Equal(start().Add(time.Hour)) {
		a.Errorf("the links are %+v", links)
	}
	for name, want := range map[string]bool{"hash l1": false, "hash l2": true, "hash l9": false} {
		if got := get(a.db.RegistrationLinkHolds(ctx, []byte(name), start())); got != want {
			a.Errorf("%s holds: %t", name, got)
		}
	}
	a.code(a.db.RevokeRegistrationLink(ctx, "l1", start()), im.CodeNotFound)
	a.code(a.db.RevokeRegistrationLink(ctx, "l2", start().Add(time.Hour)), im.CodeNotFound)
	a.ok(a.db.RevokeRegistrationLink(ctx, "l2", start()))
	a.code(join("u4", "l2"), im.CodePermissionDenied)
}
