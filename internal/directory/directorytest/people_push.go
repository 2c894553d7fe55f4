package directorytest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func pushCases() []peopleCase {
	return []peopleCase{
		{"PushKeys", pushKeys},
		{"KeyChecks", keyChecks},
		{"PushSubscriptions", pushSubscriptions},
		{"PushJobs", pushJobs},
		{"PushJobsOfMany", pushJobsOfMany},
		{"PushNames", pushNames},
	}
}

// pushed gives a user a session whose device can be woken.
func (p *people) pushed(u im.UserID, session string) im.PushSubscription {
	p.Helper()
	p.ok(p.db.OpenSession(p.ctx, opening(u, session)))
	s := im.PushSubscription{Session: im.SessionID(session), User: u, Endpoint: "https://push.example/" + session, Point: []byte("point"), Auth: []byte("auth")}
	p.ok(p.db.SetPushSubscription(p.ctx, s, start()))
	return s
}

// targets are those of groups and users, in their order.
func (p *people) targets(now time.Time, groups []im.ConversationID, users ...im.UserID) string {
	p.Helper()
	all, err := p.db.PushTargets(p.ctx, groups, users, now)
	p.ok(err)
	var out []string
	for _, t := range all {
		out = append(out, fmt.Sprintf("%s%s:%d", t.Conversation, t.User, t.Settings.Groups))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// claim is what is due, with how far it is.
func (p *people) claim(now time.Time) (all []im.PushWork, told string) {
	p.Helper()
	all, err := p.db.ClaimPushes(p.ctx, now, now.Add(time.Minute), 9)
	p.ok(err)
	var out []string
	for _, w := range all {
		out = append(out, fmt.Sprintf("%s %s %d-%d shown %d tries %d", w.Session, w.Conversation, w.First, w.Seq, w.Shown, w.Tries))
	}
	slices.Sort(out)
	return all, strings.Join(out, ", ")
}

// pushKeys: the first pair stays, also where several make one.
func pushKeys(p *people) {
	if _, err := p.db.PushKey(p.ctx); im.CodeOf(err) != im.CodeNotFound {
		p.Fatal(err)
	}
	var all sync.WaitGroup
	for _, s := range []string{"a", "b", "c"} {
		all.Go(func() { p.ok(p.db.AddPushKey(p.ctx, pushKey(s))) })
	}
	all.Wait()
	first, err := p.db.PushKey(p.ctx)
	p.ok(err)
	p.users("ann")
	p.pushed("ann", "s1")
	p.ok(p.db.AddPushKey(p.ctx, pushKey("d")))
	again, err := p.db.PushKey(p.ctx)
	p.ok(err)
	equal(p, "key", fmt.Sprint(again), fmt.Sprint(first))
	equal(p, "woken", p.targets(start(), nil, "ann"), "ann:0")
}

func pushKey(s string) im.PushKey {
	return im.PushKey{Public: []byte(s), Sealed: []byte("sealed " + s), Made: at}
}

// keyChecks: of several who note whose keys these are one succeeds. Another value takes the
// place of exactly the one that is told, and what is sealed goes only where that is wanted.
func keyChecks(p *people) {
	noted := func(want string) {
		p.Helper()
		value, known, err := p.db.KeyCheck(p.ctx)
		p.ok(err)
		equal(p, "noted", fmt.Sprintf("%q %v", value, known), want)
	}
	sealed := func(want string) {
		p.Helper()
		s, err := p.db.Sealed(p.ctx)
		p.ok(err)
		equal(p, "sealed", fmt.Sprint(s.Push != nil, s.Devices, s.Factors), want)
	}
	noted(`"" false`)
	sealed("false 0 0")
	p.ok(p.db.ReplaceKeyCheck(p.ctx, "", "a", true, at))
	noted(`"" false`)
	var all sync.WaitGroup
	for _, s := range []string{"a", "b", "c"} {
		all.Go(func() { p.ok(p.db.NoteKeyCheck(p.ctx, s, at)) })
	}
	all.Wait()
	first, _, err := p.db.KeyCheck(p.ctx)
	p.ok(err)
	p.users("ann")
	p.pushed("ann", "s1")
	p.ok(p.db.AddPushKey(p.ctx, pushKey("k")))
	p.ok(p.db.ReplaceKeyCheck(p.ctx, "another", "d", true, at))
	noted(fmt.Sprintf("%q true", first))
	sealed("true 1 0")
	p.ok(p.db.ReplaceKeyCheck(p.ctx, first, "d", false, at))
	noted(`"d" true`)
	sealed("true 1 0")
	p.ok(p.db.ReplaceKeyCheck(p.ctx, "d", "e", true, at))
	noted(`"e" true`)
	sealed("false 0 0")
	equal(p, "woken", p.targets(start(), nil, "ann"), "")
	p.ok(p.db.AddPushKey(p.ctx, pushKey("l")))
	sealed("true 0 0")
}

// pushSubscriptions: one of a session, one of an address, as long as the session lives.
func pushSubscriptions(p *people) {
	p.users("ann", "bob", "cyd")
	p.group("grp:g", "G", "ann", "bob")
	some, err := p.db.AnyPush(p.ctx)
	p.ok(err)
	equal(p, "any", some, false)
	a, b := p.pushed("ann", "s1"), p.pushed("bob", "s2")
	p.pushed("ann", "s3")
	p.pushed("cyd", "s4")
	equal(p, "members", p.targets(start(), []im.ConversationID{"grp:g", "grp:h"}), "grp:gann:0 grp:gbob:0")
	equal(p, "users", p.targets(start(), nil, "ann", "cyd", "dan"), "ann:0 cyd:0")
	equal(p, "both", p.targets(start(), []im.ConversationID{"grp:g"}, "cyd"), "cyd:0 grp:gann:0 grp:gbob:0")
	p.ok(p.db.SetPushSettings(p.ctx, "bob", im.PushSettings{Groups: im.PushNone, QuietZone: "UTC"}))
	p.ok(p.db.SetPushSettings(p.ctx, "bob", im.PushSettings{Direct: im.PushAll, Groups: im.PushMentions, MuteMentions: true, HideText: true, QuietFrom: 3, QuietUntil: 1439, QuietZone: "Asia/Tokyo"}))
	s, err := p.db.PushSettings(p.ctx, "bob")
	p.ok(err)
	equal(p, "settings", s, im.PushSettings{Direct: im.PushAll, Groups: im.PushMentions, MuteMentions: true, HideText: true, QuietFrom: 3, QuietUntil: 1439, QuietZone: "Asia/Tokyo"})
	s, err = p.db.PushSettings(p.ctx, "ann")
	p.ok(err)
	equal(p, "none", s, im.PushSettings{})
	equal(p, "with settings", p.targets(start(), []im.ConversationID{"grp:g"}), "grp:gann:0 grp:gbob:2")

	// The browser is somebody else's now: what was to be told goes with the old one.
	p.ok(p.db.QueuePushes(p.ctx, []im.PushJob{{Conversation: "grp:g", User: "ann", First: 1, Seq: 1}}, start()))
	b.Endpoint = a.Endpoint
	p.ok(p.db.SetPushSubscription(p.ctx, b, start()))
	_, told := p.claim(start())
	equal(p, "due", told, "s3 grp:g 1-1 shown 0 tries 0")
	// Somebody else's session, one that is gone, a user who is.
	for _, c := range []im.PushSubscription{{Session: "s2", User: "ann"}, {Session: "s9", User: "ann"}, {Session: "s1", User: "eve"}} {
		if err := p.db.SetPushSubscription(p.ctx, c, start()); im.CodeOf(err) != im.CodeNotFound {
			p.Errorf("%s of %s: %v", c.Session, c.User, err)
		}
	}
	// A session that ended, one that expires, one that is deleted by itself.
	_, err = p.db.EndSessions(p.ctx, "ann", "s3", start())
	p.ok(err)
	equal(p, "ended", p.targets(start(), nil, "ann", "bob"), "bob:2")
	equal(p, "expired", p.targets(start().Add(3*time.Hour), nil, "ann", "bob"), "")
	p.ok(p.db.DeletePushSubscription(p.ctx, "s2"))
	p.ok(p.db.DeletePushSubscription(p.ctx, "s2"))
	equal(p, "deleted", p.targets(start(), nil, "ann", "bob", "cyd"), "cyd:0")
	_, _, err = p.db.BeginErasure(p.ctx, im.ErasureOrder{User: "cyd", At: start()})
	p.ok(err)
	if err := p.db.SetPushSettings(p.ctx, "cyd", im.PushSettings{}); im.CodeOf(err) == "" {
		p.Error("settings of a deleted account are kept")
	}
}

// pushJobs: one for each device and conversation, which grows; one worker has it at a
// time; what became of it is noted, and what came meanwhile stays.
func pushJobs(p *people) {
	p.users("ann", "bob")
	p.pushed("ann", "s1")
	p.pushed("ann", "s2")
	p.ok(p.db.OpenSession(p.ctx, opening("bob", "s3"))) // cannot be woken
	now := start()
	queue := func(first, seq uint64) {
		p.Helper()
		p.ok(p.db.QueuePushes(p.ctx, []im.PushJob{{Conversation: "dm:ann:bob", User: "ann", First: first, Seq: seq}, {Conversation: "dm:ann:bob", User: "bob", First: first, Seq: seq}}, now))
	}
	due := func(want string) []im.PushWork {
		p.Helper()
		all, told := p.claim(now)
		equal(p, "due", told, want)
		slices.SortFunc(all, func(a, b im.PushWork) int { return strings.Compare(string(a.Session), string(b.Session)) })
		return all
	}
	finish := func(w im.PushWork, o im.PushOutcome) {
		p.Helper()
		o.Now = now
		p.ok(p.db.FinishPush(p.ctx, &w, o))
	}
	due("")
	queue(4, 5)
	queue(4, 5)
	queue(6, 7)
	queue(2, 3)
	all := due("s1 dm:ann:bob 4-7 shown 0 tries 0, s2 dm:ann:bob 4-7 shown 0 tries 0")
	equal(p, "endpoint", all[1].Endpoint, "https://push.example/s2")
	equal(p, "made", all[1].Made.UnixMilli(), now.UnixMilli())
	due("")
	now = now.Add(2 * time.Minute) // who had them is gone
	all = due("s1 dm:ann:bob 4-7 shown 0 tries 0, s2 dm:ann:bob 4-7 shown 0 tries 0")
	queue(8, 8) // meanwhile
	finish(all[0], im.PushOutcome{Step: im.PushTold, Shown: 7, At: now.Add(time.Hour)})
	finish(all[1], im.PushOutcome{Step: im.PushAgain, At: now.Add(time.Second)})
	one := due("s1 dm:ann:bob 4-8 shown 7 tries 0")
	equal(p, "shown at", one[0].ShownAt.UnixMilli(), now.UnixMilli())
	finish(one[0], im.PushOutcome{Step: im.PushTold, Shown: 8, At: now.Add(time.Hour)})
	now = now.Add(time.Second)
	finish(due("s2 dm:ann:bob 4-8 shown 0 tries 1")[0], im.PushOutcome{Step: im.PushFailed})
	due("")
	queue(9, 9)
	all = due("s1 dm:ann:bob 9-9 shown 8 tries 0, s2 dm:ann:bob 9-9 shown 0 tries 0")
	finish(all[0], im.PushOutcome{Step: im.PushLook, Shown: 8, At: now.Add(time.Minute)}) // 9 was recalled
	finish(all[1], im.PushOutcome{Step: im.PushDone})
	due("")
	now = now.Add(time.Minute)
	one = due("s1 dm:ann:bob 9-8 shown 8 tries 0")
	queue(10, 10)
	finish(one[0], im.PushOutcome{Step: im.PushDone})
	one = due("s1 dm:ann:bob 10-10 shown 0 tries 0, s2 dm:ann:bob 10-10 shown 0 tries 0")
	finish(one[0], im.PushOutcome{Step: im.PushGone})
	equal(p, "after one is gone", p.targets(now, nil, "ann"), "ann:0")
	for i := range 10 { // one failed before
		finish(one[1], im.PushOutcome{Step: im.PushFailed})
		queue(uint64(11+i), uint64(11+i))
	}
	equal(p, "after too many failures", p.targets(now, nil, "ann"), "")
	due("")
}

// pushJobsOfMany: a device has a bounded number, and what is of an ended session is nobody's.
func pushJobsOfMany(p *people) {
	p.users("ann")
	p.pushed("ann", "s1")
	var jobs []im.PushJob
	for i := range 600 {
		jobs = append(jobs, im.PushJob{Conversation: im.ConversationID(fmt.Sprint("grp:", i)), User: "ann", First: 1, Seq: 1})
	}
	now := start()
	p.ok(p.db.QueuePushes(p.ctx, jobs, now))
	jobs[0].Seq = 2 // there already: it grows
	p.ok(p.db.QueuePushes(p.ctx, jobs[:1], now))
	n := 0
	for {
		all, err := p.db.ClaimPushes(p.ctx, now, now.Add(time.Minute), 100)
		p.ok(err)
		if len(all) == 0 {
			break
		}
		n += len(all)
		for _, w := range all {
			if w.Conversation == "grp:0" && w.Seq != 2 {
				p.Errorf("seq %d", w.Seq)
			}
		}
	}
	equal(p, "jobs", n, 500)
	_, err := p.db.EndSessions(p.ctx, "ann", "", now)
	p.ok(err)
	all, err := p.db.ClaimPushes(p.ctx, now.Add(time.Hour), now.Add(2*time.Hour), 100)
	p.ok(err)
	equal(p, "of an ended session", len(all), 0)
	some, err := p.db.AnyPush(p.ctx)
	p.ok(err)
	equal(p, "any", some, false)
}

// pushNames: what a user calls somebody goes before what they are called there.
func pushNames(p *people) {
	p.users("ann", "bob")
	p.group("grp:g", "Geese", "ann", "bob")
	names := func(c im.ConversationID) im.PushNames {
		p.Helper()
		n, err := p.db.PushNames(p.ctx, "ann", c, "bob")
		p.ok(err)
		return n
	}
	equal(p, "group", names("grp:g"), im.PushNames{Sender: "bob", Title: "Geese"})
	equal(p, "dm", names("dm:ann:bob"), im.PushNames{Sender: "bob"})
	p.pair(im.Contact{User: "bob", Remark: "Bobby", Blocked: true}, im.Contact{User: "ann"})
	equal(p, "remark", names("grp:g"), im.PushNames{Sender: "Bobby", Title: "Geese", Blocked: true})
	if _, err := p.db.PushNames(p.ctx, "ann", "dm:ann:eve", "eve"); im.CodeOf(err) != im.CodeNotFound {
		p.Error(err)
	}
}
