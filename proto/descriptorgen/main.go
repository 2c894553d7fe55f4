// Command descriptorgen writes the descriptors of the protocol's frames for
// @skein-im/client/protobuf, which needs no generated code beside them.
//
//	go run ./proto/descriptorgen        (from the repository's root; part of make gen)
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/skein-im/skein/wire"
)

func main() {
	if err := run("sdk/typescript/src/protobuf/descriptors_gen.ts"); err != nil {
		fmt.Fprintln(os.Stderr, "descriptorgen:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	var set descriptorpb.FileDescriptorSet
	add(&set, wire.File_skein_v1_frames_proto, map[string]bool{})
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&set)
	if err != nil {
		return err
	}
	var ts bytes.Buffer
	ts.WriteString("// Written by proto/descriptorgen (make gen).\n\n/** frames.proto and what it imports: a FileDescriptorSet, in base64. */\nexport const descriptors =\n")
	text := base64.StdEncoding.EncodeToString(b)
	for len(text) > 0 {
		n := min(len(text), 160)
		line, end := text[:n], " +\n"
		if text = text[n:]; text == "" {
			end = "\n"
		}
		fmt.Fprintf(&ts, "  %q%s", line, end)
	}
	return os.WriteFile(out, ts.Bytes(), 0o644)
}

// add appends a file behind those that it imports, as a registry wants them.
func add(set *descriptorpb.FileDescriptorSet, f protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		add(set, f.Imports().Get(i).FileDescriptor, seen)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
}
