package skein

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/wire"
)

// connection is the part of the core that keeps a link to the server. SPEC §3, §9.
type connection struct {
	state    State
	stateErr error
	link     *link
	leaving  *link // the one before, writing its last bytes

	dialed     chan dialResult
	dialing    context.CancelFunc
	retryAt    time.Time
	attempt    int
	rejected   string // the token that was refused last
	rejections int
	token      string
	goAway     time.Time // the server drains: reconnect then
	reason     error     // what the server said before it closed
	waiters    []chan error
	// found: a server was reached at the address.
	found bool

	limits    *wire.Limits
	heartbeat *wire.Heartbeat
	lastSent  time.Time
	lastHeard time.Time
	lastPing  time.Time
	// awaiting is since when the server owes an answer without having sent a byte.
	awaiting time.Time
	ping     *pingState
	number   uint32
	reqs     map[uint32]*request
	calls    map[uint32]*call
	watched  []string
	// background is as the program said it, and as the last Hello told it.
	background, toldBackground bool
	renewal
}

type call struct {
	at    time.Time
	reply chan callResult // capacity 1
}

type callResult struct {
	body []byte
	err  error
}

type dialResult struct {
	pipe    pipe
	welcome *wire.Welcome
	sync    *wire.Sync
	token   string
	err     error
}

// patience is how long one request may be unanswered while others are answered.
const patience = 30 * time.Second

// dialTimeout bounds token, connect and greeting.
const dialTimeout = 15 * time.Second

// maxRejections: different tokens refused in a row before the client stops.
const maxRejections = 3

func (n *connection) init(*core) {
	n.dialed = make(chan dialResult)
	n.reqs = map[uint32]*request{}
	n.calls = map[uint32]*call{}
}

func (k *core) setState(s State, err error) {
	if k.state == s && err == nil {
		return
	}
	k.state = s
	if s != StateConnecting { // still why there is no connection
		k.stateErr = err
	}
	ev := &StateEvent{State: s, Err: err}
	var kick *kickError
	if errors.As(err, &kick) {
		ev.By, ev.At = kick.by, kick.at
	}
	k.post(passingKey{kind: "state"}, ev)
	if s == StateConnected || s == StateStopped {
		waiters := k.waiters
		k.waiters = nil
		k.after = append(k.after, func(failed error) {
			for _, w := range waiters {
				w <- cmp.Or(failed, err)
			}
		})
	}
}

// whenConnected sends nil once connected, or why that will not be.
func (k *core) whenConnected(done chan error) {
	switch k.state {
	case StateConnected:
		done <- nil
	case StateStopped:
		done <- k.stateErr
	default:
		k.waiters = append(k.waiters, done)
	}
}

func (k *core) startDial() {
	if k.dialing != nil || k.link != nil {
		return
	}
	k.setState(StateConnecting, nil)
	ctx, cancel := context.WithTimeout(k.c.ctx, dialTimeout)
	k.dialing = cancel
	h := &wire.Hello{
		VersionMin: wire.VersionMin, VersionMax: wire.VersionMax,
		Device: k.o.device, Client: k.o.client, Sync: k.newSync(),
		IdleMs: uint32(k.o.idle.Milliseconds()), Background: k.background,
	}
	k.toldBackground = k.background
	tokenCtx := context.WithValue(ctx, rejectedKey{}, k.rejected)
	k.c.wg.Go(func() {
		d := greet(ctx, tokenCtx, k.c, h)
		select {
		case k.dialed <- d:
		case <-k.c.stopped:
			if d.pipe != nil {
				d.pipe.close()
			}
		}
	})
}

