package main

const remoteDir = "internal/remote"

// nodes are bugs between processes.
var nodes = []Mutant{
	{
		Name: "missed-heartbeat", Breaks: "5: a gateway that missed a heartbeat asks what it missed",
		Hunks:   []Hunk{{remoteDir + "/peers.go", "case h.number > old.number+1:", "case h.number > old.number+1000:"}},
		Package: remoteDir, Test: "TestAMissedHeartbeatIsNoticed",
	},
	{
		Name: "absent-node-forgotten", Breaks: "5: what a node stored while it was not heard is asked for",
		Hunks:   []Hunk{{remoteDir + "/peers.go", "p.lost[name] = absent{x.since(), now}", "_ = absent{x.since(), now}"}},
		Package: remoteDir, Test: "TestAGatewayDoesNotHearOneNode",
	},
	{
		Name: "repair-from-now", Breaks: "5: a repair begins where nothing was missing",
		Hunks:   []Hunk{{remoteDir + "/peers.go", "func (n *peer) since() uint64 { return n.positions[0] }", "func (n *peer) since() uint64 { return n.positions[len(n.positions)-1] }"}},
		Package: remoteDir, Test: "TestARepairReachesBack",
	},
	{
		Name: "loss-on-the-bus-ignored", Breaks: "5: what the bus lost is compared",
		Hunks:   []Hunk{{remoteDir + "/node.go", "h.n.missed(h.n.peers.lostAll())", "_ = h.n.peers.lostAll()"}},
		Package: remoteDir, Test: "TestALossThatIsToldIsCompared",
	},
	{
		Name: "one-look-at-what-was-lost", Breaks: "5: what was stored during the first look is found by the second",
		Hunks:   []Hunk{{remoteDir + "/repair.go", "_ = r.repair(from) // what", "_ = from // what"}},
		Package: remoteDir, Test: "TestALossIsComparedTwice",
	},
	{
		Name: "gap-of-sends-ignored", Breaks: "9: sends are stored in order, also after a loss on the bus",
		Hunks:   []Hunk{{remoteDir + "/serve.go", "if in.err != nil || gap || t.number != next {", "if in.err != nil || t.number < next {"}, {remoteDir + "/serve.go", "\t\tnext++\n\t\ts.put(t)", "\t\tnext = t.number + 1\n\t\ts.put(t)"}},
		Package: remoteDir, Test: "TestSendsOverABadBus",
	},
	{
		Name: "lost-answers-not-missed", Breaks: "6: a lost answer is asked for again",
		Hunks:   []Hunk{{remoteDir + "/link.go", "missed := head.number != l.read+1", "missed := head.number < l.read"}},
		Package: remoteDir, Test: "TestALostAnswerIsAskedForAgain",
	},
	{
		Name: "moved-sends-change-places", Breaks: "9: what moves to another node keeps its order",
		Hunks:   []Hunk{{remoteDir + "/link.go", "all = append(all, l.queue...)", "all = append(append([]*sending(nil), l.queue...), all...)"}},
		Package: remoteDir, Test: "TestWhatMovesKeepsItsOrder",
	},
	{
		Name: "not-withdrawn", Breaks: "20: what is behind a refused send is withdrawn with it",
		Hunks:   []Hunk{{remoteDir + "/serve.go", "t.cancel(im.ErrWithdrawn)", "_ = im.ErrWithdrawn"}},
		Package: remoteDir, Test: "TestOneMessageIsNotStored",
	},
	{
		Name: "doubt-forgotten", Breaks: "6: what another node may have stored is not refused for good",
		Hunks:   []Hunk{{remoteDir + "/router.go", "s.doubt, s.left = true, s.written", "s.left = s.written"}},
		Package: remoteDir, Test: "TestARefusalBehindASilentNode",
	},
	{
		Name: "calls-twice", Breaks: "a call is carried out at most once",
		Hunks:   []Hunk{{remoteDir + "/request.go", "\tif q.sent && !q.again {\n\t\tr.fail", "\tif q.sent && !q.again && q.number == 0 {\n\t\tr.fail"}},
		Package: remoteDir, Test: "TestACallOfALostNodeIsNotRepeated",
	},
	{
		Name: "added-elsewhere-not-told", Breaks: "19: who is added at a gateway without members is told",
		Hunks:   []Hunk{{remoteDir + "/dispatch.go", "e.Type == im.EventGroupCreated || e.Type == im.EventMemberAdded", "e.Type == im.EventGroupCreated"}},
		Package: remoteDir, Test: "TestAddedWhereNobodyListens",
	},
	{
		Name: "pushes-before-answers", Breaks: "5: an ack does not come after the next push",
		Hunks:   []Hunk{{remoteDir + "/dispatch.go", "if s := d.node.served; s != nil && len(p.Entries) > 0 {", "if s := d.node.served; s != nil && len(p.Entries) > 1<<20 {"}},
		Package: remoteDir, Test: "TestAnswersBeforePushes",
	},
	{
		Name: "control-stays-here", Breaks: "revocation: connections end on every node",
		Hunks:   []Hunk{{remoteDir + "/dispatch.go", "d.node.bus.Publish(\"ctl\", putControl(nil, &c))", "_ = putControl(nil, &c)"}},
		Package: remoteDir, Test: "TestParcelsReachTheirGateways",
	},
	{
		Name: "block-answered-early", Breaks: "a block is answered when all logic nodes know",
		Hunks:   []Hunk{{remoteDir + "/forget.go", "\t\tx.wait[nodes[i].name] = true\n", "\t\tx.wait[nodes[i].name] = true\n\t\tbreak\n"}},
		Package: remoteDir, Test: "TestForget",
	},
	{
		Name: "old-link-answers", Breaks: "6: an answer of an earlier link answers nothing",
		Hunks:   []Hunk{{remoteDir + "/link.go", "l.instance != head.instance || l.id != head.to || head.number <= l.read", "l.instance != head.instance || head.number <= l.read"}},
		Package: remoteDir, Test: "TestAnswersOfAnEarlierLink",
	},
	{
		Name: "old-roster-is-used", Breaks: "4: news of a roster that was lost is asked for",
		Hunks:   []Hunk{{remoteDir + "/node.go", "\tif x.lost && n.served != nil {\n\t\tn.served.backend.Forget(\"\", \"\")\n\t}\n", ""}},
		Package: remoteDir, Test: "TestALogicNodeForgetsAfterALoss",
	},
	{
		Name: "other-version-is-silence", Breaks: "versions: what the other half stores is shown",
		Hunks:   []Hunk{{"internal/remote/versions.go", "\tn.missed(lost)\n", ""}},
		Package: "internal/remote", Test: "TestTwoVersionsOfTheBus",
	},
	{
		Name: "other-version-is-decoded", Breaks: "versions: a message of another version is not read",
		Hunks:   []Hunk{{"internal/remote/node.go", "if len(data) == 0 || data[0] != version {\n\t\tif len(data) > 0 {", "if len(data) == 0 {\n\t\tif len(data) > 0 {"}},
		Package: "internal/remote", Test: "TestTwoVersionsOfTheBus",
	},
	{
		Name: "as-old-as-its-turn", Breaks: "2: who was told no, for good, is not stored after all",
		Hunks:   []Hunk{{messagingDir + "/send.go", "had = from.Had //", "_ = from.Had //"}},
		Package: messagingDir, Test: "TestNothingIsStoredThatWaitedElsewhere",
	},
	{
		Name: "refusal-settles-by-any-revision", Breaks: "2: who was told no, for good, is not stored after all",
		Hunks:   []Hunk{{messagingDir + "/admit.go", "return err == nil && head.Roster == it.deniedAt", "return err == nil && head.Roster > 0"}},
		Package: messagingDir, Test: "TestARefusalThatSettles",
	},
	{
		Name: "certain-while-a-dead-node-may-decide", Breaks: "6: an unknown outcome is said so",
		Hunks:   []Hunk{{remoteDir + "/link.go", "after = max(undecided-now.Sub(s.left), soonest)", "after = soonest"}},
		Package: remoteDir, Test: "TestARefusalBehindADeadNode",
	},
}
