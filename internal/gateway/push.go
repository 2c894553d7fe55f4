package gateway

import (
	"slices"
	"strings"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
)

// maxAuthors is how many connections of a run get encodings of their own, with
// acks in the place of their own entries. With more authors everybody gets the
// shared one, and then their acks: the cost of a run stays entries + sessions, and
// clients ignore what they have (SPEC §5.5, §6.1).
const maxAuthors = 8

// delivery is one run of entries on its way to many sessions. All but its few
// authors, who get acks instead, share one encoding per codec and framing.
//
// message path 6/6: encode once per codec, bounded queue (outgoing/queue.go),
// coalesced write (outgoing/writers.go).
type delivery struct {
	g       *Gateway
	entries []im.Entry
	origin  []im.ConnectionID
	// authors[:n] are the connections that get acks; none when there are too many.
	authors [maxAuthors]author
	n       int
	box     *pushBox
	all     outgoing.Fanout
	about   int // so many recipients
	// ends tells those who get Heads, once ended is set: they share one encoding, too.
	ends  outgoing.Fanout
	ended bool
	// users, if not nil, are those whose connections get the acks that belong here:
	// between nodes each user of a dm has a delivery of its own.
	users []im.UserID
}

// author is a connection that gets the acks of some entries of the run.
type author struct {
	first int  // its first place in origin
	met   bool // it was among the recipients
}

// newDelivery prepares entries for about n recipients.
func newDelivery(g *Gateway, entries []im.Entry, origin []im.ConnectionID, n int) delivery { // by value: it stays on the stack
	d := delivery{g: g, entries: entries, origin: origin, about: n}
	d.findAuthors()
	return d
}

func (d *delivery) findAuthors() {
	for i, o := range d.origin {
		if o == "" {
			continue
		}
		if d.author(o) != nil {
			continue
		}
		if d.n == maxAuthors {
			d.n = 0
			return
		}
		d.authors[d.n] = author{first: i}
		d.n++
	}
}

// author returns the author with this id, nil if it is none of the few.
func (d *delivery) author(id im.ConnectionID) *author {
	for i := range d.authors[:d.n] {
		if a := &d.authors[i]; d.origin[a.first] == id {
			return a
		}
	}
	return nil
}

// to queues the entries for one session.
func (d *delivery) to(s *here.Member) {
	s.TellBelow(d.entries[0].Conversation, d.entries[0].Seq) // what they wait for was lost
	a := d.author(s.ID)
	if a == nil {
		if d.box == nil {
			d.box = d.g.pools.newPush(d.entries)
			d.all = d.g.out.Fanout(&d.box.frame, d.about)
		}
		d.all.To(&s.Queue)
		return
	}
	a.met = true
	next := 0
	for i := a.first; i < len(d.entries); i++ {
		if d.origin[i] == s.ID {
			d.part(s, next, i)
			s.Delivered(&d.entries[i])
			next = i + 1
		}
	}
	d.part(s, next, len(d.entries))
}

// headsTo tells one session of the end of the entries, in the place of these.
func (d *delivery) headsTo(s *here.Member) {
	end := &d.entries[len(d.entries)-1]
	if !d.ended {
		d.ends, d.ended = d.g.out.Fanout(outgoing.HeadsFrame(end.Conversation, end.Seq), d.about), true
	}
	d.ends.HeadsTo(&s.Queue, end.Conversation, end.Seq)
}

// part queues some of the entries for one session alone.
func (d *delivery) part(s *here.Member, from, to int) {
	if from == to {
		return
	}
	box := d.g.pools.newPush(d.entries[from:to])
	own := d.g.out.Fanout(&box.frame, 1)
	own.To(&s.Queue)
	own.End()
	d.g.pools.freePush(box)
}

// end tells the acks of those whom the entries were not sent to one by one.
func (d *delivery) end() {
	if d.box != nil {
		d.g.pools.freePush(d.box)
	}
	d.all.End()
	d.ends.End()
	if d.n > 0 {
		left := false
		for i := range d.authors[:d.n] {
			left = left || !d.authors[i].met
		}
		if !left {
			return
		}
	}
	for i, o := range d.origin {
		if a := d.author(o); (a == nil || !a.met) && (d.users == nil || slices.Contains(d.users, d.entries[i].Sender)) {
			d.g.acked(&d.entries[i], o)
		}
	}
}

// acked tells the connection o, if it is one of this gateway's, that its entry is
// stored.
func (g *Gateway) acked(e *im.Entry, o im.ConnectionID) {
	if o == "" || !strings.HasPrefix(string(o), g.node) {
		return
	}
	g.users.Each(e.Sender, func(s *here.Member) {
		if s.ID == o {
			s.Delivered(e)
		}
	})
}

// ackedAll tells the acks of entries that are not pushed.
func (g *Gateway) ackedAll(es []im.Entry, origin []im.ConnectionID) {
	for i, o := range origin {
		g.acked(&es[i], o)
	}
}
