package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Starter gives a scenario its server; the scenario stops it.
type Starter func(ctx context.Context, set ...string) (*Server, error)

// run is one load on one server.
type run struct {
	o       *Options
	s       *Server
	workers []worker
	r       *Report
	base    usage // before anybody connected
	kernel  int64

	users []userPlan // who is connected
	sends float64    // a second that the server lets each send; 0: as many as it likes
}

// withServer starts a server, or the floor, and runs f on it.
func withServer(ctx context.Context, o *Options, start Starter, f func(*run) error) (*Report, error) {
	s, err := start(ctx, fmt.Sprintf("groups.max_members=%d", max(10_000, o.GroupSize)))
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	r := &run{o: o, s: s, r: newReport(o)}
	defer r.close()
	if r.base, err = s.usage(ctx); err != nil {
		return nil, err
	}
	if r.kernel, err = kernelBytes(); err != nil {
		return nil, err
	}
	if err := f(r); err != nil {
		return nil, err
	}
	r.r.Machine.FsyncMicros, err = fsyncMicros()
	return r.r, err
}

func (r *run) close() {
	var all sync.WaitGroup
	for _, w := range r.workers {
		all.Go(w.close)
	}
	all.Wait()
}

// connect shares the users out to workers and logs them in.
func (r *run) connect(ctx context.Context, users []userPlan, groups []groupPlan, pool []string) error {
	targets, err := r.s.targets(r.o.Transport)
	if err != nil {
		return err
	}
	parts, crowd := r.shares(len(users))
	var commands []command
	for i, p := range parts {
		p := &plan{Options: *r.o, Targets: targets, First: p.first, Users: users[p.first:p.end], Groups: groups, Pool: pool}
		if i > 0 {
			p.Source = fmt.Sprintf("127.0.1.%d", i) // source ports of its own
		}
		commands = append(commands, command{Do: doConnect, Plan: p})
		var w worker = &local{}
		if len(parts) > 1 {
			nice := 0
			if i < crowd {
				nice = r.o.CrowdNice
			}
			if w, err = startRemote(r.o, nice); err != nil {
				return err
			}
		}
		r.workers = append(r.workers, w)
	}
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	answers, err := r.all(ctx, func(i int) command { return commands[i] })
	if err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	r.users, r.sends = users, answers[0].Sends
	if r.o.Scenario != ScenarioResume { // its clients come one after the other, and write
		r.r.Login = &LoginReport{Seconds: to.at.Sub(from.at).Seconds(), Cost: r.s.cost(from, to, float64(len(users)))}
		r.o.progress("  %d connections logged in after %.1f s, %d load processes", len(users), r.r.Login.Seconds, len(r.workers))
	}
	if most := r.most(1e12); r.o.pace() == 0 && most < 60_000 && !r.o.quiet() {
		r.o.progress("  %s: no more can be reached", r.bound())
	}
	return r.possible(r.o.pace())
}

// part is the users [first, end) of one load process.
type part struct{ first, end int }

// shares shares n users out to load processes, friends to the same one. The first
// crowd of them have the storm's group alone, if it is to give way.
func (r *run) shares(n int) (parts []part, crowd int) {
	among := func(from, to int) {
		m := workersFor(r.o, to-from)
		share := ((to-from+m-1)/m + 15) &^ 15
		for first := from; first < to; first += share {
			parts = append(parts, part{first, min(first+share, to)})
		}
	}
	if r.o.CrowdNice == 0 {
		among(0, n)
		return parts, 0
	}
	among(0, r.o.GroupSize)
	crowd = len(parts)
	among(r.o.GroupSize, n)
	return parts, crowd
}

// all has every worker do something, at the same time.
func (r *run) all(ctx context.Context, c func(i int) command) ([]*answer, error) {
	answers, errs := make([]*answer, len(r.workers)), make([]error, len(r.workers))
	var wg sync.WaitGroup
	for i, w := range r.workers {
		wg.Go(func() { answers[i], errs[i] = w.do(ctx, c(i)) })
	}
	wg.Wait()
	return answers, errors.Join(errs...)
}

func (r *run) every(ctx context.Context, do string) ([]*answer, error) {
	return r.all(ctx, func(int) command { return command{Do: do} })
}

