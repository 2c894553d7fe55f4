package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// keyedCall calls a method over HTTP with an idempotency key.
func (w *world) keyedCall(token, method, key string, in proto.Message) *httptest.ResponseRecorder {
	w.t.Helper()
	body, err := protojson.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	rec := do(w.http, post(method, token, string(body)).with(IdempotencyHeader, key))
	if rec.Code == http.StatusOK {
		err = w.schemas.response(method, rec.Body.Bytes())
	} else {
		w.failure(method, rec)
	}
	if err != nil {
		w.t.Errorf("%s: %v: %s", method, err, rec.Body)
	}
	return rec
}

// another is a request that says something else in its first text.
func another(in proto.Message) proto.Message {
	other := proto.Clone(in)
	m := other.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		switch f := m.Descriptor().Fields().Get(i); {
		case f.Kind() == protoreflect.StringKind && !f.IsList():
			m.Set(f, protoreflect.ValueOfString(m.Get(f).String()+"x"))
			return other
		case f.Kind() == protoreflect.BytesKind && len(m.Get(f).Bytes()) > 0:
			b := slices.Clone(m.Get(f).Bytes())
			b[len(b)-1]++
			m.Set(f, protoreflect.ValueOfBytes(b))
			return other
		case (f.FullName().Parent() == "skein.v1.ScheduleMessageRequest" || f.FullName().Parent() == "skein.v1.AddFilterRuleRequest") && f.Message() != nil:
			m.Set(f, protoreflect.ValueOfMessage(another(m.Get(f).Message().Interface()).ProtoReflect()))
			return other
		}
	}
	return other
}

// Every method that changes something, called again with its key by everybody who
// may call it: the same answer, to the byte, and nothing changed twice. With the key
// and another request it is refused, and nothing changed at all.
func TestRepeatedWithAKey(t *testing.T) {
	w := newWorld(t)
	kinds := make(map[string]wire.Repeat)
	for _, m := range Methods() {
		kinds[m.Name] = m.Repeat
	}
	tried := make(map[string]bool)
	for _, c := range matrix {
		for i, who := range everybody {
			if kinds["skein.v1."+c.method] == wire.RepeatReads || outcomes[strings.Fields(c.want)[i]] != "" {
				continue
			}
			s := w.scene(who)
			in := c.in(s)
			name := c.method + " " + c.about + " as " + who
			key := strings.ReplaceAll("key-for-"+s.bob.username+"-0123456789", ".", "-")
			first := w.keyedCall(s.me.token, c.method, key, in)
			if first.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", name, first.Code, first.Body)
			}
			tried["skein.v1."+c.method] = true
			after := s.trace()
			second := w.keyedCall(s.me.token, c.method, key, in)
			if c.method == "AccountService/Logout" || c.method == "AccountService/RevokeSession" || c.method == "AccountService/DeleteAccount" {
				continue // the caller's own session: its token is no longer good
			}
			if second.Code != http.StatusOK || kinds["skein.v1."+c.method] == wire.RepeatKey && !bytes.Equal(second.Body.Bytes(), first.Body.Bytes()) {
				t.Errorf("%s: first %s, then %d %s", name, first.Body, second.Code, second.Body)
			}
			if got := s.trace(); got != after {
				t.Errorf("%s: the repeat changed %+v to %+v", name, after, got)
			}
			// A stranger's key with another request is another one's: TestStrangersKeys.
			if kinds["skein.v1."+c.method] == wire.RepeatKey && s.me.token != "" {
				other := w.keyedCall(s.me.token, c.method, key, another(in))
				if code, _ := errorOf(t, other); code != im.CodeIdConflict || s.trace() != after {
					t.Errorf("%s, with another request: %s", name, other.Body)
				}
			}
		}
	}
	for _, m := range Methods() {
		// The claim of an administrator has no place in the matrix: a world has one. Of guests:
		// TestUpgradeRepeatedWithAKey.
		if m.Repeat != wire.RepeatReads && !tried[m.Name] && m.Name != claimMethod && m.Name != "skein.v1.AccountService/UpgradeGuest" {
			t.Errorf("%s was not repeated", m.Name)
		}
	}
}

