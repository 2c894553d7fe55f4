package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// maxMethods is how many methods an interface may have, those of the interfaces it
// is composed of included: whoever asks for more asks for what they do not need,
// and a fake of it is work. Consumers declare what they use.
const maxMethods = 8

// wideInterfaces have more, each for its reason.
var wideInterfaces = map[string]string{
	"internal/account.Store":                "composed of the stores of users, sessions, claims and audits, each of which has one file that uses it; one database keeps them all",
	"internal/app.journal":                  "what an engine has to have so that app can hand the parts to those who ask for them; nobody calls through it",
	"internal/app.sharedJournal":            "as journal, with what an engine for many nodes has besides",
	"internal/journal/split.Engine":         "an engine whole: what is asked of several at once is asked of each of them",
	"internal/transport/transporttest.Peer": "a net.Conn, which has eight, that speaks a transport's framing",
	"internal/remote.Gateway":               "the seam im.Dispatch and five facts about who is here; what a node tells its own gateway",
}

// theirs are the interfaces of others that ours are composed of.
var theirs = map[string]reflect.Type{
	"io.Writer": reflect.TypeFor[io.Writer](), "net.Conn": reflect.TypeFor[net.Conn](),
	"google.golang.org/protobuf/proto.Message": reflect.TypeFor[proto.Message](),
}

// interfaces are declarations by the name of folder and type; what has no name is
// by its place.
type interfaces map[string]*declared

type declared struct {
	own    int
	embeds []string
}

func TestInterfaces(t *testing.T) {
	all := interfaces{}
	sources(t, func(path string, src []byte) {
		if strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "sdk/go/") {
			all.read(t, path, src)
		}
	})
	if len(all) < 50 || all["internal/im.Logic"] == nil {
		t.Fatalf("only %d interfaces were found", len(all))
	}
	for name := range all {
		n := all.methods(t, name)
		switch _, excused := wideInterfaces[name]; {
		case n > maxMethods && !excused:
			t.Errorf("%s has %d methods, more than %d: divide it, or have its consumers declare what they use", name, n, maxMethods)
		case n <= maxMethods && excused:
			t.Errorf("%s has %d methods: it needs no exception any more", name, n)
		}
	}
	for name := range wideInterfaces {
		if all[name] == nil {
			t.Errorf("there is no interface %s: its exception can go", name)
		}
	}
}

// The count is of all methods, whatever they come from.
func TestInterfacesAreCounted(t *testing.T) {
	all := interfaces{}
	all.read(t, "internal/a/a.go", []byte(`package a
		import other "github.com/skein-im/skein/internal/b"
		type none interface{}
		type two interface { A(); B() }
		type four interface { two; C(); other.One }
		type set interface { ~int | ~string }
		func f(x any) { _, _ = x.(interface{ A(); two }) }`))
	all.read(t, "internal/b/b.go", []byte(`package b
		import "net"
		type One interface { D() }
		type Conn interface { net.Conn; E() }`))
	for name, want := range map[string]int{
		"internal/a.none": 0, "internal/a.two": 2, "internal/a.four": 4, "internal/a.set": 0, "internal/a/a.go:7": 3, "internal/b.One": 1, "internal/b.Conn": 9,
	} {
		if all[name] == nil {
			t.Errorf("%s was not found", name)
		} else if n := all.methods(t, name); n != want {
			t.Errorf("%s has %d methods, want %d", name, n, want)
		}
	}
}

// read notes the interfaces of a file.
func (all interfaces) read(t *testing.T, path string, src []byte) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.ToSlash(filepath.Dir(path))
	imports := map[string]string{}
	for _, imp := range f.Imports {
		whole, _ := strconv.Unquote(imp.Path.Value)
		name := filepath.Base(whole)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		imports[name] = strings.TrimPrefix(whole, module)
	}
	named := map[*ast.InterfaceType]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if it, ok := n.Type.(*ast.InterfaceType); ok {
				named[it] = dir + "." + n.Name.Name
			}
		case *ast.InterfaceType:
			name := named[n]
			if name == "" {
				name = path + ":" + strconv.Itoa(set.Position(n.Pos()).Line)
			}
			all[name] = declaredBy(n, dir, imports)
		}
		return true
	})
}

func declaredBy(n *ast.InterfaceType, dir string, imports map[string]string) *declared {
	d := &declared{}
	for _, m := range n.Methods.List {
		d.own += len(m.Names)
		if len(m.Names) > 0 {
			continue
		}
		switch e := m.Type.(type) {
		case *ast.Ident:
			d.embeds = append(d.embeds, dir+"."+e.Name)
		case *ast.SelectorExpr:
			d.embeds = append(d.embeds, imports[e.X.(*ast.Ident).Name]+"."+e.Sel.Name)
		}
	}
	return d
}

// methods counts those of an interface. Two that are composed are taken to have
// none in common.
func (all interfaces) methods(t *testing.T, name string) int {
	t.Helper()
	d := all[name]
	n := d.own
	for _, e := range d.embeds {
		switch {
		case all[e] != nil:
			n += all.methods(t, e)
		case theirs[e] != nil:
			n += theirs[e].NumMethod()
		case !strings.HasSuffix(e, ".comparable") && !strings.HasSuffix(e, ".error"):
			t.Errorf("%s is composed of %s, whose methods this test does not know", name, e)
		}
	}
	return n
}
