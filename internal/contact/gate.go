package contact

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// MaySend decides whether a user may write to another in their direct chat
// (SPEC §5.7). It is asked for every direct message: the answer comes from RAM
// when it was asked before.
func (s *Service) MaySend(ctx context.Context, from, to im.UserID) error {
	if from == to || from == "" {
		return im.Wrong("conversation", "is of one user; a direct chat has two")
	}
	_, _, err := s.look(ctx, from, to, 0)
	return err
}

// Writes is MaySend for a message that is about to be stored: its sender, who writes to
// somebody who is no contact, may be answered by them from then on, until they remove or block
// them, unless their own policy is that nobody writes to them (SPEC §5.7). That is noted before
// the message is stored; ask MaySend first for one that may be refused for another reason.
func (s *Service) Writes(ctx context.Context, from, to im.UserID) error {
	if from == to || from == "" {
		return im.Wrong("conversation", "is of one user; a direct chat has two")
	}
	noted, epoch, err := s.look(ctx, from, to, firstFresh)
	if err != nil || noted {
		return err
	}
	if err := s.people.NoteWrote(ctx, from, to); err != nil {
		return fmt.Errorf("note that %s wrote to %s: %w", from, to, err)
	}
	s.gates.wrote(from, to, epoch)
	_, _, err = s.look(ctx, from, to, 0) // asks the store if anything was forgotten meanwhile
	return err
}

// firstFresh is how old the answer may be by which a first message is stored where other
// processes change the same store: one that is cut off from their news for longer than that
// asks. Later messages go by answers of OpenFor.
const firstFresh = time.Second

// WritesNow is Writes from RAM alone, as MaySendNow.
func (s *Service) WritesNow(from, to im.UserID) (known bool, err error) {
	if from == to || from == "" {
		return false, nil
	}
	now := s.now()
	a, known, _ := s.gates.get(from, to, now)
	if !known || a.open(now) && !a.noted {
		return false, nil
	}
	return true, gate(a.open(now))
}

// look decides whether a user may write to another. noted: there is nothing to be noted when
// they do, as far as is known here. A yes without that may be so old, 0: as old as any. The
// epoch is the answer's, as of gates.get.
func (s *Service) look(ctx context.Context, from, to im.UserID, old time.Duration) (noted bool, epoch uint64, err error) {
	now := s.now()
	a, known, epoch := s.gates.get(from, to, now)
	open, noted := a.open(now), a.noted
	if old > 0 && s.o.Shared && open && !noted && now-(a.until-int64(s.o.OpenFor)) > int64(old) {
		known = false
	}
	if !known {
		policy, side, found, err := s.store.Gate(ctx, from, to)
		if err != nil {
			return false, 0, fmt.Errorf("may %s write to %s: %w", from, to, err)
		}
		if !found { // not remembered: the user may come to exist
			return false, 0, im.Errorf(im.CodeNotFound, "no such user")
		}
		noted = side.State == Friend || side.Wrote
		if from.MayBeGuest() || to.MayBeGuest() {
			guest, share, err := s.people.GuestMay(ctx, from, to)
			if err != nil {
				return false, 0, fmt.Errorf("may %s write to %s: %w", from, to, err)
			}
			if guest {
				open = share && !side.Blocked && policy == im.DMEveryone
				if open { // for a while: they leave groups
					s.gates.put(from, to, now+int64(guestOpenFor), true, epoch)
				}
				return true, epoch, gate(open) // guests are answered by the same rule
			}
		}
		open = !side.Blocked && policy != im.DMNobody && (policy == im.DMEveryone || side.State == Friend || side.Answer)
		s.remember(from, to, open, noted, now, epoch)
	}
	return noted, epoch, gate(open)
}

// MaySendNow is MaySend from RAM alone: known is false where the store would have to
// be asked.
func (s *Service) MaySendNow(from, to im.UserID) (known bool, err error) {
	if from == to || from == "" {
		return false, nil
	}
	now := s.now()
	a, known, _ := s.gates.get(from, to, now)
	if !known {
		return false, nil
	}
	return true, gate(a.open(now))
}

func gate(open bool) error {
	if !open {
		return errClosed
	}
	return nil
}

// errClosed is made once: strangers are refused often.
var errClosed error = im.Errorf(im.CodeNotContact, "this user takes messages from contacts only")

// guestOpenFor is how long guests, and who writes to them, may still write when they share
// no group any more.
const guestOpenFor = 5 * time.Second

// now is the time by which answers grow old.
func (s *Service) now() int64 {
	return int64(s.o.Now().Sub(s.began))
}

// remember keeps an answer that was asked for at a time. With others on the
// store a no is not kept, so that what they allow counts at once, and a yes for
// a while.
func (s *Service) remember(from, to im.UserID, open, noted bool, asked int64, epoch uint64) {
	switch {
	case !s.o.Shared && open:
		s.gates.put(from, to, openForEver, noted, epoch)
	case !s.o.Shared:
		s.gates.put(from, to, closed, noted, epoch)
	case open:
		s.gates.put(from, to, asked+int64(s.o.OpenFor), noted, epoch)
	}
}

