package messaging

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// Limits of a sync and a pull (SPEC §7.1, §7.2).
const (
	defaultPage        = 100
	maxPage            = 500
	resumeEntries      = 50  // missed entries of one conversation
	resumeEntriesTotal = 500 // of all
	maxSyncBytes       = 96 << 10
	entryOverhead      = 256 // of an entry besides its content, about
	defaultPull        = 50
	// MaxPull is the most entries of one Pull (Limits.pull_entries).
	MaxPull = 500
)

// view is a conversation as one user may see it: the membership and the head,
// cut where the user left.
type view struct {
	m    im.Membership
	head im.Head
	// active is what the list is ordered by; see Service.activity.
	active uint64
	// deleted is what the user deleted for themselves, as their state says.
	deleted im.SeqSet
	// unwritten: it has no entries, and the user set something there.
	unwritten bool
	// living are its periods that are not over.
	living []im.Period
	// floor is up to where it is gone for all.
	floor uint64
}

// Sync answers what changed since a position, or a page of the list; see im.Logic.
func (s *Service) Sync(ctx context.Context, from im.Actor, q im.SyncQuery) (im.SyncResult, error) {
	res, err := s.syncAll(ctx, from, q)
	if err == nil {
		err = s.hideReads(ctx, from.User, res.Conversations)
	}
	return res, err
}

// syncAll is Sync with all that others read.
func (s *Service) syncAll(ctx context.Context, from im.Actor, q im.SyncQuery) (im.SyncResult, error) {
	if len(q.Only) > 0 {
		res := im.SyncResult{Timeline: s.journal.Timeline()}
		_, err := s.page(ctx, from.User, q, im.Position{}, &res)
		return res, err
	}
	// The position is read first: what comes later is in the next sync as well.
	at, err := s.journal.Position(ctx)
	if err != nil {
		return im.SyncResult{}, err
	}
	res := im.SyncResult{Timeline: s.journal.Timeline(), Position: at.String()}
	since, err := s.proved(ctx, &q, &res)
	if err != nil {
		return im.SyncResult{}, err
	}
	if q.Position != "" {
		pages, err := s.begin(ctx, q.Cursor, at)
		if err == nil {
			err = s.changes(ctx, from.User, since, !q.Heads, &pages, &res)
		}
		return res, err
	}
	told, err := s.page(ctx, from.User, q, at, &res)
	if err == nil && !told.Equal(at) {
		res.Position = told.String()
	}
	return res, err
}

// proved makes a query cold, and its answer a reset, unless all that it says to
// know is of this history (SPEC §7.3).
func (s *Service) proved(ctx context.Context, q *im.SyncQuery, res *im.SyncResult) (since im.Position, err error) {
	ok := true
	switch {
	case q.Position != "":
		since, ok = im.ParsePosition(q.Position)
		ok = ok && q.Timeline == res.Timeline
	case q.Cursor != "":
		c, known := parseCursor(q.Cursor)
		if !known {
			return since, im.Wrong("cursor", "is not one of this server's")
		}
		since, ok = c.at, q.Timeline == "" || q.Timeline == res.Timeline
	}
	if ok && !since.IsZero() {
		ok, err = s.journal.Holds(ctx, since)
	}
	if ok && err == nil && q.Newest.Seq > 0 {
		ok, err = s.has(ctx, &q.Newest)
	}
	if err != nil {
		return since, err
	}
	if !ok {
		q.Position, q.Cursor, res.Reset = "", "", true
		s.metrics.resets.Inc()
	}
	return since, nil
}

// has tells whether the journal has an entry that a device says to have. A
// position alone does not prove what the device was pushed since.
func (s *Service) has(ctx context.Context, n *im.Newest) (bool, error) {
	got, err := s.journal.Read(ctx, n.Conversation, n.Seq, false, 1)
	return len(got) == 1 && n.Is(&got[0]), err
}

