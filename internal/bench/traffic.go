package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// plan is what one worker does.
type plan struct {
	Options Options `json:"options"`
	// Targets are the gateways; user i connects to Targets[i mod n], from Source.
	Targets []string `json:"targets"`
	Source  string   `json:"source,omitempty"`
	// First is the number, among all, of this worker's first user.
	First  int         `json:"first"`
	Users  []userPlan  `json:"users"`
	Groups []groupPlan `json:"groups,omitempty"`
	// Rest of a resume: who the users write to.
	Pool []string `json:"pool,omitempty"`
}

type userPlan struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// groupPlan is a group: the users from First on, Online of them in all, connect.
type groupPlan struct {
	Conversation string `json:"conversation"`
	First        int    `json:"first"`
	Online       int    `json:"online"`
}

// stats is what a worker counted since its start.
type stats struct {
	Sent       uint64  `json:"sent"`
	Acked      uint64  `json:"acked"`
	Rejected   uint64  `json:"rejected"`
	Refused    uint64  `json:"refused"`
	Delivered  uint64  `json:"delivered"`
	Pulled     uint64  `json:"pulled"`
	Overtaken  uint64  `json:"overtaken"`
	Duplicated uint64  `json:"duplicated"`
	Disordered uint64  `json:"disordered"`
	Unanswered uint64  `json:"unanswered"`
	Lost       uint64  `json:"lost"`
	Late       uint64  `json:"late"`
	Frames     uint64  `json:"frames"`
	Heard      uint64  `json:"heard"` // frames that members of groups got, and their bytes
	HeardBytes uint64  `json:"heard_bytes"`
	Stormed    uint64  `json:"stormed"` // entries of a storm
	Reacted    uint64  `json:"reacted"`
	Pings      uint64  `json:"pings"`
	Resyncs    uint64  `json:"resyncs"`
	Finished   bool    `json:"finished"` // every user sent its Messages and has its answers
	CPU        float64 `json:"cpu_s"`
	Switches   float64 `json:"switches"` // context switches
	Ack        counted `json:"ack"`
	Delivery   counted `json:"delivery"`
	Direct     counted `json:"direct"`
	Crowd      counted `json:"crowd"`
	LastMember counted `json:"last_member"`
}

// traffic is a worker's share of the users and their conversations.
type traffic struct {
	plan    *plan
	users   []*user
	writers []*user // those who have somebody to write to
	topics  map[string]*topic
	times   *times
	loop    *loop

	// gapMin and gapMax are the present pace of each user in nanoseconds; open is that
	// there is one, of each or of all. Otherwise it is a closed loop.
	gapMin, gapMax atomic.Int64
	open           atomic.Bool

	counting atomic.Bool // warm-up is over
	stopping atomic.Bool
	closing  atomic.Bool
	ack      histogram
	delivery histogram
	// direct are the acks of direct chats, crowd those in groups, lastMember the deliveries to the last
	// member of a group.
	direct, crowd, lastMember histogram
	round                     atomic.Pointer[round]

	sent, acked, rejected, refused, delivered, pulled, overtaken, duplicated, disordered, frames, pings, resyncs atomic.Uint64

	heard, heardBytes, stormed, reacted atomic.Uint64
	remember                            atomic.Bool // who says what keeps its seq, to edit it

	failed chan error
}

func newTraffic(p *plan) *traffic {
	t := &traffic{plan: p, topics: map[string]*topic{}, failed: make(chan error, 1)}
	t.times = &times{t: t}
	t.users = make([]*user, len(p.Users))
	for i := range t.users {
		t.users[i] = newUser(t, i)
	}
	for _, u := range t.users {
		if u.join(); len(u.friends) > 0 || len(u.groups) > 0 && p.Options.Scenario != ScenarioStorm {
			t.writers = append(t.writers, u)
		}
	}
	return t
}

// connect logs all users in, some at a time. Who is logged in is kept alive.
func (t *traffic) connect(ctx context.Context) error {
	codec, err := codecByName(t.plan.Options.Codec)
	if err != nil {
		return err
	}
	if t.loop, err = newLoop(t); err != nil {
		return err
	}
	return each(ctx, len(t.users), 64, func(i int) error {
		u := t.users[i]
		c, err := dial(t.plan.Targets[u.index%len(t.plan.Targets)], t.plan.Source, codec)
		if err != nil {
			return fmt.Errorf("%s: %w", u.id, err)
		}
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute)) // if that failed the next read does
		l, err := c.hello(u.token, "", "")
		if err != nil {
			c.Close()
			return fmt.Errorf("%s: %w", u.id, err)
		}
		_ = c.SetReadDeadline(time.Time{})
		u.mu.Lock()
		u.conn = c
		u.enter(l, time.Now())
		u.mu.Unlock()
		if err := t.loop.take(u); err != nil {
			return fmt.Errorf("%s: %w", u.id, err)
		}
		t.loop.ring() // it has a time to keep
		return t.err()
	})
}

