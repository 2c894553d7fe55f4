package messaging

import (
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// errWaits: an amendment concerns an entry that one before it amends, too, and has to wait
// until that is stored. It is no refusal.
var errWaits = errors.New("an amendment waits for another one")

// mayReply decides whether a message may be stored in a thread, and what it makes of its
// root (SPEC §4.36): the root says how many replies there are, in the same step. Who may
// write in the conversation may reply to a message of it that is theirs to read. A reply to
// a reply goes to its root.
func (s *Service) mayReply(ctx context.Context, it *item, made *madeOf) error {
	e := &it.entry
	root, after, err := s.rootOf(ctx, e, *made)
	if errors.Is(err, errWaits) {
		it.askAgain()
		return nil
	}
	if err != nil {
		return inField("thread", err)
	}
	state, err := s.amendable(ctx, e, &root)
	if err != nil {
		return inField("thread", err)
	}
	count, err := s.repliesOf(ctx, e.Conversation, root.Seq, state, after)
	if err != nil {
		return err
	}
	before := entrycodec.Labels(&root)
	state.SetReplies(count+1, s.now())
	m := &amending{after: after, kept: e.Body, told: state.WithReplies(e.Body), own: entrycodec.Labels(e)}
	m.amend = im.Amend{Change: true, If: root.Amended, Body: state.Body()}
	root.Body = m.amend.Body
	m.labels, _ = entrycodec.Relabel(before, entrycodec.Labels(&root))
	m.labels = append(m.labels, entrycodec.LabelFollows(e.Sender))
	if root.Sender != e.Sender && count == 0 {
		m.labels = append(m.labels, entrycodec.LabelFollows(root.Sender))
	}
	it.amends = m
	made.put(it, root, s.known != nil)
	return nil
}

// rootOf is the root of the thread that a reply names, as those before it make it, and whose
// outcome that is.
func (s *Service) rootOf(ctx context.Context, e *im.Entry, made madeOf) (root im.Entry, after idOf, err error) {
	for range 2 {
		if m := made[e.Target]; m != nil {
			if m.waits {
				return root, after, errWaits
			}
			root, after = m.entry, m.by
		} else if root, err = s.targetOf(ctx, e.Conversation, e.Target); err != nil {
			return root, after, err
		}
		if root.Root() == 0 {
			break
		}
		after, e.Target = idOf{}, root.Target
	}
	if root.Kind != im.EntryMessage || root.Root() != 0 {
		return root, after, errNoMessage
	}
	gone, err := s.isGone(ctx, e.Conversation, root.Seq)
	if err == nil && gone {
		err = errNoMessage
	}
	return root, after, err
}

// targetOf reads an entry that another one names.
func (s *Service) targetOf(ctx context.Context, c im.ConversationID, seq uint64) (im.Entry, error) {
	got, err := s.journal.Read(ctx, c, seq, false, 1)
	if err != nil {
		return im.Entry{}, err
	}
	if len(got) == 0 || got[0].Seq != seq {
		return im.Entry{}, errNoMessage
	}
	return got[0], nil
}

// repliesOf is how many replies a root has, as what is before an item makes it. Where some
// may have disappeared they are counted.
func (s *Service) repliesOf(ctx context.Context, c im.ConversationID, root uint64, state *entrycodec.State, after idOf) (uint64, error) {
	windows, all, err := s.leftBehind(ctx, c, root)
	if err != nil {
		return 0, err
	}
	if all || !after.none() {
		return uint64(state.Told.GetReplies().GetCount()), nil
	}
	n, _, err := s.countReplies(ctx, c, root, windows)
	return n, err
}

// leftBehind is what is left of a conversation, whoever reads it; all: nothing behind a root
// is gone.
func (s *Service) leftBehind(ctx context.Context, c im.ConversationID, root uint64) (windows []im.Window, all bool, err error) {
	l, err := s.leftOf(ctx, c)
	m := without(im.Membership{Conversation: c, First: 1}, l.gaps)
	return append(m.Earlier[:len(m.Earlier):len(m.Earlier)], im.Window{First: m.First}), m.First <= root, err
}

// leaveThread has the recall of a reply change its root in the same step: one reply less.
// A root that was taken back, or is gone, says nothing any more.
func (s *Service) leaveThread(ctx context.Context, it *item, m *amending, reply *im.Entry, made *madeOf) error {
	if reply.Recalled || len(reply.Body) == 0 {
		return nil
	}
	c, seq := it.entry.Conversation, reply.Target
	var root im.Entry
	var after idOf
	if x := (*made)[seq]; x != nil {
		if x.waits {
			return errWaits
		}
		root, after = x.entry, x.by
	} else {
		var err error
		if root, err = s.targetOf(ctx, c, seq); err != nil {
			return err
		}
	}
	if root.Recalled || len(root.Body) == 0 {
		return nil
	}
	state, err := entrycodec.Open(root.Body, root.Amended)
	if err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the thread's first message says cannot be read")
	}
	count, err := s.repliesOf(ctx, c, seq, state, after)
	if err != nil {
		return err
	}
	last := time.UnixMilli(state.Told.GetReplies().GetLastAtMs())
	if count > 1 && after.none() {
		if last, err = s.lastReply(ctx, c, seq, reply.Seq, last); err != nil {
			return err
		}
	}
	before := entrycodec.Labels(&root)
	state.SetReplies(count-min(count, 1), last)
	root.Body = state.Body()
	m.amend = im.Amend{Recall: true, Change: true, Of: seq, If: root.Amended, Body: root.Body}
	m.after, m.told = after, state.Withdrawn()
	m.labels, m.unlabels = entrycodec.Relabel(before, entrycodec.Labels(&root))
	if *made == nil {
		*made = madeOf{}
	}
	(*made)[seq] = &madeEntry{root, idOfItem(it), s.known != nil}
	return nil
}

