package remote

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/bus/mem"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// in runs a test in a cluster.
func in(t *testing.T, nodes string, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.add(strings.Fields(nodes)...)
		defer w.close()
		f(t, w)
	})
}

// pass lets time pass, and everybody do what they do meanwhile.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func dm(i int) im.ConversationID {
	return im.DM(im.UserID(fmt.Sprintf("a%02d", i)), im.UserID(fmt.Sprintf("b%02d", i)))
}

// burst sends n messages into ten conversations through two gateways, a
// conversation always through the same, and waits for the answers.
func (w *world) burst(n int, pause time.Duration) (all []*sent) {
	for i := range n {
		c := dm(i % 10)
		a, _, _ := c.DMMembers()
		all = append(all, w.send([]string{"g1", "g2"}[i%2], a, c))
		if pause > 0 {
			pass(pause)
		}
	}
	return all
}

// burst1 is burst through one gateway, answered.
func (w *world) burst1(node string, n int) (all []*sent) {
	for i := range n {
		all = append(all, w.send(node, "a", dm(i%10)))
	}
	pass(4 * commitTime)
	return all
}

func TestSendsInOrder(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		all := w.burst(2000, 0)
		pass(time.Second)
		w.stored(all)
	})
}

// The shortest path: a node with all roles asks itself for what it is home of.
func TestAllRolesInEachNode(t *testing.T) {
	in(t, "gl1 gl2", func(t *testing.T, w *world) {
		var all []*sent
		for i := range 500 {
			all = append(all, w.send([]string{"gl1", "gl2"}[i%10%2], "a", dm(i%10)))
		}
		pass(time.Second)
		w.stored(all)
	})
}

// The bus loses a fifth of everything, repeats and turns around as much.
func TestSendsOverABadBus(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		w.hub.SetFaults(mem.Faults{Drop: 0.2, Duplicate: 0.2, Reorder: 0.2, Delay: time.Millisecond})
		all := w.burst(3000, 3*time.Millisecond)
		w.hub.SetFaults(mem.Faults{})
		pass(5 * time.Second)
		w.stored(all)
		if c := w.hub.Counts(); c.Dropped == 0 || c.Duplicated == 0 || c.Reordered == 0 {
			t.Fatalf("the bus was healthy: %+v", c)
		}
	})
}

// A logic node is gone without a word: what was under way to it and what comes
// is stored within two seconds.
func TestALogicNodeDies(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		first := w.burst(100, 0)
		w.kill("l1")
		dead := time.Now()
		all := append(first, w.burst(1000, 3*time.Millisecond)...)
		pass(3 * time.Second)
		w.stored(all)
		worst := time.Duration(0)
		for _, s := range all[100:110] {
			worst = max(worst, s.at.Sub(dead))
		}
		if worst > 2*time.Second {
			t.Errorf("stored after %v", worst)
		}
	})
}

// A logic node is cut off for ten seconds, as one that is frozen, and comes back
// with what it had.
func TestALogicNodeIsCutOff(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		all := w.burst(200, time.Millisecond)
		for _, other := range []string{"g1", "g2", "l2"} {
			w.hub.Partition("l1", other)
		}
		all = append(all, w.burst(1000, 10*time.Millisecond)...)
		for _, other := range []string{"g1", "g2", "l2"} {
			w.hub.Heal("l1", other)
		}
		all = append(all, w.burst(1000, 3*time.Millisecond)...)
		pass(3 * time.Second)
		w.stored(all)
	})
}

// A logic node that does not reach the store hands everything to the other.
func TestAStoreIsAway(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		all := w.burst(100, time.Millisecond)
		w.store.setAway("l1", true)
		all = append(all, w.burst(1000, 3*time.Millisecond)...)
		w.store.setAway("l1", false)
		all = append(all, w.burst(500, 3*time.Millisecond)...)
		pass(3 * time.Second)
		w.stored(all)
	})
}

// A node cannot store one message and the next ones again: what was sent behind
// that one moves with it, and nothing is turned around.
func TestOneMessageIsNotStored(t *testing.T) {
	for _, nodes := range []string{"g1 g2 l1 l2", "gl1 gl2"} {
		in(t, nodes, func(t *testing.T, w *world) {
			first := "g1"
			if w.nodes[first] == nil {
				first = "gl1"
			}
			var all []*sent
			for i := range 600 {
				if i%97 == 50 {
					w.store.mu.Lock()
					for name := range w.nodes {
						w.store.fail[name] = 1
					}
					w.store.mu.Unlock()
				}
				all = append(all, w.send(first, "a00", dm(i%3)))
				if i%5 == 0 {
					pass(time.Millisecond)
				}
			}
			pass(4 * time.Second)
			w.stored(all)
		})
	}
}

