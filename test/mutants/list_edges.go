package main

// edges are bugs at the edges of the promise: each undoes what docs/promise.md says was
// mended there. Those of the checker are at the end.
var edges = []Mutant{
	{
		Name: "refused-for-its-rate-holds-up-nothing", Breaks: "11: what is behind a message that came too fast waits for it",
		Hunks:   []Hunk{{gatewayDir + "/order.go", "\t\tt.order.Refused(s.ID, conv, id, t.place)\n", "\t\t_, _ = conv, id\n"}},
		Package: gatewayDir, Test: "TestRateLimitKeepsTheOrder",
	},
	{
		Name: "overload-holds-up-nothing", Breaks: "11: what is behind a message for which there was no room waits for it",
		Hunks:   []Hunk{{messagingDir + "/send.go", "\t\tit.refused(err)\n\t\ts.metrics.reject(err)", "\t\ts.metrics.reject(err)"}},
		Package: messagingDir, Test: "TestOverloadKeepsTheOrder",
	},
	{
		Name: "ack-overtakes-pushes", Breaks: "§6.7: an ack stands where its entry stands among the pushes",
		Hunks:   []Hunk{{outDir + "/answers.go", "if x.follows() || o.holdsBefore(x) {", "if o.holdsBefore(x) {"}},
		Package: gatewayDir, Test: "TestAcksStandInTheirPlace",
	},
	{
		Name: "own-changes-are-told-to-nobody", Breaks: "4.6: blocks and remarks stand in the user's own feed",
		Hunks:   []Hunk{{contactDir + "/contact.go", "changed := a.State != wasA.State || ev.private && *a != wasA", "changed := a.State != wasA.State"}},
		Package: contactDir, Test: "TestStories",
	},
	{
		Name: "profile-is-told-to-nobody", Breaks: "4.6: the profile stands in the user's own feed",
		Hunks:   []Hunk{{accountDir + "/users.go", "u, err := s.store.UpdateUser(ctx, actor.User, change, notice)", "_ = notice\n\tu, err := s.store.UpdateUser(ctx, actor.User, change)"}},
		Package: accountDir, Test: "TestProfileIsToldToItsOwner",
	},
	{
		Name: "neighbours-begin-apart", Breaks: "the workload has both members of a dm at one gateway",
		Hunks:   []Hunk{{soakDir + "/world.go", "k := n / 2 % len(urls)", "k := n % len(urls)"}},
		Package: soakDir, Test: "TestNeighboursBeginAtOneGateway",
	},
	{
		Name: "identical-nodes-are-apart", Breaks: "faults happen to three nodes that have all roles",
		Hunks:   []Hunk{{"test/faults/cluster_linux.go", "alike = [][]string{{gateway, logic, api}, {gateway, logic, api}, {gateway, logic, api}}", "alike = apart"}},
		Package: "test/faults", Test: "TestChosenFaults",
	},
	{
		Name: "roots-are-left-as-they-were", Breaks: "4.3: what a reply in the line made of its root meanwhile is told to who is a member again",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\t\t\tr.answered[root] = true\n", ""}},
		Package: messagingDir, Test: "TestRepliesBetweenTwoTimes",
	},
	{
		Name: "positions-stay-behind", Breaks: "§7.7: positions travel with what is pushed",
		Hunks:   []Hunk{{outDir + "/position.go", "a == nil || a.n < o.tellFrom || o.lagging", "a == nil || a.n > 0 || o.lagging"}},
		Package: gatewayDir, Test: "TestPositionsTravelWithPushes",
	},
	{
		Name: "places-are-not-looked-up", Breaks: "§7.7: positions travel with what is pushed, also between nodes",
		Hunks:   []Hunk{{outDir + "/position.go", "if p == nil || p.asking || !MayTell(o) || o.sh.o.Tick() < p.next {", "if p == nil || !p.asking {"}},
		Package: gatewayDir, Test: "TestPlacesPassNothing",
	},
	{
		Name: "success-does-not-forgive", Breaks: "§1.5: who waits retry_after_ms after each refusal is never closed",
		Hunks:   []Hunk{{limitsDir + "/devices.go", "\tcase own.refused > 0:\n\t\town.refused--\n", ""}, {limitsDir + "/devices.go", "\tcase now >= had:\n\t\town.refused = 0\n", ""}},
		Package: gatewayDir, Test: "TestWhoWaitsAsToldIsNotClosed",
	},
	{
		Name: "rate-is-new-with-each-connection", Breaks: "§1.5: a new connection has what is left",
		Hunks:   []Hunk{{limitsDir + "/devices.go", "\tif full <= now {", "\tif full <= now || s.users == 0 {"}},
		Package: gatewayDir, Test: "TestRatesBelongToTheDevice",
	},
	{
		Name: "resume-in-one-page", Breaks: "§7.1: at most 500 conversations come at a time",
		Hunks:   []Hunk{{messagingDir + "/resume.go", "return n >= resumePage || p.size >= pageBytes", "return n < 0 && p.size >= pageBytes"}},
		Package: messagingDir, Test: "TestResumePages",
	},
	{
		Name: "refused-start-writes", Breaks: "a refused start changes nothing on disk",
		Hunks:   []Hunk{{pebbleDir + "/journal.go", "\tif f.loss != nil && !j.o.AcceptLoss {\n\t\treturn f.loss\n\t}\n\treturn j.begin(path, f)\n", "\tif err := j.begin(path, f); err != nil {\n\t\treturn err\n\t}\n\tif f.loss != nil && !j.o.AcceptLoss {\n\t\treturn f.loss\n\t}\n\treturn nil\n"}},
		Package: pebbleDir, Test: "TestRefusedStartChangesNothing/db/MANIFEST-.*",
	},
	{
		Name: "older-directory-is-served", Breaks: "journal and directory are a pair: one that is older than the other knows is refused",
		Hunks:   []Hunk{{imDir + "/pair.go", "case directory.Changes < journal.Changes:", "case directory.Changes < journal.Changes && journal.Changes == 0:"}},
		Package: imDir, Test: "TestComparePair",
	},
	{
		Name: "change-without-a-witness", Breaks: "a directory's commit is answered when the journal has its number",
		Hunks:   []Hunk{{directoryDir + "/pair.go", "if err := g.witness.Changed(uint64(g.changes)); err != nil {", "if err := error(nil); err != nil {"}},
		Package: sqliteDir, Test: "TestChangesAreWitnessed",
	},
	{
		Name: "damaged-pages-are-served", Breaks: "every page of the directory has a checksum, checked whenever it is read",
		Hunks:   []Hunk{{sqliteDir + "/sums.go", "return binary.LittleEndian.Uint64(page[pageSize-sumSize:]) == sum(page, number)", "return len(page) > 0 || binary.LittleEndian.Uint64(page[pageSize-sumSize:]) == sum(page, number)"}},
		Package: sqliteDir, Test: "TestEveryPageHasAChecksum",
	},
	{
		Name: "claim-link-beside-messages", Breaks: "a server that stores messages never prints the link that makes the first administrator",
		Hunks:   []Hunk{{appDir + "/app.go", "\tif empty {\n\t\ta.claim, err", "\tif empty || a.claim == \"\" {\n\t\ta.claim, err"}},
		Package: appDir, Test: "TestStoresOfDifferentTimes",
	},
	{
		Name: "newest-proves-nothing", Breaks: "10: every device proves the newest entry it has",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "if ok && err == nil && q.Newest.Seq > 0 {", "if ok && err == nil && q.Newest.Seq > 1<<62 {"}},
		Package: messagingDir, Test: "TestWhatAnotherHistoryToldResets",
	},
	{
		Name: "connected-are-not-told-of-a-return", Breaks: "§7.8: who is connected while the server goes back gets Resync at once",
		Hunks:   []Hunk{{gatewayDir + "/history.go", "\t\t\ts.Compare()\n", ""}},
		Package: gatewayDir, Test: "TestWentBack",
	},
	{
		Name: "restored-on-the-old-timeline", Breaks: "a restore begins a new timeline by itself",
		Hunks:   []Hunk{{"internal/backup/restore.go", "NewTimeline: true", "NewTimeline: false"}},
		Package: "internal/backup", Test: "TestBackupAndRestore",
	},
	{
		Name: "damaged-chunk-is-restored", Breaks: "every chunk of a backup is compared when it is read",
		Hunks:   []Hunk{{"internal/backup/make.go", "if got := sha256.Sum256(chunk); hex.EncodeToString(got[:]) != sum {", "if got := sha256.Sum256(chunk); hex.EncodeToString(got[:]) != sum && len(chunk) == 0 {"}},
		Package: "internal/backup", Test: "TestDamage",
	},
	{
		Name: "one-damaged-block-is-everybodys", Breaks: "one damaged block breaks what is in it and no more",
		Hunks:   []Hunk{{pebbleDir + "/heads.go", "\t\tcase errors.Is(err, im.ErrJournalDamaged):\n\t\t\tout[i] = im.Head{Damaged: true}\n\t\t\tcontinue\n", ""}},
		Package: pebbleDir, Test: "TestOneDamagedBlock",
	},
	{
		Name: "one-damaged-page-is-everybodys", Breaks: "one damaged block breaks what is in it and no more, in PostgreSQL",
		Hunks:   []Hunk{{"internal/im/apart.go", "\tcase !errors.Is(err, ErrJournalDamaged):\n\t\treturn err\n", "\tcase err != nil || !errors.Is(err, ErrJournalDamaged):\n\t\treturn err\n"}},
		Package: postgresDir, Test: "TestOneDamagedBlock",
	},
	{
		Name: "damaged-page-stops-the-store", Breaks: "one damaged block breaks what is in it and no more: the store stores, and says so",
		Hunks:   []Hunk{{postgresDir + "/locked.go", "\tif errors.Is(err, im.ErrJournalDamaged) { // says nothing of others\n\t\treturn\n\t}\n", ""}},
		Package: postgresDir, Test: "TestOneDamagedBlock",
	},
	{
		Name: "accepted-loss-keeps-the-timeline", Breaks: "who accepts a loss in PostgreSQL begins a new timeline",
		Hunks:   []Hunk{{postgresDir + "/journal.go", "\tname = next\n", ""}},
		Package: appDir, Test: "TestHalfADatabase/no_users",
	},
	{
		Name: "ready-without-room", Breaks: "/readyz says no while the store cannot store",
		Hunks:   []Hunk{{appDir + "/ready.go", "\t\tif stopped != \"\" {\n\t\t\tr.Reasons = append(r.Reasons, stopped)\n\t\t}\n", "\t\t_ = stopped\n"}},
		Package: appDir, Test: "TestFullIsNotReady",
	},
	{
		Name: "anybody-listens-as-a-node", Breaks: "whoever listens at a node's address without a certificate hears nothing",
		Hunks:   []Hunk{{"internal/bus/nats/links.go", "RootCAs:                pool,", "RootCAs:                pool,\n\t\tInsecureSkipVerify:     true,"}},
		Package: "internal/bus/nats", Test: "TestImpostorListens/another_secret",
	},
	{
		Name: "anybody-dials-as-a-node", Breaks: "whoever dials a node without a certificate joins nothing",
		Hunks:   []Hunk{{"internal/bus/nats/links.go", "tls.RequireAndVerifyClientCert", "tls.RequireAnyClientCert"}},
		Package: "internal/bus/nats", Test: "TestImpostorDials",
	},
	{
		Name: "slow-is-broken", Breaks: "a store that is slow or away is unavailable, never internal",
		Hunks:   []Hunk{{imDir + "/errors.go", "\tif ended(err) {\n\t\treturn CodeUnavailable\n\t}\n", ""}},
		Package: imDir, Test: "TestSlowIsUnavailable",
	},
	{
		Name: "work-outlives-its-session", Breaks: "a session that ends takes its reads along",
		Hunks:   []Hunk{{gatewayDir + "/asking.go", "\tfor _, q := range a.of[s] {\n\t\tq.stop()\n\t}\n", ""}},
		Package: gatewayDir, Test: "TestWorkEndsWithItsSession",
	},
	{
		Name: "poison-may-be-repeated", Breaks: "a send whose handling panics is answered so that no client repeats it",
		Hunks:   []Hunk{{messagingDir + "/guard.go", "code := im.CodeUnprocessable", "code := im.CodeUnavailable"}},
		Package: messagingDir, Test: "TestAPanicEndsItsMessage",
	},
	{
		Name: "poison-goes-to-the-next-node", Breaks: "a send whose handling panics is given to no other node",
		Hunks:   []Hunk{{remoteDir + "/node.go", "reply(im.Ack{}, im.Errorf(im.CodeUnprocessable,", "reply(im.Ack{}, im.Errorf(im.CodeUnavailable,"}},
		Package: remoteDir, Test: "TestPoison",
	},

	{
		Name: "checker-sees-no-joins", Breaks: "the checker: a device that resumes is told of what its user joined",
		Hunks:   []Hunk{{soakDir + "/check_facts.go", "if j := all[next]; !told[j.conversation] {", "if j := all[next]; !told[j.conversation] && j.at < 0 {"}},
		Package: soakDir, Test: "TestFactViolations",
	},
	{
		Name: "checker-forgives-who-was-refused", Breaks: "the checker: a device's order holds after a refusal, too",
		Hunks:   []Hunk{{soakDir + "/check.go", "\t\tc.report.Rejected++\n", "\t\tc.report.Rejected++\n\t\ts.anew = true\n"}},
		Package: soakDir, Test: "TestViolations",
	},
	{
		Name: "checker-takes-another-place-for-a-resend", Breaks: "the checker: an id that was acknowledged long ago keeps its place",
		Hunks:   []Hunk{{soakDir + "/check.go", "case s.acked != 0 && s.timeline == rec.Timeline && s.seq != rec.Seq:", "case s.acked == 0 && s.timeline == rec.Timeline && s.seq != rec.Seq:"}},
		Package: soakDir, Test: "TestFactViolations",
	},
	{
		Name: "checker-forgives-what-was-taken-back", Breaks: "the checker: what was taken back is gone from every device",
		Hunks:   []Hunk{{soakDir + "/check_facts.go", "case recalled && !gone && c.knows(v, e.Conversation, seq):", "case recalled && !gone && seq == 0:"}},
		Package: soakDir, Test: "TestFactViolations",
	},
	{
		Name: "checker-forgets-what-was-answered", Breaks: "the checker: what was answered over HTTP stays so",
		Hunks:   []Hunk{{soakDir + "/check_facts.go", "case rec.Seq < f.number:", "case rec.Seq < f.number && !f.known:"}},
		Package: soakDir, Test: "TestFactViolations",
	},
	{
		Name: "checker-takes-an-old-timeline", Breaks: "the checker: who is connected does not go on in a history that is over",
		Hunks:   []Hunk{{soakDir + "/check_facts.go", "late > int64(toldWithin) {", "late > 1<<62 {"}},
		Package: soakDir, Test: "TestFactViolations",
	},
	{
		Name: "checker-misses-who-was-not-reset", Breaks: "the checker: who had what a return took is told so",
		Hunks:   []Hunk{{soakDir + "/returns.go", "\tif there >= 0 {", "\tif there > len(h) {"}},
		Package: soakDir, Test: "TestPutBackViolations",
	},
	{
		Name: "checker-removes-the-first-only", Breaks: "the checker: all who are removed with an entry see nothing after it",
		Hunks:   []Hunk{{soakDir + "/check_members.go", "for _, u := range e.Left {", "for _, u := range e.Left[:min(len(e.Left), 1)] {"}},
		Package: soakDir, Test: "TestFactViolations",
	},
}
