package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/term"

	"github.com/skein-im/skein/internal/config"
)

type topCmd struct {
	privatePort `embed:""`
	Every       config.Duration `help:"How often the figures are asked for." default:"2s"`
	Once        bool            `help:"Print the figures of one interval and end, for scripts."`
}

// Run shows the figures of a running server until it is interrupted.
func (c *topCmd) Run(ctx context.Context) error {
	if time.Duration(c.Every) < 100*time.Millisecond {
		return fmt.Errorf("--every must be 100ms or more")
	}
	before, err := c.measure(ctx)
	if err != nil {
		return err
	}
	clear := !c.Once && term.IsTerminal(int(os.Stdout.Fd()))
	tick := time.NewTicker(time.Duration(c.Every))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := c.measure(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		var screen bytes.Buffer
		if clear {
			screen.WriteString("\x1b[H\x1b[2J")
		}
		printTop(&screen, before, now)
		if _, err := os.Stdout.Write(screen.Bytes()); err != nil {
			return err
		}
		if c.Once {
			return nil
		}
		before = now
	}
}

// figures are the metrics of a moment.
type figures struct {
	at    time.Time
	all   map[string]*dto.MetricFamily
	ready string
}

func (c *topCmd) measure(ctx context.Context) (*figures, error) {
	status, body, err := c.get(ctx, "/metrics", false)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s/metrics answered %d: is --admin the private port?", c.Admin, status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil || all["skein_build_info"] == nil {
		return nil, fmt.Errorf("%s/metrics are no figures of a server of this version: is --admin the private port?", c.Admin)
	}
	f := &figures{at: time.Now(), all: all, ready: "ready"}
	if status, _, err := c.get(ctx, "/readyz", false); err != nil || status != http.StatusOK {
		f.ready = "NOT READY (see /readyz?verbose)"
	}
	return f, nil
}

// sum adds up the values of a metric whose labels have all of these, in pairs; there is
// false when this server has no such metric.
func (f *figures) sum(name string, labels ...string) (v float64, there bool) {
	family := f.all[name]
	for _, m := range family.GetMetric() {
		if !has(m, labels) {
			continue
		}
		there = true
		switch {
		case m.Counter != nil:
			v += m.Counter.GetValue()
		case m.Gauge != nil:
			v += m.Gauge.GetValue()
		case m.Histogram != nil:
			v += float64(m.Histogram.GetSampleCount())
		}
	}
	return v, there
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		found := false
		for _, l := range m.Label {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// quantile is a quantile of what a histogram counted between two moments, as the upper end
// of the bucket that it lies in; NaN: nothing was counted.
func quantile(q float64, before, now *figures, name string) float64 {
	count := map[float64]float64{}
	total := 0.0
	for sign, f := range map[float64]*figures{-1: before, 1: now} {
		for _, m := range f.all[name].GetMetric() {
			total += sign * float64(m.GetHistogram().GetSampleCount())
			for _, b := range m.GetHistogram().GetBucket() {
				count[b.GetUpperBound()] += sign * float64(b.GetCumulativeCount())
			}
		}
	}
	if total <= 0 {
		return math.NaN()
	}
	best := math.Inf(1)
	for end, n := range count {
		if n >= q*total && end < best {
			best = end
		}
	}
	return best
}

// printTop writes one screen.
func printTop(w io.Writer, before, now *figures) {
	seconds := now.at.Sub(before.at).Seconds()
	rate := func(name string, labels ...string) string {
		a, _ := before.sum(name, labels...)
		b, there := now.sum(name, labels...)
		if !there {
			return "–"
		}
		return number(max(b-a, 0)/seconds) + "/s"
	}
	value := func(name string, labels ...string) string {
		v, there := now.sum(name, labels...)
		if !there {
			return "–"
		}
		return number(v)
	}
	size := func(name string) string {
		v, there := now.sum(name)
		if !there {
			return "–"
		}
		return megabytes(int64(v))
	}
	after := func(q float64, name string) string { return millis(quantile(q, before, now, name)) }
	line := func(title string, pairs ...string) {
		fmt.Fprintf(w, "%-12s", title)
		for i := 0; i < len(pairs); i += 2 {
			fmt.Fprintf(w, "  %s %s", pairs[i], pairs[i+1])
		}
		fmt.Fprintln(w)
	}
	a, _ := before.sum("process_cpu_seconds_total")
	b, _ := now.sum("process_cpu_seconds_total")
	started, _ := now.sum("process_start_time_seconds")
	line("skein", "version", now.label("skein_build_info", "version"), "up", time.Since(time.Unix(int64(started), 0)).Round(time.Second).String(), "is", now.ready)
	line("process", "CPU", fmt.Sprintf("%.0f%%", 100*(b-a)/seconds), "memory", size("process_resident_memory_bytes"), "heap", size("go_memstats_heap_inuse_bytes"), "files", value("process_open_fds")+" of "+value("process_max_fds"), "goroutines", value("go_goroutines"))
	line("connections", "open", value("skein_gateway_connections"), "users", value("skein_gateway_users"), "groups", value("skein_gateway_groups"), "new", rate("skein_gateway_connects_total"), "ended", rate("skein_gateway_disconnects_total"))
	line("messages", "stored", rate("skein_messaging_accepted_total"), "refused", rate("skein_messaging_rejected_total"), "resent", rate("skein_messaging_duplicates_total"))
	line("acks", "p50", after(0.5, "skein_messaging_send_duration_seconds"), "p99", after(0.99, "skein_messaging_send_duration_seconds"), "delivered p99", after(0.99, "skein_gateway_deliver_duration_seconds"))
	line("journal", "commits", rate("skein_journal_commit_duration_seconds"), "p99", after(0.99, "skein_journal_commit_duration_seconds"), "on disk", size("skein_journal_disk_bytes"), "log", size("skein_journal_wal_bytes"))
	line("calls", "http", rate("skein_api_requests_total"), "p99", after(0.99, "skein_api_request_duration_seconds"), "sign-ins", rate("skein_account_requests_total", "operation", "login"), "of them wrong", rate("skein_account_requests_total", "operation", "login", "result", "bad_credentials"))
	line("queues", "promises", value("skein_outbox_pending_promises"), "followers behind", value("skein_feed_lag_positions"), "in the cluster", value("skein_cluster_sends_underway"))
	if nodes, there := now.sum("skein_cluster_nodes"); there {
		line("cluster", "nodes", number(nodes), "lost", rate("skein_cluster_lost_total"), "repeated", rate("skein_cluster_repeated_sends_total"), "stalls", rate("skein_cluster_stalls_total"))
	}
}

func (f *figures) label(metric, name string) string {
	for _, m := range f.all[metric].GetMetric() {
		for _, l := range m.Label {
			if l.GetName() == name {
				return l.GetValue()
			}
		}
	}
	return "–"
}

func number(v float64) string {
	switch {
	case v >= 1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v/1e6), ".0") + "M"
	case v >= 1e4:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func millis(s float64) string {
	switch {
	case math.IsNaN(s):
		return "–"
	case math.IsInf(s, 1):
		return "over the last bucket"
	case s < 0.01:
		return fmt.Sprintf("≤ %.2g ms", s*1e3)
	}
	return fmt.Sprintf("≤ %.0f ms", s*1e3)
}
