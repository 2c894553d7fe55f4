package bench

import (
	"fmt"
	"io"
	"strings"
)

// Table writes the report for people.
func (r *Report) Table(w io.Writer) error {
	var b strings.Builder
	r.table(&b, "")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) table(b *strings.Builder, title string) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %-20s "+format+"\n", append([]any{name}, args...)...)
	}
	if title == "" {
		title = r.Scenario
	}
	o := &r.Settings
	fmt.Fprintf(b, "%s %s  %d connections, %s, %s\n", title, r.Preset, r.Connections, o.Transport, o.Codec)
	if len(r.LastMember) > 0 {
		line("last member", "%.1f ms  (rounds %.1f)", median(r.LastMember), r.LastMember)
	} else if r.Acked > 0 {
		line("durable messages", "%10.0f /s   (%.0f frames/s)", r.AckedPerS, r.FramesPerS)
	}
	r.costs(line)
	r.steps(b)
	if g := r.Groups; g != nil {
		line("direct chats", "%10.2f / %.2f ms ack p50/p99", g.Direct.P50, g.Direct.P99)
		line("last of a group", "%10.2f / %.2f ms p50/p99, max %.1f, of %d messages", g.LastMember.P50, g.LastMember.P99, g.LastMember.Max, g.LastMember.Count)
	}
	r.stalls(line)
	r.surged(line)
	r.rosters(line)
	r.amended(line)
	r.searched(line)
	r.retained(line)
	r.uploaded(line)
	r.exportedAll(line)
	r.erasedAll(line)
	if v := r.Overload; v != nil {
		line("offered twice", "%10.0f /s of %.0f: %.0f were stored, %.2f of the peak; %d rejected", v.OfferedPerS, v.PeakPerS, v.GoodputPerS, v.OfPeak, r.Rejected)
		line("at half before", "%10.2f / %.2f ms ack p50/p99, after %.2f / %.2f; back to normal after %.1f s", v.Before.P50, v.Before.P99, v.After.P50, v.After.P99, v.Recovery)
	}
	if v := r.Backup; v != nil {
		for _, x := range []struct {
			name string
			run  *BackupRun
			acks *Latency
		}{{"backup", &v.First, &v.During}, {"another", &v.Second, &v.Again}} {
			line(x.name, "%10.1f s, %d entries, %d MB, %d MB of them new   acks meanwhile p50/p99 %.2f / %.2f ms", x.run.Seconds, x.run.Entries, x.run.Bytes>>20, x.run.NewBytes>>20, x.acks.P50, x.acks.P99)
		}
		line("before it", "%10.2f / %.2f ms ack p50/p99; the p99 beside a backup is %.2f of that", v.Before.P50, v.Before.P99, v.P99Ratio)
		line("drill", "%10.1f s   restore %.1f s, ready after %.1f s", v.DrillSeconds, v.RestoreSeconds, v.ReadySeconds)
	}
	if s := r.Resume; s != nil {
		line("all in sync", "%10.2f s   (a client from its dial p50 %.0f, p99 %.0f ms; from its Hello p50 %.1f, p99 %.1f ms)", s.InSyncSeconds, s.PerClient.P50, s.PerClient.P99, s.Sync.P50, s.Sync.P99)
		line("answer to a Hello", "%10.0f bytes, at most %d; %.2f round trips; missing %d", s.BytesMean, s.BytesMax, s.RoundTrips, s.Missing)
		line("server CPU", "%10.1f µs per client", s.ServerCPUus)
	}
	if r.Server.KernelBytesPerConnection != 0 {
		line("memory", "%10d B RSS per connection (%.1f MiB in all), %d B in the kernel", r.Server.RSSPerConnection, float64(r.Server.RSSBytes)/(1<<20), r.Server.KernelBytesPerConnection)
	}
	if r.Server.Fsyncs > 0 {
		line("journal", "%10d fsyncs, %.1f messages each; the witness %d", r.Server.Fsyncs, float64(r.Acked)/float64(r.Server.Fsyncs), r.Server.WitnessFsyncs)
	}
	if r.Floor != nil {
		r.Floor.table(b, "the floor under the same load:")
		line("ratio to the floor", "%10.2f   (CPU per message %.2f of it)", r.FloorRatio, r.FloorCPU)
	}
	if r.HalfRate != nil {
		r.HalfRate.table(b, "at half the rate:")
	}
	line("machine", "%d cores, one fsync %.0f µs", r.Machine.Cores, r.Machine.FsyncMicros)
}