// Without any node that stores, senders are told to try again, in time; when
// there is one again, what waits is stored.
func TestNoStoreAtAll(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		w.store.setAway("l1", true)
		pass(time.Second)
		early := w.send("g1", "a", dm(0))
		pass(3 * time.Second)
		late := w.send("g1", "a", dm(0))
		pass(3 * time.Second) // six after the first, three after the second
		if early.replies != 1 || im.CodeOf(early.err).Info().Action != im.ActionRetry {
			t.Fatalf("%d replies, %v", early.replies, early.err)
		}
		w.store.setAway("l1", false)
		pass(2 * time.Second)
		w.stored([]*sent{late})
	})
}

// A node that comes takes its share, and nothing is turned around by that.
func TestANodeJoins(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		all := w.burst(300, time.Millisecond)
		w.add("l2")
		all = append(all, w.burst(300, time.Millisecond)...)
		w.add("l3")
		all = append(all, w.burst(300, time.Millisecond)...)
		pass(time.Second)
		w.stored(all)
		homes := map[string]bool{}
		for i := range 100 {
			homes[w.nodes["g1"].router.home(string(dm(i)), time.Now()).name] = true
		}
		if len(homes) != 3 {
			t.Errorf("homes %v", homes)
		}
	})
}

// What follows an unanswered message goes where that one is, though its
// conversation belongs to a node that came meanwhile; then everything goes home.
func TestANodeJoinsUnderASend(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		const n = 20
		w.hub.Block("l1") // as if it were busy
		var all []*sent
		for i := range n {
			all = append(all, w.send("g1", "a", dm(i)))
		}
		w.add("l2")
		moved := 0
		for i := range n {
			if w.nodes["g1"].router.home(string(dm(i)), time.Now()).name == "l2" {
				moved++
			}
			all = append(all, w.send("g1", "a", dm(i)))
		}
		pass(10 * time.Millisecond)
		if moved == 0 || w.store.pos != 0 {
			t.Fatalf("%d of %d conversations have a new home, %d messages are stored", moved, n, w.store.pos)
		}
		w.hub.Unblock("l1")
		pass(100 * time.Millisecond)
		w.stored(all)

		w.hub.Block("l1")
		for i := range n {
			all = append(all, w.send("g1", "a", dm(i)))
		}
		pass(10 * time.Millisecond)
		if stored := int(w.store.pos) - 2*n; stored != moved {
			t.Errorf("%d messages went to the new home, want %d", stored, moved)
		}
		w.hub.Unblock("l1")
		pass(100 * time.Millisecond)
		w.stored(all)
	})
}

// A node that leaves finishes what it has and is sent nothing more.
func TestANodeLeaves(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		done := make(chan struct{})
		go func() {
			time.Sleep(100 * time.Millisecond)
			w.nodes["l1"].Leave(t.Context())
			close(done)
		}()
		all := w.burst(1000, time.Millisecond)
		<-done
		w.kill("l1")
		all = append(all, w.burst(100, time.Millisecond)...)
		pass(time.Second)
		w.stored(all)
	})
}

func TestParcelsReachTheirGateways(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		w.doors["g1"].online["a00"], w.doors["g2"].online["b00"] = true, true
		w.nodes["g1"].UserHere("a00")
		w.nodes["g2"].UserHere("b00")
		for range 3 {
			w.send("g1", "a00", dm(0))
			pass(10 * time.Millisecond)
		}
		for g, u := range map[string]im.UserID{"g1": "a00", "g2": "b00"} {
			if got := w.doors[g].entries[u]; !slices.Equal(got, []uint64{1, 2, 3}) {
				t.Errorf("%s got %v", u, got)
			}
		}
		w.nodes["g2"].UserGone("b00")
		w.send("g1", "a00", dm(0))
		pass(10 * time.Millisecond)
		if n := len(w.doors["g2"].entries["b00"]); n != 3 {
			t.Errorf("%d parcels for somebody who is gone", n)
		}
		w.nodes["l1"].Dispatch().Control(im.Control{User: "a00", Code: im.CodeBanned, Text: "until noon: spam", At: time.Unix(5, 7)})
		pass(10 * time.Millisecond)
		for name, d := range w.doors {
			if len(d.controls) != 1 || d.controls[0].Code != im.CodeBanned || d.controls[0].Text != "until noon: spam" || d.controls[0].At.UnixNano() != 5e9+7 {
				t.Errorf("%s: %v", name, d.controls)
			}
		}
	})
}

