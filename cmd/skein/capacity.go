package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/skein-im/skein/internal/capacity"
)

type capacityCmd struct {
	MemoryGB          float64 `required:"" name:"memory-gb" help:"Memory for the server, in GB."`
	Mbps              float64 `required:"" help:"Bandwidth of the network, each way, in Mbit/s."`
	MessageBytes      float64 `default:"200" help:"Bytes of a message's text."`
	SecondsPerMessage float64 `default:"30" help:"How often an active user writes a message, in seconds."`
	Cores             float64 `default:"2" help:"CPU cores."`
	Recipients        float64 `default:"1" help:"Connections that get a message, on average."`
	ConnectionBytes   float64 `help:"Memory of a connection, server and kernel; default: as measured."`
	CPUMicros         float64 `name:"cpu-us" help:"CPU time of a message in µs; default: as measured."`
	JSON              bool    `name:"json" help:"Print one JSON object on stdout."`
}

func (c *capacityCmd) Run() error {
	e, err := capacity.Compute(capacity.Machine{
		MemoryGB: c.MemoryGB, Mbps: c.Mbps, Cores: c.Cores, MessageBytes: c.MessageBytes, SecondsPerMessage: c.SecondsPerMessage,
		Recipients: c.Recipients, ConnectionBytes: c.ConnectionBytes, CPUMicros: c.CPUMicros,
	})
	if err != nil {
		return fmt.Errorf("capacity: %w", err)
	}
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(e)
	}
	m := &e.Machine
	fmt.Printf("connections    %12.0f   by memory, %.1f KB each\n", e.Connections, m.ConnectionBytes/1024)
	fmt.Printf("messages       %12.0f   /s; by CPU %.0f (%.0f µs each), by network %.0f (%.0f bytes each)\n", e.Messages, e.ByCPU, m.CPUMicros, e.ByNetwork, e.WireBytes)
	fmt.Printf("active users   %12.0f   writing every %g s; limited by %s\n", e.ActiveUsers, m.SecondsPerMessage, e.Limit)
	return nil
}
