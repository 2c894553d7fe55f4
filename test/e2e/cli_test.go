package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestCommands: the commands of an administrator, against a running server.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	admin := func(stdin string, code int, args ...string) (string, string) {
		t.Helper()
		return runs(t, stdin, code, append(args, "--server", p.HTTP(), "--data", p.dir)...)
	}
	out, _ := admin("correct horse\n", 0, "user", "add", "ann", "--name", "Ann A.")
	if !strings.HasPrefix(out, "ann has the id ") {
		t.Errorf("user add: %q", out)
	}
	id := strings.TrimSpace(strings.TrimPrefix(out, "ann has the id "))
	if _, stderr := admin("correct horse\n", 1, "user", "add", "ANN"); !strings.Contains(stderr, "already_exists") {
		t.Errorf("user add again: %q", stderr)
	}
	if _, stderr := admin("short\n", 1, "user", "add", "bob"); !strings.Contains(stderr, "invalid_argument") || !strings.Contains(stderr, "password") {
		t.Errorf("a short password: %q", stderr)
	}
	out, _ = admin("", 0, "user", "list")
	if lines := strings.Split(out, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "ID") || !strings.Contains(lines[1], id) || !strings.Contains(lines[1], "Ann A.") {
		t.Errorf("user list:\n%s", out)
	}
	var listed struct{ Users []map[string]string }
	out, _ = admin("", 0, "user", "list", "--json")
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Users) != 1 || listed.Users[0]["username"] != "ann" {
		t.Errorf("user list --json: %v\n%s", err, out)
	}

	// She logs in; her session shows, and is ended.
	device := &wire.Device{Id: "d1", Class: wire.DeviceClass_DEVICE_CLASS_DESKTOP, Name: "Ann's desk"}
	tokens := must(skein.Login(t.Context(), p.HTTP(), &wire.LoginRequest{Username: "ann", Password: "correct horse", Device: device}))(t)
	r := dialRaw(t, p, 0)
	r.hello(tokens.AccessToken, "d1", device.Class)
	out, _ = admin("", 0, "user", "sessions", "@ann")
	if !strings.Contains(out, tokens.Session) || !strings.Contains(out, "Ann's desk") || !strings.Contains(out, "desktop") || !strings.Contains(out, "127.0.0.1") {
		t.Errorf("user sessions:\n%s", out)
	}
	if out, _ = admin("", 0, "user", "kick", "@ann"); out != "1 sessions ended\n" {
		t.Errorf("user kick: %q", out)
	}
	if code := r.closed(); code != string(wire.CodeSessionRevoked) {
		t.Errorf("closed with %q", code)
	}
	if _, stderr := admin("", 1, "user", "sessions", "@nobody"); !strings.Contains(stderr, "not_found") {
		t.Errorf("nobody's sessions: %q", stderr)
	}

	// A token of an integrator's user works, and only so long.
	token, _ := admin("", 0, "token", "mint", "Customer-7", "--name", "C. Seven", "--lifetime", "1h")
	ann := connect(t, p, device2(token))
	if ann.User() != "Customer-7" {
		t.Errorf("the token is %s's", ann.User())
	}
	var minted struct{ Tokens map[string]string }
	out, _ = admin("", 0, "token", "mint", "Customer-7", "--json")
	if err := json.Unmarshal([]byte(out), &minted); err != nil || minted.Tokens["user"] != "Customer-7" {
		t.Errorf("token mint --json: %v\n%s", err, out)
	}
	if _, stderr := admin("", 1, "token", "mint", "no spaces"); !strings.Contains(stderr, "invalid_argument") {
		t.Errorf("a bad user id: %q", stderr)
	}
	// Without the key nothing works, and the message says where it was looked for.
	if _, stderr := runs(t, "", 1, "user", "list", "--server", p.HTTP(), "--data", "/nowhere"); !strings.Contains(stderr, "/nowhere/keys/admin.key") || !strings.Contains(stderr, "--key-file") {
		t.Errorf("no key: %q", stderr)
	}
	if _, stderr := runs(t, "", 1, "user", "list", "--server", "http://127.0.0.1:1", "--data", p.dir); !strings.Contains(stderr, "is the server running?") {
		t.Errorf("no server: %q", stderr)
	}
	if _, stderr := runs(t, "", 1, "user", "list", "--server", "127.0.0.1:9200", "--data", p.dir); !strings.Contains(stderr, "like http://127.0.0.1:9200") {
		t.Errorf("an address without a scheme: %q", stderr)
	}
	if _, stderr := runs(t, "", 2, "user", "frobnicate"); !strings.Contains(stderr, "frobnicate") {
		t.Errorf("an unknown command: %q", stderr)
	}
	if out, _ = runs(t, "", 0, "version"); !strings.HasPrefix(out, "skein ") {
		t.Errorf("version: %q", out)
	}
}

