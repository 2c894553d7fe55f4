package remote

import (
	"encoding/binary"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// past is how far the logic nodes said that the journal is, so that a gateway
// without a database notices, too, when it went back.
type past struct {
	mu       sync.Mutex
	timeline string
	at       im.Place
	// left is the era before: a node that has not noticed yet still tells it.
	left uint64
}

// heard takes what a heartbeat tells, and reports whether something that was
// there is not any more.
func (p *past) heard(h *beat) (back bool) {
	if !h.ready || h.timeline == "" || len(h.eras) == 0 {
		return false
	}
	now := h.eras[len(h.eras)-1]
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.timeline == "":
	case now.ID == p.at.Era:
		p.at.Pos = max(p.at.Pos, h.position)
		return false
	case now.ID == p.left:
		return false
	default:
		back = h.timeline != p.timeline || !h.eras.Hold(p.at, now.Begin)
	}
	p.left, p.timeline, p.at = p.at.Era, h.timeline, im.Place{Era: now.ID, Pos: h.position}
	return back
}

// NewEra tells the others at once that another era of the journal goes on: they
// hear it before anything that is stored in it.
func (n *Node) NewEra() {
	select {
	case <-n.started:
		n.beat()
	default:
	}
}

// wentBack tells the sessions here that the journal went back.
func (n *Node) wentBack() {
	n.o.Logger.Error("remote: the journal went back: what was acknowledged may be missing; clients are told and read it anew")
	if g := n.gateway(); g != nil {
		g.WentBack()
	}
}

func putEras(b []byte, es im.Eras) []byte {
	b = binary.AppendUvarint(b, uint64(len(es)))
	for _, e := range es {
		b = binary.AppendUvarint(binary.AppendUvarint(b, e.ID), e.Begin)
	}
	return b
}

func (r *reader) eras() (es im.Eras) {
	for range r.count() {
		es = append(es, im.Era{ID: r.uint(), Begin: r.uint()})
	}
	return es
}
