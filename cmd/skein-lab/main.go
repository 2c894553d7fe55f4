// Command skein-lab measures Skein servers, and finds out whether a server speaks
// the protocol and whether a client behaves as it has to: load generators, virtual
// users and the floor to compare with, wire transcripts, scenarios. It is a program of
// its own, so that the one which serves has none of it; it starts that one by its path.
//
// Exit codes: 0 done; 1 it failed or a promise was broken, the reason is on
// stderr; 2 the command line is wrong.
package main

import (
	"fmt"

	"github.com/skein-im/skein/cmd/internal/command"
)

// version is set by the build (-ldflags -X main.version=…).
var version = "dev"

type cli struct {
	Bench   benchCmd   `cmd:"" help:"Measure a server: one that is started for it, or one that runs."`
	Attack  attackCmd  `cmd:"" help:"Attack a server that is started for it, as strangers can: what they reach, and what others feel of it."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Conformance    conformanceCmd    `cmd:"" help:"Find out whether a server speaks the Skein protocol: each case passed, failed or was left out, and why."`
	SDKConformance sdkConformanceCmd `cmd:"" name:"sdk-conformance" help:"Find out whether a client behaves as it has to: the scenarios of sdk/conformance."`
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Println("skein-lab", version)
	return nil
}

func main() {
	command.Main("skein-lab", "Measures Skein servers, and finds out whether a server speaks the protocol.", &cli{})
}
