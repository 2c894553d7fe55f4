package directorytest

import (
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// erasure: an account that is deleted is nobody's: nothing says who it was, no session
// lives or is opened, the name is held, and of two administrators one stays.
func erasure(a *accounts) {
	ctx := a.Context()
	u := a.user("u1")
	a.session("u1", "s1")
	admin, other := someone("root"), someone("boss")
	admin.Role, other.Role = im.ServerOwner, im.ServerOwner
	a.ok(a.db.CreateUser(ctx, admin))
	order := im.ErasureOrder{User: "u1", At: start().Add(time.Minute)}

	missing := order
	missing.User = "nobody"
	_, _, err := a.db.BeginErasure(ctx, missing)
	a.code(err, im.CodeNotFound)
	changed := order
	changed.IfPasswordHash = "another"
	_, _, err = a.db.BeginErasure(ctx, changed)
	a.code(err, im.CodeConflict)
	last := order
	last.User = "root"
	_, _, err = a.db.BeginErasure(ctx, last)
	a.code(err, im.CodePermissionDenied)

	// A name of theirs of before, which is held for longer than that of now.
	_, err = a.db.Rename(ctx, im.Renaming{User: "u1", Name: "between", At: start(), Hold: im.NameHeld + time.Hour})
	a.ok(err)
	_, err = a.db.Rename(ctx, im.Renaming{User: "u1", Name: u.Username, At: start(), Hold: im.NameHeld + time.Hour})
	a.ok(err)
	a.ok(a.db.PutSecondFactor(ctx, "u1", []byte("s"), start()))
	a.ok(a.db.ActivateSecondFactor(ctx, "u1", []byte("s"), 7, [][]byte{[]byte("code")}))
	own := order
	own.IfPasswordHash = u.PasswordHash
	_, _, err = a.db.BeginErasure(ctx, own)
	a.code(err, im.CodeConflict)
	own.Second = &im.SecondStep{Step: 7}
	_, _, err = a.db.BeginErasure(ctx, own)
	a.code(err, im.CodeBadCredentials)
	own.Second = &im.SecondStep{Recovery: []byte("code")}
	e, ended, err := a.db.BeginErasure(ctx, own)
	a.ok(err)
	if !slices.Equal(ended, []im.SessionID{"s1"}) || e.User != "u1" || e.Messages || !e.Begun.Equal(order.At) || !e.Done.IsZero() {
		a.Errorf("begun: %+v, ended %v", e, ended)
	}
	a.gone("u1", "s1")

	taken := someone("u9")
	taken.Username = u.Username
	a.code(a.db.CreateUser(ctx, taken), im.CodeAlreadyExists)
	former := someone("u8")
	former.Username, former.Created = "between", order.At
	a.code(a.db.CreateUser(ctx, former), im.CodeAlreadyExists)
	taken.Created = order.At.Add(im.NameHeld + time.Hour)
	a.ok(a.db.CreateUser(ctx, taken))
	former.Created = taken.Created
	a.ok(a.db.CreateUser(ctx, former))

	a.ok(a.db.CreateUser(ctx, other))
	// Two administrators who delete each other at once: one stays.
	a.once(2, im.CodePermissionDenied, func(i int) error {
		_, _, err := a.db.BeginErasure(ctx, im.ErasureOrder{User: []im.UserID{"root", "boss"}[i], At: order.At})
		return err
	})
}

// gone checks that nothing is known of a user, and that nobody comes in as they.
func (a *accounts) gone(id im.UserID, session string) {
	a.Helper()
	ctx := a.Context()
	c := get(a.db.UserCredentials(ctx, id))
	if !c.Deleted || c.Username != "" || c.DisplayName != im.DeletedName || c.PasswordHash != "" || c.Role != im.ServerUser || c.SecondFactor || c.Profile.About != "" || c.DMPolicy != im.DMNobody {
		a.Errorf("a deleted user is %+v", c)
	}
	_, err := a.db.UserByName(ctx, "name_"+string(id))
	a.code(err, im.CodeNotFound)
	t := get(a.db.TokenByHash(ctx, hashOf("a"+session)))
	if !t.Deleted || t.Ended.IsZero() || t.Session.LastAddress != "" || t.Session.Device.Name != "" || t.Session.Client != "" {
		a.Errorf("a token of theirs: %+v", t)
	}
	a.code(a.db.OpenSession(ctx, opening(id, "late")), im.CodeAccountDeleted)
	minted, again := opening(id, "minted"), someone(string(id))
	again.Username = ""
	minted.Create, minted.KeepExisting = &again, true
	a.code(a.db.OpenSession(ctx, minted), im.CodeAccountDeleted)
	// Who began before, and comes to it now, brings nothing back.
	name := "Back again"
	_, err = a.db.UpdateUser(ctx, id, im.ProfileChange{DisplayName: &name})
	a.code(err, im.CodeAccountDeleted)
	a.code(a.db.PutSecondFactor(ctx, id, []byte("late"), start()), im.CodeAccountDeleted)
	reset := im.Ticket{Hash: []byte("late"), Kind: im.TicketReset, User: id, Tries: 1, Created: start(), Expires: start().Add(time.Hour)}
	a.code(a.db.PutTicket(ctx, reset, 1), im.CodeAccountDeleted)
	_, err = a.db.ResetPassword(ctx, reset, "hash", start())
	a.code(err, im.CodeAccountDeleted)
	if found := get(a.db.SearchUsers(ctx, im.UserSearch{Prefix: "d", Names: true, Limit: 10})); len(found) != 0 {
		a.Errorf("a search finds %+v", found)
	}
	if can := get(a.db.Addable(ctx, "root", []im.UserID{id})); len(can) != 0 {
		a.Errorf("a group may add them: %+v", can)
	}
	if _, _, found, err := a.db.Gate(ctx, id, "root"); found || err != nil {
		a.Errorf("they may write: %v, %v", found, err)
	}
}

// erasureSteps: how far one is moves from where it was only, and begins anew when more is
// to be erased.
func erasureSteps(a *accounts) {
	ctx := a.Context()
	a.user("u1")
	order := im.ErasureOrder{User: "u1", At: start()}
	e, _, err := a.db.BeginErasure(ctx, order)
	a.ok(err)
	if due := get(a.db.DueErasures(ctx, 10)); len(due) != 1 || due[0] != e {
		a.Errorf("due: %+v", due)
	}
	next := e
	next.Step, next.Place = 1, "dm:a:b 7"
	if !get(a.db.MoveErasure(ctx, e, next)) || get(a.db.MoveErasure(ctx, e, next)) {
		a.Error("it does not move, or twice from one place")
	}
	// The same order again tells how far it is; with messages all begins anew.
	again, _, err := a.db.BeginErasure(ctx, order)
	if a.ok(err); again != next {
		a.Errorf("asked again: %+v, want %+v", again, next)
	}
	order.Messages = true
	again, _, err = a.db.BeginErasure(ctx, order)
	if a.ok(err); !again.Messages || again.Step != 0 || again.Place != "" {
		a.Errorf("with messages: %+v", again)
	}
	done := next
	done.Step, done.Place, done.Done = 2, "", start().Add(time.Hour)
	if get(a.db.MoveErasure(ctx, next, done)) {
		a.Error("who did less than is to be done noted that all was done")
	}
	was := again
	again.Done = start().Add(time.Hour)
	if !get(a.db.MoveErasure(ctx, was, again)) || len(get(a.db.DueErasures(ctx, 10))) != 0 {
		a.Error("it is not done")
	}
	final, _, err := a.db.BeginErasure(ctx, order)
	if a.ok(err); !final.Done.Equal(again.Done) {
		a.Errorf("done: %+v", final)
	}
	a.ok(a.db.EraseRest(ctx, final, start()))
}
