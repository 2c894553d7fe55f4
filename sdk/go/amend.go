package skein

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// An amendment is an entry that changes an earlier one and says nothing else (SPEC
// §4.7). It has its place in the conversation and is not kept: what it made of its
// target is. Of two states of an entry the one with the greater Amended is the newer,
// in whatever order they come, and what was recalled stays so.

// amends tells whether an entry is an amendment.
func amends(e *wire.Entry) bool {
	return e.Target != 0 || e.Kind == wire.EntryKind_ENTRY_KIND_RECALL
}

// known tells whether this version knows what an entry makes of its target. What
// another amendment makes of it is pulled, as any place that is missing: one answer
// tells of many of them, and the end of the window passes none whose outcome is not
// stored, whatever happens meanwhile.
func known(e *wire.Entry) bool {
	return !amends(e) || e.Kind == wire.EntryKind_ENTRY_KIND_RECALL || e.Kind == wire.EntryKind_ENTRY_KIND_EDIT ||
		e.Kind == wire.EntryKind_ENTRY_KIND_REACTION || e.Kind == wire.EntryKind_ENTRY_KIND_PIN || polls(e) || e.Kind == wire.EntryKind_ENTRY_KIND_STREAM || e.Kind == wire.EntryKind_ENTRY_KIND_PREVIEW || isReply(e)
}

// erased is an entry as the recall at seq by leaves it: without what its author wrote.
func erased(e *wire.Entry, by uint64) *wire.Entry {
	c := proto.Clone(e).(*wire.Entry)
	c.Content, c.ReplyTo, c.Mentions, c.GroupMention, c.Extra, c.Recalled = nil, 0, nil, 0, nil, true
	c.EditedAtMs, c.Edits, c.Reactions, c.Poll = 0, 0, nil, nil
	c.Pinned, c.Silent, c.Forward = nil, false, nil
	c.Streaming, c.Replaced, c.CutOff, c.Media = false, 0, false, nil
	c.NoPreview, c.Preview, c.Replies = false, nil, nil
	c.Amended = max(c.Amended, by)
	return c
}

// edited is an entry as an edit of it leaves it: the edit says what it says now.
func edited(e, by *wire.Entry) *wire.Entry {
	c := proto.Clone(e).(*wire.Entry)
	c.Content, c.Mentions, c.GroupMention, c.Extra = by.Content, by.Mentions, by.GroupMention, by.Extra
	c.EditedAtMs, c.Edits, c.Preview = by.EditedAtMs, by.Edits, by.Preview
	c.Amended = by.Seq
	return c
}

// reacted is an entry as a reaction by leaves it, of which k.ours made the form.
func reacted(e, by *wire.Entry) *wire.Entry {
	c := proto.Clone(e).(*wire.Entry)
	c.Amended = by.Seq
	for _, now := range by.Reactions {
		i := slices.IndexFunc(c.Reactions, func(r *wire.Reaction) bool { return r.Reaction == now.Reaction })
		mine := i >= 0 && c.Reactions[i].Mine
		if by.React != nil { // the user's own
			mine = !by.React.Remove
		}
		next := &wire.Reaction{Reaction: now.Reaction, Count: now.Count, Users: now.Users, Mine: mine}
		switch {
		case now.Count == 0 && i >= 0:
			c.Reactions = slices.Delete(c.Reactions, i, i+1)
		case now.Count == 0:
		case i >= 0:
			c.Reactions[i] = next
		default:
			c.Reactions = append(c.Reactions, next)
		}
	}
	return c
}

// ours is an entry as reacted and polled take it: what somebody else did is not the user's.
func (k *core) ours(e *wire.Entry) *wire.Entry {
	if e.Kind == wire.EntryKind_ENTRY_KIND_REACTION && e.Sender != k.meta.User {
		e = proto.Clone(e).(*wire.Entry)
		e.React = nil
	}
	if e.Kind == wire.EntryKind_ENTRY_KIND_VOTE && e.Sender != k.meta.User {
		e = proto.Clone(e).(*wire.Entry)
		e.Vote = nil
	}
	return e
}

