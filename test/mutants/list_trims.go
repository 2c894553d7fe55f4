package main

// trims are bugs of how the two engines give up what entries said.
var trims = []Mutant{
	{
		Name: "trim-not-durable", Breaks: "trims: what is trimmed is so after a crash",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "j.commit(b)", "j.write(b, false)"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/TrimSurvivesACrash",
	},
	{
		Name: "trim-begins-late", Breaks: "trims: the first entry of the span, too",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "from: t.after + 1}", "from: t.after + 2}"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/TrimOfNoneOneTwoMany",
	},
	{
		Name: "trim-ends-early", Breaks: "trims: the last entry of the span, too",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "if e.Seq > t.until {", "if e.Seq >= t.until {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/TrimOfNoneOneTwoMany",
	},
	{
		Name: "trim-keeps-labels", Breaks: "trims: nothing trimmed is found by its label",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "slices.Concat(labels, t.labels)", "slices.Concat(labels[:0], t.labels)"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/Trim$",
	},
	{
		Name: "trim-misses-a-label", Breaks: "trims: nor by one that was put on meanwhile",
		Hunks:   []Hunk{{pebbleDir + "/labels.go", "a.noteLabel(c, seq, a.key)\n", ""}},
		Package: pebbleDir, Test: "TestTrimMeetsLabels",
	},
	{
		Name: "trim-keeps-amendments", Breaks: "trims: what amendments keep, buckets of reactions too, is gone as well",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "if len(body) == 0 && e.Amended == 0 && !e.Recalled {", "if len(body) == 0 && e.Amended == 0 && !e.Recalled || e.Amends() {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/Trim$",
	},
	{
		Name: "trim-keeps-versions", Breaks: "trims: nothing tells that it was amended",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "im.UserID(sender), nil, 0, false", "im.UserID(sender), nil, e.Amended, false"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/Trim$",
	},
	{
		Name: "trim-counts-as-recalled", Breaks: "trims: nothing trimmed counts as recalled",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "if e.Recalled && e.Countable() {", "if e.Recalled && !e.Countable() {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/Trim$",
	},
	{
		Name: "trim-is-undone", Breaks: "trims: no amendment gives words back",
		Hunks:   []Hunk{{pebbleDir + "/amend.go", "len(e.Body) > 0 && e.Amended", "!e.Recalled && e.Amended"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/TrimmedIsNotAmended",
	},
	{
		Name: "trim-stays-on-disk", Breaks: "trims: the disk forgets, too",
		Hunks:   []Hunk{{pebbleDir + "/gone.go", "j.db.Compact(ctx, from, prefixEnd(bytes.Clone(from)), false); err != nil", "ctx.Err(); err != nil || bytes.Equal(from, nil)"}},
		Package: pebbleDir, Test: "TestTrimGivesRoomBack",
	},
	{
		Name: "trim-forgets-what-is-due", Breaks: "trims: the disk forgets, also after a restart",
		Hunks:   []Hunk{{pebbleDir + "/trim.go", "if err := gone.note(b); err != nil {", "if err := error(nil); err != nil {"}},
		Package: pebbleDir, Test: "TestTrimGivesRoomBack",
	},
	{
		Name: "pg-trim-begins-late", Breaks: "trims: the first entry of the span, too",
		Hunks:   []Hunk{{postgresDir + "/trim.sql", "e.seq > low AND", "e.seq > low + 1 AND"}},
		Package: postgresDir, Test: "TestConformance/TrimOfNoneOneTwoMany",
	},
	{
		Name: "pg-trim-ends-early", Breaks: "trims: the last entry of the span, too",
		Hunks:   []Hunk{{postgresDir + "/trim.sql", "e.seq <= high", "e.seq < high"}},
		Package: postgresDir, Test: "TestConformance/TrimOfNoneOneTwoMany",
	},
	{
		Name: "pg-trim-keeps-labels", Breaks: "trims: nothing trimmed is found by its label",
		Hunks:   []Hunk{{postgresDir + "/trim.sql", "l.seq <= high", "l.seq <= low"}},
		Package: postgresDir, Test: "TestConformance/Trim$",
	},
	{
		Name: "pg-trim-is-undone", Breaks: "trims: no amendment gives words back",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "octet_length(s.body) > 0 AND coalesce", "s.recalled IS NULL AND coalesce"}},
		Package: postgresDir, Test: "TestConformance/TrimmedIsNotAmended",
	},
}
