package main

import (
	"encoding/json"
	"io"
	"os"
)

type capacityCmd struct {
	MemoryGB          float64  `name:"memory-gb" default:"4" help:"Memory of the machine."`
	Mbps              float64  `name:"mbps" default:"100" help:"Bandwidth in Mbit/s, both directions together."`
	Cores             float64  `default:"2" help:"CPU cores."`
	MessageBytes      float64  `default:"100" help:"Bytes of a message's content."`
	SecondsPerMessage float64  `default:"30" help:"How often an active user sends."`
	ConnectionBytes   *float64 `help:"Memory per connection, as 'skein-lab bench idle' finds it: server plus kernel. Without it: as measured by us."`
	CPUMicros         *float64 `name:"cpu-us" help:"CPU time per message in µs, as 'skein-lab bench chat' finds it. Without it: as measured by us."`
	JSON              bool     `name:"json" help:"Print one JSON object on stdout."`
}

// Run estimates how many users a machine can serve.
func (c *capacityCmd) Run() error { return c.print(os.Stdout) }

func (c *capacityCmd) print(w io.Writer) error {
	costs := measuredCosts()
	if c.ConnectionBytes != nil {
		costs.ConnectionBytes = *c.ConnectionBytes
	}
	if c.CPUMicros != nil {
		costs.CPUMicros = *c.CPUMicros
	}
	e, err := estimateOf(
		machine{MemoryGB: c.MemoryGB, Mbps: c.Mbps, Cores: c.Cores},
		load{MessageBytes: c.MessageBytes, SecondsPerMessage: c.SecondsPerMessage},
		costs,
	)
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(e)
	}
	return e.table(w)
}
