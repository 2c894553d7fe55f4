package main

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/skein-im/skein/examples/tour/story"
	"github.com/skein-im/skein/wire"
)

// The tour calls every method there is, through both doors.
func TestTour(t *testing.T) {
	var out strings.Builder
	methods, err := run(t.Context(), t.TempDir(), &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	var all []string
	protoregistry.GlobalFiles.RangeFilesByPackage(wire.File_skein_v1_services_proto.Package(), func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				all = append(all, string(s.Name())+"/"+string(s.Methods().Get(j).Name()))
			}
		}
		return true
	})
	slices.Sort(all)
	if len(all) < 50 {
		t.Fatalf("only %d methods", len(all))
	}
	for _, door := range []story.Door{story.HTTP, story.Connection} {
		for _, m := range all {
			if !slices.Contains(methods[door], m) {
				t.Errorf("the tour does not call %s by %s", m, door)
			}
		}
	}
}
