package messaging

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// maxAdmitters is how many conversations are asked about at a time. The
	// directory's connections are for others as well.
	maxAdmitters = 8
	// maxLookers is in how many conversations refused messages are looked for at a
	// time: those who are refused must not keep others from being admitted.
	maxLookers = 4
	// askTime bounds what is asked about one conversation.
	askTime = 10 * time.Second
)

// admission are conversations with items that wait for a store, in the order in
// which they came.
type admission struct {
	most    int // goroutines at a time
	mu      sync.Mutex
	waiting [][]*item
	running int
}

// put has items of one conversation asked about by a goroutine of its own.
func (a *admission) put(items []*item, ask func([]*item)) {
	a.mu.Lock()
	a.waiting = append(a.waiting, items)
	start := a.running < a.most
	if start {
		a.running++
	}
	a.mu.Unlock()
	if start {
		go a.run(ask)
	}
}

func (a *admission) run(ask func([]*item)) {
	for {
		a.mu.Lock()
		if len(a.waiting) == 0 {
			a.running--
			a.waiting = nil
			a.mu.Unlock()
			return
		}
		items := a.waiting[0]
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
		a.mu.Unlock()
		ask(items)
	}
}

// ask asks the stores about items of one conversation, and gives them back to the
// committer, which answers those that are refused in their turn. Those that are
// refused for good are looked for before (look).
func (s *Service) ask(items []*item) {
	ctx, cancel := context.WithTimeout(s.life, askTime)
	defer cancel()
	refused := false
	var made madeOf
	for _, it := range items {
		if made.waits(it) {
			continue // the one before it is stored first; then it is asked about
		}
		it.asked++
		if im.ForNow(it.err) || it.behind() || s.tooLate(it) {
			continue // the committer refuses it
		}
		if err := ctx.Err(); err != nil {
			it.err = s.late(ctx, err)
			continue
		}
		it.admitted, it.err, it.deniedAt = true, nil, 0
		it.err = s.late(ctx, s.guarded("decision", &it.entry, func() error { return s.mayStore(ctx, it, &made) }))
		refused = refused || it.forGood()
	}
	if refused {
		s.looking.put(items, s.look)
		return
	}
	s.queue.admitted(items)
}

// look looks for those of the items that are refused for good.
func (s *Service) look(items []*item) {
	ctx, cancel := context.WithTimeout(s.life, askTime)
	defer cancel()
	s.findRefused(ctx, items)
	s.queue.admitted(items)
}

// late turns the error of a time that ran out here into one that tells the client
// when to come again.
func (s *Service) late(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	text := "the server could not look in time whether you may write here; nothing was stored"
	if s.life.Err() != nil {
		text = "the server is stopping"
	}
	e := im.Wrap(err, im.CodeUnavailable, "%s", text)
	e.RetryAfter = time.Second
	return e
}

// forGood tells that an item is refused, and not only for now.
func (it *item) forGood() bool { return it.err != nil && !im.ForNow(it.err) }

// mayStore asks the stores whether an item may be stored, and makes what it needs. That its
// author wrote to somebody, who may answer, is noted when nothing else refuses it.
func (s *Service) mayStore(ctx context.Context, it *item, made *madeOf) error {
	err := s.decided(ctx, it, made)
	if e := &it.entry; err == nil && it.admitted && e.Kind.Said() && e.Conversation.Kind() == im.KindDM {
		_, err = s.permissions.MaySend(ctx, e.Sender, e.Conversation, e.Kind)
	}
	return err
}

// decided asks the stores about an item: all but that its author wrote.
func (s *Service) decided(ctx context.Context, it *item, made *madeOf) error {
	e := &it.entry
	if it.server { // whoever may write there: it is decided by its target
		head, err := s.head(ctx, e.Conversation)
		if err != nil {
			return err
		}
		it.ifRoster = head.Roster
		return s.mayAmend(ctx, it, made)
	}
	kind := e.Kind
	if kind.Said() && e.Conversation.Kind() == im.KindDM {
		kind = 0
	}
	roster, err := s.permissions.MaySend(ctx, e.Sender, e.Conversation, kind)
	if err != nil && !takesBack(e, err) {
		if im.CodeOf(err) != im.CodeMuted { // that is decided by each node's clock, too
			it.deniedAt = roster
		}
		return err
	}
	it.ifRoster, it.report = roster, nil
	if err := s.allowed(ctx, it, it.breaks); err != nil {
		return err
	}
	if it.everybody {
		if err := s.permissions.May(ctx, e.Sender, e.Conversation, im.GroupMentionAll); err != nil {
			return inField("groupMention", err)
		}
	}
	if e.Conversation.Kind() == im.KindDM {
		if err := s.openDM(ctx, e.Conversation); err != nil {
			return err
		}
	}
	if e.Target != 0 && !e.Kind.Said() {
		return s.mayAmend(ctx, it, made)
	}
	if it.streaming {
		if err := s.beginStream(ctx, it); err != nil {
			return err
		}
	}
	if it.replyTo != 0 {
		head, err := s.head(ctx, e.Conversation)
		if err != nil {
			return err
		}
		if it.replyTo > head.Seq {
			return im.Wrong("replyTo", "is beyond the conversation's last entry")
		}
	}
	if it.sticker {
		if err := s.showSticker(ctx, it); err != nil {
			return err
		}
	}
	if it.media {
		if err := s.nameMedia(ctx, it); err != nil {
			return err
		}
	}
	if e.Root() != 0 {
		return s.mayReply(ctx, it, made)
	}
	return nil
}

