package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// In every second there are as many messages as the rate says: no burst at the
// beginning, no drift, however low it is.
func TestArrivalsKeepTheRate(t *testing.T) {
	begin := time.Unix(1000, 0)
	for _, x := range []struct {
		rate float64
		span time.Duration
		want []int
	}{
		{2, time.Second, []int{2}}, {0.25, 4 * time.Second, []int{1}}, {1.5, time.Second, []int{1, 2}}, {3000, time.Second, []int{3000}},
	} {
		a := newArrivals(x.rate, begin)
		for i := range 20 {
			n, end := 0, begin.Add(time.Duration(i+1)*x.span)
			for last := a.next; a.next.Before(end); a.draw() {
				if n++; a.next.Before(last) {
					t.Fatalf("%g/s: %v after %v", x.rate, a.next, last)
				}
				last = a.next
			}
			if n != x.want[i%len(x.want)] {
				t.Errorf("%g/s: %d messages in span %d, want %v", x.rate, n, i, x.want)
			}
		}
	}
	if a := newArrivals(0, begin); a.due(begin.Add(time.Hour)) {
		t.Error("no rate, and a message is due")
	}
}

// A closed loop keeps below what the server lets a device send, and uses it.
func TestAllowance(t *testing.T) {
	now, end := time.Unix(1000, 0), time.Unix(1010, 0)
	b := newBucket(&wire.Rate{PerSecond: 200, Burst: 1000}, now)
	n := 0
	for now.Before(end) {
		at, ok := b.take(now)
		if n++; !ok {
			n--
			now = at.Add(time.Microsecond)
		}
	}
	if n < 1900 || n > 2000 {
		t.Errorf("%d in ten seconds of 200", n)
	}
	b = newBucket(nil, now)
	if _, ok := b.take(now); !ok {
		t.Error("a server without a bound has one")
	}
}

// What cannot be is said, with what could; some room is left for chance.
func TestPossible(t *testing.T) {
	r := &run{users: make([]userPlan, 10), sends: 200}
	if err := r.possible(1500); err != nil {
		t.Error(err)
	}
	if err := r.possible(1900); err == nil || !strings.Contains(err.Error(), "1800") || !strings.Contains(err.Error(), "11 users") {
		t.Errorf("1,900 of 2,000: %v", err)
	}
	if err := (&run{users: make([]userPlan, 2)}).possible(1e6); err != nil {
		t.Errorf("no bound: %v", err)
	}
}

// wireTap is a socket that keeps what is written to it.
type wireTap struct{ wrote []byte }

func (w *wireTap) Write(p []byte) (int, error)     { w.wrote = append(w.wrote, p...); return len(p), nil }
func (w *wireTap) Read([]byte) (int, error)        { return 0, nil }
func (w *wireTap) SetReadDeadline(time.Time) error { return nil }
func (w *wireTap) Close() error                    { return nil }

// rig is one of two friends on a tapped connection.
type rig struct {
	*user
	t   *testing.T
	tap *wireTap
	now time.Time
}

func newRig(t *testing.T, l *login) *rig {
	traffic := newTraffic(&plan{Options: Options{Connections: 2, Friends: 1, Payload: 20}, Users: []userPlan{{ID: "a"}, {ID: "b"}}})
	r := &rig{user: traffic.users[0], t: t, tap: &wireTap{}, now: time.Unix(5000, 0)}
	r.conn = &conn{socket: r.tap, codec: wire.Protobuf(), pb: true, framing: newFraming(false, true, wire.Protobuf())}
	r.enter(l, r.now)
	return r
}

// told are the frames that the user wrote since the last time.
func (r *rig) told() (frames []*wire.ClientFrame) {
	r.t.Helper()
	for p := r.tap.wrote; len(p) > 0; {
		_, payload, n, err := r.framing.next(p)
		f := &wire.ClientFrame{}
		if err != nil || n == 0 || wire.Protobuf().Decode(payload, f) != nil {
			r.t.Fatalf("%v: %x is no frame", err, p)
		}
		frames, p = append(frames, f), p[n:]
	}
	r.tap.wrote = nil
	return frames
}

func (r *rig) hear(f *wire.ServerFrame) {
	r.t.Helper()
	payload, err := wire.Protobuf().Append(nil, f)
	if err != nil {
		r.t.Fatal(err)
	}
	r.feed(r.framing.append(nil, payload), r.now)
	if err := r.user.t.err(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) push(seq uint64) {
	id := make([]byte, 16)
	id[15] = byte(seq)
	r.hear(wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{{
		Conversation: "dm:a:b", Seq: seq, Id: id, Sender: "b", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
		Content: &wire.Content{Type: textType, Body: &wire.Content_Text{Text: "hello"}},
	}}}))
}

