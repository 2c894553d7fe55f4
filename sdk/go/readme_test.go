package skein_test

import (
	"os"
	"strings"
	"testing"
)

// The bot the README shows is the one that is compiled, and it is short.
func TestReadmeShowsTheBot(t *testing.T) {
	bot, err := os.ReadFile("examples/bot/main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(bot)+"```\n") {
		t.Error("README.md does not quote examples/bot/main.go")
	}
	if n := strings.Count(string(bot), "\n"); n > 42 {
		t.Errorf("the bot has %d lines, want at most 42", n)
	}
}
