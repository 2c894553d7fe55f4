package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

// Cost is what one of something took: a message, a login, a silent client for half
// a minute.
type Cost struct {
	CPUMicros float64 `json:"cpu_us"`
	// Switches between threads, which is what a low rate mostly costs.
	Switches float64       `json:"context_switches"`
	Database *DatabaseCost `json:"database,omitempty"`
}

// DatabaseCost is the same of the whole PostgreSQL server, whatever it did it for.
type DatabaseCost struct {
	// Queries are statements without those that begin and end transactions; Counted
	// is false if the server does not count them (pg_stat_statements).
	Queries      float64 `json:"queries"`
	Counted      bool    `json:"queries_counted"`
	Transactions float64 `json:"transactions"`
	WALBytes     float64 `json:"wal_bytes"`
	CPUMicros    float64 `json:"cpu_us"` // 0 if the server is not on this machine
}

func (d *DatabaseCost) String() string {
	queries := "queries unknown (no pg_stat_statements)"
	if d.Counted {
		queries = fmt.Sprintf("%.2f queries", d.Queries)
	}
	return fmt.Sprintf("%s, %.2f transactions, %.0f bytes of WAL, %.1f µs CPU", queries, d.Transactions, d.WALBytes, d.CPUMicros)
}

// cost is what the server did between two looks, for each of n.
func (s *Server) cost(from, to usage, n float64) Cost {
	n = max(n, 1)
	c := Cost{CPUMicros: float64((to.cpu - from.cpu).Microseconds()) / n, Switches: (to.switches - from.switches) / n}
	if d := s.database; d != nil {
		c.Database = &DatabaseCost{
			Queries: (to.database.queries - from.database.queries) / n, Counted: d.counts,
			Transactions: (to.database.commits - from.database.commits) / n,
			WALBytes:     (to.database.wal - from.database.wal) / n,
			CPUMicros:    float64((to.database.cpu - from.database.cpu).Microseconds()) / n,
		}
	}
	return c
}

// without takes off what would have been done anyway, shared by n.
func (c Cost) without(other Cost, n float64) Cost {
	c.CPUMicros -= other.CPUMicros / n
	c.Switches -= other.Switches / n
	if c.Database != nil && other.Database != nil {
		d, o := *c.Database, other.Database
		d.Queries, d.Transactions = d.Queries-o.Queries/n, d.Transactions-o.Transactions/n
		d.WALBytes, d.CPUMicros = d.WALBytes-o.WALBytes/n, d.CPUMicros-o.CPUMicros/n
		c.Database = &d
	}
	return c
}

// Step is a pace and what it costs, per message.
type Step struct {
	// Rate is messages per second that were meant; 0: as many as were answered.
	Rate      float64 `json:"rate"`
	AckedPerS float64 `json:"acked_per_s"`
	Server    Cost    `json:"server_per_message"`
	Client    Cost    `json:"client_per_message"`
	// FsyncsPerS are those of commits, WitnessPerS those of the file that remembers
	// how far the journal reached.
	FsyncsPerS  float64 `json:"fsyncs_per_s"`
	WitnessPerS float64 `json:"witness_fsyncs_per_s"`
	Ack         Latency `json:"ack_ms"`
}

func (r *run) step(rate float64, from, to usage, before, after *stats) Step {
	n, seconds := float64(after.Acked-before.Acked), to.at.Sub(from.at).Seconds()
	return Step{
		Rate: rate, AckedPerS: n / seconds, Server: r.s.cost(from, to, n),
		Client: Cost{
			CPUMicros: (after.CPU - before.CPU) * 1e6 / max(n, 1),
			Switches:  (after.Switches - before.Switches) / max(n, 1),
		},
		FsyncsPerS: (to.fsyncs - from.fsyncs) / seconds, WitnessPerS: (to.witness - from.witness) / seconds,
		Ack: between(before, after),
	}
}

