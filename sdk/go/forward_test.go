package skein

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// answers has the fake server do ForwardMessages and SetNickname: it stores copies, and
// refuses from the message `refuse` on.
func (f *fake) answers(refuse int, asked *[]proto.Message) {
	f.onCall = func(m *wire.Call) *wire.Result {
		ok := func(resp proto.Message) *wire.Result {
			raw, _ := proto.Marshal(resp) // it is a message of ours
			return &wire.Result{Response: &wire.Result_Body{Body: raw}}
		}
		switch m.Method {
		case "skein.v1.MessageService/ForwardMessages":
			req, resp := new(wire.ForwardMessagesRequest), new(wire.ForwardMessagesResponse)
			if err := proto.Unmarshal(m.GetBody(), req); err != nil {
				return &wire.Result{Response: &wire.Result_Error{Error: wire.NewError(wire.CodeInvalidArgument, err.Error())}}
			}
			*asked = append(*asked, req)
			ids := [][]byte{req.GetMerge().GetId()}
			if req.Merge == nil {
				ids = nil
				for _, from := range req.Messages {
					ids = append(ids, from.Id)
				}
			}
			for i, id := range ids {
				if i == refuse {
					resp.Error = wire.NewError(wire.CodeMuted, "you may not write here now")
					break
				}
				e := f.append(nil, &wire.Entry{
					Conversation: req.Conversation, Id: id, Sender: f.user, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
					Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprint("copy ", i)}}, Forward: &wire.Forward{Sender: "bob", StoredAtMs: 7},
				})
				resp.Forwarded = append(resp.Forwarded, &wire.Forwarded{Id: e.Id, Seq: e.Seq, StoredAtMs: e.StoredAtMs})
			}
			return ok(resp)
		case "skein.v1.GroupService/SetNickname":
			req := new(wire.SetNicknameRequest)
			if err := proto.Unmarshal(m.GetBody(), req); err != nil {
				return &wire.Result{Response: &wire.Result_Error{Error: wire.NewError(wire.CodeInvalidArgument, err.Error())}}
			}
			*asked = append(*asked, req)
			return ok(&wire.SetNicknameResponse{})
		}
		return &wire.Result{Response: &wire.Result_Error{Error: wire.NewError(wire.CodeUnimplemented, m.Method)}}
	}
}

// What is forwarded is asked for in its order, each copy with an id of its own, and is
// in the store when the call returns; where only some were stored their seqs come with
// the reason. Merged ones have one id.
func TestForward(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var asked []proto.Message
		r.answers(2, &asked)
		r.dial()
		v := r.c.Conversation(dm)
		from := []EntryRef{{Conversation: dm, Seq: 3}, {Conversation: "grp:g", Seq: 9}, {Conversation: dm, Seq: 1}}
		seqs, err := v.Forward(bg, from[:2]...)
		if err != nil || fmt.Sprint(seqs) != "[1 2]" {
			t.Fatalf("%v, %v", seqs, err)
		}
		ms, err := v.History(bg, 0, 10)
		if err != nil || len(ms) != 2 || ms[0].Forward.GetSender() != "bob" || ms[0].Forward.GetStoredAtMs() != 7 || !ms[0].Own {
			t.Fatalf("the copies are %+v, %v", ms, err)
		}
		seqs, err = v.Forward(bg, from...)
		var refused *Error
		if fmt.Sprint(seqs) != "[3 4]" || !errors.As(err, &refused) || refused.Code != wire.CodeMuted {
			t.Errorf("two of three: %v, %v", seqs, err)
		}
		seq, err := v.ForwardMerged(bg, "Both", from...)
		if err != nil || seq != 5 {
			t.Errorf("merged: %d, %v", seq, err)
		}
		r.checkStore(dm)
		first, merged := asked[0].(*wire.ForwardMessagesRequest), asked[2].(*wire.ForwardMessagesRequest)
		if m := first.Messages; len(m) != 2 || m[0].Seq != 3 || m[1].Conversation != "grp:g" || m[1].Seq != 9 || len(m[0].Id) != 16 || string(m[0].Id) == string(m[1].Id) || first.Merge != nil {
			t.Errorf("asked for %v", first)
		}
		if m := merged.Messages; len(m) != 3 || merged.Merge.GetTitle() != "Both" || len(merged.Merge.GetId()) != 16 || len(m[0].Id) != 0 {
			t.Errorf("asked for %v", merged)
		}
	})
}

// A nickname is asked for as it was given, of oneself without a name.
func TestSetNickname(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var asked []proto.Message
		r.answers(-1, &asked)
		r.dial()
		for _, want := range []*wire.SetNicknameRequest{
			{Conversation: "grp:g", Nickname: "茶 ☕"}, {Conversation: "grp:g", User: "bob", Nickname: "Tea"}, {Conversation: "grp:g", User: "bob"},
		} {
			if err := r.c.Groups().SetNickname(bg, want.Conversation, want.User, want.Nickname); err != nil {
				t.Fatal(err)
			}
			if got := asked[len(asked)-1]; !proto.Equal(got, want) {
				t.Errorf("asked for %v, want %v", got, want)
			}
		}
	})
}
