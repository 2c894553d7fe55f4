// Package push wakes devices that are not connected (SPEC §14): Web Push, RFC 8030, with the
// encryption of RFC 8291 and the keys of RFC 8292.
//
// It owns when somebody is woken, for what, and what they are told; the key pair by which
// push services know this server; and what becomes of a push that fails. It must not know
// stores, sockets, nor who may read a message: Messages knows, and shows a user's messages
// as their devices would be.
//
// A message goes four steps, each of which a crash may follow:
//
//  1. it is stored. Nothing of this is in the send path: a follower of the journal
//     (internal/feed) gives it to Handle;
//  2. when it is Options.Wait old, Handle looks who of the conversation has a device that can
//     be woken, and of those, which have received or read it on no device. For each device
//     and conversation there is one row of work, which grows;
//  3. a worker of any node holds the row for a while (ClaimPushes), looks again, reads the
//     message as it is then, and sends it to the push service;
//  4. the row says how far the device was told. It is looked at again, less and less often,
//     for a day at most: when the user has read that elsewhere, or it was recalled, the device
//     is told to take its notification away (close).
//
// Whoever comes after a crash begins with what the row or the follower's place says. So a
// push may go out twice, and its topic and the notification's tag make that one.
//
// Invariants:
//   - what a device is told was the user's to read, not recalled, not gone, when it was read,
//     right before it was sent;
//   - nobody is woken by what they wrote, what a blocked user wrote, what is silent, what
//     they received on any device before, what their levels and quiet hours exclude;
//   - a push service learns when somebody is woken and how much is told, in steps of
//     padTo bytes: neither who, nor by whom, nor what;
//   - the server connects to public addresses alone (internal/outward), follows no redirect,
//     and reads a bounded answer;
//   - the key pair and the subscriptions that were made for it are never replaced because this
//     server cannot open them: that is another server's, or this one's with a wrong secret;
//   - what waits is bounded, for each device, and ends: every row after a number of tries, or
//     a day.
//
// The cryptography is some 100 lines over the standard library rather than a module: what
// there is brings a library for JWT along and takes no padding. The vectors of the RFCs test
// it.
//
// Goroutines: one, from Start to Close, that looks for work every second, and at most
// parallel more while it sends. Locks: identity.mu around the keys, held during a read of
// the store; Service.mu around one flag; services.mu around a map operation.
package push

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outward"
)

// Keys keeps the key pair of the server. internal/directory does.
type Keys interface {
	// PushKey returns it; not_found if there is none.
	PushKey(ctx context.Context) (im.PushKey, error)
	// AddPushKey keeps one if there is none. Of several who try one succeeds.
	AddPushKey(ctx context.Context, k im.PushKey) error
}

// Subscriptions keeps where devices are woken, and for what. internal/directory does.
type Subscriptions interface {
	SetPushSubscription(ctx context.Context, s im.PushSubscription, now time.Time) error
	DeletePushSubscription(ctx context.Context, session im.SessionID) error
	PushSettings(ctx context.Context, u im.UserID) (im.PushSettings, error)
	SetPushSettings(ctx context.Context, u im.UserID, s im.PushSettings) error
	// AnyPush tells whether any device can be woken.
	AnyPush(ctx context.Context) (bool, error)
	// PushTargets returns who of groups' members, and of users, has a device that can be.
	PushTargets(ctx context.Context, groups []im.ConversationID, users []im.UserID, now time.Time) ([]im.PushTarget, error)
	// PushNames tells what a user knows a conversation and a sender by.
	PushNames(ctx context.Context, u im.UserID, c im.ConversationID, sender im.UserID) (im.PushNames, error)
}

// Queue keeps what is to be told. internal/directory does.
type Queue interface {
	QueuePushes(ctx context.Context, jobs []im.PushJob, now time.Time) error
	ClaimPushes(ctx context.Context, now, until time.Time, limit int) ([]im.PushWork, error)
	FinishPush(ctx context.Context, w *im.PushWork, o im.PushOutcome) error
	// ReleasePushes has what was claimed be claimed again.
	ReleasePushes(ctx context.Context) error
}

// Messages shows a user messages as their devices would be shown them. internal/messaging
// does.
type Messages interface {
	// Shown returns those of some entries that are messages which the user may read.
	Shown(ctx context.Context, from im.Actor, c im.ConversationID, seqs []uint64) ([]im.Entry, error)
}

// Marks tells how far users have received and read. The journal does.
type Marks interface {
	Marks(ctx context.Context, keys []im.MarkKey, out []im.Mark, recent bool) error
}

// Options say what a Service needs. Those that are not told to be optional must be set.
type Options struct {
	Keys          Keys
	Subscriptions Subscriptions
	Queue         Queue
	Messages      Messages
	Marks         Marks
	// SealKey seals the private key: 32 bytes, the same on all nodes and after a restart.
	SealKey []byte
	// Contact is where push services reach who runs the server: a mailto: or https: URL.
	Contact string
	// Alone: no other process has the store, so whoever worked on it before is gone.
	Alone bool
	// Wait is how old a message is before anybody is woken for it.
	Wait time.Duration
	// TTL is how long a push service keeps what it cannot deliver.
	TTL time.Duration
	// Allow are networks that may be connected to although they are private, Deny those that
	// may not although they are public.
	Allow, Deny []netip.Prefix
	// Client speaks to push services. nil: one that connects as Allow and Deny say.
	Client     *http.Client
	Now        func() time.Time      // optional
	Random     io.Reader             // optional
	Logger     *slog.Logger          // optional
	Registerer prometheus.Registerer // optional
}

