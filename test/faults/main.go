// Command faults hurts a server under load and proves that nothing it had
// acknowledged was lost, doubled or put in another order:
//
//	go run ./test/faults kill --rounds 50       kill -9 at random moments
//	go run ./test/faults powercut --rounds 10   power cuts; needs root
//
// It owns the server process, its disk and what happens to them; the users,
// what they saw and the judgement are internal/soak's. It starts the server as
// its users do, by its command line, in a temporary directory and on free
// ports of the loopback.
//
// Goroutines: the load, and one that collects the server's output; both end
// before a run does. No locks but that of the collected output.
//
// Exit codes: 0 every promise was kept; 1 one was broken (with --expect-loss
// the other way round) or the run failed; 2 the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rounds  int
	clients int
	rate    float64
	seed    uint64
	json    bool
	keep    bool
	bin     string
	tags    string
	// expectLoss turns the judgement round: the run must lose something.
	expectLoss bool
	// acceptLoss lets a server that refuses to serve a shortened journal go on.
	acceptLoss bool
	control    bool
	verbose    bool
	// serverEnv is added to the server's environment.
	serverEnv []string
}

const usage = `usage: faults kill|powercut [flags]

kill      kill -9 the server at random moments under load
powercut  cut the power of its disk (ext4 on a loop device) at random moments; needs root
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var o options
	command := os.Args[1]
	fs := flag.NewFlagSet(command, flag.ExitOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage, "\n")
		fs.PrintDefaults()
	}
	fs.IntVar(&o.rounds, "rounds", map[string]int{"kill": 50, "powercut": 10}[command], "how often")
	fs.IntVar(&o.clients, "clients", 8, "users that send, at least 3")
	fs.Float64Var(&o.rate, "rate", 400, "messages per second of all together")
	fs.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the moments and the load")
	fs.BoolVar(&o.json, "json", false, "print the report as JSON")
	fs.BoolVar(&o.keep, "keep", false, "keep the histories, the stores and the data directory; a run that fails keeps them anyway")
	fs.BoolVar(&o.verbose, "v", false, "tell every round on stderr")
	fs.StringVar(&o.bin, "bin", "", "the server; built from this module if empty")
	fs.StringVar(&o.tags, "build-tags", "", "to build the server with; skein_nosync leaves fsync out")
	fs.BoolVar(&o.expectLoss, "expect-loss", false, "succeed only if something is lost, and say what")
	if command == "powercut" {
		fs.BoolVar(&o.acceptLoss, "accept-loss", false, "let a server that notices its loss go on; the checker counts")
		fs.BoolVar(&o.control, "control", true, "after a run that passed, show that one without fsync does not")
	}
	if err := fs.Parse(os.Args[2:]); err != nil || fs.NArg() > 0 {
		fs.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch command {
	case "kill":
		err = kill(ctx, o, os.Stdout)
	case "powercut":
		err = powercut(ctx, o, os.Stdout)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

var (
	// errBroken: the report tells what.
	errBroken = errors.New("promises were broken")
	// errNoLoss: a check that cannot fail proves nothing.
	errNoLoss = errors.New("a loss was expected and none was found: this check cannot fail")
)

func kill(ctx context.Context, o options, out io.Writer) error {
	return judge(ctx, o, out, "kill -9", func(dir string) (fault, error) { return killing{dir}, nil })
}

func powercut(ctx context.Context, o options, out io.Writer) error {
	if err := canCutPower(); err != nil {
		return err
	}
	cut := func(dir string) (fault, error) { return newDisk(dir) }
	if err := judge(ctx, o, out, "power cut", cut); err != nil || !o.control || o.tags != "" || o.bin != "" {
		return err
	}
	o.tags, o.expectLoss, o.acceptLoss, o.rounds = "skein_nosync", true, true, min(o.rounds, 3)
	return judge(ctx, o, out, "power cut, control without fsync", cut)
}

// judge makes a run, prints its report and says whether it is as it must be.
func judge(ctx context.Context, o options, out io.Writer, name string, makeFault func(dir string) (fault, error)) error {
	r := &run{o: o, name: name}
	err := r.run(ctx, makeFault)
	if err != nil {
		return fmt.Errorf("%s (seed %d, files in %s): %w", name, o.seed, r.dir, err)
	}
	result := r.result()
	if err := result.print(out, o); err != nil {
		return err
	}
	if err := result.verdict(o.expectLoss); err != nil {
		return fmt.Errorf("%s (seed %d, files in %s): %w", name, o.seed, r.dir, err)
	}
	if o.keep {
		fmt.Fprintln(os.Stderr, "kept", r.dir)
		return nil
	}
	return os.RemoveAll(r.dir)
}
