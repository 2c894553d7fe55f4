package main

// crowds are bugs of what large groups need.
var crowds = []Mutant{
	{
		Name: "storm-not-paced", Breaks: "a large group is pushed one frame each 100 ms",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "grp.Next = g.o.Now().Add(paceOf(grp))", "grp.Next = g.o.Now()"}},
		Package: gatewayDir, Test: "TestStormIsPaced",
	},
	{
		Name: "pace-without-size", Breaks: "the larger a group, the more seldom its sessions are written to",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "return min(max(paceEvery, time.Duration(len(grp.Members))*paceEach), paceMost)", "return paceEvery"}},
		Package: gatewayDir, Test: "TestPaceIsBySize",
	},
	{
		Name: "told-twice-while-it-leaves", Breaks: "what leaves to many sessions is told to each once, whatever happens meanwhile",
		Hunks:   []Hunk{{gatewayDir + "/here/held.go", "\tgrp.Skip(s, last)\n", ""}},
		Package: gatewayDir, Test: "TestStormWhileItLeaves",
	},
	{
		Name: "what-comes-while-it-leaves-stays", Breaks: "what is held while others are told leaves the next time",
		Hunks:   []Hunk{{gatewayDir + "/here/held.go", "\tif h.Leaving == len(h.Entries) {", "\tif h.Leaving > 0 {"}},
		Package: gatewayDir, Test: "TestStormWhileItLeaves",
	},
	{
		Name: "told-of-a-gone-history", Breaks: "numbers that begin again are told to those, too, who were told more",
		Hunks:   []Hunk{{gatewayDir + "/here/held.go", "\tfor s := range grp.Members {\n\t\tgrp.Skip(s, 0)\n\t}\n", ""}},
		Package: gatewayDir, Test: "TestToldIsForgottenWithItsHistory",
	},
	{
		Name: "amendment-pushed-to-all", Breaks: "4.3: what an amendment says of a message is pushed to nobody who may not read that",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "\t\tif low < at.From {", "\t\tif low < at.From && low == 0 {"}},
		Package: gatewayDir, Test: "TestAmendmentsOfWhatIsNotTheirs",
	},
	{
		Name: "part-told-to-all", Breaks: "4.26: the next part of a message is told to nobody who may not read the message",
		Hunks:   []Hunk{{gatewayDir + "/parts.go", "if at.From != 0 && at.From <= seq {", "if at.From != seq+1<<60 {"}},
		Package: gatewayDir, Test: "TestAmendmentsOfWhatIsNotTheirs",
	},
	{
		Name: "amendment-released-to-all", Breaks: "4.3: nor in a large group",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "case low < at.From && len(rest) > 0:", "case low < at.From && len(rest) > 0 && low == 0:"}},
		Package: gatewayDir, Test: "TestAmendmentsOfWhatIsNotTheirs",
	},
	{
		Name: "few-are-paced", Breaks: "a small group waits for nothing",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "if grp.Held == nil && len(grp.Members) < paceFrom {", "if grp.Held == nil && len(grp.Members) < 2 {"}},
		Package: gatewayDir, Test: "TestFewAreNotPaced",
	},
	{
		Name: "held-without-bound", Breaks: "what is held of a group is bounded",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "if len(grp.Held.Entries) >= maxHeld || grp.Held.Bytes >= maxHeldBytes {", "if len(grp.Held.Entries) >= maxHeld {"}},
		Package: gatewayDir, Test: "TestHeldIsBounded",
	},
	{
		Name: "ack-passes-the-held", Breaks: "on one connection nothing of a conversation overtakes anything",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "\t\t\tg.tellHeld(grp, s)\n\t\t\tif own {", "\t\t\tif own {"}},
		Package: gatewayDir, Test: "TestAcksPassAStormInOrder",
	},
	{
		Name: "joined-sees-the-held", Breaks: "who is added sees nothing of what was before",
		Hunks:   []Hunk{{gatewayDir + "/here/groups.go", "at.Told = h.Entries[len(h.Entries)-1].Seq", "at.Told = 0"}},
		Package: gatewayDir, Test: "TestRosterChangesInAStorm",
	},
	{
		Name: "removed-misses-the-held", Breaks: "who is removed is told why, and what was before",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "if grp.Has(s) {\n\t\t\t\t\tg.tellHeld(grp, s)", "if grp.Has(s) {\n\t\t\t\t\tg.pushAlone(s, es)"}},
		Package: gatewayDir, Test: "TestRosterChangesInAStorm",
	},
	{
		Name: "heads-pass-the-held", Breaks: "what was seen before a gap is pushed before the Heads that tell of it",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "\tg.release(grp, nil) // it was seen before the gap\n", "\tgrp.Held = nil\n"}},
		Package: gatewayDir, Test: "TestGapInAStorm",
	},
	{
		Name: "position-passes-the-held", Breaks: "a position is told behind all that it stands for",
		Hunks:   []Hunk{{gatewayDir + "/gateway.go", "\tg.pacer.settle()\n", ""}},
		Package: gatewayDir, Test: "TestPositionWaitsForWhatIsHeld",
	},
	{
		Name: "release-gives-acks-up", Breaks: "an ack whose delivery is under way is not taken for lost",
		Hunks:   []Hunk{{gatewayDir + "/pace.go", "p.g.out.FlushAside()", "p.g.Flush()"}},
		Package: gatewayDir, Test: "TestReleaseWaitsForDeliveries",
	},
	{
		Name: "nickname-of-the-muted", Breaks: "who is muted does not speak by nicknames",
		Hunks:   []Hunk{{"internal/group/members.go", "if v.members[by].MutedUntil", "if v.Role == im.RoleAdmin && v.members[by].MutedUntil"}},
		Package: "internal/group", Test: "TestNickname",
	},
	{
		Name: "nickname-by-a-muted-admin", Breaks: "an admin who is muted does not speak by nicknames either",
		Hunks:   []Hunk{{"internal/group/members.go", "if v.members[by].MutedUntil", "if v.Role == im.RoleMember && v.members[by].MutedUntil"}},
		Package: "internal/group", Test: "TestNickname",
	},
	{
		Name: "nickname-of-an-equal", Breaks: "admins name members of a lower role only",
		Hunks:   []Hunk{{"internal/group/members.go", "im.GroupNicknameOthers, v.roleOf(user))", "im.GroupNicknameOthers, im.RoleNone)"}},
		Package: "internal/group", Test: "TestNickname",
	},
	{
		Name: "nickname-stays", Breaks: "a nickname ends with the membership",
		Hunks:   []Hunk{{"internal/directory/memberships.go", ", title = '', nickname = ''`", ", title = ''`"}},
		Package: "internal/group", Test: "TestNickname",
	},
	{
		Name: "page-forgets-the-role", Breaks: "a page of members goes on where the one before ended",
		Hunks:   []Hunk{{"internal/directory/members.go", "if r == q.After.Role {", "if r == q.After.Role && q.Role != im.RoleNone {"}},
		Package: "internal/group", Test: "TestListByRole",
	},
	{
		Name: "search-ends-where-it-looked", Breaks: "who looks for a member in a very large group finds them",
		Hunks:   []Hunk{{"internal/group/members.go", "\t\tnext = formatPlace(looked)\n", ""}},
		Package: "internal/group", Test: "TestFindMembers",
	},
	{
		Name: "search-looks-at-some", Breaks: "who looks for a member in a very large group finds them",
		Hunks:   []Hunk{{"internal/directory/members.go", "if len(few) <= q.Looks {", "if len(few) > 0 {"}},
		Package: "internal/group", Test: "TestFindMembers",
	},
	{
		Name: "nickname-is-not-found", Breaks: "a member is found by what they are called in the group",
		Hunks:   []Hunk{{"internal/directory/memberships.go", "\treturn []byte(folded(nickname))", "\treturn nil"}},
		Package: "internal/group", Test: "TestFindMembers",
	},
	{
		Name: "copies-count-as-one", Breaks: "who forwards many messages sends as many",
		Hunks:   []Hunk{{"internal/api/forward.go", "missing(stored)-1)", "0)"}},
		Package: "internal/api", Test: "TestForwardCountsAsSends",
	},
	{
		Name: "later-is-not-silent", Breaks: "a scheduled message says all that it was to say",
		Hunks:   []Hunk{{"sdk/go/later.go", ", Silent: s.Silent,", ","}},
		Package: "sdk/go", Test: "TestSendLaterSaysAll",
	},
}
