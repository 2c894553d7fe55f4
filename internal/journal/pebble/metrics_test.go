package pebble

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

// TestMetrics: the figures are there under their names while the journal is
// open, and a journal opened after it may register its own.
func TestMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	fs := vfs.NewMem()
	for range 2 {
		j := open(t, fs, func(o *Options) { o.Registerer = r })
		if _, err := appendOne(j, message("grp:g", 1)); err != nil {
			t.Fatal(err)
		}
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, f := range families {
			names[f.GetName()] = true
			if !strings.HasPrefix(f.GetName(), "skein_journal_") {
				t.Errorf("a metric is called %s", f.GetName())
			}
		}
		for _, want := range []string{"skein_journal_commit_duration_seconds", "skein_journal_batch_entries", "skein_journal_fsyncs_total", "skein_journal_appends_total", "skein_journal_disk_bytes", "skein_journal_position"} {
			if !names[want] {
				t.Errorf("no metric %s", want)
			}
		}
		closeJournal(t, j)
	}
	if families, err := r.Gather(); err != nil || len(families) != 0 {
		t.Errorf("after Close: %d metrics, %v", len(families), err)
	}
}

// TestCloseLeavesNothing: no goroutine stays, calls are refused, closing twice
// is harmless.
func TestCloseLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	j := open(t, vfs.NewMem())
	mustAppend(t, j, "grp:g", 1, 3)
	closeJournal(t, j)
	closeJournal(t, j)
	if _, err := appendOne(j, message("grp:g", 4)); err == nil {
		t.Error("a closed journal stored something")
	}
	if _, err := j.Read(t.Context(), "grp:g", 0, true, 1); err == nil {
		t.Error("a closed journal was read")
	}
}

// TestLookups: ids that grow are never looked up, whoever sends them, also
// after a restart; only others are.
func TestLookups(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, 100)
	if n := counterValue(j.metrics.lookups); n != 0 {
		t.Errorf("%v look-ups for growing ids", n)
	}
	closeJournal(t, j)
	j = open(t, fs)
	mustAppend(t, j, "grp:g", 101, 200)
	if n := counterValue(j.metrics.lookups); n != 0 {
		t.Errorf("%v look-ups for growing ids after a restart", n)
	}
	if _, err := appendOne(j, message("grp:g", 50)); err != nil {
		t.Fatal(err)
	}
	if n := counterValue(j.metrics.lookups); n != 1 {
		t.Errorf("%v look-ups for a resend, want 1", n)
	}
	closeJournal(t, j)
}

// A server that was told to stop hung for ever: unregistering asks the
// collectors what they are, the journal's asks the journal, and Close held the
// lock it needs.
func TestCloseUnregistersMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	register := func(o *Options) { o.Registerer = r }
	fs := vfs.NewMem()
	j := open(t, fs, register)
	if families, err := r.Gather(); err != nil || len(families) == 0 {
		t.Fatal(families, err)
	}
	closeJournal(t, j)
	if families, err := r.Gather(); err != nil || len(families) != 0 {
		t.Errorf("after Close: %v, %v", families, err)
	}
	again := open(t, fs, register)
	closeJournal(t, j) // a second time: the metrics are another journal's now
	if families, err := r.Gather(); err != nil || len(families) == 0 {
		t.Errorf("after the second Close: %v, %v", families, err)
	}
	closeJournal(t, again)
}
