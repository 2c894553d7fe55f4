package directorytest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func openSession(a *accounts) {
	u := a.user("u1")
	o := a.session("u1", "s1")
	if got := get(a.db.Sessions(a.Context(), "u1", start())); len(got) != 1 || !sameSession(got[0], o.Session) {
		a.Errorf("got %+v, want %+v", got, o.Session)
	}
	o = opening("u1", "s2")
	o.IfPasswordHash = u.PasswordHash
	a.ok(a.db.OpenSession(a.Context(), o))
	// A user and the session in one step.
	o = opening("u3", "s3")
	c := someone("u3")
	o.Create, o.Session.Device = &c, im.Device{}
	a.ok(a.db.OpenSession(a.Context(), o))
	if got := get(a.db.Sessions(a.Context(), "u3", start())); len(got) != 1 || !sameSession(got[0], o.Session) {
		a.Errorf("got %+v, want %+v", got, o.Session)
	}
}

func openSessionRefused(a *accounts) {
	a.user("u1")
	unknown, changed, taken := opening("nobody", "s1"), opening("u1", "s2"), opening("u2", "s3")
	changed.IfPasswordHash = "another hash"
	c := someone("u2")
	c.Username = "name_u1"
	taken.Create = &c
	a.code(a.db.OpenSession(a.Context(), unknown), im.CodeNotFound)
	a.code(a.db.OpenSession(a.Context(), changed), im.CodeConflict)
	a.code(a.db.OpenSession(a.Context(), taken), im.CodeAlreadyExists)
	for _, id := range []string{"s1", "s2", "s3"} {
		_, err := a.db.TokenByHash(a.Context(), hashOf("a"+id))
		a.code(err, im.CodeNotFound)
	}
	// A failure at the last statement takes everything back.
	a.session("u1", "s4")
	late := opening("u5", "s5")
	c = someone("u5")
	late.Create, late.Tokens[1].Hash = &c, hashOf("as4")
	if a.db.OpenSession(a.Context(), late) == nil {
		a.Error("a token was given twice")
	}
	_, err := a.db.UserCredentials(a.Context(), "u5")
	a.code(err, im.CodeNotFound)
}

func openSessionKeepsExisting(a *accounts) {
	for i, name := range []string{"first", "second"} {
		o := opening("m", fmt.Sprint("s", i))
		o.Create = &im.Credentials{User: im.User{ID: "m", DisplayName: name, DMPolicy: im.DMContacts, Created: start()}}
		o.KeepExisting = true
		a.ok(a.db.OpenSession(a.Context(), o))
	}
	if got := get(a.db.UserCredentials(a.Context(), "m")); got.DisplayName != "first" {
		a.Errorf("got %+v", got)
	}
	if got := get(a.db.Sessions(a.Context(), "m", start())); len(got) != 2 {
		a.Errorf("got %+v", got)
	}
}

func tokenRoundTrip(a *accounts) {
	a.user("u1")
	o := a.session("u1", "s1")
	for _, token := range o.Tokens {
		got := get(a.db.TokenByHash(a.Context(), token.Hash))
		if got.Kind != token.Kind || !got.Created.Equal(token.Created) || !got.Expires.Equal(token.Expires) || got.Parent != token.Parent ||
			!got.Replaced.IsZero() || got.RetryNonce != nil || got.ParentRetry || !got.Ended.IsZero() || got.Role != im.ServerUser || !sameSession(got.Session, o.Session) {
			a.Errorf("got %+v", got)
		}
	}
	_, err := a.db.TokenByHash(a.Context(), hashOf("unknown"))
	a.code(err, im.CodeNotFound)
}

func bindDevice(a *accounts) {
	a.user("u1")
	a.session("u1", "bound")
	o := opening("u1", "free")
	o.Session.Device = im.Device{}
	a.ok(a.db.OpenSession(a.Context(), o))
	device := im.Device{ID: "dev", Class: im.DeviceTablet, Name: "nämé"}
	for _, d := range []im.Device{device, {ID: "late"}} {
		if got := get(a.db.BindDevice(a.Context(), "free", d)); got != device {
			a.Errorf("bound to %+v, want %+v", got, device)
		}
	}
	if got := get(a.db.BindDevice(a.Context(), "bound", device)); got.ID != "d-bound" {
		a.Errorf("bound to %+v", got)
	}
	_, err := a.db.BindDevice(a.Context(), "unknown", device)
	a.code(err, im.CodeNotFound)
	get(a.db.EndSessions(a.Context(), "u1", "free", start()))
	_, err = a.db.BindDevice(a.Context(), "free", device)
	a.code(err, im.CodeNotFound)
}

