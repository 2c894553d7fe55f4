package remote

import (
	"context"
	"encoding/binary"

	"github.com/skein-im/skein/internal/im"
)

var _ im.Logic = (*router)(nil)

// Authenticate may be asked again: it makes the same connections yield.
func (r *router) Authenticate(ctx context.Context, h im.Handshake) (im.Actor, error) {
	return ask1(ctx, r, askAuthenticate, h.Token, true,
		func(l im.Logic) (im.Actor, error) { return l.Authenticate(ctx, h) },
		func() []byte { return putHandshake(nil, &h) },
		(*reader).actor)
}

// Mark only moves forward, so it may be repeated.
func (r *router) Mark(ctx context.Context, from im.Actor, c im.ConversationID, received, read uint64) error {
	_, err := ask1(ctx, r, askMark, string(c), true,
		func(l im.Logic) (struct{}, error) { return struct{}{}, l.Mark(ctx, from, c, received, read) },
		func() []byte {
			m := markAsk{user: from.User, conversation: c, received: received, read: read}
			return m.append(nil)
		},
		func(*reader) struct{} { return struct{}{} })
	return err
}

func (r *router) Sync(ctx context.Context, from im.Actor, q im.SyncQuery) (im.SyncResult, error) {
	return ask1(ctx, r, askSync, string(from.User), true,
		func(l im.Logic) (im.SyncResult, error) { return l.Sync(ctx, from, q) },
		func() []byte { return putSyncQuery(putActor(nil, &from), &q) },
		(*reader).syncResult)
}

func (r *router) Pull(ctx context.Context, from im.Actor, q im.PullQuery) (im.PullResult, error) {
	return ask1(ctx, r, askPull, string(q.Conversation), true,
		func(l im.Logic) (im.PullResult, error) { return l.Pull(ctx, from, q) },
		func() []byte { return putPullQuery(putActor(nil, &from), &q) },
		(*reader).pullResult)
}

func (r *router) Compare(ctx context.Context, from im.Actor, position string, digest uint64) (bool, string, error) {
	type answer struct {
		same     bool
		position string
	}
	a, err := ask1(ctx, r, askCompare, string(from.User), true,
		func(l im.Logic) (a answer, err error) {
			a.same, a.position, err = l.Compare(ctx, from, position, digest)
			return a, err
		},
		func() []byte {
			return binary.AppendUvarint(putString(putActor(nil, &from), position), digest)
		},
		func(in *reader) answer { return answer{in.bool(), in.string()} })
	return a.same, a.position, err
}

// Signal is not repeated: it may be lost.
func (r *router) Signal(ctx context.Context, from im.Actor, s im.Signal) ([]im.UserID, error) {
	key := string(s.Typing)
	if key == "" {
		key = string(from.User)
	}
	return ask1(ctx, r, askSignal, key, s.Typing == "",
		func(l im.Logic) ([]im.UserID, error) { return l.Signal(ctx, from, s) },
		func() []byte { return putUsers(putString(putActor(nil, &from), s.Typing), s.Watch) },
		(*reader).users)
}

// Call is carried out once: nobody knows here what it does.
func (r *router) Call(ctx context.Context, from im.Actor, method string, payload []byte) ([]byte, error) {
	key := string(from.User)
	if key == "" {
		key = method
	}
	return ask1(ctx, r, askCall, key, false,
		func(l im.Logic) ([]byte, error) { return l.Call(ctx, from, method, payload) },
		func() []byte { return putBytes(putString(putActor(nil, &from), method), payload) },
		func(in *reader) []byte { return in.bytes() })
}

// standing asks what a gateway needs to know of a user.
func (r *router) standing(ctx context.Context, u im.UserID) (im.Standing, error) {
	if s := r.node.served; s != nil {
		return s.backend.Standing(ctx, u)
	}
	body, _, err := r.ask(ctx, askStanding, string(u), true, putString(nil, u))
	if err != nil {
		return im.Standing{}, err
	}
	in := &reader{b: body}
	v := in.standing()
	return v, in.err
}

// changed asks for the heads of conversations with entries after a position.
func (r *router) changed(ctx context.Context, since uint64, limit int) ([]im.ParcelHead, bool, error) {
	if s := r.node.served; s != nil {
		return s.backend.Changed(ctx, since, limit)
	}
	body := binary.AppendUvarint(binary.AppendUvarint(nil, since), uint64(limit))
	answer, _, err := r.ask(ctx, askChanged, r.node.o.Name, true, body)
	if err != nil {
		return nil, false, err
	}
	in := &reader{b: answer}
	heads, more := in.changed()
	return heads, more, in.err
}
