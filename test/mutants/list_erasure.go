package main

const (
	erasureStore = directoryDir + "/erasures.go"
	laterErasure = "internal/later/erasures.go"
)

// erasures are bugs of deleting accounts.
var erasures = []Mutant{
	{
		Name: "deleted-and-still-in", Breaks: "3.16: all sessions end",
		Hunks:   []Hunk{{accountDir + "/authenticate.go", "case state.Deleted:", "case state.Deleted && connection == \"\":"}, {accountDir + "/authenticate.go", "\tstate, err := s.store.TokenByHash(ctx, hashToken(token))", "\tconnection := token\n\tstate, err := s.store.TokenByHash(ctx, hashToken(token))"}},
		Package: "internal/api", Test: "TestDeletedAccount",
	},
	{
		Name: "deleted-comes-back-by-a-minted-token", Breaks: "3.16: nobody comes in any more",
		Hunks:   []Hunk{{directoryDir + "/users.go", "		return mayComeIn(tx, c.ID, c.Created)", "		return nil"}},
		Package: directoryDir + "/sqlite", Test: "TestConformance/Accounts/Erasure$",
	},
	{
		Name: "last-owner-deleted", Breaks: "3.16, 3.18: the last owner is not deleted",
		Hunks:   []Hunk{{directoryDir + "/server_roles.go", "if err == nil && others == 0 {", "if err == nil && others < 0 {"}},
		Package: directoryDir + "/sqlite", Test: "TestConformance/Accounts/Erasure$",
	},
	{
		Name: "deleted-name-is-free", Breaks: "3.16: the username can be taken by nobody for 30 days",
		Hunks:   []Hunk{{directoryDir + "/users.go", "	if err := nameIsFree(tx, c.Username, c.Created); err != nil {", "	if err := nameIsFree(tx, \"\", c.Created); err != nil {"}},
		Package: directoryDir + "/sqlite", Test: "TestConformance/Accounts/Erasure$",
	},
	{
		Name: "deleted-profile-comes-back", Breaks: "3.16: the profile is gone, whoever writes it meanwhile",
		Hunks:   []Hunk{{directoryDir + "/profiles.go", "if err := notDeleted(tx, id); err != nil {", "if err := notDeleted(tx, id); err != nil && false {"}},
		Package: directoryDir + "/sqlite", Test: "TestConformance/Accounts/Erasure$",
	},
	{
		Name: "deleted-has-secrets-again", Breaks: "3.16: nothing is kept by which they come in",
		Hunks:   []Hunk{{directoryDir + "/sessions.go", "	return notDeleted(tx, id)", "	return nil"}},
		Package: directoryDir + "/sqlite", Test: "TestConformance/Accounts/Erasure$",
	},
	{
		Name: "former-names-of-deleted-are-free", Breaks: "3.15: a name is held for 90 days, also where its user is deleted",
		Hunks:   []Hunk{{erasureStore, "		if err := hold(tx, name, until); err != nil {", "		if err := hold(tx, name, until-until); err != nil {"}},
		Package: directoryDir + "/sqlite", Test: "TestConformance/Accounts/Erasure$",
	},
	{
		Name: "links-outlive-their-user", Breaks: "13.5: what they may not fetch any more a link does not give",
		Hunks:   []Hunk{{"internal/app/media.go", "len(users) == 0 || users[0].Deleted", "len(users) == 0"}},
		Package: "internal/app", Test: "TestErasureEndsLinks",
	},
	{
		Name: "codes-guessed-with-a-session", Breaks: "3.11: who tries codes gets few, wherever they come from",
		Hunks:   []Hunk{{accountDir + "/secondfactor.go", "func nothing() known { return known{} }", "func nothing() known { return known{address: true} }"}},
		Package: accountDir, Test: "TestCodesAreNotGuessedWithASession",
	},
	{
		Name: "held-name-locks-out", Breaks: "3.13: with a number behind it where that is taken",
		Hunks:   []Hunk{{accountDir + "/identity.go", "s.openByProvider(ctx, addr, p, who, f, round > 0, at)", "s.openByProvider(ctx, addr, p, who, f, round > 9, at)"}},
		Package: accountDir, Test: "TestProviderSaysAHeldName",
	},
	{
		Name: "refused-upload-stays", Breaks: "13.2: what is refused with its first bytes is no upload",
		Hunks:   []Hunk{{"internal/api/tus.go", "_ = d.o.Media.Drop(context.WithoutCancel(r.Context()), user, id)", "_ = context.WithoutCancel(r.Context())"}},
		Package: "internal/api", Test: "TestRefusedAtOnce",
	},
	{
		Name: "erased-less-than-asked", Breaks: "3.16: with messages, then or later",
		Hunks:   []Hunk{{erasureStore, "messages = TRUE, done_at = 0, step = 0, place = ''", "messages = TRUE"}},
		Package: directoryDir + "/sqlite", Test: "TestConformance/Accounts/ErasureSteps",
	},
	{
		Name: "erasure-noted-before-it-is-done", Breaks: "3.16: whatever fails meanwhile",
		Hunks:   []Hunk{{laterErasure, "		if err != nil {\n			return e, false, err\n		}\n		if next.Place = place; place == \"\" {", "		if next.Place = place; place == \"\" || err != nil {"}},
		Package: "internal/later", Test: "TestErasureThatFails",
	},
	{
		Name: "erasure-that-fails-holds-up-others", Breaks: "3.16: whatever fails meanwhile",
		Hunks:   []Hunk{{laterErasure, "			next, more, err := s.part(ctx, e)\n			if err != nil {", "			next, more, err := s.part(ctx, e)\n			if err != nil && len(due) > 1 {\n				return err\n			}\n			if err != nil {"}},
		Package: "internal/later", Test: "TestErasureThatFails",
	},
	{
		Name: "owner-deleted-group-without-owner", Breaks: "3.16: a group of theirs goes to an admin",
		Hunks:   []Hunk{{"internal/group/erase.go", "		if next == \"\" {\n			return s.Dismiss", "		if next != \"\" {\n			return s.Dismiss"}},
		Package: appDir, Test: "TestErasureOfAnAccount",
	},
	{
		Name: "recalled-words-stay-on-the-disk", Breaks: "3.16: words are erased from the store",
		Hunks:   []Hunk{{"internal/journal/pebble/amend.go", "	return a.given.note(a.b)", "	a.given = nil\n	return nil"}},
		Package: "internal/journal/pebble", Test: "TestRecallGivesRoomBack",
	},
	{
		Name: "draft-of-a-deleted-account", Breaks: "3.16: their states of conversations are emptied",
		Hunks:   []Hunk{{"internal/messaging/erase.go", "Draft: &text, ", ""}},
		Package: appDir, Test: "TestErasureOfAnAccount",
	},
	{
		Name: "deleted-pages-stay-in-the-directory", Breaks: "3.16: their name is gone",
		Hunks:   []Hunk{{directoryDir + "/sqlite/sqlite.go", "\"secure_delete(1)\",", "\"secure_delete(0)\","}},
		Package: appDir, Test: "TestErasureLeavesNothing",
	},
}
