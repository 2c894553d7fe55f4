package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// worst is the longest text there may be, which JSON makes six times as long.
var worst = strings.Repeat("\x01", 64<<10)

// bothCodecs plays with a client that takes no frame beyond what the Welcome says.
func bothCodecs(t *testing.T, play func(t *testing.T, w *world, p *peer, codec wire.Codec)) {
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		t.Run(codec.Name(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				p := w.dial(codec)
				p.send(hello("ann", "d1", wire.DeviceClass_DEVICE_CLASS_PHONE))
				limit := p.want("welcome ann").GetWelcome().GetLimits().GetServerFrameBytes()
				if limit != 2<<20 {
					t.Fatalf("server_frame_bytes is %d", limit)
				}
				p.conn.SetReadLimit(int(limit))
				play(t, w, p, codec)
			})
		})
	}
}

// A Range of the longest texts ends sooner, and goes on where it ended.
func TestARangeKeepsToItsLength(t *testing.T) {
	bothCodecs(t, func(t *testing.T, w *world, p *peer, codec wire.Codec) {
		const last = 16 // 1 MiB, as much as a store gives at a time
		w.logic.pull = func(q im.PullQuery) (im.PullResult, error) {
			r := im.PullResult{Head: last}
			for seq := q.From; seq <= last && len(r.Entries) < q.Limit; seq++ {
				r.Entries = append(r.Entries, entry(dm, seq, worst))
				r.First, r.Last = q.From, seq
			}
			return r, nil
		}
		ranges := 0
		for next := uint64(1); next <= last; ranges++ {
			p.send(wire.NewClientFrame(&wire.Pull{Conversation: string(dm), From: next, Limit: 200}))
			r := p.read().GetRange()
			if r.GetFirstSeq() != next || len(r.GetEntries()) != int(r.GetLastSeq()-next+1) || len(r.GetEntries()) == 0 {
				t.Fatalf("from %d: %d to %d, %d entries, %v", next, r.GetFirstSeq(), r.GetLastSeq(), len(r.GetEntries()), r.GetError())
			}
			next = r.GetLastSeq() + 1
		}
		if want := map[string]int{wire.ProtobufName: 1, wire.JSONName: 4}[codec.Name()]; ranges != want {
			t.Errorf("%d ranges, want %d", ranges, want)
		}
		p.send(wire.NewClientFrame(&wire.Pulls{Pulls: []*wire.Pull{{Number: 1, Conversation: string(dm), From: 1, Limit: 50}, {Number: 2, Conversation: string(dm), From: 9, Limit: 50}}}))
		for n := range uint32(2) {
			if r := p.read().GetRange(); r.GetNumber() != n+1 || len(r.GetEntries()) == 0 {
				t.Errorf("the answer to a Pull of several is %d, %d entries, %v", r.GetNumber(), len(r.GetEntries()), r.GetError())
			}
		}
	})
}

// A SyncDelta goes without entries, of the conversations that have most of them.
func TestADeltaKeepsToItsLength(t *testing.T) {
	bothCodecs(t, func(t *testing.T, w *world, p *peer, codec wire.Codec) {
		w.logic.sync = func(im.SyncQuery) (im.SyncResult, error) {
			r := im.SyncResult{Timeline: "tl", Position: "p9"}
			for i := range 12 {
				c := im.ConversationID(fmt.Sprintf("grp:g%d", i))
				st := im.ConversationState{Conversation: c, Head: im.Head{Seq: 1, Count: 1}}
				st.Told = im.Stretch{First: 1, Last: 1, Entries: []im.Entry{entry(c, 1, worst[:len(worst)-i])}}
				r.Conversations = append(r.Conversations, st)
			}
			return r, nil
		}
		p.send(wire.NewClientFrame(&wire.Sync{Number: 1}))
		d := p.read().GetSyncDelta()
		if d.GetPosition() != "p9" || len(d.GetConversations()) != 12 {
			t.Fatalf("%d conversations, %v", len(d.GetConversations()), d.GetError())
		}
		told := 0
		for i, st := range d.GetConversations() {
			if (len(st.GetEntries()) == 0) != (st.GetFromSeq() == 0) || st.GetSeq() != 1 {
				t.Errorf("conversation %d tells %d entries from %d", i, len(st.GetEntries()), st.GetFromSeq())
			}
			told += len(st.GetEntries())
		}
		if want := map[string]int{wire.ProtobufName: 12, wire.JSONName: 5}[codec.Name()]; told != want {
			t.Errorf("%d conversations tell their entries, want %d", told, want)
		}
	})
}

// A Result that is too long is an error of the Call; the connection stays.
func TestAResultKeepsToItsLength(t *testing.T) {
	bothCodecs(t, func(t *testing.T, w *world, p *peer, _ wire.Codec) {
		w.logic.call = func(context.Context, string, []byte) ([]byte, error) { return make([]byte, 2<<20), nil }
		p.send(wire.NewClientFrame(&wire.Call{Number: 6, Method: "m", Request: &wire.Call_Body{Body: []byte("q")}}))
		p.want("result 6 error too_large")
		p.quiet()
	})
}

// A Push that is too long in a codec is told as one that was dropped: Resync.
func TestAPushKeepsToItsLength(t *testing.T) {
	bothCodecs(t, func(t *testing.T, w *world, p *peer, codec wire.Codec) {
		var es []im.Entry
		for seq := range uint64(6) {
			es = append(es, entry(dm, seq+1, worst))
		}
		w.g.ToUsers([]im.UserID{"ann"}, im.Parcel{Entries: es})
		w.g.Flush()
		synctest.Wait()
		if codec.Name() == wire.JSONName {
			p.want("resync")
		} else if n := len(p.read().GetPush().GetEntries()); n != 6 {
			t.Errorf("%d entries are pushed", n)
		}
		p.quiet()
	})
}
