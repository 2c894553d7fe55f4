package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// follower is a device that keeps what it is told, and begins where the last
// position that it took said.
type follower struct {
	t        *testing.T
	w        World
	token    string
	timeline string
	position string
	known    map[string]uint64 // the furthest that it knows of each conversation
	peerRead map[string]uint64
	// positions taken from pushes; states and repeated in the last delta.
	positions int
	states    int
	conn      *raw
}

// resume connects, syncs and applies the delta.
func (d *follower) resume() {
	d.t.Helper()
	d.conn = dialRaw(d.t, d.w, 0)
	d.conn.say(wire.NewClientFrame(&wire.Hello{
		VersionMin: 1, VersionMax: 1, Token: d.token, Device: &wire.Device{Id: "follower", Class: wire.DeviceClass_DEVICE_CLASS_TABLET, Name: "follower"},
		Sync: &wire.Sync{Number: 1, Position: d.position, Timeline: d.timeline, Limit: 500},
	}))
	var pushed []*wire.ServerFrame // before the delta
	d.conn.until("the delta", func(f *wire.ServerFrame) bool {
		if f.GetSyncDelta() == nil {
			pushed = append(pushed, f)
			return false
		}
		delta := f.GetSyncDelta()
		if delta.Error != nil || delta.Reset_ && d.position != "" {
			d.t.Errorf("from %q: %v, reset %v", d.position, delta.Error, delta.Reset_)
		}
		d.states = len(delta.Conversations)
		for _, c := range delta.Conversations {
			d.known[c.Conversation] = max(d.known[c.Conversation], c.Seq)
			d.peerRead[c.Conversation] = max(d.peerRead[c.Conversation], c.PeerRead)
		}
		d.position, d.timeline = delta.Position, delta.Timeline
		return true
	})
	for _, f := range pushed {
		d.applies(f, false)
	}
}

func (d *follower) applies(f *wire.ServerFrame, synced bool) {
	for _, e := range f.GetPush().GetEntries() {
		d.known[e.Conversation] = max(d.known[e.Conversation], e.Seq)
	}
	for _, h := range f.GetHeads().GetHeads() {
		d.known[h.Conversation] = max(d.known[h.Conversation], h.Seq)
	}
	if r := f.GetReceipt(); r != nil && r.User != "bob" {
		d.peerRead[r.Conversation] = max(d.peerRead[r.Conversation], r.Read)
	}
	if p := f.GetPush().GetPosition(); p != "" && synced {
		d.position = p
		d.positions++
	}
}

// follow applies what comes until the connection is cut, after some time.
func (d *follower) follow(cut time.Duration) {
	timer := time.AfterFunc(cut, func() { _ = d.conn.nc.Close() })
	defer timer.Stop()
	for {
		f, err := d.conn.hear()
		if err != nil {
			return
		}
		d.applies(f, true)
	}
}

// groupsOf makes groups of ann's with bob in them.
func groupsOf(t *testing.T, w World, ctx context.Context, token string, n int) (all []string) {
	t.Helper()
	for range n {
		req, resp := &wire.CreateGroupRequest{Name: "Tea", Members: []string{"bob"}}, &wire.CreateGroupResponse{}
		if err := skein.Post(ctx, w.HTTP(), "skein.v1.GroupService/CreateGroup", token, req, resp); err != nil {
			t.Error(err)
			return all
		}
		all = append(all, resp.Group.Conversation)
	}
	return all
}

func newFollower(t *testing.T, w World) *follower {
	return &follower{t: t, w: w, token: mint(t, w, "bob", time.Hour).AccessToken, known: map[string]uint64{}, peerRead: map[string]uint64{}}
}

// sender says what it is told to and counts the acks of each conversation.
type sender struct {
	*raw
	mu   sync.Mutex
	head map[string]uint64
	acks atomic.Int64
	sent int64
}

func newSender(t *testing.T, w World) *sender {
	s := &sender{raw: dialRaw(t, w, 0), head: map[string]uint64{}}
	s.hello(mint(t, w, "ann", time.Hour).AccessToken, "sender", wire.DeviceClass_DEVICE_CLASS_OTHER)
	go func() {
		for {
			f, err := s.hear()
			if err != nil {
				return
			}
			if a := f.GetSendAck(); a != nil {
				s.mu.Lock()
				s.head[a.Conversation] = max(s.head[a.Conversation], a.Seq)
				s.mu.Unlock()
				s.acks.Add(1)
			}
		}
	}()
	return s
}

func (s *sender) says(c string) {
	s.sent++
	sendRaw(s.raw, c, fmt.Sprint("number ", s.sent))
}

// settled waits for the acks.
func (s *sender) settled() {
	s.t.Helper()
	for end := time.Now().Add(patience); s.acks.Load() < s.sent; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%d of %d acks", s.acks.Load(), s.sent)
		}
	}
}