// latest is the newer of two states of an entry; the second one may be nil, of
// another entry, or an amendment of it that this version knows.
func latest(e, other *wire.Entry) *wire.Entry {
	switch {
	case other == nil:
	case isReply(other) || saidIn(other, e.Seq):
		if other.Thread == e.Seq && other.Seq > e.Amended && !e.Recalled {
			return threaded(e, other)
		}
	case other.Kind == wire.EntryKind_ENTRY_KIND_RECALL && other.Thread == e.Seq:
		if other.Replies != nil && other.Seq > e.Amended && !e.Recalled {
			return threaded(e, other)
		}
	case other.Kind == wire.EntryKind_ENTRY_KIND_RECALL:
		if other.Target == e.Seq && !e.Recalled {
			return erased(e, other.Seq)
		}
	case other.Kind == wire.EntryKind_ENTRY_KIND_EDIT || other.Kind == wire.EntryKind_ENTRY_KIND_REACTION || other.Kind == wire.EntryKind_ENTRY_KIND_PIN || polls(other) || other.Kind == wire.EntryKind_ENTRY_KIND_STREAM || other.Kind == wire.EntryKind_ENTRY_KIND_PREVIEW:
		switch applies := other.Target == e.Seq && other.Seq > e.Amended && !e.Recalled; {
		case applies && other.Kind == wire.EntryKind_ENTRY_KIND_EDIT:
			return edited(e, other)
		case applies && other.Kind == wire.EntryKind_ENTRY_KIND_STREAM:
			return streamed(e, other)
		case applies && other.Kind == wire.EntryKind_ENTRY_KIND_PREVIEW:
			return previewed(e, other)
		case applies && polls(other):
			return polled(e, other)
		case applies && other.Kind == wire.EntryKind_ENTRY_KIND_PIN:
			return pinned(e, other)
		case applies:
			return reacted(e, other)
		}
	case other.Seq == e.Seq && other.Amended > e.Amended && (other.Recalled || !e.Recalled):
		return other
	}
	return e
}

// recall applies a recall that was pushed. It reports whether that is news: what it
// made of its target may have been told before.
func (k *core) recall(cv *conv, e *wire.Entry) bool {
	k.recalled(cv, e.Target, e.Seq)
	kept := k.kept(cv, e.Target)
	if kept == nil {
		k.outside(cv, e, e.Target)
		return true
	}
	if kept.Amended < e.Seq {
		k.change(cv, erased(kept, e.Seq))
	}
	return !kept.Recalled && !kept.Deleted
}

// revise applies an edit, a reaction, a vote, the end of a poll, a pin, a preview, or what a streamed
// message says, that was pushed. What it made of its target may have been told before.
func (k *core) revise(cv *conv, e *wire.Entry, tell bool) {
	e = k.ours(e)
	if e.Thread != 0 {
		k.amendedInThread(cv, e)
	}
	kept := k.kept(cv, e.Target)
	if kept.GetDeleted() {
		return // of what is gone
	}
	if e.Kind == wire.EntryKind_ENTRY_KIND_EDIT && (kept == nil || kept.Amended < e.Seq && !kept.Recalled) {
		k.noteMention(cv, e.Target, e.Seq, k.mentionsIn(e) && !cv.rec.gone(e.Target))
	}
	if kept == nil {
		k.outside(cv, e, e.Target)
		return
	}
	now := latest(kept, e)
	if now == kept {
		return
	}
	k.change(cv, now)
	if tell {
		k.feed(FeedItem{Kind: FeedChanged, Conversation: cv.rec.ID, Seq: e.Target, Entry: now})
	}
}

// retake takes over an entry that is, or was, known here as it is now.
func (k *core) retake(cv *conv, e *wire.Entry) {
	r := &cv.rec
	switch {
	case e.GetConversation() != r.ID || e.Amended == 0 || amends(e) || r.hides(e):
		return
	case e.Seq > r.High: // the answer that fills the hole may be older
		if cv.newer == nil {
			cv.newer = map[uint64]*wire.Entry{}
		}
		cv.newer[e.Seq] = latest(e, cv.newer[e.Seq])
		return
	}
	if e.Recalled {
		k.recalled(cv, e.Seq, e.Amended)
	}
	kept := k.kept(cv, e.Seq)
	if kept.GetDeleted() {
		return // it is gone here
	}
	if kept == nil || latest(kept, e) != kept && k.mentions(kept) != k.mentions(e) {
		k.noteMention(cv, e.Seq, e.Amended, k.mentions(e))
	}
	switch {
	case kept == nil:
		k.outside(cv, e, e.Seq)
		return
	case latest(kept, e) == kept:
		return
	}
	k.change(cv, e)
	switch {
	case kept.Recalled: // told before
	case e.Recalled:
		k.feed(FeedItem{Kind: FeedRecalled, Conversation: r.ID, Seq: e.Seq})
	default:
		k.feed(FeedItem{Kind: FeedChanged, Conversation: r.ID, Seq: e.Seq, Entry: e})
	}
}

