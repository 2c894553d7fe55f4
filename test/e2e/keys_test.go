package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// door is one way in for a call with an idempotency key.
type door struct {
	name string
	call func(method, key string, request proto.Message) (proto.Message, *wire.Error)
}

// httpDoor calls over HTTP at one address.
func httpDoor(t *testing.T, name, url, token string, asJSON bool) door {
	return door{name, func(method, key string, request proto.Message) (proto.Message, *wire.Error) {
		return postKeyed(t, url, token, method, key, request, asJSON)
	}}
}

// frameDoor calls over a connection.
func frameDoor(t *testing.T, name string, r *raw, asJSON bool) door {
	return door{name, func(method, key string, request proto.Message) (proto.Message, *wire.Error) {
		return callKeyed(t, r, method, key, request, asJSON)
	}}
}

// must is a call that has to be answered.
func (d door) must(t *testing.T, method, key string, request proto.Message) proto.Message {
	t.Helper()
	answer, e := d.call("skein.v1."+method, key, request)
	if e != nil {
		t.Fatalf("%s over %s: %v", method, d.name, e)
	}
	return answer
}

// refused is a call that has to be refused.
func (d door) refused(t *testing.T, method, key string, request proto.Message, code wire.Code) *wire.Error {
	t.Helper()
	answer, e := d.call("skein.v1."+method, key, request)
	if wire.Code(e.GetCode()) != code {
		t.Errorf("%s over %s: %v %v, want %s", method, d.name, answer, e, code)
	}
	return e
}

// settled asks until the call is under way no more: this is what a client does whose
// answer was lost.
func (d door) settled(t *testing.T, method, key string, request proto.Message) proto.Message {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		answer, e := d.call("skein.v1."+method, key, request)
		if e == nil {
			return answer
		}
		if code := wire.Code(e.GetCode()); code != wire.CodeUnavailable && code != wire.CodeRateLimited || time.Now().After(deadline) {
			t.Errorf("%s over %s: %v", method, d.name, e)
			return nil
		}
		if e.GetRetryAfterMs() == 0 {
			t.Errorf("%s over %s: %v says not when to come again", method, d.name, e)
		}
		time.Sleep(min(time.Duration(e.GetRetryAfterMs())*time.Millisecond, 200*time.Millisecond))
	}
}

// keyOf is a key that is a test's own.
func keyOf(what string) string { return "key-of-" + strings.ReplaceAll(what, " ", "-") + "-0123456789" }

// groups are the names of a user's groups, as a list of the server tells them.
func groups(t *testing.T, d door) map[string]int {
	t.Helper()
	names := map[string]int{}
	request := &wire.ListConversationsRequest{Limit: 100}
	for {
		list := d.must(t, "MessageService/ListConversations", "", request).(*wire.ListConversationsResponse).GetDelta()
		for _, c := range list.GetConversations() {
			if strings.HasPrefix(c.GetConversation(), "grp:") {
				names[c.GetTitle()]++
			}
		}
		if list.GetNext() == "" {
			return names
		}
		request.Cursor = list.GetNext()
	}
}

// texts counts the messages of a conversation by their texts.
func texts(t *testing.T, d door, conversation string) map[string]int {
	t.Helper()
	n := map[string]int{}
	list := d.must(t, "MessageService/ListEntries", "", &wire.ListEntriesRequest{Conversation: conversation, From: 1, Limit: 200}).(*wire.ListEntriesResponse)
	for _, e := range list.GetEntries() {
		if e.GetKind() == wire.EntryKind_ENTRY_KIND_MESSAGE {
			n[e.GetContent().GetText()]++
		}
	}
	return n
}

func says(conversation, text string) *wire.SendMessageRequest {
	return &wire.SendMessageRequest{Conversation: conversation, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}}
}

