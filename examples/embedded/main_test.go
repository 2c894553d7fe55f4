package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// What is registered from outside carries a conversation in a running server.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#1 Hello over a socket file, in prototext\n", "#2 Hello over a WebSocket, in JSON\n", "#1 Hello over a WebSocket, in prototext\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
