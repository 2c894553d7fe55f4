package main

// place are planted bugs of what the deployment announces and does not allow, and of who may
// answer.
var place = []Mutant{
	{
		Name: "word-inside-words", Breaks: "3.26: a word is found as a whole",
		Hunks:   []Hunk{{"internal/filter/automaton.go", "return !(inWord(before) && inWord(first)) && ", "return (true || inWord(before) && inWord(first)) && "}},
		Package: "internal/filter", Test: "TestRules",
	},
	{
		Name: "host-that-only-ends-so", Breaks: "3.26: a link is a host and what is below it",
		Hunks:   []Hunk{{"internal/filter/automaton.go", "return !inHost(before) && ", "return (true || inHost(before)) && "}},
		Package: "internal/filter", Test: "TestRules",
	},
	{
		Name: "shorter-patterns-lost", Breaks: "3.26: all rules are found in one pass",
		Hunks:   []Hunk{{"internal/filter/automaton.go", "a.also[state] = a.also[back]", "a.also[state] = 0"}},
		Package: "internal/filter", Test: "TestShorterInsideLonger",
	},
	{
		Name: "zero-width-hides", Breaks: "3.26: characters that are not seen hide nothing",
		Hunks:   []Hunk{{"internal/filter/normal.go", "unicode.IsControl(r) || unseen(r) ||", "unicode.IsControl(r) ||"}},
		Package: "internal/filter", Test: "TestRules",
	},
	{
		Name: "filter-forgets-edits", Breaks: "3.26: edits are held to the rules",
		Hunks:   []Hunk{{"internal/messaging/send.go", "\t\ts.breaks(it)", "\t\tif m.Kind.Said() {\n\t\t\ts.breaks(it)\n\t\t}"}},
		Package: "internal/api", Test: "TestFilteredMessages",
	},
	{
		Name: "filter-decided-before-the-look", Breaks: "5.2, 3.26: a resend of what was stored before a rule is answered as ever",
		Hunks:   []Hunk{{"internal/messaging/send.go", "\t\ts.breaks(it)", "\t\tif s.breaks(it); len(it.breaks) > 0 {\n\t\t\treply(im.Ack{}, im.ErrFiltered)\n\t\t\treturn\n\t\t}"}},
		Package: "internal/api", Test: "TestFilteredMessages",
	},
	{
		Name: "announced-for-ever", Breaks: "3.25: what is over is not told",
		Hunks:   []Hunk{{"internal/im/announcement.go", "return !a.Until.IsZero() && !now.Before(a.Until)", "return false"}},
		Package: "internal/api", Test: "TestAnnouncements",
	},
	{
		Name: "answer-outlives-a-block", Breaks: "5.7: a block ends that somebody may answer",
		Hunks:   []Hunk{{"internal/contact/contact.go", "func (s *Service) Block(ctx context.Context, actor im.Actor, user im.UserID) error {\n\tif err := s.noAnswers(ctx, actor, user); err != nil {\n\t\treturn err\n\t}\n", "func (s *Service) Block(ctx context.Context, actor im.Actor, user im.UserID) error {\n"}},
		Package: "internal/api", Test: "TestAnswerToWhoWrote",
	},
	{
		Name: "answer-from-a-stale-no", Breaks: "5.7: who was written to may answer at once",
		Hunks:   []Hunk{{"internal/contact/gate.go", "	g.drop(gatePair{to: from, from: to}) // after it: both pairs may have one count\n", ""}},
		Package: "internal/api", Test: "TestAnswerToWhoWrote",
	},
	{
		Name: "noted-after-it-was-taken-back", Breaks: "5.7: what a removed contact took back is noted again by the next message",
		Hunks:   []Hunk{{"internal/contact/gate.go", "known && s.epochOf(g, k.from) == epoch", "known"}},
		Package: "internal/contact", Test: "TestGatesWrote",
	},
	{
		Name: "blocked-while-noted", Breaks: "5.7: who is blocked while it is noted that they write is refused",
		Hunks:   []Hunk{{"internal/contact/gate.go", "	_, _, err = s.look(ctx, from, to, 0) // asks the store if anything was forgotten meanwhile\n	return err", "	return nil"}},
		Package: "internal/contact", Test: "TestBlockOutrunsANote",
	},
	{
		Name: "first-message-by-old-news", Breaks: "5.7: a node without news asks the store before a first message",
		Hunks:   []Hunk{{"internal/contact/gate.go", "s.look(ctx, from, to, firstFresh)", "s.look(ctx, from, to, 0)"}},
		Package: "internal/contact", Test: "TestFirstMessageWithoutNews",
	},
	{
		Name: "first-message-asks-twice", Breaks: "a first message asks the store once, and notes once",
		Hunks:   []Hunk{{"internal/contact/gate.go", "\t\ts.until.Put(k, gateAnswer{a.until, true})\n\t\treturn\n", "\t\t_ = a\n"}},
		Package: "internal/contact", Test: "TestFirstMessageAsksOnce",
	},
	{
		Name: "refused-without-a-line", Breaks: "3.20: a call for which the role is not enough has a line",
		Hunks:   []Hunk{{"internal/api/api.go", "		c.refused(r.Method, actor, err)\n", ""}},
		Package: "internal/api", Test: "TestRefusedForTheRole",
	},
}