// greet gets a token, connects, says Hello and waits for the Welcome.
func greet(ctx, tokenCtx context.Context, c *Client, h *wire.Hello) (d dialResult) {
	d.sync = h.Sync
	if d.token, d.err = c.o.token(tokenCtx); d.err != nil {
		d.err = &tokenError{d.err}
		return d
	}
	h.Token = d.token
	hello, err := c.o.codec.Append(nil, wire.NewClientFrame(h))
	if err != nil {
		d.err = invalid("hello: %v", err)
		return d
	}
	p, err := openPipe(ctx, c.url, c.o)
	if err != nil {
		d.err = reaching(c.url, err)
		return d
	}
	stop := context.AfterFunc(ctx, p.close)
	if err = p.write(hello); err == nil {
		d.welcome, err = awaitWelcome(p, c.o.codec)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		p.close()
		d.err = reaching(c.url, err)
		return d
	}
	d.pipe = p
	return d
}

func awaitWelcome(p pipe, codec wire.Codec) (*wire.Welcome, error) {
	for {
		b, err := p.read()
		if err != nil {
			return nil, err
		}
		var f wire.ServerFrame
		if err := codec.Decode(b, &f); err != nil {
			// A server that does not know the codec answers in JSON. SPEC §1.2.
			if wire.JSON().Decode(b, &f) != nil || f.GetError() == nil {
				return nil, fmt.Errorf("skein: the server sent what is no frame: %w", err)
			}
		}
		switch m := f.Frame.(type) {
		case *wire.ServerFrame_Welcome:
			if v := m.Welcome.Version; v < wire.VersionMin || v > wire.VersionMax {
				return nil, &Error{Code: wire.CodeVersionUnsupported, Message: fmt.Sprintf("the server chose version %d", v)}
			}
			return m.Welcome, nil
		case *wire.ServerFrame_Error:
			return nil, errorOf(m.Error)
		case *wire.ServerFrame_Kick:
			return nil, newKickError(m.Kick)
		case *wire.ServerFrame_GoAway:
			return nil, &Error{Code: wire.CodeGoingAway, RetryAfter: time.Duration(m.GoAway.RetryAfterMs) * time.Millisecond}
		}
	}
}

func (k *core) onDialed(d dialResult) {
	k.dialing()
	k.dialing = nil
	k.token = d.token
	if d.err == nil && k.meta.User != "" && k.meta.User != d.welcome.User {
		d.pipe.close()
		d.err = ErrOtherUser
	}
	if d.err != nil {
		k.decide(d.err)
		return
	}
	w := d.welcome
	k.found = true
	now := k.o.now()
	k.link = newLink(d.pipe, k.o.codec, &k.c.wg)
	k.link.start()
	if k.background != k.toldBackground { // it changed while the Hello was on its way
		k.send(wire.NewClientFrame(&wire.Background{On: k.background}))
	}
	k.reason, k.goAway, k.relisted, k.resynced = nil, time.Time{}, false, false
	k.limits, k.heartbeat = w.GetLimits(), w.GetHeartbeat()
	k.rejected, k.rejections = "", 0
	k.lastSent, k.lastHeard, k.lastPing, k.awaiting = now, now, now, now
	k.ids.SetServerTime(w.ServerTimeMs)
	k.ahead = time.UnixMilli(w.ServerTimeMs).Sub(now)
	k.lookForGone()
	k.offered = ""
	k.planRenewal(w.TokenExpiresAtMs)
	if k.meta.User == "" {
		k.meta.User = w.User
		user := w.User
		k.c.user.Store(&user)
	}
	if k.meta.Timeline != "" && k.meta.Timeline != w.Timeline {
		k.reset(w.Timeline)
	}
	if k.meta.Timeline != w.Timeline {
		k.meta.Timeline = w.Timeline
		k.metaDirty = true
	}
	k.reqs[d.sync.Number] = &request{kind: reqSync, cold: d.sync.Position == "", at: now, tick: k.tick, newest: d.sync.Newest}
	k.syncing, k.base = true, ""
}

// connected is reached when the first sync is applied. Nothing less ends the
// growing of the pauses: a server that takes logins and cannot answer what comes
// after them would be asked anew all the time.
func (k *core) connected() {
	k.attempt = 0
	k.setState(StateConnected, nil)
	k.repeatMarks()
	clear(k.given)
	k.renewIDs()
	if len(k.watched) > 0 {
		k.send(wire.NewClientFrame(&wire.WatchPresence{Users: k.watched}))
	}
	k.wantPulls()
}