// Who is added to a group may be connected where nobody is a member yet, so
// where nobody listens to the group.
func TestAddedWhereNobodyListens(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		c := im.Group("g")
		w.nodes["g1"].GroupHere(c)
		pass(time.Second)
		event := func(seq uint64, typ im.EventType, users ...im.UserID) im.Entry {
			v := &im.Event{Type: typ, Users: users}
			return im.Entry{Conversation: c, Seq: seq, Kind: im.EntryEvent, Event: v, Body: entrycodec.Event(v)}
		}
		out := w.nodes["l1"].Dispatch()
		out.ToGroup(c, im.Parcel{Entries: []im.Entry{event(1, im.EventGroupCreated, "a00", "b00"), event(2, im.EventMemberRemoved, "b00"), {Conversation: c, Seq: 3}, event(4, im.EventMemberAdded, "b00")}})
		out.Flush()
		pass(10 * time.Millisecond)
		if got := w.doors["g2"].groups[c]; !slices.Equal(got, []uint64{1, 4}) {
			t.Errorf("where nobody listens came %v", got)
		}
		if got := w.doors["g1"].groups[c]; !slices.Equal(got, []uint64{1, 2, 3, 4, 1, 4}) {
			t.Errorf("where the group is known came %v", got)
		}
		out.ToGroup(c, im.Parcel{Head: &im.ParcelHead{Conversation: c, Seq: 5}})
		out.Flush()
		pass(10 * time.Millisecond)
		if w.doors["g1"].head(c) != 5 || w.doors["g2"].head(c) != 0 {
			t.Errorf("a beacon reached %v and %v", w.doors["g1"].heads, w.doors["g2"].heads)
		}
		out.ToGroup(c, im.Parcel{Head: &im.ParcelHead{Conversation: c, Seq: 6, Added: []im.UserID{"b00"}}})
		out.Flush()
		pass(10 * time.Millisecond)
		if w.doors["g2"].head(c) != 6 {
			t.Error("where nobody listens the beacon did not say who was added")
		}
	})
}

// The answer to a device's own message comes before the push of the next one of
// the conversation: otherwise every chat in which both write at the same time
// looks as if something was missing.
func TestAnswersBeforePushes(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		w.doors["g1"].online["b00"] = true
		w.nodes["g1"].UserHere("b00")
		pass(10 * time.Millisecond)
		var own *sent
		w.doors["g1"].onEntry = func(e im.Entry) {
			if e.Sender == "a00" && own.replies == 0 {
				t.Errorf("the push of %d came before the answer to %d", e.Seq, e.Seq-1)
			}
		}
		for range 20 {
			w.send("g2", "a01", dm(1)) // while it is stored, the next batch gathers
			pass(commitTime / 4)
			own = w.send("g1", "b00", dm(0))
			pass(commitTime / 4)
			w.send("g2", "a00", dm(0))
			pass(3 * commitTime)
		}
		if n := len(w.doors["g1"].entries["b00"]); n != 40 {
			t.Errorf("%d pushes", n)
		}
	})
}

// What a logic node stored and did not hand on before it died is compared by
// the gateways, within two seconds and without further traffic.
func TestLostPushesAreCompared(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		w.doors["g2"].online["b00"] = true
		w.nodes["g2"].UserHere("b00")
		pass(3 * time.Second)
		home := w.nodes["g1"].router.home(string(dm(0)), time.Now()).name
		w.store.append("a00", w.message(dm(0))) // stored, and nobody is told
		w.kill(home)
		pass(2 * time.Second)
		if got := w.doors["g2"].head(dm(0)); got != 1 {
			t.Fatalf("head %d", got)
		}
		if w.doors["g2"].verifications() != 0 {
			t.Fatal("all users are read again although no group changed")
		}
		w.nodes["g2"].GroupHere(im.Group("g"))
		w.store.append("a00", w.message(im.Group("g")))
		left := "l1"
		if home == left {
			left = "l2"
		}
		w.kill(left)
		pass(3 * time.Second)
		w.add("l3") // it can tell
		pass(12 * time.Second)
		if d := w.doors["g2"]; d.head(im.Group("g")) != 1 || d.verifications() == 0 {
			t.Fatalf("of a group came %v; verified %d times", d.heads, d.verified)
		}
	})
}

