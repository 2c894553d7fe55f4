package skein

import (
	"slices"

	"github.com/skein-im/skein/wire"
)

// take accepts entries that were pushed, or made from an ack. SPEC §6.1.
//
// While a sync is unanswered they wait: its answer may begin another timeline.
// So they do while the first one of a connection is put off.
// Those of a conversation the client does not know wait for the list that tells
// about it, unless they are its very first. So do those of a group the user had
// left: somebody who gets them is a member again, and what lies between is not
// theirs to read.
func (k *core) take(entries []*wire.Entry) {
	for _, e := range entries {
		if e.GetConversation() == "" || e.Seq == 0 {
			continue
		}
		if k.syncing || (k.state != StateConnected && !k.again.at.IsZero()) {
			k.hold(e)
			continue
		}
		cv := k.convs[e.Conversation]
		if cv == nil && e.Seq != 1 {
			k.holdUnknown(e)
			continue
		}
		if cv != nil && cv.returned(e.Seq) {
			k.holdReturned(cv, e)
			continue
		}
		if cv == nil {
			cv = k.newConv(e.Conversation, 0)
		}
		k.offer(cv, e, false)
		k.wantPull(cv)
	}
}

// holdReturned has an entry of a group that the user had left wait for what the server
// says of them there.
func (k *core) holdReturned(cv *conv, e *wire.Entry) {
	cv.askedAt = max(cv.askedAt, e.Seq)
	k.hold(e)
	k.askMembership(cv)
}

// holdUnknown has an entry of a conversation that is not known wait for what the server
// says of it. While the list is read that comes with it, or with the Sync after it.
func (k *core) holdUnknown(e *wire.Entry) {
	if !k.meta.Listing {
		k.unknown[e.Conversation] = max(k.unknown[e.Conversation], e.Seq)
	}
	k.hold(e)
	k.askMembership(nil)
}

// maxHeld bounds the entries that wait for a sync.
const maxHeld = 2000

func (k *core) hold(e *wire.Entry) {
	if len(k.held) >= maxHeld {
		k.heldOver = true // dropped; another sync brings them
		return
	}
	k.held = append(k.held, e)
}

// dropHeld forgets what waits for a sync; another one brings it, if it is there.
func (k *core) dropHeld() {
	k.heldOver = k.heldOver || len(k.held) > 0
	k.held = nil
}

// release applies what waited for a sync, now that it is applied.
func (k *core) release() {
	held := k.held
	k.held = nil
	for _, e := range held {
		cv := k.convs[e.Conversation]
		if cv == nil {
			if k.meta.Listing {
				k.hold(e)
				continue
			}
			// It came while a Sync was under way that was asked for before: the answer to
			// another one has its title and times of membership.
			if e.Seq > max(k.unknown[e.Conversation], 1) {
				k.holdUnknown(e)
				continue
			}
			// The server lists it nowhere: begin where it is readable.
			cv = k.newConv(e.Conversation, 0)
		}
		// It came while a sync was under way that was asked for before. Once: what the
		// server does not tell then, it does not know.
		if cv.returned(e.Seq) && e.Seq > cv.askedAt {
			k.holdReturned(cv, e)
			continue
		}
		k.offer(cv, e, false)
		k.wantPull(cv)
	}
	if k.heldOver && !k.meta.Listing {
		k.heldOver = false
		k.requestSync()
	}
}

// newConv adds a conversation whose window is empty and will begin at base+1.
func (k *core) newConv(id string, base uint64) *conv {
	cv := &conv{rec: ConversationRecord{ID: id, Low: base + 1, High: base}, early: map[uint64]place{}}
	k.convs[id] = cv
	delete(k.unknown, id)
	k.touch(cv, true)
	return cv
}

