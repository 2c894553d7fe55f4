package main

const (
	wsDir     = "internal/transport/ws"
	sdkPulls  = "sdk/go/pulls.go"
	pullsFile = gatewayDir + "/pulls.go"
)

// protocol are bugs of what protocol 1.0 brought: fewer bytes, several stretches at a
// time, and connections that live longer.
var protocol = []Mutant{
	{
		Name: "unknown-names-are-nothing", Breaks: "1.4: a request that names a value which does not exist is refused",
		Hunks:   []Hunk{{"wire/methods.go", "\tif m.enums {", "\tif m.enums && len(text) == 0 {"}},
		Package: apiDir, Test: "TestNamesOfValues",
	},
	{
		Name: "a-result-is-an-ack", Breaks: "SPEC 5.5: who sends by a Call gets the Push, too",
		Hunks:   []Hunk{{apiDir + "/api.go", "\tactor.Connection = \"\"\n", ""}},
		Package: apiDir, Test: "TestAResultIsNoAck",
	},
	{
		Name: "one-framing-for-all", Breaks: "§1.8: who did not ask for deflate gets none",
		Hunks:   []Hunk{{outDir + "/encode.go", "if k.Codec.Name() == info.Codec && k.framing == info.Framing {", "if k.Codec.Name() == info.Codec {"}},
		Package: outDir, Test: "TestFanoutIsFramedOncePerFraming",
	},
	{
		Name: "deflated-for-each", Breaks: "§1.8: a message to many is deflated once",
		Hunks:   []Hunk{{outDir + "/encode.go", "\tif f.done[i] == nil {\n", "\tif f.done[i] == nil || o.Kind.deflates {\n"}},
		Package: outDir, Test: "TestFanoutIsFramedOncePerFraming",
	},
	{
		Name: "inflated-memory-of-two", Breaks: "§1.8: each message stands for itself, and belongs to its connection",
		Hunks:   []Hunk{{wsDir + "/deflate.go", "\t\tinflated.Put(c.plain)\n\t}\n\tc.plain = nil\n", "\t\tinflated.Put(c.plain)\n\t}\n"}},
		Package: wsDir, Test: "TestInflatedMessagesAreApart",
	},
	{
		Name: "inflater-goes-on", Breaks: "§1.8: each message stands for itself",
		Hunks:   []Hunk{{wsDir + "/deflate.go", "\t_ = i.stream.(flate.Resetter).Reset(&i.source, nil)\n", "\t_ = i.stream.(flate.Resetter)\n"}},
		Package: wsDir, Test: "TestInflatedMessagesAreApart|TestDeflatedMessages",
	},
	{
		Name: "inflates-any-length", Breaks: "§1.8: limits are of the message, not of its deflated form",
		Hunks:   []Hunk{{wsDir + "/deflate.go", "i.stream, c.limit+1)", "i.stream, 1<<30)"}},
		Package: wsDir, Test: "TestABombTakesLittle",
	},
	{
		Name: "small-window-promised", Breaks: "§1.8: what cannot be kept to is not taken",
		Hunks:   []Hunk{{wsDir + "/deflate.go", "ok = windowBits(value) == 15", "ok = windowBits(value) > 0"}},
		Package: wsDir, Test: "TestDeflateIsNegotiated",
	},
	{
		Name: "frames-of-any-length", Breaks: "§1.5: no frame is longer than server_frame_bytes",
		Hunks:   []Hunk{{outDir + "/encode.go", "if err == nil && len(out)-len(dst) > k.longest {", "if err == nil && len(out)-len(dst) > 2*k.longest {"}},
		Package: gatewayDir, Test: "TestARangeKeepsToItsLength|TestADeltaKeepsToItsLength|TestAResultKeepsToItsLength",
	},
	{
		Name: "pulls-all-of-the-first-number", Breaks: "§7.9: each Pull is answered by a Range with its own number",
		Hunks:   []Hunk{{pullsFile, "\t\terr := s.pull(p)\n", "\t\tp.Number = pulls[0].Number\n\t\terr := s.pull(p)\n"}},
		Package: gatewayDir, Test: "TestPullsHaveBounds",
	},
	{
		Name: "pulls-default-is-not-counted", Breaks: "§7.9: a Pull without a limit counts as 50",
		Hunks:   []Hunk{{pullsFile, "\t\tif n == 0 {\n\t\t\tn = pullDefault\n\t\t}\n", ""}},
		Package: gatewayDir, Test: "TestPullsHaveBounds",
	},
	{
		Name: "pulls-refused-but-one", Breaks: "§7.9: if they are refused together, each gets its Range",
		Hunks:   []Hunk{{pullsFile, "s.refusePulls(pulls[i:], err)", "s.refusePulls(pulls[i+1:], err)"}},
		Package: gatewayDir, Test: "TestPullsAreAnsweredOneByOne",
	},
	{
		Name: "pulls-do-not-wait", Breaks: "7: nothing is made for a peer that does not take it",
		Hunks:   []Hunk{{pullsFile, "\t\ts.await(outgoing.Full)\n", ""}},
		Package: gatewayDir, Test: "TestPullsWaitForThePeer",
	},
	{
		Name: "renew-takes-an-older", Breaks: "§3.9: an older token changes nothing",
		Hunks:   []Hunk{{gatewayDir + "/renew.go", "if until > s.expires.Load() {", "if until > 0 {"}},
		Package: gatewayDir, Test: "TestRenew",
	},
	{
		Name: "renew-by-anybody", Breaks: "§3.9: a token of another session renews nothing",
		Hunks:   []Hunk{{gatewayDir + "/renew.go", "actor.Session != s.Actor.Session || actor.User != s.Actor.User", "actor.User != s.Actor.User"}},
		Package: gatewayDir, Test: "TestRenew",
	},
	{
		Name: "early-calls-without-bound", Breaks: "§3.1: at most 8 Calls before the Hello",
		Hunks:   []Hunk{{gatewayDir + "/calls.go", "if s.early++; s.early <= earlyCalls {", "if s.early <= earlyCalls {"}},
		Package: gatewayDir, Test: "TestCallsBeforeTheHelloAreBounded",
	},
	{
		Name: "early-call-of-any-method", Breaks: "§3.1: before the Hello there are only methods that need no token",
		Hunks:   []Hunk{{gatewayDir + "/calls.go", "if !s.g.o.Open(call.GetMethod()) {", "if call.GetMethod() == \"\" {"}},
		Package: gatewayDir, Test: "TestCallsBeforeTheHello",
	},
	{
		Name: "go-away-forgets-calls", Breaks: "§3.8: what is under way is answered",
		Hunks:   []Hunk{{gatewayDir + "/session.go", "\"the server stops\", nil, true, leaveTime)", "\"the server stops\", nil, false, leaveTime)"}},
		Package: gatewayDir, Test: "TestDrainAnswersCalls",
	},
	{
		Name: "background-is-present", Breaks: "§6.10: who is in the background does not make its user present",
		Hunks:   []Hunk{{gatewayDir + "/here/users.go", "is = is || !s.InBackground()", "is = is || s != nil"}},
		Package: gatewayDir, Test: "TestBackgroundOfSeveral|TestBackground",
	},
	{
		Name: "signal-to-the-own-devices", Breaks: "§6.9: the user's own devices do not get them",
		Hunks:   []Hunk{{gatewayDir + "/deliver.go", "Type: s.Type, Data: s.Data}), s.User", "Type: s.Type, Data: s.Data}), \"\""}},
		Package: gatewayDir, Test: "TestToUsers|TestGroupFollowsItsEntries",
	},
	{
		Name: "signal-by-who-may-not-write", Breaks: "§6.9: who may write there may signal, nobody else",
		Hunks:   []Hunk{{"internal/messaging/signal.go", "; err != nil {\n\t\treturn nil, err\n\t}\n\tif sig.Custom == nil {", "; err != nil && sig.Custom == nil {\n\t\treturn nil, err\n\t}\n\tif sig.Custom == nil {"}},
		Package: "internal/messaging", Test: "TestSignals",
	},
	{
		Name: "other-devices-make-room", Breaks: "§3.5: who has too many connections ends its own",
		Hunks:   []Hunk{{gatewayDir + "/hello.go", "\t\tif m.Actor.Device.ID == s.Actor.Device.ID {\n", "\t\tif m.Actor.Device.ID != \"\" {\n"}},
		Package: gatewayDir, Test: "TestADeviceTakesItsOwnPlace|TestConnectionsOfADeviceAreBounded",
	},
	{
		Name: "the-talkative-one-ends", Breaks: "§3.5: the connection that was silent for longest ends",
		Hunks:   []Hunk{{gatewayDir + "/hello.go", "return cmp.Compare(a.seen.Load(), b.seen.Load())", "return cmp.Compare(b.seen.Load(), a.seen.Load())"}},
		Package: gatewayDir, Test: "TestConnectionsOfADeviceAreBounded",
	},
	{
		Name: "sdk-pulls-without-bound", Breaks: "§7.9: the limits come to pulls_entries at most",
		Hunks:   []Hunk{{sdkPulls, "if sum += uint64(asks[n].Limit); sum > uint64(k.limits.GetPullsEntries()) {", "if sum += uint64(asks[n].Limit); sum > 1<<20 {"}, {sdkPulls, "return most, max(uint64(k.limits.GetPullsEntries()), uint64(k.pageLimit()))", "return most, math.MaxUint64"}},
		Package: "sdk/go", Test: "TestHolesOfSeveralConversations",
	},
	{
		Name: "sdk-pulls-of-an-old-server", Breaks: "§7.9: a server that takes no Pulls is asked one by one",
		Hunks:   []Hunk{{sdkPulls, "n < min(len(asks), int(k.limits.GetPulls()))", "n < min(len(asks), max(2, int(k.limits.GetPulls())))"}, {sdkPulls, "sum > uint64(k.limits.GetPullsEntries()) {", "sum > max(1000, uint64(k.limits.GetPullsEntries())) {"}},
		Package: "sdk/go", Test: "TestHolesOfSeveralConversations",
	},
	{
		Name: "sdk-pulls-again-too-early", Breaks: "§7.9: what was refused is asked for after retry_after_ms",
		Hunks:   []Hunk{{sdkPulls, "k.pullLater(r.cv, least)", "k.pullLater(r.cv, 0)"}},
		Package: "sdk/go", Test: "TestPullsRefused",
	},
	{
		Name: "sdk-slow-frame-is-dead", Breaks: "§9.1: a connection that answers is not taken for lost",
		Hunks:   []Hunk{{sdkPulls, "\t\t\to.at = now\n", "\t\t\t_ = now\n"}},
		Package: "sdk/go", Test: "TestSlowAnswersOfOneFrame",
	},
	{
		Name: "sdk-takes-any-range", Breaks: "6: no cursor passes a hole, whatever an answer tells",
		Hunks:   []Hunk{{"sdk/go/pull.go", "if f.Error == nil && f.Conversation != r.cv.rec.ID {", "if f.Error == nil && f.Conversation == \"\" {"}},
		Package: "sdk/go", Test: "TestRangeOfAnotherConversation",
	},
}
