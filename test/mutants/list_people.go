package main

const (
	accountDir   = "internal/account"
	groupDir     = "internal/group"
	contactDir   = "internal/contact"
	directoryDir = "internal/directory"
	sqliteDir    = "internal/directory/sqlite"
	imDir        = "internal/im"
)

// people are bugs of accounts, groups, contacts and what keeps them.
var people = []Mutant{
	{
		Name: "names-where-one-may-not-write", Breaks: "4.24: who may not write in a group tells it no name either",
		Hunks:   []Hunk{{"internal/group/members.go", "im.GroupSend, im.RoleNone); err != nil { // a name is told to all", "im.GroupSend, im.RoleNone); err != nil && v.Role == im.RoleNone {"}},
		Package: "internal/group", Test: "TestPermissions",
	},
	{
		Name: "saved-is-anybodys", Breaks: "nobody else reads or writes in a user's notes to themselves",
		Hunks:   []Hunk{{"internal/app/members.go", "return ok && owner == u", "return ok && owner != \"\""}},
		Package: "internal/app", Test: "TestSaved",
	},
	{
		Name: "no-while-promised", Breaks: "24: nobody is refused for good while a change that concerns them is promised",
		Hunks:   []Hunk{{groupDir + "/roster.go", "if no != nil && promised {", "if no != nil && promised && len(users) > 1 {"}},
		Package: groupDir, Test: "TestNoWhilePromised",
	},
	{
		Name: "no-of-a-history-that-is-gone", Breaks: "24: a no is given by what the directory has, whatever the revisions say",
		Hunks:   []Hunk{{groupDir + "/roster.go", "if no == nil || !s.o.Shared {", "if g, _, err := s.store.Group(ctx, c, nil); no == nil || !s.o.Shared || err == nil && g.Rev <= r.rev {"}},
		Package: groupDir, Test: "TestNoOfAHistoryThatIsGone",
	},
	{
		Name: "revoked-stays-connected", Breaks: "revocation: a session's connections end",
		Hunks:   []Hunk{{accountDir + "/sessions.go", "\ts.close(user, ended)\n\treturn len(ended), nil", "\treturn len(ended), nil"}},
		Package: accountDir, Test: "TestSessionsAndRevoke",
	},
	{
		Name: "revoke-all-closes-one", Breaks: "revocation: the connections of all sessions end",
		Hunks:   []Hunk{{accountDir + "/sessions.go", "\tfor _, id := range ended {\n\t\ts.o.Control(", "\tfor _, id := range ended[:min(1, len(ended))] {\n\t\ts.o.Control("}},
		Package: accountDir, Test: "TestSessionsAndRevoke",
	},
	{
		Name: "ended-session-is-good", Breaks: "revocation: the token of an ended session is refused",
		Hunks:   []Hunk{{accountDir + "/authenticate.go", "case !state.Ended.IsZero():", "case !state.Ended.IsZero() && h == \"\":"}, {accountDir + "/authenticate.go", "\tstate, err := s.store.TokenByHash(ctx, hashToken(token))", "\th := token\n\tstate, err := s.store.TokenByHash(ctx, hashToken(token))"}},
		Package: accountDir, Test: "TestSessionsAndRevoke",
	},
	{
		Name: "expired-token-is-good", Breaks: "tokens: an expired one is refused",
		Hunks:   []Hunk{{accountDir + "/authenticate.go", "case !s.o.Now().Before(state.Expires):", "case s.o.Now().Before(state.Created):"}},
		Package: accountDir, Test: "TestAuthenticateRefuses",
	},
	{
		Name: "refresh-token-as-access", Breaks: "tokens: a refresh token opens no connection",
		Hunks:   []Hunk{{accountDir + "/authenticate.go", "case !wellFormed(h.Token, accessPrefix):", "case !wellFormed(h.Token, accessPrefix) && !wellFormed(h.Token, refreshPrefix):"}, {accountDir + "/authenticate.go", "case state.Kind != im.TokenAccess:", "case state.Kind != im.TokenAccess && state.Kind != im.TokenRefresh:"}},
		Package: accountDir, Test: "TestAuthenticateRefuses",
	},
	{
		Name: "stolen-refresh-token", Breaks: "tokens: a refresh token that is used twice ends the session",
		Hunks:   []Hunk{{accountDir + "/refresh.go", "\t\tif err := s.end(ctx, state.Session.User, state.Session.ID); err != nil {\n\t\t\treturn Tokens{}, err\n\t\t}\n", ""}},
		Package: accountDir, Test: "TestRefreshReuseEndsTheSession",
	},
	{
		Name: "password-change-keeps-sessions", Breaks: "revocation: a new password ends the other sessions",
		Hunks:   []Hunk{{accountDir + "/sessions.go", "\ts.close(actor.User, ended)\n\treturn nil", "\t_ = ended\n\treturn nil"}},
		Package: accountDir, Test: "TestChangePassword",
	},
	{
		Name: "token-of-another-device", Breaks: "devices: a token belongs to one device",
		Hunks:   []Hunk{{accountDir + "/authenticate.go", "if bound.ID != device.ID {", "if bound.ID == \"\" {"}},
		Package: accountDir, Test: "TestAuthenticateDevice",
	},
	{
		Name: "login-tells-who-exists", Breaks: "accounts: the same answer for unknown users",
		Hunks:   []Hunk{{accountDir + "/login.go", "if err != nil && im.CodeOf(err) != im.CodeNotFound {", "if err != nil {"}},
		Package: accountDir, Test: "TestLoginSameAnswer",
	},
	{
		Name: "two-removed-one-may-write", Breaks: "4: all who are removed with an entry are out of the roster in memory",
		Hunks:   []Hunk{{groupDir + "/roster.go", "change(e.Users, func(m *cachedMember) { *m = cachedMember{} })", "change(e.Users[:1], func(m *cachedMember) { *m = cachedMember{} })"}},
		Package: groupDir, Test: "TestSeveralAtOnce",
	},
	{
		Name: "removed-may-write", Breaks: "4: who was removed may not write",
		Hunks:   []Hunk{{groupDir + "/roster.go", "change(e.Users, func(m *cachedMember) { *m = cachedMember{} })", "change(nil, func(m *cachedMember) { *m = cachedMember{} })"}},
		Package: groupDir, Test: "TestSeveralAtOnce",
	},
	{
		Name: "muted-may-write", Breaks: "groups: who is muted may not write",
		Hunks:   []Hunk{{groupDir + "/roster.go", "if m.mutedUntil != 0 && s.o.Now().UnixMilli() < m.mutedUntil {", "if m.mutedUntil != 0 && s.o.Now().UnixMilli() > m.mutedUntil {"}},
		Package: groupDir, Test: "TestMute",
	},
	{
		Name: "all-muted-may-write", Breaks: "groups: while all are muted only admins write",
		Hunks:   []Hunk{{imDir + "/authz.go", "if (action == GroupSend || action == GroupPin) && s.MutedAll && actor < RoleAdmin {", "if action == GroupAdd && s.MutedAll && actor < RoleAdmin {"}},
		Package: groupDir, Test: "TestSwitches",
	},
	{
		Name: "pins-without-writing", Breaks: "groups: who may not write pins nothing, whoever may pin",
		Hunks:   []Hunk{{groupDir + "/roster.go", "if err == nil && action == im.GroupPin {", "if err != nil && action == im.GroupPin {"}},
		Package: groupDir, Test: "TestPermissions",
	},
	{
		Name: "switch-only-after-restart", Breaks: "groups: a switch holds for the roster in memory, too",
		Hunks:   []Hunk{{groupDir + "/roster.go", "next.switches = r.switches.With(e.Group)", "next.switches = r.switches"}},
		Package: groupDir, Test: "TestSwitches",
	},
	{
		Name: "slow-mode-counts-resends", Breaks: "slow mode: a message that comes again is not another one",
		Hunks:   []Hunk{{groupDir + "/pace.go", "if had == id {", "if had == id && now.Before(w.at) {"}},
		Package: groupDir, Test: "TestSlowMode",
	},
	{
		Name: "slow-mode-for-recalls-alone", Breaks: "slow mode: a second message has to wait",
		Hunks:   []Hunk{{messagingDir + "/commit.go", "if !e.Kind.Said() || e.Conversation.Kind() != im.KindGroup {", "if e.Kind.Said() || e.Conversation.Kind() != im.KindGroup {"}},
		Package: messagingDir, Test: "TestSlowModeKeepsTheOrder",
	},
	{
		Name: "history-is-unread", Breaks: "groups: what new members see of before is not unread",
		Hunks:   []Hunk{{messagingDir + "/sync.go", "if to := min(v.m.ReadTo, v.head.Seq); own.Read < to {", "if to := min(v.m.ReadTo, v.head.Seq); own.Read > to {"}},
		Package: messagingDir, Test: "TestHistoryIsNotUnread",
	},
	{
		Name: "setting-forgets-the-others", Breaks: "groups: a change of settings leaves the others as they are",
		Hunks:   []Hunk{{directoryDir + "/groups.go", "settings = settings.With(change)", "settings = im.NewGroupSettings().With(change)"}},
		Package: sqliteDir, Test: "TestConformance/People/GroupSettings",
	},
	{
		Name: "asked-is-added", Breaks: "groups: who wants to be asked is asked",
		Hunks:   []Hunk{{directoryDir + "/groups.go", "a.Ask = policy == im.GroupsNobody || policy == im.GroupsContacts && state != im.ContactFriend", "a.Ask = policy == im.GroupsContacts && state != im.ContactFriend"}},
		Package: groupDir, Test: "TestInvited",
	},
	{
		Name: "invitation-for-ever", Breaks: "invitations: one that is over lets nobody in",
		Hunks:   []Hunk{{directoryDir + "/invitations.go", "WHERE i.user_id = $1 AND i.expires_at > $2 AND NOT", "WHERE i.user_id = $1 AND $2 > 0 AND NOT"}},
		Package: groupDir, Test: "TestInvitationEnds",
	},
	{
		Name: "invited-by-nobody", Breaks: "invitations: who invited must still be allowed to add",
		Hunks:   []Hunk{{groupDir + "/invitations.go", "if v.Settings.Authorize(v.roleOf(inv.Inviter), im.GroupAdd, im.RoleNone) != nil {", "if inv.Inviter == \"\" {"}},
		Package: groupDir, Test: "TestInvitationEnds",
	},
	{
		Name: "any-number-of-groups", Breaks: "groups: a user is in a bounded number of them",
		Hunks:   []Hunk{{groupDir + "/invitations.go", "if may[i].Groups < s.limits.Load().MaxGroups {", "if may[i].Groups >= 0 {"}},
		Package: groupDir, Test: "TestGroupsOfAUser",
	},
	{
		Name: "adds-are-free", Breaks: "groups: who adds very many waits",
		Hunks:   []Hunk{{"internal/quota/quota.go", "\tb.full -= float64(n)\n", ""}},
		Package: groupDir, Test: "TestAddsPerHour",
	},
	{
		Name: "banned-is-added", Breaks: "bans: nobody adds who is banned",
		Hunks:   []Hunk{{groupDir + "/change.go", "fresh, err := s.welcome(ctx, c, fresh)", "_, err := s.welcome(ctx, c, fresh)"}},
		Package: groupDir, Test: "TestBan",
	},
	{
		Name: "ban-has-no-end", Breaks: "bans: one that has an end ends",
		Hunks:   []Hunk{{directoryDir + "/bans.go", "(until_at = 0 OR until_at > $2)", "(until_at >= 0 OR until_at > $2)"}},
		Package: groupDir, Test: "TestBan",
	},
	{
		Name: "ban-keeps-the-invitation", Breaks: "bans: what a banned user was invited to is over",
		Hunks:   []Hunk{{directoryDir + "/bans.go", "\"DELETE FROM group_invitations WHERE user_id = $1 AND conversation = $2\", u,", "\"DELETE FROM group_invitations WHERE user_id = $1 AND conversation = $2\", p.Sender,"}},
		Package: groupDir, Test: "TestBan",
	},
	{
		Name: "link-is-not-counted", Breaks: "invite links: a link for three is used three times",
		Hunks:   []Hunk{{directoryDir + "/joining.go", "uses = uses + 1", "uses = uses"}},
		Package: groupDir, Test: "TestLink|TestLastUse",
	},
	{
		Name: "link-never-ends", Breaks: "invite links: one that has an end ends",
		Hunks:   []Hunk{{imDir + "/people.go", "return (l.Expires.IsZero() || now.Before(l.Expires)) &&", "return"}},
		Package: groupDir, Test: "TestLinkIsOver",
	},
	{
		Name: "banned-joins-by-link", Breaks: "invite links: nobody joins who is banned",
		Hunks:   []Hunk{{groupDir + "/links.go", "if err == nil && len(free) == 0 {", "if err == nil && len(free) > 1 {"}},
		Package: groupDir, Test: "TestLinkRefused",
	},
	{
		Name: "ask-to-join-is-kept", Breaks: "requests to join: of letting in and taking back one happens",
		Hunks:   []Hunk{{groupDir + "/requests.go", "v.by.Asked = true\n", ""}},
		Package: groupDir, Test: "TestRequest|TestApproveRaces",
	},
	{
		Name: "link-joins-where-admins-let-in", Breaks: "invite links: where admins let in nobody joins by a link alone",
		Hunks:   []Hunk{{groupDir + "/links.go", "case v.Settings.Join == im.JoinApproval:", "case v.Settings.Join == 9:"}},
		Package: groupDir, Test: "TestLinkRefused",
	},
	{
		Name: "dismissed-keeps-members", Breaks: "dismissing: everybody is out",
		Hunks:   []Hunk{{directoryDir + "/memberships.go", "return dismiss(tx, c, seq)", "return nil"}},
		Package: groupDir, Test: "TestDismiss",
	},
	{
		Name: "dismissed-in-RAM-writes", Breaks: "dismissing: nobody writes any more",
		Hunks:   []Hunk{{groupDir + "/roster.go", "next.base, next.over = nil, nil", "next.base = nil"}},
		Package: groupDir, Test: "TestDismiss",
	},
	{
		Name: "muted-react", Breaks: "reactions: nobody reacts while all are muted",
		Hunks:   []Hunk{{imDir + "/authz.go", "if (action == GroupReact || action == GroupNickname) && s.MutedAll", "if action == GroupNickname && s.MutedAll"}},
		Package: groupDir, Test: "TestPermissions",
	},
	{
		Name: "doubt-is-forgotten", Breaks: "4: a roster that may be old is looked at again",
		Hunks:   []Hunk{{groupDir + "/roster.go", "\tif l.doubt == doubt {\n\t\tl.doubt = 0\n\t}", "\tl.doubt = 0"}},
		Package: groupDir, Test: "TestDoubtOutrunsAConfirmation",
	},
	{
		Name: "refresh-does-nothing", Breaks: "4: a roster that may be old is looked at again",
		Hunks:   []Hunk{{groupDir + "/roster.go", "func (s *Service) Refresh(c im.ConversationID) { s.rosters.doubt(c) }", "func (s *Service) Refresh(c im.ConversationID) { _ = c }"}},
		Package: groupDir, Test: "TestRefresh",
	},
	{
		Name: "no-is-not-confirmed", Breaks: "19: who was just added elsewhere may write",
		Hunks:   []Hunk{{groupDir + "/roster.go", "if no == nil || !s.o.Shared {", "if no == nil || s.o.Shared {"}},
		Package: groupDir, Test: "TestNoIsConfirmed",
	},
	{
		Name: "restored-after-the-entry", Breaks: "10: a crash during a repair loses nothing",
		Hunks:   []Hunk{{groupDir + "/reconcile.go", "if g.Rev <= heads[i].Roster {", "if g.Rev <= heads[i].Roster+1 {"}},
		Package: groupDir, Test: "TestReconcile|TestReconcileByTwo|TestReconcileWhileOthersChange|TestReconcilePages|TestReconcileFromNothing",
	},
	{
		Name: "admin-removes-admin", Breaks: "powers: nobody acts on an equal role",
		Hunks:   []Hunk{{imDir + "/authz.go", "target >= actor", "target > actor"}},
		Package: imDir, Test: "TestAuthorize",
	},
	{
		Name: "stranger-is-told", Breaks: "powers: a denial does not reveal existence",
		Hunks:   []Hunk{{imDir + "/authz.go", "return Errorf(CodeNotFound, \"no such conversation\")", "return Errorf(CodePermissionDenied, \"no such conversation\")"}},
		Package: imDir, Test: "TestAuthorize",
	},
	{
		Name: "blocked-may-write", Breaks: "blocks: who is blocked may not write",
		Hunks:   []Hunk{{contactDir + "/gate.go", "open = !side.Blocked && policy", "open = policy"}},
		Package: contactDir, Test: "TestMaySend",
	},
	{
		Name: "forgotten-comes-back", Breaks: "caches: what was dropped is not there, however long it was not used",
		Hunks:   []Hunk{{"internal/cache/cache.go", "\t\tdelete(c.young, k)\n\t}\n\tdelete(c.old, k)\n", "\t\tdelete(c.young, k)\n\t}\n"}},
		Package: "internal/cache", Test: "TestModel",
	},
	{
		Name: "block-overtaken-by-a-read", Breaks: "blocks: an answer that was read before a block is not kept",
		Hunks:   []Hunk{{contactDir + "/gate.go", "\tif s.epochOf(g, from) == epoch {", "\tif s.epochOf(g, from) >= epoch {"}},
		Package: contactDir, Test: "TestBlockOutrunsARead",
	},
	{
		Name: "blocked-goes-on-watching", Breaks: "blocks: who is blocked stops watching",
		Hunks:   []Hunk{{contactDir + "/contact.go", "sight = a.Blocked || a.Blocked != wasA.Blocked || ", "sight = "}},
		Package: contactDir, Test: "TestChangesEndWatching",
	},
	{
		Name: "notice-to-one-side", Breaks: "21: both sides of a contact learn of it",
		Hunks:   []Hunk{{contactDir + "/contact.go", "notices = append(notices, s.notice(now, user, actor.User, user, ev))", "_ = ev"}},
		Package: contactDir, Test: "TestStories",
	},
	{
		Name: "roster-change-without-condition", Breaks: "4: of two roster changes one is first",
		Hunks:   []Hunk{{directoryDir + "/groups.go", "WHERE conversation = $1 AND rev = $2\", p.Conversation, int64(p.IfRoster))", "WHERE conversation = $1 AND rev >= 0 AND $2 >= 0\", p.Conversation, int64(p.IfRoster))"}},
		Package: sqliteDir, Test: "TestConformance/People/OneRosterPromise",
	},
	{
		Name: "promise-stays", Breaks: "outbox: a promise is applied once",
		Hunks:   []Hunk{{directoryDir + "/outbox.go", "\t\tthere, err := tx.Exec(\"DELETE FROM outbox WHERE id = $1\", p.ID[:])", "\t\tthere, err := tx.Exec(\"UPDATE outbox SET id = id WHERE id = $1\", p.ID[:])"}},
		Package: sqliteDir, Test: "TestConformance/People/OutboxApplyTwice",
	},
	{
		Name: "removal-is-not-visible", Breaks: "14: who is removed sees the entry that says so, and no more",
		Hunks:   []Hunk{{directoryDir + "/memberships.go", "args := []any{p.Conversation, int64(seq)}", "args := []any{p.Conversation, int64(seq) + 1}"}},
		Package: sqliteDir, Test: "TestConformance/People/GroupBoundsOfReading",
	},
	{
		Name: "back-sees-all", Breaks: "14: who comes back sees nothing of what was between",
		Hunks:   []Hunk{{directoryDir + "/memberships.go", "DO UPDATE SET first_seq = excluded.first_seq, until_seq = 0,", "DO UPDATE SET until_seq = 0,"}},
		Package: sqliteDir, Test: "TestConformance/People/GroupBoundsOfReading",
	},
	{
		Name: "place-read-during-a-change", Breaks: "19: a place that was read before a change is not kept",
		Hunks:   []Hunk{{directoryDir + "/memberships.go", "\tcase d.places == nil || err == nil && !done:", "\tcase d.places == nil || err == nil && done:"}},
		Package: sqliteDir, Test: "TestConformance/People/PlacesFollowChanges",
	},
	{
		Name: "session-ends-twice", Breaks: "revocation: a session that ended is not ended again",
		Hunks:   []Hunk{{directoryDir + "/sessions.go", "UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at = 0\"", "UPDATE sessions SET ended_at = $2 WHERE user_id = $1\""}},
		Package: sqliteDir, Test: "TestConformance/Accounts/EndSessions",
	},
	{
		Name: "login-during-a-password-change", Breaks: "revocation: no login with the old password after its change",
		Hunks:   []Hunk{{directoryDir + "/sessions.go", "if ifHash != \"\" {\n\t\tquery, args", "if ifHash == \"-\" {\n\t\tquery, args"}},
		Package: sqliteDir, Test: "TestConformance/Accounts/OpenSessionRefused",
	},
	{
		Name: "refresh-token-twice", Breaks: "tokens: of two exchanges one wins",
		Hunks:   []Hunk{{directoryDir + "/sessions.go", "WHERE hash = $1 AND replaced_at = 0\"", "WHERE hash = $1\""}},
		Package: sqliteDir, Test: "TestConformance/Accounts/RotateTokens",
	},
	{
		Name: "refused-asks-at-once", Breaks: "contacts: who was refused waits",
		Hunks:   []Hunk{{contactDir + "/contact.go", "if wait := mine.AskAfter.Sub(s.o.Now()); wait > 0 {", "if wait := mine.AskAfter.Sub(s.o.Now()); wait > 1<<62 {"}},
		Package: contactDir, Test: "TestCoolDown",
	},
	{
		Name: "requests-for-ever", Breaks: "contacts: a request is gone after its time",
		Hunks:   []Hunk{{contactDir + "/contact.go", "c.State != Asked && c.State != AsksMe || c.Asked.After(", "c.State != Asked && c.State != AsksMe || !c.Asked.After(now) || c.Asked.After("}},
		Package: contactDir, Test: "TestRequestsLapse",
	},
	{
		Name: "removed-not-told", Breaks: "contacts: what changed since tells who is gone",
		Hunks:   []Hunk{{directoryDir + "/contacts.go", "WHERE user_id = $1 AND revision > $2 ORDER BY revision LIMIT $3", "WHERE user_id = $1 AND revision > $2 AND state <> 4 ORDER BY revision LIMIT $3"}},
		Package: contactDir, Test: "TestChangesSince",
	},
	{
		Name: "forgotten-without-floor", Breaks: "contacts: who asks from before what is forgotten begins anew",
		Hunks:   []Hunk{{contactDir + "/list.go", "since > 0 && (since < floor ||", "since > 0 && (since+floor == 0 ||"}},
		Package: contactDir, Test: "TestChangesSince",
	},
	{
		Name: "blocked-finds", Breaks: "privacy: whom a user blocked does not find them",
		Hunks:   []Hunk{{directoryDir + "/search.go", "c.peer_id = $1 AND c.blocked)", "c.peer_id = $1 AND c.blocked AND c.state = 9)"}},
		Package: sqliteDir, Test: "TestConformance/People/SearchWhoMayFind",
	},
	{
		Name: "nobody-but-contacts", Breaks: "privacy: who takes messages from nobody takes none from contacts",
		Hunks:   []Hunk{{contactDir + "/gate.go", "policy != im.DMNobody && (", "policy != 0 && ("}},
		Package: contactDir, Test: "TestNobodyMayWrite",
	},
	{
		Name: "profile-news-to-who-blocked", Breaks: "4.20: who blocked a user hears nothing of their profile",
		Hunks:   []Hunk{{directoryDir + "/profiles.go", "AND peer_id = $2 AND state = 1 AND NOT blocked\", friend, changed)", "AND peer_id = $2 AND state = 1\", friend, changed)"}},
		Package: contactDir, Test: "TestProfileNews",
	},
	{
		Name: "profile-news-to-who-is-blocked", Breaks: "4.20: who is blocked hears nothing of the blocker's profile",
		Hunks:   []Hunk{{directoryDir + "/profiles.go", "peer_id > $2 AND state = 1 AND NOT blocked ORDER BY", "peer_id > $2 AND state = 1 ORDER BY"}},
		Package: contactDir, Test: "TestProfileNews",
	},
	{
		Name: "scheduled-changed-twice", Breaks: "4.19: a change to what it is already tells nobody",
		Hunks:   []Hunk{{directoryDir + "/scheduled.go", "if was.State == s.State && msOf", "if was.State != s.State && msOf"}},
		Package: sqliteDir, Test: "TestConformance/People/Scheduled$",
	},
	{
		Name: "edit-of-a-silent-message-sounds", Breaks: "4.22: the EDIT of a silent message is silent",
		Hunks:   []Hunk{{"internal/entrycodec/amend.go", "Silent: t.Silent, EditedAtMs", "EditedAtMs"}},
		Package: "internal/entrycodec", Test: "TestAmendmentsOfSilentMessages",
	},
	{
		Name: "strangers-without-end", Breaks: "4.12: strangers add a user to so many groups a day, the others ask",
		Hunks:   []Hunk{{"internal/group/invitations.go", "case a.Ask, a.Stranger && !s.mayStranger(u, counted):", "case a.Ask:"}},
		Package: "internal/group", Test: "TestStrangers",
	},
	{
		Name: "stranger-counted-twice", Breaks: "4.12: a user whom one call adds is counted once, however often it is decided",
		Hunks:   []Hunk{{"internal/group/invitations.go", "s.limits.Load().StrangersPerDay < 0 || counted[user]", "s.limits.Load().StrangersPerDay < 0"}},
		Package: "internal/group", Test: "TestStrangersAreCountedOnce",
	},
	{
		Name: "profile-news-stop-early", Breaks: "4.20: a profile that changes while it is told is told once more to all",
		Hunks:   []Hunk{{directoryDir + "/profiles.go", "\t\tcase again:\n", "\t\tcase again && to == \"\":\n"}},
		Package: sqliteDir, Test: "TestConformance/People/ProfileNews$",
	},
	{
		Name: "profile-news-not-in-the-list", Breaks: "4.20: who was away finds a contact's new profile in the list",
		Hunks:   []Hunk{{directoryDir + "/profiles.go", "UPDATE contacts SET revision = $3 WHERE user_id = $1 AND peer_id = $2\", friend, changed, int64(revision))", "UPDATE contacts SET revision = $3 WHERE user_id = $1 AND peer_id = $2 AND revision > $3\", friend, changed, int64(revision))"}},
		Package: contactDir, Test: "TestProfileNews",
	},
	{
		Name: "names-with-zero-width", Breaks: "2: no name has characters that are not seen where nothing needs them",
		Hunks:   []Hunk{{imDir + "/names.go", "case unseen(r) && !needed(runes, i):", "case unseen(r) && i == 0:"}},
		Package: imDir, Test: "TestNamesWithTricks",
	},
	{
		Name: "names-without-emojis", Breaks: "2: a joiner within an emoji is taken",
		Hunks:   []Hunk{{imDir + "/names.go", "emoji(bearer(name[:i])) && emoji(after)", "false"}},
		Package: imDir, Test: "TestNamesThatPeopleHave",
	},
	{
		Name: "names-that-write-over-others", Breaks: "2: few marks follow one another in a name",
		Hunks:   []Hunk{{imDir + "/names.go", "marks++; marks > MaxMarks", "marks++; marks > 60"}},
		Package: imDir, Test: "TestNamesWithTricks",
	},
	{
		Name: "remark-of-anything", Breaks: "2: a remark is a name, too",
		Hunks:   []Hunk{{contactDir + "/contact.go", "im.CheckName(\"remark\", remark, 0, MaxRemark)", "checkText(\"remark\", remark, MaxRemark)"}},
		Package: contactDir, Test: "TestNamesWithoutTricks",
	},
	{
		Name: "profile-news-one-after-the-other", Breaks: "4.20: one with many contacts holds nobody up",
		Hunks:   []Hunk{{contactDir + "/profiles.go", "after, any = changed, true", "after, any = after, true"}},
		Package: contactDir, Test: "TestProfileNewsOfMany",
	},
	{
		Name: "profile-extra-without-end", Breaks: "4.20: a profile's own fields are bounded together",
		Hunks:   []Hunk{{imDir + "/account.go", "return u, CheckExtra(u.Profile.Extra, MaxProfileExtra)", "return u, CheckExtra(c.Extra, MaxProfileExtra)"}},
		Package: sqliteDir, Test: "TestConformance/People/Profile$",
	},
	{
		Name: "presence-of-who-i-blocked", Breaks: "6.10: who blocked somebody sees no presence of theirs",
		Hunks:   []Hunk{{directoryDir + "/presence.go", "WHERE NOT COALESCE(c.blocked, FALSE) AND NOT COALESCE(m.blocked, FALSE)\n", "WHERE NOT COALESCE(c.blocked, FALSE)\n"}},
		Package: contactDir, Test: "TestMayWatch",
	},
	{
		Name: "presence-shown-before-the-look", Breaks: "4.25: who changed who may see them is hidden at once",
		Hunks:   []Hunk{{"internal/gateway/here/presence.go", "\tp.remove(s, u)\n\treturn l\n", "\treturn l\n"}},
		Package: "internal/gateway", Test: "TestLookAgain",
	},
	{
		Name: "look-keeps-nobody", Breaks: "6.10: who goes is told to be gone after the grace, also while it is looked who may see them",
		Hunks:   []Hunk{{"internal/gateway/here/presence.go", "if now.keeps == nil {", "if false {"}},
		Package: "internal/gateway", Test: "TestGoneWhileItIsLooked",
	},
	{
		Name: "reads-hidden-one-way", Breaks: "4.25: who hides how far they have read does not see it of others",
		Hunks:   []Hunk{{directoryDir + "/presence.go", "OR EXISTS (SELECT 1 FROM users i WHERE i.id = $1 AND i.hide_reads)", "OR $1 = ''"}},
		Package: sqliteDir, Test: "TestConformance/People/ReadsHidden$",
	},
	{
		Name: "reads-in-the-sync", Breaks: "4.25: a Sync does not tell what no Receipt told",
		Hunks:   []Hunk{{"internal/messaging/hidden.go", "\t\t\tall[i].PeerRead = 0\n", "\t\t\t_ = peer\n"}},
		Package: "internal/messaging", Test: "TestReadsHidden",
	},
	{
		Name: "marks-nobody-may-know-of", Breaks: "4.25: a mark of which nobody knows whether it is hidden does not move",
		Hunks:   []Hunk{{"internal/messaging/marks.go", "shows, note, err := s.shows(ctx, &mark)\n\t\tif err != nil {", "shows, note, err := s.shows(ctx, &mark)\n\t\tif err != nil && mark.Read == 0 {"}},
		Package: "internal/messaging", Test: "TestHiddenOrNotIsUnknown",
	},
	{
		Name: "the-moment-of-reading", Breaks: "4.25: no Receipt tells the other when something was read",
		Hunks:   []Hunk{{"internal/messaging/hidden.go", "return showNothing, note, err", "return showReceived, note, err"}},
		Package: "internal/messaging", Test: "TestTheMomentOfReadingIsHidden",
	},
	{
		Name: "a-sync-tells-of-hidden-reading", Breaks: "4.25: a Sync does not tell the other that something was read",
		Hunks:   []Hunk{{"internal/messaging/marks.go", "\t\t\tset = append(note, mark)\n", "\t\t\t_ = note\n"}},
		Package: "internal/messaging", Test: "TestQuietMovesAreNotSynced",
	},
	{
		Name: "a-sync-tells-of-my-state", Breaks: "4.8: nobody else is told that a user set something for themselves",
		Hunks:   []Hunk{{"internal/messaging/mine.go", "append(set, key)", "append(set[:0], key)"}},
		Package: "internal/messaging", Test: "TestQuietMovesAreNotSynced",
	},
	{
		Name: "a-draft-before-the-first-message", Breaks: "4.8: a Sync tells what was set where nothing was written yet",
		Hunks:   []Hunk{{"internal/messaging/sync.go", "pages.rest(append(all, more...))", "pages.rest(append(all, more[:0]...))"}},
		Package: "internal/messaging", Test: "TestMyStateWithoutEntries",
	},
	{
		Name: "cleared-and-unread", Breaks: "4.8: what is cleared is read",
		Hunks:   []Hunk{{"internal/messaging/mine.go", "min(*change.ClearedBelow, last+1) > 1 {", "min(*change.ClearedBelow, last+1) > last+1 {"}},
		Package: "internal/messaging", Test: "TestClearingIsReading",
	},
	{
		Name: "last-seen-goes-back", Breaks: "6.10: of several times the latest counts",
		Hunks:   []Hunk{{directoryDir + "/presence.go", " WHERE last_seen.seen_at < excluded.seen_at", ""}},
		Package: sqliteDir, Test: "TestConformance/People/LastSeen$",
	},
}
