// Package house keeps the house rules (CONTRIBUTING.md): who may import whom,
// how long functions and files may be, and that a newcomer can follow a
// message through the six places that decide about it.
package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/skein-im/skein/"

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// business packages know the domain and nothing else of ours, but for the form of
// entries' bodies where they make some.
var business = []string{"internal/account", "internal/contact", "internal/group", "internal/later", "internal/media", "internal/messaging", "internal/outbox", "internal/dispatch"}

// allowed lists, for packages under a path, what of ours they may import. The
// longest matching path counts.
var allowed = []struct {
	path string
	may  []string
	why  string
}{
	{"internal/im", nil, "the domain is what everything else is built on"},
	{"wire", nil, "the contract is public and knows no server"},
	{"internal/config", nil, "settings are values"},
	{"internal/entrycodec", []string{"internal/im", "wire"}, "a body is the protocol's form of what an entry says"},
	{"internal/contract", []string{"internal/im", "internal/entrycodec", "wire"}, "it translates between the two"},
	{"internal/feed", []string{"internal/im"}, "it reads entries and knows neither what they mean nor where they are kept"},
	{"internal/serverlist", []string{"internal/im"}, "it has lists whole, and knows neither what they mean nor where they are kept"},
	{"internal/announce", []string{"internal/im", "internal/serverlist"}, "it knows what is announced, and neither to whom nor where it is kept"},
	{"internal/filter", []string{"internal/im", "internal/entrycodec", "internal/serverlist", "wire"}, "it reads what messages say, and knows neither who is in a conversation nor where anything is kept"},
	{"internal/trail", []string{"internal/im"}, "it writes down who did what, and what that means is others' business"},
	{"internal/audit", []string{"internal/im", "internal/platform"}, "it writes down what the server acts on, and cannot read what was said"},
	{"internal/search", []string{"internal/im", "internal/entrycodec", "internal/pg", "internal/schema", "internal/search", "wire"}, "it reads what messages say, and knows neither who may read them nor where they are kept"},
	{"internal/oidc", []string{"internal/im"}, "it speaks to a provider, and knows neither accounts nor stores"},
	{"internal/outward", nil, "it judges addresses"},
	{"internal/preview", []string{"internal/im", "internal/cache", "internal/outward"}, "it fetches what links lead to, and knows neither who may read a message nor where anything is kept"},
	{"internal/push", []string{"internal/im", "internal/entrycodec", "internal/cache", "internal/outward", "wire"}, "it wakes devices, and knows neither who may read a message nor where anything is kept"},
	{"internal/certs", nil, "where certificates come from, for anybody"},
	{"internal/supervise", nil, "it speaks to who started the process"},
	{"internal/trace", []string{"internal/im", "internal/entrycodec"}, "it reads what is stored, and knows neither engines nor who asks"},
	{"internal/tracing", []string{"internal/im"}, "it tells a collector of messages, and knows nothing of them but their ids"},
	{"internal/logs", nil, "it writes lines, whatever they say"},
	{"internal/limits", []string{"internal/im"}, "both doors hold clients to it; it knows neither"},
	{"internal/gateway", []string{"internal/im", "internal/cache", "internal/contract", "internal/limits", "wire", "internal/gateway"}, "an edge: it knows the protocol, not the business"},
	{"internal/gateway/here", []string{"internal/im", "wire", "internal/gateway/outgoing"}, "who is connected knows neither what is delivered nor how somebody logs in"},
	{"internal/gateway/outgoing", []string{"internal/im", "internal/contract", "wire"}, "what waits to be written knows neither sessions nor who is connected"},
	{"internal/api", []string{"internal/im", "internal/cache", "internal/contract", "internal/entrycodec", "internal/limits", "wire", "internal/account", "internal/announce", "internal/filter", "internal/contact", "internal/export", "internal/group", "internal/later", "internal/media", "internal/push", "internal/search", "internal/trail", "proto"}, "an edge: it translates calls for the business, and shows the documents"},
	{"internal/webapp", nil, "it serves files, and knows nothing of what they do"},
	{"internal/export", []string{"internal/im", "internal/contract", "internal/media", "wire"}, "it asks what a client would, as its user, and knows neither who may read what nor where it is kept"},
	{"internal/importing", []string{"internal/im", "internal/entrycodec", "internal/directory", "internal/media", "internal/outward", "internal/importing", "wire"}, "it makes rows and entries of what others exported, and knows no engine"},
	{"internal/pg", []string{"internal/child"}, "it connects, and knows nothing of what is asked; pgtest starts servers"},
	{"internal/schema", nil, "a rule about numbers"},
	{"internal/cache", nil, "a data structure"},
	{"internal/quota", []string{"internal/im", "internal/cache"}, "it counts what users do, and knows not what"},
	{"internal/child", nil, "it starts processes, for anybody"},
	{"internal/platform", nil, "it asks the operating system, for anybody"},
	{"internal/bucket", nil, "it speaks to a store, for anybody"},
	{"internal/media/blob", []string{"internal/bucket", "internal/platform"}, "it keeps bytes, and knows nothing of whose they are"},
	{"internal/media/picture", nil, "it looks at pictures, and knows nothing of whose they are"},
	{"internal/media/isobmff", nil, "it walks through boxes, and knows nothing of whose they are"},
	{"internal/media/sound", nil, "it measures sounds, and knows nothing of whose they are"},
	{"internal/media/scan", nil, "it speaks to a scanner, and knows nothing of whose the bytes are"},
	{"internal/account", []string{"internal/im", "internal/cache", "internal/limits"}, "business, where passwords wait in a queue that knows neither accounts nor stores"},
	{"internal/messaging", []string{"internal/im", "internal/cache", "internal/entrycodec"}, "business, and the one that makes the entries of which the server is the author"},
	{"internal/journal", []string{"internal/im", "internal/cache", "internal/entrycodec", "internal/journal", "internal/pg", "internal/schema"}, "an engine knows the domain only; what was kept before there were bodies becomes one when it is converted"},
	{"internal/directory", []string{"internal/im", "internal/cache", "internal/directory", "internal/pg", "internal/platform", "internal/schema"}, "an engine knows the domain only"},
	{"internal/bus", []string{"internal/bus"}, "a bus carries bytes"},
	{"internal/remote", []string{"internal/im", "internal/entrycodec", "internal/bus"}, "it carries the two seams between processes, and knows neither what is stored nor what a client speaks; it reads who came and went"},
	{"internal/transport", []string{"wire", "internal/transport"}, "a transport carries bytes"},
	{"internal/bench", []string{"wire", "sdk/go", "internal/bench", "internal/child", "internal/im"}, "virtual users know the SDK and the protocol only; the scenario of the store knows a journal's contract"},
	{"internal/conformance", []string{"wire"}, "it tries any server that speaks the protocol, and knows no more of ours than that"},
	{"internal/soak", []string{"wire", "sdk/go", "internal/soak"}, "virtual users are users: they know the SDK and the protocol only"},
	{"internal/sdkconformance", []string{"wire"}, "it plays a server for any client, and knows none"},
	{"sdk/go", []string{"wire", "sdk/go"}, "a client knows the contract only"},
	{"sdk/conformance", []string{"wire", "sdk/go"}, "scenarios are data; a driver knows its client"},
	{"server", []string{"internal/app", "internal/config", "wire"}, "a thin public face of app"},
	{"examples", []string{"wire", "sdk/go", "server", "examples"}, "examples show what third parties can do"},
}

