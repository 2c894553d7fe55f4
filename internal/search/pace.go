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
// cube of that: such a load is a burst, the processor is scarce, and the index catches up
// behind it.
const (
	fullPage = 400
	restPer  = 500
	giveWay  = 2000
	maxRest  = 2 * time.Second // well below follows: who works is looked for elsewhere then
)

// pace estimates how much is stored. Not safe for concurrent use.
type pace struct {
	pos       uint64 // the journal's when it was read last
	at        time.Time
	perSecond float64 // messages
}

// read takes note of a page and where the journal was then. A position may be that of many
// entries; how many, the page tells.
func (p *pace) read(f *im.Followed, at time.Time) {
	was := *p
	p.pos, p.at = f.Now.Pos, at
	n := len(f.Entries)
	past := at.Sub(was.at).Seconds()
	if n == 0 || was.at.IsZero() || past <= 0 || f.Now.Pos < was.pos {
		p.perSecond = 0
		return
	}
	positions := f.Entries[n-1].Pos - f.Entries[0].Pos + 1
	p.perSecond = float64(f.Now.Pos-was.pos) * float64(n) / float64(positions) / past
}

// rest waits after a page that took so long.
func (p *pace) rest(ctx context.Context, worked time.Duration) {
	share := p.perSecond / restPer
	if p.perSecond > giveWay {
		share *= p.perSecond / giveWay * p.perSecond / giveWay
	}
	d := time.Duration(min(float64(worked)*share, float64(maxRest)))
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
