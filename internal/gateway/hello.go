package gateway

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// authTime bounds Authenticate and Options.Groups.
const authTime = 10 * time.Second

// What a client may wish its heartbeat to be (SPEC §9.4).
const (
	leastIdleMs = 5_000
	mostIdleMs  = 300_000
)

// onHello makes a connection a session (SPEC §3). The order matters: registered
// under the user → Controls since the handshake began applied → groups read →
// registered for them → Welcome → Sync. So whatever happens is either in the
// delta, or pushed, or both; and no revocation slips through.
func (s *session) onHello(_ *command, f *wire.ClientFrame) {
	h := f.GetHello()
	shake, err := s.checkHello(h)
	if err != nil {
		s.refuseHello(f, err)
		return
	}
	// The Hello is here: from now on the time is the server's.
	s.deadline.Store(0)
	s.waiting.Store(true)
	leave, err := s.g.logins.Enter(s.g.ctx)
	if err == nil {
		defer leave()
		s.wish(h.IdleMs)
		s.BeginInBackground(h.Background)
		err = s.authenticate(shake)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(s.g.ctx, authTime)
		err = s.g.loadGroups(ctx, s.Actor.User)
		cancel()
	}
	if err != nil {
		s.refuseHello(f, err)
		return
	}
	s.Conn.SetReadLimit(s.g.o.Limits.FrameBytes)
	s.seen.Store(int32(s.g.wheel.Now()))
	s.Since.Store(uint32(s.g.wheel.Now()) + 1) // 0 is before
	s.waiting.Store(false)
	if !s.welcome() {
		return // ended meanwhile: revoked, replaced, drained
	}
	s.ready = true
	s.g.metrics.connects.Add(1)
	s.g.wheel.Schedule(s, 1)
	if !s.InBackground() {
		s.g.presence.Changed(s.Actor.User)
	}
	if h.Sync != nil {
		s.sync(h.Sync)
	}
}

// refuseHello answers a Hello that is not taken. One that is wrong may be said again,
// right, on the same connection (SPEC §3.1).
func (s *session) refuseHello(f *wire.ClientFrame, err error) {
	if im.CodeOf(err).Info().Action != im.ActionFix || s.Actor.User != "" {
		s.failOn(f, err)
		return
	}
	if s.waiting.Swap(false) { // it was the server's time
		s.within(s.g.o.Limits.Hello)
	}
	s.refuseEarly(errorOn(f, err))
}

func (s *session) checkHello(h *wire.Hello) (im.Handshake, error) {
	shake := im.Handshake{Token: h.GetToken(), Connection: s.ID, Client: h.GetClient(), Address: s.Conn.Info().RemoteAddr, Request: string(s.ID)}
	if h.VersionMin > h.VersionMax || h.VersionMax < versionMin || h.VersionMin > versionMax {
		return shake, im.Errorf(im.CodeVersionUnsupported, "this server speaks versions %d to %d", versionMin, versionMax)
	}
	if shake.Token == "" {
		return shake, im.Errorf(im.CodeTokenInvalid, "the Hello has no token")
	}
	// It is shown in session lists, on terminals too.
	err := contract.CheckText("client", shake.Client, 0, 100)
	if err != nil {
		return shake, err
	}
	shake.Device, err = toDevice(h.GetDevice())
	return shake, err
}

// wish takes a client's wish for its heartbeat, within the bounds; 0 is none.
func (s *session) wish(idleMs uint32) {
	if idleMs > 0 {
		idleMs = min(max(idleMs, leastIdleMs), mostIdleMs)
	}
	s.idle.Store(int32(idleMs)) // also none: a Hello before may have been refused
}

// authenticate asks Logic who it is and registers the session under the user.
func (s *session) authenticate(shake im.Handshake) error {
	ctx, cancel := context.WithTimeout(s.g.ctx, authTime)
	defer cancel()
	began := s.g.o.Now().UnixNano()
	s.Began = s.g.controls.mark(s.ID)
	defer s.g.controls.unmark(s.ID, s.Began)
	actor, err := s.g.o.Logic.Authenticate(ctx, shake)
	if err != nil {
		return err
	}
	if actor.User == "" {
		return im.Errorf(im.CodeTokenInvalid, "this token is nobody's: a connection needs a user")
	}
	actor.Connection = s.ID
	s.Actor, s.LoginAt = actor, began
	s.expires.Store(actor.ExpiresMs)
	s.Hold()
	s.rates = s.g.o.Devices.Enter(actor.User, actor.Device.ID, s.Conn.Info().RemoteAddr)
	for _, r := range s.g.controls.since(actor.User, s.Began) {
		if r.c.Yield && r.c.ByConnection == s.ID { // caused by this login: it tells its time and place
			s.LoginAt, s.LoginSeq = r.c.At.UnixNano(), r.seq
		}
	}
	if err := s.arrive(); err != nil {
		return err
	}
	// Controls from before the session could be found; later ones find it.
	for _, r := range s.g.controls.since(actor.User, s.Began) {
		r.apply(s.g, &s.Member)
	}
	return nil
}