// account registers somebody who stays logged in.
func account(t *testing.T, w World, name string) (person *wire.Tokens) {
	t.Helper()
	d := httpDoor(t, "HTTP", w.HTTP(), "", true)
	r := d.must(t, "AccountService/Register", "", &wire.RegisterRequest{Username: name, Password: password, StayLoggedIn: true}).(*wire.RegisterResponse)
	return r.GetTokens()
}

const password = "correct horse battery"

// at is a connection of a session, with a device of its own if it has none.
func at(t *testing.T, w World, token, device string) *raw {
	t.Helper()
	r := dialRaw(t, w, 0)
	r.hello(token, device, wire.DeviceClass_DEVICE_CLASS_OTHER)
	return r
}

// keyed: a call with a key is carried out once, whichever door a repeat comes
// through, over another gateway and another session, and after a restart.
func keyed(t *testing.T, w World) {
	ann := account(t, w, "ann")
	here, there := at(t, w, ann.GetAccessToken(), "d"), at(t, w, ann.GetAccessToken(), "d") // of two gateways
	doors := func(token string) []door {
		return []door{
			httpDoor(t, "HTTP in JSON", w.HTTP(), token, true), httpDoor(t, "HTTP in protobuf", w.HTTP(), token, false),
			frameDoor(t, "Call in protobuf", here, false), frameDoor(t, "Call in JSON", here, true),
			frameDoor(t, "Call over another connection", there, false),
		}
	}
	all := doors(ann.GetAccessToken())
	tea := func(i int) *wire.CreateGroupRequest { return &wire.CreateGroupRequest{Name: fmt.Sprint("tea ", i)} }
	var first []proto.Message
	for i, d := range all { // each door is the first one once
		key := keyOf(fmt.Sprint("group ", i))
		first = append(first, d.must(t, "GroupService/CreateGroup", key, tea(i)))
		for _, other := range all {
			if got := other.must(t, "GroupService/CreateGroup", key, tea(i)); !proto.Equal(got, first[i]) {
				t.Errorf("first over %s: %v; then over %s: %v", d.name, first[i], other.name, got)
			}
		}
		other := all[(i+1)%len(all)]
		other.refused(t, "GroupService/CreateGroup", key, tea(i+1), wire.CodeIdConflict)
		other.refused(t, "GroupService/LeaveGroup", key, &wire.LeaveGroupRequest{Conversation: "grp:x"}, wire.CodeIdConflict)
	}
	g := first[0].(*wire.CreateGroupResponse).GetGroup().GetConversation()
	said := all[2].must(t, "MessageService/SendMessage", keyOf("message"), says(g, "once"))

	// Another session of the same user, and one that was refreshed, are the same caller.
	login := all[0].must(t, "AccountService/Login", "", &wire.LoginRequest{Username: "ann", Password: password}).(*wire.LoginResponse)
	stranger := httpDoor(t, "HTTP", w.HTTP(), "", true)
	fresh := stranger.must(t, "AccountService/Refresh", "", &wire.RefreshRequest{RefreshToken: ann.GetRefreshToken()}).(*wire.RefreshResponse)
	for _, token := range []string{login.GetTokens().GetAccessToken(), fresh.GetTokens().GetAccessToken()} {
		d := httpDoor(t, "another session", w.HTTP(), token, true)
		if got := d.must(t, "GroupService/CreateGroup", keyOf("group 0"), tea(0)); !proto.Equal(got, first[0]) {
			t.Errorf("another session: %v, want %v", got, first[0])
		}
	}
	// Somebody else with the same key is somebody else.
	bob := httpDoor(t, "bob", w.HTTP(), account(t, w, "bob").GetAccessToken(), true)
	if got := bob.must(t, "GroupService/CreateGroup", keyOf("group 0"), tea(0)); proto.Equal(got, first[0]) {
		t.Error("bob got ann's answer")
	}

	// A refusal for good frees the key.
	all[3].refused(t, "GroupService/CreateGroup", keyOf("mended"), &wire.CreateGroupRequest{}, wire.CodeInvalidArgument)
	all[1].must(t, "GroupService/CreateGroup", keyOf("mended"), &wire.CreateGroupRequest{Name: "mended"})

	w.Stop(t)
	w.Start(t)
	here, there = at(t, w, fresh.GetTokens().GetAccessToken(), "d"), at(t, w, fresh.GetTokens().GetAccessToken(), "d")
	all = doors(fresh.GetTokens().GetAccessToken())
	want := map[string]int{"mended": 1}
	for i, d := range all {
		if got := d.must(t, "GroupService/CreateGroup", keyOf(fmt.Sprint("group ", i)), tea(i)); !proto.Equal(got, first[i]) {
			t.Errorf("after a restart, over %s: %v, want %v", d.name, got, first[i])
		}
		if got := d.must(t, "MessageService/SendMessage", keyOf("message"), says(g, "once")); !proto.Equal(got, said) {
			t.Errorf("after a restart, over %s: %v, want %v", d.name, got, said)
		}
		d.refused(t, "MessageService/SendMessage", keyOf("message"), says(g, "twice"), wire.CodeIdConflict)
		want[fmt.Sprint("tea ", i)] = 1
	}
	if got := groups(t, all[0]); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("groups: %v, want %v", got, want)
	}
	if got := texts(t, all[0], g); fmt.Sprint(got) != fmt.Sprint(map[string]int{"once": 1}) {
		t.Errorf("messages: %v", got)
	}
}

