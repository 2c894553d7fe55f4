package api

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// threadCells are the rows of the matrix about threads: who may not read a message may not
// see its thread, nor say anything in it.
var threadCells = []cell{
	{"MessageService/ListThread", "group", whoReads, func(s *scene) proto.Message {
		return &wire.ListThreadRequest{Conversation: s.group, Seq: s.said}
	}},
	{"MessageService/ListThread", "chat", friends, func(s *scene) proto.Message {
		return &wire.ListThreadRequest{Conversation: s.chat, Seq: s.whisper}
	}},
	{"MessageService/ListThread", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.ListThreadRequest{Conversation: "me:" + s.bob.id, Seq: 1}
	}},
	{"MessageService/ListThreads", "", users, func(*scene) proto.Message { return &wire.ListThreadsRequest{} }},
	{"MessageService/ListThreads", "group", whoReads, func(s *scene) proto.Message { return &wire.ListThreadsRequest{Conversation: s.group} }},
	{"MessageService/ListThreads", "chat", friends, func(s *scene) proto.Message { return &wire.ListThreadsRequest{Conversation: s.chat} }},
	{"MessageService/ListThreads", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.ListThreadsRequest{Conversation: "me:" + s.bob.id}
	}},
	{"MessageService/SendMessage", "in a thread", inGroup, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: s.group, Content: text("hello"), Thread: s.said}
	}},
	{"MessageService/SendMessage", "in a thread of the chat", friends, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: s.chat, Content: text("hello"), Thread: s.whisper}
	}},
	{"MessageService/ScheduleMessage", "in a thread", inGroup, func(s *scene) proto.Message {
		return &wire.ScheduleMessageRequest{AtMs: inAnHour(), Message: &wire.SendMessageRequest{Conversation: s.group, Content: text("hello"), Thread: s.said}}
	}},
	{"MessageService/ScheduleMessage", "in a thread of the chat", friends, func(s *scene) proto.Message {
		return &wire.ScheduleMessageRequest{AtMs: inAnHour(), Message: &wire.SendMessageRequest{Conversation: s.chat, Content: text("hello"), Thread: s.whisper}}
	}},
}

// What is wrong in what is asked of threads is refused by its name.
func TestBadThreads(t *testing.T) {
	c := NewCalls(Deps{})
	alice := im.Actor{User: "alice"}
	for _, tc := range []struct {
		method string
		in     proto.Message
		code   im.Code
		field  string
	}{
		{"MessageService/ListThread", &wire.ListThreadRequest{Conversation: "dm:b:a", Seq: 1}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/ListThread", &wire.ListThreadRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/ListThread", &wire.ListThreadRequest{Conversation: "dm:a:b", Seq: 1 << 63}, im.CodeInvalidArgument, "seq"},
		{"MessageService/ListThreads", &wire.ListThreadsRequest{Conversation: "dm:b:a"}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("x"), Thread: 1 << 63}, im.CodeInvalidArgument, "thread"},
		{"MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: "dm:a:b", Thread: &wire.SetThread{}}, im.CodeInvalidArgument, "thread.root"},
		{"MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: "dm:a:b", Thread: &wire.SetThread{Root: 1}}, im.CodeInvalidArgument, "thread.follow"},
		{"MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{AtMs: 1, Message: &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("x"), Thread: 1 << 63}}, im.CodeInvalidArgument, "message.thread"},
		{"MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{AtMs: 1, Message: &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("x"), AlsoInMain: true}}, im.CodeInvalidArgument, "message.alsoInMain"},
	} {
		m, _ := wire.LookupMethod("skein.v1." + tc.method)
		_, err := invoke(t, c, alice, tc.method, tc.in, m.NewResponse())
		if im.CodeOf(err) != tc.code || im.Public(err).Field != tc.field {
			t.Errorf("%s %v: %v, want %s about %s", tc.method, tc.in, err, tc.code, tc.field)
		}
	}
}

// What is said in a thread later is told with its thread, and of a root that is not there,
// or was taken back, at once.
func TestRepliesLater(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	in := func(root uint64, also bool) *wire.SendMessageRequest {
		return &wire.SendMessageRequest{Conversation: s.group, Content: text("later"), Thread: root, AlsoInMain: also}
	}
	var made wire.ScheduleMessageResponse
	w.must(s.me.token, "MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{Message: in(s.said, false), AtMs: inAnHour()}, &made)
	told := func() *wire.SendMessageRequest {
		t.Helper()
		var all wire.ListScheduledResponse
		w.must(s.me.token, "MessageService/ListScheduled", &wire.ListScheduledRequest{}, &all)
		if len(all.GetScheduled()) != 1 {
			t.Fatalf("scheduled: %v", all.GetScheduled())
		}
		return all.GetScheduled()[0].GetMessage()
	}
	if m := told(); m.GetThread() != s.said || m.GetAlsoInMain() {
		t.Errorf("told as %v", m)
	}
	w.must(s.me.token, "MessageService/ChangeScheduled", &wire.ChangeScheduledRequest{Id: made.GetId(), Message: in(s.mine, true)}, nil)
	if m := told(); m.GetThread() != s.mine || !m.GetAlsoInMain() {
		t.Errorf("changed, it is told as %v", m)
	}
	w.must(s.me.token, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: s.group, Seq: s.mine}, nil)
	for _, tc := range []struct {
		root uint64
		code im.Code
	}{{9999, im.CodeNotFound}, {1, im.CodeNotFound}, {s.mine, im.CodeTooLate}} { // the first entry of a group is an event
		for method, req := range map[string]proto.Message{
			"MessageService/ScheduleMessage": &wire.ScheduleMessageRequest{Message: in(tc.root, false), AtMs: inAnHour()},
			"MessageService/ChangeScheduled": &wire.ChangeScheduledRequest{Id: made.GetId(), Message: in(tc.root, false)},
		} {
			if code, field := w.refusal(s.me.token, method, req); code != tc.code || field != "message.thread" {
				t.Errorf("%s below %d: %s about %s, want %s about message.thread", method, tc.root, code, field, tc.code)
			}
		}
	}
}