// What a node hands on while one gateway does not hear it, though others do, is
// compared when it is heard again.
func TestAGatewayDoesNotHearOneNode(t *testing.T) {
	in(t, "g1 g2 l1 l2", func(t *testing.T, w *world) {
		w.doors["g2"].online["b00"] = true
		w.nodes["g2"].UserHere("b00")
		pass(3 * time.Second)
		home := w.nodes["g1"].router.home(string(dm(0)), time.Now()).name
		w.hub.Partition("g2", home)
		pass(5 * time.Second)
		s := w.send("g1", "a00", dm(0))
		pass(time.Second)
		w.stored([]*sent{s})
		pass(5 * time.Second)
		if got := w.doors["g2"].entries["b00"]; len(got) != 0 || w.doors["g2"].head(dm(0)) != 0 {
			t.Fatalf("through the partition came %v", got)
		}
		w.hub.Heal("g2", home)
		pass(2 * time.Second)
		if got := w.doors["g2"].head(dm(0)); got != 1 {
			t.Fatalf("head %d", got)
		}
	})
}

// The same after a time without any connection between a gateway and the rest.
func TestAGatewayIsCutOff(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		w.doors["g2"].online["b00"] = true
		w.nodes["g2"].UserHere("b00")
		w.hub.Partition("g2", "l1")
		pass(5 * time.Second)
		w.send("g1", "a00", dm(0))
		pass(time.Second)
		if len(w.doors["g2"].entries["b00"]) != 0 {
			t.Fatal("it is not cut off")
		}
		w.hub.Heal("g2", "l1")
		pass(2 * time.Second)
		if got := w.doors["g2"].head(dm(0)); got != 1 || w.doors["g2"].verifications() == 0 {
			t.Fatalf("head %d, verified %d times", got, w.doors["g2"].verifications())
		}
	})
}

func TestPresence(t *testing.T) {
	in(t, "g1 g2 g3 l1", func(t *testing.T, w *world) {
		w.doors["g2"].online["bob"] = true
		w.nodes["g1"].Watch([]im.UserID{"bob", "eve"})
		pass(10 * time.Millisecond)
		seen := w.doors["g1"].seen
		if !seen["bob"]["g2"] || len(seen["eve"]) != 0 {
			t.Fatalf("seen %v", seen)
		}
		w.nodes["g3"].Announce("eve", true)
		w.nodes["g2"].Announce("bob", false)
		pass(10 * time.Millisecond)
		if seen["bob"]["g2"] || !seen["eve"]["g3"] {
			t.Fatalf("seen %v", seen)
		}
		w.kill("g3")
		pass(2 * time.Second)
		if !slices.Contains(w.doors["g1"].gone, "g3") {
			t.Fatalf("gone %v", w.doors["g1"].gone)
		}
	})
}

func TestRequests(t *testing.T) {
	in(t, "g1 l1 l2", func(t *testing.T, w *world) {
		logic := w.nodes["g1"].Logic()
		ctx := t.Context()
		// Long answers come in parts.
		res, err := logic.Sync(ctx, im.Actor{User: "ann"}, im.SyncQuery{Position: "p", Limit: 2 << 20})
		if err != nil || res.Position != "pann" || len(res.Conversations[0].Title) != 2<<20 {
			t.Fatal(err, len(res.Conversations))
		}
		if _, err := logic.Call(ctx, im.Actor{User: "ann"}, im.Call{Method: "fail"}); im.CodeOf(err) != im.CodeNotFound {
			t.Fatal(err)
		}
		if got, err := logic.Call(ctx, im.Actor{User: "ann"}, im.Call{Method: "m", Payload: []byte(" x"), Key: "the-key"}); err != nil || !strings.HasSuffix(string(got), " the-key x") {
			t.Fatalf("a call with a key: %q, %v", got, err)
		}
		// One that makes a node panic ends there, and the node goes on.
		for range 4 {
			if _, err := logic.Call(ctx, im.Actor{User: "ann"}, im.Call{Method: "panic", Payload: []byte("x")}); im.CodeOf(err) != im.CodeInternal {
				t.Fatal(err)
			}
		}
		if n := w.store.calls["x"]; n != 4 {
			t.Fatalf("four calls were carried out %d times", n)
		}
		if st, err := w.nodes["g1"].Standing(ctx, "ann"); err != nil || st.Groups[0].Roster != 7 || st.Groups[0].From != 5 || len(st.Sessions) != 1 {
			t.Fatal(st, err)
		}
		if got, err := w.nodes["g1"].Media(ctx, "find", true, []byte("this")); err != nil || !strings.HasPrefix(string(got), "find of ") || !strings.HasSuffix(string(got), ": this") {
			t.Fatalf("%q, %v", got, err)
		}
		if _, err := w.nodes["g1"].Media(ctx, "refuse", false, []byte("large")); im.CodeOf(err) != im.CodeInvalidArgument || im.Public(err).Field != "size" {
			t.Fatal(err)
		}
		if tl := w.nodes["g1"].Timeline(); tl != "t" {
			t.Fatal(tl)
		}
	})
}

