package api

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

var (
	alice = im.Actor{User: "alice", Session: "s1", Address: "192.0.2.1"}
	root  = im.Actor{User: "root", Session: "s2", Role: im.ServerOwner}
	key   = im.Actor{Role: im.ServerOwner}
	none  = im.Actor{Address: "192.0.2.9"}
)

// script is a Messages whose methods are given by the test.
type script struct {
	send func(im.Message, func(im.Ack, error))
	mark func(c im.ConversationID, seq uint64) error
	sync func(im.SyncQuery) (im.SyncResult, error)
	pull func(im.PullQuery) (im.PullResult, error)

	from im.Actor // of the last Send
}

func (s *script) Send(_ context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	s.from = from
	s.send(m, reply)
}

func (s *script) MarkRead(_ context.Context, _ im.Actor, c im.ConversationID, seq uint64) error {
	return s.mark(c, seq)
}

func (s *script) SetMyState(_ context.Context, _ im.Actor, c im.ConversationID, change im.MyChange) (im.MyState, error) {
	state := im.MyState{Conversation: c, Revision: 1}
	change.Apply(&state)
	return state, nil
}

func (s *script) Edits(context.Context, im.Actor, im.ConversationID, uint64, uint32, int) ([]*wire.Edited, uint32, error) {
	return nil, 0, nil
}

func (s *script) Votes(context.Context, im.Actor, im.ConversationID, uint64, string, im.UserID, int) ([]*wire.Voted, bool, error) {
	return nil, false, nil
}

func (s *script) Reactions(context.Context, im.Actor, im.ConversationID, uint64, string, entrycodec.Record, int) ([]entrycodec.Record, bool, error) {
	return nil, false, nil
}

func (s *script) Sync(_ context.Context, _ im.Actor, q im.SyncQuery) (im.SyncResult, error) {
	return s.sync(q)
}

func (s *script) Pull(_ context.Context, _ im.Actor, q im.PullQuery) (im.PullResult, error) {
	return s.pull(q)
}

