package main

// exports are bugs of downloading everything of one's own.
var exports = []Mutant{
	{
		Name: "export-of-somebody-else", Breaks: "3.17: everything of the user's, and of nobody else's",
		Hunks:   []Hunk{{"internal/export/export.go", "%s\\n%s\\n%t\\n%s\\n%d\", t.User, t.By,", "%s\\n%s\\n%t\\n%s\\n%d\", \"\", t.By,"}},
		Package: "internal/api", Test: "TestExportTickets",
	},
	{
		Name: "export-begins-for-ever", Breaks: "3.17: it begins exports for 5 minutes",
		Hunks:   []Hunk{{"internal/export/export.go", "s.sign(&t))) && t.Until.After(s.o.Now())", "s.sign(&t)))"}},
		Package: "internal/api", Test: "TestExportTickets",
	},
	{
		Name: "export-outlives-its-session", Breaks: "3.17: it ends with the session that asked for it",
		Hunks:   []Hunk{{"internal/export/export.go", "!slices.ContainsFunc(all.GetSessions(), lives)", "!slices.ContainsFunc(all.GetSessions(), lives) && e.checked.IsZero()"}},
		Package: "internal/api", Test: "TestExportThatEndsEarly",
	},
	{
		Name: "export-cut-off-is-a-zip", Breaks: "3.17: what came has no directory, so it is no zip",
		Hunks:   []Hunk{{"internal/export/export.go", "			return err\n		}\n	}\n	return nil\n}\n\n// tries", "			_ = e.finish()\n			return err\n		}\n	}\n	return nil\n}\n\n// tries"}},
		Package: "internal/api", Test: "TestExportThatEndsEarly",
	},
	{
		Name: "export-tells-what-was-cleared", Breaks: "3.17: from cleared_below on",
		Hunks:   []Hunk{{"internal/export/conversations.go", "max(state.GetMine().GetClearedBelow(), 1)", "1"}},
		Package: "internal/api", Test: "TestExport",
	},
	{
		Name: "export-twice-at-once", Breaks: "3.17: rate_limited while one of this user's is made",
		Hunks:   []Hunk{{"internal/export/export.go", "	case s.running[user]:", "	case s.running[user] && s.o.AtOnce < 2:"}},
		Package: "internal/api", Test: "TestExportsAtOnce",
	},
	{
		Name: "export-misses-what-moves", Breaks: "3.17: each conversation, also one that somebody writes to while the list is read",
		Hunks:   []Hunk{{"internal/export/conversations.go", "if _, err = e.pages(&wire.ListConversationsRequest{Position: first.GetPosition(), Timeline: first.GetTimeline()}); err != nil {", "if first == nil {"}},
		Package: "internal/api", Test: "TestExportWhileOthersWrite",
	},
	{
		Name: "export-ends-with-a-page", Breaks: "3.17: everything of the user's",
		Hunks:   []Hunk{{"internal/export/conversations.go", "			from = last + 1\n", "			return nil\n"}},
		Package: "internal/export", Test: "TestPages",
	},
	{
		Name: "export-is-always-complete", Breaks: "3.17: the manifest says what was left out, and whether that is all",
		Hunks:   []Hunk{{"internal/export/archive.go", "m.Complete && l.Why == gone", "m.Complete && l.Why != \"\""}},
		Package: "internal/export", Test: "TestUploadsThatAreNotThere",
	},
	{
		Name: "export-without-some-threads", Breaks: "3.17: what may be read now, replies to what the user deleted among it",
		Hunks:   []Hunk{{"internal/export/conversations.go", " || entry.GetDeleted()\n", "\n"}},
		Package: "internal/api", Test: "TestExportOfThreads",
	},
	{
		Name: "export-for-who-was-an-administrator", Breaks: "3.17: it ends with the role of the administrator who asked",
		Hunks:   []Hunk{{"internal/export/export.go", "im.ServerRole(me.GetRole()) < im.ServerAdmin", "e.checked.IsZero() && im.ServerRole(me.GetRole()) < im.ServerAdmin"}},
		Package: "internal/api", Test: "TestExportOfOneWhoIsNoAdministrator",
	},
}
