package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	dm  = im.ConversationID("dm:ann:bob")
	grp = im.ConversationID("grp:g")
)

// parked is a script connection that has said Hello and listens.
func (w *world) parked(user, device string, codec wire.Codec) *scriptConn {
	w.t.Helper()
	c := newScript(codec, hello(user, device, phone))
	go w.g.Serve(c)
	synctest.Wait()
	if got := c.heard(); !slices.Equal(got, []string{"welcome " + user}) {
		w.t.Fatalf("%s heard %v", user, got)
	}
	return c
}

// hears compares what has been heard since the last time.
func (c *scriptConn) hears(t testing.TB, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := c.heard(); !slices.Equal(got, want) {
		t.Fatalf("heard %q\nwant  %q", got, want)
	}
}

func TestToUsers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a1, a2, b, z := w.parked("ann", "1", wire.Protobuf()), w.parked("ann", "2", wire.JSON()), w.parked("bob", "1", wire.Protobuf()), w.parked("zed", "1", wire.Protobuf())
		origin := im.ConnectionID("n-1")
		first, second := entry(dm, 1, "x"), entry(dm, 2, "y")
		first.Sender = "ann" // her other device has no ack
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Entries: []im.Entry{first, second}, Origin: []im.ConnectionID{origin, ""}})
		w.g.ToUsers([]im.UserID{"ann"}, im.Parcel{Receipt: &im.Mark{User: "bob", Conversation: dm, Received: 2, Read: 1}})
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Typing: &im.ParcelTyping{Conversation: dm, User: "ann"}})
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Custom: &im.CustomSignal{Conversation: dm, User: "ann", Type: "cursor", Data: []byte{7}}})
		b.hears(t) // nothing before the flush
		w.g.Flush()
		a1.hears(t, "push dm:ann:bob#2=y", "receipt dm:ann:bob bob 2 1")
		a2.hears(t, "push dm:ann:bob#1=x dm:ann:bob#2=y", "receipt dm:ann:bob bob 2 1")
		b.hears(t, "push dm:ann:bob#1=x dm:ann:bob#2=y", "typing dm:ann:bob ann", "signal dm:ann:bob ann cursor 07")
		z.hears(t)
		// A beacon for what was pushed is no news; one beyond is.
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Head: &im.ParcelHead{Conversation: dm, Seq: 2}})
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Head: &im.ParcelHead{Conversation: dm, Seq: 5}})
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Head: &im.ParcelHead{Conversation: dm, Seq: 5}})
		w.g.Flush()
		b.hears(t, "heads dm:ann:bob#5")
	})
}

// One write per touched connection and batch, acks included.
func TestWritesAreCoalesced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var reply func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
		a := w.parked("ann", "1", wire.Protobuf())
		a.say(text(string(dm), 1, "x"))
		synctest.Wait()
		before, _ := a.counts()
		reply(im.Ack{Seq: 1}, nil)
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 2, "y")))
		w.g.ToUsers([]im.UserID{"ann"}, im.Parcel{Receipt: &im.Mark{User: "bob", Conversation: dm, Received: 2}})
		w.g.Flush()
		a.hears(t, "ack 1 dm:ann:bob 1", "push dm:ann:bob#2=y", "receipt dm:ann:bob bob 2 0")
		if after, _ := a.counts(); after != before+1 {
			t.Fatalf("%d writes", after-before)
		}
	})
}

