package remote

import (
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// dispatch is im.Dispatch for a logic node: to the gateway of this process, if
// there is one, directly, and to all others that have somebody concerned over
// the bus.
type dispatch struct {
	node *Node
	mu   sync.Mutex
	buf  []byte
	name []byte
}

var _ im.Dispatch = (*dispatch)(nil)

// parcelBytes bounds the entries of one message on the bus.
const parcelBytes = 512 << 10

// answersFirst sends the answers of a batch before its pushes: then refusals come
// in the order of the sends, and acks wait for their place among the pushes. Where
// the bus turns them around, the pushes bring the acks.
func (d *dispatch) answersFirst(p *im.Parcel) {
	if s := d.node.served; s != nil && len(p.Entries) > 0 {
		s.flush()
	}
}

func (d *dispatch) ToUsers(users []im.UserID, p im.Parcel) {
	d.answersFirst(&p)
	if g := d.node.gateway(); g != nil {
		g.ToUsers(users, p)
	}
	d.parts(p, func(data []byte) {
		for _, u := range users {
			d.publish("u.", string(u), data)
		}
	})
}

func (d *dispatch) ToGroup(c im.ConversationID, p im.Parcel) {
	d.answersFirst(&p)
	if g := d.node.gateway(); g != nil {
		g.ToGroup(c, p)
	}
	d.parts(p, func(data []byte) { d.publish("g.", string(c), data) })
	// Those who are added may be where nobody listens to the group yet.
	for i := range p.Entries {
		if e := p.Entries[i].Event; e != nil && (e.Type == im.EventGroupCreated || e.Type == im.EventMemberAdded) {
			d.parts(im.Parcel{Entries: p.Entries[i : i+1]}, func(data []byte) { d.publish("add", "", data) })
		}
	}
	if p.Head != nil && len(p.Head.Added) > 0 {
		d.parts(p, func(data []byte) { d.publish("add", "", data) })
	}
}

func (d *dispatch) publish(prefix, name string, data []byte) {
	d.name = append(append(d.name[:0], prefix...), name...)
	d.node.bus.Publish(string(d.name), data)
}

// parts encodes a parcel, in several if it is large, under the lock.
func (d *dispatch) parts(p im.Parcel, send func(data []byte)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		part, bytes, n := p, 0, 0
		for n < len(p.Entries) && (n == 0 || bytes+len(p.Entries[n].Body) < parcelBytes) {
			bytes += len(p.Entries[n].Body) + 256
			n++
		}
		if n < len(p.Entries) {
			part.Entries, p.Entries = p.Entries[:n], p.Entries[n:]
			if len(p.Origin) > 0 {
				part.Origin, p.Origin = p.Origin[:n], p.Origin[n:]
			}
		} else {
			p.Entries = nil
		}
		d.buf = putParcel(d.buf[:0], &part)
		send(d.buf)
		if len(p.Entries) == 0 {
			break
		}
	}
	if cap(d.buf) > 2*parcelBytes {
		d.buf = nil
	}
}

// Control reaches every gateway: also one where the user is just logging in,
// whose name nobody there knows yet.
func (d *dispatch) Control(c im.Control) {
	if g := d.node.gateway(); g != nil {
		g.Control(c)
	}
	d.node.bus.Publish("ctl", putControl(nil, &c))
	d.node.bus.Flush()
}

// Flush sends the answers of the batch, and what it caused.
func (d *dispatch) Flush() {
	if g := d.node.gateway(); g != nil {
		g.Flush()
	}
	if s := d.node.served; s != nil {
		s.flush()
	}
	d.node.bus.Flush()
}
