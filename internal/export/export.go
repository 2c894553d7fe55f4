// Package export gives a user everything of theirs, as one zip that is made while it is
// sent (SPEC §3.17). docs/export.md says what is in it, field by field.
//
// It owns the form of the zip, who may begin one (Ticket), and how many are made at a
// time. It must not know stores or sockets, nor decide who may read what: all it writes
// are answers to calls that it makes as the user, so what lies in an export is what a
// client of theirs would be shown at that moment.
//
// Goroutines: none; an export is made by the goroutine that sends it. Locks: Service.mu
// around who is given an export here, for a map operation.
//
// Invariants:
//   - the manifest is written last, and only if everything before it was; a zip without
//     its manifest is not whole, and what is not whole has no directory, either: zip
//     programs refuse it;
//   - memory grows with the number of files in the zip (their names and sums), of what is
//     left out, and of the threads of one conversation, and with nothing else: entries go
//     from a page of 500 to the zip;
//   - a conversation is told up to the entry that was its last when the list was read;
//   - every few seconds, and before the manifest, it is asked whether who began the export
//     still may.
package export

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/wire"
)

// Caller carries out calls; im.Logic is one.
type Caller interface {
	Call(ctx context.Context, from im.Actor, call im.Call) ([]byte, error)
}

// Media gives uploads; *media.Service is one.
type Media interface {
	Find(ctx context.Context, u im.UserID, id string, at media.Place) (im.Upload, error)
	Open(ctx context.Context, m im.Upload, thumbnail bool, offset int64) (io.ReadCloser, error)
}

// Options are what a Service needs.
type Options struct {
	// Logic answers the calls; nil: exports are begun here, and made elsewhere.
	Logic Caller
	// Media gives the uploads; nil: there are none.
	Media Media
	// Damaged names conversations whose store is damaged, as far as it was found here: they
	// are in no list of those who are in them. Optional.
	Damaged func() []im.ConversationID
	// Key is the secret that tickets are made with: the same at all nodes.
	Key []byte
	// AtOnce is how many exports are made at a time.
	AtOnce int
	// CallTime bounds one call. Default 30 s.
	CallTime time.Duration
	// CheckEvery is how often it is asked whether an export still may go on. Default 5 s.
	CheckEvery time.Duration
	Now        func() time.Time // optional
	Logger     *slog.Logger     // optional
}

// Service makes exports. It is safe for concurrent use.
type Service struct {
	o Options

	mu      sync.Mutex
	running map[im.UserID]bool
}

// New makes a Service.
func New(o Options) *Service {
	if o.CallTime == 0 {
		o.CallTime = 30 * time.Second
	}
	if o.CheckEvery == 0 {
		o.CheckEvery = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o, running: map[im.UserID]bool{}}
}

// TicketTime is how long a ticket begins exports.
const TicketTime = 5 * time.Minute

// Ticket says that somebody may have everything of a user's.
type Ticket struct {
	User im.UserID
	// By is the administrator who asked for it, Admin is set; "": the admin key. Of the user's
	// own it is empty.
	By    im.UserID
	Admin bool
	// Session is that of who asked for it, "" of the admin key: the export ends with it.
	Session im.SessionID
	Until   time.Time
}

// Begin makes a ticket for a user that an actor asks for, as a query.
func (s *Service) Begin(user im.UserID, by im.Actor, admin bool) (Ticket, url.Values) {
	t := Ticket{User: user, Admin: admin, Session: by.Session, Until: s.o.Now().Add(TicketTime).Truncate(time.Millisecond)}
	q := url.Values{"user": {string(user)}, "session": {string(t.Session)}, "until": {strconv.FormatInt(t.Until.UnixMilli(), 10)}}
	if admin {
		t.By = by.User
		q.Set("admin", string(t.By))
		s.o.Logger.Warn("export: an administrator exports a user", "user", user, "by", t.By, "key", t.By == "", "address", by.Address)
	}
	q.Set("signature", s.sign(&t))
	return t, q
}

func (s *Service) sign(t *Ticket) string {
	m := hmac.New(sha256.New, s.o.Key)
	fmt.Fprintf(m, "skein export 1\n%s\n%s\n%t\n%s\n%d", t.User, t.By, t.Admin, t.Session, t.Until.UnixMilli())
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:24])
}

// Check returns the ticket of a query; false: it is none of Begin's, or its time is over.
func (s *Service) Check(q url.Values) (Ticket, bool) {
	t := Ticket{By: im.UserID(q.Get("admin")), Admin: q.Has("admin"), User: im.UserID(q.Get("user")), Session: im.SessionID(q.Get("session"))}
	until, err := strconv.ParseInt(q.Get("until"), 10, 64)
	t.Until = time.UnixMilli(until)
	ok := err == nil && hmac.Equal([]byte(q.Get("signature")), []byte(s.sign(&t))) && t.Until.After(s.o.Now())
	return t, ok
}

