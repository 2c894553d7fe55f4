package main

const (
	secondFile   = accountDir + "/secondfactor.go"
	secondStore  = directoryDir + "/secondfactor.go"
	registration = directoryDir + "/registration.go"
)

// secondFactors are bugs of second factors, and of links to accounts.
var secondFactors = []Mutant{
	{
		Name: "login-without-the-code", Breaks: "3.11: from then on a login needs a code",
		Hunks:   []Hunk{{accountDir + "/login.go", "		if user.SecondFactor {", "		if user.SecondFactor && user.Role != im.ServerUser {"}},
		Package: accountDir, Test: "TestSecondStep",
	},
	{
		Name: "code-good-twice", Breaks: "3.11: a code is good once",
		Hunks:   []Hunk{{secondStore, "AND active AND last_step < $2", "AND active AND last_step <= $2"}, {accountDir + "/totp.go", "&& step > last {", "&& step >= last {"}},
		Package: accountDir, Test: "TestSecondStep",
	},
	{
		Name: "code-good-twice-at-once", Breaks: "3.11: a code is good once",
		Hunks:   []Hunk{{secondStore, "AND active AND last_step < $2", "AND active AND last_step <= $2"}},
		Package: accountDir, Test: "TestSecondStepRaced",
	},
	{
		Name: "recovery-code-of-anybody", Breaks: "3.11: recovery codes are the user's",
		Hunks:   []Hunk{{secondFile, `"skein recovery code\x00" + string(user) + "\x00" + code`, `"skein recovery code\x00" + code`}, {secondStore, "DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2", "DELETE FROM recovery_codes WHERE user_id = COALESCE(user_id, $1) AND hash = $2"}},
		Package: accountDir, Test: "TestRecoveryCodes",
	},
	{
		Name: "ticket-of-an-old-password", Breaks: "3.11: a changed password ends a login that waits for its code",
		Hunks:   []Hunk{{secondFile, "opening.IfPasswordHash, opening.Second, opening.Ticket, opening.Act = ticket.Bound,", "opening.IfPasswordHash, opening.Second, opening.Ticket, opening.Act = \"\","}},
		Package: accountDir, Test: "TestSecondStepOfAnOldPassword",
	},
	{
		Name: "ticket-of-many-tries", Breaks: "3.11: a ticket is good for 5 tries",
		Hunks:   []Hunk{{secondStore, "UPDATE tickets SET tries = tries - 1 WHERE", "UPDATE tickets SET tries = tries WHERE"}},
		Package: accountDir, Test: "TestCodesAreNotGuessed",
	},
	{
		Name: "codes-from-many-addresses", Breaks: "3.11: who has the password gets few tries at codes",
		Hunks:   []Hunk{{accountDir + "/throttle.go", "k.count == countUser && strings.HasPrefix(k.user, codesOf)", "k.count == countAddress && strings.HasPrefix(k.user, codesOf)"}},
		Package: accountDir, Test: "TestCodesAreNotGuessed",
	},
	{
		Name: "disabled-without-a-code", Breaks: "3.11: DisableTotp needs a code",
		Hunks:   []Hunk{{secondFile, "	if step == 0 {\n		return im.SecondStep{}, im.Errorf(im.CodeBadCredentials, \"the code is wrong or was used\")", "	if step == 0 && factor.Step == 0 {\n		return im.SecondStep{}, im.Errorf(im.CodeBadCredentials, \"the code is wrong or was used\")"}, {secondStore, "		if err := useStep(tx, user, &step); err != nil {\n			return err\n		}\n		if change", "		_ = useStep(tx, user, &step)\n		if change"}},
		Package: accountDir, Test: "TestDisableTOTP",
	},
	{
		Name: "invitation-used-by-many", Breaks: "3.12: a link for one lets one in",
		Hunks:   []Hunk{{registration, "UPDATE registration_links SET uses = uses + 1 WHERE hash = $1 AND expires_at > $2 AND (max_uses = 0 OR uses < max_uses)", "UPDATE registration_links SET uses = uses + 1 WHERE hash = $1 AND expires_at > $2"}},
		Package: accountDir, Test: "TestLastInvitationRaced",
	},
	{
		Name: "reset-keeps-sessions", Breaks: "3.12: ResetPassword ends all sessions",
		Hunks:   []Hunk{{secondStore, "endSessions(tx, t.User, \"\", \"\", at)", "endSessions(tx, t.User, \"none\", \"\", at)"}},
		Package: accountDir, Test: "TestResetPassword",
	},
	{
		Name: "reset-link-good-twice", Breaks: "3.12: a reset link is good once",
		Hunks:   []Hunk{{secondStore, "			return im.Errorf(im.CodeNotFound, \"the link was used\")", "			_ = n"}, {secondStore, "\"DELETE FROM tickets WHERE user_id = $1\", t.User", "\"DELETE FROM tickets WHERE user_id = $1 AND kind = 1\", t.User"}, {secondStore, "DELETE FROM tickets WHERE hash = $1 AND kind = $2 AND user_id = $3", "DELETE FROM tickets WHERE hash = $1 AND kind <> $2 AND user_id = $3"}},
		Package: accountDir, Test: "TestResetLinks",
	},
}
