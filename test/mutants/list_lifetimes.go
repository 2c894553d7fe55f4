package main

// lifetimes are bugs in what disappears.
var lifetimes = []Mutant{
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
		Package: "internal/directory/sqlite", Test: "TestConformance",
	},
	{
		Name: "members-set-the-lifetime", Breaks: "4.27: in a group the owner and the admins set the lifetime",
		Hunks:   []Hunk{{"internal/group/lifetime.go", "im.GroupLifetime, im.RoleNone", "im.GroupRead, im.RoleNone"}},
		Package: "internal/group", Test: "TestPermissions",
	},
}
