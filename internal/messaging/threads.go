package messaging

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// roots has the root of each reply that was touched before the stretch be touched, too: what
// was done to a reply may have changed it. A reply whose root is not the user's to read is
// not told.
//
// So has one that was said in the stretch, stands in the conversation's line as well, and was
// taken back by now: who applies it does not know what that made of the root. And so has one
// in the conversation's line that is not told, since the user was no member then.
func (r *reading) roots(ctx context.Context) error {
	changed := maps.Clone(r.touched)
	for i := range r.out.Entries {
		if e := &r.out.Entries[i]; e.Recalled && e.Root() != 0 && e.Root() < r.out.First {
			if changed == nil {
				changed, r.touched = map[uint64]im.Entry{}, map[uint64]im.Entry{}
			}
			changed[e.Seq] = *e
		}
	}
	for seq, e := range changed {
		if e.Root() == 0 || seq >= r.out.First && !e.Recalled || e.Root() >= r.out.First {
			continue
		}
		may, err := r.may(ctx, e.Target)
		if err != nil {
			return err
		}
		if !may {
			if e.Kind == im.EntryReply {
				delete(r.touched, seq)
			}
			continue
		}
		if err := r.touchRoot(ctx, e.Target); err != nil {
			return err
		}
	}
	return r.touchAnswered(ctx)
}

// mostAnswered bounds the roots that are told with a stretch for what was said to them
// while the user was no member: those with the greatest seqs. The others are read anew by
// who opens their threads.
const mostAnswered = 500

