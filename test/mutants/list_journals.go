package main

const (
	pebbleDir   = "internal/journal/pebble"
	postgresDir = "internal/journal/postgres"
	splitDir    = "internal/journal/split"
)

// journals are bugs of the two engines that store entries.
var journals = []Mutant{
	{
		Name: "ack-before-fsync", Breaks: "1: stored, then acknowledged",
		Hunks:   []Hunk{{pebbleDir + "/fatal.go", "return b.SyncWait()", "go func() { _ = b.SyncWait() }()\n\treturn nil"}},
		Package: pebbleDir, Test: "TestFsyncFails|TestUnsyncedIsInvisible",
	},
	{
		Name: "no-fsync", Breaks: "1: stored means on disk",
		Hunks:   []Hunk{{pebbleDir + "/fatal.go", "return j.write(b, true)", "return j.write(b, false)"}},
		Package: pebbleDir, Test: "TestPowerCut",
	},
	{
		Name: "failed-fsync-goes-on", Breaks: "1: a journal that cannot fsync stops the process",
		Hunks:   []Hunk{{pebbleDir + "/fatal.go", "\t\t\tj.fail(err)\n\t\t\terr = fmt.Errorf(\"%w: %w\", im.ErrOutcomeUnknown, j.failure())", "\t\t\terr = fmt.Errorf(\"%w: %w\", im.ErrOutcomeUnknown, err)"}},
		Package: pebbleDir, Test: "TestFsyncFails",
	},
	{
		Name: "seq-skips", Breaks: "2: seq is contiguous",
		Hunks:   []Hunk{{pebbleDir + "/append.go", "c.next.Seq++", "c.next.Seq++\n\tif c.next.Seq == 3 {\n\t\tc.next.Seq++\n\t}"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/SeqIsContiguousAndCounted",
	},
	{
		Name: "head-not-published", Breaks: "2: a seq is given once",
		Hunks:   []Hunk{{pebbleDir + "/append.go", "c.head, c.segment = c.next, c.nextSegment", "c.segment = c.nextSegment"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/SeqIsContiguousAndCounted",
	},
	{
		Name: "resend-in-one-batch", Breaks: "3: (conversation, sender, id) is stored once",
		Hunks:   []Hunk{{pebbleDir + "/dedup.go", "if k, ok := a.inBatch(batch, out, i); ok {", "if k, ok := a.inBatch(batch, out, i); ok && k < 0 {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/DuplicateWithinBatch",
	},
	{
		Name: "dedup-in-memory-only", Breaks: "3: a resend of any age gets its seq",
		Hunks:   []Hunk{{pebbleDir + "/dedup.go", "return a.onDisk(&batch[i], &out[i], a.convs[i])", "return false, nil"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/DuplicateAcrossBatchesAndReopen",
	},
	{
		Name: "bound-not-stored", Breaks: "3: a resend after a restart gets its seq",
		Hunks:   []Hunk{{pebbleDir + "/dedup.go", "if compareIDs(s.next, s.limit) <= 0 {", "if s.next != (im.MessageID{}) {"}},
		Package: pebbleDir, Test: "TestConformanceOnDisk/DuplicateAcrossBatchesAndReopen",
	},
	{
		Name: "other-content-same-id", Breaks: "3: an id names one message",
		Hunks:   []Hunk{{pebbleDir + "/dedup.go", "if hash != it.Hash {", "if hash != it.Hash && it.Hash == 0 {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/IDConflict",
	},
	{
		Name: "roster-not-asked", Breaks: "4: a send is conditional on the roster it was allowed by",
		Hunks:   []Hunk{{pebbleDir + "/append.go", "if c.blocked || it.IfRoster != c.next.Roster {", "if c.blocked {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/RosterChanged",
	},
	{
		Name: "later-item-passes", Breaks: "20: nothing is stored before what was refused in its batch",
		Hunks:   []Hunk{{pebbleDir + "/append.go", "if c.blocked || it.IfRoster != c.next.Roster {", "if it.IfRoster != c.next.Roster {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/RosterChanged",
	},
	{
		Name: "recall-keeps-content", Breaks: "23: a recalled message has no content",
		Hunks:   []Hunk{{pebbleDir + "/amend.go", "e.Body, e.Recalled, e.Amended = nil, true, seq", "e.Recalled, e.Amended = true, seq"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/^Recall$",
	},
	{
		Name: "stale-change", Breaks: "an amendment is conditional on the state it was made from",
		Hunks:   []Hunk{{pebbleDir + "/amend.go", "len(e.Body) > 0 && e.Amended == it.Amend.If", "len(e.Body) > 0"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/TargetChanged",
	},
	{
		Name: "change-of-recalled", Breaks: "what was recalled stays so",
		Hunks:   []Hunk{{pebbleDir + "/amend.go", "len(e.Body) > 0 && e.Amended == it.Amend.If", "e.Amended == it.Amend.If"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/TargetChanged",
	},
	{
		Name: "amended-twice-in-a-batch", Breaks: "an amendment sees what the items before it made of its target",
		Hunks:   []Hunk{{pebbleDir + "/amend.go", "if t == nil {", "if t == nil || t.before != nil {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/ChangeWithinBatch",
	},
	{
		Name: "amended-before-fsync", Breaks: "1: nobody reads what is not on disk, also of what was there before",
		Hunks:   []Hunk{{pebbleDir + "/append.go", "\ta.hold()\n", ""}},
		Package: pebbleDir, Test: "TestUnsyncedAmendmentIsInvisible",
	},
	{
		Name: "touched-is-missing", Breaks: "a page tells every entry before it that was amended in it",
		Hunks:   []Hunk{{pebbleDir + "/pages.go", "case s.target < p.First:", "case s.target < p.First && len(touched) == 0:"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/^Pages$",
	},
	{
		Name: "touched-twice", Breaks: "a page tells an entry once",
		Hunks:   []Hunk{{pebbleDir + "/pages.go", "case s.target < p.First:", "case s.target < p.Last:"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/^Pages$",
	},
	{
		Name: "page-tells-no-limit", Breaks: "a page is bounded, with what it touches",
		Hunks:   []Hunk{{pebbleDir + "/pages.go", "size > readBytes && n > 0 {", "size < 0 && n > 0 {"}},
		Package: pebbleDir, Test: "TestPageBytes",
	},
	{
		Name: "id-of-any-conversation", Breaks: "3: an id names a message of its conversation",
		Hunks:   []Hunk{{pebbleDir + "/keys.go", "b := append(append(buf[:0], byte(len(c))), c...)", "b := buf[:0]"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/SameIDInAnotherConversation",
	},
	{
		Name: "id-of-any-conversation-in-a-batch", Breaks: "3: an id names a message of its conversation",
		Hunks:   []Hunk{{pebbleDir + "/dedup.go", "return sentID{a.convs[i], ", "return sentID{a.convs[0], "}},
		Package: pebbleDir, Test: "TestConformanceInMemory/SameIDInAnotherConversation",
	},
	{
		Name: "id-not-compared", Breaks: "3: a Duplicate is the same message",
		Hunks:   []Hunk{{pebbleDir + "/dedup.go", "if original.ID != e.ID || string(sender) != string(e.Sender) {", "if original.ID != e.ID && len(sender) > 255 {"}},
		Package: pebbleDir, Test: "TestIDKeyOfAnother",
	},
	{
		Name: "mine-lost-when-marks-move", Breaks: "12: what a user set stays when marks move",
		Hunks:   []Hunk{{pebbleDir + "/marks.go", "if m.Mine != \"\" {", "if m.Mine != old.Mine {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/MarksMine",
	},
	{
		Name: "long-mine-is-stale", Breaks: "12: the last thing a user set counts",
		Hunks:   []Hunk{{pebbleDir + "/marks.go", "\t\t\t\tm = im.Mark{} // in place", "\t\t\t\tcontinue // in place"}},
		Package: pebbleDir, Test: "TestMineIsWaitedFor",
	},
	{
		Name: "migration-keeps-left-overs", Breaks: "versions: a migration that was cut short begins anew",
		Hunks:   []Hunk{{pebbleDir + "/bodies.go", "m.b.DeleteRange([]byte{s}, []byte{s + 1}, nil)", "m.b.DeleteRange([]byte{s}, []byte{s}, nil)"}},
		Package: pebbleDir, Test: "TestMigrationToBodiesIsCut",
	},
	{
		Name: "events-are-counted", Breaks: "13: the running count counts messages",
		Hunks:   []Hunk{{pebbleDir + "/append.go", "if it.Entry.Countable() {", "if true {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/SeqIsContiguousAndCounted",
	},
	{
		Name: "witness-sees-nothing", Breaks: "10: a journal that came back shorter is refused",
		Hunks:   []Hunk{{pebbleDir + "/append.go", "j.witness.saw(next)", ""}},
		Package: pebbleDir, Test: "TestTruncatedLog",
	},
	{
		Name: "other-history-accepted", Breaks: "10: a journal that came back with other entries is refused",
		Hunks:   []Hunk{{pebbleDir + "/check.go", "if known && chain != f.seen.chain {", "if known && chain == 0 {"}},
		Package: pebbleDir, Test: "TestOtherHistory",
	},
	{
		Name: "loss-keeps-the-timeline", Breaks: "10: a journal that lost entries gets a new timeline",
		Hunks:   []Hunk{{pebbleDir + "/journal.go", "\t\treturn m, nil\n\t}\n\tm.timeline = newTimeline()\n", "\t\treturn m, nil\n\t}\n"}},
		Package: pebbleDir, Test: "TestTruncatedLog",
	},
	{
		Name: "mark-stored-before-it-is", Breaks: "21: who waits for a mark is told when it is on disk",
		Hunks:   []Hunk{{pebbleDir + "/marks.go", "case w.Stored != nil && !waits:", "case w.Stored != nil && (!waits || waits):"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/MarksThatAreWaitedForSurviveACrash",
	},
	{
		Name: "mark-goes-back", Breaks: "12: marks never go back",
		Hunks:   []Hunk{{pebbleDir + "/marks.go", "if m.Read > old.Read {", "if m.Read != 0 {"}},
		Package: pebbleDir, Test: "TestConformanceInMemory/MarksNeverGoBack",
	},
	{
		Name: "pg-all-wait-for-a-lock", Breaks: "9: a locked row holds up its conversation only",
		Hunks:   []Hunk{{postgresDir + "/locked.go", "\tif !noWait {\n\t\treturn lockTimeout", "\tif noWait || !noWait {\n\t\treturn lockTimeout"}},
		Package: postgresDir, Test: "TestPatience",
	},
	{
		Name: "pg-locked-is-asked-for", Breaks: "9: a locked row holds up its conversation only",
		Hunks:   []Hunk{{postgresDir + "/locked.go", "if status, is := left[batch[i].Entry.Conversation]; is {", "if status, is := left[batch[i].Entry.Conversation]; is && status == im.Busy {"}},
		Package: postgresDir, Test: "TestLockedRowsAreLeftOut",
	},
	{
		Name: "pg-marks-wait-for-a-lock", Breaks: "9: a locked mark holds up no others'",
		Hunks:   []Hunk{{postgresDir + "/marks.go", "if j.marksLocked.Load() == 0 {", "if j.marksLocked.Load() >= 0 {"}},
		Package: postgresDir, Test: "TestLockedMark",
	},
	{
		Name: "pg-no-locks-order", Breaks: "2: a seq is given under the lock of the head",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "h_seq[u.c] + u.n, h_count[u.c] + u.m", "h_seq[u.c] + 1, h_count[u.c] + u.m"}},
		Package: postgresDir, Test: "TestConformance/SeqIsContiguousAndCounted",
	},
	{
		Name: "pg-lost-reply-is-refused", Breaks: "6: an unknown outcome is said so",
		Hunks:   []Hunk{{postgresDir + "/errors.go", "\t\treturn fmt.Errorf(\"%w: %w\", im.ErrOutcomeUnknown, err)\n\t}\n\t// The server", "\t\treturn fmt.Errorf(\"%w: %w\", im.ErrJournalUnavailable, err)\n\t}\n\t// The server"}},
		Package: postgresDir, Test: "TestReplyIsLost",
	},
	{
		Name: "pg-positions-of-one-interval", Breaks: "16: who follows reads what it follows, also where newer entries lie in the place of older ones",
		Hunks:   []Hunk{{postgresDir + "/indexes.sql", "brin (pos int8_minmax_multi_ops)", "brin (pos int8_minmax_ops)"}, {postgresDir + "/positions.go", "o.opcname = 'int8_minmax_multi_ops'", "true"}},
		Package: postgresDir, Test: "TestFollowingAfterTrims",
	},
	{
		Name: "pg-positions-stay-as-they-were", Breaks: "16: a database of before gets the index as well",
		Hunks:   []Hunk{{postgresDir + "/trim.go", "\tj.renewPositions()\n", ""}},
		Package: postgresDir, Test: "TestPositionsWaitForATransaction",
	},
	{
		Name: "pg-positions-half-made", Breaks: "16: an index that somebody who was killed left half made is made again",
		Hunks:   []Hunk{{postgresDir + "/positions.go", "(now.good() || !next.good())", "now.good()"}},
		Package: postgresDir, Test: "TestPositionsAreIndexedAnew/killed_while_it_was_made",
	},
	{
		Name: "pg-positions-keep-who-stores", Breaks: "7: nobody waits while the index of positions is made",
		Hunks:   []Hunk{{postgresDir + "/positions.go", "CREATE INDEX CONCURRENTLY %s", "CREATE INDEX %s"}},
		Package: postgresDir, Test: "TestPositionsWaitForATransaction",
	},
	{
		Name: "pg-position-too-far", Breaks: "5: a position passes nothing that may yet be stored before it",
		Hunks:   []Hunk{{postgresDir + "/read.go", "pg_snapshot_xmin(", "pg_snapshot_xmax("}, {postgresDir + "/history.go", "pg_snapshot_xmin(", "pg_snapshot_xmax("}},
		Package: postgresDir, Test: "TestPositionStaysBeforeWhatIsUnderWay",
	},
	{
		Name: "pg-crash-keeps-base", Breaks: "10: no position is given twice, also after a crash of the database",
		Hunks:   []Hunk{{postgresDir + "/history.sql", "base = base + CASE WHEN moved THEN 4294967296 ELSE 0 END", "base = base"}},
		Package: postgresDir, Test: "TestServerBeginsAnew/crashed",
	},
	{
		Name: "pg-roster-not-asked", Breaks: "4: a send is conditional on the roster it was allowed by",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "WHERE u.r <> u.want LOOP", "WHERE u.r <> u.want AND u.want < 0 LOOP"}, {postgresDir + "/functions.sql", "u.n > 0 AND rosters[u.c] = ifs[u.c] AS ok", "u.n > 0 AS ok"}},
		Package: postgresDir, Test: "TestConformance/RosterSurvivesReopen",
	},
	{
		Name: "pg-roster-not-asked-again", Breaks: "4: within a batch, too",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "ELSIF closed[c] OR item_ifs[i] <> rosters[c] THEN", "ELSIF closed[c] THEN"}},
		Package: postgresDir, Test: "TestConformance/RosterChanged",
	},
	{
		Name: "pg-recall-keeps-content", Breaks: "23: a recalled message has no content",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "SET body = coalesce(states[i], ''),", "SET body = coalesce(states[i], s.body),"}},
		Package: postgresDir, Test: "TestConformance/Recall$",
	},
	{
		Name: "pg-stale-change", Breaks: "amendments: what is changed is as whoever changes it read it",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "octet_length(s.body) > 0 AND coalesce(s.amended, 0) = amend_ifs[i]", "octet_length(s.body) > 0"}},
		Package: postgresDir, Test: "TestConformance/TargetChanged",
	},
	{
		Name: "pg-recalled-is-changed", Breaks: "amendments: what is recalled stays so",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "octet_length(s.body) > 0 AND coalesce(s.amended, 0) = amend_ifs[i]", "coalesce(s.amended, 0) = amend_ifs[i]"}},
		Package: postgresDir, Test: "TestConformance/TargetChanged",
	},
	{
		Name: "pg-touched-not-told", Breaks: "amendments: a page tells what they made of entries before it",
		Hunks:   []Hunk{{postgresDir + "/page.go", "\t\t\tp.Touched = append(p.Touched, *row)\n", ""}},
		Package: postgresDir, Test: "TestConformance/Pages$",
	},
	{
		Name: "pg-id-of-all-conversations", Breaks: "3: an id names one message of its sender in its conversation",
		Hunks:   []Hunk{{postgresDir + "/functions.sql", "s.id = u.id AND s.no = nos[u.c] AND s.slot + 0 = slots[u.c] AND s.sender = u.s", "s.id = u.id AND s.sender = u.s"}},
		Package: postgresDir, Test: "TestConformance/SameIDInAnotherConversation",
	},
	{
		Name: "pg-mine-lost", Breaks: "marks: what a user set for themselves stays when their marks move",
		Hunks:   []Hunk{{postgresDir + "/marks.go", "mine = coalesce(excluded.mine, m.mine),", "mine = excluded.mine,"}},
		Package: postgresDir, Test: "TestMineOfManyProcesses",
	},
	{
		Name: "pg-mine-not-written", Breaks: "marks: what a user set last counts, whatever a node remembers",
		Hunks:   []Hunk{{postgresDir + "/marks_memory.go", "!ahead && set[i].Mine == \"\" {", "!ahead {"}},
		Package: postgresDir, Test: "TestMineOfManyProcesses",
	},
	{
		Name: "pg-rewrite-below-nodes", Breaks: "versions: tables are not rewritten below a node that uses them",
		Hunks:   []Hunk{{postgresDir + "/schema.go", "if err := alone(ctx, tx, have, tablesVersion); err != nil {", "if err := alone(ctx, tx, have, 0); err != nil {"}},
		Package: postgresDir, Test: "TestRewriteBesideAnOldNode",
	},
	{
		Name: "pg-rewrite-is-another-history", Breaks: "10: a rewrite of the tables loses nothing, and says so",
		Hunks:   []Hunk{{postgresDir + "/rewrite.go", "CASE WHEN m->>'identity' = $2::text THEN $3::text ELSE m->>'identity' END", "CASE WHEN m->>'identity' = $3::text THEN $2::text ELSE m->>'identity' END"}},
		Package: postgresDir, Test: "TestRewrite",
	},
	{
		Name: "pg-prepared-holds-unnamed", Breaks: "positions: who holds them back is named",
		Hunks:   []Hunk{{postgresDir + "/held.go", "WHERE t.transaction = x.oldest::xid LIMIT 1),", "WHERE t.transaction = x.next::xid LIMIT 1),"}},
		Package: postgresDir, Test: "TestPositionHeld/prepared",
	},
	{
		Name: "pg-held-by-turns-is-one", Breaks: "positions: for how long one transaction has held them back is told",
		Hunks:   []Hunk{{postgresDir + "/held.go", "\tcase xid != h.xid:\n\t\th.xid, h.since, h.by, h.told = xid, now, by, false", "\tcase h.since.IsZero():\n\t\th.xid, h.since, h.by, h.told = xid, now, by, false"}},
		Package: postgresDir, Test: "TestPositionHeldByTurns",
	},
	{
		Name: "expanded-is-refused", Breaks: "versions: a node goes on when a newer one extended the tables",
		Hunks:   []Hunk{{"internal/schema/schema.go", "if known < r.Least {", "if known < r.Version {"}},
		Package: postgresDir, Test: "TestExpandedByNewerVersion",
	},
	{
		Name: "contract-below-nodes", Breaks: "versions: nobody is shut out while it is connected",
		Hunks:   []Hunk{{postgresDir + "/history.sql", "    PERFORM pg_advisory_lock_shared(720541601, known);\n", ""}},
		Package: postgresDir, Test: "TestContract",
	},
	{
		Name: "shut-out-goes-on", Breaks: "versions: a node that is shut out stores nothing",
		Hunks:   []Hunk{{postgresDir + "/conn.go", "\t\tj.shut.Store(newer)\n", ""}},
		Package: postgresDir, Test: "TestShutOut",
	},
	{
		Name: "pg-marks-of-a-lost-history", Breaks: "24: what waits in memory ends with its history",
		Hunks: []Hunk{
			{postgresDir + "/journal.go", "\t\ttellDropped(j.marks.drop())\n", ""},
			{postgresDir + "/history.go", "\t\twaiters = j.marks.drop()\n", ""},
		},
		Package: postgresDir, Test: "TestMarksOfALostHistory",
	},
	{
		Name: "pg-marks-dropped-twice", Breaks: "24: what is set in the history in its place counts",
		Hunks:   []Hunk{{postgresDir + "/history.go", "\tj.metrics.back.Inc()\n", "\tj.metrics.back.Inc()\n\ttellDropped(j.marks.drop())\n"}},
		Package: postgresDir, Test: "TestMarksOfAHistoryThatIsGone",
	},
	{
		Name: "journal-on-an-old-primary", Breaks: "failover: nothing is stored on a primary that was promoted away",
		Hunks:   []Hunk{{postgresDir + "/conn.go", "\tj.primaries.Guard(&c.ConnConfig.Config)\n", ""}},
		Package: postgresDir, Test: "TestOldPrimaryIsBack",
	},
	{
		Name: "directory-on-an-old-primary", Breaks: "failover: nothing is stored on a primary that was promoted away",
		Hunks:   []Hunk{{"internal/directory/postgres/postgres.go", "\tprimaries.Guard(&config.Config)\n", ""}},
		Package: "internal/directory/postgres", Test: "TestOldPrimaryIsBack",
	},
	{
		Name: "old-connections-stay", Breaks: "failover: a connection that leads to an old primary is not used",
		Hunks:   []Hunk{{"internal/pg/primary.go", "return !ok || at.timeline >= p.newest[at.system]", "return !ok || at.timeline > 0"}},
		Package: "internal/pg", Test: "TestOldPrimary",
	},
	{
		Name: "no-room-for-blocks", Breaks: "backup: a reader's memory for blocks is beside what the log holds",
		Hunks:   []Hunk{{pebbleDir + "/check.go", "\treturn pebble.Open(db, options)\n", "\toptions.CacheSize = 8 << 20\n\treturn pebble.Open(db, options)\n"}},
		Package: pebbleDir, Test: "TestReaderKeepsBlocksBesideALongLog",
	},
	{
		Name: "position-of-the-greatest-shard", Breaks: "10: what a shard has is compared with its own place of a position",
		Hunks:   []Hunk{{"internal/im/position.go", "\tplace, _ := p.Place(s)\n\treturn place.Pos\n", "\tvar top Place\n\tfor _, at := range p.All() {\n\t\tif at.Pos > top.Pos {\n\t\t\ttop = at\n\t\t}\n\t}\n\treturn top.Pos\n"}},
		Package: "internal/im", Test: "TestPositionOfShards",
	},
	{
		Name: "a-shard-is-not-asked", Breaks: "10: every shard that a position names is asked whether it holds its place",
		Hunks:   []Hunk{{splitDir + "/split.go", "\tfor k := range asked {\n\t\tif !held[k] && errs[k] == nil {", "\tfor k := range asked[1:] {\n\t\tif !held[k] && errs[k] == nil {"}},
		Package: splitDir, Test: "TestPositionOfAllShards",
	},
	{
		Name: "an-unknown-outcome-of-a-part", Breaks: "6: an append whose outcome is unknown is asked again, also where one shard of several has none",
		Hunks:   []Hunk{{splitDir + "/append.go", "if errors.Is(parts[k].err, im.ErrOutcomeUnknown) {", "if errors.Is(parts[k].err, im.ErrOutcomeUnknown) && refused == nil {"}},
		Package: splitDir, Test: "TestAppendOfAShardThatRefuses",
	},
	{
		Name: "marks-of-one-shard-are-enough", Breaks: "15: who waits for marks is called when all of them are durable",
		Hunks:   []Hunk{{splitDir + "/marks.go", "last, err := w.left == 0, w.err", "last, err := w.left == 1, w.err"}},
		Package: splitDir, Test: "TestMarksOfShardsAreWaitedFor",
	},
}