// send queues a frame on the connection, if there is one.
func (k *core) send(f *wire.ClientFrame) bool {
	if k.link == nil {
		return false
	}
	if err := k.link.send(f); err != nil {
		k.log.Error("frame not sent", "err", err)
		return false
	}
	k.lastSent = k.o.now()
	return true
}

// owes notes that the server has to answer what was just sent.
func (k *core) owes() {
	if k.awaiting.IsZero() {
		k.awaiting = k.o.now()
	}
}

// heard notes that the server lives.
func (k *core) heard() {
	k.lastHeard = k.o.now()
	k.awaiting = time.Time{}
	if k.ping != nil || k.inflight > 0 || len(k.reqs) > 0 || len(k.calls) > 0 {
		k.awaiting = k.lastHeard
	}
}

func (k *core) idleAfter() time.Duration {
	if ms := k.heartbeat.GetIdleMs(); ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return 30 * time.Second
}

// pingAt: after idle silence, of our own or the server's, but also when heads were not
// compared for twice that. SPEC §9.1.
func (k *core) pingAt() time.Time {
	if k.ping != nil || k.state != StateConnected {
		return time.Time{}
	}
	idle := k.idleAfter()
	return earliest(k.lastSent.Add(idle), k.lastHeard.Add(idle), k.lastPing.Add(2*idle))
}

// answerDeadline is when the connection counts as dead: silence while an answer
// is owed, silence for as long as the server said, or one request left out for long.
func (k *core) answerDeadline() time.Time {
	var d time.Time
	if !k.awaiting.IsZero() {
		d = k.awaiting.Add(k.o.answerWithin)
	}
	if ms := k.heartbeat.GetDeadMs(); ms > 0 && k.state == StateConnected {
		d = earliest(d, k.lastHeard.Add(time.Duration(ms)*time.Millisecond))
	}
	for _, r := range k.reqs {
		d = earliest(d, r.at.Add(patience))
	}
	if at := k.oldestInFlight(); !at.IsZero() {
		d = earliest(d, at.Add(patience))
	}
	return d
}

func (k *core) keepAlive(now time.Time) {
	switch {
	case due(k.goAway, now):
		k.send(wire.NewClientFrame(&wire.Bye{}))
		k.lostNow(&Error{Code: wire.CodeGoingAway})
	case due(k.answerDeadline(), now):
		k.lost(errors.New("skein: the server does not answer"))
	case due(k.pingAt(), now):
		k.sendPing()
	case due(k.renewAt, now):
		k.renew()
	}
}

// tokenError is a TokenSource's: there is nobody else to ask.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return "skein: token: " + e.err.Error() }
func (e *tokenError) Unwrap() error { return e.err }

// kickError is a Kick: an *Error and who took the place.
type kickError struct {
	err *Error
	by  *wire.Device
	at  time.Time
}

func (e *kickError) Error() string { return e.err.Error() }
func (e *kickError) Unwrap() error { return e.err }

func newKickError(f *wire.Kick) error {
	e := &kickError{err: errorOf(f.GetError()), by: f.By}
	if f.AtMs > 0 {
		e.at = time.UnixMilli(f.AtMs)
	}
	return e
}

func (k *core) onKick(f *wire.Kick) { k.reason = newKickError(f); k.lost(k.reason) }

func (k *core) onGoAway(f *wire.GoAway) {
	wait := k.o.jitter(time.Duration(f.RetryAfterMs) * time.Millisecond)
	k.goAway = k.o.now().Add(wait)
	k.log.Info("server drains", "reconnect_in", wait)
}

// onError is an error that belongs to no request. Ranges other than retry and
// fix mean that the connection ends.
func (k *core) onError(f *wire.Error) {
	e := errorOf(f)
	switch e.Action() {
	case wire.ActionRetry, wire.ActionFix:
		k.log.Warn("server reports", "err", e)
	default:
		k.lost(e)
	}
}

