package entrycodec

import (
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// A user's own state of a conversation is kept beside their marks as the protobuf
// encoding of a wire.MyState without its conversation. What a newer version has set
// there and this one does not know stays when this one changes something.

// MyState decodes what is kept of a conversation; "" is the zero state.
func MyState(kept string, c im.ConversationID) (im.MyState, error) {
	s := im.MyState{Conversation: c}
	w, err := decodeMine(kept)
	if err != nil || kept == "" {
		return s, err
	}
	s.Revision, s.Pinned, s.Hidden, s.Draft = w.Revision, w.Pinned, w.Hidden, w.Draft
	s.ClearedBelow, s.Unread, s.Deleted = w.ClearedBelow, w.Unread, deletedFromWire(w.Deleted)
	s.Folder, s.HiddenCount, s.UnreadAt = w.Folder, w.HiddenCount, w.UnreadAt
	s.Threads = threadsFromWire(w.Threads)
	s.PushLevel = im.PushLevel(w.PushLevel)
	if w.MutedUntilMs != 0 {
		s.MutedUntil = time.UnixMilli(w.MutedUntilMs).UTC()
	}
	return s, nil
}

// SetMyState returns what to keep after a change, and the state as it is then; changed
// is false where nothing is another by it.
func SetMyState(kept string, c im.ConversationID, change *im.MyChange) (next string, s im.MyState, changed bool, err error) {
	if s, err = MyState(kept, c); err != nil {
		return kept, s, false, err
	}
	if !change.Apply(&s) {
		return kept, s, false, nil
	}
	s.Revision++
	w, err := decodeMine(kept)
	if err != nil {
		return kept, s, false, err
	}
	w.Revision, w.Pinned, w.Hidden, w.Draft = s.Revision, s.Pinned, s.Hidden, s.Draft
	w.ClearedBelow, w.Unread, w.MutedUntilMs = s.ClearedBelow, s.Unread, 0
	if !s.MutedUntil.IsZero() {
		w.MutedUntilMs = s.MutedUntil.UnixMilli()
	}
	w.Deleted, w.Folder, w.Threads = DeletedToWire(s.Deleted), s.Folder, ThreadsToWire(s.Threads)
	w.HiddenCount, w.UnreadAt, w.PushLevel = s.HiddenCount, s.UnreadAt, wire.PushLevel(s.PushLevel)
	b, err := w.MarshalVT()
	return string(b), s, true, err
}

// DeletedToWire tells which messages a user deleted for themselves.
func DeletedToWire(s im.SeqSet) (out []*wire.SeqRange) {
	for r := range s.All() {
		out = append(out, &wire.SeqRange{First: r.First, Last: r.Last})
	}
	return out
}

func deletedFromWire(list []*wire.SeqRange) im.SeqSet {
	if len(list) == 0 {
		return ""
	}
	ranges := make([]im.SeqRange, 0, len(list))
	for _, r := range list {
		if r.First > 0 && r.First <= r.Last {
			ranges = append(ranges, im.SeqRange{First: r.First, Last: r.Last})
		}
	}
	return im.NewSeqSet(ranges...)
}

// ThreadsToWire tells what a user set for threads.
func ThreadsToWire(s im.ThreadMarks) (out []*wire.ThreadMark) {
	for m := range s.All() {
		out = append(out, &wire.ThreadMark{Root: m.Root, Read: m.Read, Follow: wire.ThreadFollow(m.Follow)})
	}
	return out
}

func threadsFromWire(list []*wire.ThreadMark) im.ThreadMarks {
	if len(list) == 0 {
		return ""
	}
	marks := make([]im.ThreadMark, len(list))
	for i, m := range list {
		marks[i] = im.ThreadMark{Root: m.Root, Read: m.Read, Follow: im.ThreadFollow(m.Follow)}
	}
	return im.NewThreadMarks(marks...)
}

// Deleted is the body with which a message is told to who deleted it for themselves.
func Deleted() []byte { return Encode(&wire.Entry{Deleted: true}) }

func decodeMine(kept string) (*wire.MyState, error) {
	w := &wire.MyState{}
	if kept == "" {
		return w, nil
	}
	if kept[0] < firstByte {
		return nil, fmt.Errorf("%w: a user's state begins with %d", ErrBody, kept[0])
	}
	if err := w.UnmarshalVT([]byte(kept)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	return w, nil
}