// What a key is: of one caller, of the documented form, given once.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	const key = "0123456789abcdef"
	group := func(p person, key, name string) (string, im.Code) {
		rec := w.keyedCall(p.token, "GroupService/CreateGroup", key, &wire.CreateGroupRequest{Name: name})
		if rec.Code != http.StatusOK {
			code, _ := errorOf(t, rec)
			return "", code
		}
		var r wire.CreateGroupResponse
		if err := protojson.Unmarshal(rec.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r.GetGroup().GetConversation(), ""
	}
	first, _ := group(ann, key, "g")
	if again, _ := group(ann, key, "g"); again != first {
		t.Errorf("again: %s, then %s", first, again)
	}
	if quoted, _ := group(ann, `"`+key+`"`, "g"); quoted != first {
		t.Errorf("in quotation marks: %s, then %s", first, quoted)
	}
	if others, code := group(bob, key, "g"); others == first || code != "" {
		t.Errorf("another caller with the same key: %s %s", others, code)
	}
	if plain, _ := group(ann, "another-key-0123", "g"); plain == first {
		t.Error("another key got the same group")
	}
	for _, bad := range []string{"short", strings.Repeat("x", 65), "0123456789 abcdef", "0123456789äbcdef", `"0123456789abcdef`[:10], ""} {
		if _, code := group(ann, bad, "g"); code != im.CodeInvalidArgument {
			t.Errorf("the key %q: %q", bad, code)
		}
	}
	q := post("GroupService/CreateGroup", ann.token, `{"name":"g"}`)
	q.header[IdempotencyHeader] = []string{key, key}
	if rec := do(w.http, q); rec.Code != http.StatusBadRequest {
		t.Errorf("two keys: %d", rec.Code)
	}
	// A request that was refused for good leaves the key free for one that is mended.
	const mended = "mended-0123456789"
	if _, code := group(ann, mended, ""); code != im.CodeInvalidArgument {
		t.Fatalf("no name: %q", code)
	}
	if g, code := group(ann, mended, "g"); g == "" {
		t.Errorf("mended: %q", code)
	}
}

// dying is a Keeper of a process that dies between the doing and the keeping.
type dying struct {
	Keeper
	dead bool
	last im.KeyedCall
}

func (d *dying) AnswerCall(ctx context.Context, c im.KeyedCall) error {
	d.last = c
	if d.dead {
		return errors.New("it is dead")
	}
	return d.Keeper.AnswerCall(ctx, c)
}

// A server that dies before it has kept the answer makes a repeat wait, and then be
// carried out again: no second group, user or message is made.
func TestKeyedCallOfAServerThatDied(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	keeper := &dying{Keeper: w.calls.Keeper, dead: true}
	now := time.Now()
	w.calls.Keeper, w.calls.Now = keeper, func() time.Time { return now }
	var g wire.CreateGroupResponse
	w.must(ann.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "g"}, &g)
	for method, in := range map[string]proto.Message{
		"GroupService/CreateGroup":   &wire.CreateGroupRequest{Name: "g"},
		"MessageService/SendMessage": &wire.SendMessageRequest{Conversation: g.GetGroup().GetConversation(), Content: text("once")},
		"AccountService/Register":    &wire.RegisterRequest{Username: "carl", Password: password},
		"AdminService/CreateUser":    &wire.CreateUserRequest{Username: "dora", Password: password},
	} {
		key := "a-key-of-" + strings.ToLower(strings.ReplaceAll(method, "/", "-"))
		token := map[string]string{"AccountService/Register": "", "AdminService/CreateUser": adminKey}
		who, other := token[method]
		if !other {
			who = ann.token
		}
		first := w.keyedCall(who, method, key, in)
		if first.Code != http.StatusOK {
			t.Fatalf("%s: %s", method, first.Body)
		}
		if rec := w.keyedCall(who, method, key, in); rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") != "1" {
			t.Errorf("%s, while it may be under way: %d %s", method, rec.Code, rec.Body)
		}
		now = now.Add(keyedHeld + time.Second)
		second := w.keyedCall(who, method, key, in)
		if second.Code != http.StatusOK {
			t.Errorf("%s, after it: %d %s", method, second.Code, second.Body)
			continue
		}
		if method != "AccountService/Register" && !bytes.Equal(first.Body.Bytes(), second.Body.Bytes()) {
			t.Errorf("%s: %s, then %s", method, first.Body, second.Body)
		}
		if method == "AccountService/Register" {
			var a, b wire.RegisterResponse
			if err := errors.Join(protojson.Unmarshal(first.Body.Bytes(), &a), protojson.Unmarshal(second.Body.Bytes(), &b)); err != nil {
				t.Fatal(err)
			}
			if a.GetTokens().GetUser() != b.GetTokens().GetUser() {
				t.Errorf("two users: %v, %v", &a, &b)
			}
		}
	}
	// Another key is another registration, with the right password, too.
	rec := w.keyedCall("", "AccountService/Register", "some-other-key-of-mine", &wire.RegisterRequest{Username: "carl", Password: password})
	if code, _ := errorOf(t, rec); code != im.CodeAlreadyExists {
		t.Errorf("the name with another key: %s", code)
	}
}