func device2(token string) device {
	return device{
		user: "Customer-7", token: strings.TrimSpace(token), class: wire.DeviceClass_DEVICE_CLASS_WEB, id: "web1",
		way: ways()[1], store: skein.NewMemoryStore(),
	}
}

// TestOneWordTwoPeople: a username that is given where an id is meant makes no second user
// and hits none that was not meant.
func TestOneWordTwoPeople(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	admin := func(code int, args ...string) (string, string) {
		t.Helper()
		return runs(t, "correct horse\n", code, append(args, "--server", p.HTTP(), "--data", p.dir)...)
	}
	out, _ := admin(0, "user", "add", "bob", "--name", "Bob B.")
	id := strings.TrimSpace(strings.TrimPrefix(out, "bob has the id "))
	users := func() int {
		out, _ := admin(0, "user", "list")
		return strings.Count(out, "\n") - 1
	}
	if out, said := admin(1, "token", "mint", "bob"); out != "" || !strings.Contains(said, "write @bob") || !strings.Contains(said, id) || users() != 1 {
		t.Errorf("a token for a username: %q, %q, and there are %d users", out, said, users())
	}
	if out, said := admin(0, "token", "mint", "@bob"); out == "" || said != "" || users() != 1 {
		t.Errorf("a token for @bob: %q, %q, and there are %d users", out, said, users())
	}
	for _, act := range []string{"ban", "sessions", "kick", "disable"} {
		if _, said := admin(1, "user", act, "bob"); !strings.Contains(said, "not_found") || !strings.Contains(said, "write @bob") {
			t.Errorf("user %s of a username says %q", act, said)
		}
	}
	if _, said := admin(0, "token", "mint", "bob", "--new"); !strings.Contains(said, "created the user with the id bob") || users() != 2 {
		t.Errorf("with --new: %q, and there are %d users", said, users())
	}
	if _, said := admin(0, "token", "mint", "bob"); said != "" {
		t.Errorf("of one that is there: %q", said)
	}
	for _, args := range [][]string{{"ban", "bob"}, {"erase", "bob", "--yes"}} {
		if _, said := admin(1, append([]string{"user"}, args...)...); !strings.Contains(said, "id:bob") || !strings.Contains(said, "@bob") {
			t.Errorf("user %v of two says %q", args, said)
		}
	}
	if _, said := admin(0, "user", "sessions", "bob"); !strings.Contains(said, "taken for the id") {
		t.Errorf("sessions of two: %q", said)
	}
	admin(0, "user", "ban", "id:bob", "--for", "2d")
	if out, _ := admin(0, "user", "list", "--state", "banned"); strings.Contains(out, id) || strings.Count(out, "\n") != 2 {
		t.Errorf("banned are\n%s", out)
	}

	// For ever only when it is said that it is meant.
	if _, said := admin(2, "user", "erase", "@bob"); !strings.Contains(said, "--yes") || !strings.Contains(said, "@bob (id "+id+")") {
		t.Errorf("erase without a terminal: %q", said)
	}
	if out, _ := admin(0, "user", "list", "--state", "deleted"); strings.Count(out, "\n") != 1 {
		t.Errorf("deleted are\n%s", out)
	}
	admin(0, "user", "erase", "@bob", "--yes")
	admin(0, "user", "erase", id) // only tells how far it is
	if _, said := admin(2, "user", "erase", id, "--messages"); !strings.Contains(said, "--yes") {
		t.Errorf("with messages: %q", said)
	}
	ann := join(t, p, "ann", 0)
	group := must(ann.Groups().Create(t.Context(), "Team"))(t).GetConversation()
	if _, said := admin(2, "group", "close", group); !strings.Contains(said, "--yes") || !strings.Contains(said, "Team") {
		t.Errorf("close without a terminal: %q", said)
	}
	if out, _ := admin(0, "group", "list"); !strings.Contains(out, group) {
		t.Errorf("the groups are\n%s", out)
	}
	admin(0, "group", "close", group, "--yes")
	if out, _ := admin(0, "group", "list"); strings.Contains(out, group) {
		t.Errorf("the groups are\n%s", out)
	}
}

