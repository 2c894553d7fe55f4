package messaging

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// maxBatch is how many entries one commit takes. Larger batches gain nothing
	// (05) and make the first of them wait.
	maxBatch = 1024
	// maxBatchBytes bounds a commit in memory and time when messages are large.
	maxBatchBytes = 4 << 20
	// maxIDAhead is how far ahead of the server's clock an id may be (SPEC §2).
	maxIDAhead = 24 * time.Hour
	// A conversation whose roster is being changed is tried again after
	// retryDelay · attempts, retryAttempts times: 2 s in all.
	retryDelay    = 5 * time.Millisecond
	retryAttempts = 28
	// At its helpAttempt'th attempt whoever changes the roster has had 100 ms.
	helpAttempt = 6
	// staleAfter is how long a member's message may wait for its place when other
	// processes append as well. Whoever passed it on has given it to another one by
	// then, which may have refused it: here it must not be stored any more.
	staleAfter = 2500 * time.Millisecond
	// unknownPatience bounds asking again for a batch whose outcome is unknown.
	unknownPatience = 30 * time.Second
)

// scratch is the committer's memory, reused from batch to batch.
type scratch struct {
	batch    []im.Append
	out      []im.Appended
	items    []*item
	index    []int // batch[i] belongs to items[index[i]]
	delivery []im.Delivery
	marks    []im.Mark
	// asked: the outcome of the batch was unknown at first, so that a duplicate
	// may be an entry of this very batch that nobody has been sent yet.
	asked bool
	// errs[i] is why batch[i] alone could not be stored; empty for a whole batch.
	errs []error
}

// Send queues a member's message; see im.Logic.
//
// message path 3/6: check, batch, commit, answer
func (s *Service) Send(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	now := s.now()
	entry := im.Entry{Conversation: m.Conversation, ID: m.ID, Sender: from.User}
	if err := s.guarded("check", &entry, func() error { return checkMessage(&m, now) }); err != nil {
		s.metrics.reject(err)
		reply(im.Ack{}, err)
		return
	}
	if from.Order.Behind(from.Connection, m.Conversation, from.Turn) {
		err := im.ErrBehind()
		s.metrics.reject(err)
		reply(im.Ack{}, err)
		return
	}
	it := s.items.get()
	*it = item{
		ctx:   ctx,
		actor: from,
		entry: im.Entry{
			Conversation: m.Conversation, ID: m.ID, Sender: from.User, Kind: m.Kind,
			Content: m.Content, ReplyTo: m.ReplyTo, Mentions: m.Mentions, Target: m.Target,
		},
		hash:   m.Hash(),
		reply:  reply,
		queued: now,
	}
	// The committer decides; asking here only loads what it will look at, and opens a
	// new dm, so that it need not wait for a database on everybody's behalf.
	_ = s.guarded("look", &entry, func() error {
		if _, err := s.members.MaySend(ctx, from.User, m.Conversation); err == nil && m.Conversation.Kind() == im.KindDM {
			_ = s.openDM(ctx, m.Conversation)
		}
		return nil
	})
	if err := s.queue.put(it); err != nil {
		it.refused(err)
		s.metrics.reject(err)
		reply(im.Ack{}, err)
	}
}

// AppendEvent stores an entry of the server's own making and returns its seq.
// apply, if not nil, runs once the entry is durable, before it is delivered and
// before anything later is decided; it must be idempotent, because a promise
// that was stored before is applied again. An error of apply is returned; the
// entry is stored all the same and the promise must be driven again.
func (s *Service) AppendEvent(ctx context.Context, p im.Promise, apply func(seq uint64) error) (uint64, error) {
	type result struct {
		ack im.Ack
		err error
	}
	got := make(chan result, 1)
	ev := p.Event
	it := &item{
		entry:     im.Entry{Conversation: p.Conversation, ID: p.ID, Sender: p.Sender, Kind: im.EntryEvent, Event: &ev},
		event:     true,
		ifRoster:  p.IfRoster,
		setRoster: p.SetRoster,
		apply:     apply,
		reply:     func(a im.Ack, err error) { got <- result{a, err} },
		queued:    s.now(),
	}
	if err := s.queue.put(it); err != nil {
		return 0, err
	}
	select {
	case r := <-got:
		return r.ack.Seq, r.err
	case <-ctx.Done():
		return 0, im.Wrap(ctx.Err(), im.CodeUnknown, "the change may or may not have been made")
	}
}

