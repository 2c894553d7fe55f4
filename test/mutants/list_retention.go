package main

// retention are bugs in how long messages are kept.
var retention = []Mutant{
	{
		Name: "the-floor-hides-nothing", Breaks: "4.33: what lies up to the floor is nobody's to read",
		Hunks:   []Hunk{{"internal/messaging/lifetimes.go", "im.Window{First: 1, Until: l.floor}", "im.Window{First: 1, Until: l.floor - 1}"}},
		Package: "internal/messaging", Test: "TestBelowTheFloorIsNobodys",
	},
	{
		Name: "the-floor-is-not-told", Breaks: "4.33: ConversationState.floor",
		Hunks:   []Hunk{{"internal/messaging/sync.go", ", Floor: v.floor,", ","}},
		Package: "internal/messaging", Test: "TestBelowTheFloorIsNobodys",
	},
	{
		Name: "periods-below-the-floor-are-told", Breaks: "4.33: a period of which all is below the floor is over",
		Hunks:   []Hunk{{"internal/messaging/lifetimes.go", "p.Until != 0 && p.Until <= l.floor {", "p.Until != 0 && p.Until < l.floor {"}},
		Package: "internal/messaging", Test: "TestPeriodsBelowTheFloorAreOver",
	},
	{
		Name: "a-raised-floor-is-not-noticed", Breaks: "4.33: the node that moves a floor knows it at once",
		Hunks:   []Hunk{{"internal/messaging/retention.go", "s.lifetimes.periods.Delete(f.Conversation)", "_ = f"}},
		Package: "internal/messaging", Test: "TestBelowTheFloorIsNobodys",
	},
	{
		Name: "given-up-before-it-is-known", Breaks: "the journal gives up what is below a floor when every node knows the floor",
		Hunks:   []Hunk{{"internal/messaging/retention.go", "at := r.Raised.Add(floorTold); at.After(now)", "at := r.Raised.Add(floorTold); at.After(now.Add(time.Second))"}},
		Package: "internal/messaging", Test: "TestBelowTheFloorIsGivenUp",
	},
	{
		Name: "own-times-are-looked-at-once", Breaks: "4.33: a conversation with a time of its own is looked at again",
		Hunks:   []Hunk{{"internal/messaging/retention.go", "	case !r.Own:\n", "	case r.Own:\n"}},
		Package: "internal/messaging", Test: "TestATimeOfItsOwn",
	},
	{
		Name: "own-times-do-not-count", Breaks: "4.33: a conversation with a time of its own is left alone by the deployment's",
		Hunks:   []Hunk{{"internal/later/retention.go", "return own[f.Conversation] }", "return own[f.Conversation] && false }"}},
		Package: "internal/later", Test: "TestWhatIsOldLeaves",
	},
	{
		Name: "feeds-have-floors", Breaks: "4.33: me feeds have no floor",
		Hunks:   []Hunk{{"internal/later/retention.go", "e.Conversation.Kind() == im.KindMe", "e.Conversation.Kind() == im.KindMe && e.Seq > 9"}},
		Package: "internal/later", Test: "TestWhatIsOldLeaves",
	},
	{
		Name: "retention-goes-on-before-it-gave-up", Breaks: "how far retention is, is noted behind what was given up",
		Hunks:   []Hunk{{"internal/later/retention.go", "	if err := s.o.Raise(ctx, floors); err != nil {", "	_ = s.moved(ctx, reached)\n	if err := s.o.Raise(ctx, floors); err != nil {"}},
		Package: "internal/later", Test: "TestRetentionDiesAtEachStep",
	},
	{
		Name: "a-floor-goes-back", Breaks: "4.33: the floor never goes back",
		Hunks:   []Hunk{{"internal/directory/retention.go", " WHERE retention.floor_seq < excluded.floor_seq", ""}},
		Package: "internal/directory/sqlite", Test: "TestConformance/People/Retention",
	},
	{
		Name: "a-floor-that-rises-is-not-told", Breaks: "4.33: a floor is told when it moves",
		Hunks:   []Hunk{{"internal/messaging/retention.go", "	s.deliverer.Floors(floors)\n", ""}},
		Package: "internal/messaging", Test: "TestFloorsAreTold",
	},
	{
		Name: "a-floor-is-told-once", Breaks: "4.33: a floor is told once more when the store gives up what lies there",
		Hunks:   []Hunk{{"internal/messaging/retention.go", "		s.deliverer.Floors([]im.Floor{{Conversation: c, Seq: floor, Count: count}})", "		_ = count"}},
		Package: "internal/messaging", Test: "TestFloorsAreTold",
	},
	{
		Name: "a-resume-tells-no-floors", Breaks: "4.33: a resume tells the conversations whose floors have moved",
		Hunks:   []Hunk{{"internal/messaging/retention.go", "r.Told >= since.At(s.shard(c))", "r.Told > 1<<62"}},
		Package: "internal/messaging", Test: "TestResumeTellsFloors",
	},
	{
		Name: "groups-hear-of-no-floor", Breaks: "4.33: all members that are connected are told of a floor",
		Hunks:   []Hunk{{"internal/gateway/deliver.go", "			grp.Send(g.out, floorFrame(p.Floor), \"\")", "			_ = floorFrame(p.Floor)"}},
		Package: "internal/gateway", Test: "TestFloorsReachTheMembers",
	},
	{
		Name: "the-sdk-counts-what-lies-behind-the-floor", Breaks: "4.33: what is hidden right behind the floor is not unread",
		Hunks:   []Hunk{{"sdk/go/floor.go", "at.count+behind", "at.count+0*behind"}},
		Package: "sdk/go", Test: "TestFloorRises",
	},
	{
		Name: "the-sdk-believes-an-old-floor", Breaks: "4.33: a state with a lower floor was made before",
		Hunks:   []Hunk{{"sdk/go/floor.go", "	case seq < cv.floor.seq:\n		k.sink(cv)\n", ""}},
		Package: "sdk/go", Test: "TestFloorRises",
	},
	{
		Name: "the-sdk-keeps-what-is-below-the-floor", Breaks: "4.33: a client takes away what it has of what is gone for all",
		Hunks:   []Hunk{{"sdk/go/perish.go", "len(was.Lifetimes) == 0 && floor < r.Low {", "len(was.Lifetimes) == 0 {"}},
		Package: "sdk/go", Test: "TestNotKeptAnyMore",
	},
	{
		Name: "the-sdk-keeps-earlier-times-below-the-floor", Breaks: "4.33: a client takes away what it has of an earlier time of membership",
		Hunks:   []Hunk{{"sdk/go/times.go", "w.Until >= r.Low && w.Until > s.Floor && w.Until < begin", "w.Until >= r.Low && w.Until < begin"}, {"sdk/go/times.go", "First: max(w.First, s.Floor+1)", "First: w.First"}},
		Package: "sdk/go", Test: "TestNotKeptAnyMore",
	},
}
