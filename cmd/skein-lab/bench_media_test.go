package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bench"
)

// TestBenchMedia: an upload that was cut comes back as it was sent, and pictures at once are
// all made, with nothing of the chats beside them lost.
func TestBenchMedia(t *testing.T) {
	t.Setenv(asProgram, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := bench.Options{
		Transport: "ws", Codec: "pb", Connections: 10, Rate: 50, Duration: time.Second, Window: 1, Payload: 100,
		Lab: exe, Log: io.Discard,
	}
	r, err := bench.Media(ctx, o, bench.MediaOptions{Bytes: 20 << 20, Cuts: 2, Pictures: 4, Width: 400, Height: 300}, func(ctx context.Context, set ...string) (*bench.Server, error) {
		return bench.StartServer(ctx, skein, io.Discard, set...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if broken := r.Failed(); broken != "" {
		t.Error(broken)
	}
	m := r.Media
	if !m.Upload.Same || len(m.Upload.Resumed) != 2 || m.Upload.Resumed[0] == 0 || m.Upload.Resumed[0] > 20<<20/3 || m.Upload.RSSPeak == 0 {
		t.Errorf("%+v", m.Upload)
	}
	if m.Pictures.Pictures != 4 || m.Pictures.Beside.Count == 0 || m.Pictures.Alone.Count == 0 || m.Pictures.Seconds == 0 {
		t.Errorf("%+v", m.Pictures)
	}
}
