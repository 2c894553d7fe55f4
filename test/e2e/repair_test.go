package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/gateway"
	"github.com/skein-im/skein/internal/im"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// repair is a scenario that needs a hand on the way from logic to the gateways.
type repair struct {
	name string
	run  func(t *testing.T, d deployment)
}

func repairs() []repair {
	return []repair{
		{"a lost last push is repaired by the beacon", lostPush},
		{"a push that only one member of a dm lost", lostToOne},
		{"a lost beacon is repaired by the digest", lostBeacon},
		{"a dispatch that loses, doubles and reorders", badDispatch},
	}
}

// pings makes clients ask for what they lack, often.
var pings = gateway.Heartbeat{Idle: 300 * time.Millisecond, Silence: 20 * time.Second, Every: 5 * time.Second, Dead: time.Minute}

// lossy drops what it is told to, on the way from any logic node.
type lossy struct {
	entries, heads atomic.Bool
	dropped        atomic.Int32
}

func (l *lossy) over(next im.Dispatch) im.Dispatch { return lossyWay{next, l} }

// lossyWay is the way from one of them.
type lossyWay struct {
	im.Dispatch
	*lossy
}

func (l *lossy) drops(p im.Parcel) bool {
	drop := len(p.Entries) > 0 && l.entries.Load() || p.Head != nil && l.heads.Load()
	if drop {
		l.dropped.Add(1)
	}
	return drop
}

func (l lossyWay) ToUsers(us []im.UserID, p im.Parcel) {
	if !l.drops(p) {
		l.Dispatch.ToUsers(us, p)
	}
}

func (l lossyWay) ToGroup(c im.ConversationID, p im.Parcel) {
	if !l.drops(p) {
		l.Dispatch.ToGroup(c, p)
	}
}

// lostPush: nothing follows the lost message, and pings are half a minute
// away, so only the beacon can have brought it.
func lostPush(t *testing.T, d deployment) {
	l := &lossy{}
	w := d(t, terms{
		dispatch:  l.over,
		heartbeat: gateway.Heartbeat{Idle: 5 * time.Minute, Silence: 10 * time.Minute, Dead: 15 * time.Minute},
	})
	ann, bob, cem := join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "cem", 2)
	befriend(t, ann, bob, cem)
	dm := ann.DM("bob").ID()
	g := must(ann.Groups().Create(t.Context(), "Tea", "bob", "cem"))(t).Conversation
	ann.says(dm, "first")
	bob.hears("first")
	bob.reaches(g, 1)
	cem.reaches(g, 1)

	l.entries.Store(true)
	start := time.Now()
	ann.says(dm, "lost on the way")
	bob.hears("lost on the way")
	t.Logf("repaired after %v", time.Since(start))
	ann.says(g, "lost in the group")
	bob.hears("lost in the group")
	cem.hears("lost in the group")
	if l.dropped.Load() < 2 {
		t.Errorf("only %d parcels were dropped", l.dropped.Load())
	}
	agree(t, dm, 2, ann, bob)
	agree(t, g, 2, ann, bob, cem)
}

// oneSided loses the entries to one user and carries everybody's by itself, as
// the bus between nodes does.
type oneSided struct {
	im.Dispatch
	loses   im.UserID
	dropped *atomic.Int32
}

func (o oneSided) ToUsers(us []im.UserID, p im.Parcel) {
	for i, u := range us {
		if u == o.loses && len(p.Entries) > 0 {
			o.dropped.Add(1)
			continue
		}
		o.Dispatch.ToUsers(us[i:i+1], p)
	}
}

// lostToOne: both users have a device at every gateway there is, and what one of
// them loses there reached the other.
func lostToOne(t *testing.T, d deployment) {
	var dropped atomic.Int32
	w := d(t, terms{
		dispatch:  func(next im.Dispatch) im.Dispatch { return oneSided{next, "bob", &dropped} },
		heartbeat: gateway.Heartbeat{Idle: 5 * time.Minute, Silence: 10 * time.Minute, Dead: 15 * time.Minute},
	})
	both := func(user string) (all []*person) {
		for i, class := range []wire.DeviceClass{wire.DeviceClass_DEVICE_CLASS_PHONE, wire.DeviceClass_DEVICE_CLASS_DESKTOP} {
			all = append(all, connect(t, w, newDevice(t, w, user, class, i)))
		}
		return all
	}
	ann, bob := both("ann"), both("bob")
	befriend(t, ann[0], bob[0])
	dm := ann[0].DM("bob").ID()
	ann[0].says(dm, "only ann hears it")
	for _, p := range []*person{ann[1], bob[0], bob[1]} {
		p.reaches(dm, 1)
	}
	bob[1].says(dm, "and this as well")
	for _, p := range []*person{ann[0], ann[1], bob[0]} {
		p.reaches(dm, 2)
	}
	if dropped.Load() < 2 {
		t.Errorf("only %d parcels were dropped", dropped.Load())
	}
	agree(t, dm, 2, append(ann, bob...)...)
}