// ping lets the time of silence go by and returns the ping.
func (r *rig) ping() *wire.Ping {
	r.t.Helper()
	r.now = r.pingAt()
	r.pingDue(r.now)
	all := r.told()
	i := slices.IndexFunc(all, func(f *wire.ClientFrame) bool { return f.GetPing() != nil })
	if i < 0 {
		r.t.Fatalf("no ping in %v", all)
	}
	return all[i].GetPing()
}

// A silent client pings with a digest of what came since its position; the answer
// moves the position, or has it sync from there and pull what is missing.
func TestDigestPings(t *testing.T) {
	t.Parallel()
	r := newRig(t, &login{position: "p1", timeline: "t", idle: 30 * time.Second})
	if p := r.ping(); p.Position != "p1" || p.Digest == nil || *p.Digest != 0 {
		t.Errorf("nothing came, and the ping says %v", p)
	}
	r.hear(wire.NewServerFrame(&wire.Pong{Position: "p2"}))
	r.push(1)
	if p := r.ping(); p.Position != "p2" || p.GetDigest() != wire.HeadHash("dm:a:b", 1) {
		t.Errorf("one came, and the ping says %v", p)
	}
	r.push(2) // after the ping, before its answer
	r.hear(wire.NewServerFrame(&wire.Pong{Position: "p3"}))
	if p := r.ping(); p.Position != "p3" || p.GetDigest() != wire.HeadHash("dm:a:b", 2) {
		t.Errorf("another came since, and the ping says %v", p)
	}
	r.told()
	r.hear(wire.NewServerFrame(&wire.Pong{Resync: true}))
	asked := r.told()
	if len(asked) != 1 || asked[0].GetSync().GetPosition() != "p3" || asked[0].GetSync().GetTimeline() != "t" {
		t.Fatalf("the digest differs, and the client says %v", asked)
	}
	r.hear(wire.NewServerFrame(&wire.SyncDelta{Timeline: "t", Position: "p4", Conversations: []*wire.ConversationState{{Conversation: "dm:a:b", Seq: 5}}}))
	asked = r.told()
	if len(asked) == 0 || asked[0].GetPull().GetFrom() != 3 {
		t.Fatalf("three are missing, and the client says %v", asked)
	}
	if p := r.ping(); p.Position != "p4" {
		t.Errorf("after the sync the ping says %v", p)
	}
}

// A pull that is refused for now is repeated when the server wants to hear of it; one
// that is refused for good ends the run.
func TestRefusedPulls(t *testing.T) {
	t.Parallel()
	r := newRig(t, &login{idle: 30 * time.Second})
	r.push(3)
	r.answer(r.now)
	if got := r.told(); len(got) == 0 || got[0].GetPull() == nil {
		t.Fatalf("after a gap the client says %v", got)
	}
	refuse := func(code wire.Code) {
		r.hear(wire.NewServerFrame(&wire.Range{Conversation: "dm:a:b", Error: &wire.Error{Code: string(code), RetryAfterMs: 400}}))
	}
	refuse(wire.CodeUnavailable)
	r.now = r.now.Add(300 * time.Millisecond)
	r.pullsDue(r.now)
	if got := r.told(); len(got) > 0 {
		t.Errorf("it is too early, and the client says %v", got)
	}
	r.now = r.now.Add(200 * time.Millisecond)
	r.pullsDue(r.now)
	if got := r.told(); len(got) == 0 || got[0].GetPull().GetFrom() != 1 {
		t.Fatalf("when it is time the client says %v", got)
	}
	if n := r.user.t.refused.Load(); n != 1 {
		t.Errorf("%d were refused", n)
	}
}

// A refused message is waited for with all that is under way, then the next one
// takes its place, not before the server wants to hear of it.
func TestRefusedMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, &login{idle: 30 * time.Second})
	r.user.t.open.Store(true)
	r.owed = []time.Time{r.now, r.now, r.now}
	r.answer(r.now)
	first := r.told()
	if len(first) != 3 {
		t.Fatalf("three are owed, sent %v", first)
	}
	refuse := func(i int, code wire.Code) {
		r.hear(wire.NewServerFrame(&wire.SendError{
			Id: first[i].GetSend().Id, First: first[0].GetSend().Id, Error: &wire.Error{Code: string(code), RetryAfterMs: 100},
		}))
	}
	refuse(0, wire.CodeOverloaded)
	r.owed = append(r.owed, r.now)
	refuse(1, wire.CodeOutOfOrder)
	if got := r.told(); len(got) > 0 {
		t.Errorf("one is under way, and the client says %v", got)
	}
	refuse(2, wire.CodeOutOfOrder)
	if got := r.told(); len(got) > 0 {
		t.Errorf("it is too early, and the client says %v", got)
	}
	r.now = r.now.Add(time.Second)
	r.answer(r.now)
	got := r.told()
	if len(got) != 1 || string(got[0].GetSend().InsteadOf) != string(first[0].GetSend().Id) {
		t.Fatalf("the next one is %v", got)
	}
	if n := r.user.t.rejected.Load(); n != 3 {
		t.Errorf("%d were refused", n)
	}
}
