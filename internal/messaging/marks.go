package messaging

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// Mark moves the actor's marks forward and tells whom it concerns; see
// im.Logic. Marks are written behind: a crash may lose the last ones, devices
// repeat theirs after a reconnect (SPEC §6.3).
func (s *Service) Mark(ctx context.Context, from im.Actor, c im.ConversationID, received, read uint64) error {
	head, m, err := s.headFor(ctx, from.User, c, max(received, read))
	if err != nil {
		return err
	}
	if m.Until != 0 && m.Until < head.Seq {
		head.Seq, head.Count = m.Until, 0
	}
	received = max(received, read)
	if received > head.Seq {
		return im.Errorf(im.CodeInvalidArgument, "mark %d is beyond the last entry", received)
	}
	mark := im.Mark{User: from.User, Conversation: c, Received: received, Read: read}
	lock := s.marking.of(&mark)
	lock.Lock()
	defer lock.Unlock()
	a := s.asks.get()
	defer s.asks.put(a)
	if past, err := s.isPast(ctx, a, &mark, head.Seq); err != nil || past {
		return err // a device repeats what another one is past: nobody is told to go back
	}
	if read > 0 {
		if mark.ReadCount, err = s.countAt(ctx, c, read, head); err != nil {
			return err
		}
	}
	a.set[0] = mark
	if err := s.setMark(ctx, c, a.set[:]); err != nil {
		return err
	}
	if to := receiptFor(&mark, a.to[:0]); len(to) > 0 {
		s.deliverer.Receipt(mark, to)
	}
	return nil
}

// isPast tells whether the user's marks are as far as this one already. One at the
// end is not past in a store that is somewhere else: looking would cost more than
// telling it twice.
func (s *Service) isPast(ctx context.Context, a *ask, m *im.Mark, end uint64) (bool, error) {
	if s.known != nil && m.Received >= end && (m.Read == 0 || m.Read >= end) {
		return false, nil
	}
	a.key[0] = im.MarkKey{User: m.User, Conversation: m.Conversation}
	if err := s.journal.Marks(ctx, a.key[:], a.mark[:]); err != nil {
		return false, err
	}
	return m.Received <= a.mark[0].Received && m.Read <= a.mark[0].Read, nil
}

// setMark stores a mark and remembers where it moved.
func (s *Service) setMark(ctx context.Context, c im.ConversationID, mark []im.Mark) error {
	if s.known != nil {
		return s.journal.SetMarks(ctx, mark)
	}
	s.touched.begin(c)
	err := s.journal.SetMarks(ctx, mark)
	// The journal gave the mark the position after the one of that moment.
	at, perr := s.journal.Position(ctx)
	if err != nil || perr != nil {
		at.Pos = math.MaxUint64 - 1 // not known: look every time
	}
	s.touched.end(c, at.Pos+1)
	return errors.Join(err, perr)
}

// headFor is headAs for a mark at seq: a head that is known to be as far needs no
// look into a store that is somewhere else.
func (s *Service) headFor(ctx context.Context, u im.UserID, c im.ConversationID, seq uint64) (im.Head, im.Membership, error) {
	if s.known != nil {
		if head, ok := s.known(c); ok && seq <= head.Seq {
			m, err := s.members.Membership(ctx, u, c, head.Roster)
			return head, m, err
		}
	}
	return s.headAs(ctx, u, c)
}

// marking makes the marks of a user in a conversation take turns, from the
// look at the present one to the receipt: of two devices that mark at the same
// time, the one behind must not be told about after the other.
type marking struct {
	seed  maphash.Seed
	locks [64]sync.Mutex
}

func (m *marking) init() { m.seed = maphash.MakeSeed() }

func (m *marking) of(k *im.Mark) *sync.Mutex {
	h := maphash.String(m.seed, string(k.User)) ^ maphash.String(m.seed, string(k.Conversation))
	return &m.locks[h%uint64(len(m.locks))]
}

// receiptFor appends who is told: the other side of a dm sees both marks, the
// user's own other devices the read mark.
func receiptFor(m *im.Mark, to []im.UserID) []im.UserID {
	if peer, dm := m.Conversation.Peer(m.User); dm {
		to = append(to, peer)
	}
	if m.Read > 0 {
		to = append(to, m.User)
	}
	return to
}

// countAt returns the running count at seq, without reading when it is the head.
func (s *Service) countAt(ctx context.Context, c im.ConversationID, seq uint64, head im.Head) (uint64, error) {
	if seq == head.Seq && head.Count > 0 {
		return head.Count, nil
	}
	got, err := s.journal.Read(ctx, c, seq, false, 1)
	if err != nil {
		return 0, err
	}
	if len(got) == 0 || got[0].Seq != seq {
		return 0, im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", seq)
	}
	return got[0].Count, nil
}

// touched remembers at which position a dm's marks last changed, so that a
// sync looks up the other side's mark only where it may have moved. While a mark
// is being moved it may have.
type touched struct {
	mu     sync.Mutex
	pos    map[im.ConversationID]uint64
	moving map[im.ConversationID]int
	floor  uint64 // changes at or below it are not all remembered
	known  bool   // floor is set
	// shared: others move marks too, which nothing here remembers.
	shared bool
}

const maxTouched = 500_000

func (t *touched) init(shared bool) {
	t.shared = shared
	t.pos = map[im.ConversationID]uint64{}
	t.moving = map[im.ConversationID]int{}
}

func (t *touched) begin(c im.ConversationID) {
	t.mu.Lock()
	t.moving[c]++
	t.mu.Unlock()
}

// end notes that a mark of c moved at or before pos.
func (t *touched) end(c im.ConversationID, pos uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.moving[c]--; t.moving[c] == 0 {
		delete(t.moving, c)
	}
	if !t.known {
		t.floor, t.known = pos, true
	}
	if len(t.pos) >= maxTouched {
		clear(t.pos)
		t.floor = max(t.floor, pos)
	}
	t.pos[c] = max(t.pos[c], pos)
}

// since reports whether c's marks may have changed after position.
func (t *touched) since(c im.ConversationID, position uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared || !t.known || position < t.floor || t.moving[c] > 0 {
		return true
	}
	return t.pos[c] > position
}
