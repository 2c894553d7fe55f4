package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/soak"
)

// serverEnv makes the test's own binary be the server, so that the race
// detector watches it too and nothing has to be built.
const serverEnv = "FAULTS_TEST_SERVER=1"

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv("FAULTS_TEST_SERVER") != "":
		err = serve(os.Args[2:])
	case len(os.Args) == 2 && os.Args[1] == deviceCommand:
		err = soak.RunProcess(os.Stdin, os.Stdout)
	case isInside():
		err = hurtInside()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hurtInside is the part of TestCluster that happens in a network namespace.
func hurtInside() error {
	_, o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o.serverEnv = []string{serverEnv}
	return clusters(ctx, o, os.Stdout)
}

// serve is `skein serve` as far as the runs use it.
func serve(args []string) error {
	c := config.Default()
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.StringVar(&c.Data, "data", "", "")
	fs.StringVar(&c.HTTP.Listen, "http", "", "")
	fs.StringVar(&c.Admin.Listen, "admin", "", "")
	fs.StringVar(&c.Store, "store", "", "")
	fs.Func("roles", "", func(v string) error { c.Roles = strings.Split(v, ","); return nil })
	fs.Func("cluster", "", func(v string) error { c.Cluster = append(c.Cluster, v); return nil })
	fs.Func("listen", "", func(v string) error { c.Listeners = append(c.Listeners, v); return nil })
	fs.Func("set", "", func(v string) error {
		key, value, _ := strings.Cut(v, "=")
		return c.Set(key, value)
	})
	o := app.Options{Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil))}
	fs.BoolVar(&o.AcceptLoss, "accept-loss", false, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	a, err := app.Open(ctx, c, o)
	if err != nil {
		return err
	}
	return a.Serve(ctx)
}

func testOptions(t *testing.T) options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return options{rounds: 3, clients: 4, rate: 150, seed: 7, bin: self, serverEnv: []string{serverEnv}}
}

// The short form of `make test-kill`.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers; run without -short")
	}
	var out bytes.Buffer
	if err := kill(t.Context(), testOptions(t), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "every promise was kept") {
		t.Errorf("the report does not say so:\n%s", &out)
	}
}

// A short form of what `make test-faults` does to one server.
func TestPutBack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers; run without -short")
	}
	o := testOptions(t)
	o.rounds = 2
	var out bytes.Buffer
	if err := putback(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "every promise was kept") || !strings.Contains(out.String(), "2 times") {
		t.Errorf("the report does not say so:\n%s", &out)
	}
}

// Another short form of what `make test-faults` does: with one server, to its clients.
func TestSDKKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers; run without -short")
	}
	for name, postgres := range map[string]bool{"embedded": false, "postgres": true} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t)
			o.rounds, o.postgres = 2, postgres
			var out bytes.Buffer
			if err := sdkKilled(t.Context(), o, &out); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if !strings.Contains(out.String(), "every promise was kept") || !strings.Contains(out.String(), "began again") {
				t.Errorf("the report does not say so:\n%s", &out)
			}
			t.Logf("%s", &out)
		})
	}
}

// The short form of `make test-powercut`. SKEIN_FAULTS=1 says that this
// machine can do it; then it must.
func TestPowerCut(t *testing.T) {
	if os.Getenv("SKEIN_FAULTS") != "1" {
		t.Skip("mounts file systems: only with SKEIN_FAULTS=1, as root")
	}
	var out bytes.Buffer
	if err := powercut(t.Context(), testOptions(t), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
}

// The exit code is what CI sees: it must not be 0 when anything is wrong.
func TestVerdict(t *testing.T) {
	clean := func() *soak.Report { return &soak.Report{Broken: map[soak.Invariant]int{}} }
	broken := clean()
	broken.Broken[soak.Hole] = 1
	lossy := clean()
	lossy.Lost, lossy.Broken[soak.Lost] = 1, 1
	reset, back := clean(), clean()
	reset.Resets = 1
	back.Resets, back.Returned, back.WentBack = 3, 1, 200
	for _, tt := range []struct {
		name        string
		r           result
		want, turns error
	}{
		{"clean", result{Check: clean()}, nil, errNoLoss},
		{"broken", result{Check: broken}, errBroken, errNoLoss},
		{"lost", result{Check: lossy}, errBroken, nil},
		{"noticed by the server", result{Shortened: []string{"its end is missing"}}, errBroken, nil},
		{"never calm", result{Check: clean(), NotCalm: "somebody waits"}, errBroken, errNoLoss},
		{"not checked", result{}, errBroken, errNoLoss},
		{"reset without need", result{Check: reset}, errBroken, errNoLoss},
		{"devices killed that did nothing", result{Check: clean(), Killed: 3}, errBroken, errNoLoss},
		{"put back and reset", result{Check: back}, nil, errNoLoss},
	} {
		if err := tt.r.verdict(false); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if err := tt.r.verdict(true); !errors.Is(err, tt.turns) || (err == nil) != (tt.turns == nil) {
			t.Errorf("%s, loss expected: %v, want %v", tt.name, err, tt.turns)
		}
	}
}