// Pushes to somebody whose own send is on its way leave with its ack, but wait
// for a few batches only; what is not a push never waits.
func TestPushesWaitForTheAck(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var reply func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
		a := w.parked("ann", "1", wire.Protobuf())
		a.say(text(string(dm), 1, "x"))
		synctest.Wait()
		before, _ := a.counts()
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 1, "w")))
		w.g.Flush()
		a.hears(t)
		reply(im.Ack{Seq: 2}, nil)
		w.g.Flush()
		a.hears(t, "push dm:ann:bob#1=w", "ack 1 dm:ann:bob 2")
		if after, _ := a.counts(); after != before+1 {
			t.Fatalf("%d writes", after-before)
		}

		a.say(text(string(dm), 2, "y")) // its answer is long in coming
		synctest.Wait()
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 3, "z")))
		for range 8 { // outgoing.maxDeferred
			w.g.Flush()
			a.hears(t)
		}
		w.g.Flush()
		a.hears(t, "push dm:ann:bob#3=z")
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 4, "u")))
		a.say(wire.NewClientFrame(&wire.Ping{})) // its pong takes the push along
		synctest.Wait()
		if got := a.heard(); len(got) != 2 || got[0] != "push dm:ann:bob#4=u" {
			t.Fatalf("heard %q", got)
		}
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 5, "v")))
		w.g.Flush()
		time.Sleep(5 * time.Second) // nothing is committed any more: the wheel does it
		a.hears(t, "push dm:ann:bob#5=v")
		reply(im.Ack{Seq: 6}, nil)
		w.g.Flush()
	})
}

// Pushes to very many do not hold up who flushes; all arrive, and in order.
func TestManyPushesAreWrittenAside(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var users []im.UserID
		var peers []*scriptConn
		for i := range 300 { // some more than outgoing.pushesFirst
			u := im.UserID(fmt.Sprintf("u%d", i))
			users = append(users, u)
			peers = append(peers, w.parked(string(u), "1", wire.Protobuf()))
		}
		c := im.DM("a", "b")
		for seq := range uint64(3) {
			w.g.ToUsers(users, parcel(entry(c, seq+1, "x")))
			w.g.Flush()
		}
		synctest.Wait()
		for i, p := range peers {
			if got := strings.Join(p.heard(), " "); !strings.Contains(got, "#1=x") || strings.Index(got, "#2=x") < strings.Index(got, "#1=x") || strings.Index(got, "#3=x") < strings.Index(got, "#2=x") {
				t.Fatalf("peer %d heard %q", i, got)
			}
		}
	})
}

// countingCodec counts how often frames are encoded.
type countingCodec struct {
	wire.Codec
	n *atomic.Int64
}

func (c countingCodec) Append(dst []byte, f proto.Message) ([]byte, error) {
	c.n.Add(1)
	return c.Codec.Append(dst, f)
}

func TestEncodedOncePerCodec(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var n atomic.Int64
		w := newWorld(t, func(o *Options) {
			o.Codecs = []wire.Codec{countingCodec{wire.Protobuf(), &n}, countingCodec{wire.JSON(), &n}}
		})
		var all []*scriptConn
		for i := range 40 {
			u := fmt.Sprintf("u%d", i)
			w.set(im.UserID(u), grp)
			all = append(all, w.parked(u, "1", []wire.Codec{wire.Protobuf(), wire.JSON()}[i%2]))
		}
		n.Store(0)
		w.toGroup(grp, entry(grp, 1, "a"), entry(grp, 2, "b"))
		for _, c := range all {
			c.hears(t, "push grp:g#1=a grp:g#2=b")
		}
		if n.Load() != 2 {
			t.Fatalf("encoded %d times for 40 connections of 2 codecs", n.Load())
		}
	})
}