// Enter counts an export of a user, until leave. rate_limited: one of theirs is made here;
// overloaded: so many are.
func (s *Service) Enter(user im.UserID) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(code im.Code, after time.Duration, why string) (func(), error) {
		e := im.Errorf(code, "%s", why)
		e.RetryAfter = after
		return nil, e
	}
	switch {
	case s.running[user]:
		return refuse(im.CodeRateLimited, 10*time.Second, "an export of this user is under way: one is made at a time")
	case len(s.running) >= s.o.AtOnce:
		return refuse(im.CodeOverloaded, 30*time.Second, "the server makes as many exports as it may at a time")
	}
	s.running[user] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, user)
	}, nil
}

// Stats is what an export came to.
type Stats struct {
	Conversations, Entries, Media, Parts int
	Bytes                                int64
}

// Write makes an export and writes it. After an error what was written is not whole, and
// can be told from what is.
func (s *Service) Write(ctx context.Context, t Ticket, w io.Writer) (Stats, error) {
	e := &export{s: s, ctx: ctx, t: t, begun: s.o.Now(), actor: im.Actor{User: t.User}}
	if !t.Admin {
		e.actor.Session = t.Session
	}
	e.open(w)
	err := e.run()
	e.stats.Bytes = e.out.n
	return e.stats, err
}

// export is one that is made.
type export struct {
	s       *Service
	ctx     context.Context // of the request
	t       Ticket
	actor   im.Actor
	begun   time.Time
	checked time.Time
	rested  time.Time
	stats   Stats
	archive
	own           *wire.User
	conversations []conversation
	listed        map[im.ConversationID]bool
	wanted        []wanted // uploads that are to be written after this part
	seen          map[string]bool
	leftOut       []leftOut
}

func (e *export) run() error {
	e.seen, e.listed = map[string]bool{}, map[im.ConversationID]bool{}
	for _, step := range []func() error{
		e.check, e.account, e.contacts, e.blocks, e.scheduled, e.uploads, e.me, e.list, e.histories, e.check, e.finish,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// tries is how often a call is made that is refused for now.
const tries = 4

// call makes a call as the user.
func (e *export) call(method string, in, out proto.Message) error {
	return e.callAs(e.actor, method, in, out)
}

func (e *export) callAs(actor im.Actor, method string, in, out proto.Message) error {
	payload, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	err = e.again(func() error {
		answer, err := e.once(actor, method, payload)
		if err != nil {
			return err
		}
		return proto.Unmarshal(answer, out)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// again does what may be refused for now, a few times.
func (e *export) again(do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil {
			return nil
		}
		refused := im.Public(err)
		if n == tries || refused.Code.Info().Action != im.ActionRetry || e.ctx.Err() != nil {
			return err
		}
		again := time.NewTimer(max(refused.RetryAfter, 200*time.Millisecond))
		select {
		case <-again.C:
		case <-e.ctx.Done():
			again.Stop()
			return e.ctx.Err()
		}
	}
}

func (e *export) once(actor im.Actor, method string, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.s.o.CallTime)
	defer cancel()
	return e.s.o.Logic.Call(ctx, actor, im.Call{Method: "skein.v1." + method, Payload: payload})
}

// maxRest is how long an export rests at a time.
const maxRest = 100 * time.Millisecond

// rest leaves the machine to who chats: for as long as what was done since the last rest took.
func (e *export) rest() error {
	if took := time.Since(e.rested); !e.rested.IsZero() && took > 0 {
		t := time.NewTimer(min(took, maxRest))
		defer t.Stop()
		select {
		case <-t.C:
		case <-e.ctx.Done():
		}
	}
	e.rested = time.Now()
	return e.ctx.Err()
}

// step rests, and asks now and then whether the export may go on.
func (e *export) step() error {
	if err := e.rest(); err != nil {
		return err
	}
	if e.s.o.Now().Sub(e.checked) < e.s.o.CheckEvery {
		return nil
	}
	return e.check()
}

// check finds out whether the account is there, the session that began the export, and the
// role of an administrator who did.
func (e *export) check() error {
	var users wire.GetUsersResponse
	if err := e.call("UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{string(e.t.User)}}, &users); err != nil {
		return err
	}
	if len(users.GetUsers()) == 0 || users.GetUsers()[0].GetDeleted() {
		return im.Errorf(im.CodeAccountDeleted, "the account was deleted")
	}
	e.own = users.GetUsers()[0]
	if e.t.Session != "" {
		who := e.actor
		if e.t.Admin {
			who = im.Actor{User: e.t.By, Session: e.t.Session}
		}
		var all wire.ListSessionsResponse
		if err := e.callAs(who, "AccountService/ListSessions", &wire.ListSessionsRequest{}, &all); err != nil {
			return err
		}
		lives := func(s *wire.Session) bool { return s.GetId() == string(e.t.Session) }
		if !slices.ContainsFunc(all.GetSessions(), lives) {
			return im.Errorf(im.CodeSessionRevoked, "the session that began the export was ended")
		}
		if e.t.Admin {
			var me wire.GetMeResponse
			if err := e.callAs(who, "AccountService/GetMe", &wire.GetMeRequest{}, &me); err != nil {
				return err
			}
			if im.ServerRole(me.GetRole()) < im.ServerAdmin {
				return im.Errorf(im.CodePermissionDenied, "the administrator who began the export is none any more")
			}
		}
	}
	e.checked = e.s.o.Now()
	return nil
}
