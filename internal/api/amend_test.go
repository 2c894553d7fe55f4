package api

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// What cannot be an amendment is refused before anything is asked, by its field.
func TestBadAmendments(t *testing.T) {
	c := NewCalls(Deps{})
	for _, tc := range []struct {
		method string
		in     proto.Message
		code   im.Code
		field  string
	}{
		{"MessageService/EditMessage", &wire.EditMessageRequest{Conversation: "dm:b:a", Seq: 1}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/EditMessage", &wire.EditMessageRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/EditMessage", &wire.EditMessageRequest{Conversation: "dm:a:b", Seq: 1}, im.CodeInvalidArgument, "content"},
		{"MessageService/EditMessage", &wire.EditMessageRequest{Conversation: "dm:a:b", Seq: 1, Id: []byte("x")}, im.CodeInvalidArgument, "id"},
		{"MessageService/ReactToMessage", &wire.ReactToMessageRequest{Conversation: "dm:a:b", Reaction: "x"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/ReactToMessage", &wire.ReactToMessageRequest{Conversation: "dm:a:b", Seq: 1}, im.CodeInvalidArgument, "reaction"},
		{"MessageService/ReactToMessage", &wire.ReactToMessageRequest{Conversation: "dm:a:b", Seq: 1, Reaction: "a b"}, im.CodeInvalidArgument, "reaction"},
		{"MessageService/ReactToMessage", &wire.ReactToMessageRequest{Conversation: "dm:a:b", Seq: 1, Reaction: strings.Repeat("x", 65)}, im.CodeTooLarge, "reaction"},
		{"MessageService/ListReactions", &wire.ListReactionsRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/ListReactions", &wire.ListReactionsRequest{Conversation: "dm:a:b", Seq: 1, Reaction: "a b"}, im.CodeInvalidArgument, "reaction"},
		{"MessageService/ListReactions", &wire.ListReactionsRequest{Conversation: "dm:a:b", Seq: 1, Cursor: "nobody"}, im.CodeInvalidArgument, "cursor"},
		{"MessageService/VoteInPoll", &wire.VoteInPollRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/VoteInPoll", &wire.VoteInPollRequest{Conversation: "dm:a:b", Seq: 1, Options: []string{"a", "b c"}}, im.CodeInvalidArgument, "options[1]"},
		{"MessageService/VoteInPoll", &wire.VoteInPollRequest{Conversation: "dm:a:b", Seq: 1, Options: []string{"a", "a"}}, im.CodeInvalidArgument, "options[1]"},
		{"MessageService/VoteInPoll", &wire.VoteInPollRequest{Conversation: "dm:a:b", Seq: 1, Options: make([]string, 21)}, im.CodeTooLarge, "options"},
		{"MessageService/EndPoll", &wire.EndPollRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Text: "x"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1}, im.CodeInvalidArgument, "text"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Id: []byte("x"), Text: "x"}, im.CodeInvalidArgument, "id"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Text: "x", Content: text("y")}, im.CodeInvalidArgument, "text"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Content: &wire.Content{Type: "text"}}, im.CodeInvalidArgument, "content"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Offset: 1, Content: text("y")}, im.CodeInvalidArgument, "offset"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Content: &wire.Content{Type: "file", Body: &wire.Content_Text{Text: "{}"}}}, im.CodeInvalidArgument, "content.type"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: &wire.Content{Type: "image", Body: &wire.Content_Text{Text: "{}"}}, Streaming: true}, im.CodeInvalidArgument, "content.type"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Content: &wire.Content{Type: "x", Body: &wire.Content_Data{Data: []byte{1}}}}, im.CodeInvalidArgument, "content"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Text: strings.Repeat("x", 65537)}, im.CodeTooLarge, "text"},
		{"MessageService/StreamMessage", &wire.StreamMessageRequest{Conversation: "dm:a:b", Seq: 1, Offset: 65537, End: true}, im.CodeTooLarge, "offset"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Streaming: true, Poll: asked("a")}, im.CodeInvalidArgument, "streaming"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: &wire.Content{Type: "x", Body: &wire.Content_Data{Data: []byte{1}}}, Streaming: true}, im.CodeInvalidArgument, "content"},
		{"MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Streaming: true}, AtMs: 1}, im.CodeInvalidArgument, "message.streaming"},
		{"MessageService/ListVotes", &wire.ListVotesRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/ListVotes", &wire.ListVotesRequest{Conversation: "dm:a:b", Seq: 1, Option: "a b"}, im.CodeInvalidArgument, "option"},
		{"MessageService/ListVotes", &wire.ListVotesRequest{Conversation: "dm:a:b", Seq: 1, Cursor: "no one"}, im.CodeInvalidArgument, "cursor"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Poll: &wire.Poll{}}, im.CodeInvalidArgument, "poll.options"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Poll: &wire.Poll{Options: make([]*wire.PollOption, 21)}}, im.CodeTooLarge, "poll.options"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Poll: asked("a", "a")}, im.CodeInvalidArgument, "poll.options[1].id"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Poll: &wire.Poll{Options: []*wire.PollOption{{Id: "a", Votes: 3}}}}, im.CodeInvalidArgument, "poll.options[0]"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Poll: &wire.Poll{Options: asked("a").Options, UntilMs: -1}}, im.CodeInvalidArgument, "poll.untilMs"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Poll: &wire.Poll{Options: asked("a").Options, Voters: 1}}, im.CodeInvalidArgument, "poll.voters"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("?"), Poll: &wire.Poll{Options: asked("a").Options, EndedAtMs: 1}}, im.CodeInvalidArgument, "poll.endedAtMs"},
		{"MessageService/ForwardMessages", &wire.ForwardMessagesRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "messages"},
		{"MessageService/ForwardMessages", &wire.ForwardMessagesRequest{Conversation: "dm:b:a"}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/ForwardMessages", &wire.ForwardMessagesRequest{Conversation: "dm:a:b", Messages: make([]*wire.ForwardSource, 101)}, im.CodeTooLarge, "messages"},
		{"MessageService/ForwardMessages", forwards(nil, &wire.ForwardSource{Conversation: "dm:b:a", Seq: 1}), im.CodeInvalidArgument, "messages[0].conversation"},
		{"MessageService/ForwardMessages", forwards(nil, &wire.ForwardSource{Conversation: "dm:a:b"}), im.CodeInvalidArgument, "messages[0].seq"},
		{"MessageService/ForwardMessages", forwards(nil, &wire.ForwardSource{Conversation: "dm:a:b", Seq: 1, Id: []byte("x")}), im.CodeInvalidArgument, "messages[0].id"},
		{"MessageService/ForwardMessages", forwards(&wire.ForwardMerge{}, &wire.ForwardSource{Conversation: "dm:a:b", Seq: 1}), im.CodeInvalidArgument, "merge.title"},
		{"MessageService/ForwardMessages", forwards(&wire.ForwardMerge{Title: "t", Id: []byte("x")}, &wire.ForwardSource{Conversation: "dm:a:b", Seq: 1}), im.CodeInvalidArgument, "merge.id"},
		{"MessageService/ForwardMessages", forwards(&wire.ForwardMerge{Title: "t"}, &wire.ForwardSource{Conversation: "dm:a:b", Seq: 1, Id: []byte("x")}), im.CodeInvalidArgument, "messages[0].id"},
		{"MessageService/PinMessage", &wire.PinMessageRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/PinMessage", &wire.PinMessageRequest{Conversation: "dm:b:a", Seq: 1}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/PinMessage", &wire.PinMessageRequest{Conversation: "dm:a:b", Seq: 1, Id: []byte("x")}, im.CodeInvalidArgument, "id"},
		{"MessageService/ListPins", &wire.ListPinsRequest{Conversation: "dm:b:a"}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{AtMs: 1}, im.CodeInvalidArgument, "message"},
		{"MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("x")}}, im.CodeInvalidArgument, "atMs"},
		{"MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: "dm:a:b"}, AtMs: 1}, im.CodeInvalidArgument, "message.content"},
		{"MessageService/ScheduleMessage", &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: "dm:a:b", Content: text("x")}, AtMs: -1}, im.CodeInvalidArgument, "atMs"},
		{"MessageService/ChangeScheduled", &wire.ChangeScheduledRequest{Id: []byte("x")}, im.CodeInvalidArgument, "id"},
		{"MessageService/CancelScheduled", &wire.CancelScheduledRequest{}, im.CodeInvalidArgument, "id"},
		{"MessageService/ListScheduled", &wire.ListScheduledRequest{Cursor: "x"}, im.CodeInvalidArgument, "cursor"},
		{"MessageService/ListEdits", &wire.ListEditsRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/ListEdits", &wire.ListEditsRequest{Conversation: "dm:b:a", Seq: 1}, im.CodeInvalidArgument, "conversation"},
	} {
		m, _ := wire.LookupMethod("skein.v1." + tc.method)
		_, err := invoke(t, c, alice, tc.method, tc.in, m.NewResponse())
		if im.CodeOf(err) != tc.code || im.Public(err).Field != tc.field {
			t.Errorf("%s %v: %v, want %s about %s", tc.method, tc.in, err, tc.code, tc.field)
		}
	}
}

func forwards(merge *wire.ForwardMerge, from ...*wire.ForwardSource) *wire.ForwardMessagesRequest {
	return &wire.ForwardMessagesRequest{Conversation: "dm:a:b", Messages: from, Merge: merge}
}

// asked is a poll with these options.
func asked(options ...string) *wire.Poll {
	p := &wire.Poll{}
	for _, id := range options {
		p.Options = append(p.Options, &wire.PollOption{Id: id})
	}
	return p
}
