package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/trace"
)

// traced asks the private port who has a message.
func traced(t *testing.T, admin, key, message string) (int, *trace.Report) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/trace?message="+url.QueryEscape(message), nil))(t)
	req.Header.Set("Authorization", "Bearer "+key)
	resp := must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	raw := must(io.ReadAll(resp.Body))(t)
	var r trace.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	if strings.Contains(string(raw), "secret plan") {
		t.Errorf("the report has what was said: %s", raw)
	}
	return resp.StatusCode, &r
}

// states are who has it, by user.
func states(r *trace.Report) map[string]string {
	all := map[string]string{}
	for _, u := range r.Users {
		all[string(u.User)] = u.State
	}
	return all
}

// TestTrace: who has a message is told from what is stored: who read it, who received it,
// who is away since before, who joined later, and of whom it is gone.
func TestTrace(t *testing.T) {
	t.Parallel()
	n := oneNode(t, terms{settings: map[string]string{"accounts.dm_policy": "everyone"}}).(*node)
	admin := n.app.Load().AdminURL()
	ann, bob, cem := join(t, n, "ann", 0), join(t, n, "bob", 1), join(t, n, "cem", 2)
	mint(t, n, "dan", time.Hour) // was never here
	group := must(ann.Groups().Create(t.Context(), "Tea", "bob", "cem", "dan"))(t).Conversation
	bob.reaches(group, 1)
	cem.reaches(group, 1)
	cem.leave()
	m := ann.says(group, "secret plan")
	bob.reaches(group, m.Seq)
	name := group + "#" + fmt.Sprint(m.Seq)
	if err := bob.Conversation(group).MarkRead(t.Context(), m.Seq); err != nil {
		t.Fatal(err)
	}
	for ctx := deadline(t); ; { // his mark comes with what he says next, or a moment later
		_, r := traced(t, admin, n.AdminKey(), name)
		if states(r)["bob"] == trace.StateRead {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("bob has read it, and it is told: %v", states(r))
		case <-time.After(50 * time.Millisecond):
		}
	}
	mint(t, n, "eve", time.Hour)
	must(ann.Groups().Add(t.Context(), group, "eve"))(t)
	status, r := traced(t, admin, n.AdminKey(), name)
	want := map[string]string{"ann": trace.StateSent, "bob": trace.StateRead, "cem": trace.StateWaiting, "dan": trace.StateWaiting, "eve": trace.StateNone}
	got := states(r)
	for u, state := range want {
		if got[u] != state {
			t.Errorf("%s: %q, want %q", u, got[u], state)
		}
	}
	if status != http.StatusOK || r.Sender != "ann" || r.Now != "stored" || r.Seq != m.Seq || len(r.Users) != len(want) {
		t.Errorf("%d %+v", status, r)
	}
	// By its id it is the same one.
	if _, byID := traced(t, admin, n.AdminKey(), group+"/"+r.ID); byID.Seq != m.Seq {
		t.Errorf("by its id it is %+v", byID)
	}
	if err := ann.Conversation(group).Recall(t.Context(), m.Seq); err != nil {
		t.Fatal(err)
	}
	if _, r = traced(t, admin, n.AdminKey(), name); r.Now != "recalled" {
		t.Errorf("now %q", r.Now)
	}
	for _, c := range []struct {
		key, message string
		want         int
	}{
		{"skk_nothing", name, http.StatusUnauthorized}, {n.AdminKey(), "nonsense", http.StatusBadRequest}, {n.AdminKey(), group + "#999", http.StatusNotFound},
		{mint(t, n, "ann", time.Hour).AccessToken, name, http.StatusUnauthorized},
		{n.AdminKey(), "dm:ann:bob/" + r.ID, http.StatusNotFound}, {n.AdminKey(), "dm:ann:bob#0", http.StatusBadRequest},
	} {
		if got, _ := traced(t, admin, c.key, c.message); got != c.want {
			t.Errorf("%s: %d, want %d", c.message, got, c.want)
		}
	}
	ann.leave()
	bob.leave()
}

// TestTraceAndTop: the two commands against a running server.
func TestTraceAndTop(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--set", "accounts.dm_policy=everyone")
	_, admin, _ := strings.Cut(p.out.String(), "Private  ")
	admin, _, _ = strings.Cut(admin, "/metrics")
	ann := join(t, p, "ann", 0)
	mint(t, p, "bob", time.Hour)
	m := ann.says(ann.DM("bob").ID(), "secret plan")
	out, _ := runs(t, "", 0, "trace", "dm:ann:bob#"+fmt.Sprint(m.Seq), "--admin", admin, "--data", p.dir)
	for _, want := range []string{"a message by ann", "now stored", "bob", "no device has connected since it was stored"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _ = runs(t, "", 0, "top", "--once", "--every", "200ms", "--admin", admin)
	for _, want := range []string{"is ready", "open 1", "stored ", "p99 ", "memory ", "on disk "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	_, stderr := runs(t, "", 1, "top", "--once", "--admin", p.HTTP())
	if !strings.Contains(stderr, "private port") {
		t.Errorf("at the wrong port it says %q", stderr)
	}
	_, stderr = runs(t, "", 1, "trace", "dm:ann:bob#9", "--admin", admin, "--data", p.dir)
	if !strings.Contains(stderr, "no such message") {
		t.Errorf("of a message that is not there it says %q", stderr)
	}
	ann.leave()
}