// Few authors get no push of what they have acks for; when many speak at once
// they get what all get, so that the storm is encoded once (SPEC §5.5).
func TestAuthorsOfAStorm(t *testing.T) {
	for _, authors := range []int{1, maxAuthors, maxAuthors + 1, 12} {
		bubble(t, func(t *testing.T) {
			var n atomic.Int64
			w := newWorld(t, func(o *Options) { o.Codecs = []wire.Codec{countingCodec{wire.Protobuf(), &n}} })
			var all []*scriptConn
			for i := range 13 {
				u := im.UserID(fmt.Sprintf("u%d", i))
				w.set(u, grp)
				all = append(all, w.parked(string(u), "1", wire.Protobuf()))
			}
			var p im.Parcel
			texts := make([]string, 14)
			for i := range texts { // the last two are nobody's here
				p.Entries = append(p.Entries, entry(grp, uint64(i)+1, "x"))
				p.Origin = append(p.Origin, "")
				texts[i] = fmt.Sprintf(" grp:g#%d=x", i+1)
				if i < 12 {
					p.Origin[i] = im.ConnectionID(fmt.Sprintf("n-%d", i%authors+1))
					if i%authors+1 > 9 {
						p.Origin[i] = im.ConnectionID(fmt.Sprintf("n-%c", 'a'+i%authors-9))
					}
				}
			}
			n.Store(0)
			w.g.ToGroup(grp, p)
			w.g.Flush()
			encodings := n.Load()
			want := int64(1) // everybody's
			for i, c := range all {
				var parts []string // between its own entries, where its acks have their places
				for j, x := range texts {
					own := authors <= maxAuthors && j < 12 && j%authors == i
					switch {
					case own:
						parts = append(parts, "")
					case len(parts) == 0 || parts[len(parts)-1] == "":
						parts = append(parts, "push"+x)
					default:
						parts[len(parts)-1] += x
					}
				}
				parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
				c.hears(t, parts...)
				if authors <= maxAuthors && i < authors {
					want += int64(len(parts))
				}
			}
			if encodings != want {
				t.Errorf("%d authors: encoded %d times, want %d", authors, encodings, want)
			}
		})
	}
}

// Shared bytes must not be written to when something is queued behind them.
func TestSharedFrameIsNotChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var all []*scriptConn
		var users []im.UserID
		for i := range 20 {
			u := im.UserID(fmt.Sprintf("u%d", i))
			users = append(users, u)
			w.set(u, grp)
			all = append(all, w.parked(string(u), "1", wire.Protobuf()))
		}
		w.g.ToGroup(grp, parcel(entry(grp, 1, "a")))
		w.g.ToUsers(users[:1], parcel(entry("me:u0", 1, "mine")))
		w.g.ToGroup(grp, parcel(entry(grp, 2, "b")))
		w.g.Flush()
		all[0].hears(t, "push grp:g#1=a", "push me:u0#1=mine", "push grp:g#2=b")
		for _, c := range all[1:] {
			c.hears(t, "push grp:g#1=a", "push grp:g#2=b")
		}
	})
}

// The group's own entries decide who gets what, to the entry (SPEC §4.3).
func TestGroupFollowsItsEntries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.set("ann", grp)
		a, b, c := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf()), w.parked("cat", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 1, "x"), rosterEntry(grp, 2, im.EventMemberAdded, "bob"), entry(grp, 3, "y"))
		a.hears(t, "push grp:g#1=x", "push grp:g#2=member_added", "push grp:g#3=y")
		b.hears(t, "push grp:g#2=member_added", "push grp:g#3=y")
		c.hears(t)
		w.toGroup(grp, entry(grp, 4, "z"), rosterEntry(grp, 5, im.EventMemberRemoved, "bob"), entry(grp, 6, "secret"))
		a.hears(t, "push grp:g#4=z", "push grp:g#5=member_removed", "push grp:g#6=secret")
		b.hears(t, "push grp:g#4=z", "push grp:g#5=member_removed")
		w.g.ToGroup(grp, im.Parcel{Typing: &im.ParcelTyping{Conversation: grp, User: "ann"}})
		w.g.ToGroup(grp, im.Parcel{Custom: &im.CustomSignal{Conversation: grp, User: "ann", Type: "cursor"}})
		w.g.ToGroup(grp, im.Parcel{Custom: &im.CustomSignal{Conversation: grp, User: "zoe", Type: "cursor"}})
		w.toGroup(grp, entry(grp, 7, "more"))
		b.hears(t)
		a.hears(t, "signal grp:g zoe cursor ", "push grp:g#7=more")
		w.toGroup(grp, rosterEntry(grp, 8, im.EventMemberLeft, "ann"), entry(grp, 9, "nobody's"))
		a.hears(t, "push grp:g#8=member_left")
		w.toGroup("grp:new", rosterEntry("grp:new", 1, im.EventGroupCreated, "ann", "cat"), entry("grp:new", 2, "hi"))
		a.hears(t, "push grp:new#1=group_created", "push grp:new#2=hi")
		c.hears(t, "push grp:new#1=group_created", "push grp:new#2=hi")
		b.hears(t)
		w.toGroup("grp:new", rosterEntry("grp:new", 3, im.EventGroupDismissed), entry("grp:new", 4, "late"))
		c.hears(t, "push grp:new#3=group_dismissed")
		if n := w.g.Stats().Groups; n != 0 {
			t.Fatalf("%d groups are kept", n)
		}
	})
}

