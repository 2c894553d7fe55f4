package main

const (
	gatewayDir = "internal/gateway"
	outDir     = "internal/gateway/outgoing"
	limitsDir  = "internal/limits"
	apiDir     = "internal/api"
	appDir     = "internal/app"
)

// gateways are bugs of connections and of who is connected.
var gateways = []Mutant{
	{
		Name: "two-removed-one-stays", Breaks: "14: all who are removed with an entry are out of the registry",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "\t\tfor _, u := range event.Users {\n\t\t\tg.users.Each(u, grp.Leave)\n\t\t}", "\t\tfor _, u := range event.Users[:1] {\n\t\t\tg.users.Each(u, grp.Leave)\n\t\t}"}},
		Package: gatewayDir, Test: "TestSeveralAreAddedAndRemovedAtOnce",
	},
	{
		Name: "two-added-one-comes", Breaks: "19: all who are added with an entry are in the registry",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "for _, u := range changedUsers(&es[0]) {", "for _, u := range changedUsers(&es[0])[:1] {"}},
		Package: gatewayDir, Test: "TestGroupFollowsItsEntries",
	},
	{
		Name: "removed-stay", Breaks: "14: who is removed gets nothing that follows",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "case removes(event.Type):\n\t\tfor", "case removes(event.Type) && false:\n\t\tfor"}},
		Package: gatewayDir, Test: "TestGroupFollowsItsEntries",
	},
	{
		Name: "arrivals-side-by-side", Breaks: "a device's connections are bounded, also when many come at once",
		Hunks:   []Hunk{{gatewayDir + "/hello.go", "\tdefer s.g.users.Arriving(s.Actor.User)()\n", ""}},
		Package: gatewayDir, Test: "TestArrivalsTakeTurns",
	},
	{
		Name: "gap-not-noticed", Breaks: "5: a gateway that missed an entry of a group repairs it",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "return e.Seq > grp.Last+1 || (e.Event == nil && grp.Roster != 0 && e.Roster > grp.Roster)", "return e.Event == nil && grp.Roster != 0 && e.Roster > grp.Roster"}},
		Package: gatewayDir, Test: "TestGapStopsPushesUntilTheRosterIsRead",
	},
	{
		Name: "pushes-in-doubt", Breaks: "14: nothing is pushed to a group whose roster is in doubt",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "\tcase grp.Suspect:\n\t\tgrp.Heads(g.out)", "\tcase grp.Suspect && grp.Last == 0:\n\t\tgrp.Heads(g.out)"}},
		Package: gatewayDir, Test: "TestGapStopsPushesUntilTheRosterIsRead",
	},
	{
		Name: "doubt-ends-early", Breaks: "14: a reading that began before the gap ends no doubt",
		Hunks:   []Hunk{{gatewayDir + "/verify.go", "if grp.Epoch != epoch {", "if grp.Epoch < epoch {"}},
		Package: gatewayDir, Test: "TestGapDuringVerification",
	},
	{
		Name: "beacon-ignored", Breaks: "5: a beacon repairs a lost push",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "if known.advance(h.Conversation, u, h.Seq) && g.users.Online(u) {", "if known.advance(h.Conversation, u, h.Seq) && !g.users.Online(u) {"}},
		Package: gatewayDir, Test: "TestToUsers",
	},
	{
		Name: "beacon-of-the-first-member", Breaks: "5: what one member was told says nothing about the other",
		Hunks:   []Hunk{{gatewayDir + "/told.go", "return &s[1]", "return &s[0]"}},
		Package: gatewayDir, Test: "TestBeaconsOfADMWithBothMembersHere",
	},
	{
		Name: "author-gets-the-push", Breaks: "4: an entry is sent once to the connection that has its ack",
		Hunks:   []Hunk{{gatewayDir + "/push.go", "if a := &d.authors[i]; d.origin[a.first] == id {", "if a := &d.authors[i]; d.origin[a.first] == id && d.n > maxAuthors {"}},
		Package: gatewayDir, Test: "TestToUsers",
	},
	{
		Name: "others-devices-get-no-push", Breaks: "delivery: the author's other devices get the push",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "\tfor _, u := range to {\n\t\tg.users.Each(u, d.to)\n\t}\n\td.end()", "\tfor _, u := range to {\n\t\tif u != es[0].Sender {\n\t\t\tg.users.Each(u, d.to)\n\t\t}\n\t}\n\td.end()"}},
		Package: gatewayDir, Test: "TestToUsers",
	},
	{
		Name: "overflow-without-resync", Breaks: "7: a slow reader syncs when it has caught up",
		Hunks:   []Hunk{{outDir + "/queue.go", "\t\to.lagging = true\n\t\to.missed()\n\t\to.mu.Unlock()\n\t\to.sh.metrics.SlowConsumers.Add(1)", "\t\to.missed()\n\t\to.mu.Unlock()\n\t\to.sh.metrics.SlowConsumers.Add(1)"}},
		Package: gatewayDir, Test: "TestSlowReaderLagsThenResyncs",
	},
	{
		Name: "pushes-without-bound", Breaks: "7: what waits for a slow reader is bounded",
		Hunks:   []Hunk{{outDir + "/queue.go", "if o.size()+len(framed) > o.sh.o.QueueBytes {", "if o.size()+len(framed) < 0 {"}},
		Package: gatewayDir, Test: "TestSlowReaderLagsThenResyncs",
	},
	{
		Name: "revoke-all", Breaks: "revocation: a Control without a session ends all of the user's",
		Hunks:   []Hunk{{gatewayDir + "/control.go", "if c.Session != \"\" && c.Session != s.Actor.Session {", "if c.Session != s.Actor.Session {"}},
		Package: gatewayDir, Test: "TestRevoke",
	},
	{
		Name: "revoke-one-of-many", Breaks: "revocation: all connections of a session end",
		Hunks:   []Hunk{{gatewayDir + "/control.go", "\tr := g.controls.remember(c)\n\tfor _, s := range g.users.Of(c.User) {\n\t\tr.apply(g, s)\n\t}", "\tr := g.controls.remember(c)\n\tif all := g.users.Of(c.User); len(all) > 0 {\n\t\tr.apply(g, all[0])\n\t}"}},
		Package: gatewayDir, Test: "TestYield",
	},
	{
		Name: "revoke-all-but-this", Breaks: "revocation: a session's end does not end the others",
		Hunks:   []Hunk{{gatewayDir + "/control.go", "if c.Session != \"\" && c.Session != s.Actor.Session {", "if c.Session == s.Actor.Session && c.User == \"\" {"}},
		Package: gatewayDir, Test: "TestRevoke",
	},
	{
		Name: "revoke-during-login", Breaks: "revocation: no handshake slips through",
		Hunks:   []Hunk{{gatewayDir + "/hello.go", "\tfor _, r := range s.g.controls.since(actor.User, s.Began) {\n\t\tr.apply(s.g, &s.Member)\n\t}", ""}},
		Package: gatewayDir, Test: "TestRevokeDuringHandshake",
	},
	{
		Name: "frames-after-the-kick", Breaks: "revocation: nothing follows the Kick",
		Hunks:   []Hunk{{outDir + "/queue.go", "return o.closed || (o.ending && !o.graceful)", "return o.closed"}},
		Package: gatewayDir, Test: "TestNothingFollowsTheKick",
	},
	{
		Name: "token-never-expires", Breaks: "revocation: a connection ends with its token",
		Hunks:   []Hunk{{gatewayDir + "/session.go", "if left <= 0 {", "if left <= -1<<60 {"}},
		Package: gatewayDir, Test: "TestTokenExpires",
	},
	{
		Name: "dead-connection-stays", Breaks: "heartbeat: a silent connection ends",
		Hunks:   []Hunk{{gatewayDir + "/session.go", "case silent >= dead:", "case silent >= 100*dead:"}},
		Package: gatewayDir, Test: "TestHeartbeat",
	},
	{
		Name: "in-flight-without-bound", Breaks: "9: who sends more than may be unanswered is not read",
		Hunks:   []Hunk{{outDir + "/conditions.go", "(int(o.inflight) >= o.sh.o.InFlight || ", "("}},
		Package: gatewayDir, Test: "TestInFlightLimit",
	},
	{
		Name: "both-logins-stay", Breaks: "devices: of two logins one stays",
		Hunks:   []Hunk{{gatewayDir + "/control.go", "if !r.beats(g, s) {", "if !r.beats(g, s) || r.local {"}},
		Package: gatewayDir, Test: "TestYield",
	},
	{
		Name: "push-before-welcome", Breaks: "§3: what is pushed before the Welcome waits",
		Hunks:   []Hunk{{outDir + "/queue.go", "if o.writing || o.hold || o.closed || !o.next() {", "if o.writing || o.closed || !o.next() {"}},
		Package: gatewayDir, Test: "TestRosterChangesDuringHandshake",
	},
	{
		Name: "roster-read-too-early", Breaks: "14: a removal during a login counts",
		Hunks:   []Hunk{{gatewayDir + "/rosters.go", "\t\tif !g.groups.Loads.Overtaken(ld, c) {\n\t\t\tfor _, s := range sessions {", "\t\tif ld != nil {\n\t\t\tfor _, s := range sessions {"}},
		Package: gatewayDir, Test: "TestRosterChangesDuringHandshake",
	},
	{
		Name: "ended-elsewhere-stays", Breaks: "revocation: a lost Control is found out",
		Hunks:   []Hunk{{gatewayDir + "/rosters.go", "\tg.audit(before, standing.Sessions)\n", "\t_ = before\n"}},
		Package: gatewayDir, Test: "TestVerifyEndsDeadSessions",
	},
	{
		Name: "http-has-a-rate-of-its-own", Breaks: "§1.5: a device has one rate, at both doors",
		Hunks:   []Hunk{{appDir + "/app.go", "api.LimiterOptions{Devices: a.devices, Now: a.now}", "api.LimiterOptions{Now: a.now}"}},
		Package: appDir, Test: "TestADeviceHasOneRateAtBothDoors",
	},
	{
		Name: "messages-beside-messages", Breaks: "§1.5: a Call counts as what its method does",
		Hunks:   []Hunk{{gatewayDir + "/session.go", "\t\treturn s.g.o.ClassOf(f.GetCall().GetMethod())\n", "\t\t_ = f\n"}},
		Package: gatewayDir, Test: "TestCallsCountAsWhatTheyDo",
	},
	{
		Name: "flood-over-http", Breaks: "§1.5: who never waits does not make others wait for ever",
		Hunks:   []Hunk{{limitsDir + "/devices.go", "b.told = min(max(b.told+r.interval, now+over), now+over+r.interval*int64(r.flood))", "b.told = max(b.told+r.interval, now+over)"}},
		Package: limitsDir, Test: "TestAFloodOverHTTP",
	},
	{
		Name: "told-one-time-for-all", Breaks: "§1.5: who waits as told is let in",
		Hunks:   []Hunk{{limitsDir + "/devices.go", "max(b.told+r.interval, now+over)", "now+over"}},
		Package: limitsDir, Test: "TestManyWhoWaitAsTold",
	},
	{
		Name: "passwords-without-a-line", Breaks: "§10: who logs in is let in as fast as the stores answer",
		Hunks:   []Hunk{{apiDir + "/http.go", "if m.Class == ClassCredential && !hashes(m.Name) {", "if m.Class == \"\" {"}},
		Package: apiDir, Test: "TestCredentialsStandInLine",
	},
	{
		Name: "position-passes-a-loss", Breaks: "§7.7: no position passes what was lost between nodes",
		Hunks:   []Hunk{{gatewayDir + "/place.go", "!st.MarksOnly && !s.toldOf(st.Conversation, st.Head.Seq)", "st.MarksOnly && !s.toldOf(st.Conversation, st.Head.Seq)"}},
		Package: gatewayDir, Test: "TestPlacesPassNothing",
	},
	{
		Name: "position-after-a-drop", Breaks: "§7.7: no position is told after something was dropped",
		Hunks:   []Hunk{{outDir + "/position.go", "if to != \"\" && MayTell(o) && o.place.at == from {", "if to != \"\" {"}},
		Package: gatewayDir, Test: "TestPlacesPassNothing",
	},
	{
		Name: "position-passes-a-receipt", Breaks: "§7.7: no position passes a mark that was lost between nodes",
		Hunks:   []Hunk{{gatewayDir + "/place.go", "\t\ts.tellMarks(&res.Conversations[i])\n", "\t\t_ = i\n"}},
		Package: gatewayDir, Test: "TestPlacesTellMarks",
	},
	{
		Name: "answers-overtake", Breaks: "§5.1: answers come in the order of the sends",
		Hunks:   []Hunk{{gatewayDir + "/session.go", "\tif c.class == limits.Sends {\n\t\ts.settleSends()\n\t}\n", ""}},
		Package: gatewayDir, Test: "TestAnswersKeepTheOrderOfTheSends",
	},
	{
		Name: "flush-writes-to-all", Breaks: "8: who delivers writes to no more than a few sockets",
		Hunks:   []Hunk{{outDir + "/writers.go", "\tdefault:\n\t\tf.many, f.handed = true, true\n", "\tdefault:\n\t\to.Flush()\n\t\treturn\n"}},
		Package: outDir, Test: "TestManyAreTheWriters",
	},
	{
		Name: "writers-queue-grows", Breaks: "7: a session waits for its writer once",
		Hunks:   []Hunk{{outDir + "/writers.go", "case first && !o.queued.soon:", "case first:"}},
		Package: outDir, Test: "TestWritersQueuesAreBounded",
	},
	{
		Name: "writers-late-queue-grows", Breaks: "7: a session waits for its writer once",
		Hunks:   []Hunk{{outDir + "/writers.go", "case !first && !o.queued.soon && !o.queued.later:", "case !first:"}},
		Package: outDir, Test: "TestWritersQueuesAreBounded",
	},
	{
		Name: "acks-behind-many-pushes", Breaks: "7: an ack passes the pushes of a large group",
		Hunks:   []Hunk{{outDir + "/writers.go", "f.write(o, must || f.pushes <= pushesFirst && !f.aside)", "f.write(o, !must && f.pushes <= pushesFirst)"}},
		Package: outDir, Test: "TestAcksPassManyPushes",
	},
	{
		Name: "two-write-to-one", Breaks: "8: one goroutine at a time writes to a connection",
		Hunks:   []Hunk{{outDir + "/queue.go", "if o.writing || o.hold || o.closed || !o.next() {", "if o.hold || o.closed || !o.next() {"}},
		Package: outDir, Test: "TestOneWritesAtATime",
	},
	{
		Name: "one-writer-for-all", Breaks: "8: a writer that is held up holds up its own sessions only",
		Hunks:   []Hunk{{outDir + "/writers.go", "return uint16(n % uint64(len(w.all)))", "return uint16(n * 0)"}},
		Package: outDir, Test: "TestWritersAreApart",
	},
}
