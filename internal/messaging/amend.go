package messaging

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// changedAttempts is how often an amendment is decided anew because its target changed
// meanwhile. One process decides by what it stored itself, so this bounds what others
// can do to it.
const changedAttempts = 60

// amending is an amendment that was admitted: what it makes of its target, and what is
// kept and told of it.
type amending struct {
	amend im.Amend
	// kept is the body that is stored. What an edit says is kept in its target only, so
	// that a recall erases all of it.
	kept []byte
	// told is the body that is delivered.
	told []byte
	// labels and unlabels are what the target gets, and loses, of its labels.
	labels, unlabels []string
	// own are labels of the entry itself.
	own []string
	// carries: the target refers to what lies beside this entry.
	carries bool
	// after names another amendment of the target, from whose outcome this one was made;
	// zero: it was made from what is stored.
	after idOf
}

// idOf is what an entry is known by in its conversation, whoever has its number.
type idOf struct {
	sender im.UserID
	id     im.MessageID
}

func (i idOf) none() bool { return i == idOf{} }

func idOfItem(it *item) idOf { return idOf{it.entry.Sender, it.entry.ID} }

// madeOf are the targets of one conversation as the amendments make them that are being
// admitted, in their order: the next one is made from that.
type madeOf map[uint64]*madeEntry

type madeEntry struct {
	entry im.Entry
	by    idOf // whose outcome it is
	waits bool // what comes next waits until it is stored
}

// waits tells that an item before this one amends its target, or is a pin as it is, and
// has to be stored before this one is asked about.
func (m madeOf) waits(it *item) bool {
	x := m[it.entry.Target]
	return x != nil && x.waits || it.entry.Kind == im.EntryPin && m[anyPin] != nil
}

func (m *madeOf) put(it *item, target im.Entry, waits bool) {
	if *m == nil {
		*m = madeOf{}
	}
	(*m)[it.entry.Target] = &madeEntry{target, idOfItem(it), waits}
	if it.entry.Kind == im.EntryPin {
		(*m)[anyPin] = &madeEntry{waits: true}
	}
}

// anyPin stands in a madeOf for a pin of any target: how many there are is counted in the
// store, so the next one waits until it is stored.
const anyPin = neverSeq

// mayAmend decides whether an amendment may be stored, and what it makes of its target.
func (s *Service) mayAmend(ctx context.Context, it *item, made *madeOf) error {
	e := &it.entry
	var target im.Entry
	var after idOf
	if m := (*made)[e.Target]; m != nil {
		target, after = m.entry, m.by
	} else {
		got, err := s.journal.Read(ctx, e.Conversation, e.Target, false, 1)
		if err != nil {
			return err
		}
		if len(got) == 0 || got[0].Seq != e.Target {
			return errNoMessage
		}
		target = got[0]
	}
	if !target.Kind.Said() {
		return errNoMessage
	}
	if gone, err := s.isGone(ctx, e.Conversation, e.Target); err != nil || gone {
		return cmp.Or(err, error(errNoMessage))
	}
	m := &amending{after: after, told: e.Body}
	m.amend = im.Amend{Change: true, If: target.Amended}
	var err error
	switch e.Kind {
	case im.EntryRecall:
		m.amend, m.after = im.Amend{Recall: true}, idOf{}
		if !it.server {
			err = s.mayRecall(ctx, e, &target)
		}
		if err == nil {
			err = s.doubtMedia(ctx, target)
		}
		if err == nil && target.Root() != 0 {
			err = s.leaveThread(ctx, it, m, &target, made)
		}
		target.Recalled, target.Body = true, nil
	case im.EntryEdit:
		err = s.edit(ctx, e, m, &target)
	case im.EntryReaction:
		err = s.react(ctx, e, m, &target)
	case im.EntryVote, im.EntryPollEnd:
		err = s.poll(ctx, e, m, &target)
	case im.EntryPin:
		err = s.pin(ctx, e, m, &target)
	case im.EntryStream:
		err = s.stream(ctx, it, m, &target)
	case im.EntryPreview:
		err = s.preview(e, m, &target)
	}
	if errors.Is(err, errSame) && !after.none() {
		// By what is not stored yet.
		(*made)[e.Target].waits = true
		it.askAgain()
		return nil
	}
	if errors.Is(err, errWaits) {
		it.askAgain()
		return nil
	}
	if err != nil {
		return err
	}
	if target.Root() != 0 {
		m.told = entrycodec.InThread(m.told, &target)
	}
	it.amends = m
	// Elsewhere others append, too, and what a state has beside the entry that makes it is
	// found by its seq.
	made.put(it, target, s.known != nil || m.carries)
	return nil
}

// askAgain has an item asked about again when what is before it is stored.
func (it *item) askAgain() {
	it.admitted = false
	it.asked--
}

var errNoMessage = im.Errorf(im.CodeNotFound, "no such message")

// mayRecall: a message may be taken back by its author within the window,
// or by whoever has power over the author.
func (s *Service) mayRecall(ctx context.Context, e, target *im.Entry) error {
	if target.Sender != e.Sender {
		return s.permissions.MayRecall(ctx, e.Sender, e.Conversation, target.Sender)
	}
	if s.recall > 0 && !target.Recalled && s.now().Sub(target.Stored) > s.recall {
		return im.Errorf(im.CodeTooLate, "a message can be taken back for %s only", s.recall)
	}
	return nil
}

