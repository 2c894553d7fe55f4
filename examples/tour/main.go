// Command tour goes through everything that Skein can do, on a server of its own, and
// prints each call and what the devices hear of it: once over the connection, once over
// HTTP. It is a place to look up how something is done; the package story has the calls.
//
//	go run ./examples/tour
package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/skein-im/skein/examples/tour/story"
	"github.com/skein-im/skein/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "skein-tour-")
	if err == nil {
		defer os.RemoveAll(dir)
		_, err = run(ctx, dir, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

// run starts a server and tells the story through both doors. It returns the methods
// that were called, by door.
func run(ctx context.Context, dir string, out io.Writer) (methods map[story.Door][]string, err error) {
	data := filepath.Join(dir, "data")
	s, err := server.Open(ctx, server.Options{Settings: map[string]string{
		"data": data, "http.listen": "127.0.0.1:0", "admin.listen": "", "gateway.drain_time": "100ms",
	}})
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving) }()
	defer func() {
		stop()
		if e := <-ended; err == nil {
			err = e
		}
	}()
	key, err := os.ReadFile(filepath.Join(data, "keys", "admin.key"))
	if err != nil {
		return nil, err
	}
	claim, err := url.Parse(s.ClaimURL())
	if err != nil {
		return nil, err
	}
	at := story.Server{URL: s.URL(), AdminKey: strings.TrimSpace(string(key)), ClaimCode: claim.Query().Get("code")}
	methods = map[story.Door][]string{}
	for _, door := range []story.Door{story.Connection, story.HTTP} {
		fmt.Fprintf(out, "\n=== %s ===\n", door)
		if methods[door], err = story.Tell(ctx, at, door, out); err != nil {
			return nil, err
		}
		at.ClaimCode = ""
	}
	return methods, nil
}