// touchAnswered has the roots that were answered between two times be told.
func (r *reading) touchAnswered(ctx context.Context) error {
	var seqs []uint64
	for root := range r.answered {
		if _, known := r.touched[root]; known || root >= r.out.First {
			continue
		}
		may, err := r.may(ctx, root)
		if err != nil {
			return err
		}
		if may {
			seqs = append(seqs, root)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	slices.Sort(seqs)
	seqs = seqs[max(len(seqs)-mostAnswered, 0):]
	roots, err := r.s.entriesAt(ctx, r.m.Conversation, seqs)
	if errors.Is(err, im.ErrJournalDamaged) { // what is whole is told all the same; who reads them is told
		return nil
	}
	if err == nil {
		r.touch(slices.DeleteFunc(roots, func(e im.Entry) bool { return e.Seq == 0 }))
	}
	return err
}

// touchRoot has a root be told as it is now.
func (r *reading) touchRoot(ctx context.Context, seq uint64) error {
	if _, known := r.touched[seq]; known {
		return nil
	}
	root, err := r.s.entryAt(ctx, r.m.Conversation, seq)
	if err == nil {
		r.touch([]im.Entry{root})
	}
	return err
}

// threadRoot returns the root of a thread that a user may read: the message at seq, or with
// replies the one that it replies to.
func (s *Service) threadRoot(ctx context.Context, u im.UserID, c im.ConversationID, seq uint64, replies bool) (im.Entry, error) {
	e, err := s.readable(ctx, u, c, seq)
	if err == nil && replies && e.Root() != 0 {
		e, err = s.readable(ctx, u, c, e.Target)
	}
	if err == nil && (e.Kind != im.EntryMessage || e.Root() != 0) {
		err = errNoMessage
	}
	return e, err
}

// windowsOf are a user's times of a conversation, not before what they cleared, and what
// they set there.
func (s *Service) windowsOf(ctx context.Context, u im.UserID, c im.ConversationID) (*reading, []im.Window, im.MyState, error) {
	head, m, err := s.headAs(ctx, u, c)
	if err != nil {
		return nil, nil, im.MyState{}, err
	}
	last := head.Seq
	if m.Until != 0 {
		last = min(last, m.Until)
	}
	var mark [1]im.Mark
	if err := s.markStore.Marks(ctx, []im.MarkKey{{User: u, Conversation: c}}, mark[:], false); err != nil {
		return nil, nil, im.MyState{}, err
	}
	mine := s.mine(&mark[0], c)
	r := &reading{s: s, user: u, m: m, deleted: mine.Deleted, looked: true}
	earlier, err := r.earlier(ctx)
	if err != nil {
		return nil, nil, mine, err
	}
	var windows []im.Window
	for _, w := range append(earlier[:len(earlier):len(earlier)], im.Window{First: m.First, Until: last}) {
		if w.First = max(w.First, mine.ClearedBelow, 1); w.First <= w.Until {
			windows = append(windows, w)
		}
	}
	return r, windows, mine, nil
}

// Thread tells a thread, and the replies of it that are the actor's to read, ascending: at
// most limit of them before a seq (0: the last ones), and where the next page begins, 0 if
// there is none. Of a thread whose root was taken back the replies are told all the same.
func (s *Service) Thread(ctx context.Context, from im.Actor, c im.ConversationID, seq, before uint64, limit int) (im.Thread, []im.Entry, uint64, error) {
	root, err := s.threadRoot(ctx, from.User, c, seq, true)
	if err != nil {
		return im.Thread{}, nil, 0, inField("seq", err)
	}
	r, windows, mine, err := s.windowsOf(ctx, from.User, c)
	if err != nil {
		return im.Thread{}, nil, 0, err
	}
	all, err := s.threadsAs(ctx, r, windows, mine, []im.Entry{root})
	if err != nil {
		return im.Thread{}, nil, 0, err
	}
	until := uint64(neverSeq)
	if before > 0 {
		until = min(before-1, until)
	}
	seqs, err := s.newestIn(ctx, threadSpans(c, entrycodec.LabelReply(root.Seq), root.Seq, until, windows), limit+1)
	if err != nil {
		return im.Thread{}, nil, 0, err
	}
	page, next, err := r.replies(ctx, seqs, limit)
	return all[0], page, next, err
}

// newestIn names the newest entries of spans of one conversation, descending.
func (s *Service) newestIn(ctx context.Context, spans []im.LabelSpan, limit int) ([]uint64, error) {
	for i := range spans {
		spans[i].Newest, spans[i].Pos = true, neverSeq
	}
	out := make([]im.Labelled, len(spans))
	if err := s.labels.Labelled(ctx, spans, limit, out); err != nil {
		return nil, err
	}
	var seqs []uint64
	for i := range out {
		seqs = append(seqs, out[i].Seqs...)
	}
	slices.Sort(seqs)
	slices.Reverse(seqs)
	return seqs[:min(len(seqs), limit)], nil
}

// replies reads a page of replies, of which those with the greatest seqs are told first and
// the page is ascending.
func (r *reading) replies(ctx context.Context, seqs []uint64, limit int) (page []im.Entry, next uint64, err error) {
	defer func() { slices.Reverse(page) }()
	if len(seqs) > limit {
		seqs, next = seqs[:limit], seqs[limit-1]
	}
	for bytes := maxListBytes; len(seqs) > 0; {
		got, err := r.s.pages.ReadAt(ctx, r.m.Conversation, seqs)
		if err == nil {
			err = thereIs(got, seqs)
		}
		if err != nil {
			return nil, 0, err
		}
		for i := range got {
			e := &got[i]
			if e.Recalled || len(e.Body) == 0 { // since it was looked for
				continue
			}
			if r.deleted.Has(e.Seq) {
				blank(e)
			} else if err := r.present(ctx, e); err != nil {
				return nil, 0, err
			}
			if bytes -= len(e.Body) + entryOverhead; bytes < 0 && len(page) > 0 {
				return page, page[len(page)-1].Seq, nil
			}
			page = append(page, *e)
		}
		seqs = seqs[len(got):]
	}
	return page, next, nil
}

// thereIs checks that the journal has read what it names itself.
func thereIs(got []im.Entry, seqs []uint64) error {
	for i := range got {
		if got[i].Seq != seqs[i] {
			return im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", seqs[i])
		}
	}
	if len(got) == 0 && len(seqs) > 0 {
		return im.Errorf(im.CodeInternal, "entry %d of a conversation is not read", seqs[0])
	}
	return nil
}

// entriesAt reads all of some entries, one without a Seq where there is none.
func (s *Service) entriesAt(ctx context.Context, c im.ConversationID, seqs []uint64) (all []im.Entry, err error) {
	for len(all) < len(seqs) {
		got, err := s.pages.ReadAt(ctx, c, seqs[len(all):])
		if err != nil {
			return nil, err
		}
		if len(got) == 0 {
			return nil, im.Errorf(im.CodeInternal, "entry %d of a conversation is not read", seqs[len(all)])
		}
		all = append(all, got...)
	}
	return all, nil
}

// threadsAs tells threads of a conversation as their reader has them.
func (s *Service) threadsAs(ctx context.Context, r *reading, windows []im.Window, mine im.MyState, roots []im.Entry) ([]im.Thread, error) {
	c := r.m.Conversation
	var spans []im.LabelSpan
	var of []int // whose; those of what the reader wrote come first, then all others
	ask := func(label func(uint64) string) {
		for i := range roots {
			for _, span := range threadSpans(c, label(roots[i].Seq), roots[i].Seq, neverSeq, windows) {
				span.Newest, span.Pos = true, neverSeq
				spans, of = append(spans, span), append(of, i)
			}
		}
	}
	ask(func(root uint64) string { return entrycodec.LabelWrote(root, r.user) })
	own := len(spans)
	ask(entrycodec.LabelReply)
	out := make([]im.Labelled, len(spans))
	if err := s.labels.Labelled(ctx, spans, 1, out); err != nil {
		return nil, err
	}
	all := make([]im.Thread, len(roots))
	wrote := make([]uint64, len(roots))
	for k := range out {
		if len(out[k].Seqs) == 0 {
			continue
		}
		if i := of[k]; k < own {
			wrote[i] = max(wrote[i], out[k].Seqs[0])
		} else {
			all[i].Last = max(all[i].Last, out[k].Seqs[0])
		}
	}
	for i := range all {
		t, mark := &all[i], mine.Threads.Of(roots[i].Seq)
		t.Root, t.Read = roots[i], max(mark.Read, wrote[i])
		t.Follows = mark.Follow == im.FollowYes || mark.Follow == im.FollowWrote && (wrote[i] > 0 || roots[i].Sender == r.user && t.Last > 0)
		if r.deleted.Has(t.Root.Seq) {
			blank(&t.Root)
		} else if err := r.present(ctx, &t.Root); err != nil {
			return nil, err
		}
	}
	return all, s.unreadOf(ctx, c, windows, all)
}

// unreadOf counts what of threads is unread: those behind what was read are others'.
func (s *Service) unreadOf(ctx context.Context, c im.ConversationID, windows []im.Window, all []im.Thread) error {
	var spans []im.LabelSpan
	var of []int
	for i := range all {
		t := &all[i]
		if t.Last <= t.Read {
			continue
		}
		for _, span := range threadSpans(c, entrycodec.LabelReply(t.Root.Seq), max(t.Root.Seq, t.Read), neverSeq, windows) {
			spans, of = append(spans, span), append(of, i)
		}
	}
	out := make([]im.Labelled, len(spans))
	if err := s.labels.Labelled(ctx, spans, 0, out); err != nil {
		return err
	}
	for k := range out {
		all[of[k]].Unread += out[k].Count
	}
	return nil
}

// threadsIn finds the threads of a conversation.
func (s *Service) threadsIn(ctx context.Context, u im.UserID, c im.ConversationID, after mention, limit int) ([]mention, error) {
	_, windows, _, err := s.windowsOf(ctx, u, c)
	if err != nil {
		return nil, err
	}
	until := uint64(neverSeq)
	if after.seq > 0 {
		until = after.seq - 1
	}
	seqs, err := s.newestIn(ctx, threadSpans(c, entrycodec.LabelThread, 0, until, windows), limit)
	found := make([]mention, len(seqs))
	for i, seq := range seqs {
		found[i] = mention{c: c, seq: seq}
	}
	return found, err
}

// followed finds threads that a user may follow: they wrote there, or said that they do.
func (s *Service) followed(ctx context.Context, u im.UserID, after mention, limit int) ([]mention, error) {
	marks, err := s.markStore.UserMarks(ctx, u)
	if err != nil {
		return nil, err
	}
	found, err := s.labelled(ctx, u, after, limit, func(im.ConversationID) []string { return []string{entrycodec.LabelFollows(u)} })
	if err != nil {
		return nil, err
	}
	for i := range marks {
		c := marks[i].Conversation
		if isNote(c) || marks[i].Mine == "" {
			continue
		}
		var roots []uint64
		for t := range s.mine(&marks[i], c).Threads.All() {
			if t.Follow == im.FollowYes {
				roots = append(roots, t.Root)
			}
		}
		entries, err := s.entriesAt(ctx, c, roots)
		if err != nil {
			continue // it cannot be read: whoever opens it is told
		}
		for _, e := range entries {
			if m := (mention{c, e.Seq, e.Pos}); e.Seq > 0 && !e.Recalled && (after.seq == 0 || newerMention(m, after) > 0) {
				found = append(found, m)
			}
		}
	}
	slices.SortFunc(found, newerMention)
	found = slices.Compact(found)
	return found[:min(len(found), limit)], nil
}

// threadsAt reads threads of one conversation that were found.
func (s *Service) threadsAt(ctx context.Context, u im.UserID, found []mention) ([]im.Thread, error) {
	r, windows, mine, err := s.windowsOf(ctx, u, found[0].c)
	if err != nil {
		return nil, err
	}
	seqs := make([]uint64, len(found))
	for i := range found {
		seqs[i] = found[i].seq
	}
	roots, err := s.entriesAt(ctx, r.m.Conversation, seqs)
	if err != nil {
		return nil, err
	}
	roots = slices.DeleteFunc(roots, func(e im.Entry) bool {
		theirs := slices.ContainsFunc(windows, func(w im.Window) bool { return w.First <= e.Seq && e.Seq <= w.Until })
		return !theirs || e.Kind != im.EntryMessage || e.Root() != 0 || e.Recalled
	})
	return s.threadsAs(ctx, r, windows, mine, roots)
}