// checkMessage refuses what can be refused without looking anything up.
func checkMessage(m *im.Message, now time.Time) error {
	switch m.Conversation.Kind() {
	case im.KindDM, im.KindGroup:
	case im.KindMe:
		return im.Errorf(im.CodePermissionDenied, "me feeds take entries from the server only")
	default:
		return im.Errorf(im.CodeInvalidArgument, "conversation is malformed")
	}
	if m.Kind != im.EntryMessage && m.Kind != im.EntryRecall {
		return im.Errorf(im.CodeInvalidArgument, "members send messages and recalls only")
	}
	if m.ID.Time().Sub(now) > maxIDAhead {
		return im.Errorf(im.CodeClockSkew, "the id's time is more than %s ahead of the server's %s", maxIDAhead, now.UTC().Format(time.RFC3339))
	}
	return nil
}

func (s *Service) commitLoop() {
	defer s.stopped.Done()
	var buf []*item
	for {
		items, due, ok := s.queue.take(buf)
		if !ok {
			s.giveUpHeld()
			return
		}
		buf = items
		items = s.released(due, items)
		for rest := items; len(rest) > 0; {
			n := batchLen(rest)
			s.commit(rest[:n])
			rest = rest[n:]
		}
		clear(buf)
	}
}

// batchLen is how many of items make the next batch, at least one.
func batchLen(items []*item) int {
	bytes := 0
	for i, it := range items {
		if bytes += it.bytes(); i > 0 && (i == maxBatch || bytes > maxBatchBytes) {
			return i
		}
	}
	return len(items)
}

// commit takes one batch through decide → store → answer → deliver.
func (s *Service) commit(items []*item) {
	defer s.committing.Leave(s.committing.Enter())
	ctx := context.Background()
	items = s.holdBack(items)
	sc := &s.scratch
	sc.batch, sc.index = sc.batch[:0], sc.index[:0]
	for i, it := range items {
		if it.err = s.guarded("decision", &it.entry, func() error { return s.decide(ctx, it) }); it.err != nil {
			it.refused(it.err) // before the next is decided: it may be behind this one
		} else {
			sc.batch = append(sc.batch, im.Append{
				Entry: it.entry, Hash: it.hash, IfRoster: it.ifRoster, SetRoster: it.setRoster, Erase: it.entry.Target,
			})
			sc.index = append(sc.index, i)
		}
	}
	sc.items = items
	sc.errs = sc.errs[:0]
	err := s.store(ctx)
	sc.delivery = sc.delivery[:0]
	if err == nil {
		s.markOwn(ctx, items)
	}
	s.findRefused(ctx, items)
	s.answer(items, err)
	s.deliver(sc.delivery)
	clear(sc.batch)
	clear(sc.delivery)
	sc.items = nil
}