// TestExisting: where a store should be and is none, none is made.
func TestExisting(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, stderr := runs(t, "", 1, "serve", "--existing", "--data", dir, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"); !strings.Contains(stderr, "there is no store in it") {
		t.Errorf("no store: %q", stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("something was made")
	}
	p := serve(t, dir)
	p.Stop(t)
	p.args = []string{"--existing"}
	p.Start(t)
	if out, _ := runs(t, "", 0, "doctor", "--data", dir+"s"); !strings.Contains(out, "warn  data directory") || !strings.Contains(out, "warn  stores") {
		t.Errorf("doctor of nothing says\n%s", out)
	}
	if _, stderr := runs(t, "", 1, "backup", "list", dir+"s"); !strings.Contains(stderr, dir+"s") {
		t.Errorf("backup list of nothing says %q", stderr)
	}
	if _, stderr := runs(t, "", 1, "backup", t.TempDir(), "--data", t.TempDir()); !strings.Contains(stderr, "PostgreSQL") {
		t.Errorf("backup of a directory without a store says %q", stderr)
	}
}

// TestNobodyOwns: who stores messages before anybody owns the server is told at each start how
// somebody comes to own it, and no link is printed.
func TestNobodyOwns(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.out.expect(t, `/claim\?code=`)
	ann := join(t, p, "ann", 0)
	must(ann.Groups().Create(t.Context(), "Team"))(t)
	if err := ann.Close(); err != nil {
		t.Error(err)
	}
	p.Stop(t)
	p.Start(t)
	p.out.expect(t, `skein user role @NAME owner`)
	if strings.Contains(p.out.String(), "/claim") {
		t.Errorf("it prints a link:\n%s", &p.out)
	}
}

// TestConfigCommands: what is printed is in effect, what is wrong is named.
func TestConfigCommands(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "skein.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	doc, _ := runs(t, "", 0, "config", "doc")
	write(doc) // it is a valid file of the defaults
	fromDoc, _ := runs(t, "", 0, "config", "print", "-c", file)
	defaults, _ := runs(t, "", 0, "config", "print")
	if fromDoc != defaults || !strings.Contains(doc, "# Free disk space below which") {
		t.Errorf("config doc is not the defaults:\n%s\n%s", fromDoc, defaults)
	}
	write("data = \"/srv/chat\"\n[gateway]\nsend_rate = 7.5\n")
	out, _ := runs(t, "", 0, "config", "print", "-c", file, "--set", "messaging.recall_window=2h", "--listen", "tcp://127.0.0.1:7000")
	for _, want := range []string{"data = \"/srv/chat\"", "send_rate = 7.5", "recall_window = \"2h0m0s\"", "tcp://127.0.0.1:7000"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if out, stderr := runs(t, "", 0, "config", "check", "-c", file); out+stderr != "" {
		t.Errorf("config check of a good file says %q", out+stderr)
	}
	for text, want := range map[string]string{
		"[gateway]\nsend_rat = 7\n":                      "gateway.send_rat",
		"[journal]\nmin_free = \"many\"\n":               "many",
		"[accounts]\ndevice_policy = \"two\"\n":          "accounts.device_policy",
		"listeners = [\"127.0.0.1:7000\"]\n":             "listeners",
		"[gateway]\nsend_burst = 0\nmax_per_user = -1\n": "gateway.send_burst",
		"[http]\nlisten = \"8080\"\n":                    "http.listen",
		"[http]\ntrusted_proxies = [\"10.0.0.0/33\"]\n":  "http.trusted_proxies",
		"[tls]\ncert = \"/etc/cert.pem\"\n":              "tls",
		"[tls]\ncert = \"/no.pem\"\nkey = \"/no.key\"\n": "tls.cert: stat /no.pem: no such file",
		"this is not toml\n":                             file,
		"[messaging]\nrecall_window = \"yesterday\"\n":   "yesterday",
	} {
		write(text)
		if _, stderr := runs(t, "", 1, "config", "check", "-c", file); !strings.Contains(stderr, want) {
			t.Errorf("config check of %q says %q, want %q", text, stderr, want)
		}
	}
	if _, stderr := runs(t, "", 1, "config", "check", "--set", "no.such=1"); !strings.Contains(stderr, "no.such") {
		t.Errorf("--set of an unknown key: %q", stderr)
	}
	// A server refuses the same, before it touches anything.
	data := filepath.Join(t.TempDir(), "data")
	if _, stderr := runs(t, "", 1, "serve", "--data", data, "--set", "gateway.send_rate=-1"); !strings.Contains(stderr, "gateway.send_rate") {
		t.Errorf("serve: %q", stderr)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Error("serve made a data directory for a configuration it refused")
	}
}
