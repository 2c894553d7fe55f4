package dispatch

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// gateways records what reaches the gateways, as lines.
type gateways struct {
	mu    sync.Mutex
	lines []string
}

func (g *gateways) add(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

func (g *gateways) take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lines
	g.lines = nil
	return l
}

func (g *gateways) ToUsers(us []im.UserID, p im.Parcel)      { g.add("users %v %s", us, show(p)) }
func (g *gateways) ToGroup(c im.ConversationID, p im.Parcel) { g.add("group %s %s", c, show(p)) }
func (g *gateways) Control(im.Control)                       {}
func (g *gateways) Flush()                                   { g.add("flush") }

func show(p im.Parcel) string {
	switch {
	case p.Head != nil:
		if len(p.Head.Added) > 0 {
			return fmt.Sprintf("head %d adds %v", p.Head.Seq, p.Head.Added)
		}
		return fmt.Sprintf("head %d", p.Head.Seq)
	case p.Receipt != nil:
		return fmt.Sprintf("receipt %s %d/%d", p.Receipt.User, p.Receipt.Received, p.Receipt.Read)
	case p.Floor != nil:
		return fmt.Sprintf("floor %s %d %d", p.Floor.Conversation, p.Floor.Seq, p.Floor.Count)
	case p.Typing != nil:
		return "typing " + string(p.Typing.User)
	case p.Custom != nil:
		return fmt.Sprintf("custom %s %s %x", p.Custom.User, p.Custom.Type, p.Custom.Data)
	}
	var seqs []uint64
	for _, e := range p.Entries {
		seqs = append(seqs, e.Seq)
	}
	return fmt.Sprint("entries ", seqs, " ", p.Origin)
}

func delivery(c im.ConversationID, seq uint64, origin im.ConnectionID) im.Delivery {
	return im.Delivery{Entry: im.Entry{Conversation: c, Seq: seq, Kind: im.EntryMessage}, Origin: origin}
}

func expect(t *testing.T, g *gateways, want ...string) {
	t.Helper()
	if got := g.take(); !slices.Equal(got, want) {
		t.Fatalf("got\n%q\nwant\n%q", got, want)
	}
}

func start(t *testing.T) (*gateways, *Dispatcher) {
	g := &gateways{}
	d := New(g, time.Now)
	t.Cleanup(d.Close)
	return g, d
}

func TestRecipientsAndOrder(t *testing.T) {
	g, d := start(t)
	ab, grp := im.DM("a", "b"), im.Group("g")
	d.Deliver([]im.Delivery{delivery(ab, 1, "c1"), delivery(grp, 5, "c2"), delivery(ab, 2, ""), delivery(im.Me("z"), 9, "")})
	expect(t, g, "users [a b] entries [1 2] [c1 ]", "group grp:g entries [5] [c2]", "users [z] entries [9] []", "flush")
	d.Deliver([]im.Delivery{delivery(grp, 6, "")})
	expect(t, g, "group grp:g entries [6] []", "flush")
	d.Deliver(nil) // acks and rejections alone are written too
	expect(t, g, "flush")
	d.Typing(ab, "a")
	d.Typing(grp, "a")
	expect(t, g, "users [b] typing a", "flush", "group grp:g typing a", "flush")
	d.Custom(im.CustomSignal{Conversation: ab, User: "b", Type: "t", Data: []byte{1}})
	d.Custom(im.CustomSignal{Conversation: grp, User: "b", Type: "t"})
	d.Custom(im.CustomSignal{Conversation: ab, User: "stranger", Type: "t"})
	expect(t, g, "users [a] custom b t 01", "flush", "group grp:g custom b t ", "flush", "flush")
}

// Floors go to both users of a dm and to the members of a group, and are written some at a
// time.
func TestFloors(t *testing.T) {
	g, d := start(t)
	d.Floors(nil)
	expect(t, g)
	floors := []im.Floor{{Conversation: im.DM("a", "b"), Seq: 7, Count: 3}, {Conversation: im.Group("g"), Seq: 9, Count: 9}}
	d.Floors(floors)
	expect(t, g, "users [a b] floor dm:a:b 7 3", "group grp:g floor grp:g 9 9", "flush")
	for range floorsAtOnce {
		floors = append(floors, floors[0])
	}
	d.Floors(floors)
	if got := g.take(); len(got) != floorsAtOnce+4 || got[floorsAtOnce] != "flush" || got[floorsAtOnce+3] != "flush" {
		t.Errorf("%d lines, %q", len(got), got[floorsAtOnce-1:])
	}
}

// The last entry of a burst is announced again once the conversation is quiet,
// and only then.
func TestBeaconAfterABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{}
		d := New(g, time.Now)
		defer d.Close()
		ab, grp := im.DM("a", "b"), im.Group("g")
		for seq := range uint64(5) {
			d.Deliver([]im.Delivery{delivery(ab, seq+1, "")})
			time.Sleep(600 * time.Millisecond)
		}
		for _, l := range g.take() {
			if l == "users [a b] head 5" {
				t.Fatal("beacon while the burst goes on")
			}
		}
		d.Deliver([]im.Delivery{delivery(grp, 8, "")})
		g.take()
		time.Sleep(700 * time.Millisecond)
		expect(t, g, "users [a b] head 5", "flush")
		time.Sleep(time.Second)
		expect(t, g, "group grp:g head 8", "flush")
		time.Sleep(time.Minute)
		expect(t, g)
	})
}

