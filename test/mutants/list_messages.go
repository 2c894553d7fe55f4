package main

const (
	messagingDir = "internal/messaging"
	dispatchDir  = "internal/dispatch"
	outboxDir    = "internal/outbox"
)

// messages are bugs between a send and its fan-out, and in what is read.
var messages = []Mutant{
	{
		Name: "failed-journal-goes-on", Breaks: "1: after a failed fsync nothing is acknowledged any more",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "\t\ts.fail(err)\n\t\treturn im.Wrap", "\t\treturn im.Wrap"}},
		Package: messagingDir, Test: "TestFailedJournalStopsTheService",
	},
	{
		Name: "stretch-forgets-what-it-touched", Breaks: "14: a change of an earlier message is told",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\tr.touch(p.Touched)\n\t\tr.out.First = first\n", "\t\tr.out.First = first\n"}},
		Package: messagingDir, Test: "TestResumeTellsOutcomes",
	},
	{
		Name: "stretch-touches-what-is-not-theirs", Breaks: "14: what was amended is told to who may read it",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\tif may {\n", "\t\tif may || seq > 0 {\n"}},
		Package: messagingDir, Test: "TestTouchedInWindows",
	},
	{
		Name: "amended-between-two-times-untold", Breaks: "14: a change of a message is told to who may read it, also of a time when they were away",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\tr.touch(p.Touched)\n\t\tfor i := range p.Entries {\n", "\t\tfor i := range p.Entries {\n"}},
		Package: messagingDir, Test: "TestAmendedBetweenTwoTimes",
	},
	{
		Name: "amended-between-untold-from-the-later-one", Breaks: "14: a change of a message is told to who may read it, also of a time when they were away",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "if i > 0 && w.First >= from {", "if i > 0 && w.First > from {"}},
		Package: messagingDir, Test: "TestAmendedBetweenTwoTimes",
	},
	{
		Name: "my-state-of-nobody", Breaks: "nothing is set in a dm with a user who does not exist",
		Hunks:   []Hunk{{messagingDir + "/mine.go", "if code := im.CodeOf(err); code == im.CodeNotFound || code.Info()", "if code := im.CodeOf(err); code.Info()"}},
		Package: messagingDir, Test: "TestMyStateOfNobody",
	},
	{
		Name: "a-draft-for-the-deleted-stays", Breaks: "what was set in a dm before its other user was deleted is taken back",
		Hunks:   []Hunk{{messagingDir + "/mine.go", "err != nil || now[0].Mine != \"\" {", "err != nil {"}},
		Package: messagingDir, Test: "TestMyStateOfNobody",
	},
	{
		Name: "hidden-by-the-count-of-others", Breaks: "what is hidden comes back with the next message that its user may read",
		Hunks:   []Hunk{{messagingDir + "/mine.go", "s.countAt(ctx, c, last, head); err != nil", "s.countAt(ctx, c, head.Seq, head); err != nil"}},
		Package: messagingDir, Test: "TestHiddenUntil",
	},
	{
		Name: "hidden-for-ever", Breaks: "what is hidden comes back with the next message",
		Hunks:   []Hunk{{"sdk/go/conversation.go", "s.Mine.Hidden && r.HeadCount <= s.Mine.HiddenCount", "s.Mine.Hidden"}},
		Package: "sdk/go", Test: "TestHiddenUntilTheNextMessage",
	},
	{
		Name: "deleted-is-told", Breaks: "what a user deleted for themselves is not told to them",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\t\tblank(&o.Entries[i])\n", ""}},
		Package: messagingDir, Test: "TestDeletedIsNotTold",
	},
	{
		Name: "deleted-stays-unread", Breaks: "12: what a user deleted for themselves is not unread",
		Hunks:   []Hunk{{messagingDir + "/deleted.go", "out[i].Count = span.Until - span.After", "out[i].Count = 0"}},
		Package: messagingDir, Test: "TestDeletedIsNotUnread",
	},
	{
		Name: "cleared-comes-back", Breaks: "what a user deleted for themselves stays deleted when it is cleared",
		Hunks:   []Hunk{{"internal/im/mine.go", "\t\ts.ClearedBelow = max(s.ClearedBelow, *c.ClearedBelow)\n", "\t\ts.ClearedBelow, s.Deleted = max(s.ClearedBelow, *c.ClearedBelow), \"\"\n"}},
		Package: messagingDir, Test: "TestDeletedForEver",
	},
	{
		Name: "deleted-without-bound", Breaks: "what is kept of deletions is bounded",
		Hunks:   []Hunk{{messagingDir + "/mine.go", "n > im.MaxDeleted {", "n > 2*im.MaxDeleted {"}},
		Package: messagingDir, Test: "TestDeleteIsBounded",
	},
	{
		Name: "date-begins-behind-it", Breaks: "a pull from a time tells what was stored at that very time",
		Hunks:   []Hunk{{messagingDir + "/date.go", "!es[0].Stored.Before(at)", "es[0].Stored.After(at)"}},
		Package: messagingDir, Test: "TestPullFromATime",
	},
	{
		Name: "date-tells-of-other-times", Breaks: "17: where a pull from a time begins tells nothing of what is not the user's",
		Hunks:   []Hunk{{messagingDir + "/date.go", "return max(start, w.First), nil", "return start, nil"}},
		Package: messagingDir, Test: "TestPullFromATime",
	},
	{
		Name: "edit-of-another-state", Breaks: "13: an edit is made from the state that it is stored upon",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "im.Amend{Change: true, If: target.Amended}", "im.Amend{Change: true, If: e.Target}"}},
		Package: messagingDir, Test: "TestEdits",
	},
	{
		Name: "edit-keeps-its-words", Breaks: "23: a recall erases all that a message ever said",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "\tm.kept = nil\n", "\tm.kept = m.told\n"}},
		Package: messagingDir, Test: "TestRecallErasesEdits",
	},
	{
		Name: "edited-message-tells-its-versions", Breaks: "what a message said before is told to who asks for it, and not with it",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\te.Body = entrycodec.Told(e.Body)\n", ""}},
		Package: messagingDir, Test: "TestEdits",
	},
	{
		Name: "versions-told-to-who-may-not-read", Breaks: "17: who may not read a message may not read what it said before",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "\tif !may {\n", "\tif !may && seq == 0 {\n"}},
		Package: messagingDir, Test: "TestWhoMayEdit",
	},
	{
		Name: "edit-by-anybody", Breaks: "only its author edits a message",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "\tcase target.Sender != e.Sender:\n\t\tif _, err", "\tcase target.Sender == \"\":\n\t\tif _, err"}},
		Package: messagingDir, Test: "TestWhoMayEdit",
	},
	{
		Name: "recall-needs-to-write", Breaks: "who may not write takes back what they said",
		Hunks:   []Hunk{{messagingDir + "/admit.go", "case im.CodeMuted, im.CodePermissionDenied, im.CodeNotContact:", "case im.CodeMuted, im.CodePermissionDenied:"}},
		Package: messagingDir, Test: "TestRecallByWhoMayNotWrite",
	},
	{
		Name: "edit-for-ever", Breaks: "a message can be edited within the window",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "now.Sub(target.Stored) > s.editing:", "now.Sub(target.Stored) > 1000*s.editing:"}},
		Package: messagingDir, Test: "TestEditWindow",
	},
	{
		Name: "edit-of-what-was-taken-back", Breaks: "13: what was recalled stays so",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "\tcase target.Recalled:\n\t\treturn im.Errorf(im.CodeTooLate, \"the message was taken back\")\n", ""}},
		Package: messagingDir, Test: "TestRecallErasesEdits",
	},
	{
		Name: "all-versions-are-kept", Breaks: "what a message carries is bounded, however often it is edited",
		Hunks:   []Hunk{{"internal/entrycodec/amend.go", "\ts.forget()\n", ""}},
		Package: "internal/entrycodec", Test: "TestVersionsAreBounded",
	},
	{
		Name: "reaction-counts-twice", Breaks: "one of each kind of reaction for a user",
		Hunks:   []Hunk{{"internal/entrycodec/react.go", "if s.has(u, r.GetReaction(), bucket) == !r.GetRemove() {", "if r.GetRemove() && !s.has(u, r.GetReaction(), bucket) {"}},
		Package: "internal/entrycodec", Test: "TestReactions",
	},
	{
		Name: "reactions-lost-in-a-bucket", Breaks: "who reacted is known, however many did",
		Hunks:   []Hunk{{"internal/entrycodec/react.go", "\tcase !found && !r.Removed:\n", "\tcase !found && !r.Removed && len(all) < 2:\n"}},
		Package: "internal/entrycodec", Test: "TestReactions",
	},
	{
		Name: "taken-away-comes-back", Breaks: "a reaction that was taken away stays so",
		Hunks:   []Hunk{{"internal/entrycodec/react.go", "if !r.Removed || s.BucketOf(r.User) != 0 {", "if !r.Removed {"}},
		Package: "internal/entrycodec", Test: "TestReactions",
	},
	{
		Name: "a-message-keeps-all-reactions", Breaks: "what a message carries is bounded, however many react",
		Hunks:   []Hunk{{"internal/entrycodec/react.go", "if len(s.recent) <= recentRecords {", "if len(s.recent) <= 8*recentRecords {"}},
		Package: "internal/entrycodec", Test: "TestReactionsAreBounded",
	},
	{
		Name: "bucket-of-another-state", Breaks: "13: what is kept beside an amendment is found by the number that it got",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "s.known != nil || m.carries", "s.known != nil"}},
		Package: messagingDir, Test: "TestReactionsAtOnce",
	},
	{
		Name: "reaction-to-what-is-not-theirs", Breaks: "who reacts to a message may read it",
		Hunks:   []Hunk{{messagingDir + "/react.go", "\tif target.Sender != e.Sender && e.Sender != \"\" {\n", "\tif target.Sender == \"\" {\n"}},
		Package: messagingDir, Test: "TestWhoMayReact",
	},
	{
		Name: "own-reactions-of-nobody", Breaks: "who reads a message is told their own reactions",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "state.Mine(r.user, bucket)", "state.Mine(\"\", bucket)"}},
		Package: messagingDir, Test: "TestReactionsAreTold",
	},
	{
		Name: "repeated-reaction-is-stored", Breaks: "a reaction that changes nothing makes no entry",
		Hunks:   []Hunk{{messagingDir + "/react.go", "\tcase m.told == nil:\n\t\treturn errSame\n", ""}},
		Package: messagingDir, Test: "TestReactionsAreTold",
	},
	{
		Name: "readers-who-hide", Breaks: "4.31: who hides how far they have read is not named",
		Hunks:   []Hunk{{messagingDir + "/readers.go", "m.Read >= seq && !slices.Contains(hidden, m.User)", "m.Read >= seq && len(hidden) >= 0"}},
		Package: messagingDir, Test: "TestReaders",
	},
	{
		Name: "readers-before-they-joined", Breaks: "4.31: who joined after a message was written is not told of",
		Hunks:   []Hunk{{messagingDir + "/readers.go", "m.User == e.Sender || m.Since > seq", "m.User == e.Sender"}},
		Package: messagingDir, Test: "TestReaders",
	},
	{
		Name: "readers-told-to-who-left", Breaks: "4.31: members alone are told who has read a message",
		Hunks:   []Hunk{{messagingDir + "/readers.go", "err == nil && place.Until != 0", "err == nil && place.Until != 0 && seq == 0"}},
		Package: messagingDir, Test: "TestReaders",
	},
	{
		Name: "pins-without-end", Breaks: "no more messages of a conversation are pinned than may be, however many ask at once",
		Hunks:   []Hunk{{messagingDir + "/amend.go", " || it.entry.Kind == im.EntryPin && m[anyPin] != nil", ""}},
		Package: messagingDir, Test: "TestPinsAreBounded",
	},
	{
		Name: "repeated-pin-is-stored", Breaks: "who pins what is pinned changes neither who nor when",
		Hunks:   []Hunk{{"internal/entrycodec/pin.go", "if (by.Pinned != nil) == (s.Told.Pinned != nil) {", "if by.Pinned == nil && s.Told.Pinned == nil {"}},
		Package: messagingDir, Test: "TestPins",
	},
	{
		Name: "edit-ends-the-pin", Breaks: "an edit leaves a pin",
		Hunks:   []Hunk{{"internal/entrycodec/labels.go", "num == fieldPinned && typ == protowire.BytesType", "num == fieldPinned && typ != protowire.BytesType"}},
		Package: messagingDir, Test: "TestPins",
	},
	{
		Name: "pinned-by-any-member", Breaks: "who may pin is the group's to say",
		Hunks:   []Hunk{{"internal/im/authz.go", "\tcase GroupPin:\n\t\treturn s.Pin\n", "\tcase GroupPin:\n\t\treturn GroupPowerAll\n"}},
		Package: "internal/im", Test: "TestAuthorizeSwitches",
	},
	{
		Name: "not-silent-any-more", Breaks: "a silent message is told so",
		Hunks:   []Hunk{{"internal/entrycodec/entrycodec.go", ", Silent: s.GetSilent()", ""}},
		Package: "internal/api", Test: "TestSilent",
	},
	{
		Name: "forwarded-words-change", Breaks: "what was forwarded says what somebody else said, and is not edited",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "\tif state.Told.Forward != nil {\n", "\tif state == nil {\n"}},
		Package: "internal/api", Test: "TestForward",
	},
	{
		Name: "forwarded-twice-by-asking-again", Breaks: "who asks again to forward is answered as before, whatever became of the original",
		Hunks:   []Hunk{{"internal/api/forward.go", "stored[n] {\n\t\t\tcontinue", "stored[n] && false {\n\t\t\tcontinue"}},
		Package: "internal/api", Test: "TestForward",
	},
	{
		Name: "copy-of-a-copy-by-who-copied", Breaks: "a copy of a copy says who wrote it first",
		Hunks:   []Hunk{{"internal/entrycodec/forward.go", "if w.Forward.GetSender() != \"\" {", "if w.Forward.GetSender() == \"-\" {"}},
		Package: "internal/entrycodec", Test: "TestMerged",
	},
	{
		Name: "part-is-said-twice", Breaks: "a part that comes again says nothing more",
		Hunks:   []Hunk{{messagingDir + "/stream.go", "\t\tnews = p.Text[over:]\n", "\t\tnews = p.Text[:]\n"}},
		Package: messagingDir, Test: "TestStreamedMessageGrows",
	},
	{
		Name: "missing-part-is-passed-over", Breaks: "what a streamed message says has no hole",
		Hunks:   []Hunk{{messagingDir + "/stream.go", "\tcase p.Offset > at:", "\tcase p.Offset > 1<<40:"}},
		Package: messagingDir, Test: "TestStreamedMessageGrows",
	},
	{
		Name: "anybody-streams", Breaks: "only its author goes on with a streamed message",
		Hunks:   []Hunk{{messagingDir + "/stream.go", "case e.Sender != \"\" && e.Sender != target.Sender:", "case e.Sender == \"?\":"}},
		Package: messagingDir, Test: "TestStreamedMessageGrows",
	},
	{
		Name: "stream-is-not-flushed", Breaks: "what was said is durable a while after the last part",
		Hunks:   []Hunk{{messagingDir + "/stream.go", "\t\tcase waits && left <= 0:\n", "\t\tcase waits && left <= -time.Hour:\n"}},
		Package: messagingDir, Test: "TestSilenceEndsAStream",
	},
	{
		Name: "silent-stream-stays-open", Breaks: "the server ends what nobody goes on with",
		Hunks:   []Hunk{{messagingDir + "/stream.go", "err = s.byServer(ctx, e, serverID(e, m.Kind), m)", "_, err = m, nil"}},
		Package: messagingDir, Test: "TestSilenceEndsAStream",
	},
	{
		Name: "silent-stream-stays-open-in-groups", Breaks: "the server stores in a group whatever its roster became",
		Hunks:   []Hunk{{messagingDir + "/admit.go", "it.ifRoster = head.Roster\n", "it.ifRoster = min(head.Roster, 0)\n"}},
		Package: messagingDir, Test: "TestSilenceEndsAStreamInAGroup",
	},
	{
		Name: "cut-off-stream-ended-again", Breaks: "its author is told that the server ended a message before they did",
		Hunks:   []Hunk{{messagingDir + "/stream.go", "!state.Told.Streaming && !state.Told.CutOff && onlyEnds(", "!state.Told.Streaming && onlyEnds("}},
		Package: messagingDir, Test: "TestSilenceEndsAStream",
	},
	{
		Name: "picture-said-part-by-part", Breaks: "what grows is text",
		Hunks:   []Hunk{{"internal/contract/stream.go", "case c.GetType() != \"text\" &&", "case c == nil &&"}},
		Package: "internal/api", Test: "TestBadAmendments",
	},
	{
		Name: "growing-message-is-edited", Breaks: "a message that grows is not edited",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "\tif state.Told.Streaming {\n", "\tif state == nil {\n"}},
		Package: messagingDir, Test: "TestStreamBeside",
	},
	{
		Name: "streams-without-number", Breaks: "a user has few streamed messages open",
		Hunks:   []Hunk{{messagingDir + "/stream.go", "err := s.timers.SetTimer(ctx, t, s.streamed.PerUser)", "err := s.timers.SetTimer(ctx, t, 0)"}},
		Package: messagingDir, Test: "TestFewStreamsAtOnce",
	},
	{
		Name: "device-takes-parts-of-another", Breaks: "a device shows no part that does not fit",
		Hunks:   []Hunk{{"sdk/go/stream.go", "kept == nil || cv.rec.hides(kept) || !kept.Streaming || kept.Replaced != p.Replaced", "kept == nil || !kept.Streaming"}},
		Package: "sdk/go", Test: "TestMessageGrows",
	},
	{
		Name: "vote-counts-twice", Breaks: "a user has one vote, however often they vote",
		Hunks:   []Hunk{{"internal/entrycodec/poll.go", "\t\ts.note(Record{u, before, true})\n\t\tp.Voters--\n", ""}},
		Package: messagingDir, Test: "TestVotes",
	},
	{
		Name: "vote-after-the-end", Breaks: "a poll that has ended is as it is",
		Hunks:   []Hunk{{"internal/entrycodec/poll.go", "p.GetUntilMs() != 0 && now.UnixMilli() >= p.GetUntilMs()", "p.GetUntilMs() != 0 && now.UnixMilli() < 0"}},
		Package: messagingDir, Test: "TestPollEnds",
	},
	{
		Name: "anonymous-vote-is-told", Breaks: "nobody is told who chose what in an anonymous poll",
		Hunks:   []Hunk{{"internal/entrycodec/poll.go", "\tif !p.Anonymous {\n", "\tif p != nil {\n"}},
		Package: messagingDir, Test: "TestAnonymousPoll",
	},
	{
		Name: "anonymous-voters-are-listed", Breaks: "nobody is told who chose what in an anonymous poll",
		Hunks:   []Hunk{{messagingDir + "/poll.go", "\tcase state.Told.Poll.Anonymous:\n\t\treturn nil, false, im.Errorf(im.CodePermissionDenied, \"the poll is anonymous\")\n", ""}},
		Package: messagingDir, Test: "TestAnonymousPoll",
	},
	{
		Name: "poll-is-edited", Breaks: "what a poll asks never changes",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "\tif state.Told.Poll != nil {\n", "\tif state == nil {\n"}},
		Package: messagingDir, Test: "TestBadVotes",
	},
	{
		Name: "votes-are-reactions", Breaks: "votes and reactions are counted by themselves",
		Hunks:   []Hunk{{"internal/entrycodec/react.go", "return !r.votes() && (reaction", "return (reaction"}},
		Package: messagingDir, Test: "TestVotes",
	},
	{
		Name: "scheduled-gives-up", Breaks: "a scheduled message that is refused for now is sent again",
		Hunks:   []Hunk{{"internal/later/work.go", "\tif im.ForNow(err) {\n\t\treturn false\n\t}\n", ""}},
		Package: "internal/later", Test: "TestRefused",
	},
	{
		Name: "scheduled-passes-over", Breaks: "what a user scheduled for a conversation is sent in order",
		Hunks:   []Hunk{{"internal/later/work.go", "\t\t\t\t\twaiting[l] = true\n\t\t\t\t\tmu.Unlock()\n\t\t\t\t\treturn\n", "\t\t\t\t\tmu.Unlock()\n"}},
		Package: "internal/later", Test: "TestRefused",
	},
	{
		Name: "amend-out-of-order", Breaks: "11: an amendment keeps its place among the sends",
		Hunks:   []Hunk{{"internal/gateway/session.go", "\tif c.class == limits.Sends && !s.inTurn(frame) {", "\tif c.index == cmdSend && !s.inTurn(frame) {"}},
		Package: "internal/gateway", Test: "TestAmendKeepsTheOrder",
	},
	{
		Name: "windows-that-touch-are-dropped", Breaks: "4: what was stored while somebody was a member stays theirs to read",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\t\tif w.First < r.m.First {\n", "\t\t\tif w.Until < r.m.First {\n"}},
		Package: messagingDir, Test: "TestWindowsThatTouchWhileTheyAreRead",
	},
	{
		Name: "stretch-ends-early", Breaks: "14: no cursor stays before what was told",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\tr.out.Last = p.Last\n", "\t\tr.out.Last = p.Last - 1\n"}},
		Package: messagingDir, Test: "TestResumeTellsOutcomes",
	},
	{
		Name: "stretch-drops-a-known-messages-change", Breaks: "14: a change of a message that is read along is told",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\t\tif e.Amended >= first {\n", "\t\t\tif e.Amended > first+1 {\n"}},
		Package: messagingDir, Test: "TestResumeTellsOutcomes",
	},
	{
		Name: "list-shows-the-recall", Breaks: "14: the list shows the last message",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\t\tif i > 0 {\n\t\t\tlimit = lastLimit\n\t\t}\n", "\t\tif i > 0 {\n\t\t\tbreak\n\t\t}\n"}},
		Package: messagingDir, Test: "TestListShowsTheLastMessage",
	},
	{
		Name: "my-state-answered-early", Breaks: "15: what a user set is durable when it is answered",
		Hunks:   []Hunk{{messagingDir + "/mine.go", "\tif err == nil && done != nil {\n", "\tif err == nil && done == nil {\n"}},
		Package: messagingDir, Test: "TestMyStateWaitsForTheStore",
	},
	{
		Name: "folder-not-kept", Breaks: "15: the folder that a user set is kept",
		Hunks:   []Hunk{{"internal/entrycodec/mine.go", "w.Deleted, w.Folder, w.Threads = DeletedToWire(s.Deleted), s.Folder,", "w.Deleted, w.Threads = DeletedToWire(s.Deleted),"}},
		Package: messagingDir, Test: "TestFolder",
	},
	{
		Name: "folder-unchecked", Breaks: "the name of a folder is one, without space around it",
		Hunks:   []Hunk{{imDir + "/mine.go", "CheckName(\"folder\", name, least, MaxFolder); err != nil", "CheckName(\"folder\", name, least, MaxFolder); err == nil && name == \"-\""}},
		Package: imDir, Test: "TestParseFolder",
	},
	{
		Name: "my-state-restored-by-a-sync", Breaks: "15: telling marks changes nothing that a user set",
		Hunks:   []Hunk{{messagingDir + "/marks.go", "\t\t\t\tx.Mine = \"\"\n", ""}},
		Package: messagingDir, Test: "TestToldMarksRestoreNothing",
	},
	{
		Name: "my-state-without-turns", Breaks: "15: of many changes none is lost",
		Hunks:   []Hunk{{messagingDir + "/mine.go", "\tlock.Lock()\n\tstate, done, err := s.storeMine(ctx, key, &change)\n\tlock.Unlock()\n", "\t_ = lock\n\tstate, done, err := s.storeMine(ctx, key, &change)\n"}},
		Package: messagingDir, Test: "TestMyStateOfManyDevices",
	},
	{
		Name: "unknown-not-asked-again", Breaks: "6: an unknown outcome is asked again before anything is answered",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "if !r.asked || !away ||", "if r.asked || !away ||"}},
		Package: messagingDir, Test: "TestUnknownOutcomeIsResolvedByLooking",
	},
	{
		Name: "unknown-not-delivered", Breaks: "15: what was stored at an unknown moment is delivered",
		Hunks:   []Hunk{{messagingDir + "/settle.go", "follows := res.Status == im.Stored || it.event || asked", "follows := res.Status == im.Stored || it.event"}},
		Package: messagingDir, Test: "TestUnknownOutcomeIsDelivered",
	},
	{
		Name: "held-is-overtaken", Breaks: "20: a sender's order survives a roster change",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "h != nil && (!it.event || len(h.events) > 0) {", "h != nil && it.event {"}},
		Package: messagingDir, Test: "TestNothingOvertakesWhatIsHeld",
	},
	{
		Name: "held-in-reverse", Breaks: "20: a sender's order survives a roster change",
		Hunks:   []Hunk{{messagingDir + "/hold.go", "return append(front, items...)", "return append(items, front...)"}},
		Package: messagingDir, Test: "TestNothingOvertakesWhatIsHeld",
	},
	{
		Name: "join-before-what-came-before", Breaks: "14: who is added is not pushed what came before",
		Hunks:   []Hunk{{messagingDir + "/settle.go", "func (s *Service) apply(it *item) {\n\ts.deliverAll()\n", "func (s *Service) apply(it *item) {\n"}},
		Package: messagingDir, Test: "TestWhatCameBeforeAJoinLeavesBeforeIt",
	},
	{
		Name: "event-not-applied", Breaks: "4: a roster change is applied before its entry is delivered",
		Hunks:   []Hunk{{messagingDir + "/settle.go", "case it.apply != nil:", "case it.apply != nil && s.known != nil:"}},
		Package: messagingDir, Test: "TestRemovalDuringAReadShowsNothingLater",
	},
	{
		Name: "own-messages-unread", Breaks: "13: sending is reading",
		Hunks:   []Hunk{{messagingDir + "/settle.go", "\ts.markOwn(context.Background(), r)\n", ""}},
		Package: messagingDir, Test: "TestUnreadIsExact",
	},
	{
		Name: "refusal-without-a-look", Breaks: "22: a resend gets its seq, also of somebody who was removed since",
		Hunks:   []Hunk{{messagingDir + "/admit.go", "\ts.findRefused(ctx, items)\n", "\t_ = ctx\n"}},
		Package: messagingDir, Test: "TestAResendOfSomebodyWhoWasRemoved",
	},
	{
		Name: "turned-away-is-overtaken", Breaks: "20: nothing is stored before what was turned away",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "\tcase it.behind():\n\t\treturn", "\tcase it.behind() && it.event:\n\t\treturn"}},
		Package: messagingDir, Test: "TestRefusedByTheCommitterKeepsTheOrder",
	},
	{
		Name: "committer-asks-the-stores", Breaks: "16: a store that one conversation waits for keeps nobody else waiting",
		Hunks:   []Hunk{{messagingDir + "/hold.go", "s.admission.put(items, s.ask)", "s.ask(items)"}},
		Package: messagingDir, Test: "TestAStallStopsItsConversationOnly",
	},
	{
		Name: "asked-overtakes-retried", Breaks: "20: a sender's order survives a roster change, beside a message that waits for a store",
		Hunks:   []Hunk{{messagingDir + "/hold.go", "h != nil && h.asking && !it.event {", "h != nil && h.asking && h.attempts > 99 {"}},
		Package: messagingDir, Test: "TestAnOldRosterBeforeWhatWaitsForAStore",
	},
	{
		Name: "change-is-overtaken", Breaks: "4: a roster change is applied before its entry is delivered, and what follows comes after it",
		Hunks:   []Hunk{{messagingDir + "/settle.go", "a != nil {\n\t\t\ta.items = append(a.items, it)", "a != nil && !it.event {\n\t\t\ta.items = append(a.items, it)"}},
		Package: messagingDir, Test: "TestWhatFollowsAChangeWaitsForIt",
	},
	{
		Name: "position-before-the-delivery", Breaks: "12: no position passes what is not delivered",
		Hunks: []Hunk{
			{messagingDir + "/settle.go", "\t\t\ts.settleRound(r)\n", "\t\t\ts.settleRound(r)\n\t\t\ts.committing.Leave(r.turn)\n"},
			{messagingDir + "/settle.go", "\t\ts.committing.Leave(r.turn)\n\t\ts.free.put(r)\n", "\t\ts.free.put(r)\n"},
		},
		Package: messagingDir, Test: "TestNoPositionPassesAChangeThatIsApplied",
	},
	{
		Name: "refusal-looks-too-early", Breaks: "22: a resend gets its seq, also while the first one is being stored",
		Hunks:   []Hunk{{messagingDir + "/admit.go", "err := s.storing.Wait(ctx)", "err := ctx.Err()"}},
		Package: messagingDir, Test: "TestARefusalWaitsForTheAppendThatWasBegun",
	},
	{
		Name: "verdict-of-before", Breaks: "4: permission is decided when the message is stored",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "it.admitted && !known && e.Conversation.Kind() == im.KindGroup", "it.admitted && !known"}},
		Package: messagingDir, Test: "TestABlockBeforeTheAppend",
	},
	{
		Name: "locked-is-refused", Breaks: "9: what is locked for a moment waits aside",
		Hunks:   []Hunk{{messagingDir + "/queue.go", "case it.res.Status == im.Locked && it.locked < lockedAttempts:", "case it.res.Status == im.Locked && it.locked > lockedAttempts:"}},
		Package: messagingDir, Test: "TestALockedConversationWaitsAside",
	},
	{
		Name: "queue-without-bound", Breaks: "9: what cannot be taken is rejected before it is queued",
		Hunks:   []Hunk{{messagingDir + "/queue.go", "(len(q.items)+q.held >= q.max || ", "(len(q.items)+q.held >= 1<<30 || "}},
		Package: messagingDir, Test: "TestOverloadRejectsBeforeItQueues",
	},
	{
		Name: "no-reset", Breaks: "24: a position of another timeline is reset",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "\tif !ok {\n\t\tq.Position, q.Cursor, res.Reset", "\tif !ok && since.IsZero() {\n\t\tq.Position, q.Cursor, res.Reset"}},
		Package: messagingDir, Test: "TestPositionOfAnotherTimelineResets",
	},
	{
		Name: "position-passes-a-half-done-change", Breaks: "19: no position passes a change whose directory half is pending",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "if err == nil && !told.Equal(at) {\n\t\tres.Position", "if err != nil && !told.Equal(at) {\n\t\tres.Position"}},
		Package: messagingDir, Test: "TestNoPositionPassesAHalfDoneChange",
	},
	{
		Name: "position-of-a-lost-part", Breaks: "24: what an earlier era gave out beyond its end is of another history",
		Hunks:   []Hunk{{"internal/im/place.go", "return p.Pos <= until", "return p.Pos <= max(until, now)"}},
		Package: "internal/im", Test: "TestErasHold",
	},
	{
		Name: "pull-between-two-times", Breaks: "14: nothing from between two times of membership is shown",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "\twindows := []im.Window{{First: r.m.First, Until: last}}", "\twindows := []im.Window{{First: 1, Until: last}}"}},
		Package: messagingDir, Test: "TestEveryWindowIsPulled",
	},
	{
		Name: "earlier-time-forgotten", Breaks: "25: every window of membership stays readable",
		Hunks:   []Hunk{{messagingDir + "/windows.go", "windows = append(slices.Clone(earlier), windows...)", "windows = append(slices.Clone(earlier[:0]), windows...)"}},
		Package: messagingDir, Test: "TestEveryWindowIsPulled",
	},
	{
		Name: "mark-answered-early", Breaks: "21: a mark that was answered over HTTP survives a crash",
		Hunks:   []Hunk{{messagingDir + "/marks.go", "return awaitMarks(ctx, done)", "return nil"}},
		Package: messagingDir, Test: "TestMarksAreAnsweredWhenDurable",
	},
	{
		Name: "pull-after-leaving", Breaks: "14: nothing after leaving is shown",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "last = min(last, m.Until)", "last = max(last, m.Until)"}},
		Package: messagingDir, Test: "TestVisibilityIsTheTimeOfMembership",
	},
	{
		Name: "sync-after-leaving", Breaks: "14: a sync tells nothing from after leaving",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "if v.m.Until == 0 || v.m.Until >= v.head.Seq {", "if v.m.Until < 1<<62 {"}},
		Package: messagingDir, Test: "TestVisibilityIsTheTimeOfMembership",
	},
	{
		Name: "removed-during-a-read", Breaks: "14: a removal is seen before anything later is shown",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "\thead, err := s.head(ctx, c)\n\tif err != nil {\n\t\treturn im.Head{}, im.Membership{}, err\n\t}\n\tm, err := s.membership(ctx, u, c, head.Roster)\n\treturn head, m, err", "\tm, err := s.members.Membership(ctx, u, c, 0)\n\tif err != nil {\n\t\treturn im.Head{}, im.Membership{}, err\n\t}\n\thead, err := s.head(ctx, c)\n\treturn head, m, err"}},
		Package: messagingDir, Test: "TestRemovalDuringAReadShowsNothingLater",
	},
	{
		Name: "unread-off-by-one", Breaks: "13: unread is exact",
		Hunks:   []Hunk{{messagingDir + "/unread.go", "v.head.Count - min(own.ReadCount, v.head.Count)", "v.head.Count - min(own.ReadCount+1, v.head.Count)"}},
		Package: messagingDir, Test: "TestUnreadIsExact",
	},
	{
		Name: "recalled-counts-as-unread", Breaks: "13: what was recalled is not unread",
		Hunks:   []Hunk{{messagingDir + "/unread.go", "\t\tst.Unread -= n\n", ""}},
		Package: messagingDir, Test: "TestUnreadIsExact",
	},
	{
		Name: "digest-says-yes", Breaks: "5: digests repair what was lost",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "return sum == digest, at.String(), nil", "return true, at.String(), nil"}},
		Package: messagingDir, Test: "TestDigest",
	},
	{
		Name: "resume-without-marks", Breaks: "15: a resume tells the peer's marks",
		Hunks:   []Hunk{{messagingDir + "/marks.go", "return t.pos[c] > position", "return t.pos[c] > 1<<62"}},
		Package: messagingDir, Test: "TestResumeTellsMarks",
	},
	{
		Name: "resend-reminds-nobody", Breaks: "5: what a node stored and did not deliver is told",
		Hunks:   []Hunk{{messagingDir + "/settle.go", "s.deliverer.Remind(im.ParcelHead{", "_ = (im.ParcelHead{"}},
		Package: messagingDir, Test: "TestAResendRemindsTheOthers",
	},
	{
		Name: "no-beacon", Breaks: "5: a beacon tells the last message of a burst again",
		Hunks:   []Hunk{{dispatchDir + "/deliver.go", "\t\td.expectAll(batch)\n", ""}},
		Package: dispatchDir, Test: "TestBeaconAfterABurst",
	},
	{
		Name: "beacon-of-one-only", Breaks: "5: … of each conversation that burst",
		Hunks:   []Hunk{{dispatchDir + "/deliver.go", "for i := range batch {\n\t\td.expect(&batch[i].Entry, due)\n\t}", "d.expect(&batch[0].Entry, due)"}},
		Package: dispatchDir, Test: "TestBeaconsOfSeveralBursts",
	},
	{
		Name: "beacon-not-refreshed", Breaks: "5: a beacon tells the last message, not the first",
		Hunks:   []Hunk{{dispatchDir + "/dispatch.go", "\tb := d.beacons[e.Conversation]\n\tif b == nil {", "\tb := d.beacons[e.Conversation]\n\tif b != nil && len(d.beacons) > 1 {\n\t\treturn\n\t}\n\tif b == nil {"}},
		Package: dispatchDir, Test: "TestBeaconsOfSeveralBursts",
	},
	{
		Name: "beacon-during-a-burst", Breaks: "cost: a beacon waits until the conversation is quiet",
		Hunks:   []Hunk{{dispatchDir + "/dispatch.go", "\tb.due = due\n", "\tif b.due.IsZero() {\n\t\tb.due = due\n\t}\n"}},
		Package: dispatchDir, Test: "TestBeaconsOfSeveralBursts",
	},
	{
		Name: "dm-goes-to-one", Breaks: "delivery: a dm goes to both members",
		Hunks:   []Hunk{{dispatchDir + "/deliver.go", "d.gateways.ToUsers(to[:], p)", "d.gateways.ToUsers(to[1:], p)"}},
		Package: dispatchDir, Test: "TestRecipientsAndOrder",
	},
	{
		Name: "receipt-goes-back", Breaks: "12: a receipt tells the furthest mark",
		Hunks:   []Hunk{{dispatchDir + "/receipts.go", "x.Received = max(x.Received, m.Received)", "x.Received = m.Received"}},
		Package: dispatchDir, Test: "TestReceiptsAreCombined",
	},
	{
		Name: "promise-of-one-drive", Breaks: "outbox: a promise that was committed is kept",
		Hunks:   []Hunk{{outboxDir + "/outbox.go", "\t\t\t\tskip[p.Conversation] = true\n\t\t\t\tleft++\n\t\t\t\tr.failed(p.Conversation)", "\t\t\t\tleft++\n\t\t\t\tr.failed(p.Conversation)"}},
		Package: outboxDir, Test: "TestRunnerBacksOff",
	},
	{
		Name: "notices-overtake", Breaks: "outbox: promises of a conversation are kept in their order",
		Hunks:   []Hunk{{outboxDir + "/outbox.go", "\tif p.SetRoster != 0 {\n\t\treturn r.drive(ctx, p)\n\t}\n", "\tif p.ID != (im.MessageID{}) {\n\t\treturn r.drive(ctx, p)\n\t}\n"}},
		Package: outboxDir, Test: "TestNoticesStayInOrder",
	},
	{
		Name: "drive-ends-with-its-caller", Breaks: "outbox: what was begun goes on when the caller goes",
		Hunks:   []Hunk{{outboxDir + "/outbox.go", "\tctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timeout)\n\tdefer cancel()\n\tapply :=", "\tctx, cancel := context.WithTimeout(ctx, r.o.Timeout)\n\tdefer cancel()\n\tapply :="}},
		Package: outboxDir, Test: "TestDriveSurvivesItsCaller",
	},
	{
		Name: "applied-is-not-told", Breaks: "14: a roster in memory follows the change",
		Hunks:   []Hunk{{outboxDir + "/outbox.go", "r.o.Applied(p, seq)", "_ = seq"}},
		Package: outboxDir, Test: "TestAppliedIsTold",
	},
	{
		Name: "a-mark-in-its-conversations-shard", Breaks: "10: a mark is compared in its user's shard, whichever the conversation is in",
		Hunks:   []Hunk{{messagingDir + "/shards.go", "!since.Covers(s.userShard(m.User), m.Pos)", "!since.Covers(s.shard(m.Conversation), m.Pos)"}},
		Package: messagingDir, Test: "TestAMarkIsComparedInItsUsersShard",
	},
	{
		Name: "one-shard-is-held-for-another", Breaks: "19: no position passes a change that is half done, in the shard where it is",
		Hunks:   []Hunk{{messagingDir + "/half.go", "at.Upto(s.shard(p.Conversation), pos-1)", "at.Upto(0, pos-1)"}},
		Package: messagingDir, Test: "TestAHalfDoneChangeHoldsItsShard",
	},
	{
		Name: "a-part-is-stored-twice", Breaks: "9: what one shard refuses concerns its own items; the others' are answered as they are",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "return s.storeEach(ctx, r, partly.Errs)", "return s.storeEach(ctx, r, nil)"}},
		Package: messagingDir, Test: "TestADamagedConversationOfOneShard",
	},
}
