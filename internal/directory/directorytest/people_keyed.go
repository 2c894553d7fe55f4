package directorytest

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
)

// begin begins a call as somebody who holds it for a minute.
func (p *people) begin(id, request byte, now time.Time) (im.KeyedCall, bool) {
	p.Helper()
	c := im.KeyedCall{ID: [32]byte{id}, Caller: "ann", Request: [32]byte{request}, Begun: now, Held: now.Add(time.Minute)}
	kept, mine, err := p.db.BeginCall(p.ctx, c, now, 1000)
	p.ok(err)
	return kept, mine
}

// A call with a key is carried out by one at a time, by nobody once it has an
// answer, and by the next one if its holder does not come back.
func keyedCalls(p *people) {
	first, mine := p.begin(1, 1, at)
	equal(p, "the first begins it", mine, true)
	kept, mine := p.begin(1, 1, at.Add(time.Second))
	equal(p, "another while it is under way", mine, false)
	equal(p, "what they find", kept, first)
	kept, mine = p.begin(1, 2, at.Add(time.Second))
	equal(p, "another request", mine, false)
	equal(p, "whose is not", kept.Request, first.Request)
	_, mine = p.begin(2, 1, at)
	equal(p, "another key", mine, true)

	// Its holder is dead: the next one begins it, and the time is the first one's.
	later := at.Add(time.Minute)
	_, mine = p.begin(1, 2, later)
	equal(p, "another request, when nobody holds it", mine, false)
	second, mine := p.begin(1, 1, later)
	equal(p, "the next one begins it", mine, true)
	equal(p, "when it came first", second.Begun, at)
	first.Answer = []byte("late")
	p.ok(p.db.AnswerCall(p.ctx, first)) // it was not dead, and is too late
	p.ok(p.db.ForgetCall(p.ctx, first))
	kept, mine = p.begin(1, 1, later.Add(time.Second))
	equal(p, "it is the second one's", mine, false)
	equal(p, "no answer", kept.Answer == nil, true)

	second.Held = later.Add(time.Minute)
	second.Answer = nil
	p.ok(p.db.AnswerCall(p.ctx, second)) // it does not know what came of it
	third, mine := p.begin(1, 1, later.Add(2*time.Second))
	equal(p, "let go", mine, true)
	third.Held, third.Answer = later.Add(62*time.Second), []byte("done")
	p.ok(p.db.AnswerCall(p.ctx, third))
	kept, mine = p.begin(1, 1, later.Add(time.Hour))
	equal(p, "it is answered", mine, false)
	equal(p, "with", bytes.Equal(kept.Answer, third.Answer), true)

	// A day after it came first it is forgotten.
	_, mine = p.begin(1, 2, at.Add(directory.KeyedFor+time.Millisecond))
	equal(p, "after a day", mine, true)

	forgotten, _ := p.begin(3, 1, at)
	forgotten.Held = at.Add(time.Minute)
	p.ok(p.db.ForgetCall(p.ctx, forgotten))
	_, mine = p.begin(3, 2, at)
	equal(p, "one of which nothing was done", mine, true)
}

func keyedCallRaced(p *people) {
	var begun atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := im.KeyedCall{ID: [32]byte{7}, Request: [32]byte{1}, Begun: at, Held: at.Add(time.Minute)}
			_, mine, err := p.db.BeginCall(p.ctx, c, at, 10)
			if err != nil {
				p.Error(err)
			}
			if mine {
				begun.Add(1)
			}
		})
	}
	wg.Wait()
	equal(p, "who began it", begun.Load(), 1)
}

// Of a caller the newest are kept, and of nobody what is a day old.
func keyedCallsAreBounded(p *people) {
	const most, all = 20, 200
	calls := 0
	begin := func(caller string, i int, now time.Time) bool {
		calls++
		c := im.KeyedCall{Caller: caller, Begun: now, Held: now}
		copy(c.ID[:], fmt.Sprint(caller, " ", i))
		_, mine, err := p.db.BeginCall(p.ctx, c, now, most)
		p.ok(err)
		c.Answer = []byte("done")
		p.ok(p.db.AnswerCall(p.ctx, c))
		return mine
	}
	begin("bob", 0, at)
	for i := range all {
		begin("ann", i, at.Add(time.Duration(i)*time.Millisecond))
	}
	equal(p, "bob's is kept", begin("bob", 0, at), false)
	for i := all - most; i < all; i++ {
		equal(p, "of the newest", begin("ann", i, at), false)
	}
	equal(p, "the oldest", begin("ann", 0, at.Add(time.Second)), true)
	// Nobody has more because somebody else makes each 32nd call.
	for i := range all {
		begin("eve", i, at.Add(time.Duration(i)*time.Millisecond))
		if calls%32 == 31 {
			begin("mallory", i, at)
		}
	}
	equal(p, "eve's oldest", begin("eve", 0, at.Add(time.Second)), true)
	// Those of others go as well when they are old, whoever calls.
	day := at.Add(directory.KeyedFor + time.Hour)
	for i := range 2 * 32 {
		begin("carl", i, day)
	}
	equal(p, "bob's, a day later, by a clock that is late", begin("bob", 0, at), true)
}
