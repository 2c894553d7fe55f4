package messaging

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// DefaultMaxPins is how many messages of a conversation are pinned at a time, at most.
const DefaultMaxPins = 100

// allPins is more than are pinned anywhere, also where more were allowed once.
const allPins = 1 << 20

// pin pins a message that its sender may read, or ends that. Who may pin is asked for as
// the permission to store the entry.
func (s *Service) pin(ctx context.Context, e *im.Entry, m *amending, target *im.Entry) error {
	state, err := s.amendable(ctx, e, target)
	if err != nil {
		return err
	}
	before := entrycodec.Labels(target)
	told, same, err := state.Pin(e.Sender, e.Body, s.now())
	switch {
	case err != nil:
		return im.Wrap(err, im.CodeUnprocessable, "what the pin says cannot be read")
	case same:
		return errSame
	}
	if state.Told.Pinned != nil {
		// Those before it in the conversation are stored (madeOf.waits).
		n, err := s.pinned(ctx, im.Span{Conversation: e.Conversation, Until: neverSeq}, 1)
		if err != nil {
			return err
		}
		if n.Count >= uint64(s.maxPins) {
			return im.Errorf(im.CodeTooLarge, "as many messages as may be are pinned here: %d", s.maxPins)
		}
	}
	m.told, m.kept = told, told
	target.Body = state.Body()
	m.labels, m.unlabels = entrycodec.Relabel(before, entrycodec.Labels(target))
	m.amend.Body = target.Body
	return nil
}

// pinned tells which entries of a span are pinned: how many, and at most limit of them.
func (s *Service) pinned(ctx context.Context, in im.Span, limit int) (im.Labelled, error) {
	var out [1]im.Labelled
	err := s.labels.Labelled(ctx, []im.LabelSpan{{Span: in, Label: entrycodec.LabelPinned}}, limit, out[:])
	return out[0], err
}

// pinnedAt is a message that is pinned, since when.
type pinnedAt struct {
	at  int64
	seq uint64
}

// pin is one with what it says.
type pin struct {
	pinnedAt
	entry im.Entry
}

// laterPin orders pins: the last one first.
func laterPin(a, b pinnedAt) int {
	return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.seq, a.seq))
}

// Pins tells the messages of a conversation that are pinned and the actor's to read, not
// before what they cleared, the one that was pinned last first: at most limit behind a
// cursor, and the cursor of the next page, "" if there is none. It reads all of them:
// there are few.
func (s *Service) Pins(ctx context.Context, from im.Actor, c im.ConversationID, cursor string, limit int) ([]im.Entry, string, error) {
	after, ok := parsePin(cursor)
	if !ok {
		return nil, "", im.Wrong("cursor", "is none of this server's")
	}
	all, err := s.pinsOf(ctx, from.User, c)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b pin) int { return laterPin(a.pinnedAt, b.pinnedAt) })
	if cursor != "" {
		all = slices.DeleteFunc(all, func(p pin) bool { return laterPin(p.pinnedAt, after) <= 0 })
	}
	r := reading{s: s, user: from.User}
	var page []im.Entry
	bytes := maxListBytes
	for i := range all {
		e := &all[i].entry
		if err := r.present(ctx, e); err != nil {
			return nil, "", err
		}
		bytes -= len(e.Body) + entryOverhead
		if i > 0 && (i == limit || bytes < 0) {
			return page, all[i-1].cursor(), nil
		}
		page = append(page, *e)
	}
	return page, "", nil
}

// pinsOf are the pinned messages of a conversation that a user may read.
func (s *Service) pinsOf(ctx context.Context, u im.UserID, c im.ConversationID) ([]pin, error) {
	head, m, err := s.headAs(ctx, u, c)
	if err != nil {
		return nil, err
	}
	last := head.Seq
	if m.Until != 0 {
		last = min(last, m.Until)
	}
	var mark [1]im.Mark
	if err := s.markStore.Marks(ctx, []im.MarkKey{{User: u, Conversation: c}}, mark[:], false); err != nil {
		return nil, err
	}
	mine := s.mine(&mark[0], c)
	first := max(mine.ClearedBelow, 1)
	found, err := s.pinned(ctx, im.Span{Conversation: c, After: first - 1, Until: last}, allPins)
	if err != nil {
		return nil, err
	}
	r := reading{s: s, user: u, m: m}
	var all []pin
	for _, seq := range found.Seqs {
		if may, err := r.may(ctx, seq); err != nil {
			return nil, err
		} else if !may || mine.Deleted.Has(seq) {
			continue
		}
		got, err := s.journal.Read(ctx, c, seq, false, 1)
		if err != nil {
			return nil, err
		}
		if len(got) == 0 || got[0].Seq != seq {
			continue
		}
		if at, pinned := entrycodec.PinnedAt(got[0].Body); pinned {
			all = append(all, pin{pinnedAt{at, seq}, got[0]})
		}
	}
	return all, nil
}

// cursor is how a client is told where a page ends.
func (p pinnedAt) cursor() string {
	return strconv.FormatInt(p.at, 36) + "." + strconv.FormatUint(p.seq, 36)
}

// parsePin reads what cursor wrote.
func parsePin(s string) (p pinnedAt, ok bool) {
	if s == "" {
		return p, true
	}
	at, seq, _ := strings.Cut(s, ".")
	var err1, err2 error
	p.at, err1 = strconv.ParseInt(at, 36, 64)
	p.seq, err2 = strconv.ParseUint(seq, 36, 64)
	return p, err1 == nil && err2 == nil && p.seq > 0
}