func bindDeviceRaced(a *accounts) {
	a.user("u1")
	o := opening("u1", "s1")
	o.Session.Device = im.Device{}
	a.ok(a.db.OpenSession(a.Context(), o))
	got := make([]im.Device, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			got[i] = get(a.db.BindDevice(context.Background(), "s1", im.Device{ID: fmt.Sprint("d", i), Class: im.DevicePhone}))
		})
	}
	all.Wait()
	for _, d := range got {
		if d.ID == "" || d != got[0] {
			a.Errorf("two devices have the session: %+v", got)
			break
		}
	}
}

// rotation exchanges the refresh token of a session for ones named `to`.
func rotation(session, from, to string, at time.Time) im.TokenRotation {
	return im.TokenRotation{
		Session: im.SessionID(session), Old: hashOf("r" + from), At: at, Nonce: []byte("nonce " + to), Expires: at.Add(3 * time.Hour),
		Tokens: []im.Token{
			{Hash: hashOf("a" + to), Kind: im.TokenAccess, Created: at, Expires: at.Add(time.Hour), Parent: hashOf("r" + from)},
			{Hash: hashOf("r" + to), Kind: im.TokenRefresh, Created: at, Expires: at.Add(3 * time.Hour), Parent: hashOf("r" + from)},
		},
	}
}

func rotateTokens(a *accounts) {
	a.user("u1")
	a.session("u1", "s1")
	at := start().Add(time.Minute)
	a.ok(a.db.RotateTokens(a.Context(), rotation("s1", "s1", "2", at)))
	old := get(a.db.TokenByHash(a.Context(), hashOf("rs1")))
	if !old.Replaced.Equal(at) || !bytes.Equal(old.RetryNonce, []byte("nonce 2")) {
		a.Errorf("the old token is %+v", old)
	}
	for _, name := range []string{"a2", "r2"} {
		if got := get(a.db.TokenByHash(a.Context(), hashOf(name))); got.Parent != hashOf("rs1") || !got.ParentRetry || !got.Replaced.IsZero() || got.Session.ID != "s1" {
			a.Errorf("%s is %+v", name, got)
		}
	}
	if got := get(a.db.Sessions(a.Context(), "u1", start().Add(3*time.Hour))); len(got) != 1 {
		a.Errorf("the session was not prolonged: %+v", got)
	}
	a.code(a.db.RotateTokens(a.Context(), rotation("s1", "s1", "3", at)), im.CodeConflict)
	_, err := a.db.TokenByHash(a.Context(), hashOf("a3"))
	a.code(err, im.CodeNotFound)

	// The next exchange proves that the answer to the one before arrived.
	next := rotation("s1", "2", "4", at)
	next.OldParent = hashOf("rs1")
	a.ok(a.db.RotateTokens(a.Context(), next))
	if old := get(a.db.TokenByHash(a.Context(), hashOf("rs1"))); old.RetryNonce != nil || !old.Replaced.Equal(at) {
		a.Errorf("the first token is %+v", old)
	}
	if got := get(a.db.TokenByHash(a.Context(), hashOf("a2"))); got.ParentRetry {
		a.Errorf("a2 is %+v", got)
	}
	a.code(a.db.RotateTokens(a.Context(), rotation("unknown", "4", "5", at)), im.CodeNotFound)
	get(a.db.EndSessions(a.Context(), "u1", "", at))
	a.code(a.db.RotateTokens(a.Context(), rotation("s1", "4", "5", at)), im.CodeNotFound)
}

func rotateTokensRaced(a *accounts) {
	a.user("u1")
	a.session("u1", "s1")
	winner := a.once(6, im.CodeConflict, func(i int) error {
		return a.db.RotateTokens(context.Background(), rotation("s1", "s1", fmt.Sprint("n", i), start()))
	})
	for i := range 6 {
		_, err := a.db.TokenByHash(a.Context(), hashOf(fmt.Sprint("an", i)))
		if (err == nil) != (i == winner) {
			a.Errorf("%d won; token %d: %v", winner, i, err)
		}
	}
}

