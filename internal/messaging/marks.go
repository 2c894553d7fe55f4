package messaging

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// markPatience is how long an answer waits for marks to be durable.
const markPatience = 5 * time.Second

// Mark moves the actor's marks forward; see im.Logic. They are written behind: a
// crash may lose the last ones, devices repeat theirs after a reconnect (SPEC
// §6.3). Those whom a mark concerns are told of it once it is durable, so nobody
// is told of a mark and later of one that is behind it.
func (s *Service) Mark(ctx context.Context, from im.Actor, c im.ConversationID, received, read uint64) error {
	return s.mark(ctx, from, c, received, read, nil)
}

// MarkRead is Mark for both marks, answered when they are durable. Many at a time
// share a write.
func (s *Service) MarkRead(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) error {
	done := make(chan error, 1)
	if err := s.mark(ctx, from, c, seq, seq, func(err error) { done <- err }); err != nil {
		return err
	}
	return awaitMarks(ctx, done)
}

// awaitMarks waits until marks are durable.
func awaitMarks(ctx context.Context, done <-chan error) error {
	t := time.NewTimer(markPatience)
	defer t.Stop()
	var err error
	select {
	case err = <-done:
		if err == nil {
			return nil
		}
	case <-t.C:
		err = errors.New("marks are not written yet")
	case <-ctx.Done():
		err = ctx.Err()
	}
	e := im.Wrap(err, im.CodeUnavailable, "the mark could not be stored yet; repeat it")
	e.RetryAfter = time.Second
	return e
}

// mark moves marks; stored, if not nil, is called when they are durable, unless
// there is an error.
func (s *Service) mark(ctx context.Context, from im.Actor, c im.ConversationID, received, read uint64, stored func(error)) error {
	turn := s.moving.Enter()
	moves := true
	defer func() {
		if moves {
			s.moving.Leave(turn)
		}
	}()
	head, m, err := s.headFor(ctx, from.User, c, max(received, read))
	if err != nil {
		return err
	}
	if m.Until != 0 && m.Until < head.Seq {
		head.Seq, head.Count = m.Until, 0
	}
	received = max(received, read)
	if received > head.Seq {
		return im.Wrong("seq", "%d is beyond the last entry", received)
	}
	mark := im.Mark{User: from.User, Conversation: c, Received: received, Read: read}
	lock := s.marking.of(&mark)
	lock.Lock()
	defer lock.Unlock()
	a := s.asks.get()
	defer s.asks.put(a)
	past, err := s.isPast(ctx, a, &mark, head.Seq)
	if err != nil || past && stored == nil {
		return err // a device repeats what another one is past: nobody is told to go back
	}
	if read > 0 {
		if mark.ReadCount, err = s.countAt(ctx, c, read, head); err != nil {
			return err
		}
	}
	a.set[0] = mark
	set := a.set[:]
	w := im.MarkWait{Stored: stored, Soon: read > 0}
	tells := !past && len(receiptFor(&mark, a.to[:0])) > 0
	if tells {
		shows, note, err := s.shows(ctx, &mark)
		if err != nil {
			return err
		}
		if note != nil {
			set = append(note, mark)
		}
		w.Stored = s.tellings.get(s, mark, shows, turn, stored)
	}
	err = s.setMark(ctx, c, set, w)
	if moves = !tells || err != nil; moves && tells {
		s.untold.Store(true)
	}
	switch {
	case !errors.Is(err, im.ErrJournalFull):
		return err
	case stored == nil:
		return nil // it is kept in memory, as without anybody to tell
	}
	e := im.Wrap(err, im.CodeStorageFull, "the server's disk is full; the mark was not stored")
	e.RetryAfter = time.Second
	return e
}

// isPast tells whether the user's marks are as far as this one already. Where the
// store is another process, a mark at the end of the conversation is taken to be
// new: to look it up would cost more than to tell it twice.
func (s *Service) isPast(ctx context.Context, a *ask, m *im.Mark, end uint64) (bool, error) {
	if s.known != nil && m.Received >= end && (m.Read == 0 || m.Read >= end) {
		return false, nil
	}
	a.key[0] = im.MarkKey{User: m.User, Conversation: m.Conversation}
	if err := s.markStore.Marks(ctx, a.key[:], a.mark[:], true); err != nil {
		return false, err
	}
	return m.Received <= a.mark[0].Received && m.Read <= a.mark[0].Read, nil
}

// setMark stores a mark and remembers where it moved.
func (s *Service) setMark(ctx context.Context, c im.ConversationID, mark []im.Mark, w im.MarkWait) error {
	if s.touched.shared {
		return s.markStore.SetMarks(ctx, mark, w)
	}
	s.touched.begin(c)
	err := s.markStore.SetMarks(ctx, mark, w)
	// The journal gave the mark the position after the one of that moment.
	at, perr := s.journal.Position(ctx)
	pos := at.At(0)
	if err != nil || perr != nil {
		pos = math.MaxUint64 - 1 // not known: look every time
	}
	s.touched.end(c, pos+1)
	return err
}

// settleMarks makes marks durable that are about to be told of: nobody is told of
// one that a crash may take back. While the store has no room, or does not
// write for long, they are told as they are.
func (s *Service) settleMarks(ctx context.Context, pairs []markPair) error {
	told := make([]im.Mark, 0, 2*len(pairs))
	for i := range pairs {
		for _, m := range [...]*im.Mark{&pairs[i].own, &pairs[i].peer} {
			if m.User != "" {
				// Only waited for: a newer state that was set meanwhile must stay.
				x := *m
				x.Mine = ""
				told = append(told, x)
			}
		}
	}
	if len(told) == 0 {
		return nil
	}
	done := make(chan error, 1)
	err := s.markStore.SetMarks(ctx, told, im.MarkWait{Stored: func(err error) { done <- err }, Soon: true})
	if errors.Is(err, im.ErrJournalFull) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = awaitMarks(ctx, done); err != nil && ctx.Err() == nil {
		s.log.Warn("marks are told that are not written yet", "err", err)
		return nil
	}
	return err
}

// headFor is headAs for a mark at seq: if the head is known to be at least there,
// a store in another process is not asked. What is gone is not looked at: a mark may
// be there, too.
func (s *Service) headFor(ctx context.Context, u im.UserID, c im.ConversationID, seq uint64) (head im.Head, m im.Membership, err error) {
	known := false
	if s.known != nil {
		head, known = s.known(c)
	}
	if !known || seq > head.Seq {
		if head, err = s.head(ctx, c); err != nil {
			return head, m, err
		}
	}
	m, err = s.members.Membership(ctx, u, c, head.Roster)
	return head, m, err
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
//
// It is no cache: what it forgets nobody else knows, so the floor rises with it.
type touched struct {
	mu     sync.Mutex
	pos    map[im.ConversationID]uint64
	moving map[im.ConversationID]int
	floor  uint64 // changes at or below it are not all remembered
	known  bool   // floor is set
	// shared: others move marks too, or there are several shards, whose positions do not
	// compare: nothing is remembered here.
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