// lastReply is when the last reply of a thread was stored, but for one that goes; known is
// when the last one was, that one included.
func (s *Service) lastReply(ctx context.Context, c im.ConversationID, root, without uint64, known time.Time) (time.Time, error) {
	var out [1]im.Labelled
	span := im.LabelSpan{Span: im.Span{Conversation: c, After: root, Until: neverSeq}, Label: entrycodec.LabelReply(root), Newest: true, Pos: neverSeq}
	if err := s.labels.Labelled(ctx, []im.LabelSpan{span}, 2, out[:]); err != nil {
		return known, err
	}
	seqs := out[0].Seqs
	if len(seqs) < 2 || seqs[0] != without {
		return known, nil
	}
	e, err := s.entryAt(ctx, c, seqs[1])
	return e.Stored, err
}

// countReplies counts the replies of a thread within windows, and names the last one.
func (s *Service) countReplies(ctx context.Context, c im.ConversationID, root uint64, windows []im.Window) (n, last uint64, err error) {
	spans := threadSpans(c, entrycodec.LabelReply(root), root, neverSeq, windows)
	newest := len(spans)
	for _, span := range spans[:newest:newest] {
		span.Newest, span.Pos = true, neverSeq
		spans = append(spans, span)
	}
	out := make([]im.Labelled, len(spans))
	if err := s.labels.Labelled(ctx, spans, 1, out); err != nil {
		return 0, 0, err
	}
	for i := range newest {
		n += out[i].Count
		if seqs := out[newest+i].Seqs; len(seqs) > 0 {
			last = max(last, seqs[0])
		}
	}
	return n, last, nil
}

// threadSpans are the parts of windows behind after, up to until, with a label.
func threadSpans(c im.ConversationID, label string, after, until uint64, windows []im.Window) (spans []im.LabelSpan) {
	for _, w := range windows {
		if w.Until == 0 {
			w.Until = neverSeq
		}
		from, to := max(after, max(w.First, 1)-1), min(until, w.Until)
		if from < to {
			spans = append(spans, im.LabelSpan{Span: im.Span{Conversation: c, After: from, Until: to}, Label: label})
		}
	}
	return spans
}

// recount makes a root say how many replies there are where some of them have disappeared. It
// is the same number for all readers, as what is pushed is: also what was said while one was
// no member is in it.
func (r *reading) recount(ctx context.Context, e *im.Entry) error {
	if e.Recalled || !entrycodec.HasReplies(e.Body) {
		return nil
	}
	if r.m.Conversation != "" && r.m.Until == 0 && r.m.First <= e.Seq {
		return nil // nothing behind it is gone
	}
	windows, all, err := r.s.leftBehind(ctx, e.Conversation, e.Seq)
	if err != nil || all {
		return err
	}
	n, last, err := r.s.countReplies(ctx, e.Conversation, e.Seq, windows)
	if err != nil {
		return err
	}
	at := time.Time{}
	if n > 0 {
		x, err := r.s.entryAt(ctx, e.Conversation, last)
		if err != nil {
			return err
		}
		at = x.Stored
	}
	if body, err := entrycodec.Recounted(e.Body, n, at); err == nil {
		e.Body = body
	}
	return nil
}
