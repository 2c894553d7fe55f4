// Package api is the two doors to every API method (SPEC §8): Calls, which is
// im.Logic.Call and therefore also what a Call frame reaches, and NewHTTP, the
// same methods over HTTP with their OpenAPI document and pages.
//
// It owns the one table of methods (table.go): name, who may call, rate class,
// size limit, handler. It checks the shape of requests and whether the caller
// is the kind of actor a method is for; what an actor may do to an object is
// decided in the business packages. It must not know stores, sockets or frames.
//
// Goroutines: none of its own; everything runs on the caller's. Locks: Limiter.mu
// and busy.mu, held for a few map operations, nothing is called under them.
//
// Invariants:
//   - a method that has no row is not callable, and a row says who may (deny by
//     default; tests fail for a method without a row or without an
//     authorisation test);
//   - a token that was sent is checked; a bad one is never treated as no token;
//   - every call counts against the limit of its class, once, whichever door it
//     comes through;
//   - what a role decides is decided by the role as it is in the store at that moment, not
//     by the one that a connection was opened with;
//   - nobody acts on the account of somebody whose role is no lesser one (Calls.actOn, and
//     for bans the store);
//   - no act of an administrator is carried out before its line of the audit log is written
//     (audit.go), nor answered before the line says what came of it;
//   - secrets (tokens, passwords, claim codes) and contents are never logged;
//   - of calls of one caller with one idempotency key one is carried out at a time,
//     and none after one was answered, on whichever node, for 24 hours; what is kept
//     of them is of use only to who has the key and the request. A server that dies
//     between the doing and the keeping makes a repeat be carried out again, which
//     makes no second message, group or user;
//   - every error that leaves is an *im.Error with a code of the catalogue.
package api

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/announce"
	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/export"
	"github.com/skein-im/skein/internal/filter"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/later"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/push"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/trail"
	"github.com/skein-im/skein/wire"
)

// Messages is what the message methods need of im.Logic.
type Messages interface {
	Send(ctx context.Context, from im.Actor, msg im.Message, reply func(im.Ack, error))
	// MarkRead returns when the mark is durable.
	MarkRead(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) error
	// SetMyState returns when the change is durable.
	SetMyState(ctx context.Context, from im.Actor, c im.ConversationID, change im.MyChange) (im.MyState, error)
	Sync(ctx context.Context, from im.Actor, q im.SyncQuery) (im.SyncResult, error)
	Pull(ctx context.Context, from im.Actor, q im.PullQuery) (im.PullResult, error)
	// Edits tells the versions of a message below before, the latest first.
	Edits(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64, before uint32, limit int) (page []*wire.Edited, next uint32, err error)
	// Reactions tells who reacted with what, "" with anything: limit of them behind after.
	Reactions(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64, reaction string, after entrycodec.Record, limit int) (page []entrycodec.Record, more bool, err error)
	// Votes tells who chose what, option "" something: limit of them behind the user after.
	Votes(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64, option string, after im.UserID, limit int) (page []*wire.Voted, more bool, err error)
}

// Lists is what the API needs to tell messages that are found by what they say.
type Lists interface {
	// Mentions tells messages that mention the actor, the newest first.
	Mentions(ctx context.Context, from im.Actor, cursor string, limit int) (page []im.Entry, next string, err error)
	// Message returns a message that the actor may read, and that was not taken back.
	Message(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) (im.Entry, error)
	// Entry returns an entry that the actor may read, whatever became of it.
	Entry(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) (im.Entry, error)
	// Stored tells which of the actor's messages are stored, by id and hash.
	Stored(ctx context.Context, from im.Actor, ms []im.Message) (acks []im.Ack, stored []bool, err error)
	// Pins tells the pinned messages of a conversation, the one that was pinned last first.
	Pins(ctx context.Context, from im.Actor, c im.ConversationID, cursor string, limit int) (page []im.Entry, next string, err error)
	// Thread tells a thread, and a page of its replies, ascending, the newest page first.
	Thread(ctx context.Context, from im.Actor, c im.ConversationID, seq, before uint64, limit int) (t im.Thread, page []im.Entry, next uint64, err error)
	// Threads tells the threads of a conversation, or with "" those that the actor follows.
	Threads(ctx context.Context, from im.Actor, c im.ConversationID, cursor string, limit int) (page []im.Thread, next string, err error)
	// Readers tells who of a group has read a message, and to whom else it came.
	Readers(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) (read, received []im.UserID, err error)
}

// Search finds messages by what they say.
type Search interface {
	Search(ctx context.Context, from im.Actor, q search.Question) (search.Answer, error)
}