// lost ends the connection and decides how to go on.
func (k *core) lost(err error) {
	if k.link == nil {
		return
	}
	if !k.byeAt.IsZero() {
		k.over = ErrClosed
		return
	}
	if k.reason == nil {
		k.reason = err
	}
	var e *Error
	final := errors.As(k.reason, &e) && (e.Action() == wire.ActionStop || e.Action() == wire.ActionLogin)
	if !k.goAway.IsZero() && !final { // announced: the time is settled
		at := k.goAway
		k.dropLink(k.reason)
		k.setState(StateDisconnected, &Error{Code: wire.CodeGoingAway})
		k.retryAt = at
		return
	}
	err = k.reason
	k.dropLink(err)
	k.decide(err)
}

// lostNow leaves the connection, which still writes what is queued, for a new one at once.
func (k *core) lostNow(err error) {
	if k.leaving != nil {
		k.leaving.shut()
	}
	k.leaving = k.link
	k.link.finish()
	k.dropLink(err)
	k.setState(StateDisconnected, err)
	k.startDial()
}

// dropLink forgets the connection and everything that waits for it.
func (k *core) dropLink(err error) {
	if k.link == nil {
		return
	}
	if k.link != k.leaving {
		k.link.shut()
	}
	k.link = nil
	k.ping, k.awaiting, k.goAway, k.syncing = nil, time.Time{}, time.Time{}, false
	for n, c := range k.calls {
		c.reply <- callResult{err: fmt.Errorf("%w: %w", ErrConnectionLost, err)}
		delete(k.calls, n)
	}
	for n, r := range k.reqs {
		delete(k.reqs, n)
		r.abandon(err)
	}
	k.again, k.pageAgain = refused{}, refused{} // the next Hello syncs
	k.asks = nil
	k.requeue()
	k.held, k.heldOver = nil, false // the next sync brings them
}

// decide what follows from an error: again, a new token, or stop. The ranges of CODES.md.
func (k *core) decide(err error) {
	var e *Error
	if errors.Is(err, ErrOtherUser) {
		k.stop(err)
		return
	}
	var nowhere *UnreachedError
	if errors.As(err, &nowhere) && nowhere.hopeless && !k.found && !k.o.offline {
		k.stop(nowhere)
		return
	}
	wait := k.o.backoff(k.attempt)
	if errors.As(err, &e) {
		switch e.Action() {
		case wire.ActionStop, wire.ActionFix:
			k.stop(err)
			return
		case wire.ActionLogin:
			k.rejections++
			var source *tokenError
			if k.o.staticToken || errors.As(err, &source) || k.token == k.rejected || k.rejections >= maxRejections {
				k.stop(err)
				return
			}
			k.rejected = k.token
		default:
			wait = max(wait, e.RetryAfter)
		}
	}
	k.attempt++
	k.log.Info("disconnected", "err", err, "retry_in", wait)
	k.setState(StateDisconnected, err)
	k.retryAt = k.o.now().Add(wait)
}

func (k *core) stop(err error) {
	k.log.Warn("stopped", "err", err)
	k.setState(StateStopped, err)
	k.outbox.release(err)
}

func (k *core) redial() {
	if k.state == StateDisconnected {
		k.startDial()
	}
}

func (k *core) reconnectNow() {
	if k.state == StateDisconnected || k.state == StateStopped {
		k.retryAt = time.Time{}
		k.attempt, k.rejected, k.rejections = 0, "", 0
		k.startDial()
	}
}

// abandon tells everybody who waits that it is over.
func (n *connection) abandon(err error) {
	for _, w := range n.waiters {
		w <- err
	}
	n.waiters = nil
}

func (k *core) nextNumber() uint32 {
	k.number++
	if k.number == 0 {
		k.number = 1
	}
	return k.number
}

// pageLimit is the most entries a Pull may ask for.
func (k *core) pageLimit() int {
	if n := int(k.limits.GetPullEntries()); n > 0 {
		return min(n, 500)
	}
	return 50
}