// Compare answers whether a device that holds digest misses something; see im.Logic.
func (s *Service) Compare(ctx context.Context, from im.Actor, position string, digest uint64) (bool, string, error) {
	at, err := s.journal.Position(ctx)
	if err != nil {
		return false, "", err
	}
	since, ok := im.ParsePosition(position)
	if ok {
		ok, err = s.journal.Holds(ctx, since)
	}
	if err != nil || !ok {
		return false, "", err
	}
	changed, told, err := s.changedEntries(ctx, from.User, since, at)
	if err != nil {
		return false, "", err
	}
	var sum uint64
	for _, v := range changed {
		sum += im.HeadHash(v.m.Conversation, v.head.Seq)
	}
	if sum == digest && !told.Equal(at) {
		return true, "", nil // the next one compares from the old position
	}
	return sum == digest, at.String(), nil
}

// Pull reads a part of a conversation; see im.Logic.
func (s *Service) Pull(ctx context.Context, from im.Actor, q im.PullQuery) (im.PullResult, error) {
	head, m, err := s.headAs(ctx, from.User, q.Conversation)
	if err != nil {
		return im.PullResult{}, err
	}
	last := head.Seq
	if m.Until != 0 {
		last = min(last, m.Until)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPull
	}
	limit = min(limit, MaxPull)
	r := reading{s: s, user: from.User, m: m}
	res := im.PullResult{Head: last}
	start := max(q.From, 1)
	switch {
	case !q.At.IsZero():
		if start, err = r.startAt(ctx, q.At, last, q.Backward); err != nil {
			return im.PullResult{}, err
		}
	case q.Backward && (q.From == 0 || start > last):
		start = last
	}
	if start == 0 || start > last {
		return res, nil
	}
	if q.Backward {
		err = r.down(ctx, start, last, limit)
	} else {
		err = r.up(ctx, start, last, limit)
	}
	res.Stretch = r.out
	return res, err
}

// headAs returns a conversation's head and what u may see of it. The head is
// read first: a removal is visible before anything later is stored, so who is a
// member after the head was read may see all up to it.
func (s *Service) headAs(ctx context.Context, u im.UserID, c im.ConversationID) (im.Head, im.Membership, error) {
	head, err := s.head(ctx, c)
	if err != nil {
		return im.Head{}, im.Membership{}, err
	}
	m, err := s.membership(ctx, u, c, head.Roster)
	return head, m, err
}

// views returns the conversations of u that are wanted, with their heads, and
// how much may be told of the position at, which was read before: see half. The
// memberships are older than the heads: settle or settleAll before anything is told of
// a view.
func (s *Service) views(ctx context.Context, u im.UserID, at im.Position, wanted func(c im.ConversationID, head *im.Head) bool) (views []view, told im.Position, err error) {
	ms, promised, err := s.members.Memberships(ctx, u)
	if err != nil {
		return nil, at, err
	}
	ms = append(ms, im.Membership{Conversation: im.Me(u), First: 1})
	ids := make([]im.ConversationID, 0, len(ms)+len(promised))
	for i := range ms {
		ids = append(ids, ms[i].Conversation)
	}
	for i := range promised {
		ids = append(ids, promised[i].Conversation)
	}
	heads := make([]im.Head, len(ids))
	if err := s.journal.Heads(ctx, ids, heads); err != nil {
		return nil, at, err
	}
	told, err = s.half(ctx, at, promised, heads[len(ms):])
	if err != nil {
		return nil, told, err
	}
	views = visible(ms, heads, wanted)
	return views, told, s.knowViews(ctx, views)
}

// visible keeps the conversations that are wanted and not before their first
// visible entry. A membership can begin beyond the end: when a loss of the
// journal was accepted.
func visible(ms []im.Membership, heads []im.Head, wanted func(c im.ConversationID, head *im.Head) bool) (views []view) {
	for i := range ms {
		if heads[i].Seq >= max(ms[i].First, 1) && wanted(ms[i].Conversation, &heads[i]) {
			views = append(views, view{m: ms[i], head: heads[i]})
		}
	}
	return views
}

