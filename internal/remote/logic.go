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

// Mark only moves forward, so it may be repeated. Nobody waits for it: it leaves
// with whatever goes to its node next, after markDelay at the latest, and so does
// the answer. A frame of its own would cost as much as a message.
func (r *router) Mark(ctx context.Context, from im.Actor, c im.ConversationID, received, read uint64, done func(error)) {
	if local := r.localFor(string(c)); local != nil {
		local.Mark(ctx, from, c, received, read, done)
		return
	}
	// A panic ends the mark, as it would end the session that asked.
	ours := func(l im.Logic) {
		answered := false
		defer func() {
			if p := recover(); p != nil {
				r.node.panicked("mark", p)
				if !answered {
					done(im.Errorf(im.CodeInternal, "the server failed"))
				}
			}
		}()
		l.Mark(ctx, from, c, received, read, func(err error) {
			answered = true
			done(err)
		})
	}
	m := markAsk{user: from.User, conversation: c, received: received, read: read}
	q := &request{kind: askMark, key: string(c), body: m.append(nil), again: true, deadline: r.node.now().Add(defaultTime)}
	q.then = func(x reply) {
		if x.local != nil {
			ours(x.local)
			return
		}
		done(x.err)
	}
	if err := r.start(q); err != nil {
		done(err)
	}
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
func (r *router) Signal(ctx context.Context, from im.Actor, s im.Signal) ([]im.Watched, error) {
	if s.Custom != nil {
		return ask1(ctx, r, askCustom, string(s.Custom.Conversation), false,
			func(l im.Logic) ([]im.Watched, error) { return l.Signal(ctx, from, s) },
			func() []byte { return putCustom(putActor(nil, &from), s.Custom) },
			(*reader).watched)
	}
	if len(s.Seen) > 0 {
		return ask1(ctx, r, askSeen, string(s.Seen[0].User), true,
			func(l im.Logic) ([]im.Watched, error) { return l.Signal(ctx, from, s) },
			func() []byte { return putWatched(putActor(nil, &from), s.Seen) },
			(*reader).watched)
	}
	key := string(s.Typing)
	if key == "" {
		key = string(from.User)
	}
	return ask1(ctx, r, askSignal, key, s.Typing == "",
		func(l im.Logic) ([]im.Watched, error) { return l.Signal(ctx, from, s) },
		func() []byte { return putUsers(putString(putActor(nil, &from), s.Typing), s.Watch) },
		(*reader).watched)
}

// Call is carried out once: nobody knows here what it does.
func (r *router) Call(ctx context.Context, from im.Actor, call im.Call) ([]byte, error) {
	key := string(from.User)
	if key == "" {
		key = call.Method
	}
	return ask1(ctx, r, askCall, key, false,
		func(l im.Logic) ([]byte, error) { return l.Call(ctx, from, call) },
		func() []byte { return putString(putCall(putActor(nil, &from), &call), im.RequestOf(ctx)) },
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

// Media asks a node with the directory about uploads. again: it may be asked twice.
func (n *Node) Media(ctx context.Context, method string, again bool, payload []byte) ([]byte, error) {
	if s := n.served; s != nil {
		return s.backend.Media(ctx, method, payload)
	}
	body, _, err := n.router.ask(ctx, askMedia, n.o.Name, again, putBytes(putString(nil, method), payload))
	if err != nil {
		return nil, err
	}
	in := &reader{b: body}
	answer := in.bytes()
	return answer, in.err
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
