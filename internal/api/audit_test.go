package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// lines are those of the audit log by somebody, the oldest first.
func (w *world) lines(q *wire.ListAuditLogRequest) []*wire.AuditEntry {
	w.t.Helper()
	w.trail.Flush(w.t.Context())
	q.Limit, q.OldestFirst = 1000, true
	var page wire.ListAuditLogResponse
	w.must(adminKey, "AdminService/ListAuditLog", q, &page)
	return page.Entries
}

// TestEveryActHasItsLine walks the matrix of what administrators may do: each act of an
// owner, and of the key, has one line, which says what was done to whom and what came of it,
// and no secret; who only reads leaves none.
func TestEveryActHasItsLine(t *testing.T) {
	w := newWorld(t)
	acts := 0
	for _, c := range matrix {
		m := methodOf(t, c.method)
		if m.Who < Staff {
			continue
		}
		for _, who := range []string{asRoot, asKey} {
			s := w.scene(who)
			in := c.in(s)
			from := time.Now().UnixMilli()
			called, _ := wire.LookupMethod("skein.v1." + c.method)
			code := w.call(s.me.token, c.method, in, called.NewResponse())
			var mine []*wire.AuditEntry
			for _, l := range w.lines(&wire.ListAuditLogRequest{Kind: wire.AuditKind_AUDIT_KIND_ADMIN, Action: c.method, FromMs: from}) {
				if (l.By == "") == (who == asKey) {
					mine = append(mine, l)
				}
			}
			what := strings.TrimSpace(c.method+" "+c.about) + " as " + who
			if !m.Acts() {
				if len(mine) > 0 {
					t.Errorf("%s: lines of who reads: %v", what, mine)
				}
				continue
			}
			acts++
			if len(mine) != 1 {
				t.Errorf("%s: %d lines: %v", what, len(mine), mine)
				continue
			}
			l := mine[0]
			if im.Code(l.Code) != code || l.Role != wire.ServerRole_SERVER_ROLE_OWNER || l.Target == "" || l.By != s.me.user() || l.Times != 1 {
				t.Errorf("%s: answered %q, and the line is %v", what, code, l)
			}
			if text := l.String(); strings.Contains(text, password) || strings.Contains(text, "skp_") || strings.Contains(text, "ski_") || strings.Contains(text, "ska_") {
				t.Errorf("%s: a secret is in %v", what, l)
			}
		}
	}
	if acts < 40 {
		t.Errorf("only %d acts", acts)
	}
	t.Logf("%d acts", acts)
}

// user is who calls, as the audit log names them.
func (p person) user() string {
	if p.token == adminKey {
		return ""
	}
	return p.id
}

// TestRefusedForTheRole: each method of administrators × each role that may not call it, and
// none: one line, with the code and how often, however often it is tried; of somebody whose
// role may there is no such line.
func TestRefusedForTheRole(t *testing.T) {
	w := newWorld(t)
	refused := 0
	for _, role := range []im.ServerRole{im.ServerUser, im.ServerAuditor, im.ServerModerator, im.ServerAdmin} {
		p := w.person("p" + role.String())
		if role != im.ServerUser {
			w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: p.id, Role: wire.ServerRole(role)}, nil)
		}
		want := map[string]bool{}
		for _, m := range Methods() {
			if m.Who < Staff || strings.Contains(leastRole[strings.TrimPrefix(m.Name, "skein.v1.AdminService/")], roleLetters[role]) && role != im.ServerUser {
				continue
			}
			action := strings.TrimPrefix(m.Name, "skein.v1.")
			want[action] = true
			called, _ := wire.LookupMethod(m.Name)
			for range 2 {
				if code := w.call(p.token, action, called.NewRequest(), nil); code != im.CodePermissionDenied {
					t.Errorf("%s as %s: %q", action, role, code)
				}
			}
		}
		for _, l := range w.lines(&wire.ListAuditLogRequest{By: p.id, Kind: wire.AuditKind_AUDIT_KIND_ADMIN}) {
			if !want[l.Action] || l.Code != "permission_denied" || l.Times != 2 || l.Role != wire.ServerRole(role) || l.Session != p.session || l.Address == "" {
				t.Errorf("%s: %v", role, l)
			}
			delete(want, l.Action)
			refused++
		}
		if len(want) > 0 {
			t.Errorf("%s: without a line: %v", role, want)
		}
	}
	if refused < 80 {
		t.Errorf("only %d refusals", refused)
	}
	t.Logf("%d refusals", refused)
}

// A token that is not given for what the user is has its line.
func TestTokenThatIsNotGivenHasItsLine(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	w.must(adminKey, "AdminService/BanUser", &wire.BanUserRequest{User: ann.id}, nil)
	if code := w.call(adminKey, "AdminService/MintToken", &wire.MintTokenRequest{User: ann.id}, nil); code != im.CodeBanned {
		t.Fatal(code)
	}
	l := w.lines(&wire.ListAuditLogRequest{Target: ann.id, Action: "AdminService/MintToken"})
	if len(l) != 1 || l[0].Code != "banned" || l[0].Role != wire.ServerRole_SERVER_ROLE_OWNER || l[0].Target != ann.id {
		t.Errorf("%v", l)
	}
}