// Each kind of signal comes to a logic node as what it is.
func TestSignalsAreRequests(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		said := []im.Signal{
			{Typing: "grp:g"},
			{Custom: &im.CustomSignal{Conversation: "grp:g", Type: "cursor", Data: []byte{0, 1}}},
			{Watch: []im.UserID{"a", "bb"}},
			{Seen: []im.Watched{{User: "a", Seen: time.UnixMilli(7)}}},
		}
		for _, s := range said {
			users, err := w.nodes["g1"].Logic().Signal(t.Context(), im.Actor{User: "u"}, s)
			var want []im.Watched
			for _, u := range s.Watch {
				want = append(want, im.Watched{User: u, Seen: time.UnixMilli(int64(len(u)))})
			}
			if err != nil || !slices.Equal(users, want) {
				t.Fatalf("%+v: %v, %v", s, users, err)
			}
		}
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		if !reflect.DeepEqual(w.store.signals, said) || !slices.Equal(w.store.told, []im.UserID{"u", "u", "u", "u"}) {
			t.Errorf("%+v by %v, want %+v", w.store.signals, w.store.told, said)
		}
	})
}

// A bad bus does not make a call happen twice. It may make it happen and not
// tell, and says so then.
func TestCallsAreNotRepeated(t *testing.T) {
	in(t, "g1 l1 l2", func(t *testing.T, w *world) {
		w.hub.SetFaults(mem.Faults{Drop: 0.2, Duplicate: 0.3, Reorder: 0.2, Delay: time.Millisecond})
		failed := 0
		for i := range 100 {
			_, err := w.nodes["g1"].Logic().Call(t.Context(), im.Actor{User: im.UserID(fmt.Sprint(i))}, im.Call{Method: "m", Payload: fmt.Append(nil, i)})
			if err != nil {
				failed++
				if c := im.CodeOf(err); c != im.CodeUnknown && c != im.CodeUnavailable {
					t.Fatal(err)
				}
			}
		}
		w.store.mu.Lock() // heartbeats go on, and with them what is forgotten
		defer w.store.mu.Unlock()
		for what, n := range w.store.calls {
			if n != 1 && !strings.HasPrefix(what, "forget") {
				t.Errorf("call %s was carried out %d times", what, n)
			}
		}
		if failed == 0 || failed > 80 {
			t.Errorf("%d of 100 calls failed", failed)
		}
	})
}

// What may be repeated comes through all the same.
func TestReadsAreRepeated(t *testing.T) {
	in(t, "g1 l1 l2", func(t *testing.T, w *world) {
		w.hub.SetFaults(mem.Faults{Drop: 0.2, Duplicate: 0.3, Reorder: 0.2, Delay: time.Millisecond})
		for i := range 100 {
			if _, err := w.nodes["g1"].Logic().Sync(t.Context(), im.Actor{User: im.UserID(fmt.Sprint(i))}, im.SyncQuery{Limit: 10}); err != nil {
				t.Fatal(i, err)
			}
		}
	})
}

// A heartbeat that is heard while a node closes opens nothing any more: nobody
// would end it. It is what kept nodes from stopping now and then.
func TestNothingOpensWhileClosing(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		n := w.nodes["g1"]
		n.router.close()
		n.router.follow(time.Now())
		if len(n.router.links) != 0 {
			t.Fatal("a link was opened")
		}
	})
}

// Closing answers what is under way.
func TestCloseAnswers(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		w.hub.Partition("g1", "l1")
		s := w.send("g1", "a", dm(0))
		w.kill("g1")
		if s.replies != 1 || im.CodeOf(s.err) != im.CodeUnknown {
			t.Fatalf("%d replies, %v", s.replies, s.err)
		}
	})
}
