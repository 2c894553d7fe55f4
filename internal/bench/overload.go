package bench

import (
	"context"
	"time"
)

// Overload finds what saturates the server, then offers twice as much for a
// while, and then half: what is stored meanwhile, and how long the trouble lasts.
func Overload(ctx context.Context, o Options, start Starter) (*Report, error) {
	o.Scenario, o.Friends, o.Preset = ScenarioChat, 1, "overload"
	o.Connections &^= 1
	return withServer(ctx, &o, start, func(r *run) error {
		users, err := r.s.register(ctx, r.o, r.o.Connections)
		if err != nil {
			return err
		}
		if err := r.connect(ctx, users, nil, nil); err != nil {
			return err
		}
		return r.overload(ctx)
	})
}

// phase measures for a while at a pace: 0 is the closed loop it starts with.
func (r *run) phase(ctx context.Context, name string, rate float64, settle, d time.Duration) (before, after *stats, err error) {
	r.o.progress("%s", name)
	c := command{Do: doStart}
	if rate > 0 {
		c = command{Do: doPace, Rate: rate}
	}
	if _, err := r.all(ctx, func(int) command { return c }); err != nil {
		return nil, nil, err
	}
	if err := r.pause(ctx, settle, false); err != nil {
		return nil, nil, err
	}
	if before, err = r.totals(ctx, command{Do: doCount}); err != nil {
		return nil, nil, err
	}
	if err := r.pause(ctx, d, false); err != nil {
		return nil, nil, err
	}
	after, err = r.totals(ctx, command{Do: doStats})
	return before, after, err
}

func (r *run) overload(ctx context.Context) error {
	x := &OverloadReport{Recovery: -1}
	r.r.Overload = x
	const short = 8 * time.Second
	before, after, err := r.phase(ctx, "what saturates it", 0, r.o.Warmup, short)
	if err != nil {
		return err
	}
	x.PeakPerS = float64(after.Acked-before.Acked) / short.Seconds()
	if before, after, err = r.phase(ctx, "half of it", x.PeakPerS/2, 2*time.Second, short); err != nil {
		return err
	}
	x.Before = between(before, after)

	x.OfferedPerS = 2 * x.PeakPerS
	if err := r.possible(x.OfferedPerS); err != nil {
		return err
	}
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	if before, after, err = r.phase(ctx, "twice as much", x.OfferedPerS, 0, r.o.Duration); err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	r.measured(from, to, before, after)
	r.r.Ack, r.r.Delivery = between(before, after), Latency{}
	x.GoodputPerS = r.r.AckedPerS
	x.OfPeak = x.GoodputPerS / x.PeakPerS
	if err := r.recover(ctx, x); err != nil {
		return err
	}
	return r.account(ctx)
}

// recover offers half of the peak again and waits until acks are as before.
func (r *run) recover(ctx context.Context, x *OverloadReport) error {
	r.o.progress("half of it again")
	if _, err := r.all(ctx, func(int) command { return command{Do: doPace, Rate: x.PeakPerS / 2} }); err != nil {
		return err
	}
	begin := time.Now()
	last, err := r.totals(ctx, command{Do: doStats})
	for err == nil && time.Since(begin) < 30*time.Second && x.Recovery < 0 {
		time.Sleep(250 * time.Millisecond)
		var now *stats
		if now, err = r.totals(ctx, command{Do: doStats}); err == nil {
			if l := between(last, now); l.Count > 0 && l.P50 <= max(2*x.Before.P50, 5) {
				x.Recovery = time.Since(begin).Seconds()
			}
			last = now
		}
	}
	if err != nil {
		return err
	}
	if err := r.pause(ctx, 5*time.Second, false); err != nil {
		return err
	}
	now, err := r.totals(ctx, command{Do: doRest})
	if err == nil {
		x.After = between(last, now)
	}
	return err
}

// between is the distribution of the acks that came between two looks. Its Max
// is that since the last doCount.
func between(before, after *stats) Latency {
	var h histogram
	h.add(after.Ack)
	for i, n := range before.Ack.Counts {
		h.counts[i].Add(-n)
	}
	return h.latency()
}
