package directorytest

import (
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// actAt is a line of so long after the start.
func actAt(after time.Duration, n byte) im.Act {
	at := start().Add(after)
	return im.Act{ID: im.NewMessageID(at, [10]byte{9: n}), At: at, Kind: im.ActAdmin, Action: "AdminService/BanUser", By: "root", Role: im.ServerAdmin, Target: fmt.Sprint("u", n), Address: "192.0.2.1", Device: "Phöne", Session: "s1", Detail: `{"a":"ä"}`, Times: 1}
}

// auditLog: lines are kept as they are, told in their order and by what is asked for, finished
// once, and removed when they are old.
func auditLog(a *accounts) {
	ctx := a.Context()
	var all []im.Act
	for i := range 6 {
		l := actAt(time.Duration(i/2)*time.Minute, byte(i))
		if i%2 == 1 {
			l.Kind, l.Action, l.By, l.Role, l.Code, l.Times = im.ActSignIn, "login", "", im.ServerUser, im.CodeBadCredentials, 7
		}
		all = append(all, l)
	}
	a.ok(a.db.PutActs(ctx, all[:4]))
	a.ok(a.db.PutActs(ctx, all[2:]))
	list := func(q im.ActQuery, want ...int) {
		a.Helper()
		if q.Limit == 0 {
			q.Limit = 100
		}
		got := get(a.db.Acts(ctx, q))
		var nth []int
		for _, g := range got {
			i := slices.IndexFunc(all, func(l im.Act) bool { return l.ID == g.ID })
			nth = append(nth, i)
			w := all[i]
			if !g.At.Equal(w.At) {
				a.Errorf("line %d is of %v", i, g.At)
			}
			if g.At = w.At; g != w {
				a.Errorf("line %d is %+v, want %+v", i, g, w)
			}
		}
		if !slices.Equal(nth, want) {
			a.Errorf("%+v: %v, want %v", q, nth, want)
		}
	}
	root, nobody := im.UserID("root"), im.UserID("")
	list(im.ActQuery{}, 5, 4, 3, 2, 1, 0)
	list(im.ActQuery{OldestFirst: true, Limit: 2}, 0, 1)
	list(im.ActQuery{OldestFirst: true, Limit: 2, After: all[1].ID}, 2, 3)
	list(im.ActQuery{Limit: 2, After: all[3].ID}, 2, 1)
	list(im.ActQuery{From: start().Add(time.Minute), Until: start().Add(2 * time.Minute)}, 3, 2)
	list(im.ActQuery{Kind: im.ActSignIn}, 5, 3, 1)
	list(im.ActQuery{By: &root}, 4, 2, 0)
	list(im.ActQuery{By: &nobody, Limit: 1}, 5)
	list(im.ActQuery{Target: "u2"}, 2)
	list(im.ActQuery{Action: "login"}, 5, 3, 1)
	list(im.ActQuery{Failed: true, From: start().Add(time.Minute)}, 5, 3)

	all[0].Code = im.CodeNotFound
	a.ok(a.db.FinishAct(ctx, all[0].ID, im.CodeNotFound, "elsewhere"))
	list(im.ActQuery{Target: "u0"}, 0)
	made := actAt(time.Hour, 9)
	made.Target, made.Code = "", im.ActBegun
	all = append(all, made)
	a.ok(a.db.PutActs(ctx, all[6:]))
	a.ok(a.db.EndAct(ctx, made.ID, "", `{"n":2}`))
	a.ok(a.db.FinishAct(ctx, made.ID, "", "u9"))
	all[6].Target, all[6].Code, all[6].Detail = "u9", "", `{"n":2}`
	list(im.ActQuery{Target: "u9"}, 6)

	if n := get(a.db.PurgeActs(ctx, im.ActSignIn, start().Add(2*time.Minute), 1)); n != 1 {
		a.Errorf("%d lines were removed", n)
	}
	if n := get(a.db.PurgeActs(ctx, im.ActSignIn, start().Add(2*time.Minute), 10)); n != 1 {
		a.Errorf("%d lines were removed", n)
	}
	list(im.ActQuery{}, 6, 5, 4, 2, 0)
}

// signInsAreWritten: the line of a sign-in is there if the session is, and otherwise not.
func signInsAreWritten(a *accounts) {
	ctx := a.Context()
	a.user("u1")
	o := opening("u1", "s1")
	line := actAt(0, 1)
	line.Kind, line.Action, line.By, line.Target = im.ActSignIn, "login", "u1", ""
	o.Act = &line
	a.ok(a.db.OpenSession(ctx, o))
	refused := opening("u1", "s2")
	refused.IfPasswordHash = "another"
	other := actAt(0, 2)
	refused.Act = &other
	a.code(a.db.OpenSession(ctx, refused), im.CodeConflict)
	if got := get(a.db.Acts(ctx, im.ActQuery{Limit: 10})); len(got) != 1 || got[0].ID != line.ID || got[0].By != "u1" {
		a.Errorf("lines: %+v", got)
	}
	// What a deleted user's sign-ins say of where they were goes with them.
	e, _, err := a.db.BeginErasure(ctx, im.ErasureOrder{User: "u1", At: start()})
	a.ok(err)
	a.ok(a.db.EraseRest(ctx, e, start()))
	if got := get(a.db.Acts(ctx, im.ActQuery{Limit: 10})); len(got) != 1 || got[0].Address != "" || got[0].Device != "" || got[0].Detail != "" {
		a.Errorf("after the account was deleted: %+v", got)
	}
}
