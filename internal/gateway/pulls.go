package gateway

import (
	"strconv"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// maxPulls is how many stretches a Pulls may ask for, maxPullsEntries what their
	// limits may come to (SPEC §7.9).
	maxPulls        = 50
	maxPullsEntries = 1000
	// pullDefault is the limit of a Pull that has none.
	pullDefault = 50
	// pullsBytes leaves room for maxPulls conversations with the longest ids, in JSON.
	pullsBytes = 16 << 10
)

func (s *session) onPull(c *command, f *wire.ClientFrame) {
	if err := s.pull(f.GetPull()); err != nil {
		s.refuse(c, f, err)
	}
}

// pull answers what a stretch of a conversation comes to. What is too long in the
// connection's codec ends sooner, at a limit at which it is not: one entry fits.
func (s *session) pull(p *wire.Pull) error {
	q, err := contract.PullQuery(p)
	if err != nil {
		return err
	}
	q.Limit = min(q.Limit, s.g.o.Limits.PullEntries)
	ctx, done := s.asking(readTime)
	defer done()
	for {
		res, err := s.g.o.Logic.Pull(ctx, s.Actor, q)
		if err != nil {
			return err
		}
		r := contract.Range(q.Conversation, &res)
		r.Number = p.GetNumber()
		f := wire.NewServerFrame(r)
		if n := len(r.Entries) + len(r.Touched); n <= 1 {
			s.Send(f)
			return nil
		} else if s.SendWithin(f) {
			return nil
		} else {
			q.Limit = n / 2
		}
	}
}

// sendDelta queues the answer to a Sync. If it is too long in the connection's codec
// it goes without the entries, from the conversation with most of them on: the client
// pulls them, as all that a delta leaves out.
func (s *session) sendDelta(d *wire.SyncDelta) {
	f := wire.NewServerFrame(d)
	for !s.SendWithin(f) {
		largest, size := (*wire.ConversationState)(nil), 0
		for _, st := range d.Conversations {
			n := 0
			for _, es := range [][]*wire.Entry{st.Entries, st.Touched} {
				for _, e := range es {
					n += e.SizeVT()
				}
			}
			if n > size {
				largest, size = st, n
			}
		}
		if largest == nil {
			s.Send(f) // pages are small without their entries; if not, this ends the session
			return
		}
		largest.Entries, largest.Touched, largest.Last, largest.FromSeq = nil, nil, nil, 0
	}
}

// onPulls answers several Pulls, one after the other. What a peer does not take is
// not made: before each answer it waits until there is room for it.
func (s *session) onPulls(c *command, f *wire.ClientFrame) {
	pulls := f.GetPulls().GetPulls()
	if err := s.checkPulls(pulls); err != nil {
		s.refuse(c, f, err)
		return
	}
	for i, p := range pulls {
		s.await(outgoing.Full)
		if s.Is(outgoing.Ending) {
			return
		}
		err := s.pull(p)
		switch {
		case err == nil:
		case im.ForNow(err): // the stores do not answer: the others would wait for nothing
			s.logInternal("pulls", err)
			s.refusePulls(pulls[i:], err)
			return
		default:
			s.logInternal("pulls", err)
			s.Send(rangeError("pulls.pulls["+strconv.Itoa(i)+"]", p, err))
		}
	}
}

func (s *session) checkPulls(pulls []*wire.Pull) error {
	if len(pulls) == 0 {
		return im.Wrong("pulls", "must be at least one")
	}
	if len(pulls) > maxPulls {
		return im.TooLarge("pulls", "are %d; at most %d are answered at a time", len(pulls), maxPulls)
	}
	sum := 0
	for _, p := range pulls {
		n := int(min(p.GetLimit(), uint32(s.g.o.Limits.PullEntries)))
		if n == 0 {
			n = pullDefault
		}
		sum += n
	}
	if sum > maxPullsEntries {
		return im.TooLarge("pulls", "have limits that come to %d entries; at most %d are given at a time", sum, maxPullsEntries)
	}
	return nil
}

// refusePulls answers each of them, so that every number has its answer. Of more
// than a frame may have it names none: then the whole frame is answered.
func (s *session) refusePulls(pulls []*wire.Pull, err error) {
	if len(pulls) == 0 || len(pulls) > maxPulls {
		s.Send(errorAbout("pulls", "", err))
		return
	}
	for _, p := range pulls {
		s.Send(rangeError("pulls", p, err))
	}
}