// Deps is what the methods are made of.
type Deps struct {
	Accounts *account.Service
	Contacts *contact.Service
	Groups   *group.Service
	Messages Messages
	Lists    Lists // of the same messages
	// Search finds messages; nil: this server does not search.
	Search Search
	Later  *later.Service
	// Media are the uploads; nil: there are none.
	Media *media.Service
	// Export begins exports; nil: there are none.
	Export *export.Service
	// Retention is how long messages are kept.
	Retention Retention
	// Stickers are those of the deployment; nil: there are none.
	Stickers Stickers
	// Push wakes devices; nil: nobody is woken.
	Push *push.Service
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Limiter counts the calls of connections that do not belong to a device: those
	// were counted by the gateway. nil means one with the default limits. Calls over
	// HTTP were counted at that door, by the same one: give it Calls.Limiter.
	Limiter *Limiter
	// Keeper keeps the answers to calls with idempotency keys; nil: they are refused.
	Keeper Keeper
	// Slow is how long a call takes at least that has a line in the log of this node, and
	// Log that log; nil: the doors tell it.
	Slow func() time.Duration
	Log  *slog.Logger
	// Reports keeps what members report, TakesBack takes back what moderators found.
	Reports   Reports
	TakesBack TakesBack
	// Health looks at the deployment; it is cheap.
	Health func(ctx context.Context) (im.Health, error)
	// Announcements are what is announced to everybody; nil: nothing is.
	Announcements *announce.Service
	// Filter has the words and links that are not allowed; nil: all are.
	Filter *filter.Service
	// Trail writes the audit log; nil: there is none.
	Trail *trail.Service
	// Version is that of the program, for GetMe.
	Version string
	// Random makes message ids for callers that send none; nil means crypto/rand.
	Random io.Reader
}

// Calls runs API methods. It is safe for concurrent use.
type Calls struct {
	Deps
	rows map[string]row
}

// NewCalls makes the methods.
func NewCalls(d Deps) *Calls {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Random == nil {
		d.Random = rand.Reader
	}
	if d.Limiter == nil {
		d.Limiter = NewLimiter(LimiterOptions{Now: d.Now})
	}
	c := &Calls{Deps: d, rows: make(map[string]row)}
	for _, r := range c.table() {
		c.rows[r.Name] = c.audited(c.named(r))
	}
	return c
}

// Call runs a method for an actor. It is im.Logic.Call.
func (c *Calls) Call(ctx context.Context, actor im.Actor, call im.Call) ([]byte, error) {
	if c.Slow == nil {
		return c.carryOut(ctx, actor, call)
	}
	began := time.Now()
	answer, err := c.carryOut(ctx, actor, call)
	code := im.Code("ok")
	if err != nil {
		code = im.CodeOf(err)
	}
	logSlow(ctx, c.Log, c.Slow, "logic", call.Method, time.Since(began), code, actor.User)
	return answer, err
}

// refusedPrefix stands before the method of a Call that the door for HTTP refused, by the
// role, before it read what was asked: it is noted, and never carried out. Whoever says so
// themselves is noted likewise.
const refusedPrefix = "refused "

func (c *Calls) carryOut(ctx context.Context, actor im.Actor, call im.Call) ([]byte, error) {
	method, refused := strings.CutPrefix(call.Method, refusedPrefix)
	r, ok := c.rows[method]
	if !ok {
		return nil, im.Errorf(im.CodeUnimplemented, "this server has no such method")
	}
	if actor.Connection != "" {
		if q, ok := c.Limiter.admit(r.Class, actor); !ok {
			return nil, limited(q)
		}
	}
	// A Result is no ack: what the call stores is pushed to its own connection, too.
	actor.Connection = ""
	actor, err := c.withRole(ctx, r.Method, actor)
	if err != nil {
		return nil, err
	}
	if err := r.Who.allows(actor); err != nil {
		c.refused(r.Method, actor, err)
		return nil, err
	}
	if refused { // a role was given meanwhile
		return nil, im.Errorf(im.CodeConflict, "the role was another one a moment ago; try again")
	}
	if err := c.allowsGuest(ctx, r.Method, actor); err != nil {
		return nil, err
	}
	if len(call.Payload) > r.MaxBytes {
		return nil, tooLarge(r.Method, len(call.Payload))
	}
	if err := checkKey(call.Key); err != nil {
		return nil, err
	}
	if call.Key != "" && r.Repeat == wire.RepeatKey {
		return c.once(ctx, actor, r, call)
	}
	answer, err := r.call(ctx, actor, call.Payload, nil)
	if err != nil {
		return nil, late(r.Method, err)
	}
	return answer, nil
}

// late turns the end of the caller's context, where a business package passed
// it on as it came, into a code: what was being written may have been.
func late(m Method, err error) error {
	var e *im.Error
	if errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	if m.Class == ClassRead {
		return im.Wrap(err, im.CodeUnavailable, "the answer took too long")
	}
	return im.Wrap(err, im.CodeUnknown, "the answer took too long; it may have been done")
}

func tooLarge(m Method, n int) error {
	return im.Errorf(im.CodeTooLarge, "the request has %d bytes; %s takes at most %d", n, m.Name, m.MaxBytes)
}

// Who is the kind of caller a method is for.
type Who uint8

