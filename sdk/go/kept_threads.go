package skein

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// A thread that the program read is kept, so that it can be shown without a connection: its
// root and a run of its last replies, as ListThread told them and as what was applied since
// left them. It is of the threads of all conversations that few are kept, those that were
// read last (maxThreads), and of each the end (maxReplies, maxThreadBytes).
//
// What a stretch tells of a thread is that its root was touched (SPEC §6.8), not by what, so
// from then on the thread is Stale: something may be missing in it. A stale one is read again
// as soon as there is a connection, and begins anew with its last page. One that is not stale
// has all replies of its run, up to the end of the conversation's window.

const (
	// maxThreads is how many threads are kept, maxReplies how many replies of each, and
	// maxThreadBytes how large these are together, but for the last one.
	maxThreads     = 64
	maxReplies     = 200
	maxThreadBytes = 256 << 10
	// threadAgain is after what time a thread is read again in which something happened
	// while it was read.
	threadAgain = time.Second
)

// ThreadRecord is a thread as it is kept. None of what it refers to is changed.
type ThreadRecord struct {
	Conversation string
	Root         uint64
	// Thread is what the user has of it, with its root as it is now.
	Thread *wire.Thread
	// Replies are a run of its replies up to the last one that is known, ascending, as they
	// are now, without what was taken back.
	Replies []*wire.Entry
	// Before is where those before them are asked for, 0: there are none.
	Before uint64
	// Stale: there may be replies, and changes of them, that are not known here.
	Stale bool
	// Used orders the threads: the greatest was read last.
	Used uint64
}

// keptThreads is the part of the core that keeps threads.
type keptThreads struct {
	threads      map[EntryRef]*ThreadRecord
	dirtyThreads map[EntryRef]struct{}
	lastUsed     uint64
	// happened counts, by conversation, what was applied to threads, known here or not: an
	// answer that was asked for before may not have it.
	happened map[string]uint64
	// refreshing: stale threads are being read again. given are those that the server
	// refused on this connection.
	refreshing bool
	given      map[EntryRef]struct{}
}

func (t *keptThreads) init(all []ThreadRecord) {
	*t = keptThreads{threads: map[EntryRef]*ThreadRecord{}, dirtyThreads: map[EntryRef]struct{}{}, happened: map[string]uint64{}, given: map[EntryRef]struct{}{}}
	for i := range all {
		r := &all[i]
		t.threads[EntryRef{r.Conversation, r.Root}] = r
		t.lastUsed = max(t.lastUsed, r.Used)
	}
}

// forgetThreads forgets all: the store does, too.
func (t *keptThreads) forgetThreads() {
	for ref := range t.threads {
		t.happened[ref.Conversation]++
	}
	clear(t.threads)
	clear(t.dirtyThreads)
}

// ofThreads moves the changed threads into the batch.
func (t *keptThreads) ofThreads(b *Batch) {
	for ref := range t.dirtyThreads {
		if r := t.threads[ref]; r != nil {
			b.Threads = append(b.Threads, r)
		} else {
			b.ForgetThreads = append(b.ForgetThreads, ref)
		}
	}
	clear(t.dirtyThreads)
}

// setThread replaces a kept thread.
func (t *keptThreads) setThread(r *ThreadRecord) {
	ref := EntryRef{r.Conversation, r.Root}
	t.threads[ref] = r
	t.dirtyThreads[ref] = struct{}{}
}

func (t *keptThreads) dropThread(ref EntryRef) {
	delete(t.threads, ref)
	t.dirtyThreads[ref] = struct{}{}
}

// alter changes a kept thread, if it is kept: f gets a copy.
func (t *keptThreads) alter(ref EntryRef, f func(r *ThreadRecord)) {
	old := t.threads[ref]
	if old == nil {
		return
	}
	r := *old
	f(&r)
	t.setThread(&r)
}

// stale notes that a thread may have more than is known of it here.
func (t *keptThreads) stale(ref EntryRef) {
	if r := t.threads[ref]; r != nil && !r.Stale {
		t.alter(ref, func(r *ThreadRecord) { r.Stale = true })
	}
}

// allStale is stale for all threads of a conversation.
func (t *keptThreads) allStale(conversation string) {
	t.happened[conversation]++
	for ref := range t.threads {
		if ref.Conversation == conversation {
			t.stale(ref)
		}
	}
}

