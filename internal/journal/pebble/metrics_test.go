package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
)

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