// What a moderator did is theirs, also what they were refused.
func TestWhatWasRefusedHasItsLine(t *testing.T) {
	w := newWorld(t)
	mo, ann := w.person("mo"), w.person("ann")
	w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: mo.id, Role: wire.ServerRole_SERVER_ROLE_MODERATOR}, nil)
	root := w.login(w.root)
	if code := w.call(mo.token, "AdminService/BanUser", &wire.BanUserRequest{User: root.id, Reason: "no"}, nil); code != im.CodePermissionDenied {
		t.Fatal(code)
	}
	w.must(mo.token, "AdminService/BanUser", &wire.BanUserRequest{User: ann.id, Reason: "spam"}, nil)
	l := w.lines(&wire.ListAuditLogRequest{By: mo.id, Kind: wire.AuditKind_AUDIT_KIND_ADMIN})
	if len(l) != 2 || l[0].Target != root.id || l[0].Code != "permission_denied" || l[1].Target != ann.id || l[1].Code != "" || l[1].Role != wire.ServerRole_SERVER_ROLE_MODERATOR || !strings.Contains(l[1].Detail, `"reason":"spam"`) || l[1].Session != mo.session {
		t.Errorf("%v", l)
	}
	if l := w.lines(&wire.ListAuditLogRequest{Target: ann.id, Failed: true}); len(l) != 0 {
		t.Errorf("refused: %v", l)
	}
}

// Without a line of it nothing is done.
func TestNoActWithoutALine(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	payload, err := proto.Marshal(&wire.BanUserRequest{User: ann.id})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.calls.Call(gone, im.Actor{Role: im.ServerOwner}, im.Call{Method: "skein.v1.AdminService/BanUser", Payload: payload})
	if im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("%v", err)
	}
	w.must(ann.token, "AccountService/GetMe", &wire.GetMeRequest{}, nil)
}

// TestSignInsHaveTheirLines: who signed in by which way, from where, on which device; who
// failed to; guesses of a kind in one line.
func TestSignInsHaveTheirLines(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	again := w.login(ann.username)
	for range 3 {
		if code := w.call("", "AccountService/Login", &wire.LoginRequest{Username: ann.username, Password: "wrong horse"}, nil); code != im.CodeBadCredentials {
			t.Fatal(code)
		}
	}
	_ = w.call("", "AccountService/Login", &wire.LoginRequest{Username: "nobody-here", Password: "wrong horse"}, nil)
	l := w.lines(&wire.ListAuditLogRequest{Kind: wire.AuditKind_AUDIT_KIND_SIGN_IN, By: ann.id})
	if len(l) != 2 || l[0].Action != "register" || l[0].Session != ann.session || l[1].Action != "login" || l[1].Device != "Phone" || l[1].Session != again.session || l[1].Code != "" || l[1].Address == "" {
		t.Errorf("who signed in: %v", l)
	}
	l = w.lines(&wire.ListAuditLogRequest{Kind: wire.AuditKind_AUDIT_KIND_SIGN_IN, Failed: true, Target: ann.id})
	if len(l) != 1 || l[0].By != "" || l[0].Code != "bad_credentials" || l[0].Times != 3 || l[0].Address == "" {
		t.Errorf("guesses: %v", l)
	}
	l = w.lines(&wire.ListAuditLogRequest{Kind: wire.AuditKind_AUDIT_KIND_SIGN_IN, Failed: true})
	// What was typed in the place of a name may be a password.
	if len(l) != 2 || strings.Contains(fmt.Sprint(l), "nobody-here") || strings.Contains(fmt.Sprint(l), "horse") {
		t.Errorf("all failures: %v", l)
	}
	// A token that an integrator minted is its act.
	w.must(adminKey, "AdminService/MintToken", &wire.MintTokenRequest{User: "theirs"}, nil)
	l = w.lines(&wire.ListAuditLogRequest{Target: "theirs"})
	if len(l) != 1 || l[0].Kind != wire.AuditKind_AUDIT_KIND_ADMIN || l[0].Action != "AdminService/MintToken" || l[0].Role != wire.ServerRole_SERVER_ROLE_OWNER || l[0].Detail != "" {
		t.Errorf("a minted token: %v", l)
	}
}

// Pages go on where the last one ended, in both orders.
func TestAuditPages(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.person("ann")
	}
	for _, oldest := range []bool{false, true} {
		var seen []string
		req := &wire.ListAuditLogRequest{Limit: 2, OldestFirst: oldest, Action: "register"}
		for {
			var page wire.ListAuditLogResponse
			w.must(adminKey, "AdminService/ListAuditLog", req, &page)
			for _, l := range page.Entries {
				seen = append(seen, l.Id)
			}
			if req.Cursor = page.Next; req.Cursor == "" {
				break
			}
		}
		if len(seen) != 5 {
			t.Errorf("oldest first %v: %v", oldest, seen)
		}
	}
	if code, field := w.refusal(adminKey, "AdminService/ListAuditLog", &wire.ListAuditLogRequest{Cursor: "x"}); code != im.CodeInvalidArgument || field != "cursor" {
		t.Errorf("a wrong cursor: %q %q", code, field)
	}
}