// edit: a message may be edited by its author, within the window. It changes target
// to what the edit makes of it.
func (s *Service) edit(ctx context.Context, e *im.Entry, m *amending, target *im.Entry) error {
	now := s.now()
	switch {
	case target.Sender != e.Sender:
		if _, err := s.readable(ctx, e.Sender, e.Conversation, e.Target); err != nil {
			return err
		}
		return im.Errorf(im.CodePermissionDenied, "only its author may edit a message")
	case target.Recalled:
		return im.Errorf(im.CodeTooLate, "the message was taken back")
	case s.editing <= 0:
		return im.Errorf(im.CodePermissionDenied, "messages cannot be edited on this server")
	case now.Sub(target.Stored) > s.editing:
		return im.Errorf(im.CodeTooLate, "a message can be edited for %s only", s.editing)
	}
	state, err := entrycodec.Open(target.Body, target.Amended)
	if err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read")
	}
	if state.Told.Poll != nil {
		return im.Errorf(im.CodePermissionDenied, "a poll cannot be edited: who voted saw what it said then")
	}
	if state.Told.Forward != nil {
		return im.Errorf(im.CodePermissionDenied, "a forwarded message cannot be edited: it says what somebody else said")
	}
	if state.Told.Streaming {
		return im.Errorf(im.CodePermissionDenied, "a message that is being said cannot be edited")
	}
	if state.Told.GetContent().GetType() == im.TypeSticker {
		return im.Errorf(im.CodePermissionDenied, "a sticker cannot be edited")
	}
	had := state.Told.Preview != nil
	if m.told, err = state.Edit(e.Body, target.Stored, now); err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the edit says cannot be read")
	}
	m.kept = nil
	before := entrycodec.Labels(target)
	if had && state.Told.Preview == nil {
		if err := s.doubtMedia(ctx, *target); err != nil {
			return err
		}
	}
	target.Body = state.Body()
	m.labels, m.unlabels = entrycodec.Relabel(before, entrycodec.Labels(target))
	m.amend.Body = target.Body
	return nil
}

// amends tells that a batch has an amendment in a conversation.
func (r *round) amends(c im.ConversationID) bool {
	for i := range r.batch {
		if e := &r.batch[i].Entry; e.Target != 0 && e.Conversation == c {
			return true
		}
	}
	return false
}

// neverSeq is the seq of no entry.
const neverSeq = 1<<63 - 1

// expect has an amendment that was made from another one's outcome be conditional on
// it: on the seq that the other one gets if everything before it in the batch is stored.
// If it is not, neither is this one, and it is decided anew. It is called before the
// item is added.
//
// Nobody else appends (Known): the seqs are those that the journal told and the batch
// makes. Where the other one was stored before, it takes no seq, what follows it has
// smaller ones than expected, and nothing else in between amends the target.
func (s *Service) expect(r *round, it *item) {
	m := it.amends
	if m == nil || m.after.none() {
		return
	}
	m.amend.If = neverSeq
	c := it.entry.Conversation
	n := uint64(0)
	for i := range r.batch {
		e := &r.batch[i].Entry
		if e.Conversation != c {
			continue
		}
		n++
		if e.ID == m.after.id && e.Sender == m.after.sender {
			ctx, cancel := context.WithTimeout(s.life, time.Second)
			defer cancel()
			if head, err := s.head(ctx, c); err == nil {
				m.amend.If = head.Seq + n
			}
			return
		}
	}
}

// scheduleChanged gives a conversation that is held for a target another attempt, at
// once: whoever changed it has stored that.
func (s *Service) scheduleChanged(c im.ConversationID) {
	if h := s.held[c]; !h.asking { // otherwise it comes with what the admitter has
		s.queue.retryNow(c)
	}
}

// readable returns an entry of a conversation as it is stored, if u may read it.
func (s *Service) readable(ctx context.Context, u im.UserID, c im.ConversationID, seq uint64) (im.Entry, error) {
	head, m, err := s.headAs(ctx, u, c)
	if err != nil {
		return im.Entry{}, err
	}
	r := reading{s: s, user: u, m: m}
	may := seq > 0 && seq <= head.Seq && (m.Until == 0 || seq <= m.Until)
	if may {
		if may, err = r.may(ctx, seq); err != nil {
			return im.Entry{}, err
		}
	}
	if !may {
		return im.Entry{}, errNoMessage
	}
	got, err := s.journal.Read(ctx, c, seq, false, 1)
	if err == nil && (len(got) == 0 || got[0].Seq != seq) {
		err = errNoMessage
	}
	if err == nil && got[0].Kind == im.EntryReply { // who may not read the root sees nothing of its thread
		if may, err = r.may(ctx, got[0].Target); err == nil && !may {
			err = errNoMessage
		}
	}
	if err != nil {
		return im.Entry{}, err
	}
	return got[0], nil
}

// Edits tells what a message said before it was edited: at most limit versions below
// before (0: below the present one), the latest first, and where the next page begins, 0
// if there is none. Who may read the message may read them; of one that was taken back
// there are none.
func (s *Service) Edits(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64, before uint32, limit int) ([]*entrycodec.Version, uint32, error) {
	e, err := s.shownTo(ctx, from.User, c, seq)
	if err != nil {
		return nil, 0, err
	}
	if !e.Kind.Said() {
		return nil, 0, errNoMessage
	}
	state, err := entrycodec.Open(e.Body, e.Amended)
	if err != nil {
		return nil, 0, im.Wrap(err, im.CodeUnprocessable, "what the message said cannot be read")
	}
	if limit <= 0 || limit > entrycodec.MaxVersions {
		limit = entrycodec.MaxVersions
	}
	var page []*entrycodec.Version
	for n := len(state.Versions) - 1; n >= 0; n-- {
		v := state.Versions[n]
		switch {
		case before != 0 && v.Version >= before:
		case len(page) == limit:
			return page, page[len(page)-1].Version, nil
		default:
			page = append(page, v)
		}
	}
	return page, 0, nil
}
