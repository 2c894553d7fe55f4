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
}
