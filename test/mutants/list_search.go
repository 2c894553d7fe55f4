package main

// searching are bugs in how messages are found.
var searching = []Mutant{
	{
		Name: "index-rests-for-old-bursts", Breaks: "an index that is far behind makes way for what is stored now, not for the bursts that it reads of",
		Hunks:   []Hunk{{"internal/search/indexer.go", "if got.UpTo != got.Now && len", "if got.UpTo == got.Now && len"}},
		Package: "internal/search", Test: "TestPaceOfWhatComesNow",
	},
	{
		Name: "index-reads-on-in-a-burst", Breaks: "an index that cannot keep up with a burst waits until it is over",
		Hunks:   []Hunk{{"internal/search/pace.go", "p.perSecond > burst && !p.outlasted", "p.perSecond > 10*burst && !p.outlasted"}},
		Package: "internal/search", Test: "TestPaceOfABurst",
	},
	{
		Name: "index-place-before-its-messages", Breaks: "4.32: the place of the index moves behind what it has",
		Hunks:   []Hunk{{"internal/search/indexer.go", "\tif len(docs) > 0 {\n", "\t_ = x.index.SaveState(ctx, State{Place: x.reached})\n\tif len(docs) > 0 {\n"}},
		Package: "internal/search", Test: "TestKilledAnywhere",
	},
	{
		Name: "runs-by-three", Breaks: "4.32: a run is found wherever it stands",
		Hunks:   []Hunk{{"internal/search/token/tokens.go", "f(p.text[i:min(i+2, len(p.text))])", "f(p.text[i:min(i+3, len(p.text))])"}},
		Package: "internal/search/token", Test: "TestMatch",
	},
	{
		Name: "every-word-is-a-beginning", Breaks: "4.32: only the last word of a query is the beginning of one",
		Hunks:   []Hunk{{"internal/search/token/query.go", "if w.prefix && slices.Equal(p.text[:n], w.text)", "if slices.Equal(p.text[:n], w.text)"}},
		Package: "internal/search/token", Test: "TestMatch",
	},
	{
		Name: "what-was-forgotten-comes-back", Breaks: "4.32: what was trimmed is in no index",
		Hunks:   []Hunk{{"internal/search/sqlite/apply.go", "return s.After < d.Seq && d.Seq <= s.Until", "return s.After < d.Seq && d.Seq < s.Until-8"}},
		Package: "internal/search/sqlite", Test: "TestIndex",
	},
	{
		Name: "times-go-forward-everywhere", Breaks: "4.32: what was imported is found by its time",
		Hunks:   []Hunk{{"internal/search/sqlite/find.go", "if len(names) != 1 {", "if len(names) == 0 {"}},
		Package: "internal/search/sqlite", Test: "TestIndex",
	},
}
