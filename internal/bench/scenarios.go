package bench

import (
	"context"
	"fmt"
	"time"
)

// Chat is one-to-one chat, acks and received marks on: at a rate, with a gap
// between each connection's messages, or in a closed loop. With half, the same
// again at half of what was reached.
func Chat(ctx context.Context, o Options, start Starter, half bool) (*Report, error) {
	o.Scenario, o.Friends = ScenarioChat, 1
	o.Connections &^= 1
	if o.Connections < 2 {
		return nil, fmt.Errorf("chat needs two connections or more")
	}
	load := func(r *run) error {
		users, err := r.s.register(ctx, r.o, r.o.Connections)
		if err != nil {
			return err
		}
		if err := r.connect(ctx, users, nil, nil); err != nil {
			return err
		}
		if r.o.pace() == 0 && r.o.Messages == 0 {
			if err := r.paced(ctx); err != nil {
				return err
			}
		}
		return r.traffic(ctx)
	}
	report, err := withServer(ctx, &o, start, load)
	if err != nil {
		return nil, err
	}
	if err := compare(ctx, &o, report, load); err != nil {
		return nil, err
	}
	if half {
		again := o
		again.Rate, again.Floor = report.AckedPerS/2, false
		o.progress("the same at half that rate")
		if report.HalfRate, err = withServer(ctx, &again, start, load); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// Idle logs users in and leaves them alone: memory per connection and the CPU
// that heartbeats cost.
func Idle(ctx context.Context, o Options, start Starter) (*Report, error) {
	if !processesTell {
		return nil, errUntold
	}
	o.Scenario = ScenarioIdle
	return withServer(ctx, &o, start, func(r *run) error { return r.idle(ctx) })
}

// halfMinute is after what time a silent client pings.
const halfMinute = 30 * time.Second

func (r *run) idle(ctx context.Context) error {
	x := &SilenceReport{}
	r.r.Silence = x
	alone := r.base
	if r.s.database != nil {
		r.o.progress("  nobody for %s", r.o.Duration/4)
		if err := r.wait(ctx, r.o.Duration/4); err != nil {
			return err
		}
		now, err := r.s.usage(ctx)
		if err != nil {
			return err
		}
		x.Nobody = r.s.cost(alone, now, now.at.Sub(alone.at).Seconds()/halfMinute.Seconds())
	}
	users, err := r.s.register(ctx, r.o, r.o.Connections)
	if err != nil {
		return err
	}
	if err := r.connect(ctx, users, nil, nil); err != nil {
		return err
	}
	if _, err := r.every(ctx, doStart); err != nil {
		return err
	}
	if err := r.wait(ctx, min(r.o.Duration/10, 5*time.Second)); err != nil { // what follows a login is done
		return err
	}
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	before, err := r.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	r.o.progress("  idle for %s", r.o.Duration)
	if err := r.wait(ctx, r.o.Duration); err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	after, err := r.totals(ctx, command{Do: doStats}) // a connection that broke is an error
	if err != nil {
		return err
	}
	r.r.Seconds = to.at.Sub(from.at).Seconds()
	r.r.Server.CPUPercent = 100 * (to.cpu - from.cpu).Seconds() / r.r.Seconds
	clients := float64(len(users)) * r.r.Seconds / halfMinute.Seconds()
	x.Server = r.s.cost(from, to, clients).without(x.Nobody, float64(len(users)))
	x.Pings, x.Resyncs = float64(after.Pings-before.Pings)/clients, float64(after.Resyncs-before.Resyncs)/clients
	return r.memory(ctx)
}

// Broadcast is one group with everybody in it: one member sends, and what
// counts is when the last member has the message.
func Broadcast(ctx context.Context, o Options, start Starter) (*Report, error) {
	o.Scenario, o.Groups, o.GroupSize, o.GroupOnline = ScenarioBroadcast, 1, o.Connections, o.Connections
	if o.Connections < 2 {
		return nil, fmt.Errorf("a broadcast needs two members or more")
	}
	load := func(r *run) error { return r.broadcast(ctx) }
	report, err := withServer(ctx, &o, start, load)
	if err != nil {
		return nil, err
	}
	return report, compare(ctx, &o, report, load)
}

func (r *run) broadcast(ctx context.Context) error {
	users, err := r.s.register(ctx, r.o, r.o.Connections)
	if err != nil {
		return err
	}
	name, adding, err := r.s.group(ctx, "broadcast", users)
	if err != nil {
		return err
	}
	r.r.AddMembersMS = float64(adding.Microseconds()) / 1000
	if err := r.connect(ctx, users, []groupPlan{{Conversation: name, Online: len(users)}}, nil); err != nil {
		return err
	}
	if err := r.memory(ctx); err != nil {
		return err
	}
	if _, err := r.every(ctx, doStart); err != nil {
		return err
	}
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	before, err := r.totals(ctx, command{Do: doCount})
	if err != nil {
		return err
	}
	for n := range uint32(r.o.Rounds + 1) { // the first is the warm-up
		ms, err := r.round(ctx, n)
		if err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
		r.o.progress("  round %d: the last of %d members after %.1f ms", n, len(users)-1, ms)
		if n > 0 {
			r.r.LastMember = append(r.r.LastMember, ms)
		}
		time.Sleep(300 * time.Millisecond) // receipts and marks of the round end
	}
	after, err := r.totals(ctx, command{Do: doRest})
	if err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	memory := r.r.Server
	r.measured(from, to, before, after)
	r.r.Server.RSSBytes, r.r.Server.RSSPerConnection, r.r.Server.KernelBytesPerConnection = memory.RSSBytes, memory.RSSPerConnection, memory.KernelBytesPerConnection
	return r.account(ctx)
}

// round has the first member send message n and returns when the last had it.
func (r *run) round(ctx context.Context, n uint32) (ms float64, err error) {
	if _, err := r.all(ctx, func(int) command { return command{Do: doArm, Number: n} }); err != nil {
		return 0, err
	}
	fired, err := r.workers[0].do(ctx, command{Do: doFire})
	if err != nil {
		return 0, err
	}
	answers, err := r.every(ctx, doLast)
	if err != nil {
		return 0, err
	}
	last := fired.At
	for _, a := range answers {
		last = max(last, a.At)
	}
	return float64(last-fired.At) / 1e6, nil
}

// Online is many users of whom few write: random messages at a total rate
// between friends and in groups of which a part is online.
func Online(ctx context.Context, o Options, start Starter) (*Report, error) {
	o.Scenario = ScenarioOnline
	switch {
	case o.Rate <= 0:
		return nil, fmt.Errorf("online needs a rate")
	case o.Friends != 1 && o.Friends != 3 && o.Friends != 7 && o.Friends != 15:
		return nil, fmt.Errorf("friends: want 1, 3, 7 or 15")
	case o.GroupOnline > o.GroupSize || o.GroupOnline > o.Connections:
		return nil, fmt.Errorf("%d members of a group online: it has %d members, and there are %d connections", o.GroupOnline, o.GroupSize, o.Connections)
	}
	return withServer(ctx, &o, start, func(r *run) error {
		users, err := r.s.register(ctx, r.o, o.Connections+o.GroupSize-o.GroupOnline)
		if err != nil {
			return err
		}
		groups, err := r.groups(ctx, users)
		if err != nil {
			return err
		}
		if err := r.connect(ctx, users[:o.Connections], groups, nil); err != nil {
			return err
		}
		return r.traffic(ctx)
	})
}

// groups makes the groups: the connected members of each are a run of users,
// the others any that are not in the run.
func (r *run) groups(ctx context.Context, users []userPlan) ([]groupPlan, error) {
	o := r.o
	var groups []groupPlan
	for g := range o.Groups {
		first := g * o.GroupOnline % o.Connections
		var members, rest []userPlan
		for i, u := range users {
			if i < o.Connections && (i-first+o.Connections)%o.Connections < o.GroupOnline {
				members = append(members, u)
			} else if i >= o.Connections {
				rest = append(rest, u)
			}
		}
		members = append(members, rest[:min(len(rest), o.GroupSize-len(members))]...)
		name, adding, err := r.s.group(ctx, fmt.Sprintf("group %d", g), members)
		if err != nil {
			return nil, err
		}
		r.r.AddMembersMS = float64(adding.Microseconds()) / 1000
		groups = append(groups, groupPlan{Conversation: name, First: first, Online: o.GroupOnline})
	}
	return groups, nil
}