// The creator is in the group; the creator's other devices see it as well.
func TestGroupCreatorIsAMember(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		z := w.parked("zoe", "1", wire.Protobuf())
		w.toGroup(grp, rosterEntry(grp, 1, im.EventGroupCreated, "ann"), entry(grp, 2, "x"))
		z.hears(t, "push grp:g#1=group_created", "push grp:g#2=x")
	})
}

// A roster change that is delivered while the groups of a connecting user are
// read knows better than what was read.
func TestRosterChangesDuringHandshake(t *testing.T) {
	for _, others := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			w.set("bob", "grp:out")
			if others { // the groups exist here already, or not
				w.set("ann", "grp:out", "grp:in")
				w.parked("ann", "1", wire.Protobuf())
			}
			w.onGroups = func(u im.UserID) {
				if u == "bob" {
					w.toGroup("grp:out", rosterEntry("grp:out", 5, im.EventMemberRemoved, "bob"))
					w.toGroup("grp:in", rosterEntry("grp:in", 5, im.EventMemberAdded, "bob"))
				}
			}
			c := newScript(wire.Protobuf(), hello("bob", "1", phone))
			go w.g.Serve(c)
			c.hears(t, "welcome bob", "push grp:out#5=member_removed", "push grp:in#5=member_added")
			w.toGroup("grp:out", entry("grp:out", 6, "secret"))
			w.toGroup("grp:in", entry("grp:in", 6, "open"))
			c.hears(t, "push grp:in#6=open")
		})
	}
}

// What is pushed between registration and Welcome comes after the Welcome, and
// may come before the delta; nothing is lost between the two.
func TestPushDuringHandshakeIsHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.onGroups = func(im.UserID) {
			w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 1, "early")))
			w.g.Flush()
		}
		w.logic.sync = func(im.SyncQuery) (im.SyncResult, error) {
			w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 2, "meanwhile")))
			w.g.Flush()
			return im.SyncResult{Position: "p"}, nil
		}
		h := hello("ann", "1", phone)
		h.GetHello().Sync = &wire.Sync{Number: 1}
		c := newScript(wire.Protobuf(), h)
		go w.g.Serve(c)
		c.hears(t, "welcome ann", "push dm:ann:bob#1=early", "push dm:ann:bob#2=meanwhile", "delta 1 p")
	})
}

// After a gap nothing is pushed until the roster of the members here was read
// again: the missed entry may have removed one of them.
func TestGapStopsPushesUntilTheRosterIsRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.set("ann", grp)
		w.set("bob", grp)
		a, b := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 1, "x"))
		a.hears(t, "push grp:g#1=x")
		b.hears(t, "push grp:g#1=x")
		// Entry 2, bob's removal, is lost.
		read := make(chan struct{})
		w.set("bob")
		w.onGroups = func(im.UserID) { <-read }
		w.toGroup(grp, entry(grp, 3, "secret"))
		w.toGroup(grp, entry(grp, 4, "secret too"))
		w.g.ToGroup(grp, im.Parcel{Typing: &im.ParcelTyping{Conversation: grp, User: "zoe"}})
		w.g.ToGroup(grp, im.Parcel{Custom: &im.CustomSignal{Conversation: grp, User: "zoe", Type: "t"}})
		w.g.ToGroup(grp, im.Parcel{Floor: &im.Floor{Conversation: grp, Seq: 1, Count: 1}})
		w.g.Flush()
		a.hears(t, "heads grp:g#3", "heads grp:g#4")
		b.hears(t, "heads grp:g#3", "heads grp:g#4")
		close(read)
		a.hears(t, "heads grp:g#4")
		w.toGroup(grp, entry(grp, 5, "y"))
		a.hears(t, "push grp:g#5=y")
		b.hears(t, "resync") // and so he learns that he is out
		if w.g.metrics.gapRepairs.Load() == 0 {
			t.Fatal("the gap was not counted")
		}
	})
}