// busy: who is told of many messages on one connection is told again, when it
// comes back, only of what came after the last position it was pushed.
func busy(t *testing.T, w World) {
	join(t, w, "bob", 0).leave() // exists
	token := mint(t, w, "ann", time.Hour).AccessToken
	groups := groupsOf(t, w, deadline(t), token, 40)
	s, d := newSender(t, w), newFollower(t, w)
	d.resume()
	began := d.position
	for end := time.Now().Add(patience); d.positions < 2; { // it is pushed something all the time
		for _, g := range groups {
			s.says(g)
		}
		s.settled()
		d.follow1(t, func() bool { return d.knows(s, groups) })
		time.Sleep(100 * time.Millisecond)
		if time.Now().After(end) {
			t.Fatalf("%d positions were pushed", d.positions)
		}
	}
	// Everything up to here has its position within two seconds, which comes with the next
	// message. A busy machine may be late with it: then the next one says the same.
	last := groups[:2]
	for end := time.Now().Add(patience); ; {
		time.Sleep(3 * time.Second)
		for at := d.position; d.position == at; {
			s.says(last[0])
			s.settled()
			d.follow1(t, func() bool { return d.knows(s, last[:1]) })
			if time.Now().After(end) {
				t.Fatal("no position was pushed")
			}
			time.Sleep(100 * time.Millisecond)
		}
		s.says(last[1])
		s.settled()
		_ = d.conn.nc.Close()
		d.resume()
		if d.states <= len(last) || time.Now().After(end) {
			break
		}
	}
	if d.states > len(last) {
		t.Errorf("%d conversations were told again, want those of the last %d messages", d.states, len(last))
	}
	if !d.knows(s, groups) {
		t.Error("something is missing")
	}
	d.position = began
	_ = d.conn.nc.Close()
	d.resume()
	if d.states < len(groups) {
		t.Errorf("from where it began %d conversations were told: this test shows nothing", d.states)
	}
}

// follow1 applies what comes until ok.
func (d *follower) follow1(t *testing.T, ok func() bool) {
	t.Helper()
	for !ok() {
		f, err := d.conn.hear()
		if err != nil {
			t.Fatal(err)
		}
		d.applies(f, true)
	}
}

// knows tells whether nothing is missing.
func (d *follower) knows(s *sender, conversations []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range conversations {
		if d.known[c] < s.head[c] {
			return false
		}
	}
	return true
}

// cuts: a device's connection is cut again and again under messages, marks and
// new groups. It begins where the last pushed position said, and in the end knows
// of everything.
func cuts(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	const marks = 300
	for i := range marks {
		bob.says(dm, fmt.Sprint("read me ", i))
	}
	bob.leave()
	token := mint(t, w, "ann", time.Hour).AccessToken
	groups := groupsOf(t, w, t.Context(), token, 30)
	s, d := newSender(t, w), newFollower(t, w)
	d.resume()
	random := rand.New(rand.NewPCG(3, 7))
	read := uint64(0)
	// A position is pushed every few seconds and most connections are cut before: a slow machine gets more rounds.
	for round := 0; round < 3 || d.positions < 5 && round < 12; round++ {
		var making sync.WaitGroup
		var fresh []string
		making.Go(func() {
			for range 10 {
				fresh = append(fresh, groupsOf(t, w, t.Context(), token, 1)...)
				time.Sleep(500 * time.Millisecond)
			}
		})
		over := make(chan struct{})
		going := sync.WaitGroup{}
		going.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				d.follow(time.Duration(500+random.IntN(3500)) * time.Millisecond)
				d.resume()
			}
		})
		for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
			s.says(groups[int(s.sent)%len(groups)])
			if s.sent%8 == 0 && read < marks {
				read++
				s.say(wire.NewClientFrame(&wire.Read{Conversation: dm, Seq: read}))
			}
			time.Sleep(6 * time.Millisecond)
		}
		making.Wait()
		s.settled()
		close(over)
		going.Wait()
		d.follow(time.Second) // what was on its way
		d.resume()
		for _, c := range append(groups, fresh...) {
			if want := max(s.head[c], 1); d.known[c] != want {
				t.Errorf("round %d: %s is known up to %d of %d", round, c, d.known[c], want)
			}
		}
		if d.peerRead[dm] != read {
			t.Errorf("round %d: read up to %d, known is %d", round, read, d.peerRead[dm])
		}
		groups = append(groups, fresh...)
	}
	if d.positions < 5 {
		t.Errorf("only %d positions were pushed", d.positions)
	}
	t.Logf("%d positions", d.positions)
}

// leaky loses one in thirty of what goes to the gateways: entries, receipts and
// beacons.
type leaky struct {
	im.Dispatch
	n *atomic.Uint64
}

func leak(next im.Dispatch) im.Dispatch { return leaky{next, new(atomic.Uint64)} }

func (l leaky) drops() bool { return l.n.Add(1)*2654435761>>8%30 == 0 }

func (l leaky) ToUsers(us []im.UserID, p im.Parcel) {
	if !l.drops() {
		l.Dispatch.ToUsers(us, p)
	}
}

func (l leaky) ToGroup(c im.ConversationID, p im.Parcel) {
	if !l.drops() {
		l.Dispatch.ToGroup(c, p)
	}
}
