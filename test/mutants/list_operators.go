package main

const (
	storeKeysFile = appDir + "/keys.go"
	mediaPlaces   = appDir + "/media.go"
	storeCheck    = "internal/journal/pebble/check.go"
	storeOpen     = "internal/journal/pebble/journal.go"
)

// operators are bugs in what keeps an operator from losing what is stored, and of how the
// committer and the settler take turns, and of marks between two times.
var operators = []Mutant{
	{
		Name: "any-keys-are-taken", Breaks: "operations: other keys than the store was used with are refused",
		Hunks:   []Hunk{{storeKeysFile, "if k.others() && !accept {", "if k.others() && !accept && k.app == nil {"}},
		Package: appDir, Test: "TestOtherKeysAreADecision",
	},
	{
		Name: "push-key-of-others-is-no-sign", Breaks: "operations: a push key that cannot be opened is never replaced",
		Hunks:   []Hunk{{storeKeysFile, "return k.pushErr != nil || k.missing && k.Sealed.Factors > 0", "return k.missing && k.Sealed.Factors > 0"}},
		Package: appDir, Test: "TestOtherKeysAreADecision",
	},
	{
		Name: "missing-key-is-made-anew", Breaks: "operations: a start without the key that the store was used with is refused",
		Hunks:   []Hunk{{storeKeysFile, `return k.Noted != "" && k.Noted != keyCheck(k.key)`, `return k.Noted != "" && k.Noted != keyCheck(k.key) && !k.missing`}},
		Package: appDir, Test: "TestOtherKeysAreADecision",
	},
	{
		Name: "new-keys-at-each-start", Breaks: "operations: --new-keys costs something once",
		Hunks:   []Hunk{{storeKeysFile, `begun := k.others() ||`, `begun := accept || k.others() ||`}},
		Package: appDir, Test: "TestOtherKeysAreADecision",
	},
	{
		Name: "unmounted-disk-is-an-empty-one", Breaks: "operations: a media directory that is empty, and named by the store, is refused",
		Hunks:   []Hunk{{mediaPlaces, "\tif !begun {\n", "\tif !begun && place == \"\" {\n"}},
		Package: appDir, Test: "TestMediaOfAnUnmountedDisk",
	},
	{
		Name: "loss-that-is-no-loss", Breaks: "operations: what a disk or its rights refuse is no loss, nothing is set aside",
		Hunks:   []Hunk{{storeCheck, "case errors.As(err, &errno) && !oserror.IsNotExist(err):", "case errors.As(err, &errno) && oserror.IsNotExist(err):"}},
		Package: "internal/journal/pebble", Test: "TestRightsAreNoLoss",
	},
	{
		Name: "accepted-loss-is-refused-again", Breaks: "operations: the start after an accepted loss is not refused",
		Hunks:   []Hunk{{storeOpen, "\tif f.damaged {\n\t\t// A flush begins", "\tif f.damaged && f.unreadable {\n\t\t// A flush begins"}},
		Package: "internal/journal/pebble", Test: "TestRefusedStartChangesNothing|TestAcceptedLossKeepsFiles",
	},
	{
		Name: "unreadable-store-stays", Breaks: "operations: a loss that a refusal offers to accept is accepted",
		Hunks:   []Hunk{{storeOpen, "\t\tif f.unreadable {\n", "\t\tif f.unreadable && f.damaged {\n"}},
		Package: "internal/journal/pebble", Test: "TestRefusedStartChangesNothing|TestAcceptedLossKeepsFiles",
	},
	{
		Name: "few-do-not-wait-for-the-settler", Breaks: "while few messages wait, the next batch is taken when the last one is delivered",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "if s.handed == s.answered.Load() || s.queue.crowded() {", "if s.handed == s.answered.Load() || s.queue.crowded() || s.queue.max > 0 {"}},
		Package: messagingDir, Test: "TestFewWaitForTheSettler",
	},
	{
		Name: "many-wait-for-the-settler", Breaks: "where many wait, the next batch is stored while the last one is delivered",
		Hunks:   []Hunk{{messagingDir + "/queue.go", "if len(q.items) == manyWaiting {", "if len(q.items) == 2*manyWaiting {"}},
		Package: messagingDir, Test: "TestFewWaitForTheSettler",
	},
	{
		Name: "count-between-two-times", Breaks: "6.3: a mark between two times of membership says nothing of what is hidden behind it",
		Hunks:   []Hunk{{"sdk/go/marks.go", "f.ReadCount > 0 && !r.amidTimes(f.Read) {", "f.ReadCount > 0 {"}},
		Package: "sdk/go", Test: "TestReadMarksAcrossTimes",
	},
}