// takesBack tells that an entry may be stored although its author may not write: who is
// in a conversation takes back what they said there also while they are muted, admins
// alone write, or the other one of a dm has blocked them (SPEC §4.7).
func takesBack(e *im.Entry, err error) bool {
	if e.Kind != im.EntryRecall {
		return false
	}
	switch im.CodeOf(err) {
	case im.CodeMuted, im.CodePermissionDenied, im.CodeNotContact:
		return true
	}
	return false
}

// inField names the field that a refusal is about.
func inField(field string, err error) error {
	if code := im.CodeOf(err); code != im.CodePermissionDenied && code != im.CodeNotFound && code != im.CodeTooLate {
		return err
	}
	e := *im.Public(err)
	e.Field = field
	return &e
}

// openDM makes sure that a dm's first message finds both users as members: the
// rows are written before the entry, so a crash leaves an empty dm at worst.
func (s *Service) openDM(ctx context.Context, c im.ConversationID) error {
	if s.opened.has(c) {
		return nil
	}
	if s.known == nil { // elsewhere the look costs as much as opening it
		head, err := s.head(ctx, c)
		if err != nil {
			return err
		}
		if head.Seq > 0 {
			s.opened.add(c)
			return nil
		}
	}
	if err := s.permissions.OpenDM(ctx, c); err != nil {
		return err
	}
	s.opened.add(c)
	return nil
}

// head returns the end of one conversation.
func (s *Service) head(ctx context.Context, c im.ConversationID) (im.Head, error) {
	a := s.asks.get()
	defer s.asks.put(a)
	a.conversation[0] = c
	err := s.journal.Heads(ctx, a.conversation[:], a.head[:])
	if err == nil && a.head[0].Damaged {
		err = im.ErrJournalDamaged
	}
	return a.head[0], err
}

// findRefused looks whether what is refused for good was stored before: somebody
// who was removed since asks what became of a message whose ack was lost, and
// must not be told that it was not stored.
func (s *Service) findRefused(ctx context.Context, items []*item) {
	// What this process was about to store when they were refused is stored by then.
	err := s.storing.Wait(ctx)
	var plain []*item
	var batch []im.Append
	for _, it := range items {
		switch {
		case !it.forGood():
		case err != nil: // it may be what is being stored just now
			it.err = busy(true)
		case it.actor.Doubt:
			s.findDoubted(ctx, it)
		default:
			plain = append(plain, it)
			batch = append(batch, im.Append{Entry: it.entry, Hash: it.hash})
		}
	}
	if len(plain) == 0 {
		return
	}
	out := make([]im.Appended, len(batch))
	err = s.lookups.Lookup(ctx, batch, out)
	for i, it := range plain {
		switch {
		case err != nil:
			it.err = cannotLook(err)
		case out[i].Status == im.Duplicate:
			it.err, it.found = nil, out[i]
		case errors.Is(it.err, errSame):
			it.err, it.found = nil, im.Appended{Status: im.Duplicate}
		}
	}
}

func cannotLook(err error) error {
	return im.Wrap(err, im.CodeUnavailable, "the server cannot look now whether this was stored")
}

// neverRoster is a revision that no conversation ever has: an append on that
// condition finds what is stored and stores nothing.
const neverRoster = math.MaxInt64

// findDoubted looks for an item that another node may be about to store: under the
// lock of its conversation, so that what that node began is over.
func (s *Service) findDoubted(ctx context.Context, it *item) {
	head, err := s.head(ctx, it.entry.Conversation)
	if err == nil && head.Seq == 0 {
		return // nothing was ever stored there
	}
	look := [1]im.Append{{Entry: it.entry, Hash: it.hash, IfRoster: neverRoster}}
	var out [1]im.Appended
	if err == nil {
		// One at a time: who waits for a lock holds a connection that the committer needs.
		s.doubting.Lock()
		err = s.journal.Append(ctx, look[:], out[:])
		s.doubting.Unlock()
	}
	switch {
	case err != nil:
		it.err = cannotLook(err)
	case out[0].Status == im.Busy:
		it.err = busy(true)
	case out[0].Status == im.Duplicate:
		it.err, it.found = nil, out[0]
	case errors.Is(it.err, errSame):
		it.err, it.found = nil, im.Appended{Status: im.Duplicate}
	case s.settled(ctx, it):
		e := *im.Public(it.err)
		e.Settled = true
		it.err = &e
	}
}

// settled tells that what another node had begun to store of an item cannot be
// stored any more, after it was looked for and not found. The roster's revision
// that refuses it is the directory's, so the journal had it before the look; if it
// still has that one, it had it at the look. Whoever decided otherwise did so by an
// earlier revision, and the append is conditional on that: revisions only grow.
func (s *Service) settled(ctx context.Context, it *item) bool {
	if it.deniedAt == 0 {
		return false
	}
	head, err := s.head(ctx, it.entry.Conversation)
	return err == nil && head.Roster == it.deniedAt
}