// sends is the rate that the server lets each device send at, 0 if it has no bound.
func (t *traffic) sends() float64 {
	for _, u := range t.users {
		u.mu.Lock()
		rate := u.sends.GetPerSecond()
		u.mu.Unlock()
		return rate
	}
	return 0
}

// anyone is a user who writes next, at random.
func (t *traffic) anyone() *user {
	if len(t.writers) == 0 {
		return nil
	}
	return t.writers[rand.IntN(len(t.writers))]
}

// each runs f for 0 … n-1, some at a time, until one fails.
func each(ctx context.Context, n, atOnce int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, atOnce)
	for range min(atOnce, n) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil || len(errs) > 0 {
					return
				}
				if err := f(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return ctx.Err()
	}
}

// topicOf returns the one topic of a conversation. Only before readers run.
func (t *traffic) topicOf(name string) *topic {
	at := t.topics[name]
	if at == nil {
		at = &topic{name: name}
		t.topics[name] = at
	}
	return at
}

// start lets the users send, at the pace of the options.
func (t *traffic) start() {
	if s := t.plan.Options.Scenario; s == ScenarioBroadcast || s == ScenarioIdle || s == ScenarioStorm {
		t.open.Store(true) // the coordinator says when
		return
	}
	t.change(t.plan.Options.Rate, t.plan.Options.GapMin, t.plan.Options.GapMax)
}

func (t *traffic) closedLoop() bool { return !t.open.Load() }

// change sets another pace, from now on: a rate of all users, of all workers, gaps
// between the messages of each, or, if there are none, a closed loop.
func (t *traffic) change(rate float64, gapMin, gapMax time.Duration) {
	t.gapMin.Store(int64(gapMin))
	t.gapMax.Store(int64(gapMax))
	t.open.Store(rate > 0 || gapMax > 0)
	o := &t.plan.Options
	share := float64(len(t.users)) / float64(o.Connections)
	if o.Scenario == ScenarioStorm { // those who chat directly
		share = float64(len(t.writers)) / float64(o.Connections-o.GroupSize)
	}
	t.times.offer(rate * share)
	now := time.Now()
	for _, u := range t.users {
		u.mu.Lock()
		u.owed = nil
		if u.paced = rate == 0 && gapMax > 0; u.paced {
			u.next = now.Add(time.Duration(rand.Int64N(int64(u.gap()) + 1)))
			t.times.add(u, u.next, (*user).oweNext)
		}
		u.free = max(t.plan.Options.Window, 1) - len(u.wait)
		u.answer(now)
		u.mu.Unlock()
	}
	t.loop.ring()
}

// stop ends the sending, waits until everything acknowledged has arrived or
// nothing comes any more, and returns the promises of the groups: other workers
// have members of them.
func (t *traffic) stop() map[string][]ackedSeq {
	t.stopping.Store(true)
	last, since := uint64(0), time.Now()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if n := t.delivered.Load() + t.acked.Load() + t.rejected.Load(); n != last {
			last, since = n, time.Now()
		}
		quiet := time.Since(since)
		if quiet > 5*time.Second || (quiet > 1500*time.Millisecond && t.unanswered() == 0) {
			break
		}
	}
	promised := map[string][]ackedSeq{}
	for name, at := range t.topics {
		if strings.HasPrefix(name, "grp:") {
			promised[name] = at.promises()
		}
	}
	return promised
}

func (t *traffic) unanswered() (n uint64) {
	for _, u := range t.users {
		u.mu.Lock()
		n += uint64(len(u.wait))
		u.mu.Unlock()
	}
	return n
}

// repaired counts what is lost, once everybody had the time to compare heads with the
// server, by which a device comes to have what nobody pushed (SPEC §7.4), and what came
// in that time only.
func (t *traffic) repaired(ctx context.Context, promised map[string][]ackedSeq) (late, lost uint64) {
	missed := t.lost(promised)
	lost = missed
	patience := time.Duration(0)
	for _, u := range t.users {
		patience = max(patience, 5*u.alive.idle/2) // the longest between two comparisons is twice that
	}
	for end := time.Now().Add(patience); lost > 0 && time.Now().Before(end) && ctx.Err() == nil; lost = t.lost(promised) {
		time.Sleep(100 * time.Millisecond)
	}
	return missed - min(missed, lost), lost
}