// welcome queues the Welcome in front of what was pushed since registration.
func (s *session) welcome() bool {
	o := &s.g.o
	rates, beats := o.Devices.Rates(), s.beats()
	return s.Welcome(&wire.ServerFrame{Frame: &wire.ServerFrame_Welcome{Welcome: &wire.Welcome{
		Version: versionMax, User: string(s.Actor.User), Session: string(s.Actor.Session), Timeline: o.Timeline(),
		Heartbeat: &wire.Heartbeat{IdleMs: contract.RetryMillis(beats.Idle), SilenceMs: contract.RetryMillis(beats.Silence), DeadMs: contract.RetryMillis(beats.Dead)},
		Limits: &wire.Limits{
			FrameBytes: uint32(o.Limits.FrameBytes), ContentBytes: uint32(o.Limits.ContentBytes), Mentions: uint32(o.Limits.Mentions),
			PullEntries: uint32(o.Limits.PullEntries), InFlight: uint32(o.Limits.InFlight), DeviceConnections: uint32(o.Limits.DeviceConnections),
			ServerFrameBytes: uint32(o.Limits.ServerFrameBytes), Pulls: maxPulls, PullsEntries: maxPullsEntries, IdempotencyKeys: im.KeysOfUser,
			ExtraKeys: contract.MaxExtraKeys, ExtraBytes: contract.MaxExtraBytes, SignalBytes: contract.MaxSignalBytes,
			Sends: rateOf(rates.Sends), Marks: rateOf(rates.Marks), Reads: rateOf(rates.Reads), Calls: rateOf(rates.Calls), Signals: rateOf(rates.Signals),
			EditWindowMs: uint64(o.Limits.EditWindow.Milliseconds()), RecallWindowMs: uint64(o.Limits.RecallWindow.Milliseconds()),
			RetentionMs: uint64(o.Limits.Retention.Milliseconds()),
			MediaBytes:  uint64(o.Limits.MediaBytes), Media: mediaOf(o.Limits.MediaBytes),
		},
		ServerTimeMs: o.Now().UnixMilli(), Connection: string(s.ID), TokenExpiresAtMs: s.expires.Load(), Stickers: o.Stickers(), Announcements: o.Announced(),
	}}})
}

func rateOf(r limits.Rate) *wire.Rate {
	return &wire.Rate{Burst: uint32(r.Burst), PerSecond: r.PerSecond}
}

// arrive makes room for the session and registers it. Those of one user arrive one
// after another: two that made room at once would end one too many, or none.
func (s *session) arrive() error {
	defer s.g.users.Arriving(s.Actor.User)()
	s.endSilent()
	return s.g.users.Add(&s.Member, s.g.bounds.Load().MaxPerUser)
}

// endSilent holds the device of s to its bound, and to that of its user (SPEC
// §3.5): those of its other connections here that were silent for longest end. So
// what a device left behind half open keeps nobody out.
func (s *session) endSilent() {
	l, all, most := &s.g.o, 0, s.g.bounds.Load().MaxPerUser
	var others []*session
	for _, m := range s.g.users.Of(s.Actor.User) {
		if m == &s.Member || m.Is(outgoing.Ending) {
			continue
		}
		all++
		if m.Actor.Device.ID == s.Actor.Device.ID {
			others = append(others, m.Owner().(*session))
		}
	}
	surplus := len(others) + 1 - l.Limits.DeviceConnections
	if most > 0 {
		surplus = max(surplus, all+1-most)
	}
	if surplus <= 0 || len(others) == 0 {
		return
	}
	slices.Reverse(others) // the oldest first, of those that are equally silent
	slices.SortStableFunc(others, func(a, b *session) int { return cmp.Compare(a.seen.Load(), b.seen.Load()) })
	for _, o := range others[:min(surplus, len(others))] {
		o.fail("device_connections", im.Errorf(im.CodeTooManyConnections, "the device has as many connections to this node as it may, and this one was silent for longest"))
	}
}

// mediaOf is how many uploads a message names, where they have at most so many bytes.
func mediaOf(bytes int64) uint32 {
	if bytes == 0 {
		return 0
	}
	return contract.MaxMedia
}
