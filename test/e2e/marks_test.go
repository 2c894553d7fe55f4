package e2e

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// kill ends the process as a crash does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
}

// TestAnsweredIsDurable: what was answered over HTTP is there after the process
// was killed at that moment. Of eight marks eight were gone.
func TestAnsweredIsDurable(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"embedded":   nil,
		"postgresql": {"--store", pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) { answeredIsDurable(t, serve(t, t.TempDir(), args...)) })
	}
}

func answeredIsDurable(t *testing.T, p *process) {
	tokens := map[string]string{}
	ask := func(user, method string, req, resp proto.Message) {
		t.Helper()
		if err := skein.Post(t.Context(), p.HTTP(), "skein.v1."+method, tokens[user], req, resp); err != nil {
			t.Fatalf("%s: %s: %v", user, method, err)
		}
	}
	for _, u := range []string{"ann", "bob"} {
		tokens[u] = mint(t, p, u, time.Hour).AccessToken
	}
	restart := func() {
		t.Helper()
		p.kill(t)
		p.Start(t)
	}
	ask("ann", "ContactService/RequestContact", &wire.RequestContactRequest{User: "bob"}, &wire.RequestContactResponse{})
	restart()
	ask("bob", "ContactService/AcceptContact", &wire.AcceptContactRequest{User: "ann"}, &wire.AcceptContactResponse{})
	restart()
	var made wire.CreateGroupResponse
	ask("ann", "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "Tea", Members: []string{"bob"}}, &made)
	restart()
	ask("bob", "UserService/UpdateProfile", &wire.UpdateProfileRequest{DisplayName: proto.String("Bobby")}, &wire.UpdateProfileResponse{})
	restart()
	var group wire.GetGroupResponse
	ask("bob", "GroupService/GetGroup", &wire.GetGroupRequest{Conversation: made.GetGroup().GetConversation()}, &group)
	if group.GetGroup().GetName() != "Tea" {
		t.Errorf("the group is %v", &group)
	}
	var users wire.GetUsersResponse
	if ask("ann", "UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{"bob"}}, &users); len(users.GetUsers()) != 1 || users.GetUsers()[0].GetDisplayName() != "Bobby" {
		t.Errorf("bob is %v", &users)
	}
	for round := range uint64(4) {
		for _, c := range []string{"dm:ann:bob", made.GetGroup().GetConversation()} {
			var sent wire.SendMessageResponse
			ask("ann", "MessageService/SendMessage", &wire.SendMessageRequest{
				Conversation: c, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "x"}},
			}, &sent)
			ask("bob", "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: c, Seq: sent.GetSeq()}, &wire.MarkReadResponse{})
			restart()
			var list wire.ListConversationsResponse
			ask("bob", "MessageService/ListConversations", &wire.ListConversationsRequest{}, &list)
			i := slices.IndexFunc(list.GetDelta().GetConversations(), func(st *wire.ConversationState) bool { return st.GetConversation() == c })
			if i < 0 {
				t.Fatalf("%s is not there", c)
			}
			if st := list.GetDelta().GetConversations()[i]; st.GetReadSeq() != sent.GetSeq() || st.GetUnread() != 0 {
				t.Errorf("round %d: %s was marked at %d, and is at %d with %d unread", round, c, sent.GetSeq(), st.GetReadSeq(), st.GetUnread())
			}
		}
	}
}