// eraseRecalled erases a message that the server says was recalled, perhaps where the
// user was no member.
func (k *core) eraseRecalled(cv *conv, seq uint64) {
	if kept := k.kept(cv, seq); kept != nil && !kept.Recalled && !kept.Deleted {
		k.change(cv, erased(kept, 0))
		k.feed(FeedItem{Kind: FeedRecalled, Conversation: cv.rec.ID, Seq: seq})
	}
}

// change replaces what is kept of an entry, in the window and in events that wait.
func (k *core) change(cv *conv, e *wire.Entry) {
	if l := cv.rec.Last; l != nil && l.Seq == e.Seq {
		cv.rec.Last = e
	}
	if !e.Streaming {
		delete(k.growing, EntryRef{cv.rec.ID, e.Seq})
	}
	k.rootNow(e)
	k.batch.Changed = append(k.batch.Changed, e)
	k.fresh[EntryRef{cv.rec.ID, e.Seq}] = e
	k.touch(cv, true)
}

// keep adds an entry to the window.
func (k *core) keep(e *wire.Entry) {
	k.batch.Entries = append(k.batch.Entries, e)
	k.fresh[EntryRef{e.Conversation, e.Seq}] = e
}

// kept is an entry of the window as it is known here, nil if there is none.
func (k *core) kept(cv *conv, seq uint64) *wire.Entry {
	r := &cv.rec
	if seq < r.Low || seq > r.High {
		return nil
	}
	if e := k.fresh[EntryRef{r.ID, seq}]; e != nil {
		return e
	}
	if l := r.Last; l != nil && l.Seq == seq {
		return l
	}
	es, err := k.o.store.Entries(context.Background(), r.ID, seq, seq, 1)
	if err != nil {
		k.die(fmt.Errorf("%w: %w", ErrStore, err))
	}
	if len(es) == 0 {
		return nil
	}
	return es[0]
}

// outside takes note that an entry which is not in the window was amended, by its new
// state or its recall: an answer that is under way may have it as it was before, and
// so may an event that waits, about what left the window since.
func (k *core) outside(cv *conv, by *wire.Entry, target uint64) {
	if target >= cv.rec.Low {
		return
	}
	if t := k.threads[EntryRef{cv.rec.ID, target}]; t != nil {
		if now := latest(t.Thread.Root, by); now != t.Thread.Root {
			k.rootNow(now)
		}
	}
	if l := cv.rec.Last; l != nil && l.Seq == target { // shown until there is another
		cv.rec.Last = latest(l, by)
		k.touch(cv, true)
	}
	for _, r := range k.reqs {
		if r.kind == reqHistory && r.cv == cv {
			r.amended = append(r.amended, by)
		}
	}
	if by.Recalled || by.Kind == wire.EntryKind_ENTRY_KIND_RECALL && by.Target == target {
		k.eraseWaiting(cv, by, target)
	}
}

// eraseWaiting erases what an event that waits says of a recalled entry.
func (k *core) eraseWaiting(cv *conv, by *wire.Entry, target uint64) {
	for after := k.handled; after < k.lastFeed; {
		items, err := k.o.store.Feed(context.Background(), after, 256)
		if err != nil {
			k.die(fmt.Errorf("%w: %w", ErrStore, err))
		}
		if len(items) == 0 {
			return
		}
		for i := range items {
			if e := items[i].Entry; e != nil && e.Conversation == cv.rec.ID && e.Seq == target {
				k.batch.Changed = append(k.batch.Changed, latest(e, by))
				return
			}
		}
		after = items[len(items)-1].N
	}
}
