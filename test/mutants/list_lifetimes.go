package main

// lifetimes are bugs in what disappears.
var lifetimes = []Mutant{
	{
		Name: "period-remembered-as-shorter", Breaks: "4.27: what is gone of a period is looked for again when its end moved on",
		Hunks:   []Hunk{{"internal/messaging/lifetimes.go", "now.Before(known.next) && known.until == p.Until", "now.Before(known.next)"}},
		Package: "internal/messaging", Test: "TestPeriodThatEndsLater",
	},
	{
		Name: "a-change-that-was-changed-stays", Breaks: "4.27: the entry of a period without entries goes with the period before it",
		Hunks:   []Hunk{{"sdk/go/perish.go", "		case e.Seq - 2:", "		case e.Seq - 1:"}},
		Package: "sdk/go", Test: "TestChangedAgainAtOnce",
	},
	{
		Name: "the-last-gone-one-is-told", Breaks: "4.27: what is gone is nobody's to read: its end",
		Hunks:   []Hunk{{"internal/messaging/lifetimes.go", "w.First = g.Until + 1", "w.First = g.Until"}},
		Package: "internal/messaging", Test: "TestGoneIsBetweenWindows",
	},
	{
		Name: "the-first-gone-one-is-told", Breaks: "4.27: what is gone is nobody's to read: its beginning",
		Hunks:   []Hunk{{"internal/messaging/lifetimes.go", "Until: g.First - 1}", "Until: g.First}"}},
		Package: "internal/messaging", Test: "TestGoneIsBetweenWindows",
	},
	{
		Name: "gone-a-step-later", Breaks: "4.27: an entry is gone as soon as its time and the lifetime are over",
		Hunks:   []Hunk{{"internal/messaging/lifetimes.go", "out.to = from - 1", "out.to = max(from, to+2) - 2"}},
		Package: "internal/messaging", Test: "TestGoneIsBetweenWindows",
	},
	{
		Name: "gone-recalls-are-not-told", Breaks: "4.27: what a gone entry made of an earlier message stays, and is told",
		Hunks:   []Hunk{{"internal/messaging/windows.go", "r.between(ctx, r.out.First, w.Until)", "r.between(ctx, w.First, w.Until)"}},
		Package: "internal/messaging", Test: "TestAwayForLongerThanTheLifetime",
	},
	{
		Name: "no-last-one-before-what-is-gone", Breaks: "4.27: where the last entries are gone, the list has the last one of earlier",
		Hunks:   []Hunk{{"internal/messaging/windows.go", "first > until && n > 0 { // the end is gone", "first > until && n > 9 {"}},
		Package: "internal/messaging", Test: "TestAwayForLongerThanTheLifetime",
	},
	{
		Name: "lifetimes-are-not-told", Breaks: "4.27: lifetimes tells the periods that are not over",
		Hunks:   []Hunk{{"internal/messaging/sync.go", ", Lifetimes: v.living,", ","}},
		Package: "internal/messaging", Test: "TestAwayForLongerThanTheLifetime",
	},
	{
		Name: "gone-ones-are-amended", Breaks: "4.27: all that names what is gone is not_found",
		Hunks:   []Hunk{{"internal/messaging/amend.go", "err != nil || gone {", "err != nil || gone && false {"}},
		Package: "internal/messaging", Test: "TestGoneIsNotFound",
	},
	{
		Name: "a-sync-tells-old-periods", Breaks: "a sync asks for the periods as they are, of all its conversations at once",
		Hunks:   []Hunk{{"internal/messaging/sync.go", "return views, told, s.knowViews(ctx, views)", "return views, told, nil"}},
		Package: "internal/messaging", Test: "TestPeriodsAreAskedForSeldom",
	},
	{
		Name: "the-same-lifetime-again", Breaks: "4.27: what is so already makes no entry",
		Hunks:   []Hunk{{"internal/im/lifetime.go", "if LifetimeOf(all) == to {", "if len(all) < 0 {"}},
		Package: "internal/directory/sqlite", Test: "TestConformance/People/Lifetimes",
	},
	{
		Name: "members-set-the-lifetime", Breaks: "4.27: in a group the owner and the admins set the lifetime",
		Hunks:   []Hunk{{"internal/group/lifetime.go", "im.GroupLifetime, im.RoleNone", "im.GroupRead, im.RoleNone"}},
		Package: "internal/group", Test: "TestPermissions",
	},
	{
		Name: "given-up-too-soon", Breaks: "4.27: what is gone is given up when it was gone for a while, as other clocks see it",
		Hunks:   []Hunk{{"internal/messaging/giveup.go", "s.lookGone(ctx, c, p, to, now.Add(-goneFor))", "s.lookGone(ctx, c, p, to, now)"}},
		Package: "internal/messaging", Test: "TestGoneIsGivenUp",
	},
	{
		Name: "gone-stays-in-the-store", Breaks: "4.27: the store gives up what is gone",
		Hunks:   []Hunk{{"internal/messaging/giveup.go", "	if last > after {", "	if last > after && needed(last) {"}, {"internal/messaging/giveup.go", "// givePage gives up", "func needed(seq uint64) bool { return seq > 1<<40 }\n\n// givePage gives up"}},
		Package: "internal/messaging", Test: "TestGoneIsGivenUp",
	},
	{
		Name: "gone-before-its-period-is-known", Breaks: "4.27: what is behind the entry that ends a period is not of that period",
		Hunks:   []Hunk{{"internal/messaging/giveup.go", "p.Event.Type == im.EventLifetimeChanged }) {", "p.Event.Type == 0 }) {"}},
		Package: "internal/messaging", Test: "TestNothingIsGivenUpBeforeItsPeriodIsKnown",
	},
	{
		Name: "buckets-are-given-up", Breaks: "4.27: who reacted to a message that stays, or voted in it, goes with the message",
		Hunks:   []Hunk{{"internal/messaging/giveup.go", "if err == nil && needed {", "if err == nil && needed && e.Seq == 0 {"}},
		Package: "internal/messaging", Test: "TestReactionsStayWithTheirMessage",
	},
	{
		Name: "buckets-stay-for-ever", Breaks: "4.27: who reacted to a message, or voted in it, goes with the message",
		Hunks:   []Hunk{{"internal/messaging/giveup.go", "if e.Amended == 0 || len(e.Body) == 0 {", "if e.Amended != 0 || len(e.Body) == 0 {"}},
		Package: "internal/messaging", Test: "TestReactionsStayWithTheirMessage",
	},
	{
		Name: "periods-that-are-gone-come-back", Breaks: "4.27: a period that is gone and one with others stays gone",
		Hunks:   []Hunk{{"internal/messaging/lifetimes.go", "		if p.Gone {", "		if p.Gone && p.After == 0 {"}},
		Package: "internal/messaging", Test: "TestGoneIsGivenUp",
	},
	{
		Name: "a-shorter-period-waits-for-a-longer-one", Breaks: "4.27: a conversation is looked at as its shortest lifetime asks for",
		Hunks:   []Hunk{{"internal/directory/lifetimes.go", "CASE WHEN timers.at < excluded.at THEN", "CASE WHEN timers.at > excluded.at THEN"}},
		Package: "internal/directory/sqlite", Test: "TestConformance/People/Lifetimes",
	},
	{
		Name: "closed-before-it-asked-what-is-left", Breaks: "what is gone is not unread, also on a device that was closed before it had asked what is left",
		Hunks:   []Hunk{{"sdk/go/core.go", "\tk.lookAgain()\n", "\tk.lookForGone()\n"}},
		Package: "sdk/go", Test: "TestClosedBeforeItAskedWhatIsLeft",
	},
	{
		Name: "sdk-what-disappeared-stays-unread", Breaks: "4.27: a device takes away what is gone, and does not count it",
		Hunks:   []Hunk{{"sdk/go/perish.go", "\tsure := cv.rec.recall(e.Seq)\n", "\tsure := true\n"}},
		Package: "sdk/go", Test: "TestWhatDisappearsAgreesWithTheServer",
	},
	{
		Name: "sdk-disappears-by-the-devices-clock", Breaks: "4.27: messages disappear by the server's clock",
		Hunks:   []Hunk{{"sdk/go/perish.go", "k.o.now().Add(k.ahead).UnixMilli()", "k.o.now().UnixMilli()"}},
		Package: "sdk/go", Test: "TestDisappearsByTheServersClock",
	},
}
