package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/skein-im/skein/wire"
)

// StormReport is a storm of messages and reactions in one group.
type StormReport struct {
	// Entries were stored in Seconds, Reactions of them are reactions.
	Entries   uint64  `json:"entries"`
	Reactions uint64  `json:"reactions"`
	Seconds   float64 `json:"seconds"`
	// Frames and Bytes are what each of the group's devices got, on average.
	Frames float64 `json:"frames_per_device"`
	Bytes  float64 `json:"bytes_per_device"`
	// Ack is of those who sent into the storm, Delivery to each device, LastMember to
	// the last one of each load process.
	Ack        Latency `json:"ack_ms"`
	Delivery   Latency `json:"delivery_ms"`
	LastMember Latency `json:"last_member_ms"`
	// CPUSeconds and Writes to sockets are the server's during the storm, with what the
	// direct chats take.
	CPUSeconds float64 `json:"server_cpu_s"`
	Writes     float64 `json:"server_writes"`
	// Alone and Beside are the acks of direct chats without and beside the storm.
	Alone    Latency `json:"alone_ack_ms"`
	Beside   Latency `json:"beside_ack_ms"`
	P50Ratio float64 `json:"p50_ratio"`
	P99Ratio float64 `json:"p99_ratio"`
}

// Storm is a group of GroupSize members, all online, in which StormRate entries a
// second come from as many of them, Reactions of them (a share) reactions to one
// message, for Duration; and direct chats of the other connections beside it, at Rate.
func Storm(ctx context.Context, o Options, start Starter) (*Report, error) {
	o.Scenario, o.Friends, o.Groups, o.GroupOnline = ScenarioStorm, 1, 1, o.GroupSize
	pairs := o.Connections - o.GroupSize
	if o.GroupSize < 2 || o.GroupSize%2 != 0 || pairs < 2 || pairs%2 != 0 || o.Rate <= 0 || o.StormRate <= 0 {
		return nil, fmt.Errorf("a storm needs an even number of members and of direct chatters, and rates")
	}
	return withServer(ctx, &o, start, func(r *run) error { return r.surge(ctx) })
}

func (r *run) surge(ctx context.Context) error {
	users, err := r.s.register(ctx, r.o, r.o.Connections)
	if err != nil {
		return err
	}
	members := users[:r.o.GroupSize]
	name, adding, err := r.s.group(ctx, "storm", members)
	if err != nil {
		return err
	}
	r.r.AddMembersMS = float64(adding.Microseconds()) / 1000
	if err := r.connect(ctx, users, []groupPlan{{Conversation: name, Online: len(members)}}, nil); err != nil {
		return err
	}
	if _, err := r.every(ctx, doStart); err != nil {
		return err
	}
	if _, err := r.all(ctx, func(int) command { return command{Do: doArm} }); err != nil {
		return err
	}
	if _, err := r.workers[0].do(ctx, command{Do: doFire}); err != nil { // what is reacted to
		return err
	}
	if _, err := r.every(ctx, doLast); err != nil {
		return err
	}
	if err := r.offer(ctx, r.o.Rate, r.o.Warmup); err != nil {
		return err
	}
	r.o.progress("  nobody else")
	if _, err := r.totals(ctx, command{Do: doCount}); err != nil {
		return err
	}
	if err := r.wait(ctx, r.o.Duration); err != nil {
		return err
	}
	alone, err := r.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	return r.surges(ctx, alone)
}

