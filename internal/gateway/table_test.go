package gateway

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// row is the test of a row of the command table: what a client says and hears,
// and what it hears when Logic denies it.
type row struct {
	frame  *wire.ClientFrame
	answer []string
	// denied is the answer when Logic says permission_denied, none if it is not asked.
	denied string
	// big is the frame beyond the row's size, none if the transport's limit is the row's.
	big *wire.ClientFrame
	// tooLarge is its answer.
	tooLarge string
}

func tableRows() map[int]row {
	digest := uint64(5)
	long := strings.Repeat("x", 300<<10)
	return map[int]row{
		cmdUnknown: {frame: unknownFrame(), answer: []string{"error unimplemented"}},
		cmdHello:   {frame: hello("ann", "d1", wire.DeviceClass_DEVICE_CLASS_PHONE), denied: "error permission_denied"},
		cmdSend: {frame: text("dm:ann:bob", 1, "hi"), answer: []string{"ack 1 dm:ann:bob 1"}, denied: "send_error 1 permission_denied",
			big: text("dm:ann:bob", 1, long[:200<<10]), tooLarge: "send_error 1 too_large"},
		cmdReceived: {frame: wire.NewClientFrame(&wire.Received{Conversation: "dm:ann:bob", Seq: 3}), denied: "error permission_denied",
			big: wire.NewClientFrame(&wire.Received{Conversation: long[:2000]}), tooLarge: "error too_large"},
		cmdRead: {frame: wire.NewClientFrame(&wire.Read{Conversation: "dm:ann:bob", Seq: 3}), denied: "error permission_denied",
			big: wire.NewClientFrame(&wire.Read{Conversation: long[:2000]}), tooLarge: "error too_large"},
		cmdSync: {frame: wire.NewClientFrame(&wire.Sync{Number: 4}), answer: []string{"delta 4 p1"}, denied: "delta 4 error permission_denied",
			big: wire.NewClientFrame(&wire.Sync{Number: 4, Position: long[:5000]}), tooLarge: "delta 4 error too_large"},
		cmdPull: {frame: wire.NewClientFrame(&wire.Pull{Number: 5, Conversation: "dm:ann:bob"}), answer: []string{"range 5 dm:ann:bob 7 "}, denied: "range 5 dm:ann:bob 0 permission_denied",
			big: wire.NewClientFrame(&wire.Pull{Number: 5, Conversation: long[:2000]}), tooLarge: "range 5 " + long[:2000] + " 0 too_large"},
		cmdTyping: {frame: wire.NewClientFrame(&wire.Typing{Conversation: "dm:ann:bob"}), denied: "error permission_denied",
			big: wire.NewClientFrame(&wire.Typing{Conversation: long[:2000]}), tooLarge: "error too_large"},
		cmdWatchPresence: {frame: wire.NewClientFrame(&wire.WatchPresence{Users: []string{"bob"}}), answer: []string{"presence bob false"}, denied: "error permission_denied",
			big: wire.NewClientFrame(&wire.WatchPresence{Users: []string{long[:100_000]}}), tooLarge: "error too_large"},
		cmdCall: {frame: wire.NewClientFrame(&wire.Call{Number: 6, Method: "skein.v1.UserService/GetUsers", Request: &wire.Call_Body{Body: []byte("q")}}),
			answer: []string{`result 6 "q"`}, denied: "result 6 error permission_denied"},
		cmdPing: {frame: wire.NewClientFrame(&wire.Ping{Position: "p1", Digest: &digest}), answer: []string{"pong p2"}, denied: "pong resync",
			big: wire.NewClientFrame(&wire.Ping{Position: long[:5000]}), tooLarge: "error too_large"},
		cmdPong: {frame: wire.NewClientFrame(&wire.Pong{}), big: wire.NewClientFrame(&wire.Pong{Position: long[:5000]}), tooLarge: "error too_large"},
		cmdBye:  {frame: wire.NewClientFrame(&wire.Bye{})},
		cmdAmend: {frame: amend("dm:ann:bob", 1, 3, "hi"), answer: []string{"ack 1 dm:ann:bob 1"}, denied: "send_error 1 permission_denied",
			big: amend("dm:ann:bob", 1, 3, long[:200<<10]), tooLarge: "send_error 1 too_large"},
		cmdBackground: {frame: wire.NewClientFrame(&wire.Background{On: true})},
		cmdRenew: {frame: wire.NewClientFrame(&wire.Renew{Token: "ann"}), answer: []string{"error invalid_argument"}, denied: "error permission_denied",
			big: wire.NewClientFrame(&wire.Renew{Token: long[:2000]}), tooLarge: "error too_large"},
		cmdPulls: {frame: wire.NewClientFrame(&wire.Pulls{Pulls: []*wire.Pull{{Number: 5, Conversation: "dm:ann:bob"}, {Number: 6, Conversation: "grp:g"}}}),
			answer: []string{"range 5 dm:ann:bob 7 ", "range 6 grp:g 7 "}, denied: "range 5 dm:ann:bob 0 permission_denied",
			big: wire.NewClientFrame(&wire.Pulls{Pulls: slices.Repeat([]*wire.Pull{{Number: 5, Conversation: long[:400]}}, maxPulls+1)}), tooLarge: "error too_large"},
		cmdSignal: {frame: wire.NewClientFrame(&wire.Signal{Conversation: "dm:ann:bob", Type: "cursor", Data: []byte{1}}), denied: "error permission_denied",
			big: wire.NewClientFrame(&wire.Signal{Conversation: "dm:ann:bob", Type: "cursor", Data: []byte(long[:5000])}), tooLarge: "error too_large"},
	}
}

