package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/announce"
	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/export"
	"github.com/skein-im/skein/internal/filter"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/later"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/media/picture"
	"github.com/skein-im/skein/internal/messaging"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/push"
	"github.com/skein-im/skein/internal/search"
	searchsqlite "github.com/skein-im/skein/internal/search/sqlite"
	"github.com/skein-im/skein/internal/serverlist"
	"github.com/skein-im/skein/internal/sticker"
	"github.com/skein-im/skein/internal/trail"
	"github.com/skein-im/skein/wire"
)

const (
	password = "correct horse"
	adminKey = "skk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

// world is the HTTP door on the real business packages, a SQLite directory and
// a Pebble journal in a temporary directory.
type world struct {
	t        *testing.T
	http     http.Handler
	schemas  *openAPISchemas
	accounts *account.Service
	groups   *group.Service
	messages *messaging.Service
	calls    *Calls
	trail    *trail.Service
	media    *media.Service
	exports  *exportCaller
	// ahead is by how much the clock of what is announced is ahead, in nanoseconds.
	ahead atomic.Int64
	// root is the administrator's user name.
	root string
	n    int
	// secure are the ids of users who have, or began to have, a second factor.
	secure map[string]string
	// extras are who plays a part in every scene but does not call anything in it.
	extras *cast
}

type cast struct{ owner, admin, friend, newcomer person }

func (w *world) cast() *cast {
	if w.extras == nil {
		w.extras = &cast{w.person("owner"), w.person("admin"), w.person("friend"), w.person("newcomer")}
	}
	return w.extras
}

// worldLogic is the part of im.Logic that the door uses.
type worldLogic struct {
	im.Logic
	*account.Service
	calls *Calls
}

func (l worldLogic) Authenticate(ctx context.Context, h im.Handshake) (im.Actor, error) {
	return l.Service.Authenticate(ctx, h)
}

func (l worldLogic) Call(ctx context.Context, a im.Actor, call im.Call) ([]byte, error) {
	return l.calls.Call(ctx, a, call)
}

// worldMembers answers messaging's questions.
type worldMembers struct {
	*directory.DB
	contacts *contact.Service
	groups   *group.Service
}

var errStranger = im.Errorf(im.CodeNotFound, "no such conversation")

func (m *worldMembers) MaySend(ctx context.Context, u im.UserID, c im.ConversationID, kind im.EntryKind) (uint64, error) {
	if c.Kind() == im.KindGroup && kind == im.EntryPin {
		return m.groups.MayPin(ctx, u, c)
	}
	if c.Kind() == im.KindGroup && kind == im.EntryReaction {
		return m.groups.MayReact(ctx, u, c)
	}
	if c.Kind() == im.KindGroup {
		return m.groups.MaySend(ctx, u, c)
	}
	if owner, saved := c.SavedBy(); saved && owner == u {
		return 0, nil
	}
	peer, ok := c.Peer(u)
	if !ok {
		return 0, errStranger
	}
	if kind.Said() {
		return 0, m.contacts.Writes(ctx, u, peer)
	}
	return 0, m.contacts.MaySend(ctx, u, peer)
}

func (m *worldMembers) MaySendNow(u im.UserID, c im.ConversationID, kind im.EntryKind) (uint64, bool, error) {
	if c.Kind() == im.KindGroup && kind == im.EntryPin {
		return m.groups.MayPinNow(u, c)
	}
	if c.Kind() == im.KindGroup && kind == im.EntryReaction {
		return m.groups.MayReactNow(u, c)
	}
	if c.Kind() == im.KindGroup {
		return m.groups.MaySendNow(u, c)
	}
	if owner, saved := c.SavedBy(); saved {
		return 0, owner == u, nil
	}
	peer, ok := c.Peer(u)
	if !ok {
		return 0, false, nil
	}
	if kind.Said() {
		known, err := m.contacts.WritesNow(u, peer)
		return 0, known, err
	}
	known, err := m.contacts.MaySendNow(u, peer)
	return 0, known, err
}

func (m *worldMembers) May(ctx context.Context, u im.UserID, c im.ConversationID, action im.GroupAction) error {
	if c.Kind() == im.KindGroup {
		return m.groups.May(ctx, u, c, action)
	}
	return nil
}

func (m *worldMembers) MayWriteYet(u im.UserID, c im.ConversationID, id im.MessageID) error {
	return m.groups.MayWriteYet(u, c, id)
}

func (m *worldMembers) MayRecall(ctx context.Context, u im.UserID, c im.ConversationID, author im.UserID) error {
	if c.Kind() == im.KindGroup {
		return m.groups.MayRecall(ctx, u, c, author)
	}
	return im.Errorf(im.CodePermissionDenied, "only the author may take this message back")
}

func (m *worldMembers) Membership(ctx context.Context, u im.UserID, c im.ConversationID, _ uint64) (im.Membership, error) {
	_, inDM := c.Peer(u)
	notes, _ := c.SavedBy()
	if owner, _ := c.MeUser(); inDM || u != "" && (owner == u || notes == u) {
		return im.Membership{Conversation: c, First: 1}, nil
	}
	got, ok, err := m.DB.Membership(ctx, u, c)
	if err == nil && !ok {
		err = errStranger
	}
	return got, err
}

func (m *worldMembers) MayWatch(ctx context.Context, u im.UserID, others []im.UserID) ([]im.Watched, error) {
	return m.contacts.MayWatch(ctx, u, others)
}

func (m *worldMembers) ReadsHidden(ctx context.Context, u im.UserID, peers []im.UserID) ([]im.UserID, error) {
	return m.contacts.ReadsHidden(ctx, u, peers)
}

func (m *worldMembers) Seen(ctx context.Context, seen []im.Watched) error {
	return m.contacts.Seen(ctx, seen)
}

func (m *worldMembers) Help(im.ConversationID) {}

func (m *worldMembers) Refresh(c im.ConversationID) { m.groups.Refresh(c) }

// nobodyOnline takes deliveries.
type nobodyOnline struct{}

func (nobodyOnline) Deliver([]im.Delivery)               {}
func (nobodyOnline) Receipt(im.Mark, []im.UserID)        {}
func (nobodyOnline) MyState(im.UserID, im.MyState)       {}
func (nobodyOnline) Floors([]im.Floor)                   {}
func (nobodyOnline) Remind(im.ParcelHead)                {}
func (nobodyOnline) Typing(im.ConversationID, im.UserID) {}
func (nobodyOnline) Custom(im.CustomSignal)              {}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlite.Open(filepath.Join(dir, "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	journal, err := pebble.Open(filepath.Join(dir, "journal"), pebble.Options{MinFree: -1, Logger: quiet(), CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	members := &worldMembers{DB: db}
	blobs, err := blob.Open(filepath.Join(dir, "media"), "")
	if err != nil {
		t.Fatal(err)
	}
	var shows atomic.Pointer[sticker.Service]
	uploads := media.New(media.Options{
		Shows: func(ctx context.Context, id string) (bool, error) {
			shown, err := db.ShowsSomebody(ctx, id)
			if err != nil || shown {
				return shown, err
			}
			return shows.Load().Shows(ctx, id)
		},
		Uploads: db, Names: db, Store: blobs, Pictures: picture.NewMaker(picture.Options{}), Quota: im.MediaQuota{Bytes: 64 << 20, Open: 16}, MaxBytes: 4 << 20, Key: []byte("key"),
	})
	stickers := sticker.New(sticker.Options{Store: db})
	shows.Store(stickers)
	w := &world{t: t, secure: map[string]string{}, schemas: loadSchemas(t), root: "root"}
	rules, announcements := w.place(db)
	messages := messaging.New(messaging.Options{Filter: rules, Media: uploads, Stickers: stickers, EditWindow: time.Hour, Timers: db, Periods: db, Retention: db, Streams: messaging.Streams{StoreEvery: time.Minute, StoreBytes: 1 << 20, Silence: time.Hour, PerUser: 100, MaxBytes: 1 << 16}, Journal: journal, Marks: journal, Recalls: journal, Labels: journal, Lookups: journal, Pages: journal, Permissions: members, Members: members, Deliverer: nobodyOnline{}, Logger: quiet()})
	uploads.Use(messages)
	runner := outbox.New(db, messages, outbox.Options{Logger: quiet()})
	members.contacts = contact.New(db, db, runner, contact.Options{Lifetimes: db, RequestsPerDay: 1 << 20}) // one user asks many here
	members.groups = group.New(db, db, db, runner, group.Options{StrangersPerDay: -1, MadePerDay: 1 << 20, All: db})
	log := trail.New(trail.Options{Store: db, Now: time.Now, Random: rand.Reader})
	accounts := account.New(db, account.Options{
		Trail:            log,
		OpenRegistration: true, MaxGuests: 100_000, Providers: theProviders, SealKey: account.SealKey("the key of the tests"), RegistrationsPerHour: -1, AdminKeyHash: account.HashKey(adminKey),
		Argon: account.Argon{MemoryKiB: 8, Time: 1, Threads: 1},
	})
	index, err := searchsqlite.New(filepath.Join(dir, "search.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		index.Close()
		accounts.Close()
		log.Close()
		messages.Close()
		rules.Close()
		announcements.Close()
		journal.Close()
		db.Close()
	})
	pushes := push.New(push.Options{Keys: db, Subscriptions: db, Queue: db, Messages: messages, Marks: journal, SealKey: push.SealKey("the key of the tests"), Wait: time.Minute, TTL: time.Hour})
	caller, now := &exportCaller{}, time.Now()
	exports := export.New(export.Options{Logic: caller, Media: uploads, Key: []byte("key"), AtOnce: 2, CheckEvery: 1, Now: func() time.Time { return now.Add(time.Duration(caller.later.Load())) }})
	calls := NewCalls(Deps{Filter: rules, Announcements: announcements, Health: func(context.Context) (im.Health, error) { return someHealth(), nil }, Trail: log, Reports: db, TakesBack: messages, Export: exports, Accounts: accounts, Contacts: members.contacts, Groups: members.groups, Messages: messages, Lists: messages, Search: search.New(index, search.NewIndexer(index, journal, db, quiet(), nil), messages, nil), Retention: messages, Stickers: stickers, Push: pushes, Keeper: db, Media: uploads, Later: later.New(later.Options{
		Store: db, Due: db, Lease: db, Send: messages.Send, Drive: runner.Help, Name: messages.NameLater, Doubt: messages.DoubtLater,
		MaySend: func(ctx context.Context, u im.UserID, c im.ConversationID) error {
			_, err := members.MaySend(ctx, u, c, 0)
			return err
		},
	})})
	caller.to = calls
	w.exports, w.trail, w.accounts, w.media, w.groups, w.messages, w.calls = caller, log, accounts, uploads, members.groups, messages, calls
	w.http = NewHTTP(worldLogic{Service: accounts, calls: calls}, HTTPOptions{Log: quiet(), Limiter: NewLimiter(LimiterOptions{Unlimited: true}), Media: uploads, Export: exports})
	code, err := accounts.PrepareClaim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.must("", "AdminService/ClaimAdmin", &wire.ClaimAdminRequest{Code: code, Username: w.root, Password: password}, nil)
	return w
}

// place makes what the deployment does not allow, and what it announces.
func (w *world) place(db *directory.DB) (*filter.Service, *announce.Service) {
	w.t.Helper()
	list := serverlist.Options{Store: db, Now: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }, Logger: quiet()}
	rules := filter.New(filter.Options{
		List: list, Reports: db, Random: rand.Reader, Logger: quiet(),
		Contact: func(ctx context.Context, x, y im.UserID) (bool, error) {
			_, side, _, err := db.Gate(ctx, x, y)
			return side.State == im.ContactFriend, err
		},
		Role: func(ctx context.Context, u im.UserID) (im.ServerRole, error) {
			me, err := w.accounts.Me(ctx, u)
			if im.CodeOf(err) == im.CodeNotFound {
				return im.ServerUser, nil
			}
			return me.Role, err
		},
	})
	announcements := announce.New(list, rand.Reader, func() {})
	for _, start := range []func(context.Context) error{rules.Start, announcements.Start} {
		if err := start(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	return rules, announcements
}

// later has what is announced told as of so much later.
func (w *world) later(d time.Duration) { w.ahead.Store(int64(d)) }

// someHealth has something in every field.
func someHealth() im.Health {
	now := time.Now()
	return im.Health{
		At: now, Version: "v9", Go: "go1", Node: "n1", Started: now.Add(-time.Hour), Reasons: []string{"draining"}, Warnings: []string{"one"},
		Nodes:       []im.NodeHealth{{Name: "n1", Roles: []string{"logic"}, Ready: true, Heard: now, Self: true}},
		Stores:      []im.StoreHealth{{Name: "journal", Kind: "pebble", Bytes: 1, Free: 2, Durability: "fsync", Trouble: "full"}},
		Connections: 3, Users: 2, Stored: 4, StoredPerSecond: 0.5, SendsWaiting: 1, SendsMost: 9, Refused: []im.CodeCount{{Code: "muted", Count: 1}},
		Followers:    []im.FollowerHealth{{Name: "push", Behind: 1, Lag: time.Second, SetAside: 1, Here: true}},
		Push:         &im.PushHealth{Subscriptions: 1, Waiting: 2, Failing: 1, Oldest: time.Second, Results: []im.CodeCount{{Code: "sent", Count: 5}}},
		Later:        im.LaterHealth{Scheduled: 1, Due: 1, Timers: 1, TimersDue: 1, Erasures: 1, Promises: 1},
		Certificates: []im.CertificateHealth{{Names: []string{"a.example"}, NotAfter: now, Source: "acme", Trouble: "none"}},
		Memory:       1, Goroutines: 1, Files: 1, FilesMost: 2,
	}
}

// call calls a method over HTTP with JSON and checks the answer against the
// OpenAPI document.
func (w *world) call(token, method string, in, out proto.Message) im.Code {
	w.t.Helper()
	body, err := protojson.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	q := post(method, token, string(body))
	rec := do(w.http, q)
	if rec.Code != http.StatusOK {
		return w.failure(method, rec)
	}
	if err := w.schemas.response(method, rec.Body.Bytes()); err != nil {
		w.t.Errorf("%s: the answer is not as documented: %v: %s", method, err, rec.Body)
	}
	if out != nil {
		if err := protojson.Unmarshal(rec.Body.Bytes(), out); err != nil {
			w.t.Fatal(err)
		}
	}
	return ""
}

func (w *world) failure(method string, rec *httptest.ResponseRecorder) im.Code {
	w.t.Helper()
	if err := w.schemas.failure(rec.Body.Bytes()); err != nil {
		w.t.Errorf("%s: the error is not as documented: %v: %s", method, err, rec.Body)
	}
	var e struct{ Code im.Code }
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
		w.t.Fatal(err)
	}
	for _, m := range Methods() {
		if m.Name == "skein.v1."+method && !slices.Contains(m.Failures(), e.Code.Info()) {
			w.t.Errorf("%s: %s is not documented", method, e.Code)
		}
	}
	if info := e.Code.Info(); info.HTTP != rec.Code || e.Code == im.CodeInternal {
		w.t.Errorf("%s: %s with status %d: %s", method, e.Code, rec.Code, rec.Body)
	}
	return e.Code
}

// refusal calls a method that is to be refused, and tells the code and the field.
func (w *world) refusal(token, method string, in proto.Message) (code im.Code, field string) {
	w.t.Helper()
	body, err := protojson.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	rec := do(w.http, post(method, token, string(body)))
	if rec.Code == http.StatusOK {
		return "", ""
	}
	var e struct{ Field string }
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
		w.t.Fatal(err)
	}
	return w.failure(method, rec), e.Field
}

func (w *world) must(token, method string, in, out proto.Message) {
	w.t.Helper()
	if code := w.call(token, method, in, out); code != "" {
		w.t.Fatalf("%s %v: %s", method, in, code)
	}
}

// person is a user with a session.
type person struct {
	id, username   string
	token, refresh string
	session        string
}

// person registers somebody new.
func (w *world) person(what string) person {
	w.t.Helper()
	w.n++
	p := person{username: fmt.Sprintf("%s%d", strings.ToLower(what), w.n)}
	var r wire.RegisterResponse
	w.must("", "AccountService/Register", &wire.RegisterRequest{Username: p.username, Password: password, StayLoggedIn: true}, &r)
	return p.withTokens(r.GetTokens())
}

// login opens another session; a second factor that a scene left is taken away first.
func (w *world) login(username string) person {
	w.t.Helper()
	if id := w.secure[username]; id != "" {
		delete(w.secure, username)
		code, _, err := w.accounts.CreateResetLink(w.t.Context(), im.UserID(id), true, 0)
		if err == nil {
			err = w.accounts.ResetPassword(w.t.Context(), "", code, password)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var r wire.LoginResponse
	w.must("", "AccountService/Login", &wire.LoginRequest{Username: username, Password: password, Device: &wire.Device{
		Id: "d1", Class: wire.DeviceClass_DEVICE_CLASS_PHONE, Name: "Phone"}}, &r)
	return person{username: username}.withTokens(r.GetTokens())
}

func (p person) withTokens(t *wire.Tokens) person {
	p.id, p.session, p.token, p.refresh = t.GetUser(), t.GetSession(), t.GetAccessToken(), t.GetRefreshToken()
	return p
}

// befriend makes two people contacts.
func (w *world) befriend(a, b person) {
	w.t.Helper()
	w.must(a.token, "ContactService/RequestContact", &wire.RequestContactRequest{User: b.id}, nil)
	w.must(b.token, "ContactService/AcceptContact", &wire.AcceptContactRequest{User: a.id}, nil)
}

func dm(a, b person) string { return string(im.DM(im.UserID(a.id), im.UserID(b.id))) }

func text(s string) *wire.Content {
	return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}
}
