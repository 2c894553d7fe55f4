package main

// imports are bugs of what comes from other systems (docs/migration.md).
var imports = []Mutant{
	{
		Name: "imported-times-are-not-kept", Breaks: "a message that is imported has the time that it had",
		Hunks:   []Hunk{{"internal/importing/messages.go", "append(x.at, s.at), s.at", "append(x.at, x.w.t.Now()), s.at"}},
		Package: "internal/importing", Test: "TestTimesAndFiles",
	},
	{
		Name: "second-imports-add-again", Breaks: "a second run of an import adds nothing",
		Hunks:   []Hunk{{"internal/importing/groups.go", "im.NewMessageID(at, ", "im.NewMessageID(w.t.Now(), "}},
		Package: "internal/importing", Test: "TestTimesAndFiles",
	},
	{
		Name: "further-files-are-forgotten", Breaks: "each file of a message that is imported comes over",
		Hunks:   []Hunk{{"internal/importing/messages.go", "for n := 1; n < len(s.Files); n++ {", "for n := 1; n < min(1, len(s.Files)); n++ {"}},
		Package: "internal/importing", Test: "TestTimesAndFiles",
	},
	{
		Name: "imports-leave-no-line", Breaks: "the audit log has a line of each import",
		Hunks:   []Hunk{{"internal/importing/run.go", "err = w.act(ctx, func() error { return w.write(ctx, mapping) })", "err = w.write(ctx, mapping)"}},
		Package: "internal/importing", Test: "TestLineOfAnImport",
	},
	{
		Name: "any-file-of-an-export-is-attached", Breaks: "what an export says of everybody is no file of a message",
		Hunks:   []Hunk{{"internal/importing/rocketchat.go", "if !strings.ContainsAny(f.ID, `/\\`) {", "if f.ID != \"\" {"}},
		Package: "internal/importing", Test: "TestFilesOfNobody",
	},
	{
		Name: "two-imports-at-once", Breaks: "two imports do not write to one database at once",
		Hunks:   []Hunk{{"internal/journal/postgres/dated.go", `"SELECT pg_try_advisory_lock($1)"`, `"SELECT $1::bigint > 0"`}},
		Package: "internal/app", Test: "TestOneImportAtATime",
	},
}