// surges measures the storm itself.
func (r *run) surges(ctx context.Context, alone *stats) error {
	r.o.progress("  the storm")
	before, err := r.totals(ctx, command{Do: doCount})
	if err != nil {
		return err
	}
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	if _, err := r.every(ctx, doStorm); err != nil {
		return err
	}
	if err := r.wait(ctx, r.o.Duration+time.Second); err != nil { // the last ones are delivered
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
	latency := func(c counted) Latency {
		var h histogram
		h.add(c)
		return h.latency()
	}
	n := float64(r.o.GroupSize)
	x := &StormReport{
		Entries: after.Stormed - before.Stormed, Reactions: after.Reacted - before.Reacted, Seconds: r.o.Duration.Seconds(),
		Frames: float64(after.Heard-before.Heard) / n, Bytes: float64(after.HeardBytes-before.HeardBytes) / n,
		Ack: latency(after.Crowd), Delivery: latency(after.Delivery), LastMember: latency(after.LastMember),
		CPUSeconds: (to.cpu - from.cpu).Seconds(), Writes: to.writes - from.writes,
		Alone: latency(alone.Direct), Beside: latency(after.Direct),
	}
	x.P50Ratio, x.P99Ratio = x.Beside.P50/x.Alone.P50, x.Beside.P99/x.Alone.P99
	r.r.Storm = x
	return r.account(ctx)
}

// storm has this worker's members of the group send their share of the storm, at
// random times. No member sends twice before all have sent. made is what it is made of.
func (t *traffic) storm(made string) {
	o := &t.plan.Options
	var members []*user
	for _, u := range t.users {
		if len(u.groups) > 0 {
			members = append(members, u)
		}
	}
	rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	n := int(o.StormRate * o.Duration.Seconds() * float64(len(members)) / float64(o.GroupSize))
	now := time.Now()
	for i := range n {
		u := members[i%len(members)]
		what := (*user).say
		switch {
		case made == stormReacts:
			what = (*user).reactTo
		case made == stormEdits:
			what = (*user).reword
		case made == "" && rand.Float64() < o.Reactions:
			what = (*user).react
		}
		t.times.add(u, now.Add(time.Duration(rand.Int64N(int64(o.Duration)))), what)
	}
	t.remember.Store(made == stormSays)
	t.loop.ring()
}

// say sends a message into the storm.
func (u *user) say(at time.Time) {
	u.t.stormed.Add(1)
	now := time.Now()
	u.sendTo(u.groups[0], at, now)
	u.write(now)
}

// react reacts to the group's first message, each time with another kind.
func (u *user) react(at time.Time) {
	u.t.stormed.Add(1)
	u.t.reacted.Add(1)
	s := u.groups[0]
	id := u.nextID(at)
	u.n++
	u.wait = append(u.wait, sending{id, at, s})
	s.underway++
	u.t.sent.Add(1)
	u.put(wire.NewClientFrame(&wire.Amend{
		Conversation: s.topic.name, Id: id[:], Target: s.target(),
		What: &wire.Amend_React{React: &wire.React{Reaction: fmt.Sprintf("r%d", u.n%20)}},
	}))
	u.write(time.Now())
}

// target is the seq of the first message that was seen in the conversation.
func (s *stream) target() uint64 {
	s.topic.mu.Lock()
	defer s.topic.mu.Unlock()
	return s.topic.base
}

// covers notes that a stretch up to a seq was told: what it does not list amended
// something (SPEC §6.8).
func (s *stream) covers(last uint64) {
	for seq := s.next; seq <= last; seq++ {
		if !s.has(seq) {
			s.take(seq, 0)
		}
	}
}

// surged writes what the storm found.
func (r *Report) surged(line func(name, format string, args ...any)) {
	x := r.Storm
	if x == nil {
		return
	}
	line("storm", "%10d entries in %.0f s, %d of them reactions", x.Entries, x.Seconds, x.Reactions)
	line("each device", "%10.1f frames, %.0f bytes", x.Frames, x.Bytes)
	line("server", "%10.1f s of CPU, %.0f writes to sockets", x.CPUSeconds, x.Writes)
	line("acks of the storm", "%10.2f / %.2f ms p50/p99", x.Ack.P50, x.Ack.P99)
	line("a device has it", "%10.2f / %.2f ms p50/p99; the last one %.2f / %.2f, max %.1f", x.Delivery.P50, x.Delivery.P99, x.LastMember.P50, x.LastMember.P99, x.LastMember.Max)
	line("direct chats", "%10.2f / %.2f ms ack p50/p99 alone, %.2f / %.2f beside it: %.2f and %.2f of that", x.Alone.P50, x.Alone.P99, x.Beside.P50, x.Beside.P99, x.P50Ratio, x.P99Ratio)
}
