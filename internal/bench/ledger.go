package bench

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

// A message's id carries who sent it and which of theirs it is, so that its
// receivers know it by its id alone: after the UUIDv7's time, 24 bits of sender
// and 32 of number.
func stampID(id *[16]byte, sender int, number uint32) {
	id[9], id[10], id[11] = byte(sender>>16), byte(sender>>8), byte(sender)
	binary.BigEndian.PutUint32(id[12:], number)
}

// identity is the part of an id that names a message.
func identity(id []byte) uint64 {
	if len(id) != 16 {
		return 0
	}
	return binary.BigEndian.Uint64(id[8:])
}

// topic is a conversation as a worker knows it: which message stands at which
// seq. The first to see a seq, the sender by its ack or a receiver, says what
// stands there; whoever sees another one there has found a broken order.
type topic struct {
	name string

	mu    sync.Mutex
	base  uint64 // seq of ids[0]
	ids   []uint64
	acked []ackedSeq

	members int            // of this worker's users, groups only
	arrived map[uint64]int // how many of them have a message, until all have
}

// arrive notes that a member has a message that came by a push or a pull, and
// reports whether it was the last one of this worker. The sender has an ack.
func (t *topic) arrive(seq uint64, senderHere bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.arrived == nil {
		t.arrived = map[uint64]int{}
	}
	need := t.members
	if senderHere {
		need--
	}
	if t.arrived[seq]++; t.arrived[seq] < need {
		return false
	}
	delete(t.arrived, seq)
	return true
}

// ackedSeq is a promise: this message stands at this seq.
type ackedSeq struct {
	Seq uint64 `json:"s"`
	ID  uint64 `json:"i"`
}

// stands notes that a message was seen at seq and reports whether nobody saw
// another one there.
func (t *topic) stands(seq, id uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ids) == 0 {
		t.base = seq
	}
	if seq < t.base {
		t.ids = slices.Insert(t.ids, 0, make([]uint64, t.base-seq)...)
		t.base = seq
	}
	for seq-t.base >= uint64(len(t.ids)) {
		t.ids = append(t.ids, 0)
	}
	at := &t.ids[seq-t.base]
	if *at == 0 {
		*at = id
	}
	return *at == id
}

// promise notes an ack.
func (t *topic) promise(seq, id uint64) {
	t.mu.Lock()
	t.acked = append(t.acked, ackedSeq{seq, id})
	t.mu.Unlock()
}

// promises returns what was acked.
func (t *topic) promises() []ackedSeq {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.acked)
}

// stream is one connection's view of a conversation: which seqs it has. Its
// user's mu guards it.
type stream struct {
	topic *topic
	from  uint64 // what came before the login is not counted
	next  uint64 // all from from to here it has
	ahead []uint64
	wrong []uint64 // seqs at which another message came than elsewhere
	// pushed is the furthest seq that was pushed: a push of an older one afterwards
	// is out of order.
	pushed  uint64
	mark    uint64 // to be marked as received
	pulling bool
	// pulled are the seqs that a pull brought and no push did yet.
	pulled []uint64

	// base is the seq at the position that digests count from, pinged the one that
	// the last digest told.
	base, pinged uint64
	underway     int // messages without an answer
	// refused: the message first was refused for now, and the next one takes its
	// place, when nothing is under way and not before retry.
	refused bool
	first   [16]byte
	retry   time.Time
	// pullAgain is when a pull that was refused for now is due again.
	pullAgain time.Time
}

// verdict is what is wrong with an entry that came. Nothing is with one that was
// overtaken: its push was under way when a beacon made the client pull it, and
// SPEC §6.1 has the client ignore it. A second such push is a duplicate.
type verdict struct{ duplicated, overtaken, disordered, fresh bool }

// push takes an entry that the server pushed.
func (s *stream) push(seq, id uint64) verdict {
	v := s.take(seq, id)
	if v.duplicated {
		i := slices.Index(s.pulled, seq)
		if i < 0 {
			return v
		}
		s.pulled = slices.Delete(s.pulled, i, i+1)
		v = verdict{overtaken: true, disordered: id != 0 && !s.topic.stands(seq, id)}
	}
	v.disordered = v.disordered || seq < s.pushed
	s.pushed = max(s.pushed, seq)
	return v
}

// pull takes an entry that a pull brought.
func (s *stream) pull(seq, id uint64) verdict {
	v := s.take(seq, id)
	if v.fresh {
		s.pulled = append(s.pulled, seq)
	}
	return v
}

// take notes that the connection has the entry. Some ids are 0: events.
func (s *stream) take(seq, id uint64) (v verdict) {
	if s.has(seq) {
		v.duplicated = true
		return v
	}
	v.fresh = true
	if id != 0 {
		if v.disordered = !s.topic.stands(seq, id); v.disordered {
			s.wrong = append(s.wrong, seq)
		}
	}
	if seq != s.next {
		s.ahead = append(s.ahead, seq)
		return v
	}
	s.next++
	for again := true; again && len(s.ahead) > 0; {
		again = false
		for i, x := range s.ahead {
			if x == s.next {
				s.next++
				s.ahead = slices.Delete(s.ahead, i, i+1)
				again = true
				break
			}
		}
	}
	return v
}

func (s *stream) has(seq uint64) bool {
	return seq < s.next || slices.Contains(s.ahead, seq)
}

// gap reports whether something below a pushed entry is missing.
func (s *stream) gap() bool { return s.pushed >= s.next }

// misses counts the promised messages that the connection does not have.
func (s *stream) misses(promised []ackedSeq) (lost uint64) {
	for _, a := range promised {
		if a.Seq >= s.from && (!s.has(a.Seq) || slices.Contains(s.wrong, a.Seq) || !s.topic.stands(a.Seq, a.ID)) {
			lost++
		}
	}
	return lost
}
