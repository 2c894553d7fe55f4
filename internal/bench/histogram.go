package bench

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets of at most 1/32 relative width, from a
// microsecond up. Recording is one atomic add.
type histogram struct {
	counts [64 * 32]atomic.Uint64
	max    atomic.Int64
}

func bucket(us uint64) int {
	if us < 32 {
		return int(us)
	}
	shift := bits.Len64(us) - 6
	return (shift+1)*32 + int(us>>shift) - 32
}

// upper is the greatest number of microseconds in a bucket.
func upper(b int) uint64 {
	if b < 32 {
		return uint64(b)
	}
	shift := b/32 - 1
	return (uint64(b%32)+33)<<shift - 1
}

func (h *histogram) record(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d.Microseconds()))].Add(1)
	h.atLeast(int64(d))
}

func (h *histogram) atLeast(d int64) {
	for {
		m := h.max.Load()
		if d <= m || h.max.CompareAndSwap(m, d) {
			return
		}
	}
}

// reset forgets all.
func (h *histogram) reset() {
	for i := range h.counts {
		h.counts[i].Store(0)
	}
	h.max.Store(0)
}

// counted is a histogram on its way between processes.
type counted struct {
	Counts map[int]uint64 `json:"counts,omitempty"`
	Max    int64          `json:"max,omitempty"`
}

func (h *histogram) counted() counted {
	c := counted{Counts: map[int]uint64{}, Max: h.max.Load()}
	for i := range h.counts {
		if n := h.counts[i].Load(); n > 0 {
			c.Counts[i] = n
		}
	}
	return c
}

// add takes in what another process counted.
func (h *histogram) add(c counted) {
	for i, n := range c.Counts {
		h.counts[i].Add(n)
	}
	h.atLeast(c.Max)
}

// Latency is a distribution in milliseconds.
type Latency struct {
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func (h *histogram) latency() Latency {
	var total uint64
	var sum float64
	for i := range h.counts {
		n := h.counts[i].Load()
		total += n
		sum += float64(n) * float64(upper(i))
	}
	at := func(q float64) float64 {
		want, sum := uint64(q*float64(total)), uint64(0)
		for i := range h.counts {
			if sum += h.counts[i].Load(); sum > want {
				return float64(upper(i)) / 1000
			}
		}
		return 0
	}
	return Latency{Count: total, Mean: sum / float64(max(total, 1)) / 1000, P50: at(0.50), P99: at(0.99), Max: float64(h.max.Load()) / 1e6}
}
