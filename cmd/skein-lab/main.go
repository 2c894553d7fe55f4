// Command skein-lab measures Skein servers: load generators, virtual users and the
// floor to compare with. It is a program of its own, so that the one which serves
// has none of it; it starts that one by its path.
//
// Exit codes: 0 done; 1 it failed or a promise was broken, the reason is on
// stderr; 2 the command line is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the build (-ldflags -X main.version=…).
var version = "dev"

type cli struct {
	Bench   benchCmd   `cmd:"" help:"Measure a server: one that is started for it, or one that runs."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Println("skein-lab", version)
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	parser, err := kong.New(&c,
		kong.Name("skein-lab"),
		kong.Description("Measures Skein servers: load generators, virtual users, and the floor to compare with."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		fail(err)
	}
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		var pe *kong.ParseError
		if errors.As(err, &pe) {
			_ = pe.Context.PrintUsage(true) // stderr is gone; the exit code tells
		}
		fmt.Fprintln(os.Stderr, "skein-lab:", err)
		os.Exit(2)
	}
	if err := k.Run(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "skein-lab:", err)
	os.Exit(1)
}
