package skein

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// SetMyState changes what the user set for themselves in the conversation: pinned,
// muted until, hidden, a draft, cleared below, marked as unread, its folder. What the request does
// not name stays; its conversation is filled in. It waits for a connection, returns
// when the server has it durably, and the user's other devices are told. SPEC §4.8.
func (v *Conversation) SetMyState(ctx context.Context, change *wire.SetMyStateRequest) (*wire.MyState, error) {
	if kindOf(v.id) == KindInvalid {
		return nil, invalid("%q is not a conversation", v.id)
	}
	req := &wire.SetMyStateRequest{}
	proto.Merge(req, change)
	req.Conversation = v.id
	var resp wire.SetMyStateResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/SetMyState", req, &resp); err != nil {
		return nil, err
	}
	err := v.c.do(ctx, func(k *core) { k.onMyState(resp.State) })
	return resp.State, err
}

// SetFolder puts the conversation into a folder of the user's, which is nothing but its
// name: one line of at most 64 characters (ErrInvalidArgument, ErrTooLarge). "" takes it
// out. Space around the name is dropped; the
// name that counts is returned, and is in Summary.Mine on all devices of the user. It waits
// for a connection, and returns when the server has it durably. SPEC §4.30.
func (v *Conversation) SetFolder(ctx context.Context, name string) (string, error) {
	s, err := v.SetMyState(ctx, &wire.SetMyStateRequest{Folder: &name})
	return s.GetFolder(), err
}

// onMyState takes what was set here or on another device. A conversation that is not
// known yet comes with the list, or with a Sync, and its state with it: nothing may be
// written there so far.
func (k *core) onMyState(m *wire.MyState) {
	cv := k.convs[m.GetConversation()]
	switch {
	case cv != nil:
		k.takeMine(cv, m, true)
	case m.GetConversation() != "" && !k.meta.Listing && k.state == StateConnected:
		k.requestSync()
	}
}

// takeMine keeps what the user set, unless something newer is known. ask: what it deletes
// is not left out of what the server said to be unread.
func (k *core) takeMine(cv *conv, m *wire.MyState, ask bool) {
	if m.GetRevision() <= cv.rec.Mine.GetRevision() {
		return
	}
	more := len(m.Deleted) > 0 && !proto.Equal(&wire.MyState{Deleted: cv.rec.Mine.GetDeleted()}, &wire.MyState{Deleted: m.Deleted})
	cv.rec.Mine = m
	if more {
		k.withoutDeleted(cv, ask)
	}
	k.takeMarks(cv)
	k.trimThreads(cv)
	k.touch(cv, true)
	k.post(passingKey{"mine", cv.rec.ID, ""}, &MyStateEvent{State: m})
}

// mine is what the user set, if only that it is nothing.
func (r *ConversationRecord) mine() *wire.MyState {
	if r.Mine == nil {
		return &wire.MyState{Conversation: r.ID}
	}
	return r.Mine
}

// shown leaves out of entries what the user has cleared or deleted.
func (r *ConversationRecord) shown(es []*wire.Entry) []*wire.Entry {
	i := slices.IndexFunc(es, func(e *wire.Entry) bool { return e.Seq >= r.Mine.GetClearedBelow() })
	if i < 0 {
		return nil
	}
	return r.undeleted(es[i:])
}
