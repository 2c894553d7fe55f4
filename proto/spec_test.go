package proto

import (
	"os"
	"strings"
	"testing"
)

// The session that SPEC §12.2 shows is one that the conformance suite plays.
func TestSessionIsPlayed(t *testing.T) {
	script, err := os.ReadFile("../internal/conformance/transcripts/session.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(Spec), "**12.2 A session**")
	_, after, opened := strings.Cut(after, "\n```\n")
	shown, _, closed := strings.Cut(after, "```\n")
	if !found || !opened || !closed || strings.Count(shown, "\n") < 30 {
		t.Fatalf("SPEC has no session: %.200s", shown)
	}
	if !strings.HasSuffix(string(script), "\n"+shown) {
		t.Error("the session in SPEC is not the end of internal/conformance/transcripts/session.txt: copy it there")
	}
}
