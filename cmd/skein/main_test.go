package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asProgram makes this test binary the program itself, for those that start it.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestBenchSaysWhereItIs: who gives a command line of before is told which program
// has it, whatever flags it names, and a script sees that nothing was measured.
func TestBenchSaysWhereItIs(t *testing.T) {
	t.Setenv(asProgram, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"bench"}, {"bench", "chat", "--floor"}, {"bench", "--help"}, {"bench", "compare", "bin/skein-base"}} {
		var out, said strings.Builder
		cmd := exec.CommandContext(t.Context(), exe, args...)
		cmd.Stdout, cmd.Stderr = &out, &said
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("skein %v: %v, want status 2", args, err)
		}
		if out.Len() > 0 || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "skein-lab bench") {
			t.Errorf("skein %v said %q and %q", args, out.String(), said.String())
		}
	}
}
