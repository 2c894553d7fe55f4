// Command openapigen writes the OpenAPI 3.1 document of the HTTP API from the
// descriptors of services.proto, their comments, the method table of
// internal/api and the examples of proto/examples.json. `make gen` runs it;
// `make check` fails when its output differs from what is committed.
//
// Usage, from the root of the repository:
//
//	go run ./proto/openapigen [-buf bin/buf] [-out internal/api/openapi.json]
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/wire"
)

func main() {
	buf := flag.String("buf", "bin/buf", "the buf tool")
	out := flag.String("out", "internal/api/openapi.json", "the file to write, - for standard output")
	flag.Parse()
	if err := run(*buf, *out); err != nil {
		fmt.Fprintln(os.Stderr, "openapigen:", err)
		os.Exit(1)
	}
}

func run(buf, out string) error {
	files, err := load(buf)
	if err != nil {
		return err
	}
	all, err := loadExamples("proto/examples.json")
	if err != nil {
		return err
	}
	doc, err := document(files, api.Methods(), all)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encode document: %w", err)
	}
	text = append(text, '\n')
	if out == "-" {
		_, err = os.Stdout.Write(text)
		return err
	}
	if err := os.WriteFile(out, text, 0o644); err != nil {
		return err
	}
	return os.WriteFile("sdk/typescript/src/methods_gen.ts", repeats(api.Methods()), 0o644)
}

// repeats tells clients in TypeScript which methods need no idempotency key.
func repeats(methods []api.Method) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from the methods of internal/api by proto/openapigen. DO NOT EDIT.\n\n" +
		"/** What repeating a call does: it changes nothing, does the same again, or needs a key. SPEC §8. */\nexport type Repeat = \"reads\" | \"same\" | \"key\"\n\nconst repeats: Readonly<Record<string, Repeat>> = {\n")
	slices.SortFunc(methods, func(a, b api.Method) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range methods {
		if m.Repeat != wire.RepeatKey {
			fmt.Fprintf(&b, "  %q: %q,\n", m.Name, m.Repeat.String())
		}
	}
	b.WriteString("}\n\n/** Of a method, skein.v1.<Service>/<Method>; one that is not known here is taken for one that needs a key. */\nexport function repeatOf(method: string): Repeat {\n  return repeats[method] ?? \"key\"\n}\n")
	return b.Bytes()
}

// load builds the descriptors with their comments.
func load(buf string) (*protoregistry.Files, error) {
	cmd := exec.Command(buf, "build", "-o", "-", "--as-file-descriptor-set")
	cmd.Stderr = os.Stderr
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s build: %w", buf, err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(stdout.Bytes(), &set); err != nil {
		return nil, fmt.Errorf("descriptor set: %w", err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("descriptor set: %w", err)
	}
	return files, nil
}