// InvalidateUser makes the next MaySend to a user look again: for whoever
// changed their policy. Other processes are told.
func (s *Service) InvalidateUser(ctx context.Context, user im.UserID) {
	s.Forget(user, "")
	s.o.Changed(ctx, user, "")
}

// Forget takes the news of a change by another process (see Options.Changed):
// the next MaySend between a and b, or with b empty to a, looks again. With both
// empty every one does: such news may have been lost.
func (s *Service) Forget(a, b im.UserID) {
	switch {
	case a == "":
		s.gates.forgetAll()
		s.reads.forget(func(readPair) bool { return true })
	case b == "":
		s.gates.forgetUser(a)
		s.reads.forget(func(p readPair) bool { return p.a == a || p.b == a })
	default:
		s.forget(a, b)
	}
}

func (s *Service) forget(a, b im.UserID) {
	s.gates.forget(a, b)
	s.reads.forgetPair(pairOf(a, b))
}

// gates remembers who may write to whom.
type gates struct {
	seed   maphash.Seed
	shards [32]gateShard
}

type gateShard struct {
	mu    sync.Mutex
	until cache.Cache[gatePair, gateAnswer]
	// epoch counts what was forgotten of all, and pairs of those who write, by the hash
	// of their ids: an answer that was read before is not kept. Where thousands of chats
	// begin in a second, each of which forgets a pair, one count for all would let hardly
	// any answer be kept.
	epoch uint64
	pairs [256]uint64
}

type gatePair struct{ to, from im.UserID }

// gateAnswer is until when a user may write; noted: they wrote before, or need no answer to
// be allowed.
type gateAnswer struct {
	until int64
	noted bool
}

func (a gateAnswer) open(now int64) bool { return a.until > now }

// What a shard keeps besides times.
const (
	closed      = math.MinInt64
	openForEver = math.MaxInt64
)

func newGates(pairs int) *gates {
	g := &gates{seed: maphash.MakeSeed()}
	for i := range g.shards {
		g.shards[i].until = cache.New[gatePair, gateAnswer](pairs / len(g.shards))
	}
	return g
}

func (g *gates) shard(to im.UserID) *gateShard {
	return &g.shards[maphash.String(g.seed, string(to))%uint64(len(g.shards))]
}

// get returns the remembered answer if it is good still, or the epoch to give to put.
func (g *gates) get(from, to im.UserID, now int64) (a gateAnswer, known bool, epoch uint64) {
	s, k := g.shard(to), gatePair{to, from}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, known = s.until.Get(k)
	return a, known && (a.open(now) || a.until == closed), s.epochOf(g, from)
}

// epochOf changes whenever an answer to who writes is forgotten.
func (s *gateShard) epochOf(g *gates, from im.UserID) uint64 {
	return s.epoch + *s.pair(g, from)
}

func (s *gateShard) pair(g *gates, from im.UserID) *uint64 {
	return &s.pairs[maphash.String(g.seed, string(from))%uint64(len(s.pairs))]
}

// put remembers an answer, unless something was forgotten since get.
func (g *gates) put(from, to im.UserID, until int64, noted bool, epoch uint64) {
	s := g.shard(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epochOf(g, from) == epoch {
		s.until.Put(gatePair{to, from}, gateAnswer{until, noted})
	}
}

func (g *gates) forgetAll() {
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		s.epoch++
		s.until.Clear()
		s.mu.Unlock()
	}
}

// wrote takes note that a user has written to another: nothing is to be noted next time,
// unless something was forgotten since get, and they may be answered.
func (g *gates) wrote(from, to im.UserID, epoch uint64) {
	g.note(gatePair{to, from}, epoch)
	g.drop(gatePair{to: from, from: to}) // after it: both pairs may have one count
}

func (g *gates) note(k gatePair, epoch uint64) {
	s := g.shard(k.to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, known := s.until.Get(k); known && s.epochOf(g, k.from) == epoch {
		s.until.Put(k, gateAnswer{a.until, true})
		return
	}
	s.until.Delete(k) // who looks next asks the store
}

// forget drops both directions of a pair.
func (g *gates) forget(a, b im.UserID) {
	g.drop(gatePair{a, b})
	g.drop(gatePair{b, a})
}

func (g *gates) drop(k gatePair) {
	s := g.shard(k.to)
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.pair(g, k.from)++
	s.until.Delete(k)
}

// forgetUser drops every pair that a user is of: whose policy changed, or who is deleted.
func (g *gates) forgetUser(user im.UserID) {
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		*s.pair(g, user)++
		if s == g.shard(user) {
			s.epoch++
		}
		s.until.DeleteFunc(func(k gatePair, _ gateAnswer) bool { return k.to == user || k.from == user })
		s.mu.Unlock()
	}
}
