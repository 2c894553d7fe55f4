package main

const feedDir = "internal/feed"

// followers are bugs of those who do something about every entry.
var followers = []Mutant{
	{
		Name: "cursor-before-handler", Breaks: "16: a follower's place moves behind what it has done",
		Hunks:   []Hunk{{feedDir + "/work.go", "if err := f.handle(ctx, got.Entries); err != nil {\n\t\t\treturn // ctx", "k.done(got.UpTo, true)\n\t\tif err := f.handle(ctx, got.Entries); err != nil {\n\t\t\treturn // ctx"}},
		Package: feedDir, Test: "TestRetries",
	},
	{
		Name: "poison-for-ever", Breaks: "16: one entry does not stop all others",
		Hunks:   []Hunk{{feedDir + "/work.go", "errors.Is(err, errPermanent) || tries >= f.o.Tries", "errors.Is(err, errPermanent)"}},
		Package: feedDir, Test: "TestPoison",
	},
	{
		Name: "outage-is-poison", Breaks: "16: what fails because of something else is not passed over",
		Hunks:   []Hunk{{feedDir + "/work.go", "case errors.Is(err, errLater):", "case errors.Is(err, errLater) && outages < 3:"}},
		Package: feedDir, Test: "TestRetries",
	},
	{
		Name: "work-taken-at-once", Breaks: "16: one node works on a follower",
		Hunks:   []Hunk{{feedDir + "/lead.go", "f.o.Alone || time.Since(since) >= TakeAfter", "f.o.Alone || time.Since(since) >= 0"}},
		Package: feedDir, Test: "TestOneWorks",
	},
	{
		Name: "work-taken-by-two", Breaks: "16: of several who take over one does",
		Hunks:   []Hunk{{"internal/directory/followers.go", "AND holder = $4 AND beat = $5", "AND (holder = $4 OR beat <> $5 OR holder <> $4)"}},
		Package: "internal/directory/sqlite", Test: "TestConformance/People/FollowerRaced",
	},
	{
		Name: "cursor-of-one-who-lost-it", Breaks: "16: who does not hold a follower moves no cursor",
		Hunks:   []Hunk{{"internal/directory/followers.go", "shard = $4 AND holder = $5\"", "shard = $4 AND (holder = $5 OR holder <> $5)\""}},
		Package: "internal/directory/sqlite", Test: "TestConformance/People/Followers",
	},
	{
		Name: "append-under-way-skipped", Breaks: "16: no place is beyond what can still appear",
		Hunks:   []Hunk{{pebbleDir + "/follow.go", "Pos: j.durable}\n\theld", "Pos: j.durable + 1}\n\theld"}},
		Package: pebbleDir, Test: "TestFollowUnsynced",
	},
	{
		Name: "transaction-under-way-skipped", Breaks: "16: no place is beyond what can still appear",
		Hunks:   []Hunk{{postgresDir + "/follow.go", "end := min(upTo+positions, f.Now.Pos)", "end := upTo + positions"}},
		Package: postgresDir, Test: "TestFollowMissesNothing",
	},
	{
		Name: "tail-forgets", Breaks: "16: what is remembered of the newest entries is all of them",
		Hunks:   []Hunk{{pebbleDir + "/tail.go", "t.from = t.touches[tailMost-1].pos", "t.from += 0"}},
		Package: pebbleDir, Test: "TestTail",
	},
	{
		Name: "window-keeps-its-end", Breaks: "16: what does not fit into a window is told by the next one",
		Hunks:   []Hunk{{pebbleDir + "/follow.go", "kept, true, w.entries[n-1].Pos", "kept, true, w.upTo"}},
		Package: pebbleDir, Test: "TestFollowFarBehind",
	},
	{
		Name: "torn-line-stays", Breaks: "16: every line of the audit is whole",
		Hunks:   []Hunk{{"internal/audit/audit.go", "return file.Truncate(to)", "return nil"}},
		Package: "internal/audit", Test: "TestTornLine",
	},
}