func sessionsSeen(a *accounts) {
	a.user("u1")
	a.session("u1", "s1")
	a.session("u1", "s2")
	a.ok(a.db.RotateTokens(a.Context(), rotation("s2", "s2", "2", start())))
	at := start().Add(time.Minute)
	a.ok(a.db.SessionsSeen(a.Context(), []im.SessionSeen{
		{Session: "s1", At: at, Address: "2001:db8::1", Client: "c/2"},
		{Session: "unknown", At: at},
		{Session: "s2", At: at, Address: "192.0.2.2", Confirmed: hashOf("rs2")},
	}))
	a.ok(a.db.SessionsSeen(a.Context(), []im.SessionSeen{{Session: "s1", At: start(), Address: "older"}}))
	a.ok(a.db.SessionsSeen(a.Context(), nil))
	got := get(a.db.Sessions(a.Context(), "u1", start()))
	one, two := opening("u1", "s1").Session, opening("u1", "s2").Session
	one.LastSeen, one.LastAddress, one.Client = at, "2001:db8::1", "c/2"
	two.LastSeen, two.LastAddress = at, "192.0.2.2"
	if len(got) != 2 || !sameSession(got[0], one) || !sameSession(got[1], two) {
		a.Errorf("got %+v", got)
	}
	if old := get(a.db.TokenByHash(a.Context(), hashOf("rs2"))); old.RetryNonce != nil || old.Replaced.IsZero() {
		a.Errorf("the confirmed exchange is %+v", old)
	}
}

func hadDevice(a *accounts) {
	a.user("u1")
	a.user("u2")
	o := opening("u1", "s1")
	o.Session.Device = im.Device{ID: "phone", Class: 1}
	a.ok(a.db.OpenSession(a.Context(), o))
	had := func(user im.UserID, device string, want bool) {
		a.Helper()
		if got := get(a.db.HadDevice(a.Context(), user, device)); got != want {
			a.Errorf("%s had %s: %v, want %v", user, device, got, want)
		}
	}
	had("u1", "phone", true)
	had("u1", "Phone", false)
	had("u2", "phone", false)
	had("nobody", "phone", false)
	if _, err := a.db.EndSessions(a.Context(), "u1", "s1", start()); err != nil {
		a.Fatal(err)
	}
	had("u1", "phone", true)
	if _, err := a.db.PurgeSessions(a.Context(), start().Add(time.Hour), start()); err != nil {
		a.Fatal(err)
	}
	had("u1", "phone", false)
}

func listSessions(a *accounts) {
	a.user("u1")
	a.user("u2")
	for i := range 3 {
		o := opening("u1", fmt.Sprint("s", i))
		o.Session.Created = start().Add(-time.Duration(i) * time.Second)
		o.Expires = start().Add(time.Duration(i) * time.Hour)
		a.ok(a.db.OpenSession(a.Context(), o))
	}
	a.session("u2", "other")
	ids := func(now time.Time) (ids []im.SessionID) {
		for _, s := range get(a.db.Sessions(a.Context(), "u1", now)) {
			ids = append(ids, s.ID)
		}
		return ids
	}
	if got := ids(start().Add(-time.Hour)); !slices.Equal(got, []im.SessionID{"s2", "s1", "s0"}) {
		a.Errorf("got %v, want the oldest first", got)
	}
	if got := ids(start().Add(time.Hour)); !slices.Equal(got, []im.SessionID{"s2"}) {
		a.Errorf("got %v, want those that have not expired", got)
	}
	get(a.db.EndSessions(a.Context(), "u1", "s2", start()))
	if got := ids(start()); !slices.Equal(got, []im.SessionID{"s1"}) {
		a.Errorf("got %v, want those that have not ended", got)
	}
	if none := get(a.db.Sessions(a.Context(), "nobody", start())); len(none) != 0 {
		a.Errorf("got %v for nobody", none)
	}
}

func endSessions(a *accounts) {
	a.user("u1")
	a.user("u2")
	for _, id := range []string{"s1", "s2", "s3"} {
		a.session("u1", id)
	}
	a.session("u2", "other")
	at := start().Add(time.Minute)
	end := func(session im.SessionID) []im.SessionID {
		a.Helper()
		ended := get(a.db.EndSessions(a.Context(), "u1", session, at))
		slices.Sort(ended)
		return ended
	}
	if got := end("s2"); !slices.Equal(got, []im.SessionID{"s2"}) {
		a.Errorf("ended %v", got)
	}
	if got := get(a.db.TokenByHash(a.Context(), hashOf("as2"))); !got.Ended.Equal(at) {
		a.Errorf("ended at %v, want %v", got.Ended, at)
	}
	at = at.Add(time.Minute)
	if got := end("s2"); len(got) != 0 {
		a.Errorf("ended again %v", got)
	}
	if got := end(""); !slices.Equal(got, []im.SessionID{"s1", "s3"}) {
		a.Errorf("ended %v", got)
	}
	if got := end(""); len(got) != 0 {
		a.Errorf("ended again %v", got)
	}
	if got := get(a.db.TokenByHash(a.Context(), hashOf("as2"))); !got.Ended.Equal(at.Add(-time.Minute)) {
		a.Errorf("the first end is %v now", got.Ended)
	}
	for _, c := range []struct {
		user    im.UserID
		session im.SessionID
	}{{"u1", "unknown"}, {"u1", "other"}, {"nobody", ""}, {"nobody", "s1"}} {
		_, err := a.db.EndSessions(a.Context(), c.user, c.session, at)
		a.code(err, im.CodeNotFound)
	}
	if a.ended("other") {
		a.Error("another user's session was ended")
	}
}