// A second gap during the reading makes it count for nothing.
func TestGapDuringVerification(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.set("bob", grp)
		b := w.parked("bob", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 1, "x"))
		b.hears(t, "push grp:g#1=x")
		step := make(chan struct{})
		w.onGroups = func(im.UserID) { <-step }
		w.toGroup(grp, entry(grp, 3, "y")) // the reading begins: bob is still listed
		synctest.Wait()
		w.set("bob")
		w.toGroup(grp, entry(grp, 5, "secret")) // and his removal is lost now
		step <- struct{}{}
		synctest.Wait()
		w.toGroup(grp, entry(grp, 6, "secret"))
		step <- struct{}{}
		synctest.Wait()
		w.toGroup(grp, entry(grp, 7, "secret"))
		b.hears(t, "heads grp:g#3", "heads grp:g#5", "heads grp:g#6", "resync")
	})
}

// While the roster cannot be read nothing is pushed, and it is tried again.
func TestVerificationIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.set("ann", grp)
		a := w.parked("ann", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 1, "x"))
		w.mu.Lock()
		w.errGroup = errors.New("down")
		w.mu.Unlock()
		w.toGroup(grp, entry(grp, 3, "y"))
		time.Sleep(10 * time.Second)
		w.toGroup(grp, entry(grp, 4, "z"))
		a.hears(t, "push grp:g#1=x", "heads grp:g#3", "heads grp:g#4")
		w.mu.Lock()
		w.errGroup = nil
		w.mu.Unlock()
		time.Sleep(5 * time.Second)
		w.toGroup(grp, entry(grp, 5, "w"))
		a.hears(t, "heads grp:g#4", "push grp:g#5=w")
	})
}

func TestGroupBeacon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.set("ann", grp)
		w.set("bob", grp)
		a, b := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 1, "x"))
		a.hears(t, "push grp:g#1=x")
		b.hears(t, "push grp:g#1=x")
		beacon := func(seq, roster uint64) {
			w.g.ToGroup(grp, im.Parcel{Head: &im.ParcelHead{Conversation: grp, Seq: seq, Roster: roster}})
			w.g.Flush()
		}
		beacon(1, 0)
		a.hears(t)
		w.set("bob") // entry 2 removed bob, and was lost
		beacon(2, 0)
		a.hears(t, "heads grp:g#2", "heads grp:g#2") // at once, and when the roster was read
		b.hears(t, "heads grp:g#2", "resync")
		w.toGroup(grp, entry(grp, 3, "secret"))
		a.hears(t, "push grp:g#3=secret")
		b.hears(t)
		// What the beacon told is not pushed a second time.
		w.toGroup(grp, entry(grp, 2, "late"))
		a.hears(t)
	})
}

// A roster revision beyond the one known means a lost roster change, whatever the seq.
func TestRosterRevisionTellsAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.set("bob", grp)
		b := w.parked("bob", "1", wire.Protobuf())
		with := func(e im.Entry, roster uint64) im.Entry { e.Roster = roster; return e }
		w.toGroup(grp, with(entry(grp, 1, "x"), 1))
		w.toGroup(grp, with(rosterEntry(grp, 2, im.EventMemberAdded, "cat"), 2), with(entry(grp, 3, "y"), 2))
		b.hears(t, "push grp:g#1=x", "push grp:g#2=member_added", "push grp:g#3=y")
		w.set("bob")
		w.toGroup(grp, with(entry(grp, 4, "secret"), 3))
		synctest.Wait()
		w.toGroup(grp, with(entry(grp, 5, "secret"), 3))
		b.hears(t, "heads grp:g#4", "resync")
	})
}

