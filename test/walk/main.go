// Command walk has five devices of three users do what comes into their heads, one
// operation after the other or a few at once, by the SDK's connections and over HTTP,
// to a server that is killed now and then; and holds what everybody sees against a
// model in memory that is as simple as it can be:
//
//	go run ./test/walk --operations 200000 --store pebble --crashes 100
//	go run ./test/walk --operations 200000 --store postgres --crashes 100
//
// The model predicts each answer (done, or refused with which code), the entries of each
// conversation as they are now, what is unread and how much of it mentions somebody,
// what is pinned, what was answered in polls, what users set for themselves, who sees
// what of a group, who is in it and what they are called, contacts, invitations and what
// is scheduled. Every --every operations
// and at the end each device's store and what the server tells who asks for everything
// are compared with it. A difference is a drift: a bug of the server, the SDK or the
// model. It is printed with the last operations. The same seed makes the same ones up to
// the first burst, whose order is the server's, and much the same after it: so fewer
// --operations, a smaller --every or --only some kinds of them find it sooner.
//
// It knows the server by its doors only. Goroutines: those of a burst, and one that
// kills the server during an operation; both end with it.
//
// Exit codes: 0 nothing drifted; 1 something did, or the walk failed; 2 the command
// line is wrong.
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
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

func main() {
	if isServe(os.Args) {
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "walk: server:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	var only string
	flag.IntVar(&o.operations, "operations", 200000, "how many")
	store := flag.String("store", "pebble", "what the server keeps its data in: pebble or postgres")
	flag.IntVar(&o.crashes, "crashes", 100, "how often the server is killed")
	flag.IntVar(&o.every, "every", 250, "all views are compared after so many operations")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the operations")
	flag.StringVar(&only, "only", "", "do these kinds of operations only, e.g. send,edit,recall")
	flag.BoolVar(&o.disappear, "disappear", false, "lifetimes of conversations change, too, and what is said disappears")
	verbose := flag.Bool("v", false, "tell every operation on stderr")
	flag.Parse()
	if flag.NArg() > 0 || o.operations < 1 || o.every < 1 || *store != "pebble" && *store != "postgres" {
		flag.Usage()
		os.Exit(2)
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	o.progress = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if *verbose {
		o.log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := walkOn(ctx, *store, o)
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	if err := errors.Join(err, enc.Encode(r)); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

// walkOn makes a walk on a store of its own.
func walkOn(ctx context.Context, store string, o options) (r report, err error) {
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	url := ""
	if store == "postgres" {
		place := filepath.Join(dir, "postgres")
		if err := os.Mkdir(place, 0o755); err != nil {
			return r, err
		}
		if err := os.Chmod(dir, 0o755); err != nil { // for PostgreSQL's user
			return r, err
		}
		p, err := pgtest.Start(place, nil)
		if err != nil {
			return r, err
		}
		defer p.Stop()
		url = p.URL()
	}
	return walkAt(ctx, filepath.Join(dir, "data"), store, url, o)
}

// walkAt makes a walk in a data directory, on a database if url names one.
func walkAt(ctx context.Context, dir, store, url string, o options) (r report, err error) {
	s, err := newServer(dir, url)
	if err != nil {
		return r, err
	}
	if err := s.start(ctx); err != nil {
		return r, err
	}
	defer s.kill()
	defer s.clock.Close()
	w, err := newWalk(ctx, s, o)
	if err != nil {
		return r, err
	}
	defer w.close()
	err = w.run(ctx)
	w.report.Store = store
	if d := (*drift)(nil); errors.As(err, &d) {
		w.report.Drift = d.text
	}
	if err != nil {
		err = fmt.Errorf("seed %d: %w", o.seed, err)
	}
	return w.report, err
}
