package main

const (
	sdkDir  = "sdk/go"
	wireDir = "wire"
	soakDir = "internal/soak"

	driverDir = "sdk/conformance/go"
)

// clients are bugs of the SDK and of the protocol's Go form.
var clients = []Mutant{
	{
		Name: "question-forgotten", Breaks: "a client asks again after a restart what it had to ask",
		Hunks:   []Hunk{{"sdk/go/times.go", "		cv.rec.Unsure = true\n", ""}},
		Package: "sdk/go", Test: "TestQuestionsOutliveTheProcess",
	},
	{
		Name: "reader-keeps-what-was-said-before", Breaks: "2: a frame is what its bytes say",
		Hunks:   []Hunk{{wireDir + "/reader.go", "\tm.send = sendParts{}\n", ""}},
		Package: wireDir, Test: "TestAReaderForgets",
	},
	{
		Name: "reader-takes-any-name-for-the-last", Breaks: "2: a frame is what its bytes say",
		Hunks:   []Hunk{{wireDir + "/reader.go", "b[n] == '\"' && string(b[:n]) == *m.last", "b[n] == '\"'"}},
		Package: wireDir, Test: "TestAReaderForgets",
	},
	{
		Name: "sdk-deleted-ends-history", Breaks: "a page of what the user deleted is not the end of history",
		Hunks:   []Hunk{{sdkDir + "/deleted.go", "len(es) < want || len(out) >= limit", "len(es) <= want || len(out) >= limit"}},
		Package: sdkDir, Test: "TestDeleteForMe",
	},
	{
		Name: "sdk-deleted-stays-unread", Breaks: "what the user deletes is not unread at once",
		Hunks:   []Hunk{{sdkDir + "/mine.go", "\t\tk.withoutDeleted(cv, ask)\n", "\t\t_ = ask\n"}},
		Package: sdkDir, Test: "TestDeleteForMe",
	},
	{
		Name: "sdk-date-ends-with-a-page", Breaks: "a page of amendments is not the end of what was said since a date",
		Hunks:   []Hunk{{sdkDir + "/date.go", "resp.LastSeq == 0 ||", "resp.LastSeq == 0 || len(resp.Entries) == 0 ||"}},
		Package: sdkDir, Test: "TestHistoryAt",
	},
	{
		Name: "sdk-applies-twice", Breaks: "4: an entry is applied once",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "case e.Seq <= cv.rec.High:\n\t\tk.settle(e)", "case e.Seq < cv.rec.High:\n\t\tk.settle(e)\n\tcase e.Seq == cv.rec.High:\n\t\tk.apply(cv, e, quiet)"}},
		Package: sdkDir, Test: "TestChaos",
	},
	{
		Name: "sdk-shows-what-was-pushed-before-a-return", Breaks: "24: what waits while the server goes back is of the history that is gone",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "\tk.heldOver = k.heldOver || len(k.held) > 0\n\tk.held = nil\n", ""}},
		Package: sdkDir, Test: "TestServerPutBackWhilePushesWait",
	},
	{
		Name: "sdk-proves-by-what-it-applied", Breaks: "24: what waits for the entries before it is of the history that is proved",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "\t\t\tif n.GetPos() > newest.GetPos() {\n", "\t\t\tif newest == nil {\n"}},
		Package: sdkDir, Test: "TestServerPutBackWhileAnAckWaits",
	},
	{
		Name: "sdk-trusts-an-ack-for-ever", Breaks: "1: what was acknowledged and not applied is sent once more after a restart",
		Hunks:   []Hunk{{sdkDir + "/outbox.go", "\t\tif r.State == OutboxStored {\n\t\t\tr.State, r.Seq = OutboxPending, 0\n\t\t}\n", ""}},
		Package: sdkDir, Test: "TestServerPutBackWhileAnAckWaits",
	},
	{
		Name: "sdk-edits-mention-nobody", Breaks: "§4.17: unread mentions are as messages are now",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "(kept == nil || kept.Amended < e.Seq && !kept.Recalled)", "kept == nil"}},
		Package: sdkDir, Test: "TestUnreadAgreesWithTheServer",
	},
	{
		Name: "sdk-recalled-still-mentions", Breaks: "§4.17: a recall takes a mention away",
		Hunks:   []Hunk{{sdkDir + "/recalls.go", "\tk.noteMention(cv, seq, by, false)\n", ""}},
		Package: sdkDir, Test: "TestUnreadAgreesWithTheServer",
	},
	{
		Name: "sdk-counts-mentions-without-names-twice", Breaks: "§4.17: what the server counted is not counted again",
		Hunks:   []Hunk{{sdkDir + "/unread_mentions.go", "seq <= r.Read || by <= cv.mentionsAt ||", "seq <= r.Read ||"}},
		Package: sdkDir, Test: "TestUnreadAgreesWithTheServer",
	},
	{
		Name: "sdk-saves-handled-events-seldom", Breaks: "4: at most 64 events come again after a crash",
		Hunks:   []Hunk{{sdkDir + "/events.go", "f.handled-f.kept >= feedPage", "f.handled-f.kept >= 4*feedPage"}},
		Package: sdkDir, Test: "TestFewEventsComeAgain",
	},
	{
		Name: "sdk-event-is-handled-when-it-is-told", Breaks: "4: an event that a handler had not finished comes again after a crash",
		Hunks:   []Hunk{{sdkDir + "/events.go", "more := yield(stored)\n\t\t\t\tf.handled = n\n", "f.handled = n\n\t\t\t\tf.save()\n\t\t\t\tmore := yield(stored)\n"}},
		Package: sdkDir, Test: "TestEventsSurviveRestart",
	},
	{
		Name: "checker-tells-again-in-any-order", Breaks: "7: what comes again after a crash is in its order",
		Hunks:   []Hunk{{soakDir + "/check_process.go", "case t.next < len(t.order) && before && i == t.next:", "case t.next < len(t.order) && before:"}},
		Package: soakDir, Test: "TestToldAgain",
	},
	{
		Name: "checker-forgets-outboxes", Breaks: "1: what was in an outbox on disk is stored or refused",
		Hunks:   []Hunk{{soakDir + "/check_process.go", "case s.acked == 0 && s.failed == \"\" && s.stored == 0:", "case s.acked == 0 && s.failed == \"\" && s.stored == 0 && s.id == \"\":"}},
		Package: soakDir, Test: "TestDropped",
	},
	{
		Name: "sdk-passes-a-hole", Breaks: "6: no cursor passes a hole",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "case e.Seq == cv.rec.after(cv.rec.High):", "case e.Seq > cv.rec.High && (e.Seq == cv.rec.after(cv.rec.High) || len(cv.early) > 0):"}},
		Package: sdkDir, Test: "TestChaos",
	},
	{
		Name: "sdk-earlier-times-forgotten", Breaks: "4: who is added again reads what was stored while they were a member before",
		Hunks:   []Hunk{{sdkDir + "/times.go", "\tfor _, w := range s.Earlier {\n", "\tfor _, w := range s.Earlier[:0] {\n"}},
		Package: sdkDir, Test: "TestAddedAgain",
	},
	{
		Name: "sdk-hidden-counts-as-unread", Breaks: "12: what lies between two times of membership is not unread",
		Hunks:   []Hunk{{sdkDir + "/marks.go", "cv.rec.ReadCount + cv.rec.hidden() +", "cv.rec.ReadCount +"}},
		Package: sdkDir, Test: "TestReadMarksAcrossTimes",
	},
	{
		Name: "sdk-recalls-in-a-gap", Breaks: "13: recalls that a window leaves out count",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "tell && r.before(seq) > cv.told", "tell && r.before(seq) > seq"}},
		Package: sdkDir, Test: "TestRecalledInAGap",
	},
	{
		Name: "sdk-recalled-stays-unread", Breaks: "13: what was recalled is not unread, at once",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "\tk.recalled(cv, e.Target, e.Seq)\n", ""}},
		Package: sdkDir, Test: "TestRecalledIsNotUnread",
	},
	{
		Name: "sdk-does-not-pull", Breaks: "6: what is missing is pulled",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "\t\tk.offer(cv, e, false)\n\t\tk.wantPull(cv)\n\t}\n}\n\n// holdReturned", "\t\tk.offer(cv, e, false)\n\t}\n}\n\n// holdReturned"}},
		Package: sdkDir, Test: "TestPushesDuplicatedReorderedGapped",
	},
	{
		Name: "sdk-sends-before-it-stores", Breaks: "outbox: in the store first, then on the wire",
		Hunks:   []Hunk{{sdkDir + "/core.go", "func (k *core) turn() {\n\tk.commit()", "func (k *core) turn() {\n\tk.pump()\n\tk.commit()"}},
		Package: sdkDir, Test: "TestCrashAtEveryStep",
	},
	{
		Name: "sdk-answers-before-it-stores", Breaks: "outbox: what the program is told is stored",
		Hunks:   []Hunk{{sdkDir + "/outbox.go", "\t\tk.after = append(k.after, func(failed error) {\n\t\t\tif failed != nil {\n\t\t\t\tm, err = nil, failed\n\t\t\t}\n\t\t\tp.resolve(m, err)\n\t\t})", "\t\tp.resolve(m, err)"}},
		Package: sdkDir, Test: "TestAnsweredAfterStored",
	},
	{
		Name: "sdk-resends-in-reverse", Breaks: "20: a resend keeps the order",
		Hunks:   []Hunk{{sdkDir + "/outbox.go", "return q.items[i].rec.N > it.rec.N", "return q.items[i].rec.N < it.rec.N"}},
		Package: sdkDir, Test: "TestChaos",
	},
	{
		Name: "sdk-forgets-what-was-in-flight", Breaks: "1: an unanswered message is sent again",
		Hunks:   []Hunk{{sdkDir + "/outbox.go", "\t\tfor _, it := range q.items {\n\t\t\tk.unsent(q, it)\n\t\t}\n\t\tq.retryAt", "\t\tq.retryAt"}},
		Package: sdkDir, Test: "TestChaos",
	},
	{
		Name: "sdk-new-id-for-a-resend", Breaks: "3: a resend has the same id",
		Hunks:   []Hunk{{sdkDir + "/outbox.go", "\t\tit.tries++\n\t\tq.retryAt", "\t\tdelete(k.items, it.id())\n\t\tk.newID(it)\n\t\tit.tries++\n\t\tq.retryAt"}},
		Package: sdkDir, Test: "TestChaos",
	},
	{
		Name: "sdk-goes-on-after-a-refusal", Breaks: "20: what is behind a refused message waits for it",
		Hunks:   []Hunk{{sdkDir + "/outbox.go", "case now.Before(q.retryAt):", "case now.Before(q.retryAt) && q.inflight < 0:"}},
		Package: sdkDir, Test: "TestRetryRangeKeepsOrderAndFixRangeFails",
	},
	{
		Name: "sdk-own-push-twice", Breaks: "4: the own message is applied once, whatever comes first",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "if own && k.settle(e) {", "if own && !own {"}},
		Package: sdkDir, Test: "TestChaos",
	},
	{
		Name: "sdk-reset-forgets-the-outbox", Breaks: "17: acknowledged messages of a lost timeline are sent again",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "\tk.feed(FeedItem{Kind: FeedReset})\n\tk.resend()", "\tk.feed(FeedItem{Kind: FeedReset})"}},
		Package: sdkDir, Test: "TestStoredMessageOfALostTimeline",
	},
	{
		Name: "sdk-reset-keeps-the-position", Breaks: "24: a reset begins anew",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "\tclear(k.convs)\n\tclear(k.dirty)", "\tclear(k.dirty)"}},
		Package: sdkDir, Test: "TestTimelineChange",
	},
	{
		Name: "sdk-beacon-ignored", Breaks: "5: a beacon repairs a lost push",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "\tif seq > cv.rec.Head {\n\t\tcv.rec.Head = seq\n\t\tk.touch(cv, true)\n\t}\n\tif cv.returned", "\tif cv.returned"}},
		Package: sdkDir, Test: "TestLostLastPush",
	},
	{
		Name: "sdk-digest-ignored", Breaks: "5: who hears that their digest is another one syncs",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "case f.Resync:\n\t\tk.onResync()", "case f.Resync:"}},
		Package: sdkDir, Test: "TestBusyClientComparesHeads",
	},
	{
		Name: "sdk-position-of-a-pong", Breaks: "6: a position passes nothing that is not held",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "cv.atPos = max(cv.atPos, seq)\n", "cv.atPos = max(cv.atPos, seq, cv.rec.High)\n"}},
		Package: sdkDir, Test: "TestDigestKeepsWhatCameSince",
	},
	{
		Name: "sdk-recall-keeps-content", Breaks: "23: a recall erases the target on every device",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "\t\tk.change(cv, erased(kept, e.Seq))\n", ""}},
		Package: sdkDir, Test: "TestRecallErases",
	},
	{
		Name: "sdk-older-state-wins", Breaks: "23: of two states of a message the newer one counts, in whatever order they come",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "other.Amended > e.Amended && ", "other.Amended != e.Amended && "}},
		Package: sdkDir, Test: "TestStatesInAnyOrder",
	},
	{
		Name: "sdk-edit-overwrites-a-newer-state", Breaks: "23: an edit that is told late changes nothing newer",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "applies := other.Target == e.Seq && other.Seq > e.Amended && !e.Recalled", "applies := other.Target == e.Seq && !e.Recalled"}},
		Package: sdkDir, Test: "TestEdit",
	},
	{
		Name: "sdk-others-reactions-are-mine", Breaks: "23: a reaction is the user's own only if they reacted",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "\t\te.React = nil\n", ""}},
		Package: sdkDir, Test: "TestReactions",
	},
	{
		Name: "sdk-touched-ignored", Breaks: "23: a device that was away learns what was amended before the stretch",
		Hunks:   []Hunk{{sdkDir + "/stretch.go", "\t\tif e.GetSeq() < s.first {\n", "\t\tif e.GetSeq() < s.first && e.GetSeq() > r.High {\n"}},
		Package: sdkDir, Test: "TestAmendments",
	},
	{
		Name: "terminal-folders-apart", Breaks: "a folder has one heading",
		Hunks:   []Hunk{{"internal/terminal/view.go", "m.scene.rows[i-1].folder != r.folder", "m.scene.rows[i-1].folder != \"\""}},
		Package: "internal/terminal", Test: "TestListShowsFolders",
	},
	{
		Name: "sdk-unknown-not-asked-again", Breaks: "a group that is not known is asked for after it was heard of",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "e.Seq > max(k.unknown[e.Conversation], 1)", "e.Seq > max(k.unknown[e.Conversation], e.Seq)"}},
		Package: sdkDir, Test: "TestAddedWhileASyncIsUnderWay",
	},
	{
		Name: "sdk-older-my-state-wins", Breaks: "15: of two states that a user set the newer one counts",
		Hunks:   []Hunk{{sdkDir + "/mine.go", "\tif m.GetRevision() <= cv.rec.Mine.GetRevision() {\n", "\tif m == nil {\n"}},
		Package: sdkDir, Test: "TestMyState",
	},
	{
		Name: "sdk-shows-what-is-cleared", Breaks: "15: what a user has cleared is not shown",
		Hunks:   []Hunk{{sdkDir + "/conversation.go", "\tes = w.shown(es)\n", ""}},
		Package: sdkDir, Test: "TestClearedIsNotShown",
	},
	{
		Name: "sdk-state-tells-beyond-its-end", Breaks: "5: who is removed while a state is made is told what lies between",
		Hunks:   []Hunk{{sdkDir + "/stretch.go", "return stretch{s.FromSeq, s.Seq, ", "return stretch{s.FromSeq, max(s.Seq, s.UntilSeq), "}},
		Package: sdkDir, Test: "TestRemovedWhileTheStateWasMade",
	},
	{
		Name: "sdk-high-before-the-stretchs-end", Breaks: "5: after a stretch the cursor is at its end, whatever stands there",
		Hunks:   []Hunk{{sdkDir + "/stretch.go", "\tk.skip(cv, s.last, s.end)\n", ""}},
		Package: sdkDir, Test: "TestAmendments",
	},
	{
		Name: "sdk-proof-forgets-amendments", Breaks: "24: an amendment that is known proves the history as a message does",
		Hunks:   []Hunk{{sdkDir + "/stretch.go", "\tk.reach(cv, seq, end)\n", "\tk.reach(cv, seq, nil)\n"}},
		Package: sdkDir, Test: "TestServerPutBackBeforeAnAmendment",
	},
	{
		Name: "sdk-answer-brings-back-what-was-recalled", Breaks: "23: an answer that was read before a recall does not bring the message back",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "\t\t\tr.amended = append(r.amended, by)\n", ""}},
		Package: sdkDir, Test: "TestOlderAnswerOfWhatWasAmended",
	},
	{
		Name: "sdk-list-line-passes-what-it-left-out", Breaks: "23: what was amended is learnt, also when the list is read again",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "cold && !begins, quiet)", "cold && !begins && quiet, quiet)"}},
		Package: sdkDir, Test: "TestListReadAgain",
	},
	{
		Name: "sdk-mark-goes-back", Breaks: "12: marks never go back",
		Hunks:   []Hunk{{sdkDir + "/marks.go", "\tif seq <= cv.rec.Read {\n\t\treturn\n\t}", "\tif seq == cv.rec.Read {\n\t\treturn\n\t}"}},
		Package: sdkDir, Test: "TestReadMarkNeverGoesBack",
	},
	{
		Name: "sdk-received-before-stored", Breaks: "6: what is confirmed as received is stored",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "\tr.Received = e.Seq\n", "\tr.Received = e.Seq\n\tk.send(wire.NewClientFrame(&wire.Received{Conversation: r.ID, Seq: e.Seq}))\n"}},
		Package: sdkDir, Test: "TestSendAndReceive",
	},
	{
		Name: "sdk-store-failure-ignored", Breaks: "4: a client whose store failed ends",
		Hunks:   []Hunk{{sdkDir + "/core.go", "\t\t\tk.die(fmt.Errorf(\"%w: %w\", ErrStore, err))\n\t\t\treturn\n", "\t\t\t_ = fmt.Errorf(\"%w: %w\", ErrStore, err)\n"}},
		Package: sdkDir, Test: "TestStoreFailureEndsTheClient",
	},
	{
		Name: "digest-without-separator", Breaks: "5: a digest is the protocol's",
		Hunks:   []Hunk{{wireDir + "/digest.go", "\th = (h ^ ':') * fnvPrime\n", ""}},
		Package: wireDir, Test: "TestHeadHash",
	},
	{
		Name: "ids-stand-still", Breaks: "3: every message has an id of its own, greater than the one before",
		Hunks:   []Hunk{{wireDir + "/id.go", "\tcase s.count < 0xfff:\n\t\ts.count++\n\tdefault:\n\t\ts.ms, s.count = s.ms+1, 0\n", "\tcase s.count < 0xfff:\n\t\ts.count++\n\tdefault:\n\t\ts.count = 0\n"}},
		Package: wireDir, Test: "TestIDsIncrease",
	},
	{
		Name: "scenario-list-is-read-but-the-rest-is-not", Breaks: "5: what changed since a position is told when its last page is applied",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "\tif !cold && d.Next != \"\" {\n", "\tif !cold && d.Next != \"\" && false {\n"}},
		Package: driverDir, Test: "TestScenarios/json/resume_pages",
	},
	{
		Name: "scenario-position-is-taken-while-a-sync-is-unanswered", Breaks: "5: no position passes what is not applied",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "waits := k.syncing || k.wantSync", "waits := k.wantSync"}},
		Package: driverDir, Test: "TestScenarios/json/position_pushed",
	},
	{
		Name: "scenario-marks-of-a-history-that-is-gone", Breaks: "24: no mark is told between a Resync and the answer",
		Hunks:   []Hunk{{sdkDir + "/marks.go", "\tif k.proof != nil { // perhaps", "\tif k.proof != nil && false { // perhaps"}},
		Package: driverDir, Test: "TestScenarios/json/resync_went_back",
	},
	{
		Name: "scenario-refused-message-is-not-given-up", Breaks: "4: who knows that the first one is stored takes its place",
		Hunks:   []Hunk{{sdkDir + "/outbox.go", "\t\t\tq.instead = f.First\n", ""}},
		Package: driverDir, Test: "TestScenarios/json/unknown_outcome_entry_came",
	},
	{
		Name: "scenario-later-state-is-replaced-by-an-earlier-one", Breaks: "5: of two records of my state the one with the greater revision counts",
		Hunks:   []Hunk{{sdkDir + "/mine.go", "m.GetRevision() <= cv.rec", "m.GetRevision() == cv.rec"}},
		Package: driverDir, Test: "TestScenarios/pb/my_state_newest",
	},
	{
		Name: "scenario-amendment-of-an-unknown-kind-is-passed-over", Breaks: "5: what an amendment made of its target is read",
		Hunks:   []Hunk{{sdkDir + "/amend.go", "return !amends(e) || e.Kind == wire.EntryKind_ENTRY_KIND_RECALL", "return true"}},
		Package: driverDir, Test: "TestScenarios/json/unknown_amendment",
	},
	{
		Name: "scenario-welcome-begins-the-pauses-anew", Breaks: "7: pauses grow until a Sync is answered",
		Hunks:   []Hunk{{sdkDir + "/connect.go", "\tk.rejected, k.rejections = \"\", 0\n", "\tk.rejected, k.rejections, k.attempt = \"\", 0, 0\n"}},
		Package: driverDir, Test: "TestScenarios/json/backoff_grows",
	},
	{
		Name: "sdk-believes-in-a-silent-server", Breaks: "7: who hears nothing for dead_ms makes a new connection",
		Hunks:   []Hunk{{sdkDir + "/connect.go", "if ms := k.heartbeat.GetDeadMs(); ms > 0 && k.state == StateConnected {", "if ms := k.heartbeat.GetDeadMs(); ms > 60_000 && k.state == StateConnected {"}},
		Package: sdkDir, Test: "TestSilentServerIsLostWhenItSaid",
	},
	{
		Name: "members-without-their-roles", Breaks: "the OpenAPI document's examples are what a server answers",
		Hunks:   []Hunk{{apiDir + "/groups.go", "Role:         wire.Role(m.Role),", ""}},
		Package: "test/clients", Test: "TestExamples",
	},
	{
		Name: "window-keeps-what-it-has-not", Breaks: "19: what a member may read is shown, also when it was not theirs before",
		Hunks:   []Hunk{{sdkDir + "/sync.go", "if low := cv.takeWindows(s); low > 0 {", "if low := cv.takeWindows(s); low > r.High {"}},
		Package: sdkDir, Test: "TestWindowBeginsBehindWhatIsShownNow",
	},
	{
		Name: "returned-during-a-sync", Breaks: "19: who is added again while a Sync is under way is told since when",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "if cv.returned(e.Seq) && e.Seq > cv.askedAt {", "if cv.returned(e.Seq) && e.Seq < cv.askedAt {"}},
		Package: sdkDir, Test: "TestReturnedWhileASyncIsUnderWay",
	},
}
