package main

const (
	keyedFile    = "internal/api/keyed.go"
	keyedStore   = directoryDir + "/keyed.go"
	sdkCall      = "sdk/go/call.go"
	keysInStores = "TestConformance/People/KeyedCalls|KeyedCallsAreBounded"
)

// keys are bugs of idempotency keys, in the server and in the Go SDK, and of what else
// strangers tripped over.
var keys = []Mutant{
	{
		Name: "key-of-anybody", Breaks: "§8: a repeat by the same caller gets the first answer, nobody else",
		Hunks:   []Hunk{{keyedFile, `"skein call\x00" + caller + "\x00" + call.Key`, `"skein call\x00" + call.Key`}},
		Package: apiDir, Test: "TestKeys",
	},
	{
		Name: "key-of-any-request", Breaks: "§8: the same key with another request is id_conflict",
		Hunks:   []Hunk{{keyedFile, "case kept.Request != mine.Request:", "case kept.Request == [32]byte{}:"}},
		Package: apiDir, Test: "TestRepeatedWithAKey",
	},
	{
		Name: "keyed-call-ends-with-its-caller", Breaks: "§8: it is carried out also when its caller is gone",
		Hunks:   []Hunk{{keyedFile, "\tctx = context.WithoutCancel(ctx)\n", ""}},
		Package: apiDir, Test: "TestKeyedCallerLeavesEarly|TestKeyedCallUnderWay",
	},
	{
		Name: "refusal-keeps-the-key", Breaks: "§8: a refusal of the fix range frees the key",
		Hunks:   []Hunk{{keyedFile, "\t\tif nothingDone(err) {", "\t\tif nothingDone(err) && r.Repeat != wire.RepeatKey {"}},
		Package: apiDir, Test: "TestKeys",
	},
	{
		Name: "second-group-of-a-key", Breaks: "§8: carried out again it makes no second group",
		Hunks:   []Hunk{{keyedFile, `if sent != "" || k == nil {`, `if sent != "" || k != nil {`}},
		Package: apiDir, Test: "TestKeyedCallOfAServerThatDied",
	},
	{
		Name: "answers-sealed-with-nothing", Breaks: "§8: who has what is kept, but not the key, learns nothing",
		Hunks:   []Hunk{{keyedFile, "hmac.New(sha256.New, []byte(k.key))", "hmac.New(sha256.New, nil)"}},
		Package: apiDir, Test: "TestKeptAnswersAreSealed",
	},
	{
		Name: "strangers-in-each-others-way", Breaks: "§8: a key that another stranger chose, or guessed, is in nobody's way",
		Hunks:   []Hunk{{keyedFile, "\tif caller == \"\" {\n\t\t// Strangers", "\tif caller == \"-\" {\n\t\t// Strangers"}},
		Package: apiDir, Test: "TestStrangersKeys",
	},
	{
		Name: "id-made-of-a-password", Breaks: "§8: what everybody sees tells nothing of a request",
		Hunks:   []Hunk{{keyedFile, "&keyed{id: id,", "&keyed{id: mine.ID,"}},
		Package: apiDir, Test: "TestIDsTellNoPassword",
	},
	{
		Name: "key-tells-of-a-registration", Breaks: "§8: who guessed a key of a registration is told what everybody is",
		Hunks:   []Hunk{{"internal/account/login.go", "if im.CodeOf(err) == im.CodeBadCredentials { // somebody else", "if im.CodeOf(err) == im.CodeInternal { // somebody else"}},
		Package: apiDir, Test: "TestStrangersKeys",
	},
	{
		Name: "call-under-way-begun-by-two", Breaks: "§8: while the first is under way nobody else carries it out",
		Hunks:   []Hunk{{keyedStore, "AND answer IS NULL AND held <= $4", "AND answer IS NULL AND (held <= $4 OR held > 0)"}},
		Package: sqliteDir, Test: keysInStores,
	},
	{
		Name: "late-holder-answers", Breaks: "§8: who was too slow changes nothing of what the next one does",
		Hunks:   []Hunk{{keyedStore, "held = 0 WHERE id = $1 AND held = $2", "held = 0 WHERE id = $1 AND (held = $2 OR held > 0)"}},
		Package: sqliteDir, Test: keysInStores,
	},
	{
		Name: "keys-for-ever", Breaks: "§8: a key is kept for 24 hours",
		Hunks:   []Hunk{{keyedStore, "WHERE id = $1 AND begun < $2", "WHERE id = $1 AND begun < $2 - 1000000000"}},
		Package: sqliteDir, Test: keysInStores,
	},
	{
		Name: "keys-without-bound", Breaks: "§8: of a user the newest 1,000 are kept, whoever else calls",
		Hunks:   []Hunk{{keyedStore, "k.all%tidyKeyed == 0, (n+1)%tidyKeyed == 0", "k.all%tidyKeyed == 0, k.all%tidyKeyed == 0"}},
		Package: sqliteDir, Test: keysInStores,
	},
	{
		Name: "sdk-another-key-each-time", Breaks: "§8: a repeat has the key of the first",
		Hunks:   []Hunk{{sdkCall, "IdempotencyKey: t.key}", "IdempotencyKey: NewKey()}"}},
		Package: "sdk/go", Test: "TestAnswerLost",
	},
	{
		Name: "sdk-repeats-without-keys", Breaks: "§8: a server that takes no keys is not asked again for what changes something",
		Hunks:   []Hunk{{sdkCall, "case !t.safe && !t.keyed:", "case !t.safe && t.key == \"\":"}},
		Package: "sdk/go", Test: "TestAnswerLostWithoutKeys",
	},
	{
		Name: "sdk-repeats-at-an-older-server", Breaks: "§8: nor is one that came in the place of one that takes keys",
		Hunks:   []Hunk{{sdkCall, "case t.sent && !t.safe && !keeps:", "case t.sent && !t.safe && t.key == \"\":"}},
		Package: "sdk/go", Test: "TestAnswerLostWithoutKeys",
	},
	{
		Name: "unknown-content-is-kept", Breaks: "§1.4: unknown fields in a content are neither kept nor delivered",
		Hunks:   []Hunk{{"internal/entrycodec/entrycodec.go", "\t\tm.SetUnknown(nil)\n", "\t\tm.SetUnknown(m.GetUnknown())\n"}},
		Package: "internal/entrycodec", Test: "TestUnknownInContent",
	},
	{
		Name: "go-away-ends-early", Breaks: "§3.8: after GoAway everything goes on for as long as it says",
		Hunks:   []Hunk{{gatewayDir + "/drain.go", "\tt := s.g.wheel.Ticks(goAwayRetry)\n", "\tt := s.g.wheel.Ticks(goAwayRetry / 2)\n"}},
		Package: gatewayDir, Test: "TestDrainTakesItsTime",
	},
	{
		Name: "wheel-is-early", Breaks: "§3.8: for as long as it says, wherever between two ticks it came",
		Hunks:   []Hunk{{gatewayDir + "/here/wheel.go", "min(max(ticks, 1), wheelSlots-2) + 1", "min(max(ticks, 1), wheelSlots-2)"}},
		Package: gatewayDir, Test: "TestDrainTakesItsTime",
	},
}
