package skein

import (
	"cmp"
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// A thread is what is said below a message, its root (SPEC §4.36). Replies, but for those
// that are said AlsoInMain, are no messages of the conversation's own line: they are not in
// its window, do not count as unread, and are read by Conversation.Thread, which keeps them. The root tells how many there are (Message.Replies), and
// a device that is connected hears of each by a ReplyEvent.

// InThread says the message in the thread of an earlier one, by its seq. That of a reply is
// taken for its root's; give the root (Message.Thread), so that this device counts it at once.
func InThread(root uint64) SendOption {
	return func(s *wire.Send) { s.Thread = root }
}

// AlsoInMain has a message that is said InThread stand in the conversation's own line as
// well: a message there as any other, with a MessageEvent, and a reply in the thread.
func AlsoInMain() SendOption {
	return func(s *wire.Send) { s.AlsoInMain = true }
}

// Thread is a thread as the user has it.
type Thread struct {
	// Root is its first message as it is now.
	Root *Message
	// Last is the seq of its last reply, 0 if there is none.
	Last uint64
	// Follows: the user wrote in it, or said that they follow it.
	Follows bool
	// Unread are the replies of others behind Read: what the user has read, or wrote.
	Unread int
	Read   uint64
	// Kept: this is what the device has of it, without a connection. Something may be
	// missing, if that was so when the connection ended.
	Kept bool
}

const listThread = "skein.v1.MessageService/ListThread"

func threadOf(t *wire.Thread, user string) *Thread {
	return &Thread{Root: messageOf(t.GetRoot(), user), Last: t.GetLast(), Follows: t.GetFollows(), Unread: int(t.GetUnread()), Read: t.GetRead()}
}

// Thread reads the thread of the message seq, or that of the reply seq: at most limit (0:
// 50; at most 200) of its replies before a seq (0: the last ones), ascending. next is before
// of the next page, 0 if there is none.
//
// What was read is kept, up to a bound (the last 200 replies of each of the 64 threads that
// were read last), and brought up to date: without a connection that is the answer
// (Thread.Kept), also where the connection ends before the server's. What is not kept waits for
// a connection.
func (v *Conversation) Thread(ctx context.Context, seq, before uint64, limit int) (t *Thread, replies []*Message, next uint64, err error) {
	var kept *wire.ListThreadResponse
	var happened uint64
	// ready waits for a connection, if there is neither one nor something that is kept.
	ready := func(ctx context.Context) error {
		connected := false
		err := v.c.do(ctx, func(k *core) {
			happened = k.happened[v.id]
			if connected = k.state == StateConnected; connected {
				return
			}
			k.perish()
			if r := k.keptThread(v.id, seq); r != nil {
				if page, found := r.page(before, cmp.Or(max(limit, 0), 50)); found {
					kept = page
				}
			}
		})
		switch {
		case err != nil || connected:
			return err
		case kept != nil:
			return ErrOffline
		}
		return v.c.WaitConnected(ctx)
	}
	resp := &wire.ListThreadResponse{}
	req := &wire.ListThreadRequest{Conversation: v.id, Seq: seq, Before: before, Limit: uint32(max(limit, 0))}
	err = v.c.call(ctx, &try{method: listThread, safe: true, ready: ready}, req, resp)
	found := kept != nil && errors.Is(err, ErrOffline)
	switch {
	case found:
		resp = kept
	case err == nil:
		err = v.c.do(ctx, func(k *core) { k.tookThread(v.id, before, resp, happened) })
	}
	if err != nil && !found {
		return nil, nil, 0, err
	}
	for _, e := range resp.Entries {
		replies = append(replies, messageOf(e, v.c.User()))
	}
	t = threadOf(resp.Thread, v.c.User())
	t.Kept = found
	return t, replies, resp.Next, nil
}

// Threads are the threads of the conversation, the one that was replied to last first: at most
// limit (0: 50; at most 200) behind cursor. next is the cursor of the next page, "" if there
// is none.
func (v *Conversation) Threads(ctx context.Context, cursor string, limit int) (all []*Thread, next string, err error) {
	return v.c.threads(ctx, v.id, cursor, limit)
}

// Threads are those of all conversations that the user follows, in pages as those of a
// conversation.
func (c *Client) Threads(ctx context.Context, cursor string, limit int) (all []*Thread, next string, err error) {
	return c.threads(ctx, "", cursor, limit)
}

func (c *Client) threads(ctx context.Context, conversation, cursor string, limit int) (all []*Thread, next string, err error) {
	var resp wire.ListThreadsResponse
	req := &wire.ListThreadsRequest{Conversation: conversation, Cursor: cursor, Limit: uint32(max(limit, 0))}
	if err := c.Call(ctx, "skein.v1.MessageService/ListThreads", req, &resp); err != nil {
		return nil, "", err
	}
	for _, t := range resp.Threads {
		all = append(all, threadOf(t, c.User()))
	}
	return all, resp.Next, nil
}

// FollowThread follows the thread of the message root, or not any more, whatever the user
// writes there; it is so on all devices.
func (v *Conversation) FollowThread(ctx context.Context, root uint64, follow bool) error {
	_, err := v.SetMyState(ctx, &wire.SetMyStateRequest{Thread: &wire.SetThread{Root: root, Follow: &follow}})
	return err
}

// ReadThread says that the user has read the replies of the thread of root up to seq; it is
// so on all devices, and never goes back.
func (v *Conversation) ReadThread(ctx context.Context, root, seq uint64) error {
	_, err := v.SetMyState(ctx, &wire.SetMyStateRequest{Thread: &wire.SetThread{Root: root, Read: &seq}})
	return err
}

// ReplyEvent is a reply in a thread: somebody's, or the user's own from another device. An
// own one of this device is an AckEvent.
type ReplyEvent struct{ Message *Message }

func (*ReplyEvent) event() {}

// ThreadEvent tells that a reply in a thread was changed: edited, reacted to, pinned. Who
// shows the thread reads the reply again. That one was taken back is a RecallEvent, whose
// Message.Thread is the root.
type ThreadEvent struct {
	Conversation string
	Root, Target uint64
	// Message is the entry that did it.
	Message *Message
}

func (*ThreadEvent) event() {}

// isReply tells whether an entry is a message in a thread.
func isReply(e *wire.Entry) bool { return e.Kind == wire.EntryKind_ENTRY_KIND_THREAD_REPLY }

// threaded is a root as a reply, or the recall of one, leaves it. An ack does not tell what
// the root comes to: it is one more than before.
func threaded(root, by *wire.Entry) *wire.Entry {
	c := proto.Clone(root).(*wire.Entry)
	c.Amended, c.Replies = by.Seq, by.Replies
	switch {
	case by.Replies == nil:
		c.Replies = &wire.Replies{Count: root.GetReplies().GetCount() + 1, LastAtMs: by.StoredAtMs}
	case by.Replies.Count == 0:
		c.Replies = nil
	}
	return c
}

// alsoInMain tells whether an entry is a message in a thread and in the conversation's line.
func alsoInMain(e *wire.Entry) bool {
	return e.AlsoInMain && e.Thread != 0 && e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE
}

// saidIn tells whether an entry is a message in the thread of root.
func saidIn(e *wire.Entry, root uint64) bool {
	return e.Thread == root && (isReply(e) || alsoInMain(e))
}

// inBoth applies a message that stands in a thread and in the conversation's line: what its
// root comes to. One that was taken back by now is not counted.
func (k *core) inBoth(cv *conv, e *wire.Entry, tell bool) {
	if alsoInMain(e) && !e.Recalled {
		k.saidInThread(cv, e.Thread, e)
		k.inThread(cv, e.Thread, e, tell)
	}
}

// inThread applies what an entry makes of the root of a thread, and tells it.
func (k *core) inThread(cv *conv, root uint64, by *wire.Entry, tell bool) {
	kept := k.kept(cv, root)
	if kept == nil {
		k.outside(cv, by, root)
		return
	}
	if kept.Deleted || kept.Recalled || kept.Amended >= by.Seq || kept.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE {
		return
	}
	now := threaded(kept, by)
	k.change(cv, now)
	if tell {
		k.feed(FeedItem{Kind: FeedChanged, Conversation: cv.rec.ID, Seq: root, Entry: now})
	}
}

// replied applies a reply.
func (k *core) replied(cv *conv, e *wire.Entry, tell bool) {
	k.noteMention(cv, e.Seq, e.Seq, k.mentionsIn(e) && !cv.rec.gone(e.Seq))
	k.saidInThread(cv, e.Target, e)
	k.inThread(cv, e.Target, e, tell)
}

// withoutReplies is a message as it is kept: what is pushed with it of its root is the
// root's.
func withoutReplies(e *wire.Entry) *wire.Entry {
	if e.Replies == nil || !alsoInMain(e) {
		return e
	}
	c := proto.Clone(e).(*wire.Entry)
	c.Replies = nil
	return c
}

// withdrawn applies the recall of a reply: it never was unread.
func (k *core) withdrawn(cv *conv, e *wire.Entry, tell bool) {
	k.noteMention(cv, e.Target, e.Seq, false)
	if e.Replies != nil {
		k.inThread(cv, e.Thread, e, tell)
	}
}

func (m *Message) setThread(e *wire.Entry) {
	m.Thread, m.AlsoInMain = e.Thread, alsoInMain(e)
	if r := e.Replies; r != nil && e.Thread == 0 && !amends(e) {
		m.Replies, m.LastReply = int(r.Count), time.UnixMilli(r.LastAtMs)
	}
}