// offer gives an entry to its conversation: from anywhere, in any order, any
// number of times. It is applied once, when everything before it is that is the
// user's to read.
func (k *core) offer(cv *conv, e *wire.Entry, quiet bool) {
	if e.Seq > cv.rec.Head {
		cv.rec.Head = e.Seq
		k.touch(cv, true)
	}
	switch {
	case e.Seq <= cv.rec.High:
		k.settle(e)
		k.retake(cv, e)
	case !known(e): // its outcome is pulled
	case e.Seq == cv.rec.after(cv.rec.High):
		k.apply(cv, e, quiet)
		k.applyEarly(cv, quiet)
	case e.Seq > cv.rec.after(cv.rec.High):
		cv.keepEarly(e.Seq, place{last: e.Seq, entry: e})
	}
}

// apply makes an entry the newest of the window: everything it means goes into
// one batch. Quiet: it is history, not news.
func (k *core) apply(cv *conv, e *wire.Entry, quiet bool) {
	r := &cv.rec
	e = latest(e, cv.newer[e.Seq])
	own := e.Sender != "" && e.Sender == k.meta.User
	shown := withoutReplies(e)
	if !amends(e) {
		k.noteMissing(cv, e)
		gone := k.arrives(cv, e)
		if gone {
			shown = blanked(e)
		}
		k.keep(shown)
		r.Last = shown
		k.noteMention(cv, e.Seq, max(e.Seq, e.Amended), k.mentions(e) && !gone && !r.gone(e.Seq))
	}
	k.reach(cv, e.Seq, newestOf(e))
	if e.Seq >= r.Head {
		r.Head, r.HeadCount, r.LastAtMs = e.Seq, e.Count, e.StoredAtMs
		cv.countedTo = e.Seq
	}
	kind := FeedEntry
	if own && k.settle(e) {
		kind = FeedAck
	}
	if e.Seq == r.begin() && r.Read < e.Seq {
		// What was written before is not the user's, so it is not unread.
		r.ReadCount = max(r.ReadCount, countBefore(e))
	}
	switch {
	case own && e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE:
		// Sending is reading, SPEC §4.2: the server knows, unless it forgets; see repeatMarks.
		k.readUpTo(cv, e.Seq, e.Count)
		cv.sentRead = max(cv.sentRead, e.Seq)
		r.MarkedAtMs = k.o.now().UnixMilli()
	case !own:
		k.received(cv, e, quiet)
	}
	switch {
	case r.gone(e.Seq):
		k.withoutDeleted(cv, false)
	case e.Recalled:
		k.recalled(cv, e.Seq, e.Amended)
	}
	news := !quiet && (kind == FeedAck || !r.hides(shown))
	switch e.Kind {
	case wire.EntryKind_ENTRY_KIND_MESSAGE:
		k.inBoth(cv, e, !quiet)
	case wire.EntryKind_ENTRY_KIND_THREAD_REPLY:
		k.replied(cv, e, !quiet)
	case wire.EntryKind_ENTRY_KIND_RECALL:
		if e.Thread != 0 {
			k.amendedInThread(cv, e)
			k.withdrawn(cv, e, !quiet)
		}
		if e.Thread == 0 || e.AlsoInMain {
			news = k.recall(cv, e) && news
		}
	case wire.EntryKind_ENTRY_KIND_EDIT, wire.EntryKind_ENTRY_KIND_REACTION, wire.EntryKind_ENTRY_KIND_VOTE, wire.EntryKind_ENTRY_KIND_POLL_END, wire.EntryKind_ENTRY_KIND_PIN,
		wire.EntryKind_ENTRY_KIND_STREAM, wire.EntryKind_ENTRY_KIND_PREVIEW:
		k.revise(cv, e, news)
		news = news && e.Thread != 0 // of what is not in the window
	case wire.EntryKind_ENTRY_KIND_EVENT:
		k.applyEvent(cv, e)
	}
	if news {
		k.feed(FeedItem{Kind: kind, Conversation: r.ID, Seq: e.Seq, Entry: shown})
	}
}

// received moves the mark of what was received, and the peer's by what they write.
func (k *core) received(cv *conv, e *wire.Entry, quiet bool) {
	r := &cv.rec
	if e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE && e.Sender == peerOf(r.ID, k.meta.User) && e.Sender != "" {
		k.peerMarks(cv, e.Sender, e.Seq, e.Seq) // they read what they answer
	}
	r.Received = e.Seq
	if !quiet || cv.unread() > 0 {
		delay := k.o.groupDelay
		if peerOf(r.ID, k.meta.User) != "" {
			delay = k.o.receivedDelay
		}
		k.markLater(cv, delay)
	}
}