// invoke runs a method by its short name and decodes the answer.
func invoke[Out proto.Message](t *testing.T, c *Calls, actor im.Actor, method string, in proto.Message, out Out) (Out, error) {
	t.Helper()
	payload, err := proto.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Call(t.Context(), actor, im.Call{Method: "skein.v1." + method, Payload: payload})
	if err != nil {
		return out, err
	}
	if err := proto.Unmarshal(answer, out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

// Deny by default: every method of the contract has a row, and nothing else has.
func TestEveryMethodHasARow(t *testing.T) {
	rows := make(map[string]row)
	for _, r := range new(Calls).table() {
		if _, twice := rows[r.Name]; twice {
			t.Errorf("%s has two rows", r.Name)
		}
		rows[r.Name] = r
	}
	for _, m := range wire.Methods() {
		r, ok := rows[m.Name()]
		if !ok {
			t.Errorf("%s has no row in table.go", m.Name())
			continue
		}
		delete(rows, m.Name())
		if got, want := proto.MessageName(r.request), proto.MessageName(m.NewRequest()); got != want {
			t.Errorf("%s: the handler takes %s, the contract says %s", r.Name, got, want)
		}
		if got, want := proto.MessageName(r.response), proto.MessageName(m.NewResponse()); got != want {
			t.Errorf("%s: the handler returns %s, the contract says %s", r.Name, got, want)
		}
		if r.Who < Anyone || r.Who > Owners {
			t.Errorf("%s: nobody may call it", r.Name)
		}
		if _, ok := DefaultLimits()[r.Class]; !ok {
			t.Errorf("%s: rate class %q has no limit", r.Name, r.Class)
		}
		if r.MaxBytes <= 0 || r.MaxBytes > 1<<20 {
			t.Errorf("%s: request limit %d", r.Name, r.MaxBytes)
		}
	}
	for name := range rows {
		t.Errorf("row %s is not in services.proto", name)
	}
}

// Only these need no token. A method that is added here is a decision.
func TestOpenMethods(t *testing.T) {
	var open []string
	for _, m := range Methods() {
		if m.Who == Anyone {
			open = append(open, m.Name)
		}
		if strings.HasPrefix(m.Name, "skein.v1.AdminService/") && m.Who < Staff && m.Name != claimMethod {
			t.Errorf("%s is for %s", m.Name, m.Who)
		}
	}
	want := []string{
		"skein.v1.AccountService/Register", "skein.v1.AccountService/Login", "skein.v1.AccountService/Refresh",
		"skein.v1.AccountService/LoginWithCode", "skein.v1.AccountService/ResetPassword",
		"skein.v1.AccountService/ListLoginProviders", "skein.v1.AccountService/BeginProviderLogin", "skein.v1.AccountService/AnswerProviderLogin", "skein.v1.AccountService/FinishProviderLogin",
		"skein.v1.AccountService/RegisterGuest", "skein.v1.GroupService/GetInviteLink",
		"skein.v1.AdminService/ClaimAdmin", "skein.v1.AccountService/GetServerInfo",
	}
	if !slices.Equal(open, want) {
		t.Errorf("open methods: %v", open)
	}
}

func TestWhoMayCall(t *testing.T) {
	c := NewCalls(Deps{Messages: &script{mark: func(im.ConversationID, uint64) error { return nil }}})
	seq := &wire.MarkReadRequest{Conversation: "dm:alice:bob", Seq: 1}
	for _, tc := range []struct {
		name   string
		actor  im.Actor
		method string
		in     proto.Message
		want   im.Code
	}{
		{"user method, no token", none, "MessageService/MarkRead", seq, im.CodeUnauthenticated},
		{"user method, zero actor", im.Actor{}, "MessageService/MarkRead", seq, im.CodeUnauthenticated},
		{"user method, user", alice, "MessageService/MarkRead", seq, ""},
		{"user method, administrator", root, "MessageService/MarkRead", seq, ""},
		{"user method, admin key", key, "MessageService/MarkRead", seq, im.CodePermissionDenied},
		{"admin method, no token", none, "AdminService/KickUser", &wire.KickUserRequest{}, im.CodeUnauthenticated},
		{"admin method, user", alice, "AdminService/KickUser", &wire.KickUserRequest{}, im.CodePermissionDenied},
		{"admin method, administrator", root, "AdminService/KickUser", &wire.KickUserRequest{}, im.CodeInvalidArgument},
		{"admin method, admin key", key, "AdminService/KickUser", &wire.KickUserRequest{}, im.CodeInvalidArgument},
		{"open method, no token", none, "AccountService/Login", &wire.LoginRequest{}, im.CodeInvalidArgument},
		{"unknown method", alice, "GroupService/Nothing", seq, im.CodeUnimplemented},
		{"no method", none, "", seq, im.CodeUnimplemented},
	} {
		_, err := invoke(t, c, tc.actor, tc.method, tc.in, &wire.MarkReadResponse{})
		if got := im.CodeOf(err); got != tc.want {
			t.Errorf("%s: %q (%v), want %q", tc.name, got, err, tc.want)
		}
	}
	if err := Who(0).allows(root); err == nil {
		t.Error("a row that does not say who may is callable")
	}
}

func TestRequestsAreBounded(t *testing.T) {
	c := NewCalls(Deps{})
	for _, m := range Methods() {
		_, err := c.Call(t.Context(), root, im.Call{Method: m.Name, Payload: make([]byte, m.MaxBytes+1)})
		if im.CodeOf(err) != im.CodeTooLarge || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %v", m.Name, err)
		}
		for _, garbage := range [][]byte{{0xff}, {0x0a, 0x05, 'a'}, {0x0b}} {
			if _, err := c.Call(t.Context(), root, im.Call{Method: m.Name, Payload: garbage}); im.CodeOf(err) != im.CodeInvalidArgument {
				t.Errorf("%s with %x: %v", m.Name, garbage, err)
			}
		}
	}
	if _, err := c.Call(t.Context(), none, im.Call{Method: "skein.v1.AccountService/Login", Payload: []byte{0x0a, 0x02, 0xff, 0xfe}}); im.CodeOf(err) != im.CodeInvalidArgument {
		t.Errorf("invalid UTF-8: %v", err)
	}
}

// Each refusal names the field.
func TestBadRequests(t *testing.T) {
	c := NewCalls(Deps{Messages: &script{}})
	long := strings.Repeat("x", 300)
	many := slices.Repeat([]string{"u"}, 1001)
	for _, tc := range []struct {
		method string
		in     proto.Message
		code   im.Code
		field  string
	}{
		{"AccountService/Register", &wire.RegisterRequest{Password: "12345678"}, im.CodeInvalidArgument, "username"},
		{"AccountService/Register", &wire.RegisterRequest{Username: "bob"}, im.CodeInvalidArgument, "password"},
		{"AccountService/Register", &wire.RegisterRequest{Username: "bob", Password: long}, im.CodeTooLarge, "password"},
		{"AccountService/Register", &wire.RegisterRequest{Username: "bob", Password: "12345678", DisplayName: long}, im.CodeTooLarge, "displayName"},
		{"AccountService/Register", &wire.RegisterRequest{Username: "bob", Password: "12345678", DisplayName: "a\nb"}, im.CodeInvalidArgument, "displayName"},
		{"AccountService/Register", &wire.RegisterRequest{Username: "bob", Password: "12345678", Device: &wire.Device{Id: "a.b"}}, im.CodeInvalidArgument, "device.id"},
		{"AccountService/Login", &wire.LoginRequest{Username: "bob", Password: "x", Device: &wire.Device{Id: "a", Name: long}}, im.CodeTooLarge, "device.name"},
		{"AccountService/Refresh", &wire.RefreshRequest{}, im.CodeInvalidArgument, "refreshToken"},
		{"AccountService/RevokeSession", &wire.RevokeSessionRequest{}, im.CodeInvalidArgument, "session"},
		{"AccountService/ChangePassword", &wire.ChangePasswordRequest{NewPassword: "12345678"}, im.CodeInvalidArgument, "oldPassword"},
		{"AccountService/ChangePassword", &wire.ChangePasswordRequest{OldPassword: "12345678"}, im.CodeInvalidArgument, "newPassword"},
		{"UserService/GetUsers", &wire.GetUsersRequest{Ids: many[:201]}, im.CodeTooLarge, "ids"},
		{"UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{"ok", "u.>"}}, im.CodeInvalidArgument, "ids[1]"},
		{"UserService/FindUser", &wire.FindUserRequest{}, im.CodeInvalidArgument, "username"},
		{"UserService/UpdateProfile", &wire.UpdateProfileRequest{DisplayName: proto.String("")}, im.CodeInvalidArgument, "displayName"},
		{"UserService/UpdateProfile", &wire.UpdateProfileRequest{DmPolicy: 9}, im.CodeInvalidArgument, "dmPolicy"},
		{"ContactService/RequestContact", &wire.RequestContactRequest{}, im.CodeInvalidArgument, "user"},
		{"ContactService/RequestContact", &wire.RequestContactRequest{User: "bob", Message: long}, im.CodeTooLarge, "message"},
		{"ContactService/AcceptContact", &wire.AcceptContactRequest{User: "*"}, im.CodeInvalidArgument, "user"},
		{"ContactService/RefuseContact", &wire.RefuseContactRequest{User: "*"}, im.CodeInvalidArgument, "user"},
		{"ContactService/RemoveContact", &wire.RemoveContactRequest{User: "*"}, im.CodeInvalidArgument, "user"},
		{"ContactService/BlockUser", &wire.BlockUserRequest{User: "*"}, im.CodeInvalidArgument, "user"},
		{"ContactService/UnblockUser", &wire.UnblockUserRequest{User: "*"}, im.CodeInvalidArgument, "user"},
		{"ContactService/SetRemark", &wire.SetRemarkRequest{User: "bob", Remark: long}, im.CodeTooLarge, "remark"},
		{"ContactService/ListContacts", &wire.ListContactsRequest{Limit: 501}, im.CodeInvalidArgument, "limit"},
		{"ContactService/ListContacts", &wire.ListContactsRequest{Cursor: strings.Repeat("x", 513)}, im.CodeInvalidArgument, "cursor"},
		{"GroupService/CreateGroup", &wire.CreateGroupRequest{}, im.CodeInvalidArgument, "name"},
		{"GroupService/CreateGroup", &wire.CreateGroupRequest{Name: long}, im.CodeTooLarge, "name"},
		{"GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "g", Members: many}, im.CodeTooLarge, "members"},
		{"GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "g", RequestId: "a b"}, im.CodeInvalidArgument, "requestId"},
		{"GroupService/GetGroup", &wire.GetGroupRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "conversation"},
		{"GroupService/RenameGroup", &wire.RenameGroupRequest{Conversation: "grp:g"}, im.CodeInvalidArgument, "name"},
		{"GroupService/ListMembers", &wire.ListMembersRequest{Conversation: "grp:g", Limit: 1 << 31}, im.CodeInvalidArgument, "limit"},
		{"GroupService/AddMembers", &wire.AddMembersRequest{Conversation: "grp:g"}, im.CodeInvalidArgument, "users"},
		{"GroupService/RemoveMembers", &wire.RemoveMembersRequest{Conversation: "grp:g", Users: many}, im.CodeTooLarge, "users"},
		{"GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: "grp:"}, im.CodeInvalidArgument, "conversation"},
		{"GroupService/SetRole", &wire.SetRoleRequest{Conversation: "grp:g", User: "b", Role: wire.Role_ROLE_OWNER}, im.CodeInvalidArgument, "role"},
		{"GroupService/SetRole", &wire.SetRoleRequest{Conversation: "grp:g", User: "b", Role: 77}, im.CodeInvalidArgument, "role"},
		{"GroupService/SetRole", &wire.SetRoleRequest{Conversation: "grp:g", User: "b", Role: 258}, im.CodeInvalidArgument, "role"},
		{"GroupService/TransferOwnership", &wire.TransferOwnershipRequest{Conversation: "grp:g"}, im.CodeInvalidArgument, "user"},
		{"GroupService/MuteMember", &wire.MuteMemberRequest{Conversation: "grp:g", User: "b", UntilMs: -1}, im.CodeInvalidArgument, "untilMs"},
		{"GroupService/MuteMember", &wire.MuteMemberRequest{Conversation: "grp:g", User: "b", UntilMs: 1 << 62}, im.CodeInvalidArgument, "untilMs"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:b:a"}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "content"},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:a:b", Id: []byte("x")}, im.CodeInvalidArgument, "id"},
		{"MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: "x"}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/ListConversations", &wire.ListConversationsRequest{Position: strings.Repeat("x", 513)}, im.CodeInvalidArgument, "position"},
		{"MessageService/MarkRead", &wire.MarkReadRequest{Conversation: "dm:a:b"}, im.CodeInvalidArgument, "seq"},
		{"MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: "dm:b:a", Pinned: proto.Bool(true)}, im.CodeInvalidArgument, "conversation"},
		{"MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: "dm:a:b", MutedUntilMs: proto.Int64(-1)}, im.CodeInvalidArgument, "mutedUntilMs"},
		{"AdminService/ClaimAdmin", &wire.ClaimAdminRequest{Username: "root", Password: "12345678"}, im.CodeInvalidArgument, "code"},
		{"AdminService/MintToken", &wire.MintTokenRequest{}, im.CodeInvalidArgument, "user"},
		{"AdminService/MintToken", &wire.MintTokenRequest{User: "u", LifetimeMs: -1}, im.CodeInvalidArgument, "lifetimeMs"},
		{"AdminService/MintToken", &wire.MintTokenRequest{User: "u", LifetimeMs: 367 * 86400000}, im.CodeInvalidArgument, "lifetimeMs"},
		{"AdminService/CreateUser", &wire.CreateUserRequest{Username: "bob"}, im.CodeInvalidArgument, "password"},
		{"AdminService/ListUsers", &wire.ListUsersRequest{Limit: 501}, im.CodeInvalidArgument, "limit"},
		{"AdminService/ListUserSessions", &wire.ListUserSessionsRequest{}, im.CodeInvalidArgument, "user"},
		{"AdminService/KickUser", &wire.KickUserRequest{User: "u", Session: "a/b"}, im.CodeInvalidArgument, "session"},
	} {
		m, _ := wire.LookupMethod("skein.v1." + tc.method)
		_, err := invoke(t, c, root, tc.method, tc.in, m.NewResponse())
		if im.CodeOf(err) != tc.code || im.Public(err).Field != tc.field {
			t.Errorf("%s %v: %v, want %s about %s", tc.method, tc.in, err, tc.code, tc.field)
		}
	}
}

func TestSendMessage(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	var sent []im.Message
	c := NewCalls(Deps{
		Now: func() time.Time { return now }, Random: bytes.NewReader(bytes.Repeat([]byte{0xff}, 10)),
		Messages: &script{send: func(m im.Message, reply func(im.Ack, error)) {
			sent = append(sent, m)
			go reply(im.Ack{Seq: 7, Count: 5, Stored: now}, nil)
		}},
	})
	text := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}
	r, err := invoke(t, c, alice, "MessageService/SendMessage", &wire.SendMessageRequest{
		Conversation: "dm:alice:bob", Content: text, ReplyTo: 3, Mentions: []string{"bob"},
	}, &wire.SendMessageResponse{})
	if err != nil {
		t.Fatal(err)
	}
	want := im.NewMessageID(now, [10]byte(bytes.Repeat([]byte{0xff}, 10)))
	if r.GetSeq() != 7 || r.GetStoredAtMs() != now.UnixMilli() || !bytes.Equal(r.GetId(), want[:]) {
		t.Errorf("answer %v", r)
	}
	var said wire.Entry
	if err := entrycodec.Decode(sent[0].Body, &said); err != nil {
		t.Fatal(err)
	}
	if m := sent[0]; m.ID != want || m.Kind != im.EntryMessage || m.ReplyTo != 3 || said.GetContent().GetText() != "hi" || said.GetReplyTo() != 3 || said.GetMentions()[0] != "bob" {
		t.Errorf("sent %+v, which says %v", m, &said)
	}

	own := im.NewMessageID(now, [10]byte{1})
	r, err = invoke(t, c, alice, "MessageService/SendMessage", &wire.SendMessageRequest{
		Conversation: "dm:alice:bob", Id: own[:], Content: text,
	}, &wire.SendMessageResponse{})
	if err != nil || !bytes.Equal(r.GetId(), own[:]) || sent[1].ID != own {
		t.Errorf("own id: %v, %v", r, err)
	}

	// No randomness left: no id, nothing sent.
	_, err = invoke(t, c, alice, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: "dm:alice:bob", Content: text}, &wire.SendMessageResponse{})
	if im.CodeOf(err) != im.CodeInternal || len(sent) != 2 {
		t.Errorf("without randomness: %v, %d sent", err, len(sent))
	}
}

// Whoever stops waiting is told that the outcome is unknown, never that it failed.
func TestSendOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late func(im.Ack, error)
		c := NewCalls(Deps{Messages: &script{send: func(_ im.Message, reply func(im.Ack, error)) { late = reply }}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		payload, err := proto.Marshal(&wire.SendMessageRequest{Conversation: "dm:alice:bob", Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(ctx, alice, im.Call{Method: "skein.v1.MessageService/SendMessage", Payload: payload})
		if im.CodeOf(err) != im.CodeUnknown {
			t.Errorf("got %v", err)
		}
		late(im.Ack{Seq: 1}, nil) // must not block: nobody waits
	})
}

// entriesTo has entries up to a seq, all stored at one time.
type entriesTo struct {
	Lists
	last uint64
	at   time.Time
}

func (l entriesTo) Entry(_ context.Context, _ im.Actor, c im.ConversationID, seq uint64) (im.Entry, error) {
	if seq > l.last {
		return im.Entry{}, im.Errorf(im.CodeNotFound, "no such message")
	}
	return im.Entry{Conversation: c, Seq: seq, Stored: l.at}, nil
}

func TestRecallIsOneEntryHoweverOftenItIsAsked(t *testing.T) {
	stored := time.UnixMilli(1_700_000_000_123)
	var sent []im.Message
	c := NewCalls(Deps{Lists: entriesTo{last: 9, at: stored}, Messages: &script{
		send: func(m im.Message, reply func(im.Ack, error)) {
			sent = append(sent, m)
			reply(im.Ack{Seq: 10}, nil)
		},
	}}) // the recall needs no clock and no randomness of its own
	recall := func(actor im.Actor, conversation string, seq uint64) im.MessageID {
		t.Helper()
		r, err := invoke(t, c, actor, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: conversation, Seq: seq}, &wire.RecallMessageResponse{})
		if err != nil || r.GetSeq() != 10 {
			t.Fatalf("recall: %v, %v", r, err)
		}
		return sent[len(sent)-1].ID
	}
	id := recall(alice, "dm:alice:bob", 4)
	if m := sent[0]; m.Kind != im.EntryRecall || m.Target != 4 || m.Conversation != "dm:alice:bob" || len(m.Body) != 0 || m.Hash != entrycodec.RecallHash("dm:alice:bob", 4) {
		t.Errorf("sent %+v", m)
	}
	if _, err := im.ParseMessageID(id[:]); err != nil || !id.Time().Equal(stored) {
		t.Errorf("id %s: %v", id, err)
	}
	if again := recall(alice, "dm:alice:bob", 4); again != id {
		t.Errorf("again: %s, then %s", id, again)
	}
	for what, other := range map[string]im.MessageID{
		"another entry":        recall(alice, "dm:alice:bob", 5),
		"another conversation": recall(alice, "dm:alice:carl", 4),
		"another user":         recall(root, "dm:alice:bob", 4),
	} {
		if other == id {
			t.Errorf("%s has the same id", what)
		}
	}
	if _, err := invoke(t, c, alice, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: "dm:alice:bob", Seq: 10}, &wire.RecallMessageResponse{}); im.CodeOf(err) != im.CodeNotFound {
		t.Errorf("beyond the head: %v", err)
	}
}

func TestReadingMessages(t *testing.T) {
	entry := im.Entry{Conversation: "grp:g", Seq: 3, Sender: "bob", Kind: im.EntryMessage, Count: 2,
		Body: entrycodec.Encode(&wire.Entry{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}})}
	c := NewCalls(Deps{Messages: &script{
		pull: func(q im.PullQuery) (im.PullResult, error) {
			if q != (im.PullQuery{Conversation: "grp:g", From: 9, Backward: true, Limit: 5}) {
				t.Errorf("pull %+v", q)
			}
			return im.PullResult{Stretch: im.Stretch{First: entry.Seq, Last: entry.Seq, Entries: []im.Entry{entry}}, Head: 9}, nil
		},
		sync: func(q im.SyncQuery) (im.SyncResult, error) {
			if !reflect.DeepEqual(q, im.SyncQuery{Position: "p", Timeline: "t", Limit: 4, Cursor: "c"}) {
				t.Errorf("sync %+v", q)
			}
			return im.SyncResult{Timeline: "t", Position: "q", Next: "n", Reset: true, Conversations: []im.ConversationState{{
				Conversation: "grp:g", Head: im.Head{Seq: 3, Count: 2}, First: 1, Unread: 1, Title: "G", Told: im.Stretch{First: entry.Seq, Last: entry.Seq, Entries: []im.Entry{entry}},
			}}}, nil
		},
		mark: func(c im.ConversationID, seq uint64) error {
			if c != "grp:g" || seq != 3 {
				t.Errorf("mark %s %d", c, seq)
			}
			return nil
		},
	}})
	l, err := invoke(t, c, alice, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: "grp:g", From: 9, Backward: true, Limit: 5}, &wire.ListEntriesResponse{})
	if err != nil || l.GetHead() != 9 || l.GetEntries()[0].GetContent().GetText() != "hi" || l.GetEntries()[0].GetSeq() != 3 {
		t.Errorf("ListEntries: %v, %v", l, err)
	}
	s, err := invoke(t, c, alice, "MessageService/ListConversations", &wire.ListConversationsRequest{Position: "p", Timeline: "t", Limit: 4, Cursor: "c"}, &wire.ListConversationsResponse{})
	if d := s.GetDelta(); err != nil || d.GetPosition() != "q" || d.GetNext() != "n" || !d.GetReset_() || d.GetConversations()[0].GetTitle() != "G" || d.GetConversations()[0].GetEntries()[0].GetSeq() != 3 {
		t.Errorf("ListConversations: %v, %v", s, err)
	}
	until := int64(1_900_000_000_123)
	mine, err := invoke(t, c, alice, "MessageService/SetMyState", &wire.SetMyStateRequest{Conversation: "grp:g", MutedUntilMs: &until, Pinned: proto.Bool(true)}, &wire.SetMyStateResponse{})
	if m := mine.GetState(); err != nil || m.GetConversation() != "grp:g" || m.GetMutedUntilMs() != until || !m.GetPinned() || m.GetRevision() != 1 {
		t.Errorf("SetMyState: %v, %v", mine, err)
	}
	if _, err := invoke(t, c, alice, "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: "grp:g", Seq: 3}, &wire.MarkReadResponse{}); err != nil {
		t.Errorf("MarkRead: %v", err)
	}
}

// A context that ended inside a business package has a code for the caller.
func TestLateAnswers(t *testing.T) {
	read, write := Method{Class: ClassRead}, Method{Class: ClassWrite}
	for _, tc := range []struct {
		m    Method
		err  error
		want im.Code
	}{
		{read, context.DeadlineExceeded, im.CodeUnavailable},
		{write, context.DeadlineExceeded, im.CodeUnknown},
		{write, context.Canceled, im.CodeUnknown},
		{write, im.Wrap(context.Canceled, im.CodeConflict, "x"), im.CodeConflict},
		{write, errors.New("disk on fire"), im.CodeInternal},
	} {
		if got := im.CodeOf(late(tc.m, tc.err)); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}

// What a connection sends by a Call is pushed to it as to the others: a Result is no
// ack, and a client that asks for any method by its name knows nothing of entries.
func TestAResultIsNoAck(t *testing.T) {
	s := &script{send: func(_ im.Message, reply func(im.Ack, error)) { reply(im.Ack{Seq: 1}, nil) }}
	c := NewCalls(Deps{Messages: s})
	connected := alice
	connected.Connection = "node-1"
	request := &wire.SendMessageRequest{Conversation: "dm:alice:bob", Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}}
	if _, err := invoke(t, c, connected, "MessageService/SendMessage", request, &wire.SendMessageResponse{}); err != nil {
		t.Fatal(err)
	}
	if s.from.Connection != "" || s.from.User != alice.User {
		t.Errorf("sent as %+v", s.from)
	}
}
