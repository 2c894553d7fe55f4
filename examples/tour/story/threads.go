package story

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// threads: Bob asks something below a message, Ann answers there; the conversation's own line
// and what is unread in it stay as they are. Bob has read the thread, and follows it no more.
// What he says there for all stands in both.
func threads(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	var root, reply, answer wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text("A new kettle")}, &root)
	t.hears("ann: A new kettle", all...)
	t.call(t.bob, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text("How large?"), Thread: root.Seq}, &reply)
	t.hears(fmt.Sprintf("bob, below %d: How large?", root.Seq), all...)
	t.hears(fmt.Sprintf("message %d says now: A new kettle (edits 0, 1 replies)", root.Seq), all...)
	t.call(t.ann, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text("Two litres"), Thread: reply.Seq}, &answer)
	t.hears(fmt.Sprintf("ann, below %d: Two litres", root.Seq), all...)
	t.refused(t.bob, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text("x"), Thread: 1}, wire.CodeNotFound)
	var thread wire.ListThreadResponse
	t.call(t.bob, "MessageService/ListThread", &wire.ListThreadRequest{Conversation: t.tea, Seq: root.Seq}, &thread)
	t.check(len(thread.Entries) == 2 && thread.GetThread().GetUnread() == 1 && thread.GetThread().GetFollows(), "Ann's answer is unread in the thread", &thread)
	mine := &wire.SetMyStateRequest{Conversation: t.tea, Thread: &wire.SetThread{Root: root.Seq, Read: proto.Uint64(answer.Seq), Follow: proto.Bool(false)}}
	t.call(t.bob, "MessageService/SetMyState", mine, new(wire.SetMyStateResponse))
	var list wire.ListThreadsResponse
	t.call(t.bob, "MessageService/ListThreads", &wire.ListThreadsRequest{}, &list)
	t.check(len(list.Threads) == 0, "Bob follows no thread", list.Threads)
	t.call(t.ann, "MessageService/ListThreads", &wire.ListThreadsRequest{}, &list)
	t.check(len(list.Threads) == 1 && list.Threads[0].GetUnread() == 0, "Ann follows hers", list.Threads)
	t.call(t.bob, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: t.tea, Seq: reply.Seq}, new(wire.RecallMessageResponse))
	t.hears(fmt.Sprintf("message %d was taken back", reply.Seq), all...)
	t.call(t.ann, "MessageService/ListThread", &wire.ListThreadRequest{Conversation: t.tea, Seq: root.Seq}, &thread)
	t.check(len(thread.Entries) == 1 && thread.GetThread().GetRoot().GetReplies().GetCount() == 1, "one reply is left", &thread)
	t.call(t.bob, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text("It is here"), Thread: root.Seq, AlsoInMain: true}, &answer)
	t.hears("bob: It is here", all...)
	t.call(t.ann, "MessageService/ListThread", &wire.ListThreadRequest{Conversation: t.tea, Seq: answer.Seq}, &thread)
	t.check(len(thread.Entries) == 2 && thread.Entries[1].AlsoInMain && thread.GetThread().GetUnread() == 1, "what all hear is in the thread as well", &thread)
}
