// Package command runs a command line: parser, signals and exit codes are the same
// in every program here. It knows nothing of what they do.
//
// Goroutines: one that waits for signals. Locks: none.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// UsageError is a command line that is wrong in a way that its parser cannot see.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// ToldError is a failure of which the reason was told already, by a log: the program ends
// with 1 and says no more.
type ToldError struct{ Err error }

func (e ToldError) Error() string { return e.Err.Error() }
func (e ToldError) Unwrap() error { return e.Err }

// PartError is a command that did what it was to do, but for a part that it named: the
// program ends with 3, so that whoever runs it by a clock can tell it from a failure.
type PartError string

func (e PartError) Error() string { return string(e) }

// Main parses the command line into cli, a pointer to a struct with kong's tags, and
// runs the command that was named. A Run method may take a context.Context, which
// ends with an interrupt or SIGTERM. It exits with 1 when the command fails, with 2
// when the command line is wrong, with 3 when a part is missing (PartError); the reason is on stderr, behind the program's name,
// unless a ToldError was told there before.
func Main(name, description string, cli any) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fail := func(err error, code int) {
		// The SDK's errors begin with the name themselves.
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, strings.TrimPrefix(err.Error(), name+": "))
		os.Exit(code)
	}
	parser, err := kong.New(cli,
		kong.Name(name),
		kong.Description(description),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		fail(err, 1)
	}
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		var wrong *kong.ParseError
		if errors.As(err, &wrong) {
			_ = wrong.Context.PrintUsage(true) // stderr is gone; the exit code tells
		}
		fail(err, 2)
	}
	switch err := k.Run(); {
	case err == nil:
	case errors.As(err, new(ToldError)):
		os.Exit(1)
	case errors.As(err, new(UsageError)):
		fail(err, 2)
	case errors.As(err, new(PartError)):
		fail(err, 3)
	default:
		fail(err, 1)
	}
}