// What is kept is of no use to who has no key: neither the answer nor the request is
// in it, and another request does not open it.
func TestKeptAnswersAreSealed(t *testing.T) {
	w := newWorld(t)
	keeper := &dying{Keeper: w.calls.Keeper}
	w.calls.Keeper = keeper
	var r wire.LoginResponse
	p := w.person("ann")
	rec := w.keyedCall("", "AccountService/Login", "0123456789abcdef", &wire.LoginRequest{Username: p.username, Password: password})
	if err := protojson.Unmarshal(rec.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	kept := keeper.last.Answer
	if len(kept) < 100 || bytes.Contains(kept, []byte(r.GetTokens().GetAccessToken()[:20])) {
		t.Errorf("kept: %q", kept)
	}
	payload, err := proto.Marshal(&wire.LoginRequest{Username: p.username, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	right := keySecret{key: "0123456789abcdef", request: append([]byte("skein.v1.AccountService/Login\x00"), payload...)}
	if answer, err := right.open(kept); err != nil || !bytes.Contains(answer, []byte(r.GetTokens().GetAccessToken())) {
		t.Errorf("opened: %q, %v", answer, err)
	}
	for name, wrong := range map[string]keySecret{
		"key": {key: "0123456789abcdeg", request: right.request}, "request": {key: right.key, request: right.request[1:]},
	} {
		if answer, err := wrong.open(kept); err == nil {
			t.Errorf("opened with another %s: %q", name, answer)
		}
	}
	if _, err := right.open(kept[:5]); err == nil {
		t.Error("a part was opened")
	}
}

// Of calls with one key one is carried out at a time. It goes on when its caller is
// gone, and who asks again gets its answer.
func TestKeyedCallUnderWay(t *testing.T) {
	w := newWorld(t)
	p := w.person("ann")
	arrived, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	messages := w.calls.Messages
	w.calls.Messages = &script{send: func(m im.Message, reply func(im.Ack, error)) {
		once.Do(func() { close(arrived) })
		go func() { <-release; reply(im.Ack{Seq: 9, Stored: time.Now()}, nil) }()
	}}
	t.Cleanup(func() { w.calls.Messages = messages })
	payload, err := proto.Marshal(&wire.SendMessageRequest{Conversation: "grp:g", Content: text("hi")})
	if err != nil {
		t.Fatal(err)
	}
	call := im.Call{Method: "skein.v1.MessageService/SendMessage", Payload: payload, Key: "0123456789abcdef"}
	actor := im.Actor{User: im.UserID(p.id), Session: "s"}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan []byte, 1)
	go func() {
		answer, err := w.calls.Call(ctx, actor, call)
		if err != nil {
			t.Error(err)
		}
		first <- answer
	}()
	<-arrived
	cancel() // the caller is gone
	_, err = w.calls.Call(t.Context(), actor, call)
	if e := im.Public(err); e.Code != im.CodeUnavailable || e.RetryAfter != time.Second || !e.Everywhere {
		t.Errorf("while it is under way: %v", err)
	}
	close(release)
	answer := <-first
	second, err := w.calls.Call(t.Context(), actor, call)
	if err != nil || !bytes.Equal(second, answer) {
		t.Errorf("first %q, then %q, %v", answer, second, err)
	}
}

// leaving is a Keeper whose caller is gone while the call is noted.
type leaving struct {
	Keeper
	leave context.CancelFunc
}

func (l *leaving) BeginCall(ctx context.Context, c im.KeyedCall, now time.Time, most int) (im.KeyedCall, bool, error) {
	l.leave()
	if err := ctx.Err(); err != nil {
		return c, false, err
	}
	return l.Keeper.BeginCall(ctx, c, now, most)
}

// Who goes while their call is noted has it carried out: it is not noted for nobody,
// so that a repeat would wait a minute.
func TestKeyedCallerLeavesEarly(t *testing.T) {
	w := newWorld(t)
	p := w.person("ann")
	keeper := &leaving{Keeper: w.calls.Keeper}
	w.calls.Keeper = keeper
	ctx, cancel := context.WithCancel(t.Context())
	keeper.leave = cancel
	payload, err := proto.Marshal(&wire.CreateGroupRequest{Name: "g"})
	if err != nil {
		t.Fatal(err)
	}
	call := im.Call{Method: "skein.v1.GroupService/CreateGroup", Payload: payload, Key: "0123456789abcdef"}
	actor := im.Actor{User: im.UserID(p.id), Session: "s"}
	first, err := w.calls.Call(ctx, actor, call)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := w.calls.Call(t.Context(), actor, call); err != nil || !bytes.Equal(first, second) {
		t.Errorf("first %q, then %q, %v", first, second, err)
	}
	// Of who was gone before, nothing is done.
	call.Key = "another-0123456789"
	if _, err := w.calls.Call(ctx, actor, call); im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("of who was gone: %v", err)
	}
	if third, err := w.calls.Call(t.Context(), actor, call); err != nil || bytes.Equal(first, third) {
		t.Errorf("of who came again: %q, %v", third, err)
	}
}

// What is counted as reading changes nothing: its repeat needs no key.
func TestReadsNeedNoKeys(t *testing.T) {
	for _, m := range Methods() {
		if m.Class == ClassRead && m.Repeat != wire.RepeatReads {
			t.Errorf("%s counts as reading; say so in wire/repeat.go", m.Name)
		}
	}
}

// Without a key, and for readers with one, everything is as it was.
func TestCallsWithoutKeys(t *testing.T) {
	w := newWorld(t)
	p := w.person("ann")
	w.calls.Keeper = nil // nothing asks it
	w.must(p.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "g"}, nil)
	if rec := w.keyedCall(p.token, "AccountService/ListSessions", "0123456789abcdef", &wire.ListSessionsRequest{}); rec.Code != http.StatusOK {
		t.Errorf("a reader with a key: %d", rec.Code)
	}
}