// totals adds the workers' stats up.
func (r *run) totals(ctx context.Context, c command) (*stats, error) {
	answers, err := r.all(ctx, func(int) command { return c })
	if err != nil {
		return nil, err
	}
	sum := &stats{Finished: true}
	var ack, delivery, direct, crowd, last histogram
	for _, a := range answers {
		s := a.Stats
		for _, x := range []struct{ to, from *uint64 }{
			{&sum.Sent, &s.Sent}, {&sum.Acked, &s.Acked}, {&sum.Rejected, &s.Rejected}, {&sum.Delivered, &s.Delivered},
			{&sum.Pulled, &s.Pulled}, {&sum.Refused, &s.Refused}, {&sum.Overtaken, &s.Overtaken}, {&sum.Duplicated, &s.Duplicated}, {&sum.Disordered, &s.Disordered},
			{&sum.Unanswered, &s.Unanswered}, {&sum.Lost, &s.Lost}, {&sum.Late, &s.Late}, {&sum.Frames, &s.Frames}, {&sum.Pings, &s.Pings},
			{&sum.Heard, &s.Heard}, {&sum.HeardBytes, &s.HeardBytes}, {&sum.Stormed, &s.Stormed}, {&sum.Reacted, &s.Reacted}, {&sum.Resyncs, &s.Resyncs},
		} {
			*x.to += *x.from
		}
		sum.Finished = sum.Finished && s.Finished
		sum.CPU += s.CPU
		sum.Switches += s.Switches
		ack.add(s.Ack)
		delivery.add(s.Delivery)
		direct.add(s.Direct)
		crowd.add(s.Crowd)
		last.add(s.LastMember)
	}
	sum.Ack, sum.Delivery, sum.Direct, sum.Crowd, sum.LastMember = ack.counted(), delivery.counted(), direct.counted(), crowd.counted(), last.counted()
	return sum, nil
}

// traffic sends, measures after the warm-up, and accounts for every message.
func (r *run) traffic(ctx context.Context) error {
	var from usage
	var before *stats
	count := func() (err error) {
		if from, err = r.s.usage(ctx); err == nil {
			before, err = r.totals(ctx, command{Do: doCount})
		}
		return err
	}
	if r.o.Warmup == 0 { // the first message counts
		if err := count(); err != nil {
			return err
		}
	}
	if _, err := r.every(ctx, doStart); err != nil {
		return err
	}
	if r.o.Warmup > 0 {
		if err := r.pause(ctx, r.o.Warmup, false); err != nil {
			return err
		}
		if err := count(); err != nil {
			return err
		}
	}
	if err := r.pause(ctx, r.o.Duration, r.o.Messages > 0); err != nil {
		return err
	}
	after, err := r.totals(ctx, command{Do: doRest})
	if err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	r.measured(from, to, before, after)
	return r.account(ctx)
}

// measured fills in what the counted time showed.
func (r *run) measured(from, to usage, before, after *stats) {
	x := r.r
	x.Sent, x.Acked, x.Delivered = after.Sent-before.Sent, after.Acked-before.Acked, after.Delivered-before.Delivered
	x.Seconds = to.at.Sub(from.at).Seconds()
	x.AckedPerS = float64(x.Acked) / x.Seconds
	x.FramesPerS = float64(after.Frames-before.Frames) / x.Seconds
	var delivery histogram
	delivery.add(after.Delivery)
	x.Ack, x.Delivery = between(before, after), delivery.latency()
	if r.o.Scenario == ScenarioOnline && r.o.Groups > 0 {
		var direct, last histogram
		direct.add(after.Direct)
		last.add(after.LastMember)
		x.Groups = &GroupReport{Direct: direct.latency(), LastMember: last.latency()}
	}
	n := float64(max(x.Acked, 1))
	step := r.step(r.o.pace(), from, to, before, after)
	if len(x.Steps) > 0 {
		x.Steps = append(x.Steps, step)
	}
	x.Server.CPUMicrosPerMessage, x.Server.Switches, x.Server.Database = step.Server.CPUMicros, step.Server.Switches, step.Server.Database
	x.Server.CPUPercent = 100 * (to.cpu - from.cpu).Seconds() / x.Seconds
	x.Server.RSSBytes = to.rss
	x.Server.RSSPerConnection = (to.rss - r.base.rss) / int64(max(x.Connections, 1))
	x.Server.Fsyncs, x.Server.WitnessFsyncs, x.Server.Commits = uint64(to.fsyncs-from.fsyncs), uint64(to.witness-from.witness), uint64(to.commits-from.commits)
	x.Server.Allocs, x.Server.AllocBytes = (to.allocs-from.allocs)/n, (to.allocBytes-from.allocBytes)/n
	x.Server.Writes = (to.writes - from.writes) / n
	x.ClientCPU, x.ClientSwitches = step.Client.CPUMicros, step.Client.Switches
	if most := r.most(1e12); r.o.pace() == 0 && r.o.Scenario != ScenarioBroadcast && x.AckedPerS > 0.9*most {
		x.Bound = r.bound()
	}
}