// keyedAtOnce: of the same call, made by many at the same time through all doors, one
// is carried out; the others are told to come again, and get its answer.
func keyedAtOnce(t *testing.T, w World) {
	ann := account(t, w, "ann")
	var all []door
	for i := range 4 { // a connection each, at the gateways in turns
		all = append(all, httpDoor(t, "HTTP", w.HTTP(), ann.GetAccessToken(), i%2 == 0), frameDoor(t, "Call", at(t, w, ann.GetAccessToken(), "d"), i%2 == 0))
	}
	atOnce(t, all)
}

// atOnce makes the same calls through all doors at the same time.
func atOnce(t *testing.T, all []door) {
	t.Helper()
	g := all[0].must(t, "GroupService/CreateGroup", "", &wire.CreateGroupRequest{Name: "for all"}).(*wire.CreateGroupResponse).GetGroup().GetConversation()
	const rounds = 3
	for round := range rounds {
		name := fmt.Sprint("round ", round)
		made, said := make([]proto.Message, len(all)), make([]proto.Message, len(all))
		var wg sync.WaitGroup
		for i, d := range all {
			wg.Go(func() {
				made[i] = d.settled(t, "GroupService/CreateGroup", keyOf("group "+name), &wire.CreateGroupRequest{Name: name})
				said[i] = d.settled(t, "MessageService/SendMessage", keyOf("message "+name), says(g, name))
			})
		}
		wg.Wait()
		for i, d := range all {
			if !proto.Equal(made[i], made[0]) || !proto.Equal(said[i], said[0]) {
				t.Errorf("%s over %s: %v and %v, others had %v and %v", name, d.name, made[i], said[i], made[0], said[0])
			}
		}
	}
	there, once := groups(t, all[0]), texts(t, all[0], g)
	for round := range rounds {
		if name := fmt.Sprint("round ", round); there[name] != 1 || once[name] != 1 {
			t.Errorf("%s: %d groups, %d messages", name, there[name], once[name])
		}
	}
}