// applyEvent keeps title and membership up to date between two syncs. What is
// older than what the server told says nothing of now.
func (k *core) applyEvent(cv *conv, e *wire.Entry) {
	if e.Seq < cv.rec.First {
		return // of a time of membership that is over
	}
	me := slices.Contains(e.GetEvent().GetUsers(), k.meta.User)
	switch e.GetEvent().GetType() {
	case wire.EventType_EVENT_TYPE_GROUP_CREATED, wire.EventType_EVENT_TYPE_GROUP_RENAMED:
		cv.rec.Title = e.Event.Text
	case wire.EventType_EVENT_TYPE_LIFETIME_CHANGED:
		k.begins(cv, e)
	case wire.EventType_EVENT_TYPE_MEMBER_ADDED:
		if me && e.Seq >= cv.told {
			cv.rec.Until = 0
		}
	case wire.EventType_EVENT_TYPE_MEMBER_LEFT, wire.EventType_EVENT_TYPE_MEMBER_REMOVED:
		if me || (len(e.Event.Users) == 0 && e.Sender == k.meta.User) {
			k.left(cv, e.Seq)
		}
	case wire.EventType_EVENT_TYPE_GROUP_DISMISSED:
		k.left(cv, e.Seq)
	}
}

// left notes the entry with which the user ceased to be a member. If there is
// more behind it they are one again, and only the server knows since when.
func (k *core) left(cv *conv, seq uint64) {
	if seq < cv.told {
		return
	}
	cv.rec.Until = seq
	if cv.rec.Head > seq {
		k.askMembership(cv)
	}
}

// jump starts the window anew at seq. What was left out is told, unless it
// never was the user's to read.
func (k *core) jump(cv *conv, seq uint64, tell bool) {
	r := &cv.rec
	if tell && r.before(seq) > cv.told {
		k.askMembership(cv) // recalls may be among what is left out: the answer tells what is unread
	}
	// What this batch adds below must not outlive the Forget, which comes first in it.
	k.commit()
	if from := r.after(r.High); tell && seq > from {
		k.feed(FeedItem{Kind: FeedGap, Conversation: r.ID, From: from, Seq: r.before(seq)})
		k.log.Info("window starts anew", "conversation", r.ID, "skipped_from", from, "skipped_to", r.before(seq))
	}
	k.allStale(r.ID) // so may replies, and what was done to some
	k.forgetStored(r.ID, seq)
	k.batch.Forget = append(k.batch.Forget, EntryRef{r.ID, seq})
	r.Low, r.High = seq, seq-1
	cv.forgetEarly(seq)
	k.touch(cv, true)
	k.applyEarly(cv, false)
}

// reset forgets everything of another history; the outbox stays and is sent again.
// What waits stays on a new connection: it is of the new one. On one that was there
// before it may be of either.
func (k *core) reset(timeline string) {
	k.log.Warn("timeline changed: everything is read anew")
	k.commit() // the batch of the old one first
	k.batch.Reset = true
	clear(k.convs)
	clear(k.dirty)
	k.forgetThreads()
	clear(k.changed)
	clear(k.goneAsk)
	clear(k.unsure)
	clear(k.unknown)
	clear(k.markDue)
	k.pullQueue, k.wantSync, k.pageAgain = nil, false, refused{}
	if k.state == StateConnected {
		k.dropHeld()
	}
	for n, r := range k.reqs {
		if r.kind > reqAfter {
			delete(k.reqs, n)
			r.abandon(ErrConnectionLost)
		}
	}
	k.meta.Timeline, k.meta.Position, k.proof = timeline, "", nil
	k.meta.Listing, k.meta.ListNext = false, ""
	k.metaDirty = true
	k.feed(FeedItem{Kind: FeedReset})
	k.resend()
}
