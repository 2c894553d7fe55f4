package gateway

import "time"

// rateClass is a bucket of the command table.
type rateClass uint8

const (
	classNone rateClass = iota
	classSend
	classMark
	classRead
	classCall
	classSignal
	rateClasses
)

// floodFactor times a bucket's burst rejected in a row ends the connection.
const floodFactor = 10

// rule is a Rate in the form the buckets use.
type rule struct {
	interval int64 // nanoseconds a token takes
	depth    int64 // nanoseconds a full bucket holds
	flood    uint32
}

func newRules(r Rates) (rules [rateClasses]rule) {
	set := func(c rateClass, r Rate) {
		interval := max(int64(float64(time.Second)/r.PerSecond), 1)
		rules[c] = rule{interval: interval, depth: interval * int64(r.Burst), flood: uint32(floodFactor * r.Burst)}
	}
	set(classSend, r.Sends)
	set(classMark, r.Marks)
	set(classRead, r.Reads)
	set(classCall, r.Calls)
	set(classSignal, r.Signals)
	return rules
}

// bucket is a token bucket kept as the time at which it will be full again
// (GCRA): no goroutine, one number. It belongs to the session's goroutine.
type bucket struct {
	full     int64 // Unix nanoseconds
	rejected uint32
}

// take asks for a token. When there is none it tells how long to wait, and
// whether so many were refused that the peer does not listen.
func (b *bucket) take(r *rule, now int64) (wait time.Duration, flood bool) {
	if b.full <= now {
		b.full = now
		b.rejected = 0
	}
	if over := b.full + r.interval - now - r.depth; over > 0 {
		b.rejected++
		return time.Duration(over), b.rejected > r.flood
	}
	b.full += r.interval
	return 0, false
}
