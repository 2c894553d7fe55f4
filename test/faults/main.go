// Command faults hurts a server under load and proves that nothing it had
// acknowledged was lost, doubled or put in another order:
//
//	go run ./test/faults kill --rounds 50       kill -9 at random moments
//	go run ./test/faults putback --rounds 20    older copies of the data put in the server's place
//	go run ./test/faults powercut --rounds 10   power cuts; needs root
//	go run ./test/faults sdk-killed --rounds 20 kill -9 clients that use the SDK
//	go run ./test/faults cluster --rounds 20    nodes, partitions, PostgreSQL; needs root
//
// It owns the server process, its disk and what happens to them; the users,
// what they saw and the judgement are internal/soak's. It starts the server as
// its users do, by its command line, in a temporary directory and on free
// ports of the loopback.
//
// Every node of a cluster, and its PostgreSQL, is in a network namespace of its
// own (network_linux.go), and a process of the command's own.
//
// Goroutines: the load, one for every process, which starts it and waits for it,
// and one that collects its output; all end before a run does. No locks but that
// of the collected output.
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
	"strings"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/soak"
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
	next    string // the next version of it, of a cluster
	tags    string
	// expectLoss turns the judgement round: the run must lose something.
	expectLoss bool
	// acceptLoss lets a server that refuses to serve a shortened journal go on.
	acceptLoss bool
	control    bool
	postgres   bool // the server has its stores in PostgreSQL
	verbose    bool
	fault      string // of a cluster
	// serverEnv is added to the server's environment.
	serverEnv []string
}

const usage = `usage: faults kill|putback|powercut|sdk-killed|cluster [flags]

kill        kill -9 the server at random moments under load
putback     put older copies of its data directory, and backups, in its place under load
powercut    cut the power of its disk (ext4 on a loop device) at random moments; needs root
sdk-killed  kill -9 processes that use the SDK, with their stores on disk, and every third time the server
cluster     hurt two gateways, two logic nodes, an API node or their PostgreSQL; needs root
`

// errUsage: the flags have been explained.
var errUsage = errors.New("wrong command line")

// parse reads the command line.
func parse(args []string) (command string, o options, err error) {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return "", o, errUsage
	}
	command = args[0]
	rounds, ok := map[string]int{"kill": 50, "putback": 20, "powercut": 10, "sdk-killed": 20, "cluster": 20}[command]
	if !ok {
		fmt.Fprint(os.Stderr, usage)
		return "", o, errUsage
	}
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage, "\n")
		fs.PrintDefaults()
	}
	rate := 400.0
	if command == "cluster" {
		rate = 300
	}
	fs.IntVar(&o.rounds, "rounds", rounds, "how often")
	fs.IntVar(&o.clients, "clients", 8, "users that send, at least 3")
	fs.Float64Var(&o.rate, "rate", rate, "messages per second of all together")
	fs.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the moments and the load")
	fs.BoolVar(&o.json, "json", false, "print the report as JSON")
	fs.BoolVar(&o.keep, "keep", false, "keep the histories, the stores and the data directory; a run that fails keeps them anyway")
	fs.BoolVar(&o.verbose, "v", false, "tell every round on stderr")
	fs.StringVar(&o.bin, "bin", "", "the server; built from this module if empty")
	fs.StringVar(&o.tags, "build-tags", "", "to build the server with; skein_nosync leaves fsync out")
	switch command {
	case "sdk-killed":
		fs.BoolVar(&o.postgres, "postgres", false, "the server has its stores in a PostgreSQL of the run's own")
	case "kill":
		fs.BoolVar(&o.postgres, "postgres", false, "the server has its stores in a PostgreSQL of the run's own")
		fs.BoolVar(&o.expectLoss, "expect-loss", false, "succeed only if something is lost, and say what")
	case "powercut":
		fs.BoolVar(&o.expectLoss, "expect-loss", false, "succeed only if something is lost, and say what")
		fs.BoolVar(&o.acceptLoss, "accept-loss", false, "let a server that notices its loss go on; the checker counts")
		fs.BoolVar(&o.control, "control", true, "after a run that passed, show that one without fsync does not")
	case "cluster":
		var text strings.Builder
		for _, f := range clusterFaults() {
			fmt.Fprintf(&text, "\n%s: %s", f.name, f.does)
		}
		fs.StringVar(&o.next, "next", "", "the server of the next version, for upgrade; built from this module with the tag skein_next if empty")
		fs.StringVar(&o.fault, "fault", "all", "what happens: all, one after the other, or"+text.String())
	}
	if fs.Parse(args[1:]) != nil || fs.NArg() > 0 {
		return "", o, errUsage
	}
	return command, o, nil
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == deviceCommand {
		if err := soak.RunProcess(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "faults: device:", err)
			os.Exit(1)
		}
		return
	}
	command, o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch command {
	case "kill":
		err = kill(ctx, o, os.Stdout)
	case "putback":
		err = putback(ctx, o, os.Stdout)
	case "powercut":
		err = powercut(ctx, o, os.Stdout)
	case "sdk-killed":
		err = sdkKilled(ctx, o, os.Stdout)
	case "cluster":
		err = clusters(ctx, o, os.Stdout)
	}
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	case err != nil:
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
	return judgeRun(ctx, o, out, &run{o: o, name: name}, makeFault)
}

func judgeRun(ctx context.Context, o options, out io.Writer, r *run, makeFault func(dir string) (fault, error)) error {
	name := r.name
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
