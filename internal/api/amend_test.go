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
