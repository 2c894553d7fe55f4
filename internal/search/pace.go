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
// cube of that, as the processor is scarce: from some 3,000 on it falls behind. Above burst
// it first waits for burstRest, once: most bursts are over then, and it does not have read
// from the disk in the middle of them what it was about to fall behind. What goes on for
// longer is no burst, and it reads on, with rests.
const (
	fullPage  = 400
	restPer   = 500
	giveWay   = 2000
	burst     = 2 * giveWay
	burstRest = 30 * time.Second
	burstLook = time.Second
	maxRest   = 2 * time.Second // it and burstLook are well below follows: who works is looked for elsewhere then
	// What is stored within less says nothing of a second: many are stored together.
	lookLeast = 200 * time.Millisecond
)

// pace estimates how much is stored: by how far the journal moves between two looks, and
// by how many messages its newest positions have. What was read says nothing of the second
// where it lies far behind: an index that was made anew of what had come in bursts, some
// hundred messages a position, took a modest load for a burst and never caught up.
// Not safe for concurrent use.
type pace struct {
	pos       uint64 // the journal's when it was looked at last
	at        time.Time
	perSecond float64 // messages
	outlasted bool    // the burst, if it is one, went on for burstRest
}

// read takes note of where the journal was at a time. dense tells how many messages a
// position has by now; it is asked if there is anything to tell.
func (p *pace) read(now im.Place, at time.Time, dense func() float64) {
	was := *p
	past := at.Sub(was.at)
	if !was.at.IsZero() && past < lookLeast && now.Pos >= was.pos {
		return
	}
	p.pos, p.at, p.perSecond = now.Pos, at, 0
	if !was.at.IsZero() && now.Pos > was.pos {
		p.perSecond = float64(now.Pos-was.pos) * dense() / past.Seconds()
	}
	if p.perSecond <= giveWay {
		p.outlasted = false
	}
}

// rest waits behind a page that took so long. look has read called.
func (p *pace) rest(ctx context.Context, worked time.Duration, look func() error) {
	p.outlast(ctx, look)
	share := p.perSecond / restPer
	if p.perSecond > giveWay {
		share *= p.perSecond / giveWay * p.perSecond / giveWay
	}
	pause(ctx, time.Duration(min(float64(worked)*share, float64(maxRest))))
}

// outlast waits until a burst is over; once for burstRest, if it is not.
func (p *pace) outlast(ctx context.Context, look func() error) {
	for end := time.Now().Add(burstRest); p.perSecond > burst && !p.outlasted; {
		if !pause(ctx, burstLook) || look() != nil {
			return // who reads on is told of it
		}
		p.outlasted = p.perSecond > burst && !time.Now().Before(end)
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