// The kinds of callers. The zero Who is nobody.
const (
	// Anyone needs no token.
	Anyone Who = iota + 1
	// Known is a user or the admin key.
	Known
	// User acts as a user; the admin key is not one.
	User
	// Staff has a role on this server, whichever, or is the admin key, which is an owner.
	Staff
	// Auditors are those but moderators, Moderators those but auditors.
	Auditors
	Moderators
	// Admins are admins and owners.
	Admins
	// Owners are owners.
	Owners
)

func (w Who) String() string {
	return [...]string{"nobody", "anyone", "known", "user", "staff", "auditors", "moderators", "admins", "owners"}[w]
}

// least is the least role that a method for those with a role is for.
func (w Who) least() im.ServerRole {
	switch w {
	case Moderators:
		return im.ServerModerator
	case Admins:
		return im.ServerAdmin
	case Owners:
		return im.ServerOwner
	}
	return im.ServerAuditor
}

// has decides whether a role is one of those that a method is for.
func (w Who) has(r im.ServerRole) bool {
	return w >= Staff && r >= w.least() && (w != Auditors || r != im.ServerModerator)
}

// allows decides whether an actor is the kind of caller the method is for.
func (w Who) allows(a im.Actor) error {
	stranger := a.User == "" && a.Role == im.ServerUser
	switch {
	case w == Anyone:
		return nil
	case stranger:
		return im.Errorf(im.CodeUnauthenticated, "this needs an access token")
	case w == Known || w == User && a.User != "":
		return nil
	case w == User:
		return im.Errorf(im.CodePermissionDenied, "this acts as a user; the admin key is not one")
	case w.has(a.Role):
		return nil
	}
	return im.Errorf(im.CodePermissionDenied, "this is for administrators: for the role %s, or a greater one", w.least())
}

// withRole is the actor with the role that they have now, if the method asks for one: a
// connection may be older than the role.
func (c *Calls) withRole(ctx context.Context, m Method, actor im.Actor) (im.Actor, error) {
	if m.Who < Staff || actor.User == "" || c.Accounts == nil { // nil: in tests of the table
		return actor, nil
	}
	u, err := c.Accounts.Me(ctx, actor.User)
	if err != nil && im.CodeOf(err) != im.CodeNotFound {
		return actor, err
	}
	actor.Role = u.Role
	return actor, nil
}

// Class groups methods that share a rate limit.
type Class string

// The rate classes.
const (
	// ClassCredential checks or makes passwords and tokens: counted per address.
	ClassCredential Class = "credential"
	ClassRead       Class = "read"
	ClassWrite      Class = "write"
	ClassSend       Class = "send"
	ClassMark       Class = "mark"
	ClassAdmin      Class = "admin"
)

// Method is what the table says of a method to the doors.
type Method struct {
	// Name is `skein.v1.<Service>/<Method>`.
	Name  string
	Who   Who
	Class Class
	// MaxBytes bounds the protobuf encoding of a request.
	MaxBytes int
	// Repeat is what a repeat does whose answer was lost.
	Repeat wire.Repeat
	// Guests may call it, if users may.
	Guests bool
}

// row is a Method with its handler.
type row struct {
	Method
	// request and response are empty messages of the handler's types.
	request, response proto.Message
	call              func(ctx context.Context, actor im.Actor, payload []byte, k *keyed) ([]byte, error)
}

// newRow makes a row from a handler of the method's own types. What it changes is
// changed once by calls with an idempotency key.
func newRow[In interface {
	*Req
	proto.Message
}, Out interface {
	*Res
	proto.Message
}, Req, Res any](name string, who Who, class Class, maxBytes int, f func(context.Context, im.Actor, In) (Out, error)) row {
	return newMaker(name, who, class, maxBytes, func(ctx context.Context, actor im.Actor, in In, _ *keyed) (Out, error) { return f(ctx, actor, in) })
}

// newMaker is newRow for a handler that makes something with an id, which it takes
// from the call's key.
func newMaker[In interface {
	*Req
	proto.Message
}, Out interface {
	*Res
	proto.Message
}, Req, Res any](name string, who Who, class Class, maxBytes int, f func(context.Context, im.Actor, In, *keyed) (Out, error)) row {
	return row{
		Method:  Method{Name: "skein.v1." + name, Who: who, Class: class, MaxBytes: maxBytes, Repeat: wire.RepeatOf("skein.v1." + name), Guests: guestMay(name)},
		request: In(new(Req)), response: Out(new(Res)),
		call: func(ctx context.Context, actor im.Actor, payload []byte, k *keyed) ([]byte, error) {
			in := In(new(Req))
			if err := wire.UnmarshalRequest(payload, in); err != nil {
				return nil, contract.Unread(err)
			}
			out, err := f(ctx, actor, in, k)
			if err != nil {
				return nil, err
			}
			b, err := proto.Marshal(out)
			if err != nil {
				return nil, im.Wrap(err, im.CodeInternal, "the server failed")
			}
			return b, nil
		},
	}
}