// settle reads the membership of a group again, now that its head is known (see
// headAs), and cuts the head where the user left. It is false when the user has
// no part in the conversation any more.
func (s *Service) settle(ctx context.Context, u im.UserID, v *view) (bool, error) {
	if v.m.Conversation.Kind() == im.KindGroup {
		m, err := s.members.Membership(ctx, u, v.m.Conversation, v.head.Roster)
		if im.CodeOf(err) == im.CodeNotFound {
			return false, nil
		}
		if err == nil && m.First > 1 && m.First != v.m.First {
			m, err = s.members.Membership(ctx, u, v.m.Conversation, wholePlace) // removed, and added again
		} else {
			m.Earlier, m.ReadTo = v.m.Earlier, v.m.ReadTo
		}
		if err != nil {
			return false, err
		}
		v.m = m
	}
	return s.limit(ctx, v)
}

// settleAll settles many views with one look at the memberships.
func (s *Service) settleAll(ctx context.Context, u im.UserID, all []view) ([]view, error) {
	ms, _, err := s.members.Memberships(ctx, u)
	if err != nil {
		return nil, err
	}
	now := make(map[im.ConversationID]im.Membership, len(ms))
	for _, m := range ms {
		now[m.Conversation] = m
	}
	kept := all[:0]
	for _, v := range all {
		if v.m.Conversation.Kind() == im.KindGroup {
			m, ok := now[v.m.Conversation]
			if !ok {
				continue
			}
			v.m = m
		}
		ok, err := s.limit(ctx, &v)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, v)
		}
	}
	return kept, nil
}

// limit leaves of a view what the user may read of it; false when that is nothing.
func (s *Service) limit(ctx context.Context, v *view) (bool, error) {
	ok, err := s.cut(ctx, v)
	if err == nil && ok {
		err = s.withoutGone(ctx, v)
	}
	return ok, err
}

// cut replaces the head by the entry with which the user left; false when
// nothing is visible.
func (s *Service) cut(ctx context.Context, v *view) (bool, error) {
	if v.unwritten {
		return true, nil
	}
	if v.head.Seq < max(v.m.First, 1) {
		return false, nil
	}
	if v.m.Until == 0 || v.m.Until >= v.head.Seq {
		return true, nil
	}
	got, err := s.journal.Read(ctx, v.m.Conversation, v.m.Until, false, 1)
	if errors.Is(err, im.ErrJournalDamaged) {
		return false, nil // the list goes on without it; the journal has told
	}
	if err != nil {
		return false, err
	}
	if len(got) == 0 {
		return false, im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", v.m.Until)
	}
	e := &got[0]
	v.head = im.Head{Seq: e.Seq, Count: e.Count, Time: e.Stored, Roster: e.Roster, Pos: e.Pos}
	return true, nil
}

// changedEntries returns the conversations with visible entries after since, and
// what views says of the position at.
func (s *Service) changedEntries(ctx context.Context, u im.UserID, since, at im.Position) (changed []view, told im.Position, err error) {
	all, told, err := s.views(ctx, u, at, func(c im.ConversationID, head *im.Head) bool { return s.isNew(c, head, since) })
	if err != nil {
		return nil, at, err
	}
	changed = all[:0]
	for _, v := range all {
		ok, err := s.settle(ctx, u, &v)
		if err != nil {
			return nil, at, err
		}
		if ok && s.isNew(v.m.Conversation, &v.head, since) {
			changed = append(changed, v)
		}
	}
	return changed, told, nil
}

