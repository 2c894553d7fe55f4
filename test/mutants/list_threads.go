package main

// threads are bugs of threads (SPEC §4.36).
var threads = []Mutant{
	{
		Name: "recalled-replies-count", Breaks: "4.36: a root says how many replies there are that were not taken back",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "if err == nil && target.Root() != 0 {", "if err == nil && target.Root() == neverSeq {"}},
		Package: messagingDir, Test: "TestThreadRecalls",
	},
	{
		Name: "threads-in-threads", Breaks: "4.36: a reply to a reply goes to its root",
		Hunks:   []Hunk{{messagingDir + "/thread.go", "if root.Root() == 0 {", "if root.Root() < neverSeq {"}},
		Package: messagingDir, Test: "TestThread",
	},
	{
		Name: "thread-of-what-is-not-theirs", Breaks: "4.36: who may not read a message is told nothing of its thread",
		Hunks:   []Hunk{{messagingDir + "/amend.go", "err == nil && !may {\n\t\t\terr = errNoMessage", "err == nil && !may && u == \"\" {\n\t\t\terr = errNoMessage"}},
		Package: messagingDir, Test: "TestWhoMayReply",
	},
	{
		Name: "root-of-a-changed-reply-untold", Breaks: "4.36: what was done to a reply touches its root",
		Hunks:   []Hunk{{messagingDir + "/threads.go", "\t\tif err := r.touchRoot(ctx, e.Target); err != nil {\n\t\t\treturn err\n\t\t}\n", ""}},
		Package: messagingDir, Test: "TestThreadRecalls",
	},
	{
		Name: "replies-that-see-another-root", Breaks: "4.36: of replies at once each counts, once",
		Hunks:   []Hunk{{messagingDir + "/thread.go", "\troot.Body = m.amend.Body\n\tm.labels", "\tm.labels"}},
		Package: messagingDir, Test: "TestRepliesAtOnce",
	},
	{
		Name: "mention-in-a-thread-uncounted", Breaks: "4.36: a mention in a reply counts, though nothing is unread by it",
		Hunks:   []Hunk{{messagingDir + "/unread.go", "ask.addQuiet(n, v.m.Conversation, own.Read, v.head.Seq, st.Mine.Deleted)", "_ = own"}},
		Package: messagingDir, Test: "TestMentionInThread",
	},
	{
		Name: "half-a-recall-of-a-reply", Breaks: "4.36: a reply is taken back together with what that makes of its root",
		Hunks:   []Hunk{{"internal/journal/pebble/amend.go", "if t.changed != nil {", "if t.changed != nil && t.recalled == nil {"}},
		Package: "internal/journal/pebble", Test: "TestThreadProcessIsKilled",
	},
	{
		Name: "recalled-reply-was-unread", Breaks: "4.36: a reply never is unread, so its recall takes nothing away",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "if e.Thread == 0 || e.AlsoInMain {", "if e.Thread < 1<<63 || e.AlsoInMain {"}},
		Package: sdkDir, Test: "TestThreads",
	},
	{
		Name: "threads-by-their-roots", Breaks: "4.36: the thread that was replied to last comes first",
		Hunks:   []Hunk{{messagingDir + "/thread_list.go", "all[i].at = out[i].Pos[0]", "_ = out[i].Pos[0]"}},
		Package: messagingDir, Test: "TestThreadsByLastReply",
	},
	{
		Name: "in-the-thread-alone", Breaks: "4.36: what is said in both lies in the conversation's pages",
		Hunks:   []Hunk{{"internal/im/entry.go", "return e.Target != 0 && e.Kind != EntryMessage", "return e.Target != 0"}},
		Package: messagingDir, Test: "TestReplyInMain",
	},
	{
		Name: "gone-replies-told", Breaks: "4.36: the root's count is without replies that have disappeared",
		Hunks:   []Hunk{{messagingDir + "/thread.go", "if err != nil || all {\n\t\treturn err", "if err != nil || all || !e.Recalled {\n\t\treturn err"}},
		Package: messagingDir, Test: "TestThreadOfWhatDisappears",
	},
	{
		Name: "a-read-for-each-reply", Breaks: "a page of a thread is one question to the store",
		Hunks:   []Hunk{{messagingDir + "/threads.go", "r.s.pages.ReadAt(ctx, r.m.Conversation, seqs)", "r.s.pages.ReadAt(ctx, r.m.Conversation, seqs[:1])"}},
		Package: messagingDir, Test: "TestThreadPagesReadAtOnce",
	},
	{
		Name: "later-and-out-of-the-thread", Breaks: "4.19: what is sent later is said in its thread",
		Hunks:   []Hunk{{"internal/directory/scheduled.go", "m.Target != 0 && also == 0 {", "m.Target != 0 && also == 2 {"}},
		Package: "internal/api", Test: "TestRepliesLater",
	},
	{
		Name: "soak-believes-roots", Breaks: "invariant 23: after a crash a root and its replies agree",
		Hunks:   []Hunk{{"internal/soak/check_replies.go", "e.Hash != HashRecalled && e.Replies != n {", "e.Hash != HashRecalled && e.Replies < 0 {"}},
		Package: "internal/soak", Test: "TestReplyViolations",
	},
	{
		Name: "soak-forgets-answered-replies", Breaks: "invariant 21: a reply that was answered is there after a crash",
		Hunks:   []Hunk{{"internal/soak/check_replies.go", "if rec.Kind != Replied || ", "if rec.Kind == Replied || "}},
		Package: "internal/soak", Test: "TestReplyViolations",
	},
	{
		Name: "in-the-line-alone", Breaks: "4.36: the root counts what is said in both",
		Hunks:   []Hunk{{sdkDir + "/apply.go", "		k.inBoth(cv, e, !quiet)\n", "		_ = quiet\n"}},
		Package: sdkDir, Test: "TestInBoth",
	},
}