// owners: these modules are each imported by few packages, so that they can be
// replaced there. PostgreSQL's driver is used by what is an engine on it, by
// the tests' server, and by the bench, whose floor is a bare insert.
var owners = map[string][]string{
	"github.com/cockroachdb/pebble": {"internal/journal/pebble"},
	"github.com/gobwas/ws":          {"internal/transport/ws"},
	"github.com/jackc/pgx":          {"internal/journal/postgres", "internal/directory/postgres", "internal/search/postgres", "internal/pg", "internal/bench"},
	"github.com/nats-io/":           {"internal/bus/nats"},
	"github.com/coder/websocket":    {"sdk/go", "internal/conformance", "internal/sdkconformance", "examples/tour"},
	"github.com/alecthomas/kong":    {"cmd"},
	"github.com/BurntSushi/toml":    {"internal/config"},
	"github.com/pressly/goose":      {"internal/directory"},
	"github.com/minio/minio-go":     {"internal/bucket"},
	"golang.org/x/image":            {"internal/media/picture"},
	"github.com/coreos/go-oidc":     {"internal/oidc"},
	"golang.org/x/oauth2":           {"internal/oidc"},
	"golang.org/x/net":              {"internal/preview"},
	"golang.org/x/crypto/acme":      {"internal/certs"},
}

func TestImports(t *testing.T) {
	all := packages(t)
	if len(all) < 20 {
		t.Fatalf("only %d packages found", len(all))
	}
	for _, p := range all {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		for _, imp := range p.Imports {
			if sub, ok := strings.CutPrefix(imp, module); ok {
				checkOurs(t, name, sub)
			} else {
				checkTheirs(t, name, imp)
			}
		}
	}
}

func under(name, path string) bool { return name == path || strings.HasPrefix(name, path+"/") }