// changes answers a page of a resume. Only the last one has a position.
func (s *Service) changes(ctx context.Context, u im.UserID, since im.Position, whole bool, pages *resumePages, res *im.SyncResult) error {
	moved, more, err := s.moved(ctx, u, since)
	if err != nil {
		return err
	}
	var raised map[im.ConversationID]bool
	if whole { // who asks for heads was told of floors as they rose
		if raised, err = s.raised(ctx, u, since); err != nil {
			return err
		}
	}
	all, told, err := s.views(ctx, u, pages.at, func(c im.ConversationID, head *im.Head) bool {
		if s.isNew(c, head, since) || moved[c] || raised[c] {
			return true
		}
		_, dm := c.Peer(u)
		return dm && s.touched.since(c, since.At(0))
	})
	if err != nil {
		return err
	}
	all = pages.rest(append(all, more...))
	marks, err := s.marks(ctx, u, all)
	if err != nil {
		return err
	}
	if err := s.hushPeers(ctx, since, all, marks); err != nil {
		return err
	}
	budget := newBudget(resumeEntriesTotal)
	var shown []markPair
	var ask recallAsk
	pages.at = told
	res.Position = told.String()
	for i := range all {
		if pages.full(len(res.Conversations)) {
			res.Position, res.Next = "", pages.cursor(all[i-1].m.Conversation)
			break
		}
		v, own, peer := &all[i], marks[i].own, marks[i].peer
		marked := s.isMoved(&own, since) || s.isMoved(&peer, since) || raised[v.m.Conversation]
		if !marked && !s.isNew(v.m.Conversation, &v.head, since) {
			continue
		}
		ok, err := s.settle(ctx, u, v)
		if err != nil {
			return err
		}
		entries := s.isNew(v.m.Conversation, &v.head, since)
		if !ok || !entries && !marked {
			continue
		}
		st, err := s.state(ctx, v, own, peer, len(res.Conversations), &ask)
		if err != nil {
			return err
		}
		st.MarksOnly, v.deleted = !entries, st.Mine.Deleted
		if entries && whole {
			if st.Told, err = s.missed(ctx, u, v, since.At(s.shard(v.m.Conversation)), resumeEntries, budget); err != nil {
				return err
			}
		}
		pages.add(&st)
		res.Conversations, shown = append(res.Conversations, st), append(shown, marks[i])
	}
	if err := s.leaveOut(ctx, u, &ask, res.Conversations); err != nil {
		return err
	}
	return s.settleMarks(ctx, shown)
}

