package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/skein-im/skein/cmd/internal/command"
	"github.com/skein-im/skein/internal/sdkconformance"
	"github.com/skein-im/skein/sdk/conformance"
)

type sdkConformanceCmd struct {
	Driver    string        `required:"" help:"The program that drives the client, with its arguments, divided at spaces: sdk/conformance/README.md." placeholder:"COMMAND"`
	Match     string        `name:"run" default:"." help:"Play the scenarios whose names match." placeholder:"REGEXP"`
	Scenarios string        `help:"Read the scenarios from this directory, not those that this program holds." placeholder:"DIR"`
	Codec     string        `default:"json" enum:"json,pb" help:"json or pb."`
	Parallel  int           `default:"4" help:"Scenarios at a time, each with a driver of its own."`
	Patience  time.Duration `default:"10s" help:"How long a step waits for what has to come."`
	JSON      bool          `name:"json" help:"Print one JSON object for each scenario, on a line of its own."`
}

// Run plays the scenarios. It fails if one did not pass.
func (c *sdkConformanceCmd) Run(ctx context.Context) error {
	match, err := regexp.Compile(c.Match)
	if err != nil {
		return command.UsageError("--run: " + err.Error())
	}
	from := conformance.Scenarios()
	if c.Scenarios != "" {
		from = os.DirFS(c.Scenarios)
	}
	return c.play(ctx, from, match)
}

func (c *sdkConformanceCmd) play(ctx context.Context, from fs.FS, match *regexp.Regexp) error {
	all, err := sdkconformance.Load(from, match)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return command.UsageError("--run: no scenario matches " + c.Match)
	}
	o := sdkconformance.Options{
		Driver: strings.Fields(c.Driver), Protobuf: c.Codec == "pb", Parallel: c.Parallel, Patience: c.Patience,
	}
	outcomes := map[sdkconformance.Outcome]int{}
	var broken error
	sdkconformance.Run(ctx, all, o, func(r sdkconformance.Result) {
		outcomes[r.Outcome]++
		if err := c.print(r); err != nil {
			broken = err
		}
	})
	if broken != nil {
		return broken
	}
	passed := outcomes[sdkconformance.Passed]
	if !c.JSON {
		fmt.Printf("%d of %d scenarios passed, %d failed, %d are not supported by the driver\n",
			passed, len(all), outcomes[sdkconformance.Failed], outcomes[sdkconformance.Unsupported])
	}
	if passed != len(all) {
		return fmt.Errorf("%d of %d scenarios did not pass", len(all)-passed, len(all))
	}
	return nil
}

func (c *sdkConformanceCmd) print(r sdkconformance.Result) error {
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	fmt.Printf("%-11s %-32s %5.2f s  %s\n", r.Outcome, r.Name, r.Seconds, strings.Join(r.Spec, " "))
	if r.Outcome == sdkconformance.Passed {
		return nil
	}
	fmt.Printf("  %s\n  %s\n", r.About, r.Reason)
	for _, line := range r.Story {
		fmt.Println("    " + line)
	}
	if r.Stderr != "" {
		fmt.Println("  the driver's stderr ends with:\n    " + strings.ReplaceAll(strings.TrimSpace(r.Stderr), "\n", "\n    "))
	}
	return nil
}