func checkOurs(t *testing.T, name, imp string) {
	t.Helper()
	if under(imp, "internal/app") && name != "server" && !under(name, "cmd") && !under(name, "test") {
		t.Errorf("%s imports %s: only the programs start an app", name, imp)
	}
	for _, b := range business {
		if b == "internal/account" && under(imp, "internal/limits") {
			continue // see allowed
		}
		if under(name, b) && !under(name, "internal/media/blob") && !under(imp, "internal/im") && !under(imp, "internal/cache") && !under(imp, "internal/quota") && !under(imp, "internal/entrycodec") && !under(imp, b) {
			t.Errorf("%s imports %s: business packages know internal/im, a cache, a quota and the form of an entry's body only, and reach each other through interfaces they declare", name, imp)
		}
	}
	for _, rule := range allowed {
		if under(name, rule.path) && !slices.ContainsFunc(rule.may, func(m string) bool { return under(imp, m) }) && !under(imp, rule.path) {
			t.Errorf("%s imports %s: %s", name, imp, rule.why)
		}
	}
}

func checkTheirs(t *testing.T, name, imp string) {
	t.Helper()
	std := !strings.Contains(strings.Split(imp, "/")[0], ".")
	if under(name, "internal/im") && !std {
		t.Errorf("%s imports %s: the domain uses the standard library only", name, imp)
	}
	for lib, may := range owners {
		if strings.HasPrefix(imp, lib) && !slices.ContainsFunc(may, func(owner string) bool { return under(name, owner) }) {
			t.Errorf("%s imports %s: only %s may, so that it can be replaced there", name, imp, strings.Join(may, ", "))
		}
	}
	if strings.HasPrefix(imp, "modernc.org/sqlite") && name != "internal/directory/sqlite" && name != "internal/search/sqlite" && name != "sdk/go/sqlitestore" {
		t.Errorf("%s imports %s: only the SQLite engines of directory and search and the SDK's SQLite store may", name, imp)
	}
}

// sources calls f for every Go file that people write.
func sources(t *testing.T, f func(path string, src []byte)) {
	t.Helper()
	root := "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() && (d.Name() == ".git" || rel == "tools" || d.Name() == "node_modules" || rel == "bin" || rel == "data") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.Contains(string(src[:min(len(src), 200)]), "DO NOT EDIT") {
			f(rel, src)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The sizes of house rule 4. An exception carries its reason here.
const maxFunction, maxFile = 80, 600

var longFunctions = map[string]string{}

func TestSizes(t *testing.T) {
	files := 0
	sources(t, func(path string, src []byte) {
		files++
		if n := strings.Count(string(src), "\n"); n > maxFile {
			t.Errorf("%s has %d lines, more than %d: divide it by business", path, n, maxFile)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
			if name := path + ":" + fn.Name.Name; n > maxFunction && longFunctions[name] == "" {
				t.Errorf("%s has %d lines, more than %d", name, n, maxFunction)
			}
		}
	})
	if files < 50 {
		t.Fatalf("only %d files found", files)
	}
}

// path is the way of a message (ARCHITECTURE.md): the mark `message path n/6`
// stands once in each of these files.
var path = []string{
	"internal/transport/ws/",
	"internal/gateway/session.go",
	"internal/messaging/send.go",
	"internal/journal/pebble/append.go",
	"internal/dispatch/deliver.go",
	"internal/gateway/push.go",
}

func TestMessagePath(t *testing.T) {
	found := map[string][]string{} // mark → files
	sources(t, func(file string, src []byte) {
		if strings.HasPrefix(file, "test/") {
			return
		}
		for i := range path {
			mark := "message path " + string(rune('1'+i)) + "/6"
			if strings.Contains(string(src), mark) {
				found[mark] = append(found[mark], file)
			}
		}
	})
	for i, want := range path {
		mark := "message path " + string(rune('1'+i)) + "/6"
		ok := slices.ContainsFunc(found[mark], func(f string) bool { return strings.HasPrefix(f, want) })
		if !ok {
			t.Errorf("%q stands in %v, want it in %s", mark, found[mark], want)
		}
		// A transport or a journal engine is a choice: each may carry the mark.
		if n := len(found[mark]); n != 1 && i != 0 && i != 3 {
			t.Errorf("%q stands in %d files: %v", mark, n, found[mark])
		}
	}
}

// Every package says what it owns (house rule 2).
func TestPackageComments(t *testing.T) {
	commented := map[string]bool{}
	sources(t, func(path string, src []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		dir := filepath.Dir(path)
		commented[dir] = commented[dir] || f.Doc != nil
	})
	for dir, ok := range commented {
		if !ok {
			t.Errorf("package %s has no comment", dir)
		}
	}
}