// keyedAnswerLost: the connection ends after the call was carried out and before its
// answer was read. The repeat gets the answer that was lost.
func keyedAnswerLost(t *testing.T, w World) {
	ann := account(t, w, "ann")
	watcher := at(t, w, ann.GetAccessToken(), "d")
	happens := func(name string) {
		watcher.until("group "+name, func(f *wire.ServerFrame) bool {
			for _, e := range f.GetPush().GetEntries() {
				if e.GetEvent().GetType() == wire.EventType_EVENT_TYPE_GROUP_CREATED && e.GetEvent().GetText() == name {
					return true
				}
			}
			return false
		})
	}
	for i, lose := range []func(key string, request *wire.CreateGroupRequest){
		func(key string, request *wire.CreateGroupRequest) { // over a connection
			r := at(t, w, ann.GetAccessToken(), "d")
			r.say(wire.NewClientFrame(&wire.Call{
				Number: 1, Method: "skein.v1.GroupService/CreateGroup", IdempotencyKey: key,
				Request: &wire.Call_Body{Body: must(proto.Marshal(request))(t)},
			}))
			happens(request.GetName())
			_ = r.nc.Close()
		},
		func(key string, request *wire.CreateGroupRequest) { // over HTTP
			nc := post(t, w, ann.GetAccessToken(), key, request)
			happens(request.GetName())
			_ = nc.Close()
		},
		func(key string, request *wire.CreateGroupRequest) { // gone before it is done
			_ = post(t, w, ann.GetAccessToken(), key, request).Close()
		},
	} {
		request := &wire.CreateGroupRequest{Name: fmt.Sprint("tea ", i)}
		lose(keyOf(request.GetName()), request)
		for _, d := range []door{httpDoor(t, "HTTP", w.HTTP(), ann.GetAccessToken(), true), frameDoor(t, "Call", at(t, w, ann.GetAccessToken(), "d"), false)} {
			made := d.settled(t, "GroupService/CreateGroup", keyOf(request.GetName()), request).(*wire.CreateGroupResponse)
			if n := groups(t, d)[request.GetName()]; n != 1 || made.GetGroup().GetName() != request.GetName() {
				t.Errorf("lost answer %d, repeated over %s: %v, and %d groups", i, d.name, made, n)
			}
		}
	}
}

// post writes the call that makes a group over HTTP, and reads no answer.
func post(t *testing.T, w World, token, key string, request proto.Message) net.Conn {
	t.Helper()
	host := strings.TrimPrefix(w.HTTP(), "http://")
	nc := must(net.Dial("tcp", host))(t)
	body := must(protojson.Marshal(request))(t)
	q := must(http.NewRequestWithContext(t.Context(), http.MethodPost, w.HTTP()+"/api/skein.v1.GroupService/CreateGroup", bytes.NewReader(body)))(t)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Idempotency-Key", key)
	out := bufio.NewWriter(nc)
	if err := q.Write(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return nc
}

// cutter is a connection that ends, once it is told to, instead of giving what comes next.
type cutter struct {
	net.Conn
	cut *atomic.Bool
}

func (c cutter) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.cut.CompareAndSwap(true, false) {
		_ = c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// keyedSDK: the SDK asks again for what it heard no answer to, and nothing is done
// twice, though nothing but the key tells that it is the same.
func keyedSDK(t *testing.T, w World) {
	var cut atomic.Bool
	d := newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_PHONE, 0)
	ann := connect(t, w, d, skein.WithDialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		nc, err := w.Dial(ctx, d.way.scheme)
		return cutter{nc, &cut}, err
	}))
	g := must(ann.Groups().Create(t.Context(), "Tea"))(t).GetConversation()
	ctx := deadline(t)
	for i := range 5 {
		cut.Store(true)
		if err := ann.Call(ctx, "skein.v1.MessageService/SendMessage", says(g, fmt.Sprint("message ", i)), &wire.SendMessageResponse{}); err != nil {
			t.Fatal(err)
		}
		cut.Store(true)
		if _, err := ann.Groups().Rename(ctx, g, fmt.Sprint("Tea ", i)); err != nil {
			t.Fatal(err)
		}
		ann.reaches(g, uint64(2*i+3))
	}
	agree(t, g, 11, ann, connect(t, w, newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_WEB, 1)))
	// The program's own key, given again by another device.
	ann2 := connect(t, w, newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_TABLET, 2))
	own := skein.WithKey(ctx, skein.NewKey())
	first := must(ann.Groups().Create(own, "Coffee"))(t)
	if second := must(ann2.Groups().Create(own, "Coffee"))(t); !proto.Equal(first, second) {
		t.Errorf("%v, then %v", first, second)
	}
	if _, err := ann2.Groups().Create(own, "Cake"); !isCode(err, wire.CodeIdConflict) {
		t.Errorf("another one with the same key: %v", err)
	}
}

