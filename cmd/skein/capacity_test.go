package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func runCapacity(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var c capacityCmd
	parser, err := kong.New(&c, kong.Name("capacity"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		return "", err
	}
	var out strings.Builder
	err = c.print(&out)
	return out.String(), err
}

func TestCapacity(t *testing.T) {
	out, err := runCapacity(t, "--memory-gb=8", "--mbps=1000", "--message-bytes=200", "--seconds-per-message=10", "--cores=4",
		"--connection-bytes=10000", "--cpu-us=20", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var e estimate
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if e.Machine != (machine{MemoryGB: 8, Mbps: 1000, Cores: 4}) || e.Load != (load{MessageBytes: 200, SecondsPerMessage: 10}) ||
		e.Costs.ConnectionBytes != 10000 || e.Costs.CPUMicros != 20 || e.CPUPerS != 200_000 {
		t.Errorf("the flags did not arrive: %+v", e)
	}
	if out, err := runCapacity(t); err != nil || !strings.Contains(out, "limited by") {
		t.Errorf("without flags: %q, %v", out, err)
	}
	// An explicit zero is no default.
	for _, arg := range []string{"--memory-gb=0", "--mbps=-1", "--cores=NaN", "--connection-bytes=0", "--cpu-us=0"} {
		if _, err := runCapacity(t, arg); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(arg[:strings.Index(arg, "=")], "--")) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