// account stops the traffic and finds out what became of every message of the
// whole run, the warm-up included.
func (r *run) account(ctx context.Context) error {
	answers, err := r.every(ctx, doStop)
	if err != nil {
		return err
	}
	promised := map[string][]ackedSeq{}
	for _, a := range answers {
		for name, p := range a.Promised {
			promised[name] = append(promised[name], p...)
		}
	}
	final, err := r.totals(ctx, command{Do: doLost, Promised: promised})
	if err != nil {
		return err
	}
	x := r.r
	x.Lost, x.Duplicated, x.Disordered = final.Lost, final.Duplicated, final.Disordered
	x.RefusedForNow, x.Late = final.Refused, final.Late
	x.Rejected, x.Unanswered, x.Pulled, x.Overtaken = final.Rejected, final.Unanswered, final.Pulled, final.Overtaken
	return nil
}

// fill stores messages as fast as they are answered, until there are so many in all, and
// tells how many there are.
func (r *run) fill(ctx context.Context, messages uint64) (uint64, error) {
	r.o.progress("%d messages", messages)
	// Not at Options.Rate, which is for what follows: 5 M messages took 83 minutes.
	if _, err := r.all(ctx, func(int) command { return command{Do: doPace} }); err != nil {
		return 0, err
	}
	for {
		s, err := r.totals(ctx, command{Do: doStats})
		if err != nil {
			return 0, err
		}
		if s.Acked >= messages {
			return s.Acked, nil
		}
		if err := r.pause(ctx, 200*time.Millisecond, false); err != nil {
			return 0, err
		}
	}
}

// pause waits, telling the rate every second; until tells that it also ends
// when every user has sent its messages and has the answers.
func (r *run) pause(ctx context.Context, d time.Duration, until bool) error {
	end, step := time.Now().Add(d), time.Second
	if until {
		step /= 10
	}
	told, last := time.Now(), uint64(0)
	for {
		wait := min(time.Until(end), step)
		if wait <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		s, err := r.totals(ctx, command{Do: doStats})
		if err != nil {
			return err
		}
		if since := time.Since(told); since >= time.Second {
			if last > 0 {
				r.o.progress("  %.0f msg/s", float64(s.Acked-last)/since.Seconds())
			}
			told, last = time.Now(), s.Acked
		}
		if until && s.Finished {
			return nil
		}
	}
}

// memory fills in what the connections cost.
func (r *run) memory(ctx context.Context) error {
	now, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	kernel, err := kernelBytes()
	if err != nil {
		return err
	}
	n := int64(max(r.r.Connections, 1))
	r.r.Server.RSSBytes = now.rss
	r.r.Server.RSSPerConnection = (now.rss - r.base.rss) / n
	// Both ends of every connection are on this machine.
	r.r.Server.KernelBytesPerConnection = (kernel - r.kernel) / (2 * n)
	return nil
}

// compare runs the floor under the same load and fills in the ratio.
func compare(ctx context.Context, o *Options, r *Report, load func(*run) error) error {
	if !o.Floor {
		return nil
	}
	o.progress("the floor: what this machine allows")
	floor, err := withServer(ctx, o, func(ctx context.Context, _ ...string) (*Server, error) {
		return StartFloor(ctx, o.Lab, o.Log)
	}, load)
	if err != nil {
		return err
	}
	floor.Scenario = "floor"
	r.Floor = floor
	if x := floor.Server.CPUMicrosPerMessage; x > 0 {
		r.FloorCPU = r.Server.CPUMicrosPerMessage / x
	}
	switch {
	case len(floor.LastMember) > 0:
		r.FloorRatio = median(r.LastMember) / median(floor.LastMember)
	case floor.AckedPerS > 0:
		r.FloorRatio = r.AckedPerS / floor.AckedPerS
	}
	return nil
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
