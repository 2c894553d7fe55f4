package skein

import (
	"math"
	"time"

	"github.com/skein-im/skein/wire"
)

// pullFrames is the part of the core that puts what a turn wants to be pulled into frames.
// SPEC §7.9: where the server takes Pulls, several go in one.
type pullFrames struct {
	asks []*wire.Pull // in order, not sent yet
	// refusedFrame is the frame of which something was refused for now, and refusedUntil
	// when all of it is asked again: together, as it was asked.
	refusedFrame uint32
	refusedUntil time.Time
}

// pull asks at the end of the turn.
func (k *core) pull(r *request, backward bool, limit int) {
	n := k.nextNumber()
	r.at = k.o.now()
	if r.kind == reqFill || r.kind == reqNewest {
		r.cv.pulling = true
	}
	k.reqs[n] = r
	k.asks = append(k.asks, &wire.Pull{Number: n, Conversation: r.cv.rec.ID, From: r.from, Backward: backward, Limit: uint32(limit)})
}

// pullRoom is how many further conversations may be asked for now, and for how many
// entries: a few at a time; where several go in one frame, a frame as large as may be
// when most of the one before is answered.
func (k *core) pullRoom(under int) (conversations int, entries uint64) {
	switch most := int(k.limits.GetPulls()); {
	case under >= maxPulls:
		return 0, 0
	case most > 1:
		return most, max(uint64(k.limits.GetPullsEntries()), uint64(k.pageLimit()))
	}
	return maxPulls - under, math.MaxUint64
}

// sendPulls sends what the turn asked for, in as few frames as the server takes.
func (k *core) sendPulls() {
	asks := k.asks
	k.asks = nil
	for len(asks) > 0 {
		n, sum := 0, uint64(0)
		for n < min(len(asks), int(k.limits.GetPulls())) {
			if sum += uint64(asks[n].Limit); sum > uint64(k.limits.GetPullsEntries()) {
				break
			}
			n++
		}
		if n < 2 { // one is a Pull, as for a server that takes no more
			n = 1
			k.send(wire.NewClientFrame(asks[0]))
		} else {
			for _, p := range asks[:n] {
				k.reqs[p.Number].frame = asks[0].Number
			}
			k.send(wire.NewClientFrame(&wire.Pulls{Pulls: asks[:n]}))
		}
		asks = asks[n:]
		k.owes()
	}
}

// answeredOne notes that of a frame's Pulls one has its answer: the others' come behind it.
func (k *core) answeredOne(r *request) {
	if r.frame == 0 {
		return
	}
	now := k.o.now()
	for _, o := range k.reqs {
		if o.frame == r.frame {
			o.at = now
		}
	}
}

// pullAgain is when a conversation is pulled again that was refused for now: what was
// asked for in one frame at one time, if none of it is too early then.
func (k *core) pullAgain(r *request, least time.Duration) {
	k.pullLater(r.cv, least)
	switch {
	case r.frame == 0:
	case r.frame == k.refusedFrame && !k.refusedUntil.Before(k.o.now().Add(least)):
		r.cv.pullAt = k.refusedUntil
	default:
		k.refusedFrame, k.refusedUntil = r.frame, r.cv.pullAt
	}
}