// lostBeacon: neither push nor beacon arrives; the next ping's digest tells.
func lostBeacon(t *testing.T, d deployment) {
	l := &lossy{}
	w := d(t, terms{dispatch: l.over, heartbeat: pings})
	ann, bob := join(t, w, "ann", 2), join(t, w, "bob", 3)
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	ann.says(dm, "first")
	bob.hears("first")
	l.entries.Store(true)
	l.heads.Store(true)
	start := time.Now()
	ann.says(dm, "never pushed")
	bob.hears("never pushed")
	t.Logf("repaired after %v", time.Since(start))
	if l.dropped.Load() < 1 {
		t.Error("nothing was dropped")
	}
	agree(t, dm, 2, ann, bob)
}

// bad loses 30 % of the parcels, doubles 20 % and lets 20 % be overtaken.
type bad struct {
	mu   sync.Mutex
	rng  *rand.Rand
	late []func()
	lost int
}

func (b *bad) over(next im.Dispatch) im.Dispatch { return badWay{next, b} }

// badWay is the way from one logic node.
type badWay struct {
	im.Dispatch
	*bad
}

// kept copies what does not outlive the call.
func kept(p im.Parcel) im.Parcel {
	p.Entries, p.Origin = slices.Clone(p.Entries), slices.Clone(p.Origin)
	if p.Head != nil {
		h := *p.Head
		p.Head = &h
	}
	if p.Receipt != nil {
		m := *p.Receipt
		p.Receipt = &m
	}
	return p
}

func (b *bad) pass(send func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	late := b.late
	b.late = nil
	switch x := b.rng.Float64(); {
	case x < 0.3:
		b.lost++
	case x < 0.5:
		send()
		send()
	case x < 0.7:
		b.late = append(b.late, send)
	default:
		send()
	}
	b.rng.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	for _, f := range late {
		f()
	}
}

func (b badWay) ToUsers(us []im.UserID, p im.Parcel) {
	us, p = slices.Clone(us), kept(p)
	b.pass(func() { b.Dispatch.ToUsers(us, p) })
}

func (b badWay) ToGroup(c im.ConversationID, p im.Parcel) {
	p = kept(p)
	b.pass(func() { b.Dispatch.ToGroup(c, p) })
}

// badDispatch: all devices have everything, once, in one order, in the end.
func badDispatch(t *testing.T, d deployment) {
	b := &bad{rng: rand.New(rand.NewPCG(1, 2))}
	w := d(t, terms{dispatch: b.over, heartbeat: pings})
	all := []*person{join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "cem", 2), join(t, w, "dan", 3)}
	befriend(t, all...)
	g := must(all[0].Groups().Create(t.Context(), "Tea", "bob", "cem", "dan"))(t).Conversation
	dm := all[0].DM("bob").ID()
	const each = 50
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			for i := range each {
				if _, err := p.Conversation(g).Send(deadline(t), fmt.Sprintf("%s %d", p.device.user, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for _, p := range all[:2] {
		wg.Go(func() {
			for i := range each {
				if _, err := p.Conversation(dm).Send(deadline(t), fmt.Sprintf("%s to the other %d", p.device.user, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, p := range all {
		p.reaches(g, 1+uint64(len(all)*each))
	}
	for _, p := range all[:2] {
		p.reaches(dm, 2*each)
	}
	agree(t, g, 1+len(all)*each, all...)
	agree(t, dm, 2*each, all[:2]...)
	for _, p := range all {
		checkOnce(t, p, g, each)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Logf("%d parcels were lost", b.lost)
	if b.lost < 20 {
		t.Errorf("only %d parcels were lost", b.lost)
	}
}

// checkOnce: the events told of every message of the others once, each
// sender's in order.
func checkOnce(t *testing.T, p *person, conversation string, each int) {
	t.Helper()
	p.until("all events", func([]skein.Event) bool { return len(p.heard(conversation)) >= 3*each })
	next := map[string]int{}
	for _, text := range p.heard(conversation) {
		var who string
		var n int
		if _, err := fmt.Sscanf(text, "%s %d", &who, &n); err != nil || n != next[who] {
			t.Fatalf("%s heard %q, number %d of %s was due", p.device.user, text, next[who], who)
		}
		next[who]++
	}
	for who, n := range next {
		if n != each || who == p.device.user {
			t.Errorf("%s heard %d of %s", p.device.user, n, who)
		}
	}
	if len(next) != 3 {
		t.Errorf("%s heard %v", p.device.user, next)
	}
}