// TestKeysOfDyingServers: whenever a server is killed, what it was doing is done once
// when it is repeated there, and what it did is not done again. One that dies between
// the doing and the keeping has a repeat wait for a minute; then it makes no second
// group, message or user.
func TestKeysOfDyingServers(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		p := serve(t, t.TempDir())
		killed(t, p, p, func(statement string) { execSQL(t, filepath.Join(p.dir, "directory.db"), statement) })
		p.Stop(t)
	})
	t.Run("another one on the same database", func(t *testing.T) {
		t.Parallel()
		database := pgtest.Database(t)
		p, dir := serve(t, t.TempDir(), "--store", database), t.TempDir()
		sameKeys(t, p.dir, dir)
		other := serve(t, dir, "--store", database)
		killed(t, p, other, func(statement string) {
			conn := must(pgx.Connect(t.Context(), database))(t)
			must(conn.Exec(t.Context(), statement))(t)
			must(0, conn.Close(t.Context()))(t)
		})
		other.Stop(t)
	})
}

// killed kills p, and repeats at then what it was asked; that may be p, started anew.
func killed(t *testing.T, p, then *process, sql func(statement string)) {
	ann := account(t, p, "ann")
	d := func() door { return httpDoor(t, "HTTP", then.HTTP(), ann.GetAccessToken(), true) }
	stranger := func() door { return httpDoor(t, "HTTP", then.HTTP(), "", true) }
	change := func(statement string) { // what is embedded is changed while nobody has it
		if then == p {
			p.kill(t)
		}
		sql(statement)
		if then == p {
			p.Start(t)
		}
	}
	tea := &wire.CreateGroupRequest{Name: "tea"}
	made := d().must(t, "GroupService/CreateGroup", keyOf("tea"), tea).(*wire.CreateGroupResponse)
	g := made.GetGroup().GetConversation()
	said := d().must(t, "MessageService/SendMessage", keyOf("message"), says(g, "once"))
	carl := &wire.RegisterRequest{Username: "carl", Password: password}
	registered := stranger().must(t, "AccountService/Register", keyOf("carl"), carl).(*wire.RegisterResponse)

	// Killed while it carries many out.
	const many = 60
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	answered := make(chan struct{}, many)
	for i := range many {
		wg.Go(func() {
			body := must(protojson.Marshal(&wire.CreateGroupRequest{Name: fmt.Sprint("tea ", i)}))(t)
			q := must(http.NewRequestWithContext(ctx, http.MethodPost, p.HTTP()+"/api/skein.v1.GroupService/CreateGroup", bytes.NewReader(body)))(t)
			q.Header.Set("Content-Type", "application/json")
			q.Header.Set("Authorization", "Bearer "+ann.GetAccessToken())
			q.Header.Set("Idempotency-Key", keyOf(fmt.Sprint("tea ", i)))
			if resp, err := http.DefaultClient.Do(q); err == nil {
				_ = resp.Body.Close()
				answered <- struct{}{}
			}
		})
	}
	for range 5 {
		<-answered
	}
	p.kill(t)
	stop()
	wg.Wait()
	if then == p {
		p.Start(t)
	}
	// These are as if it had died before it kept their answers.
	change("UPDATE keyed_calls SET answer = NULL, held = begun + 60000 WHERE held = 0")
	d().refused(t, "GroupService/CreateGroup", keyOf("tea"), tea, wire.CodeUnavailable)
	d().refused(t, "GroupService/CreateGroup", keyOf("tea"), &wire.CreateGroupRequest{Name: "coffee"}, wire.CodeIdConflict)
	change("UPDATE keyed_calls SET held = held - 60000 WHERE held > 0") // a minute later
	if again := d().must(t, "GroupService/CreateGroup", keyOf("tea"), tea); !proto.Equal(again, made) {
		t.Errorf("the group made again: %v, want %v", again, made)
	}
	if again := d().must(t, "MessageService/SendMessage", keyOf("message"), says(g, "once")); !proto.Equal(again, said) {
		t.Errorf("the message made again: %v, want %v", again, said)
	}
	if again := stranger().must(t, "AccountService/Register", keyOf("carl"), carl).(*wire.RegisterResponse); again.GetTokens().GetUser() != registered.GetTokens().GetUser() {
		t.Errorf("the user made again: %v, want %v", again, registered)
	}
	for i := range many {
		d().must(t, "GroupService/CreateGroup", keyOf(fmt.Sprint("tea ", i)), &wire.CreateGroupRequest{Name: fmt.Sprint("tea ", i)})
	}
	there := groups(t, d())
	for i := range many {
		if n := there[fmt.Sprint("tea ", i)]; n != 1 {
			t.Errorf("tea %d: %d groups", i, n)
		}
	}
	if n := texts(t, d(), g)["once"]; n != 1 || there["tea"] != 1 {
		t.Errorf("%d messages, %d groups", n, there["tea"])
	}
}

