package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Comparison is two builds of the server under the same loads, in turns, in
// one run: what a noisy machine can tell.
type Comparison struct {
	Base  string        `json:"base"`
	Head  string        `json:"head"`
	Loads []CompareLoad `json:"loads"`
}

// CompareLoad is one load.
type CompareLoad struct {
	Name string  `json:"name"`
	Base Compare `json:"base"`
	Head Compare `json:"head"`
	// Ratios are head ÷ base: below 1 is better, for the rate above 1. Those of the CPU
	// time and of the rate are medians of the rounds' ratios: the two runs of a round
	// follow each other, and what a machine shared with others does changes more slowly
	// than that. Of the CPU time the least and the greatest of them tell what a median is
	// worth.
	CPURatio    float64 `json:"cpu_ratio"`
	CPULeast    float64 `json:"cpu_ratio_least"`
	CPUGreatest float64 `json:"cpu_ratio_greatest"`
	AllocsRatio float64 `json:"allocs_ratio"`
	RateRatio   float64 `json:"rate_ratio"`
}

// Compare are the figures of one build.
type Compare struct {
	CPU    []float64 `json:"cpu_us_per_message"`
	Allocs []float64 `json:"allocs_per_message"`
	Rate   []float64 `json:"acked_per_s"`
}

// CompareBuilds runs chat at saturation and at a fixed rate against both
// binaries, rounds times each, taking turns. headSet are settings (key=value) of
// head alone: an older base need not know them.
func CompareBuilds(ctx context.Context, o Options, base, head string, headSet []string, rate float64, rounds int) (*Comparison, error) {
	if !processesTell {
		return nil, errUntold
	}
	c := &Comparison{Base: base, Head: head}
	for _, load := range []struct {
		name string
		rate float64
	}{{"saturation", 0}, {fmt.Sprintf("%g msg/s", rate), rate}} {
		l := CompareLoad{Name: load.name}
		for round := range rounds {
			turns := []bool{false, true}
			if round%2 == 1 {
				slices.Reverse(turns)
			}
			for _, isHead := range turns {
				binary, x := base, &l.Base
				if isHead {
					binary, x = head, &l.Head
				}
				o.Rate, o.GapMax = load.rate, 0
				r, err := Chat(ctx, o, func(ctx context.Context, set ...string) (*Server, error) {
					if isHead {
						set = append(set, headSet...)
					}
					return StartServer(ctx, binary, o.Log, set...)
				}, false)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", binary, err)
				}
				if broken := r.Failed(); broken != "" {
					return nil, fmt.Errorf("%s: %s", binary, broken)
				}
				x.CPU = append(x.CPU, r.Server.CPUMicrosPerMessage)
				x.Allocs = append(x.Allocs, r.Server.Allocs)
				x.Rate = append(x.Rate, r.AckedPerS)
				o.progress("%s  %s: %.1f µs, %.1f allocations per message, %.0f msg/s", load.name, binary, r.Server.CPUMicrosPerMessage, r.Server.Allocs, r.AckedPerS)
			}
		}
		cpu := ratios(l.Head.CPU, l.Base.CPU)
		l.CPURatio, l.CPULeast, l.CPUGreatest = median(cpu), slices.Min(cpu), slices.Max(cpu)
		l.AllocsRatio = median(l.Head.Allocs) / median(l.Base.Allocs)
		l.RateRatio = median(ratios(l.Head.Rate, l.Base.Rate))
		c.Loads = append(c.Loads, l)
	}
	return c, nil
}

// ratios divides figures of the same rounds.
func ratios(head, base []float64) []float64 {
	out := make([]float64, len(head))
	for i := range head {
		out[i] = head[i] / base[i]
	}
	return out
}

// Worse tells where head costs more than the limits allow, "" if nowhere.
// CPU time is noisy, allocations are not.
func (c *Comparison) Worse(cpu, allocs float64) string {
	for _, l := range c.Loads {
		switch {
		case l.CPURatio > cpu:
			return fmt.Sprintf("%s: %.2f times the CPU time of the base, %.2f is allowed", l.Name, l.CPURatio, cpu)
		case l.AllocsRatio > allocs:
			return fmt.Sprintf("%s: %.2f times the allocations of the base, %.2f is allowed", l.Name, l.AllocsRatio, allocs)
		}
	}
	return ""
}

// Table writes the comparison for people.
func (c *Comparison) Table(w io.Writer) error {
	for _, l := range c.Loads {
		_, err := fmt.Fprintf(w, "%-14s CPU µs/message %.1f → %.1f (%.2f, rounds %.2f to %.2f)   allocations/message %.1f → %.1f (%.2f)   msg/s %.0f → %.0f (%.2f)\n",
			l.Name, median(l.Base.CPU), median(l.Head.CPU), l.CPURatio, l.CPULeast, l.CPUGreatest, median(l.Base.Allocs), median(l.Head.Allocs), l.AllocsRatio,
			median(l.Base.Rate), median(l.Head.Rate), l.RateRatio)
		if err != nil {
			return err
		}
	}
	return nil
}
