package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/skein-im/skein/internal/soak"
)

// clusterResult is what a run against a cluster prints.
type clusterResult struct {
	Fault   string  `json:"fault"`
	Rounds  int     `json:"rounds"`
	Clients int     `json:"clients"`
	Rate    float64 `json:"rate"`
	Seed    uint64  `json:"seed"`
	// Refused counts the messages that were refused for good and should not have been.
	Refused int `json:"refused"`
	// Leaked counts what was shown to, or taken from, somebody who was no member.
	Leaked int           `json:"leaked"`
	Fsync  time.Duration `json:"fsync_p50_ns"`
	// Trouble is what went wrong beside what clients see.
	Trouble  []string      `json:"trouble,omitempty"`
	NotCalm  string        `json:"not_calm,omitempty"`
	Recovery soak.Recovery `json:"recovery"`
	Check    *soak.Report  `json:"check,omitempty"`
	Faults   []soak.Moment `json:"faults"`
	gentle   bool
}

func (c *cluster) result() *clusterResult {
	r := &clusterResult{
		Fault: c.fault.name, Rounds: c.rounds, Clients: c.o.clients, Rate: c.o.rate, Seed: c.o.seed, Fsync: c.fsync,
		Trouble: c.trouble, Recovery: c.recovery, Refused: c.refused, Check: c.check, Faults: c.moments, gentle: c.fault.gentle,
	}
	if c.check != nil {
		r.Leaked = c.check.Broken[soak.Outsider]
	}
	if c.calm != nil {
		r.NotCalm = c.calm.Error()
	}
	return r
}

// verdict returns nil if the run went as it must.
func (r *clusterResult) verdict() error {
	switch {
	case r.Check == nil || !r.Check.OK() || r.NotCalm != "" || len(r.Trouble) > 0 || r.Recovery.Never > 0 || r.Refused > 0:
		return errBroken
	case r.Check.Returned == 0 && r.Check.Resets > 0:
		return fmt.Errorf("%w: %d resets of a history that went on", errBroken, r.Check.Resets)
	case r.gentle && r.Check.Rejected > 0:
		return fmt.Errorf("%w: %d messages were turned away: %v", errBroken, r.Check.Rejected, r.Check.RejectedFor)
	}
	return nil
}

// printClusters shows the results, each by itself, and more than one as a table.
func printClusters(w io.Writer, all []*clusterResult, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	if len(all) < 2 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "fault\trounds\tsent\tacked\tunknown\tfailed\tturned away\tlost\tdoubled\tdisordered\tleaked\tother\tno ack\tgoes on p50/max\tconversations\tgateway's devices\tall have all\tverdict")
	for _, r := range all {
		c := r.Check
		if c == nil {
			fmt.Fprintf(t, "%s\t%d\tnot checked\n", r.Fault, r.Rounds)
			continue
		}
		verdict := "kept"
		if err := r.verdict(); err != nil {
			verdict = err.Error()
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%v\t%s\t%s\t%s\t%s\t%s\n",
			r.Fault, r.Rounds, c.Sent, c.Acked, c.Unknown, c.Failed, c.Rejected, c.Lost, c.Duplicated, c.Disordered, r.Leaked, r.other(),
			round(c.LongestNoAck), brief(r.Recovery.Any), brief(r.Recovery.Conversation), brief(r.Recovery.Back), brief(r.Recovery.Whole), verdict)
	}
	return t.Flush()
}

// other counts the broken promises that have no column of their own, and the
// trouble.
func (r *clusterResult) other() int {
	n := len(r.Trouble) + r.Refused + r.Recovery.Never
	for i, k := range r.Check.Broken {
		switch i {
		case soak.Lost, soak.StoredTwice, soak.AppliedTwice, soak.Misordered, soak.RealTime, soak.SenderOrder, soak.Outsider:
		default:
			n += k
		}
	}
	return n
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

func brief(t soak.Times) string {
	if t.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%v/%v", round(t.P50), round(t.Max))
}

func (r *clusterResult) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row(r.Fault, "%d rounds, %d clients, %.0f msg/s, seed %d", r.Rounds, r.Clients, r.Rate, r.Seed)
	row("fsync", "%v (p50)", r.Fsync.Round(time.Microsecond))
	if c := r.Check; c != nil {
		row("messages", "%d sent, %d acked, %d failed (%d of them wrongly), %d unknown; %d connections", c.Sent, c.Acked, c.Failed, r.Refused, c.Unknown, c.Connects)
		row("unanswered", "%d by broken connections, %d turned away for now %v", c.Unanswered, c.Rejected, c.RejectedFor)
		row("applied", "%d entries on all devices", c.Applied)
		row("also", "%s", also(c))
		if c.Returned > 0 {
			row("went back", "%d times, %d acknowledged messages lost by that, %d resets", c.Returned, c.WentBack, c.Resets)
		}
		row("longest no-ack", "%v", round(c.LongestNoAck))
		row("goes on after", "p50 %v, max %v (%d faults)", round(r.Recovery.Any.P50), round(r.Recovery.Any.Max), r.Recovery.Any.N)
		row("… each conversation", "p50 %v, max %v (%d)", round(r.Recovery.Conversation.P50), round(r.Recovery.Conversation.Max), r.Recovery.Conversation.N)
		row("devices of gateways back", "p50 %v, max %v (%d)", round(r.Recovery.Back.P50), round(r.Recovery.Back.Max), r.Recovery.Back.N)
		row("all have all, after heal", "p50 %v, max %v; %d never", round(r.Recovery.Whole.P50), round(r.Recovery.Whole.Max), r.Recovery.Never)
		row("lost", "%d (%d of them from the store)", c.Lost, c.Gone)
		row("duplicated", "%d", c.Duplicated)
		row("disordered", "%d", c.Disordered)
		row("leaked", "%d", r.Leaked)
		row("other", "%d", r.other())
	}
	if r.NotCalm != "" {
		row("not calm", "%s", r.NotCalm)
	}
	switch err := r.verdict(); {
	case err != nil && r.Check != nil:
		row("verdict", "%v: %v, %d troubles", err, r.Check.Broken, len(r.Trouble))
	case err != nil:
		row("verdict", "%v", err)
	default:
		row("verdict", "every promise was kept")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range r.Trouble {
		fmt.Fprintln(w, "  ", s)
	}
	if r.Check != nil {
		for _, v := range r.Check.Violations {
			fmt.Fprintln(w, "  ", v)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