// costs are the lines of what things took.
func (r *Report) costs(line func(name, format string, args ...any)) {
	if r.AddMembersMS > 0 {
		line("adding the members", "%10.1f ms", r.AddMembersMS)
	}
	if r.Bound != "" {
		line("bounded by", "%s", r.Bound)
	}
	if l := r.Login; l != nil {
		line("a login", "%10.1f µs, %.1f context switches   (%d in %.1f s)", l.Cost.CPUMicros, l.Cost.Switches, r.Connections, l.Seconds)
		if l.Cost.Database != nil {
			line("", "%s", l.Cost.Database)
		}
	}
	if r.Acked > 0 {
		line("server CPU", "%10.1f µs per message   (%.0f %% of a core; load generator %.1f µs)", r.Server.CPUMicrosPerMessage, r.Server.CPUPercent, r.ClientCPU)
		line("context switches", "%10.2f per message   (load generator %.2f)", r.Server.Switches, r.ClientSwitches)
		if r.Server.Database != nil && len(r.Steps) == 0 {
			line("database", "%s per message", r.Server.Database)
		}
		if r.Server.Allocs > 0 {
			line("per message", "%10.1f allocations of %.0f bytes, %.2f writes to sockets", r.Server.Allocs, r.Server.AllocBytes, r.Server.Writes)
		}
		line("ack p50/p99", "%10.2f / %.2f ms   max %.1f", r.Ack.P50, r.Ack.P99, r.Ack.Max)
		if r.Delivery.Count > 0 {
			line("delivery p50/p99", "%10.2f / %.2f ms   max %.1f", r.Delivery.P50, r.Delivery.P99, r.Delivery.Max)
		}
		line("of every message", "lost %d  duplicated %d  disordered %d  (sent %d, rejected %d, unanswered %d, pulled %d, pushed afterwards %d)", r.Lost, r.Duplicated, r.Disordered, r.Sent, r.Rejected, r.Unanswered, r.Pulled, r.Overtaken)
		if r.Late > 0 {
			line("late", "%d came by comparing heads, when all was over", r.Late)
		}
		if r.RefusedForNow > 0 {
			line("marks and pulls", "%d refused for the time being", r.RefusedForNow)
		}
	} else if r.Scenario == ScenarioIdle {
		line("server CPU", "%10.2f %% of a core", r.Server.CPUPercent)
		x := r.Silence
		line("a client in 30 s", "%10.1f µs, %.2f context switches; it pings %.2f times and is told to sync %.3f times", x.Server.CPUMicros, x.Server.Switches, x.Pings, x.Resyncs)
		if x.Server.Database != nil {
			line("", "%s; without clients, in all: %s", x.Server.Database, x.Nobody.Database)
		}
	}
}

// Table writes the report for people.
func (r *StoreReport) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "store %v\n", r.Settings)
	row := func(name string, s *StoreStep) {
		fmt.Fprintf(&b, "  %-9s batch %5d  resends %3.0f %%  %9.0f /s  %6.1f µs CPU  append p50/p99/max %.2f/%.2f/%.1f ms", name, s.Batch, 100*s.Resends, s.PerS, s.CPUMicros, s.Append.P50, s.Append.P99, s.Append.Max)
		if s.FloorPerS > 0 {
			fmt.Fprintf(&b, "  floor %9.0f /s %.1f µs, ratio %.2f", s.FloorPerS, s.FloorMicros, s.FloorRatio)
		}
		b.WriteString(s.server() + "\n")
	}
	for i := range r.Preload {
		row("preload", &r.Preload[i])
	}
	for i := range r.Steps {
		row("step", &r.Steps[i])
	}
	if p := r.Paced; p != nil {
		fmt.Fprintf(&b, "  paced     %.0f /s  ack p50/p99/max %.2f/%.2f/%.1f ms\n", p.Rate, p.Ack.P50, p.Ack.P99, p.Ack.Max)
	}
	for _, x := range r.Reads {
		fmt.Fprintf(&b, "  read      %-5s %d entries  %.0f /s  %.1f µs\n", x.Kind, x.Entries, x.PerS, x.Micros)
	}
	fmt.Fprintf(&b, "  reopened after %.0f ms, ready after %.0f ms; %.0f bytes on disk per message; lost %d  duplicated %d  disordered %d\n", r.ReopenMs, r.ReadyMs, r.BytesPerMessage, r.Lost, r.Duplicated, r.Disordered)
	fmt.Fprintf(&b, "  machine: %d cores, one fsync %.0f µs\n", r.Machine.Cores, r.Machine.FsyncMicros)
	_, err := io.WriteString(w, b.String())
	return err
}
