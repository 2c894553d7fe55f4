package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/skein-im/skein/internal/bench"
)

type benchCmd struct {
	Chat benchChatCmd `cmd:"" help:"One-to-one chat at saturation, then at half that rate."`
	Idle benchIdleCmd `cmd:"" help:"Memory per idle connection."`
}

// benchFlags are shared by the scenarios. Each starts its own server process.
type benchFlags struct {
	Connections int           `default:"2000" help:"Logged-in connections."`
	Transport   string        `default:"ws" enum:"ws,tcp" help:"ws or tcp."`
	Codec       string        `default:"pb" enum:"pb,json" help:"pb or json."`
	Duration    time.Duration `default:"15s" help:"How long to measure."`
	Warmup      time.Duration `default:"5s" help:"How long before that is not counted."`
	JSON        bool          `name:"json" help:"Print one JSON object on stdout."`
}

func (f *benchFlags) options() bench.Options {
	return bench.Options{
		Connections: f.Connections, Transport: f.Transport, Codec: f.Codec, Duration: f.Duration, Warmup: f.Warmup,
		Progress: os.Stderr,
	}
}

// withServer runs a scenario against a fresh server process of this binary.
func (f *benchFlags) withServer(ctx context.Context, run func(*bench.Server) (*bench.Report, error)) (*bench.Report, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s, err := bench.StartServer(ctx, exe, os.Stderr)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	return run(s)
}

type benchIdleCmd struct {
	benchFlags `embed:""`
}

func (c *benchIdleCmd) Run(ctx context.Context) error {
	r, err := c.withServer(ctx, func(s *bench.Server) (*bench.Report, error) { return bench.Idle(ctx, s, c.options()) })
	if err != nil {
		return err
	}
	return printReports(c.JSON, r)
}

type benchChatCmd struct {
	benchFlags `embed:""`
	Rate       float64 `help:"Messages per second in all; 0: saturation first, then half of what was reached."`
	Window     int     `default:"1" help:"At saturation: unanswered sends per connection."`
	Payload    int     `default:"100" help:"Bytes of a message."`
}

func (c *benchChatCmd) Run(ctx context.Context) error {
	var reports []*bench.Report
	rates := []float64{c.Rate}
	for i := 0; i < len(rates); i++ {
		o := c.options()
		o.Rate, o.Window, o.Payload = rates[i], c.Window, c.Payload
		r, err := c.withServer(ctx, func(s *bench.Server) (*bench.Report, error) { return bench.Chat(ctx, s, o) })
		if err != nil {
			return err
		}
		reports = append(reports, r)
		if rates[i] == 0 {
			rates = append(rates, float64(int(r.AckedPerS/2)))
		}
	}
	if err := printReports(c.JSON, reports...); err != nil {
		return err
	}
	for _, r := range reports {
		if r.Lost+r.Duplicated+r.Disordered > 0 {
			return errors.New("messages were lost, duplicated or out of order")
		}
	}
	return nil
}

// printReports writes a table for people, or exactly one JSON object.
func printReports(asJSON bool, reports ...*bench.Report) error {
	if asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		if len(reports) == 1 {
			return enc.Encode(reports[0])
		}
		return enc.Encode(map[string]any{"runs": reports})
	}
	for _, r := range reports {
		fmt.Printf("%s %v\n", r.Scenario, r.Settings)
		if r.Acked > 0 {
			fmt.Printf("  durable messages  %10.0f /s   (%.0f frames/s)\n", r.AckedPerS, r.FramesPerS)
			fmt.Printf("  server CPU        %10.1f µs per message   (%.0f %% of a core)\n", r.Server.CPUMicrosPerMessage, r.Server.CPUPercent)
			fmt.Printf("  ack      p50/p99  %10.2f / %.2f ms   max %.1f\n", r.Ack.P50, r.Ack.P99, r.Ack.Max)
			fmt.Printf("  delivery p50/p99  %10.2f / %.2f ms   max %.1f\n", r.Delivery.P50, r.Delivery.P99, r.Delivery.Max)
			fmt.Printf("  lost %d  duplicated %d  disordered %d  rejected %d  of %d\n", r.Lost, r.Duplicated, r.Disordered, r.Rejected, r.Sent)
		} else {
			fmt.Printf("  server RSS        %10d B per connection (%.1f MiB in all)\n", r.Server.RSSPerConnection, float64(r.Server.RSSBytes)/(1<<20))
			fmt.Printf("  kernel            %10d B per connection\n", r.Server.KernelBytesPerConnection)
			fmt.Printf("  server CPU        %10.2f %% of a core\n", r.Server.CPUPercent)
		}
		fmt.Printf("  machine: %d cores, one fsync %.0f µs\n", r.Machine.Cores, r.Machine.FsyncMicros)
	}
	return nil
}