// amend is an edit of an entry.
func amend(conversation string, n byte, target uint64, words string) *wire.ClientFrame {
	send := text(conversation, n, words).GetSend()
	return wire.NewClientFrame(&wire.Amend{
		Conversation: conversation, Id: send.Id, Target: target, What: &wire.Amend_Edit{Edit: &wire.Edit{Content: send.Content}},
	})
}

// unknownFrame is a frame of a later version.
func unknownFrame() *wire.ClientFrame {
	f := new(wire.ClientFrame)
	f.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), []byte("x")))
	return f
}

// Every row of the table has its transcript, its authorisation test and its
// size test here; a row without one fails.
func TestCommandTable(t *testing.T) {
	rows := tableRows()
	for i := range commands {
		r, ok := rows[i]
		if !ok {
			t.Fatalf("the command table's row %s has no test", commands[i].name)
		}
		if commandOf(r.frame) != &commands[i] || commands[i].index != i {
			t.Fatalf("row %s does not stand where commandOf looks for it", commands[i].name)
		}
		for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
			t.Run(commands[i].name+"/"+codec.Name(), func(t *testing.T) { testRow(t, i, r, codec) })
		}
	}
}

func testRow(t *testing.T, i int, r row, codec wire.Codec) {
	login := func(w *world) *peer {
		p := w.dial(codec)
		p.send(hello("ann", "d1", wire.DeviceClass_DEVICE_CLASS_PHONE))
		p.want("welcome ann")
		return p
	}
	t.Run("transcript", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			p := login(w)
			switch i {
			case cmdHello: // a second one
				p.send(r.frame)
				p.want("error protocol_error")
				p.wantClosed()
			case cmdBye:
				p.send(r.frame)
				p.wantClosed()
			default:
				p.send(r.frame)
				for _, a := range r.answer {
					p.want(a)
				}
				p.quiet()
			}
		})
	})
	t.Run("before hello", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			p := w.dial(codec)
			p.send(r.frame)
			if i == cmdHello {
				p.want("welcome ann")
				return
			}
			if i == cmdCall {
				p.want("result 6 error unauthenticated")
				return
			}
			if i == cmdUnknown { // of a later version: it ends nothing
				p.want("error unimplemented")
				p.send(hello("ann", "d1", wire.DeviceClass_DEVICE_CLASS_PHONE))
				p.want("welcome ann")
				return
			}
			p.want("error protocol_error")
			p.wantClosed()
		})
	})
	if r.denied != "" {
		t.Run("denied", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				if i == cmdHello {
					w.logic.deny()
					p := w.dial(codec)
					p.send(r.frame)
					p.want(r.denied)
					return // it may be said again: TestHelloRefused
				}
				p := login(w)
				w.logic.deny()
				p.send(r.frame)
				p.want(r.denied)
			})
		})
	}
	if r.big != nil {
		t.Run("too large", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := login(newWorld(t))
				p.send(r.big)
				p.want(r.tooLarge)
				p.quiet() // the connection stays
			})
		})
	}
}

// deny makes every question be answered with permission_denied.
func (l *fakeLogic) deny() {
	err := im.Errorf(im.CodePermissionDenied, "no")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.authenticate = func(im.Handshake) (im.Actor, error) { return im.Actor{}, err }
	l.send = func(_ im.Actor, _ im.Message, reply func(im.Ack, error)) { reply(im.Ack{}, err) }
	l.mark = func(_ im.ConversationID, _, _ uint64, reply func(error)) { reply(err) }
	l.sync = func(im.SyncQuery) (im.SyncResult, error) { return im.SyncResult{}, err }
	l.pull = func(im.PullQuery) (im.PullResult, error) { return im.PullResult{}, err }
	l.compare = func(string, uint64) (bool, string, error) { return false, "", err }
	l.signal = func(im.Actor, im.Signal) ([]im.UserID, error) { return nil, err }
	l.call = func(context.Context, string, []byte) ([]byte, error) { return nil, err }
}