// Service wakes devices. It is safe for concurrent use. Use New.
type Service struct {
	o       Options
	keys    *identity
	judge   *outward.Judge
	client  *http.Client
	metrics *metrics
	// services are those that are asked.
	services services

	mu    sync.Mutex
	some  bool      // a device can be woken, as was found at
	found time.Time // zero: look

	life    context.Context
	end     context.CancelFunc
	wake    chan struct{} // holds one
	running sync.WaitGroup
}

// New makes a service; Start begins to send.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		o:     o,
		keys:  &identity{store: o.Keys, sealKey: o.SealKey, contact: o.Contact, random: o.Random, now: o.Now, tokens: newTokens()},
		judge: &outward.Judge{Allow: o.Allow, Deny: o.Deny, Ports: []uint16{443}, Denied: "push.deny"},
		wake:  make(chan struct{}, 1),

		services: services{known: cache.New[string, *asked](mostServices)},
	}
	if s.client = o.Client; s.client == nil {
		s.client = newClient(s.judge)
	}
	s.metrics = newMetrics(o.Registerer)
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Prepare makes the key pair at the first start. One that cannot be opened, because the
// server's own key is another one, is an error, and stays. What an earlier process held is free.
func (s *Service) Prepare(ctx context.Context) error {
	if s.o.Alone {
		if err := s.o.Queue.ReleasePushes(ctx); err != nil {
			return err
		}
	}
	return s.keys.prepare(ctx)
}

// Start begins to send.
func (s *Service) Start() { s.running.Go(s.run) }

// Close ends it, after what is being sent.
func (s *Service) Close() {
	s.end()
	s.running.Wait()
	s.client.CloseIdleConnections()
}

// Key is the key that browsers make subscriptions for.
func (s *Service) Key(ctx context.Context) ([]byte, error) { return s.keys.publicKey(ctx) }

// Subscribe notes where the actor's session is woken, in the place of what was noted.
func (s *Service) Subscribe(ctx context.Context, actor im.Actor, sub im.PushSubscription) error {
	if actor.Session == "" || actor.User == "" {
		return im.Errorf(im.CodeUnauthenticated, "this needs a session")
	}
	if err := s.check(&sub); err != nil {
		return err
	}
	sub.Session, sub.User = actor.Session, actor.User
	err := s.o.Subscriptions.SetPushSubscription(ctx, sub, s.o.Now())
	if err == nil {
		s.mu.Lock()
		s.found = time.Time{}
		s.mu.Unlock()
	}
	return err
}

// check refuses what nobody could be woken by.
func (s *Service) check(sub *im.PushSubscription) error {
	u, err := url.Parse(sub.Endpoint)
	switch {
	case len(sub.Endpoint) > im.MaxPushEndpoint:
		return im.TooLarge("endpoint", "has %d bytes; at most %d are allowed", len(sub.Endpoint), im.MaxPushEndpoint)
	case strings.ContainsFunc(sub.Endpoint, func(r rune) bool { return r < '!' || r > '~' }) || err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "":
		return im.Wrong("endpoint", "must be an https URL of a push service")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		if err := s.judge.May(netip.AddrPortFrom(a, portOf(u))); err != nil {
			return im.Wrong("endpoint", "is not at a public address")
		}
	}
	if _, err := ecdh.P256().NewPublicKey(sub.Point); err != nil {
		return im.Wrong("p256dh", "must be a point of P-256, uncompressed")
	}
	if len(sub.Auth) != im.PushAuthBytes {
		return im.Wrong("auth", "must be %d bytes", im.PushAuthBytes)
	}
	return nil
}

// Unsubscribe has the actor's session not be woken any more.
func (s *Service) Unsubscribe(ctx context.Context, actor im.Actor) error {
	return s.o.Subscriptions.DeletePushSubscription(ctx, actor.Session)
}

// Settings are the actor's.
func (s *Service) Settings(ctx context.Context, actor im.Actor) (im.PushSettings, error) {
	return s.o.Subscriptions.PushSettings(ctx, actor.User)
}

// SetSettings replaces the actor's settings.
func (s *Service) SetSettings(ctx context.Context, actor im.Actor, to im.PushSettings) error {
	switch {
	case to.QuietFrom < 0 || to.QuietFrom >= im.DayMinutes:
		return im.Wrong("settings.quietFrom", "must be less than %d", im.DayMinutes)
	case to.QuietUntil < 0 || to.QuietUntil >= im.DayMinutes:
		return im.Wrong("settings.quietUntil", "must be less than %d", im.DayMinutes)
	}
	if _, err := zone(to.QuietZone); err != nil {
		return im.Wrong("settings.quietZone", "is no time zone that this server knows; one is Europe/Berlin")
	}
	return s.o.Subscriptions.SetPushSettings(ctx, actor.User, to)
}

// Bytes reads bytes as browsers tell them, in their one way to be written.
func Bytes(text string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(text) }

// pause waits; it is false if ctx ends meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var errEmpty = errors.New("push: there is nothing to tell")