// findRefused looks whether what is refused for good was stored before: somebody
// who was removed since asks what became of a message whose ack was lost, and
// must not be told that it was not stored.
func (s *Service) findRefused(ctx context.Context, items []*item) {
	for _, it := range items {
		if it.event || it.err == nil || im.CodeOf(it.err).Info().Action != im.ActionFix {
			continue
		}
		head, err := s.head(ctx, it.entry.Conversation)
		if err == nil && head.Seq == 0 {
			continue // nothing was ever stored there
		}
		look := [1]im.Append{{Entry: it.entry, Hash: it.hash, IfRoster: neverRoster}}
		var out [1]im.Appended
		if err == nil {
			err = s.journal.Append(ctx, look[:], out[:])
		}
		switch {
		case err != nil:
			it.err = im.Wrap(err, im.CodeUnavailable, "the server cannot look now whether this was stored")
		case out[0].Status == im.Busy:
			it.err = busy(true)
		case out[0].Status == im.Duplicate:
			it.err, it.found = nil, out[0]
		case it.actor.Doubt && s.settled(ctx, it):
			e := *im.Public(it.err)
			e.Settled = true
			it.err = &e
		}
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

// decide checks permission and fills in what the append is conditional on.
func (s *Service) decide(ctx context.Context, it *item) error {
	if s.failed != nil {
		return im.Wrap(s.failed, im.CodeUnavailable, "the server cannot store any more")
	}
	switch {
	case it.event:
		return nil
	case im.ForNow(it.err):
		return it.err // it waited for others since: what is behind it was refused
	case it.behind():
		return im.ErrBehind()
	}
	if it.withdrawn() || s.known != nil && s.now().Sub(it.queued) > staleAfter {
		return &im.Error{Code: im.CodeUnavailable, Message: "the message waited too long; nothing was stored", RetryAfter: time.Second}
	}
	e := &it.entry
	roster, err := s.members.MaySend(ctx, e.Sender, e.Conversation)
	if err != nil {
		if im.CodeOf(err) != im.CodeMuted { // that is decided by each node's clock, too
			it.deniedAt = roster
		}
		return err
	}
	it.ifRoster = roster
	if e.Conversation.Kind() == im.KindDM {
		if err := s.openDM(ctx, e.Conversation); err != nil {
			return err
		}
	}
	if e.Kind == im.EntryRecall {
		return s.decideRecall(ctx, e)
	}
	if e.ReplyTo != 0 {
		head, err := s.head(ctx, e.Conversation)
		if err != nil {
			return err
		}
		if e.ReplyTo > head.Seq {
			return im.Errorf(im.CodeInvalidArgument, "reply_to is beyond the conversation's last entry")
		}
	}
	return nil
}

// openDM makes sure that a dm's first message finds both users as members: the
// rows are written before the entry, so a crash leaves an empty dm at worst. Send
// does it for those who may write; what failed there the committer tries again.
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
	if err := s.members.OpenDM(ctx, c); err != nil {
		return err
	}
	s.opened.add(c)
	return nil
}

// decideRecall: a message may be taken back by its author within the window,
// or by whoever has power over the author.
func (s *Service) decideRecall(ctx context.Context, e *im.Entry) error {
	got, err := s.journal.Read(ctx, e.Conversation, e.Target, false, 1)
	if err != nil {
		return err
	}
	if len(got) == 0 || got[0].Seq != e.Target || got[0].Kind != im.EntryMessage {
		return im.Errorf(im.CodeNotFound, "no such message")
	}
	if got[0].Sender != e.Sender {
		return s.members.MayRecall(ctx, e.Sender, e.Conversation, got[0].Sender)
	}
	if s.recall > 0 && !got[0].Recalled && s.now().Sub(got[0].Stored) > s.recall {
		return im.Errorf(im.CodeTooLate, "a message can be taken back for %s only", s.recall)
	}
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

// store appends the batch. An unknown outcome is resolved by asking again: the
// ids make it harmless.
func (s *Service) store(ctx context.Context) error {
	sc := &s.scratch
	if len(sc.batch) == 0 {
		return nil
	}
	if cap(sc.out) < len(sc.batch) {
		sc.out = make([]im.Appended, maxBatch)
	}
	sc.out = sc.out[:len(sc.batch)]
	clear(sc.out)
	err := s.settleAppend(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, im.ErrJournalFull):
		e := im.Wrap(err, im.CodeStorageFull, "the server's disk is full; nothing was stored")
		e.RetryAfter = time.Second
		return e
	case sc.asked && s.known != nil:
		// The database stays away. Who repeats it, here or elsewhere, learns what became
		// of it, and has it delivered (Remind).
		return im.Wrap(err, im.CodeUnknown, "the server cannot tell now whether this was stored; repeat the message with the same id")
	case errors.Is(err, im.ErrJournalUnavailable):
		e := im.Wrap(err, im.CodeUnavailable, "the database cannot be reached; nothing was stored")
		e.RetryAfter = time.Second
		return e
	case errors.Is(err, im.ErrJournalFailed) || errors.Is(err, im.ErrOutcomeUnknown):
		s.fail(err)
		return im.Wrap(err, im.CodeUnknown, "the server failed while storing; repeat the message with the same id")
	case len(sc.batch) > 1:
		return s.storeEach(ctx)
	default:
		s.log.Error("an entry cannot be stored", "conversation", sc.batch[0].Entry.Conversation, "err", err)
		return im.Wrap(err, im.CodeInternal, "the server cannot store in this conversation")
	}
}

// settleAppend appends the batch, and asks again while its outcome is unknown:
// also while the store is away, because nothing can be answered before.
func (s *Service) settleAppend(ctx context.Context) error {
	sc := &s.scratch
	sc.asked = false
	began, pause := s.now(), 10*time.Millisecond
	for attempt := 0; ; attempt++ {
		if sc.asked && s.known != nil && s.now().Sub(began) > staleAfter {
			onlyLook(sc.batch)
		}
		err := s.journal.Append(ctx, sc.batch, sc.out)
		sc.asked = sc.asked || errors.Is(err, im.ErrOutcomeUnknown)
		away := errors.Is(err, im.ErrOutcomeUnknown) || errors.Is(err, im.ErrJournalUnavailable)
		if !sc.asked || !away || s.now().Sub(began) > unknownPatience {
			return err
		}
		if attempt > 0 { // the first time it is there again at once, mostly
			if !s.queue.pause(pause) {
				return err
			}
			pause = min(2*pause, 500*time.Millisecond)
		}
	}
}

// neverRoster is a revision that no conversation ever has: an append on that
// condition finds what is stored and stores nothing.
const neverRoster = math.MaxInt64

func onlyLook(batch []im.Append) {
	for i := range batch {
		batch[i].IfRoster = neverRoster
	}
}

// storeEach stores the items of a batch one by one, after the journal refused
// the batch without storing anything: one damaged conversation must not keep the
// others from storing.
func (s *Service) storeEach(ctx context.Context) error {
	sc := &s.scratch
	batch, out, asked := sc.batch, sc.out, false
	defer func() { sc.batch, sc.out, sc.asked = batch, out, asked }()
	sc.out = make([]im.Appended, 1) // not out, which store would write over
	sc.errs = append(sc.errs[:0], make([]error, len(batch))...)
	errs := sc.errs
	moved := map[im.ConversationID]bool{} // their later items wait, as in a batch
	for i := range batch {
		c, it := batch[i].Entry.Conversation, sc.items[sc.index[i]]
		switch {
		case moved[c]:
			out[i] = im.Appended{Status: im.RosterChanged}
			continue
		case it.behind():
			errs[i], out[i] = im.ErrBehind(), im.Appended{}
			continue
		}
		sc.batch = batch[i : i+1]
		if errs[i] = s.store(ctx); errs[i] == nil {
			out[i] = sc.out[0]
		} else {
			it.refused(errs[i])
			out[i] = im.Appended{}
		}
		moved[c] = out[i].Status == im.RosterChanged || out[i].Status == im.Busy
		asked = asked || sc.asked
	}
	return nil
}

// fail stops storing for good: a journal that cannot make entries durable must
// never be asked to acknowledge one again.
func (s *Service) fail(err error) {
	if s.failed == nil {
		s.failed = err
		s.broken.Store(true)
		s.log.Error("the journal failed; no message is accepted any more", "err", err)
		s.onFailed(err)
	}
}