// paced measures the options' steps, the slowest first, on a server that has not
// been under load: what it tidies up after that would count. The first message of
// each conversation costs more than the others, so all have had theirs.
func (r *run) paced(ctx context.Context) error {
	if len(r.o.Steps) == 0 {
		return nil
	}
	const first = 3000
	each := 8 * float64(len(r.users)) * float64(max(r.o.Friends, 1)) / 2 // one or more in nearly all of them
	if err := r.offer(ctx, min(first, r.most(first)), seconds(each/first)); err != nil {
		return err
	}
	for _, rate := range r.o.Steps {
		if rate > r.most(rate) {
			r.o.progress("  %g msg/s is left out: %s", rate, r.bound())
			continue
		}
		d := r.o.Duration / 2
		r.o.progress("  at %g msg/s", rate)
		if err := r.offer(ctx, rate, min(d/4, 2*time.Second)); err != nil {
			return err
		}
		from, err := r.s.usage(ctx)
		if err != nil {
			return err
		}
		before, err := r.totals(ctx, command{Do: doCount})
		if err != nil {
			return err
		}
		if err := r.wait(ctx, d); err != nil {
			return err
		}
		after, err := r.totals(ctx, command{Do: doRest})
		if err != nil {
			return err
		}
		to, err := r.s.usage(ctx)
		if err != nil {
			return err
		}
		r.r.Steps = append(r.r.Steps, r.step(rate, from, to, before, after))
	}
	return nil
}

// offer sets a pace and lets it be for a while.
func (r *run) offer(ctx context.Context, rate float64, d time.Duration) error {
	if _, err := r.all(ctx, func(int) command { return command{Do: doPace, Rate: rate} }); err != nil {
		return err
	}
	return r.wait(ctx, d)
}

// wait does nothing for a while; looking on costs, too.
func (r *run) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// most is how much of a rate the server lets these users send, with some room: who
// sends at random sends more at times.
func (r *run) most(rate float64) float64 {
	if r.sends == 0 {
		return rate
	}
	return min(rate, 0.9*r.sends*float64(len(r.users)))
}

// bound says what the server allows, and what would be enough.
func (r *run) bound() string {
	return fmt.Sprintf("%d users may send some %.0f msg/s, the server's gateway.send_rate being %g a second for each", len(r.users), r.most(1e12), r.sends)
}

// possible is an error if the server would refuse what is to be sent: better told
// before than found out.
func (r *run) possible(rate float64) error {
	if rate <= r.most(rate) {
		return nil
	}
	return fmt.Errorf("%g msg/s cannot be: %s; want %.0f users or more", rate, r.bound(), math.Ceil(rate/(0.9*r.sends)))
}

// pace is what the options ask for in all, 0: a closed loop.
func (o *Options) pace() float64 {
	if o.GapMax > 0 && o.Rate == 0 {
		return float64(o.Connections) / ((o.GapMin + o.GapMax).Seconds() / 2)
	}
	return o.Rate
}

// steps writes the paces beneath each other.
func (r *Report) steps(b *strings.Builder) {
	if len(r.Steps) == 0 {
		return
	}
	fmt.Fprintf(b, "  %-20s %9s %11s %9s %11s %9s %9s %10s %16s\n", "per message, at", "msg/s", "server µs", "switches", "client µs", "switches", "fsyncs/s", "witness/s", "ack p50/p99 ms")
	for _, s := range r.Steps {
		name := "saturation"
		if s.Rate > 0 {
			name = fmt.Sprintf("%g /s", s.Rate)
		}
		fmt.Fprintf(b, "  %-20s %9.0f %11.1f %9.2f %11.1f %9.2f %9.0f %10.0f %16s\n", name, s.AckedPerS, s.Server.CPUMicros, s.Server.Switches,
			s.Client.CPUMicros, s.Client.Switches, s.FsyncsPerS, s.WitnessPerS, fmt.Sprintf("%.2f/%.2f", s.Ack.P50, s.Ack.P99))
		if s.Server.Database != nil {
			fmt.Fprintf(b, "  %-20s %s\n", "", s.Server.Database)
		}
	}
}
