package skein

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// checkOrder wants the messages "conversation number" of each conversation
// stored in the order of their numbers.
func (r *rig) checkOrder(n int, conversations ...string) {
	r.t.Helper()
	next := map[string]int{}
	r.do(func() {
		for _, text := range r.stores {
			c, number, _ := strings.Cut(text, " ")
			if number != fmt.Sprint(next[c]) {
				r.t.Errorf("%s: %s is stored where %d should be", c, number, next[c])
			}
			next[c]++
		}
	})
	for _, c := range conversations {
		if next[c] != n {
			r.t.Errorf("%s: %d are stored, want %d", c, next[c], n)
		}
	}
}

// The server refuses a fifth of everything for now, with any code, while many
// are under way, and connections end: each conversation stands in the order of
// sending, with any pipeline.
func TestRefusalsKeepTheOrder(t *testing.T) {
	for _, pipeline := range []int{1, 2, 8, 100} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(pipeline, seed), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					dice := rand.New(rand.NewPCG(seed, 7))
					codes := []wire.Code{wire.CodeOverloaded, wire.CodeRateLimited, wire.CodeUnavailable, wire.CodeStorageFull, wire.CodeUnknown, wire.CodeInternal}
					r.onSend = func(*fakeConn, *wire.Send) (v verdict) {
						switch dice.IntN(40) {
						case 0, 1, 2, 3, 4, 5, 6, 7:
							v.code, v.retryMs = codes[dice.IntN(len(codes))], uint32(dice.IntN(3))
						case 8:
							v.hangUp = true
						case 9:
							v.noAck, v.hangUp = true, true
						}
						return v
					}
					c := r.dial(WithPipeline(pipeline), WithBackoff(func(int) time.Duration { return 0 }))
					conversations := []string{dm, "grp:g1", "grp:g2"}
					var all []*Pending
					for i := range 80 {
						for _, v := range conversations {
							p, err := c.Conversation(v).SendAsync(bg, fmt.Sprint(v, " ", i))
							if err != nil {
								t.Fatal(err)
							}
							all = append(all, p)
						}
						if i%10 == 0 {
							pause(time.Millisecond)
						}
					}
					for _, p := range all {
						if _, err := p.Wait(bg); err != nil {
							t.Fatal(err)
						}
					}
					r.checkOrder(80, conversations...)
				})
			})
		}
	}
}

// What is refused in one conversation holds up no other.
func TestARefusalHoldsUpItsConversationOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		refuse := true
		r.onSend = func(_ *fakeConn, s *wire.Send) verdict {
			if s.Conversation == dm && refuse {
				return verdict{code: wire.CodeOverloaded, retryMs: 60_000}
			}
			return verdict{}
		}
		c := r.dial(WithPipeline(4))
		var held []*Pending
		for i := range 3 {
			p, err := c.Conversation(dm).SendAsync(bg, fmt.Sprint(dm, " ", i))
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, p)
			synctest.Wait()
		}
		start := time.Now()
		for i := range 5 {
			if _, err := c.Conversation("grp:g1").Send(bg, fmt.Sprint("grp:g1 ", i)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("another conversation waited %v", took)
		}
		sends := func() (n int) {
			r.do(func() {
				for _, f := range r.seen {
					if s := f.GetSend(); s.GetConversation() == dm {
						n++
					}
				}
			})
			return n
		}
		if n := sends(); n != 1 {
			t.Errorf("%d sends, want the first alone before the wait is over", n)
		}
		r.do(func() { refuse = false })
		for _, p := range held {
			if _, err := p.Wait(bg); err != nil {
				t.Fatal(err)
			}
		}
		if n := sends(); n != 4 {
			t.Errorf("%d sends, want the first again and the others once", n)
		}
		r.checkOrder(3, dm)
	})
}

// The refused message turns out to be stored, or is given up: the next one takes
// its place, and says so.
func TestTheNextTakesThePlaceOfOneThatIsGivenUp(t *testing.T) {
	for _, name := range []string{"stored before", "too large now"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				var first []byte
				r.onSend = func(_ *fakeConn, s *wire.Send) verdict {
					if first == nil {
						first = s.Id
						return verdict{code: wire.CodeUnknown, retryMs: 1000}
					}
					return verdict{}
				}
				c := r.dial(WithPipeline(4))
				v := c.Conversation(dm)
				p1, err1 := v.SendAsync(bg, dm+" 0")
				p2, err2 := v.SendAsync(bg, dm+" 1")
				if err := errors.Join(err1, err2); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if name == "stored before" {
					r.do(func() {
						f := r.append(nil, &wire.Entry{
							Conversation: dm, Id: first, Sender: r.user, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
							Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: dm + " 0"}},
						})
						_ = f
					})
					if _, err := p1.Wait(bg); err != nil {
						t.Fatal(err)
					}
				} else {
					c.do(bg, func(k *core) { k.refuse(k.items[p1.ID], &Error{Code: wire.CodeTooLarge}) })
					if _, err := p1.Wait(bg); !errors.Is(err, ErrTooLarge) {
						t.Fatal(err)
					}
				}
				if _, err := p2.Wait(bg); err != nil {
					t.Fatal(err)
				}
				sends := frames(r.fake, (*wire.ClientFrame).GetSend)
				if last := sends[len(sends)-1]; string(last.InsteadOf) != string(first) || len(sends) > 4 {
					t.Errorf("%d sends, the last in the place of %x, want %x", len(sends), last.InsteadOf, first)
				}
				if _, err := v.Send(bg, "later"); err != nil {
					t.Fatal(err)
				}
				sends = frames(r.fake, (*wire.ClientFrame).GetSend)
				if last := sends[len(sends)-1]; last.InsteadOf != nil {
					t.Error("said again")
				}
			})
		})
	}
}