// endSessionsRaced: a session is ended by one of many.
func endSessionsRaced(a *accounts) {
	a.user("u1")
	for i := range 4 {
		a.session("u1", fmt.Sprint("s", i))
	}
	var mu sync.Mutex
	times := map[im.SessionID]int{}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			ended := get(a.db.EndSessions(context.Background(), "u1", "", start()))
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ended {
				times[id]++
			}
		})
	}
	all.Wait()
	for i := range 4 {
		if n := times[im.SessionID(fmt.Sprint("s", i))]; n != 1 {
			a.Errorf("s%d was ended %d times", i, n)
		}
	}
}

func purgeSessions(a *accounts) {
	a.user("u1")
	a.session("u1", "ended")
	a.session("u1", "living")
	gone := opening("u1", "expired")
	gone.Expires = start().Add(-time.Minute)
	a.ok(a.db.OpenSession(a.Context(), gone))
	a.ok(a.db.RotateTokens(a.Context(), rotation("living", "living", "2", start().Add(90*time.Minute))))
	get(a.db.EndSessions(a.Context(), "u1", "ended", start()))
	known := func(name string) bool {
		_, err := a.db.TokenByHash(a.Context(), hashOf(name))
		return err == nil
	}
	// Nothing is over for long enough: nothing goes, at the millisecond.
	if get(a.db.PurgeSessions(a.Context(), start().Add(-time.Minute), start().Add(90*time.Minute))) {
		a.Error("there is more")
	}
	if !known("aended") || !known("aliving") || !known("aexpired") || get(a.db.TokenByHash(a.Context(), hashOf("rliving"))).RetryNonce == nil {
		a.Error("too much was purged")
	}
	get(a.db.PurgeSessions(a.Context(), start(), start().Add(90*time.Minute+time.Millisecond)))
	if known("aexpired") || !known("aended") {
		a.Error("want the expired session gone and the ended one there")
	}
	if old := get(a.db.TokenByHash(a.Context(), hashOf("rliving"))); old.RetryNonce != nil || old.Replaced.IsZero() {
		a.Errorf("the old exchange is %+v", old)
	}
	get(a.db.PurgeSessions(a.Context(), start().Add(time.Millisecond), start()))
	if known("aended") || known("rended") {
		a.Error("the ended session is there")
	}
	// An expired token of a session that lives goes as well.
	get(a.db.PurgeSessions(a.Context(), start().Add(time.Hour+time.Millisecond), start()))
	if known("aliving") || !known("rliving") || !known("a2") || !known("r2") {
		a.Error("want only the expired access token gone")
	}
	a.session("u1", "ended") // the id is free again, nothing is left of it
}

func purgeIsBounded(a *accounts) {
	a.user("u1")
	for i := range 501 {
		o := opening("u1", fmt.Sprint("s", i))
		o.Tokens = nil
		a.ok(a.db.OpenSession(a.Context(), o))
	}
	late := start().Add(3 * time.Hour)
	if !get(a.db.PurgeSessions(a.Context(), late, late)) {
		a.Error("501 sessions went at once, or the rest was forgotten")
	}
	if get(a.db.PurgeSessions(a.Context(), late, late)) {
		a.Error("there is more after all are gone")
	}
	_, err := a.db.EndSessions(a.Context(), "u1", "s500", late)
	a.code(err, im.CodeNotFound)
}

// readsOwnWrites: a read that begins after a write returned sees it, from any
// goroutine. Authenticate depends on it.
func readsOwnWrites(a *accounts) {
	a.user("u1")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 25 {
				id := fmt.Sprintf("s%d-%d", g, i)
				if err := a.db.OpenSession(context.Background(), opening("u1", id)); err != nil {
					a.Error(err)
					return
				}
				get(a.db.EndSessions(context.Background(), "u1", im.SessionID(id), start()))
				if state := get(a.db.TokenByHash(context.Background(), hashOf("a"+id))); state.Ended.IsZero() {
					a.Errorf("%s was read as it was before its end", id)
				}
			}
		})
	}
	all.Wait()
}
