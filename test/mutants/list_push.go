package main

// pushes are bugs of the waking of devices (SPEC §14).
var pushes = []Mutant{
	{
		Name: "wakes-who-received", Breaks: "nobody is woken for what one of their devices received",
		Hunks:   []Hunk{{"internal/push/handle.go", "m.seq <= max(marks[i].Received, marks[i].Read) ||", "m.seq <= marks[i].Read ||"}, {"internal/push/work.go", "max(w.First, w.Shown+1, m.Received+1, m.Read+1)", "max(w.First, w.Shown+1, m.Read+1)"}},
		Package: "internal/push", Test: "TestWakesNobody",
	},
	{
		Name: "wakes-for-blocked", Breaks: "nobody is woken by a user whom they blocked",
		Hunks:   []Hunk{{"internal/push/work.go", "		case names.Blocked:\n", "		case names.Blocked && w.Tries > 99:\n"}},
		Package: "internal/push", Test: "TestWakesNobody",
	},
	{
		Name: "notification-stays", Breaks: "what was read elsewhere is taken away",
		Hunks:   []Hunk{{"internal/push/work.go", "over := m.Read >= w.Shown", "over := m.Read > w.Shown+1000"}},
		Package: "internal/push", Test: "TestTakenAway",
	},
	{
		Name: "hidden-text-is-told", Breaks: "who wants no text is told none",
		Hunks:   []Hunk{{"internal/push/payload.go", "if !w.Settings.HideText {", "if !w.Settings.HideText || t.more == 0 {"}},
		Package: "internal/push", Test: "TestHidesText",
	},
	{
		Name: "redirect-is-followed", Breaks: "a push service leads the server nowhere else",
		Hunks:   []Hunk{{"internal/push/send.go", "		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },\n", ""}},
		Package: "internal/push", Test: "TestConnectsToNobodyElse",
	},
	{
		Name: "pushes-to-this-machine", Breaks: "nothing but public addresses is connected to",
		Hunks:   []Hunk{{"internal/push/send.go", "Control: j.Control}", "Control: nil}"}},
		Package: "internal/push", Test: "TestConnectsToNobodyElse",
	},
	{
		Name: "two-nodes-push-the-same", Breaks: "what one node works on no other one gets",
		Hunks:   []Hunk{{"internal/directory/push.go", "WHERE due_at <= $1 AND held_until <= $1 ORDER BY due_at LIMIT $3)\n			AND due_at <= $1 AND held_until <= $1 RETURNING", "WHERE due_at <= $1 ORDER BY due_at LIMIT $3)\n			AND due_at <= $1 RETURNING"}},
		Package: "internal/push", Test: "TestTwoNodes",
	},
	{
		Name: "one-damaged-mark-stops-all-pushes", Breaks: "what is damaged of one user keeps nobody else from being woken",
		Hunks:   []Hunk{{"internal/push/work.go", "	err := im.Apart(0, len(keys), func(from, until int) error {\n		return s.o.Marks.Marks(ctx, keys[from:until], read[from:until], recent)\n	}, func(i int, _ error) { all[i] = nil })\n", "	err := s.o.Marks.Marks(ctx, keys, read, recent)\n"}},
		Package: "internal/push", Test: "TestDamagedStopsNobodyElse",
	},
	{
		Name: "silent-service-keeps-all-places", Breaks: "a push service that does not answer keeps the devices of others waiting no longer",
		Hunks:   []Hunk{{"internal/push/services.go", "	a.silent = now.Add(silentTime)\n", ""}},
		Package: "internal/push", Test: "TestSilentServiceLeavesPlaces",
	},
	{
		Name: "claimed-is-lost", Breaks: "what a killed node held is done by the next one",
		Hunks:   []Hunk{{"internal/directory/push.go", "UPDATE push_jobs SET held_until = $2 WHERE", "UPDATE push_jobs SET held_until = $2 + 999999999 WHERE"}},
		Package: "internal/push", Test: "TestKilledBetweenSteps",
	},
}
