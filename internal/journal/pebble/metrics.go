package pebble

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// metrics are the journal's figures. They are always counted, and shown when a
// registerer was given.
type metrics struct {
	all      []prometheus.Collector
	append   prometheus.Histogram
	commit   prometheus.Histogram
	batch    prometheus.Histogram
	bytes    prometheus.Counter
	outcomes *prometheus.CounterVec
	lookups  prometheus.Counter
	fsyncs   prometheus.Counter
	full     prometheus.Counter
	stalls   *prometheus.CounterVec
}

func newMetrics(j *Journal) *metrics {
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "skein_journal_" + name, Help: help, Buckets: buckets})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "skein_journal_" + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skein_journal_" + name, Help: help}, []string{label})
	}
	seconds := prometheus.ExponentialBuckets(50e-6, 2, 16)
	m := &metrics{
		append:   histogram("append_duration_seconds", "Time of an append, from taking it to its answer.", seconds),
		commit:   histogram("commit_duration_seconds", "Time of a commit with its fsync.", seconds),
		batch:    histogram("batch_entries", "Entries stored by an append.", prometheus.ExponentialBuckets(1, 2, 13)),
		bytes:    counter("written_bytes_total", "Bytes handed to the write-ahead log."),
		outcomes: counters("appends_total", "Items of appends by what became of them.", "outcome"),
		lookups:  counter("id_lookups_total", "Ids that were looked up in the store; others were new for certain."),
		fsyncs:   counter("fsyncs_total", "Commits that were synced."),
		full:     counter("full_total", "Appends refused for want of disk space."),
		stalls:   counters("write_stalls_total", "Times the store made writers wait for its background work.", "reason"),
	}
	m.all = []prometheus.Collector{
		m.append, m.commit, m.batch, m.bytes, m.outcomes, m.lookups, m.fsyncs, m.full, m.stalls, engineCollector{j},
	}
	return m
}

func (m *metrics) register(r prometheus.Registerer) {
	if r == nil {
		return
	}
	for _, c := range m.all {
		r.MustRegister(c)
	}
}

func (m *metrics) unregister(r prometheus.Registerer) {
	if r == nil {
		return
	}
	for _, c := range m.all {
		r.Unregister(c)
	}
}

func (m *metrics) fsync()                    { m.fsyncs.Inc() }
func (m *metrics) refusedFull()              { m.full.Inc() }
func (m *metrics) stalled(reason string)     { m.stalls.WithLabelValues(reason).Inc() }
func (m *metrics) committed(d time.Duration) { m.commit.Observe(d.Seconds()) }

func (m *metrics) appended(out []im.Appended, stored, bytes int, d time.Duration) {
	m.append.Observe(d.Seconds())
	if stored > 0 {
		m.batch.Observe(float64(stored))
		m.bytes.Add(float64(bytes))
		m.outcomes.WithLabelValues("stored").Add(float64(stored))
	}
	if stored == len(out) {
		return
	}
	for i := range out {
		switch out[i].Status {
		case im.Duplicate:
			m.outcomes.WithLabelValues("duplicate").Inc()
		case im.IDConflict:
			m.outcomes.WithLabelValues("id_conflict").Inc()
		case im.RosterChanged:
			m.outcomes.WithLabelValues("roster_changed").Inc()
		}
	}
}

// engineCollector shows figures of Pebble, taken when they are asked for.
type engineCollector struct{ j *Journal }

type engineFigure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value float64
}

func (c engineCollector) figures() []engineFigure {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("skein_journal_"+name, help, nil, nil)
	}
	var disk, debt, amp, wal, compactions, position, witness float64
	if c.j.enter() == nil {
		if c.j.db != nil && c.j.failed.Load() == nil {
			m := c.j.db.Metrics()
			disk, debt = float64(m.DiskSpaceUsage()), float64(m.Compact.EstimatedDebt)
			amp, wal = float64(m.ReadAmp()), float64(m.WAL.Size)
			compactions, position = float64(m.Compact.Count), float64(c.j.position())
			witness = float64(c.j.witness.syncs.Load())
		}
		c.j.life.RUnlock()
	}
	return []engineFigure{
		{desc("disk_bytes", "Bytes the store takes on disk."), prometheus.GaugeValue, disk},
		{desc("wal_bytes", "Bytes in the live write-ahead logs."), prometheus.GaugeValue, wal},
		{desc("compaction_debt_bytes", "Bytes that wait to be compacted."), prometheus.GaugeValue, debt},
		{desc("read_amplification", "Files a read has to look into, at most."), prometheus.GaugeValue, amp},
		{desc("compactions_total", "Compactions since the start."), prometheus.CounterValue, compactions},
		{desc("witness_fsyncs_total", "Times the witness was written and synced."), prometheus.CounterValue, witness},
		{desc("position", "Position of the last durable append."), prometheus.GaugeValue, position},
	}
}

func (c engineCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range c.figures() {
		ch <- f.desc
	}
}

func (c engineCollector) Collect(ch chan<- prometheus.Metric) {
	for _, f := range c.figures() {
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value)
	}
}
