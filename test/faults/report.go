package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/skein-im/skein/internal/soak"
)

// result is what a run prints.
type result struct {
	Fault   string  `json:"fault"`
	Rounds  int     `json:"rounds"`
	Clients int     `json:"clients"`
	Rate    float64 `json:"rate"`
	Seed    uint64  `json:"seed"`
	Tags    string  `json:"build_tags,omitempty"`
	// RestartP50 and RestartMax are from the start of the process to ready.
	RestartP50 time.Duration `json:"restart_p50_ns"`
	RestartMax time.Duration `json:"restart_max_ns"`
	Fsync      time.Duration `json:"fsync_p50_ns"`
	// Killed are the processes of devices that were killed.
	Killed int `json:"killed,omitempty"`
	// Shortened are the starts that were refused because the server noticed a loss.
	Shortened []string `json:"shortened,omitempty"`
	// NotCalm tells why the end was not calm in time.
	NotCalm string `json:"not_calm,omitempty"`
	// Check is absent when the server refused to go on.
	Check *soak.Report `json:"check,omitempty"`
}

func (r *run) result() *result {
	out := &result{
		Fault: r.name, Rounds: r.struck, Clients: r.o.clients, Rate: r.o.rate, Seed: r.o.seed, Tags: r.o.tags,
		Fsync: r.fsync, Killed: r.killed, Shortened: r.shortened, Check: r.check,
	}
	if n := len(r.restarts); n > 0 {
		slices.Sort(r.restarts)
		out.RestartP50, out.RestartMax = r.restarts[n/2], r.restarts[n-1]
	}
	if r.calm != nil {
		out.NotCalm = r.calm.Error()
	}
	return out
}

// lost reports whether acknowledged messages are gone.
func (r *result) lost() bool {
	return len(r.Shortened) > 0 || (r.Check != nil && r.Check.Lost > 0)
}

// verdict returns nil if the run went as it must.
func (r *result) verdict(expectLoss bool) error {
	switch {
	case expectLoss && !r.lost():
		return errNoLoss
	case !expectLoss && r.Check != nil && r.Check.Returned == 0 && r.Check.Resets > 0:
		return fmt.Errorf("%w: %d resets of a history that went on", errBroken, r.Check.Resets)
	case !expectLoss && r.Killed > 0 && r.Check != nil && (r.Check.Accepted == 0 || r.Check.Started == 0):
		return fmt.Errorf("%w: %d processes killed, %d began again with something to send", errBroken, r.Killed, r.Check.Started)
	case !expectLoss && (r.lost() || r.NotCalm != "" || r.Check == nil || !r.Check.OK()):
		return errBroken
	}
	return nil
}

func (r *result) print(w io.Writer, o options) error {
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row(r.Fault, "%d rounds, %d clients, %.0f msg/s, seed %d", r.Rounds, r.Clients, r.Rate, r.Seed)
	if r.Tags != "" {
		row("built with", "%s", r.Tags)
	}
	row("restart", "p50 %v, max %v (one fsync %v)", r.RestartP50.Round(time.Millisecond), r.RestartMax.Round(time.Millisecond), r.Fsync.Round(time.Microsecond))
	for _, s := range r.Shortened {
		row("noticed", "%s", s)
	}
	if r.NotCalm != "" {
		row("not calm", "%s", r.NotCalm)
	}
	if c := r.Check; c != nil {
		row("messages", "%d sent, %d acknowledged, %d refused, %d unknown", c.Sent, c.Acked, c.Failed, c.Unknown)
		row("on the way", "%d resent after a lost connection, %d told to come later", c.Unanswered, c.Rejected)
		row("devices", "%d connections, %d entries applied", c.Connects, c.Applied)
		row("also", "%s", also(c))
		if r.Killed > 0 {
			row("processes", "%d killed, %d began again", r.Killed, c.Started)
			row("their outboxes", "%d messages on disk before they were sent, %d of them not answered when the process was killed", c.Accepted, c.Carried)
			row("told again", "%d entries in all, %d after one start at most", c.ToldAgain, c.MostAgain)
		}
		if c.Returned > 0 {
			row("put back", "%d times, %d acknowledged messages lost by that, %d resets", c.Returned, c.WentBack, c.Resets)
		}
		row("longest no-ack", "%v", c.LongestNoAck.Round(time.Millisecond))
		row("lost", "%d (%d of them from the store)", c.Lost, c.Gone)
		row("duplicated", "%d", c.Duplicated)
		row("disordered", "%d", c.Disordered)
	}
	switch err := r.verdict(o.expectLoss); {
	case err != nil && r.Check != nil && len(r.Check.Broken) > 0:
		row("verdict", "%v: %v", err, r.Check.Broken)
	case err != nil:
		row("verdict", "%v", err)
	case o.expectLoss:
		row("verdict", "the loss was noticed, as it must be")
	default:
		row("verdict", "every promise was kept")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Check != nil {
		r.printViolations(w, o.expectLoss)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// also is what happened beside the messages.
func also(c *soak.Report) string {
	return fmt.Sprintf("%d old messages sent again, %d recalled, %d joins, %d other answers over HTTP", c.Resent, c.Recalled, c.Joined, c.Facts)
}

// printViolations shows them; of an expected loss, a few.
func (r *result) printViolations(w io.Writer, lossOnly bool) {
	const few = 5
	shown := 0
	for _, v := range r.Check.Violations {
		if lossOnly && (v.Invariant != soak.Lost || shown == few) {
			continue
		}
		shown++
		fmt.Fprintln(w, "  ", v)
	}
	if lossOnly && r.Check.Lost > shown {
		fmt.Fprintf(w, "   … and %d more\n", r.Check.Lost-shown)
	}
}