// lost counts promised messages that a connected member does not have.
// promised is what all workers were told of the groups.
func (t *traffic) lost(promised map[string][]ackedSeq) (lost uint64) {
	all := map[*topic][]ackedSeq{}
	for name, at := range t.topics {
		if p, ok := promised[name]; ok {
			all[at] = p
		} else {
			all[at] = at.promises()
		}
	}
	for _, u := range t.users {
		u.mu.Lock()
		for _, s := range u.streams {
			lost += s.misses(all[s.topic])
		}
		u.mu.Unlock()
	}
	return lost
}

func (t *traffic) stats() *stats {
	s := &stats{
		Sent: t.sent.Load(), Acked: t.acked.Load(), Rejected: t.rejected.Load(), Refused: t.refused.Load(), Delivered: t.delivered.Load(), Pulled: t.pulled.Load(),
		Overtaken: t.overtaken.Load(), Duplicated: t.duplicated.Load(), Disordered: t.disordered.Load(), Frames: t.frames.Load(),
		Pings: t.pings.Load(), Resyncs: t.resyncs.Load(), CPU: processCPU().Seconds(), Switches: processSwitches(),
		Ack: t.ack.counted(), Delivery: t.delivery.counted(),
		Heard: t.heard.Load(), HeardBytes: t.heardBytes.Load(), Stormed: t.stormed.Load(), Reacted: t.reacted.Load(),
		Direct: t.direct.counted(), Crowd: t.crowd.counted(), LastMember: t.lastMember.counted(),
	}
	s.Finished = t.plan.Options.Messages > 0
	for _, u := range t.users {
		u.mu.Lock()
		s.Unanswered += uint64(len(u.wait))
		s.Finished = s.Finished && u.left == 0 && len(u.wait) == 0
		u.mu.Unlock()
	}
	return s
}

func (t *traffic) fail(err error) {
	if t.closing.Load() {
		return
	}
	select {
	case t.failed <- err:
	default:
	}
}

// err is why the traffic cannot go on, nil if it can.
func (t *traffic) err() error {
	select {
	case err := <-t.failed:
		t.failed <- err
		return err
	default:
		return nil
	}
}

func (t *traffic) close() {
	t.closing.Store(true)
	t.times.close()
	for _, u := range t.users {
		u.mu.Lock()
		u.over = true
		if u.conn != nil {
			u.Close()
		}
		u.mu.Unlock()
	}
	if t.loop != nil {
		t.loop.close()
	}
}

// round is one broadcast: when the last of this worker's members had it.
type round struct {
	id   uint64 // identity of the message, without its random part
	need int64
	have atomic.Int64
	last atomic.Int64 // Unix nanoseconds
	done chan struct{}
}

// arm makes the worker watch for message number n of user 0.
func (t *traffic) arm(n uint32) {
	need := 0
	for _, u := range t.users {
		if len(u.groups) > 0 {
			need++
		}
	}
	if t.plan.First == 0 {
		need-- // the sender has it
	}
	r := &round{id: uint64(n), need: int64(need), done: make(chan struct{})}
	if need == 0 {
		close(r.done)
	}
	t.round.Store(r)
}

// fire has user 0 send its next message to the first group, and returns when.
func (t *traffic) fire() (time.Time, error) {
	u := t.users[0]
	if len(u.groups) == 0 {
		return time.Time{}, errors.New("the sender is in no group")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.sendTo(u.groups[0], now, now)
	u.write(now)
	return now, nil
}

// last waits until all members have the round's message.
func (t *traffic) last(ctx context.Context) (time.Time, error) {
	r, most := t.round.Load(), t.plan.Options.RoundTime
	if most == 0 {
		most = 30 * time.Second
	}
	select {
	case <-r.done:
		return time.Unix(0, r.last.Load()), nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(most):
		return time.Time{}, fmt.Errorf("%d of %d members have the message after %s", r.have.Load(), r.need, most)
	}
}

// arrived counts a member that has a message for the first time.
func (r *round) arrived(id uint64, at time.Time) {
	if id&0x00ff_ffff_ffff_ffff != r.id { // sender 0, number n
		return
	}
	if r.have.Add(1) == r.need {
		r.last.Store(at.UnixNano())
		close(r.done)
	}
}

// Scenarios of Options.
const (
	ScenarioChat      = "chat"
	ScenarioBroadcast = "broadcast"
	ScenarioOnline    = "online"
	ScenarioIdle      = "idle"
	ScenarioResume    = "resume"
	ScenarioBackup    = "backup"
	ScenarioStall     = "stall"
	ScenarioStorm     = "storm"
	ScenarioRoster    = "group"
	ScenarioAmend     = "amend"
	ScenarioSearch    = "search"
	ScenarioRetention = "retention"
	ScenarioMedia     = "media"
	ScenarioExport    = "export"
)
