// Command retention measures what it takes when messages leave that are not to be kept any
// more (SPEC §4.33): it fills a server, moves its clock, and looks how long it takes until
// the first messages are given up, what the store gives back, and what those pay who send
// meanwhile.
//
//	go run ./test/retention --stored 5000000 --leave 1000000 [--postgres URL [--repack]] [--json]
//
// With --repack it has pg_repack write the journal's table anew then, beside the messages
// (Debian: postgresql-15-repack), as docs/operations.md says.
//
// It is a program of its own, as the clock of the one that serves cannot be moved. Exit
// codes are those of skein-lab.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/bench"
	"github.com/skein-im/skein/internal/child"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// clockFile names the file of the clock, for the server process.
const clockFile = "RETENTION_CLOCK"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "serve":
		err = serve(ctx, os.Args[2:])
	case len(os.Args) > 2 && os.Args[1] == "bench" && os.Args[2] == "worker":
		err = bench.RunWorker(ctx, os.Stdin, os.Stdout)
	default:
		err = measure(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "retention:", err)
		os.Exit(1)
	}
}

// serve is as `skein serve`, with the clock of a file.
func serve(ctx context.Context, args []string) error {
	c, err := child.OpenClock(os.Getenv(clockFile))
	if err != nil {
		return err
	}
	cfg := config.Default()
	keys := map[string]string{"--data": "data", "--http": "http.listen", "--admin": "admin.listen", "--listen": "listeners"}
	for i := 0; i+1 < len(args); i += 2 {
		key, value := keys[args[i]], args[i+1]
		if args[i] == "--set" {
			key, value, _ = strings.Cut(value, "=")
		}
		if err := cfg.Set(key, value); err != nil {
			return err
		}
	}
	cfg.Store = os.Getenv("SKEIN_STORE")
	a, err := app.Open(ctx, cfg, app.Options{Now: c.Now})
	if err != nil {
		return err
	}
	return a.Serve(ctx)
}

func measure(ctx context.Context) error {
	var (
		users    = flag.Int("users", 480, "logged-in users, each with 15 conversations")
		stored   = flag.Int("stored", 5_000_000, "messages in all")
		leave    = flag.Int("leave", 1_000_000, "messages that leave")
		rate     = flag.Float64("rate", 1000, "messages per second meanwhile")
		duration = flag.Duration("duration", 10*time.Second, "how long acks are measured before")
		settle   = flag.Duration("settle", 2*time.Minute, "how long the store may clean up")
		postgres = flag.String("postgres", "", "start the server on a database of its own on this PostgreSQL server")
		repack   = flag.Bool("repack", false, "with --postgres: then have pg_repack write the journal's table anew")
		asJSON   = flag.Bool("json", false, "print one JSON object")
	)
	flag.Parse()
	if *repack && *postgres == "" {
		return errors.New("--repack is for --postgres")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "skein-retention-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv(clockFile, filepath.Join(dir, "clock")); err != nil {
		return err
	}
	clock, err := child.OpenClock(os.Getenv(clockFile))
	if err != nil {
		return err
	}
	defer clock.Close()
	do := bench.RetentionSteps{Settle: *settle}
	do.Move = func(s *bench.Server, d time.Duration) error {
		if url := s.DatabaseURL(); url != "" { // first: nothing is stored before what was stored
			if err := pgtest.MoveClock(url, clock.Ahead()+d); err != nil {
				return err
			}
		}
		return clock.Move(d)
	}
	if *repack {
		do.Rewrite = func(ctx context.Context, s *bench.Server) error { return bench.Repack(ctx, s.DatabaseURL()) }
	}
	o := bench.Options{
		Transport: "ws", Codec: "pb", Lab: self, Progress: os.Stderr, Log: os.Stderr,
		Connections: *users, Rate: *rate, Duration: *duration, Warmup: 2 * time.Second,
	}
	r, err := bench.Retention(ctx, o, *stored, *leave, do, func(ctx context.Context, set ...string) (*bench.Server, error) {
		if *postgres != "" {
			return bench.StartOnPostgres(ctx, self, *postgres, 0, os.Stderr, set...)
		}
		return bench.StartServer(ctx, self, os.Stderr, set...)
	})
	if err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.Table(os.Stdout)
	}
	if broken := r.Failed(); broken != "" {
		return errors.Join(err, errors.New(broken))
	}
	return err
}
