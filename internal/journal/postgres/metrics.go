package postgres

import (
	"errors"
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
	outcomes *prometheus.CounterVec
	errors   *prometheus.CounterVec
	retries  prometheus.Counter
	full     prometheus.Counter
	marks    prometheus.Counter
	// lockWaits counts the statements that waited for a lock in vain.
	lockWaits prometheus.Counter
	back      prometheus.Counter
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
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "skein_journal_" + name, Help: help}, f)
	}
	seconds := prometheus.ExponentialBuckets(50e-6, 2, 16)
	m := &metrics{
		append:   histogram("append_duration_seconds", "Time of an append, from taking it to its answer.", seconds),
		commit:   histogram("commit_duration_seconds", "Time of the database's answer to a batch.", seconds),
		batch:    histogram("batch_entries", "Entries stored by an append.", prometheus.ExponentialBuckets(1, 2, 13)),
		outcomes: counters("appends_total", "Items of appends by what became of them.", "outcome"),
		errors:   counters("append_errors_total", "Appends that failed, by what is known of them.", "error"),
		retries:  counter("append_retries_total", "Batches that were run again, mostly for an id that was stored before."),
		full:     counter("full_total", "Appends refused for want of disk space."),
		marks:    counter("marks_written_total", "Marks written to the database."),

		back:      counter("history_went_back_total", "How often the database turned out to be without what this process knew to be stored."),
		lockWaits: counter("lock_timeouts_total", "Appends and writes of marks that waited for a lock in vain."),
	}
	m.all = []prometheus.Collector{
		m.append, m.commit, m.batch, m.outcomes, m.errors, m.retries, m.full, m.marks, m.lockWaits, m.back,
		gauge("connections", "Connections to the database.", func() float64 {
			return float64(j.writers.Stat().TotalConns() + j.readers.Stat().TotalConns())
		}),
		gauge("connections_used", "Connections to the database that are in use.", func() float64 {
			return float64(j.writers.Stat().AcquiredConns() + j.readers.Stat().AcquiredConns())
		}),
		gauge("locked_conversations", "Conversations whose row in the database is locked by somebody else: what is sent there is refused.", func() float64 { return float64(j.locked.count()) }),
		gauge("locked_marks", "Marks that are not written because their rows are locked by somebody else.", func() float64 { return float64(j.marksLocked.Load()) }),
		gauge("position_held_seconds", "For how long the oldest transaction of the database server, anybody's, has kept the position from passing what is stored; 0 if none does.", func() float64 { d, _ := j.held.age(); return d.Seconds() }),
		gauge("marks_waiting", "Marks that wait in memory to be written.", func() float64 { return float64(j.marks.waiting()) }),
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

func (m *metrics) committed(d time.Duration) { m.commit.Observe(d.Seconds()) }

func (m *metrics) refused(err error) {
	switch {
	case err == nil:
	case errors.Is(err, im.ErrJournalFull):
		m.full.Inc()
	case errors.Is(err, im.ErrOutcomeUnknown):
		m.errors.WithLabelValues("unknown").Inc()
	case errors.Is(err, im.ErrJournalUnavailable):
		m.errors.WithLabelValues("unavailable").Inc()
	case errors.Is(err, im.ErrAppendInvalid):
		m.errors.WithLabelValues("invalid").Inc()
	}
}

func (m *metrics) appended(out []im.Appended, d time.Duration) {
	m.append.Observe(d.Seconds())
	var n [im.TargetChanged + 1]int
	for i := range out {
		n[out[i].Status]++
	}
	if n[im.Stored] > 0 {
		m.batch.Observe(float64(n[im.Stored]))
	}
	for status, name := range map[im.AppendStatus]string{im.Stored: "stored", im.Duplicate: "duplicate", im.IDConflict: "id_conflict", im.RosterChanged: "roster_changed", im.TargetChanged: "target_changed"} {
		if n[status] > 0 {
			m.outcomes.WithLabelValues(name).Add(float64(n[status]))
		}
	}
}