// A beacon names those whom its burst added, for they may have missed that they are in.
func TestBeaconNamesWhoWasAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{}
		d := New(g, time.Now)
		defer d.Close()
		grp := im.Group("g")
		event := func(seq uint64, typ im.EventType, users ...im.UserID) im.Delivery {
			return im.Delivery{Entry: im.Entry{Conversation: grp, Seq: seq, Kind: im.EntryEvent, Event: &im.Event{Type: typ, Users: users}}}
		}
		d.Deliver([]im.Delivery{event(1, im.EventGroupCreated, "a", "b"), event(2, im.EventMemberRemoved, "b")})
		d.Deliver([]im.Delivery{event(3, im.EventMemberAdded, "c"), delivery(grp, 4, "")})
		g.take()
		time.Sleep(2 * time.Second)
		expect(t, g, "group grp:g head 4 adds [a b c]", "flush")
		d.Deliver([]im.Delivery{delivery(grp, 5, "")})
		g.take()
		time.Sleep(2 * time.Second)
		expect(t, g, "group grp:g head 5", "flush")
	})
}

// Each of several conversations that burst, in the same batches or not, has the
// beacon of its own last entry, when it is quiet itself.
func TestBeaconsOfSeveralBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{}
		d := New(g, time.Now)
		defer d.Close()
		ab, cd, grp := im.DM("a", "b"), im.DM("c", "d"), im.Group("g")
		for seq := range uint64(3) {
			d.Deliver([]im.Delivery{delivery(ab, 2*seq+1, ""), delivery(cd, seq+1, ""), delivery(ab, 2*seq+2, ""), delivery(grp, seq+1, "")})
			time.Sleep(600 * time.Millisecond)
		}
		d.Deliver([]im.Delivery{delivery(cd, 4, "")}) // one of them goes on
		g.take()
		time.Sleep(700 * time.Millisecond)
		got := g.take()
		slices.Sort(got)
		if want := []string{"flush", "group grp:g head 3", "users [a b] head 6"}; !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		time.Sleep(time.Second)
		expect(t, g, "users [c d] head 4", "flush")
		time.Sleep(time.Minute)
		expect(t, g)
	})
}

// Receipts are late by a trifle and combined; the furthest marks count.
func TestReceiptsAreCombined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{}
		d := New(g, time.Now)
		defer d.Close()
		ab := im.DM("a", "b")
		for i := range uint64(100) {
			d.Receipt(im.Mark{User: "b", Conversation: ab, Received: i}, []im.UserID{"a"})
		}
		d.Receipt(im.Mark{User: "b", Conversation: ab, Received: 50, Read: 40}, []im.UserID{"a", "b"})
		time.Sleep(readDelay)
		synctest.Wait()
		got := g.take()
		slices.Sort(got)
		if want := []string{"flush", "users [a] receipt b 99/40", "users [b] receipt b 50/40"}; !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		time.Sleep(time.Second)
		expect(t, g)
	})
}

// A received mark is not worth a write of its own: it waits for one to its
// recipient, for a while. One to somebody else does not take it along.
func TestReceiptsLeaveWithOtherWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateways{}
		d := New(g, time.Now)
		defer d.Close()
		ab, cd, ae := im.DM("a", "b"), im.DM("c", "d"), im.DM("a", "e")
		received := func(seq uint64) { d.Receipt(im.Mark{User: "b", Conversation: ab, Received: seq}, []im.UserID{"a"}) }
		received(1)
		d.Deliver([]im.Delivery{delivery(cd, 1, "")})
		expect(t, g, "users [c d] entries [1] []", "flush")
		d.Deliver([]im.Delivery{delivery(ae, 1, "")})
		expect(t, g, "users [a e] entries [1] []", "users [a] receipt b 1/0", "flush")
		time.Sleep(receiptDelay)
		synctest.Wait()
		expect(t, g)

		grp := im.Group("g") // of a group's batch the author is written to for certain
		received(2)
		d.Deliver([]im.Delivery{{Entry: im.Entry{Conversation: grp, Seq: 1, Sender: "a"}}})
		expect(t, g, "group grp:g entries [1] []", "users [a] receipt b 2/0", "flush")

		received(3)
		time.Sleep(receiptDelay - time.Millisecond)
		synctest.Wait()
		expect(t, g)
		received(4)
		time.Sleep(receiptSlack)
		synctest.Wait()
		expect(t, g, "users [a] receipt b 4/0", "flush")
		// Its place in line is gone with it; a later mark waits its own time.
		received(5)
		time.Sleep(receiptDelay - receiptSlack)
		synctest.Wait()
		expect(t, g)
		time.Sleep(2 * receiptSlack)
		synctest.Wait()
		expect(t, g, "users [a] receipt b 5/0", "flush")
	})
}

// Close sends what still waits.
func TestCloseSendsReceipts(t *testing.T) {
	g := &gateways{}
	d := New(g, time.Now)
	d.Receipt(im.Mark{User: "b", Conversation: im.DM("a", "b"), Received: 1}, []im.UserID{"a"})
	d.Close()
	expect(t, g, "users [a] receipt b 1/0", "flush")
}