func TestSendIsChecked(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = "u"
	}
	ok := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "x"}}
	for name, c := range map[string]struct {
		send *wire.Send
		want string
	}{
		"conversation": {&wire.Send{Conversation: "dm:bob:ann", Id: msgID(1), Content: ok}, "send_error 1 invalid_argument"},
		"id":           {&wire.Send{Conversation: "dm:ann:bob", Id: []byte("short"), Content: ok}, "send_error -1 invalid_argument"},
		"no content":   {&wire.Send{Conversation: "dm:ann:bob", Id: msgID(1)}, "send_error 1 invalid_argument"},
		"empty":        {&wire.Send{Conversation: "dm:ann:bob", Id: msgID(1), Content: &wire.Content{Type: "text"}}, "send_error 1 invalid_argument"},
		"type":         {&wire.Send{Conversation: "dm:ann:bob", Id: msgID(1), Content: &wire.Content{Type: "Text", Body: ok.Body}}, "send_error 1 invalid_argument"},
		"long": {&wire.Send{Conversation: "dm:ann:bob", Id: msgID(1), Content: &wire.Content{Type: "t", Body: &wire.Content_Data{Data: bytes.Repeat([]byte{1}, 64<<10+1)}}},
			"send_error 1 too_large"},
		"mentions":    {&wire.Send{Conversation: "dm:ann:bob", Id: msgID(1), Content: ok, Mentions: many}, "send_error 1 too_large"},
		"mention":     {&wire.Send{Conversation: "dm:ann:bob", Id: msgID(1), Content: ok, Mentions: []string{"a.b"}}, "send_error 1 invalid_argument"},
		"all is well": {&wire.Send{Conversation: "dm:ann:bob", Id: msgID(1), Content: ok, Mentions: many[:100], ReplyTo: 1 << 60}, "ack 1 dm:ann:bob 1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				p := w.login("ann", "d1")
				p.send(wire.NewClientFrame(c.send))
				p.want(c.want)
				if strings.HasPrefix(c.want, "send_error") && w.logic.sentCount() != 0 {
					t.Fatal("Logic was asked to store it")
				}
			})
		})
	}
}

// Errors of the gateway's own do not overtake answers of earlier sends (SPEC §5.1).
func TestAnswersKeepTheOrderOfTheSends(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var replies []func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, reply func(im.Ack, error)) { replies = append(replies, reply) }
		p := w.login("ann", "d1")
		bad := wire.NewClientFrame(&wire.Send{Conversation: "dm:ann:bob", Id: msgID(2)})
		p.batch(text("dm:ann:bob", 1, "a"), bad, text("dm:ann:bob", 3, "c"))
		synctest.Wait()
		if len(replies) != 1 {
			t.Fatalf("%d sends reached Logic, want the first only", len(replies))
		}
		replies[0](im.Ack{Seq: 1}, nil)
		w.g.Flush()
		p.want("ack 1 dm:ann:bob 1")
		p.want("send_error 2 invalid_argument")
		synctest.Wait()
		replies[1](im.Ack{Seq: 2}, nil)
		w.g.Flush()
		p.want("ack 3 dm:ann:bob 2")
	})
}

func TestCallAsJSON(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.call = func(_ context.Context, method string, payload []byte) ([]byte, error) {
			var q wire.FindUserRequest
			if err := q.UnmarshalVT(payload); err != nil || q.Username != "bob" {
				t.Errorf("Call got %v, %v", &q, err)
			}
			return (&wire.FindUserResponse{User: &wire.User{Id: "u1"}}).MarshalVT()
		}
		p := w.login("ann", "d1")
		call := func(method, field string) *wire.ClientFrame {
			in, _ := structpb.NewStruct(map[string]any{field: "bob"})
			return wire.NewClientFrame(&wire.Call{Number: 9, Method: method, Request: &wire.Call_Json{Json: in}})
		}
		p.send(call("skein.v1.UserService/FindUser", "username"))
		f := p.want("result 9 json")
		if id := f.GetResult().GetJson().AsMap()["user"].(map[string]any)["id"]; id != "u1" {
			t.Fatalf("result has user %v", id)
		}
		p.send(call("skein.v1.UserService/Nope", "username"))
		p.want("result 9 error unimplemented")
		in, _ := structpb.NewStruct(map[string]any{"username": 5})
		p.send(wire.NewClientFrame(&wire.Call{Number: 9, Method: "skein.v1.UserService/FindUser", Request: &wire.Call_Json{Json: in}}))
		p.want("result 9 error invalid_argument")
	})
}

func TestSlowCallDelaysNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		slow := make(chan struct{})
		w.logic.call = func(_ context.Context, _ string, payload []byte) ([]byte, error) {
			<-slow
			return payload, nil
		}
		p := w.login("ann", "d1")
		for n := range uint32(callWorkers + 3) {
			p.send(wire.NewClientFrame(&wire.Call{Number: n, Method: "m", Request: &wire.Call_Body{Body: []byte("x")}}))
		}
		p.send(text("dm:ann:bob", 1, "hi"))
		p.want("ack 1 dm:ann:bob 1")
		close(slow)
		seen := map[uint32]bool{}
		for range callWorkers + 3 {
			seen[p.read().GetResult().Number] = true
		}
		if len(seen) != callWorkers+3 {
			t.Fatalf("results %v", seen)
		}
	})
}
