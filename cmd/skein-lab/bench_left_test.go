package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bench"
)

// small is a load of little, and a server for it.
func small(t *testing.T) (context.Context, bench.Options, bench.Starter) {
	t.Setenv(asProgram, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	o := bench.Options{
		Transport: "ws", Codec: "pb", Connections: 16, Rate: 50, Duration: time.Second, Window: 1, Payload: 100, Rounds: 5,
		Lab: exe, Log: io.Discard,
	}
	return ctx, o, func(ctx context.Context, set ...string) (*bench.Server, error) {
		return bench.StartServer(ctx, skein, io.Discard, set...)
	}
}

// TestBenchExport: the export is whole, and of who is erased then nothing is left but places.
func TestBenchExport(t *testing.T) {
	ctx, o, start := small(t)
	r, err := bench.Export(ctx, o, bench.ExportOptions{Messages: 300, Files: 3, FileBytes: 1000, Erase: true}, start)
	if err != nil {
		t.Fatal(err)
	}
	if broken := r.Failed(); broken != "" {
		t.Error(broken)
	}
	if x := r.Export; x.Files != 3 || x.Entries < 200 || x.Conversations < 15 {
		t.Errorf("%+v", x)
	}
	if x := r.Erase; x.OfUser < 100 || x.Entries < 2*x.OfUser-100 || x.Files != 3 || x.Seconds <= 0 {
		t.Errorf("%+v", x)
	}
}

// TestBenchSearch: the index is made anew twice, the second time beside messages, and all
// that is asked for is found.
func TestBenchSearch(t *testing.T) {
	ctx, o, start := small(t)
	r, err := bench.Search(ctx, o, 3000, 0, start)
	if err != nil {
		t.Fatal(err)
	}
	if broken := r.Failed(); broken != "" {
		t.Error(broken)
	}
	x := r.Search
	if x.Messages < 3000 || x.RebuildPerSecond <= 0 || x.BytesPerMessage <= 0 || len(x.Queries) != 12 || len(x.Pays) != 0 {
		t.Errorf("%+v", x)
	}
	if b := x.Beside; b == nil || b.Seconds <= 0 || b.During.Count == 0 || b.Answered != b.Asked {
		t.Errorf("%+v", b)
	}
}
