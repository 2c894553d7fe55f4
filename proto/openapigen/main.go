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

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/skein-im/skein/internal/api"
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
	return os.WriteFile(out, text, 0o644)
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