// TestKeysOnThreeNodes: three nodes that do everything, over PostgreSQL and NATS. A call
// is repeated at each of them, also when the one that carried it out is gone, and by
// many at the same time.
func TestKeysOnThreeNodes(t *testing.T) {
	t.Parallel()
	c := &cluster{dir: t.TempDir(), database: pgtest.Database(t)}
	t.Cleanup(func() { c.Stop(t) })
	for _, name := range []string{"one", "two", "three"} {
		c.start(t, &member{name: name, roles: []string{"api", "gateway", "logic"}})
	}
	nodes := c.nodes
	register := &wire.RegisterRequest{Username: "ann", Password: password}
	registered := httpDoor(t, "HTTP", nodes[0].app.URL(), "", true).must(t, "AccountService/Register", keyOf("ann"), register)
	for _, m := range nodes {
		if again := httpDoor(t, m.name, m.app.URL(), "", true).must(t, "AccountService/Register", keyOf("ann"), register); !proto.Equal(again, registered) {
			t.Errorf("registered: %v, at %s %v", registered, m.name, again)
		}
	}
	ann := registered.(*wire.RegisterResponse).GetTokens()
	doorsAt := func(m *member) []door {
		nc := must(net.Dial("tcp", strings.TrimPrefix(m.app.ListenURLs()[0], "tcp://")))(t)
		r := onto(t, nc)
		r.hello(ann.GetAccessToken(), "d", wire.DeviceClass_DEVICE_CLASS_OTHER)
		return []door{httpDoor(t, "HTTP at "+m.name, m.app.URL(), ann.GetAccessToken(), true), frameDoor(t, "Call at "+m.name, r, false)}
	}
	var all []door
	for _, m := range nodes {
		all = append(all, doorsAt(m)...)
	}
	atOnce(t, all)
	tea := &wire.CreateGroupRequest{Name: "tea"}
	made := all[0].must(t, "GroupService/CreateGroup", keyOf("tea"), tea)
	c.leave(t, nodes[0])
	for _, d := range all[2:] {
		if got := d.must(t, "GroupService/CreateGroup", keyOf("tea"), tea); !proto.Equal(got, made) {
			t.Errorf("over %s: %v, want %v", d.name, got, made)
		}
		d.refused(t, "GroupService/CreateGroup", keyOf("tea"), &wire.CreateGroupRequest{Name: "coffee"}, wire.CodeIdConflict)
		if n := groups(t, d)["tea"]; n != 1 {
			t.Errorf("%d groups", n)
		}
	}
}
