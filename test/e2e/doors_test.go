package e2e

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skein-im/skein/wire"
)

// doors: a method gives the same answer over HTTP in JSON and protobuf, and as
// a Call in protobuf and JSON.
func doors(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	befriend(t, ann, bob)
	g := must(ann.Groups().Create(t.Context(), "Tea", "bob"))(t).Conversation
	ann.says(g, "hi 🌻")
	ann.reaches(g, 2)
	ann.leave() // its place on the connection is taken by the one below
	r := dialRaw(t, w, 0)
	r.hello(ann.device.token, ann.device.id, ann.device.class)
	for _, c := range []struct {
		method  string
		request proto.Message
		code    wire.Code
	}{
		{"UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{"ann", "bob", "nobody"}}, ""},
		{"UserService/FindUser", &wire.FindUserRequest{Username: "nobody"}, wire.CodeNotFound},
		{"UserService/FindUser", &wire.FindUserRequest{}, wire.CodeInvalidArgument},
		{"UserService/UpdateProfile", &wire.UpdateProfileRequest{DisplayName: proto.String("Ann 🌻")}, ""},
		{"ContactService/ListContacts", &wire.ListContactsRequest{Limit: 1}, ""},
		{"ContactService/ListContacts", &wire.ListContactsRequest{Limit: 501}, wire.CodeInvalidArgument},
		{"ContactService/SetRemark", &wire.SetRemarkRequest{User: "bob", Remark: "Bobby"}, ""},
		{"GroupService/GetGroup", &wire.GetGroupRequest{Conversation: g}, ""},
		{"GroupService/GetGroup", &wire.GetGroupRequest{Conversation: "grp:nowhere"}, wire.CodeNotFound},
		{"GroupService/ListMembers", &wire.ListMembersRequest{Conversation: g}, ""},
		{"GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: g}, wire.CodePermissionDenied},
		{"MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: g, Backward: true}, ""},
		{"MessageService/MarkRead", &wire.MarkReadRequest{Conversation: g, Seq: 1<<53 + 1}, wire.CodeInvalidArgument},
		{"MessageService/SendMessage", &wire.SendMessageRequest{Conversation: g, Id: fixedID(), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "once"}}}, ""},
		{"MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: g, Seq: 99}, wire.CodeNotFound},
		{"AccountService/ListSessions", &wire.ListSessionsRequest{}, ""},
		{"AdminService/ListUsers", &wire.ListUsersRequest{}, wire.CodePermissionDenied},
		{"TeaService/Brew", &wire.GetUsersRequest{}, wire.CodeUnimplemented},
	} {
		t.Run(c.method+" "+string(c.code), func(t *testing.T) {
			method := "skein.v1." + c.method
			want, wantErr := overHTTP(t, w, ann.device.token, method, c.request, true)
			if got := wire.Code(wantErr.GetCode()); got != c.code {
				t.Fatalf("code %q, want %q", got, c.code)
			}
			for name, ask := range map[string]func() (proto.Message, *wire.Error){
				"HTTP protobuf": func() (proto.Message, *wire.Error) {
					return overHTTP(t, w, ann.device.token, method, c.request, false)
				},
				"Call protobuf": func() (proto.Message, *wire.Error) { return overCall(t, r, method, c.request, false) },
				"Call JSON":     func() (proto.Message, *wire.Error) { return overCall(t, r, method, c.request, true) },
			} {
				got, err := ask()
				if !proto.Equal(strip(got), strip(want)) || err.GetCode() != wantErr.GetCode() || err.GetMessage() != wantErr.GetMessage() {
					t.Errorf("%s: %v %v\nHTTP JSON: %v %v", name, got, err, want, wantErr)
				}
			}
		})
	}
}

// fixedID is a UUIDv7: with it a repeated send is the same send.
func fixedID() []byte {
	b, _ := base64.StdEncoding.DecodeString("AZTJ+71RcACAAAAAAAAAAQ==") // valid
	return b
}

// strip removes what changes with the moment of asking.
func strip(m proto.Message) proto.Message {
	if s, ok := m.(*wire.ListSessionsResponse); ok {
		s = proto.CloneOf(s)
		for _, x := range s.Sessions {
			x.LastSeenAtMs, x.LastAddress, x.Client = 0, "", ""
		}
		return s
	}
	return m
}

func answer(t *testing.T, method string) proto.Message {
	if m, ok := wire.LookupMethod(method); ok {
		return m.NewResponse()
	}
	return &wire.GetUsersResponse{}
}

func overHTTP(t *testing.T, w World, token, method string, request proto.Message, asJSON bool) (proto.Message, *wire.Error) {
	t.Helper()
	return postKeyed(t, w.HTTP(), token, method, "", request, asJSON)
}

// postKeyed calls a method over HTTP, with an idempotency key unless that is "".
func postKeyed(t *testing.T, url, token, method, key string, request proto.Message, asJSON bool) (proto.Message, *wire.Error) {
	t.Helper()
	kind, body, err := "application/proto", []byte(nil), error(nil)
	if asJSON {
		kind = "application/json"
		body, err = protojson.Marshal(request)
	} else {
		body, err = proto.Marshal(request)
	}
	if err != nil {
		t.Fatal(err)
	}
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/"+method, bytes.NewReader(body)))(t)
	req.Header.Set("Content-Type", kind)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp := must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	raw := must(io.ReadAll(resp.Body))(t)
	if resp.StatusCode != http.StatusOK {
		e := &wire.Error{}
		if err := protojson.Unmarshal(raw, e); err != nil {
			t.Fatalf("%s: %v in %s", resp.Status, err, raw)
		}
		if want := wire.Code(e.Code).Info().HTTP; resp.StatusCode != want {
			t.Errorf("status %d for %s, want %d", resp.StatusCode, e.Code, want)
		}
		return nil, e
	}
	m := answer(t, method)
	if asJSON {
		err = protojson.Unmarshal(raw, m)
	} else {
		err = proto.Unmarshal(raw, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, nil
}

func overCall(t *testing.T, r *raw, method string, request proto.Message, asJSON bool) (proto.Message, *wire.Error) {
	t.Helper()
	return callKeyed(t, r, method, "", request, asJSON)
}

// callKeyed calls a method over a connection, with an idempotency key unless that is "".
func callKeyed(t *testing.T, r *raw, method, key string, request proto.Message, asJSON bool) (proto.Message, *wire.Error) {
	t.Helper()
	number := uint32(time.Now().UnixNano())
	call := &wire.Call{Number: number, Method: method, IdempotencyKey: key}
	if asJSON {
		text := must(protojson.Marshal(request))(t)
		s := &structpb.Struct{}
		if err := protojson.Unmarshal(text, s); err != nil {
			t.Fatal(err)
		}
		call.Request = &wire.Call_Json{Json: s}
	} else {
		call.Request = &wire.Call_Body{Body: must(proto.Marshal(request))(t)}
	}
	r.say(wire.NewClientFrame(call))
	var result *wire.Result
	r.until("the result", func(f *wire.ServerFrame) bool { result = f.GetResult(); return result.GetNumber() == number })
	if e := result.GetError(); e != nil {
		return nil, e
	}
	m := answer(t, method)
	var err error
	if asJSON {
		err = protojson.Unmarshal(must(protojson.Marshal(result.GetJson()))(t), m)
	} else {
		err = proto.Unmarshal(result.GetBody(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, nil
}
