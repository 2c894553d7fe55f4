package main

const (
	providerFile  = accountDir + "/provider.go"
	identityFile  = accountDir + "/identity.go"
	identityStore = directoryDir + "/identities.go"
	oidcDir       = "internal/oidc"
	oidcFile      = oidcDir + "/oidc.go"
)

// providerLogins are bugs of logins by providers.
var providerLogins = []Mutant{
	{
		Name: "state-good-twice", Breaks: "3.13: what a browser was sent away with is good for one answer",
		Hunks:   []Hunk{{identityStore, `"DELETE FROM provider_logins WHERE hash = $1 AND kind = $2 RETURNING data, expires_at"`, `"SELECT data, expires_at FROM provider_logins WHERE hash = $1 AND kind = $2"`}},
		Package: accountDir, Test: "TestProviderLoginOnce",
	},
	{
		Name: "code-without-the-verifier", Breaks: "3.13: a code without the verifier is worth nothing",
		Hunks:   []Hunk{{providerFile, "[]byte(l.Challenge)) != 1 {", "[]byte(l.Challenge)) > 1 {"}},
		Package: accountDir, Test: "TestProviderLoginOnce",
	},
	{
		Name: "state-for-ever", Breaks: "3.13: what a browser was sent away with is good for 10 minutes",
		Hunks:   []Hunk{{identityStore, "if err == nil && !now.Before(l.Expires) {", "if err == nil && l.Expires.IsZero() {"}},
		Package: accountDir, Test: "TestProviderLoginOnce",
	},
	{
		Name: "nonce-of-another-login", Breaks: "3.13: an ID token has the nonce of this login",
		Hunks:   []Hunk{{oidcFile, "[]byte(nonce)) != 1:", "[]byte(nonce)) > 1:"}},
		Package: oidcDir, Test: "TestWrongAnswers",
	},
	{
		Name: "token-for-another-client", Breaks: "3.13: an ID token is for this server",
		Hunks:   []Hunk{{oidcFile, "ClientID: c.o.ClientID, SkipExpiryCheck: true}", "SkipClientIDCheck: true, SkipExpiryCheck: true}"}},
		Package: oidcDir, Test: "TestWrongAnswers",
	},
	{
		Name: "token-of-two-clients", Breaks: "3.13: an ID token for several names this server as who it was made for",
		Hunks:   []Hunk{{oidcFile, `more.Party == "" && len(id.Audience) != 1:`, `more.Party == "" && len(id.Audience) == 0:`}},
		Package: oidcDir, Test: "TestWrongAnswers",
	},
	{
		Name: "token-out-of-time", Breaks: "3.13: an ID token's time is not over",
		Hunks:   []Hunk{{oidcFile, "case !now.Before(id.Expiry.Add(Skew)):", "case !now.Before(id.Expiry.Add(60 * Skew)):"}},
		Package: oidcDir, Test: "TestWrongAnswers",
	},
	{
		Name: "provider-without-pkce", Breaks: "3.13: the server gives the provider the verifier of this login",
		Hunks:   []Hunk{{oidcFile, "oauth2.S256ChallengeOption(a.Verifier)", "oauth2.S256ChallengeOption(a.State)"}},
		Package: oidcDir, Test: "TestWhoCame",
	},
	{
		Name: "name-takes-the-account", Breaks: "3.13: who somebody is is issuer and subject, never a name",
		Hunks:   []Hunk{{identityFile, "if here || user.Role != im.ServerUser || user.SecondFactor {", "if here && user.ID == \"\" || user.Role != im.ServerUser || user.SecondFactor {"}},
		Package: accountDir, Test: "TestProviderTakes",
	},
	{
		Name: "email-that-nobody-verified", Breaks: "3.13: an e-mail counts if the provider verified it",
		Hunks:   []Hunk{{oidcFile, `(verified == true || verified == "true")`, "(verified != nil)"}},
		Package: oidcDir, Test: "TestWhoCame",
	},
	{
		Name: "provider-past-the-second-factor", Breaks: "3.13: an account with a second factor needs its code after the provider",
		Hunks:   []Hunk{{identityFile, "	if user.SecondFactor {\n		return t, false, s.ask", "	if user.SecondFactor && user.Role != im.ServerUser {\n		return t, false, s.ask"}, {secondStore, `if o.IfPasswordHash == "" && o.Identity == nil {`, `if o.IfPasswordHash == "" {`}},
		Package: accountDir, Test: "TestProviderAndSecondFactor",
	},
	{
		Name: "guest-takes-an-account", Breaks: "3.14: whom a provider names that has an account keeps it from a guest",
		Hunks:   []Hunk{{accountDir + "/guests.go", "		if err := s.unknownHere(ctx, p, who); err != nil {", "		if err := s.unknownHere(ctx, p, who); err != nil && round > 0 {"}},
		Package: accountDir, Test: "TestUpgradeByProviderTakesNobodysAccount",
	},
	{
		Name: "last-identity-unlinked", Breaks: "3.13: the last identity of an account without a password stays",
		Hunks:   []Hunk{{identityStore, "		if out {", "		if out && id == \"\" {"}},
		Package: accountDir, Test: "TestUnlinkIdentity",
	},
	{
		Name: "old-name-free", Breaks: "3.15: nobody else registers a username that somebody had",
		Hunks:   []Hunk{{directoryDir + "/usernames.go", "WHERE name = $1 AND user_id <> $2 AND held_until > $3)", "WHERE name = $1 AND user_id <> $2 AND held_until < $3)"}},
		Package: accountDir, Test: "TestRename",
	},
	{
		Name: "old-name-taken", Breaks: "3.15: nobody else takes a username that somebody had",
		Hunks:   []Hunk{{directoryDir + "/usernames.go", "if n == 0 || taken {", "if n < 0 || taken {"}},
		Package: accountDir, Test: "TestRename",
	},
	{
		Name: "guests-may-all", Breaks: "3.14: what guests may is named, all else is refused",
		Hunks:   []Hunk{{"internal/api/guests.go", "if err == nil && guest {", "if err != nil && guest {"}},
		Package: "internal/api", Test: "TestGuestComesByALink",
	},
	{
		Name: "guest-by-any-link", Breaks: "3.14: guests come by links that let guests in",
		Hunks:   []Hunk{{"internal/api/guests.go", "if err != nil || lets {", "if err != nil || lets || code != \"\" {"}},
		Package: "internal/api", Test: "TestGuestComesByALink",
	},
	{
		Name: "guest-upgrades-where-closed", Breaks: "3.14: a guest becomes a user where they might register",
		Hunks:   []Hunk{{accountDir + "/settings.go", "if err == nil && info.Registration == im.RegistrationClosed {", "if err == nil && info.Registration == 0 {"}},
		Package: accountDir, Test: "TestUpgradeObeysRegistration",
	},
	{
		Name: "guest-who-came-is-erased", Breaks: "3.14: only a guest whom nobody saw is deleted",
		Hunks:   []Hunk{{directoryDir + "/guests.go", "s.last_seen_at >= $1)", "s.last_seen_at >= $1 AND s.ended_at > 0)"}},
		Package: accountDir, Test: "TestUnseenGuestsAreErased",
	},
	{
		Name: "renamed-every-day", Breaks: "3.15: a user changes the username once in 30 days",
		Hunks:   []Hunk{{directoryDir + "/usernames.go", "r.Every > 0 && renamed > 0 && wait > 0 {", "r.Every > 0 && renamed > 0 && wait > r.Every {"}},
		Package: accountDir, Test: "TestRename",
	},
	{
		Name: "browser-sent-anywhere", Breaks: "3.13: a code goes to loopback or where the deployment says",
		Hunks:   []Hunk{{providerFile, "return err == nil && ip.IsLoopback()", "return err == nil && ip.IsValid()"}},
		Package: accountDir, Test: "TestProviderReturn",
	},
}
