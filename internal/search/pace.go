package search

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// An index that cannot keep up with what is stored must not take the processor from those
// who store. Where full pages wait it rests after each: the longer, the more is stored
// meanwhile. At restPer messages a second it rests as long as it worked, at twice as many
// twice as long; while nobody stores it does not rest, so one that is made anew, or catches
// up, is done as soon as can be. Above giveWay messages a second the rests grow with the
// cube of that, as the processor is scarce. Above burst the index cannot keep up, however
// much it takes, and it soon has to read from the disk what it has not read yet: it waits
// until that is over, and catches up behind it. A burst that does not end has it read a
// page once in burstRest.
const (
	fullPage  = 400
	restPer   = 500
	giveWay   = 2000
	burst     = 2 * giveWay
	burstRest = 30 * time.Second
	burstLook = time.Second
	maxRest   = 2 * time.Second // it and burstLook are well below follows: who works is looked for elsewhere then
)

// pace estimates how much is stored: by how far the journal moves between two looks, and
// by how many messages its newest positions have. What was read says nothing of the second
// where it lies far behind: an index that was made anew of what had come in bursts, some
// hundred messages a position, took a modest load for a burst and never caught up.
// Not safe for concurrent use.
type pace struct {
	pos       uint64 // the journal's when it was read last
	at        time.Time
	perSecond float64 // messages
}

// read takes note of where the journal was at a time. dense tells how many messages a
// position has by now; it is asked if there is anything to tell.
func (p *pace) read(now im.Place, at time.Time, dense func() float64) {
	was := *p
	p.pos, p.at, p.perSecond = now.Pos, at, 0
	past := at.Sub(was.at).Seconds()
	if was.at.IsZero() || past <= 0 || now.Pos <= was.pos {
		return
	}
	p.perSecond = float64(now.Pos-was.pos) * dense() / past
}

// rest waits after a page that took so long.
func (p *pace) rest(ctx context.Context, worked time.Duration) {
	share := p.perSecond / restPer
	if p.perSecond > giveWay {
		share *= p.perSecond / giveWay * p.perSecond / giveWay
	}
	pause(ctx, time.Duration(min(float64(worked)*share, float64(maxRest))))
}

// outlast waits until a burst is over, or for burstRest. look has read called.
func (p *pace) outlast(ctx context.Context, look func() error) {
	for end := time.Now().Add(burstRest); p.perSecond > burst && time.Now().Before(end); {
		if !pause(ctx, burstLook) || look() != nil {
			return // who reads on is told of it
		}
	}
}

// pause reports whether it was not ended by ctx.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
