package e2e

import (
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// told is one connection's view of what it is told of conversations: the acks,
// pushes and heads, in the order in which they come.
type told struct {
	last map[string]uint64 // the furthest seq that was told
	holes, overtaken,
	acks, pushes int
}

// takes judges a frame: nothing may come after what lies behind it, and nothing
// may come before what lies before it (SPEC §6.7).
func (o *told) takes(f *wire.ServerFrame) {
	next := func(c string, seq uint64) {
		switch last := o.last[c]; {
		case seq <= last:
			o.overtaken++
		case last > 0 && seq > last+1:
			o.holes++
		}
		o.last[c] = max(o.last[c], seq)
	}
	if a := f.GetSendAck(); a != nil {
		o.acks++
		next(a.Conversation, a.Seq)
	}
	for _, e := range f.GetPush().GetEntries() {
		o.pushes++
		next(e.Conversation, e.Seq)
	}
	for _, h := range f.GetHeads().GetHeads() {
		if last := o.last[h.Conversation]; last > 0 && h.Seq > last {
			o.holes++ // nothing is lost here, so it overtook a push
		}
	}
}

// oneOrder: four clients send to one group, and two of them to each other, with
// pipelines, and each is told everything in the order of the seqs: its acks among
// the pushes of the others.
func oneOrder(t *testing.T, w World) {
	const senders, each, window = 4, 300, 16
	first := join(t, w, "u0", 0)
	users := []string{"u0", "u1", "u2", "u3"}
	var all []*raw
	others := []*person{first}
	for i, u := range users {
		if i > 0 {
			others = append(others, join(t, w, u, i))
		}
		r := dialRaw(t, w, 0)
		r.hello(mint(t, w, u, time.Hour).AccessToken, "raw-"+u, wire.DeviceClass_DEVICE_CLASS_OTHER)
		all = append(all, r)
	}
	befriend(t, others...)
	grp := must(first.Groups().Create(t.Context(), "Tea", users[1:]...))(t).Conversation
	for _, r := range all {
		r.until("the group", func(f *wire.ServerFrame) bool {
			for _, e := range f.GetPush().GetEntries() {
				if e.Conversation == grp {
					return true
				}
			}
			return false
		})
	}
	for _, p := range others {
		p.leave()
	}
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() {
			dm := string(im.DM(im.UserID(users[i]), im.UserID(users[i^1])))
			o := &told{last: map[string]uint64{grp: 1}}
			sent := 0
			for end := uint64(1 + senders*each/2); o.acks < each || o.last[grp] < end || o.last[dm] < each; {
				for sent < each && sent-o.acks < window {
					sendRaw(r, []string{grp, dm}[sent%2], fmt.Sprint(users[i], " ", sent))
					sent++
				}
				f, err := r.hear()
				if err != nil {
					t.Errorf("%s after %d acks and %d pushes: %v", users[i], o.acks, o.pushes, err)
					return
				}
				if e := f.GetSendError(); e != nil {
					t.Errorf("%s: %v", users[i], e)
					return
				}
				o.takes(f)
			}
			if o.overtaken > 0 || o.holes > 0 {
				t.Errorf("%s: of %d acks and %d pushes %d were overtaken, %d left a hole", users[i], o.acks, o.pushes, o.overtaken, o.holes)
			}
		})
	}
	wg.Wait()
}

func sendRaw(r *raw, c, text string) {
	id := freshID()
	r.say(wire.NewClientFrame(&wire.Send{Conversation: c, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}}))
}

func freshID() im.MessageID {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	return im.NewMessageID(time.Now(), random)
}
