package main

// roles are bugs of what users may do to the deployment, of bans, and of the audit log.
var roles = []Mutant{
	{
		Name: "moderators-read-the-audit-log", Breaks: "3.20: ListAuditLog tells it to auditors, admins and owners",
		Hunks:   []Hunk{{"internal/api/api.go", "w >= Staff && r >= w.least() && (w != Auditors || r != im.ServerModerator)", "w >= Staff && r >= w.least()"}},
		Package: "internal/api", Test: "TestRoleMatrix",
	},
	{
		Name: "equals-act-on-each-other", Breaks: "3.18: nobody acts on who has no lesser role",
		Hunks:   []Hunk{{"internal/im/server_role.go", "if r > other || r == ServerOwner {", "if r >= other || r == ServerOwner {"}},
		Package: "internal/api", Test: "TestRolesActOnLesserRoles",
	},
	{
		Name: "role-of-the-handshake", Breaks: "3.18: a role counts until it is taken, for open connections as well",
		Hunks:   []Hunk{{"internal/api/api.go", "	actor.Role = u.Role\n", "	actor.Role = max(actor.Role, u.Role)\n"}},
		Package: "internal/api", Test: "TestRoleOfAConnection",
	},
	{
		Name: "banned-and-still-in", Breaks: "3.19: all sessions end, and no token is good",
		Hunks:   []Hunk{{accountDir + "/authenticate.go", "	case state.Barred.At(s.o.Now()) != nil:\n", "	case state.Barred.At(s.o.Now()) != nil && state.Ended.IsZero():\n"}},
		Package: accountDir, Test: "TestBan",
	},
	{
		Name: "banned-sockets-stay", Breaks: "3.19: connections end with banned",
		Hunks:   []Hunk{{accountDir + "/barred.go", "if why := u.Barred.At(c.At); why != nil {", "if why := u.Barred.At(c.At); false {"}},
		Package: accountDir, Test: "TestBan",
	},
	{
		Name: "act-without-a-line", Breaks: "3.20: where no line can be written nothing is done",
		Hunks:   []Hunk{{"internal/api/audit.go", "		if err != nil { // written or not", "		if err != nil && act.Action == \"\" { // written or not"}},
		Package: "internal/api", Test: "TestNoActWithoutALine",
	},
	{
		Name: "secrets-in-the-audit-log", Breaks: "3.20: without secrets",
		Hunks:   []Hunk{{"internal/api/audit.go", "case slices.Contains(secretFields, f.Name()):", "case slices.Contains(secretFields[1:], f.Name()):"}},
		Package: "internal/api", Test: "TestEveryActHasItsLine",
	},
	{
		Name: "registration-as-configured", Breaks: "3.23: it counts at once, on all nodes",
		Hunks:   []Hunk{{accountDir + "/settings.go", "	if info.Registration == 0 {", "	if info.Registration >= 0 {"}},
		Package: accountDir, Test: "TestRegistrationAtRunTime",
	},
}
