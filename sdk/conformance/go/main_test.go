package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/sdkconformance"
	"github.com/skein-im/skein/sdk/conformance"
)

// asDriver in the environment makes this program the driver; its value says what it
// does wrong, "right" for nothing.
const asDriver = "SKEIN_TEST_DRIVER"

func TestMain(m *testing.M) {
	fault := os.Getenv(asDriver)
	if fault == "" {
		flag.Parse()
		_ = flag.Set("test.parallel", "6") // scenarios wait more than they work
		os.Exit(m.Run())
	}
	if err := wrong(fault, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func options(t *testing.T, fault string) sdkconformance.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sdkconformance.Options{Driver: []string{self}, Env: []string{asDriver + "=" + fault}}
}

func scenarios(t *testing.T) []*sdkconformance.Scenario {
	t.Helper()
	all, err := sdkconformance.Load(conformance.Scenarios(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Fatalf("only %d scenarios", len(all))
	}
	return all
}

// The Go SDK does what all SDKs are held to, in both codecs.
func TestScenarios(t *testing.T) {
	all := scenarios(t)
	for _, codec := range []string{"json", "pb"} {
		t.Run(codec, func(t *testing.T) {
			for _, s := range all {
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					o := options(t, "right")
					o.Protobuf = codec == "pb"
					if r := sdkconformance.Play(t.Context(), s, o); r.Outcome != sdkconformance.Passed {
						t.Errorf("%s: %s\n%s\n%s", r.Outcome, r.Reason, strings.Join(r.Story, "\n"), r.Stderr)
					}
				})
			}
		})
	}
}