// A roster change that comes late (after entries behind it) is not applied
// blindly: what it means now is read.
func TestLateRosterChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.set("ann", grp)
		w.set("bob", grp)
		a, b := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 4, "x"))
		a.hears(t, "push grp:g#4=x")
		b.hears(t, "push grp:g#4=x")
		w.set("bob")
		w.toGroup(grp, rosterEntry(grp, 3, im.EventMemberRemoved, "bob"))
		synctest.Wait()
		w.toGroup(grp, entry(grp, 5, "secret"))
		a.hears(t, "heads grp:g#4", "push grp:g#5=secret")
		b.hears(t, "resync") // and he learns that he is out
	})
}

// An entry that adds somebody comes twice when there are many nodes: with the
// group's and for those who are where the group is not known yet. The second
// time it says nothing, but where it is late.
func TestAddedTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.parked("ann", "1", wire.Protobuf())
		w.set("ann", grp)
		w.toGroup(grp, rosterEntry(grp, 3, im.EventMemberAdded, "ann"))
		w.toGroup(grp, rosterEntry(grp, 3, im.EventMemberAdded, "ann"))
		w.toGroup(grp, entry(grp, 4, "x"))
		a.hears(t, "push grp:g#3=member_added", "push grp:g#4=x")
		b := w.parked("bob", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 6, "y")) // and 5 adds bob
		a.hears(t, "heads grp:g#6", "heads grp:g#6")
		b.hears(t)
		synctest.Wait()
		w.set("bob", grp)
		w.toGroup(grp, rosterEntry(grp, 5, im.EventMemberAdded, "bob"))
		synctest.Wait()
		w.toGroup(grp, entry(grp, 7, "z"))
		b.hears(t, "resync", "push grp:g#7=z")
	})
}

// A Sync that knows of a membership the registry missed repairs the registry.
func TestSyncRepairsTheRegistry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.parked("ann", "1", wire.Protobuf())
		w.set("ann", grp) // the entry that added her was lost on the way here
		w.logic.sync = func(im.SyncQuery) (im.SyncResult, error) {
			return im.SyncResult{Position: "p", Conversations: []im.ConversationState{{Conversation: grp}}}, nil
		}
		a.say(wire.NewClientFrame(&wire.Sync{Number: 1}))
		a.hears(t, "delta 1 p", "resync") // what came between the two is not known
		w.toGroup(grp, entry(grp, 9, "x"))
		a.hears(t, "push grp:g#9=x")
	})
}

// The registry keeps nothing of sessions that are gone.
func TestRegistryForgets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 5 {
			w.set(im.UserID(fmt.Sprintf("u%d", i)), grp, im.ConversationID(fmt.Sprintf("grp:%d", i)))
		}
		var all []*scriptConn
		for i := range 10 {
			all = append(all, w.parked(fmt.Sprintf("u%d", i%5), fmt.Sprint(i), wire.Protobuf()))
		}
		if st := w.g.Stats(); st != (Stats{Connections: 10, Users: 5, Groups: 6}) {
			t.Fatalf("stats %+v", st)
		}
		for _, c := range all {
			_ = c.Close("", "")
		}
		synctest.Wait()
		if st := w.g.Stats(); st != (Stats{}) {
			t.Fatalf("stats %+v", st)
		}
		w.g.mu.Lock()
		defer w.g.mu.Unlock()
		if w.g.groups.Loads.Count() != 0 || watched(w) != 0 {
			t.Fatal("something is kept")
		}
	})
}

func TestToldIsBounded(t *testing.T) {
	sh := newTold(10 * toldShards).locked("dm:a:b")
	advance := func(i int) bool { return sh.advance(im.DM("x", im.UserID(fmt.Sprint(i))), "x", 1) }
	for i := range 1000 {
		advance(i)
		if sh.last.Len() > 10 {
			t.Fatalf("%d are kept", sh.last.Len())
		}
	}
	if advance(999) || !advance(0) {
		t.Fatal("the newest was forgotten, or the oldest kept")
	}
}
