package bench

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/skein-im/skein/wire"
)

// allowance is what the server lets a device send: who asks for more is refused, and
// closed if it goes on. A closed loop holds to it.
type allowance struct {
	rate, most, tokens float64 // rate 0: no bound
	at                 time.Time
}

// newBucket keeps below what the server told: its clock is another, and so is its
// idea of when a message came.
func newBucket(r *wire.Rate, now time.Time) allowance {
	if r.GetPerSecond() <= 0 {
		return allowance{}
	}
	most := min(max(float64(r.Burst)/2, 1), 20)
	return allowance{rate: r.PerSecond * 0.97, most: most, tokens: most, at: now}
}

// take takes one, or returns when there is one.
func (b *allowance) take(now time.Time) (time.Time, bool) {
	if b.rate == 0 {
		return time.Time{}, true
	}
	if d := now.Sub(b.at); d > 0 {
		b.tokens, b.at = min(b.tokens+d.Seconds()*b.rate, b.most), now
	}
	if b.tokens < 1 {
		return now.Add(time.Duration((1 - b.tokens) / b.rate * float64(time.Second))), false
	}
	b.tokens--
	return time.Time{}, true
}

func (u *user) maySend() bool { return u.left != 0 && !u.over && !u.t.stopping.Load() }

// send queues what may go now: in a closed loop a message for each answer, in an
// open one those that are owed.
func (u *user) send(now time.Time) {
	closed := u.t.closedLoop()
	for u.maySend() && (closed && u.free > 0 || !closed && len(u.owed) > 0 && len(u.wait) < u.window) {
		s, at := u.choose(now)
		if s == nil {
			u.later(at)
			return
		}
		intended := now
		if closed {
			if at, ok := u.bucket.take(now); !ok {
				u.later(at)
				return
			}
			u.free--
		} else {
			intended = u.owed[0]
			u.owed = u.owed[1:]
		}
		u.sendTo(s, intended, now)
	}
}

// owe is the turn of a message that was meant to go at that time.
func (u *user) owe(intended time.Time) {
	if !u.maySend() || u.t.closedLoop() {
		return
	}
	u.owed = append(u.owed, intended)
	u.answer(time.Now())
}

// oweNext does the same, and draws the time of the one after it.
func (u *user) oweNext(intended time.Time) {
	if !u.paced || !intended.Equal(u.next) {
		return // of a pace before this one
	}
	u.owe(intended)
	if u.paced = u.maySend() && u.left != len(u.owed); u.paced {
		u.next = intended.Add(u.gap())
		u.t.times.add(u, u.next, (*user).oweNext)
	}
}

// gap draws the time to the next message.
func (u *user) gap() time.Duration {
	least, most := u.t.gapMin.Load(), u.t.gapMax.Load()
	return time.Duration(least + rand.Int64N(max(most-least, 0)+1))
}

// later tries again at that time; zero: an answer will come before.
func (u *user) later(at time.Time) {
	if !at.IsZero() && (u.again.IsZero() || at.Before(u.again)) {
		u.again = at
		u.t.times.add(u, at, (*user).tryAgain)
	}
}

func (u *user) tryAgain(at time.Time) {
	if u.again.Equal(at) {
		u.again = time.Time{}
		u.answer(time.Now())
	}
}

// choose picks a friend or a group to write to, as the options share them. Nil:
// none may be written to before that time, or before an answer.
func (u *user) choose(now time.Time) (*stream, time.Time) {
	from := u.friends
	if len(u.groups) > 0 && (len(u.friends) == 0 || rand.Float64() < u.t.plan.Options.GroupShare) {
		from = u.groups
	}
	if len(from) == 0 {
		u.left = 0 // nobody to write to
		return nil, time.Time{}
	}
	first, soonest := rand.IntN(len(from)), time.Time{}
	for i := range from {
		s := from[(first+i)%len(from)]
		if !s.refused {
			return s, time.Time{}
		}
		if s.underway > 0 {
			continue
		}
		if !s.retry.After(now) {
			return s, time.Time{}
		}
		if soonest.IsZero() || s.retry.Before(soonest) {
			soonest = s.retry
		}
	}
	return nil, soonest
}

// sendTo queues the user's next message; its text begins with the intended time.
func (u *user) sendTo(s *stream, intended, now time.Time) {
	id := u.nextID(now)
	u.n++
	if u.left > 0 {
		u.left--
	}
	for at, i := uint64(intended.UnixNano()), 15; i >= 0; at, i = at>>4, i-1 {
		u.body[i] = hexDigits[at&15]
	}
	if u.corpus != nil {
		u.body = u.corpus.text(u.body[:17])
	}
	u.wait = append(u.wait, sending{id, intended, s})
	s.underway++
	u.t.sent.Add(1)
	if u.pb && !s.refused {
		u.t.frames.Add(1)
		u.frame = putSend(u.frame[:0], s.topic.name, id[:], u.body)
		u.out = u.framing.append(u.out, u.frame)
		return
	}
	m := &wire.Send{
		Conversation: s.topic.name, Id: id[:], Content: &wire.Content{Type: textType, Body: &wire.Content_Text{Text: string(u.body)}},
	}
	if s.refused {
		s.refused = false
		m.InsteadOf = s.first[:]
	}
	u.put(wire.NewClientFrame(m))
}

// nextID makes an id (UUIDv7), greater than the user's last one. It tells who sent
// the message and which of theirs it is, so it needs no random part.
func (u *user) nextID(now time.Time) (id [16]byte) {
	ms := now.UnixMilli()
	switch {
	case ms > u.lastMs:
		u.lastMs, u.same = ms, 0
	case u.same < 0xfff:
		u.same++
	default:
		u.lastMs, u.same = u.lastMs+1, 0
	}
	binary.BigEndian.PutUint64(id[:], uint64(u.lastMs)<<16|0x7000|uint64(u.same))
	id[8] = 0x80
	stampID(&id, u.index, u.n)
	return id
}