// page answers a cold start: conversations, newest activity first, and what views
// says of the position at. Those that are asked for alone are told whole, in one page.
func (s *Service) page(ctx context.Context, u im.UserID, q im.SyncQuery, at im.Position, res *im.SyncResult) (told im.Position, err error) {
	wanted := func(c im.ConversationID) bool { return len(q.Only) == 0 || slices.Contains(q.Only, c) }
	all, told, err := s.views(ctx, u, at, func(c im.ConversationID, _ *im.Head) bool { return wanted(c) })
	if err != nil {
		return at, err
	}
	if all, err = s.settleAll(ctx, u, all); err != nil {
		return at, err
	}
	if all, err = s.lists(ctx, u, all, wanted); err != nil {
		return at, err
	}
	for i := range all {
		all[i].active = s.activity(&all[i].head)
	}
	slices.SortFunc(all, newestFirst)
	if q.Cursor != "" {
		c, _ := parseCursor(q.Cursor) // Sync did, too
		after := c.view()
		next, _ := slices.BinarySearchFunc(all, after, newestFirst)
		for next < len(all) && newestFirst(all[next], after) <= 0 {
			next++
		}
		all = all[next:]
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	if len(all) > limit {
		all = all[:limit]
		res.Next = cursorAfter(res.Position, &all[limit-1])
	}
	marks, err := s.marks(ctx, u, all)
	if err != nil {
		return at, err
	}
	budget, size := newBudget(maxPage), 0
	var ask recallAsk
	for i := range all {
		st, err := s.state(ctx, &all[i], marks[i].own, marks[i].peer, i, &ask)
		if err != nil {
			return at, err
		}
		all[i].deleted = st.Mine.Deleted
		if st.Told, err = s.lastOne(ctx, u, &all[i], budget); err != nil {
			return at, err
		}
		res.Conversations = append(res.Conversations, st)
		if size += stateSize(&st); size >= pageBytes && i+1 < len(all) && len(q.Only) == 0 {
			res.Next = cursorAfter(res.Position, &all[i])
			break
		}
	}
	if err := s.leaveOut(ctx, u, &ask, res.Conversations); err != nil {
		return at, err
	}
	return told, s.settleMarks(ctx, marks)
}

// state is a conversation with the user's own mark and, in a dm, the peer's. The
// own mark may be newer than the head: then all up to the head is read. It is
// number n of the answer; what was recalled still counts as unread, see leaveOut.
func (s *Service) state(ctx context.Context, v *view, own, peer im.Mark, n int, ask *recallAsk) (im.ConversationState, error) {
	own.Read = min(own.Read, v.head.Seq)
	if to := min(v.m.ReadTo, v.head.Seq); own.Read < to {
		count, err := s.countAt(ctx, v.m.Conversation, to, im.Head{})
		if err != nil {
			return im.ConversationState{}, err
		}
		own.Read, own.ReadCount = to, count
	}
	st := im.ConversationState{
		Conversation: v.m.Conversation, Head: v.head, First: v.m.First, Until: v.m.Until,
		Read: own.Read, Title: v.m.Title,
		PeerReceived: peer.Received, PeerRead: peer.Read,
		Mine: s.mine(&own, v.m.Conversation), Lifetimes: v.living, Floor: v.floor,
	}
	for _, w := range v.m.Earlier {
		st.Earlier = append(st.Earlier, im.PastWindow{Window: w})
	}
	return st, s.count(ctx, v, own, &st, n, ask)
}

// moved tells where a user's own marks moved after since, and has the views of those of
// these conversations that have no entries.
func (s *Service) moved(ctx context.Context, u im.UserID, since im.Position) (map[im.ConversationID]bool, []view, error) {
	list, err := s.markStore.UserMarks(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	moved := make(map[im.ConversationID]bool)
	for i := range list {
		if s.isMoved(&list[i], since) {
			moved[list[i].Conversation] = true
		}
	}
	more, err := s.unwritten(ctx, list, func(m *im.Mark) bool { return s.isMoved(m, since) })
	return moved, more, err
}

// markPair is a user's own mark in a conversation and, in a dm, the peer's.
type markPair struct{ own, peer im.Mark }

// marks returns the marks of the conversations, with one question to the journal
// for all of them.
func (s *Service) marks(ctx context.Context, u im.UserID, all []view) ([]markPair, error) {
	if len(all) == 0 {
		return nil, nil
	}
	keys := make([]im.MarkKey, 0, 2*len(all))
	for i := range all {
		keys = append(keys, im.MarkKey{User: u, Conversation: all[i].m.Conversation})
	}
	for i := range all {
		c := all[i].m.Conversation
		if peer, ok := c.Peer(u); ok {
			keys = append(keys, im.MarkKey{User: peer, Conversation: c})
		}
	}
	out := make([]im.Mark, len(keys))
	if err := s.markStore.Marks(ctx, keys, out, false); err != nil {
		return nil, err
	}
	pairs := make([]markPair, len(all))
	next := len(all)
	for i := range all {
		pairs[i].own = out[i]
		if _, ok := all[i].m.Conversation.Peer(u); ok {
			pairs[i].peer = out[next]
			next++
		}
	}
	return pairs, nil
}

func newestFirst(a, b view) int {
	if n := cmp.Compare(b.active, a.active); n != 0 {
		return n
	}
	return cmp.Compare(a.m.Conversation, b.m.Conversation)
}

// cursor is where a page of the list ends: after a conversation whose last
// activity is named, as of a position of the journal. It is opaque to clients.
type cursor struct {
	at     im.Position
	active uint64
	c      im.ConversationID
}

func cursorAfter(position string, v *view) string {
	return position + "." + strconv.FormatUint(v.active, 36) + "." + string(v.m.Conversation)
}

func parseCursor(s string) (c cursor, ok bool) {
	at, rest, _ := strings.Cut(s, ".")
	active, id, _ := strings.Cut(rest, ".")
	var ok1 bool
	var err1, err2 error
	c.at, ok1 = im.ParsePosition(at)
	c.active, err1 = strconv.ParseUint(active, 36, 64)
	c.c, err2 = im.ParseConversationID(id)
	return c, ok1 && err1 == nil && err2 == nil
}

// view is one that comes where the page ended.
func (c *cursor) view() view {
	return view{m: im.Membership{Conversation: c.c}, active: c.active}
}
