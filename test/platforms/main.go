// Command platforms checks that packages compile for other platforms:
//
//	go run ./test/platforms windows/amd64,darwin/arm64 ./cmd/... ./sdk/go/...
//
// It does what a compiler does before it makes code: it reads the files that each
// platform has and checks all names and types, in function bodies of ours only. So
// it takes seconds where compiling some 600 packages for a platform takes minutes
// and leaves gigabytes in the cache. What only an assembler or a linker finds,
// `make cross` finds.
//
// Goroutines: one for each platform, as many at a time as there are processors.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

const ours = "github.com/skein-im/skein/"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: platforms OS/ARCH[,OS/ARCH…] PACKAGE…")
		os.Exit(2)
	}
	platforms := strings.Split(os.Args[1], ",")
	errs := make([]error, len(platforms))
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, platform := range platforms {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if err := check(platform, os.Args[2:]); err != nil {
				errs[i] = fmt.Errorf("%s: %w", platform, err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listed is what go list tells of a package; those it imports come before it.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
}

func check(platform string, packages []string) error {
	system, arch, _ := strings.Cut(platform, "/")
	sizes := types.SizesFor("gc", arch)
	if sizes == nil {
		return fmt.Errorf("there is no architecture %q", arch)
	}
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,ImportPath,GoFiles,ImportMap,Standard"}, packages...)...)
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	var wrong []error
	for dec := json.NewDecoder(out); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return errors.Join(append(wrong, cmd.Wait())...)
		}
		if err != nil {
			return errors.Join(err, cmd.Wait())
		}
		if done[p.ImportPath] == nil {
			wrong = append(wrong, p.check(done, sizes)...)
		}
	}
}

// check adds the package to done and returns what a compiler would complain of.
// The standard library has bodies in assembler and names that only the compiler
// knows; it is not what is on trial.
func (p *listed) check(done map[string]*types.Package, sizes types.Sizes) (wrong []error) {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		parsed = append(parsed, f)
	}
	c := types.Config{
		Sizes:            sizes,
		IgnoreFuncBodies: !strings.HasPrefix(p.ImportPath+"/", ours),
		Importer: importer(func(path string) (*types.Package, error) {
			if to := p.ImportMap[path]; to != "" {
				path = to
			}
			if found := done[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("%s is not there", path)
		}),
		Error: func(err error) {
			if !p.Standard {
				wrong = append(wrong, err)
			}
		},
	}
	done[p.ImportPath], _ = c.Check(p.ImportPath, files, parsed, nil) // Error has had them
	return wrong
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