// rootNow takes what an entry became, if it is the root of a thread, or a reply.
func (t *keptThreads) rootNow(e *wire.Entry) {
	ref := EntryRef{e.Conversation, e.Seq}
	if r := t.threads[ref]; r != nil && e.Amended >= r.Thread.Root.Amended {
		t.alter(ref, func(r *ThreadRecord) { r.withRoot(e) })
	}
	if alsoInMain(e) {
		t.replyNow(e)
	}
}

// withRoot has a thread begin with the root as it is now.
func (r *ThreadRecord) withRoot(root *wire.Entry) {
	now := proto.Clone(r.Thread).(*wire.Thread)
	now.Root = root
	r.Thread = now
}

// replyNow takes what a reply became.
func (t *keptThreads) replyNow(e *wire.Entry) {
	ref := EntryRef{e.Conversation, e.Thread}
	r := t.threads[ref]
	if r == nil {
		return
	}
	if i := r.find(e.Seq); i >= 0 {
		t.alter(ref, func(r *ThreadRecord) { r.put(e) })
	}
}

// find is the index of a reply, -1: it is not kept.
func (r *ThreadRecord) find(seq uint64) int {
	i, found := slices.BinarySearchFunc(r.Replies, seq, func(e *wire.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !found {
		return -1
	}
	return i
}

// put adds a reply, replaces it, or takes it out where it was taken back or is gone. One
// that lies before those that are kept is not added to them: what lies between is not there.
func (r *ThreadRecord) put(e *wire.Entry) {
	i, found := slices.BinarySearchFunc(r.Replies, e.Seq, func(e *wire.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	all := slices.Clone(r.Replies)
	switch {
	case e.Recalled || e.Deleted:
		if found {
			all = slices.Delete(all, i, i+1)
		}
	case found:
		if e.Amended > all[i].Amended {
			all[i] = bare(e)
		}
	case e.Seq < r.Before:
		return
	default:
		all = slices.Insert(all, i, bare(e))
	}
	r.Replies = all
	r.bound()
}

// bare is a reply without what it tells of its root.
func bare(e *wire.Entry) *wire.Entry {
	if e.Replies == nil {
		return e
	}
	c := proto.Clone(e).(*wire.Entry)
	c.Replies = nil
	return c
}

// bound lets go of the first replies where there are too many.
func (r *ThreadRecord) bound() {
	size, from := 0, len(r.Replies)
	for from > 0 && len(r.Replies)-from < maxReplies {
		size += proto.Size(r.Replies[from-1])
		if size > maxThreadBytes && from < len(r.Replies) {
			break
		}
		from--
	}
	if from > 0 {
		r.Replies = slices.Clone(r.Replies[from:])
		r.Before = r.Replies[0].Seq
	}
}

// counted works out what is unread, where all that may be is kept: replies of others behind
// what the user read, or wrote.
func (r *ThreadRecord) counted(user string) {
	now := proto.Clone(r.Thread).(*wire.Thread)
	for _, e := range r.Replies {
		now.Last = max(now.Last, e.Seq)
		if e.Sender == user {
			now.Read, now.Follows = max(now.Read, e.Seq), now.Follows || e.Seq > r.Thread.Last
		}
	}
	if r.Before == 0 || len(r.Replies) > 0 && now.Read+1 >= r.Replies[0].Seq {
		now.Unread = 0
		for _, e := range r.Replies {
			if e.Seq > now.Read && e.Sender != user {
				now.Unread++
			}
		}
	}
	r.Thread = now
}

// saidInThread takes a reply that was applied.
func (k *core) saidInThread(cv *conv, root uint64, e *wire.Entry) {
	k.happened[cv.rec.ID]++
	if cv.rec.gone(e.Seq) || e.Recalled {
		return
	}
	ref := EntryRef{cv.rec.ID, root}
	k.alter(ref, func(r *ThreadRecord) {
		r.put(e)
		r.counted(k.meta.User)
	})
	if e.Sender == k.meta.User {
		k.takeMarks(cv) // who does not follow it does not by writing there
	}
	if l := cv.rec.lifetime(e.Seq); l != nil && k.threads[ref] != nil {
		k.perishSoon(cv, l.end(e))
	}
}

// amendedInThread takes what was done to a reply.
func (k *core) amendedInThread(cv *conv, by *wire.Entry) {
	k.happened[cv.rec.ID]++
	r := k.threads[EntryRef{cv.rec.ID, by.Thread}]
	if r == nil {
		return
	}
	i := r.find(by.Target)
	if i < 0 {
		return
	}
	now := latest(r.Replies[i], k.ours(by))
	k.alter(EntryRef{cv.rec.ID, by.Thread}, func(r *ThreadRecord) {
		r.put(now)
		r.counted(k.meta.User)
	})
}

// takeMarks takes what the user set for threads, here or on another device.
func (k *core) takeMarks(cv *conv) {
	for _, m := range cv.rec.Mine.GetThreads() {
		ref := EntryRef{cv.rec.ID, m.Root}
		if r := k.threads[ref]; r == nil || r.Thread.Read >= m.Read && m.Follow == wire.ThreadFollow_THREAD_FOLLOW_UNSPECIFIED {
			continue
		}
		k.alter(ref, func(r *ThreadRecord) {
			now := proto.Clone(r.Thread).(*wire.Thread)
			now.Read = max(now.Read, m.Read)
			if m.Follow != wire.ThreadFollow_THREAD_FOLLOW_UNSPECIFIED {
				now.Follows = m.Follow == wire.ThreadFollow_THREAD_FOLLOW_YES
			}
			r.Thread = now
			r.counted(k.meta.User)
		})
	}
}

// trimThreads takes out of the threads of a conversation what is not the user's to read any
// more: what disappeared, is not kept by the server, was cleared or deleted, or lies outside
// the times of membership. A thread whose root is gone is none.
func (k *core) trimThreads(cv *conv) {
	r, now := &cv.rec, k.serverMs()
	lost := func(e *wire.Entry) bool {
		if l := r.lifetime(e.Seq); l != nil {
			if e.Seq <= l.Gone || l.end(e) <= now {
				return true
			}
			k.perishSoon(cv, l.end(e))
		}
		return e.Seq <= cv.floor.seq || e.Deleted || e.Seq < r.Mine.GetClearedBelow() || r.gone(e.Seq) || r.First > 0 && r.theirs(e.Seq, e.Seq) == 0
	}
	for ref, t := range k.threads {
		switch {
		case ref.Conversation != r.ID:
		case lost(t.Thread.Root):
			k.dropThread(ref)
		case slices.ContainsFunc(t.Replies, lost):
			k.alter(ref, func(t *ThreadRecord) {
				t.Replies = slices.DeleteFunc(slices.Clone(t.Replies), lost)
				t.counted(k.meta.User)
			})
		}
	}
}

// tookThread keeps what the server told of a thread: its last page, or the one before those
// that are kept. happened is what had happened in the conversation when it was asked for.
func (k *core) tookThread(conversation string, before uint64, resp *wire.ListThreadResponse, happened uint64) {
	cv, root := k.convs[conversation], resp.GetThread().GetRoot()
	if cv == nil || root.GetSeq() == 0 {
		return
	}
	ref := EntryRef{conversation, root.Seq}
	old := k.threads[ref]
	k.lastUsed++
	switch {
	case before == 0:
		r := &ThreadRecord{
			Conversation: conversation, Root: root.Seq, Thread: resp.Thread, Replies: resp.Entries, Before: resp.Next, Used: k.lastUsed,
			// What was applied meanwhile may be missing; what comes after the window will be applied.
			Stale: k.happened[conversation] != happened,
		}
		if old != nil {
			r.withRoot(latest(root, old.Thread.Root))
		}
		if kept := k.kept(cv, root.Seq); kept != nil {
			r.withRoot(latest(r.Thread.Root, kept))
		}
		k.setThread(r)
	case old == nil:
		return
	case !old.Stale && before == old.Before && len(old.Replies)+len(resp.Entries) <= maxReplies && k.happened[conversation] == happened:
		k.alter(ref, func(r *ThreadRecord) {
			r.Used, r.Before, r.Replies = k.lastUsed, resp.Next, append(slices.Clone(resp.Entries), r.Replies...)
		})
	default:
		k.alter(ref, func(r *ThreadRecord) { r.Used = k.lastUsed })
	}
	k.alter(ref, (*ThreadRecord).bound)
	k.trimThreads(cv)
	if len(k.threads) > maxThreads {
		k.dropThread(k.leastUsed())
	}
}

func (t *keptThreads) leastUsed() (least EntryRef) {
	first := t.lastUsed + 1
	for ref, r := range t.threads {
		if r.Used < first {
			least, first = ref, r.Used
		}
	}
	return least
}

// keptThread is a thread that is kept, by its root or a reply; nil: none is.
func (k *core) keptThread(conversation string, seq uint64) *ThreadRecord {
	if r := k.threads[EntryRef{conversation, seq}]; r != nil {
		return r
	}
	for ref, r := range k.threads {
		if ref.Conversation == conversation && r.find(seq) >= 0 {
			return r
		}
	}
	return nil
}

// page is what is kept of a thread before a seq, 0: the end of it. false: nothing is.
func (r *ThreadRecord) page(before uint64, limit int) (*wire.ListThreadResponse, bool) {
	end := len(r.Replies)
	if before > 0 {
		end, _ = slices.BinarySearchFunc(r.Replies, before, func(e *wire.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
		if end == 0 && r.Before != 0 {
			return nil, false
		}
	}
	from := max(0, end-limit)
	next := r.Before
	if from > 0 {
		next = r.Replies[from].Seq
	}
	return &wire.ListThreadResponse{Thread: r.Thread, Entries: r.Replies[from:end], Next: next}, true
}

// refreshThreads has stale threads read again, one after the other, while there is a
// connection.
func (k *core) refreshThreads() {
	if k.refreshing || k.state != StateConnected || !k.closeAt.IsZero() || k.nextStale() == nil {
		return
	}
	k.refreshing = true
	k.c.wg.Go(k.c.refreshThreads)
}

// nextStale is the stale thread that was read last, of those that the server did not refuse.
func (k *core) nextStale() (next *ThreadRecord) {
	for ref, r := range k.threads {
		if _, refused := k.given[ref]; !refused && r.Stale && (next == nil || r.Used > next.Used) {
			next = r
		}
	}
	return next
}

func (c *Client) refreshThreads() {
	for {
		var r *ThreadRecord
		var happened uint64
		err := c.do(c.ctx, func(k *core) {
			if r = k.nextStale(); r == nil || k.state != StateConnected {
				r, k.refreshing = nil, false
				return
			}
			happened = k.happened[r.Conversation]
		})
		if err != nil || r == nil {
			return
		}
		req := &wire.ListThreadRequest{Conversation: r.Conversation, Seq: r.Root}
		var resp wire.ListThreadResponse
		asked := c.Call(c.ctx, listThread, req, &resp)
		again := false
		err = c.do(c.ctx, func(k *core) { again = k.refreshed(r, &resp, happened, asked) })
		if err == nil && again {
			err = c.pause(c.ctx, threadAgain)
		}
		if err != nil {
			return
		}
	}
}

// refreshed takes the answer. again: the thread is not as it is now yet.
func (k *core) refreshed(asked *ThreadRecord, resp *wire.ListThreadResponse, happened uint64, err error) (again bool) {
	ref := EntryRef{asked.Conversation, asked.Root}
	now := k.threads[ref]
	switch {
	case now == nil:
	case errors.Is(err, ErrNotFound):
		k.dropThread(ref)
	case err != nil:
		k.given[ref] = struct{}{}
	default:
		used, last := now.Used, k.lastUsed
		k.tookThread(ref.Conversation, 0, resp, happened)
		k.lastUsed = last // the program did not read it
		k.alter(ref, func(r *ThreadRecord) { r.Used = used })
		again = k.threads[ref] != nil && k.threads[ref].Stale
	}
	return again
}

// touchedBy notes the threads that a stretch says something of, which is not applied yet: what
// was said there, or done to a reply, only the server knows.
func (k *core) touchedBy(cv *conv, s stretch) {
	if s.last <= cv.rec.High {
		return
	}
	k.happened[cv.rec.ID]++
	for _, all := range [][]*wire.Entry{s.touched, s.entries} {
		for _, e := range all {
			k.stale(EntryRef{cv.rec.ID, e.GetSeq()})
			if e.GetThread() != 0 { // it stands in the line as well
				k.stale(EntryRef{cv.rec.ID, e.Thread})
			}
		}
	}
}
