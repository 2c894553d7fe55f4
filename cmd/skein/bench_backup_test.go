package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bench"
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

// TestBenchBackup: two backups of a server under load, the second of what is new
// only, a drill, a restore and a start, by the commands that operators use.
func TestBenchBackup(t *testing.T) {
	t.Setenv(asProgram, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := bench.Options{
		Transport: "ws", Codec: "pb", Connections: 10, Rate: 100, Duration: time.Second, Window: 1, Payload: 100,
		Binary: exe, Log: io.Discard,
	}
	r, err := bench.Backup(ctx, o, 5000, 0, func(ctx context.Context, set ...string) (*bench.Server, error) {
		return bench.StartServer(ctx, exe, io.Discard, set...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if broken := r.Failed(); broken != "" {
		t.Error(broken)
	}
	b := r.Backup
	if b.Messages < 5000 || b.First.Entries < b.Messages || b.Second.Entries < b.First.Entries {
		t.Errorf("%d messages, then backups of %d and %d entries", b.Messages, b.First.Entries, b.Second.Entries)
	}
	if b.First.NewBytes == 0 || b.Second.NewBytes >= b.Second.Bytes {
		t.Errorf("new bytes: %d of the first backup, %d of %d of the second", b.First.NewBytes, b.Second.NewBytes, b.Second.Bytes)
	}
	if b.During.Count == 0 || b.ReadySeconds == 0 {
		t.Errorf("%d acks beside the backup, ready after %g s", b.During.Count, b.ReadySeconds)
	}
}
