package skein

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/skein-im/skein/wire"
)

// core is the state of a client. Everything here belongs to the goroutine of
// run; the rest of the package reaches it through Client.do.
type core struct {
	c   *Client
	o   *options
	log *slog.Logger
	ids *wire.IDSource

	// What the store holds, as of the batch being gathered.
	meta     Meta
	convs    map[string]*conv
	lastFeed uint64
	handled  uint64 // feed items up to here are handled, as far as this process knows
	lastN    uint64

	// The turn: changes that become one batch, and what follows once it is stored.
	batch *Batch
	// fresh are the entries of the batch as they are after it.
	fresh map[EntryRef]*wire.Entry
	// growing is what messages that grow say beyond what is durable of them.
	growing   map[EntryRef]grown
	dirty     map[*conv]struct{}
	metaDirty bool
	// urgent: dirty records must be stored this turn. Marks of others may wait
	// until lazyAt, the server repeats them with the next sync.
	urgent bool
	lazyAt time.Time
	after  []func(error) // nil: stored; otherwise the client ends and it is not known

	outbox
	connection
	pullFrames
	syncer
	marks
	perishing
	keptThreads

	closeAt time.Time // closing: when to stop waiting
	byeAt   time.Time // Bye is sent: when to stop waiting for the end
	over    error     // set: the loop ends
}

// conv is a conversation: its record and what is only in memory.
type conv struct {
	rec ConversationRecord
	// early holds what came above the next entry, by its first place, until the entries
	// before it are there. newer holds states of entries that lie in the hole before it.
	early map[uint64]place
	newer map[uint64]*wire.Entry
	// askedAt is the last entry about which it was asked whether the user is a member again.
	askedAt uint64
	// atPos is the last seq as of the saved position; above it the conversation
	// counts in the digest. changedTick is when it last grew.
	atPos, changedTick uint64
	// pulling: a Pull forward is unanswered. No other before pullAt.
	pulling    bool
	pullAt     time.Time
	pullFailed int
	// Marks as told to this connection.
	sentReceived, sentRead uint64
	// told is the end as of which the server last told who is a member.
	told uint64
	// mentionsAt is the end as of which the server last told the unread mentions.
	mentionsAt uint64
	// countedTo is the seq whose running count HeadCount is.
	countedTo uint64
	// uncounted: the running count at the read mark is not known; the server is asked.
	uncounted bool
	// perishAt is when something of it is gone next; alive is, by the beginning of a
	// period, when its first entry that is not gone will be (Unix ms, the server's clock).
	perishAt time.Time
	alive    map[uint64]int64
	// ownReceived is the furthest of the user's devices, as far as it was told here.
	ownReceived uint64
	floor       floor
}

// maxEarly bounds what waits in memory of a conversation.
const maxEarly = 256

// turnInputs bounds how much is gathered into one batch.
const turnInputs = 256

func newCore(c *Client, snap *Snapshot) *core {
	k := &core{
		c: c, o: c.o, log: c.o.log, ids: wire.NewIDSource(c.o.now, nil),
		meta: snap.Meta, lastFeed: snap.LastFeed,
		convs: map[string]*conv{}, dirty: map[*conv]struct{}{}, batch: &Batch{},
		fresh: map[EntryRef]*wire.Entry{}, growing: map[EntryRef]grown{},
	}
	for _, r := range snap.Conversations {
		cv := &conv{rec: r, atPos: r.Head, early: map[uint64]place{}}
		if r.High >= r.Head {
			cv.countedTo = r.Head
		}
		k.convs[r.ID] = cv
	}
	if k.meta.User != "" {
		c.user.Store(&k.meta.User)
	}
	k.outbox.init(k, snap.Outbox)
	k.connection.init(k)
	k.syncer.init()
	k.marks.init()
	k.keptThreads.init(snap.Threads)
	k.goneAsk = map[*conv]struct{}{}
	for _, cv := range k.convs {
		if cv.rec.Unsure {
			k.unsure[cv] = struct{}{} // the first Sync, or the list behind it, answers
		}
	}
	for _, cv := range k.convs {
		k.trimThreads(cv)
	}
	k.lookAgain()
	if k.o.device.Id == "" {
		if k.meta.Device == "" {
			k.meta.Device = NewDeviceID()
			k.metaDirty = true
		}
		k.o.device = &wire.Device{Id: k.meta.Device, Class: k.o.device.Class, Name: k.o.device.Name}
	}
	return k
}

// run is the loop: gather inputs, store, then act on what is stored.
func (k *core) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	k.startDial()
	k.perish() // before anything is shown
	for k.over == nil {
		k.gather(timer)
		k.turn()
		if d := k.nextDeadline(); !d.IsZero() {
			timer.Reset(max(0, d.Sub(k.o.now())))
		} else {
			timer.Reset(time.Hour)
		}
	}
	k.finish()
}

// turn stores what was gathered and then acts on it. After a store that failed
// nothing may leave the device.
func (k *core) turn() {
	k.commit()
	if k.over == nil {
		k.timers(k.o.now())
		k.commit()
	}
	if k.over == nil {
		k.pump()
		k.pumpPulls()
		k.sendPulls()
		k.refreshThreads()
		k.commit()
	}
}

// gather waits for an input and takes those that are there already with it.
func (k *core) gather(timer *time.Timer) {
	in, drained := k.inputs()
	select {
	case f := <-k.c.cmds:
		f(k)
	case m := <-in:
		k.inbound(m)
	case d := <-k.dialed:
		k.onDialed(d)
	case <-drained:
	case <-timer.C:
		return
	}
	for range turnInputs {
		in, _ = k.inputs()
		select {
		case f := <-k.c.cmds:
			f(k)
		case m := <-in:
			k.inbound(m)
		default:
			return
		}
	}
}

func (k *core) inputs() (<-chan inbound, <-chan struct{}) {
	if k.link == nil || k.over != nil {
		return nil, nil
	}
	return k.link.in, k.link.drained
}

// commit stores what was gathered and runs what waited for it.
func (k *core) commit() {
	now := k.o.now()
	if len(k.dirty) > 0 && k.lazyAt.IsZero() {
		k.lazyAt = now.Add(time.Second)
	}
	write := !k.batch.Empty() || k.urgent || k.metaDirty || len(k.dirtyThreads) > 0 || (len(k.dirty) > 0 && !now.Before(k.lazyAt))
	if write && k.over == nil {
		for cv := range k.dirty {
			if k.convs[cv.rec.ID] == cv {
				rec := cv.rec
				k.batch.Conversations = append(k.batch.Conversations, &rec)
			}
		}
		clear(k.dirty)
		k.ofThreads(k.batch)
		if k.metaDirty {
			m := k.meta
			k.batch.Meta = &m
		}
		b := k.batch
		k.batch, k.metaDirty, k.urgent, k.lazyAt = &Batch{}, false, false, time.Time{}
		clear(k.fresh)
		// Never cancelled half-way: an unknown outcome would be worse than a late one.
		if err := k.o.store.Apply(context.Background(), b); err != nil {
			k.die(fmt.Errorf("%w: %w", ErrStore, err))
			return
		}
		if len(b.Feed) > 0 {
			k.c.hub.notify()
		}
	}
	if k.over != nil {
		return
	}
	after := k.after
	k.after = nil
	for _, f := range after {
		f(nil)
	}
}

// touch notes that a conversation's record changed; urgent ones are stored this turn.
func (k *core) touch(cv *conv, urgent bool) {
	k.dirty[cv] = struct{}{}
	k.urgent = k.urgent || urgent
}

// feed queues an event for the program.
func (k *core) feed(it FeedItem) {
	if !k.o.events {
		return
	}
	k.lastFeed++
	it.N = k.lastFeed
	k.batch.Feed = append(k.batch.Feed, it)
}

// timers does what is due.
func (k *core) timers(now time.Time) {
	k.perish()
	if due(k.retryAt, now) {
		k.retryAt = time.Time{}
		k.redial()
	}
	if due(k.marksAt, now) {
		k.flushMarks()
	}
	if k.link != nil {
		k.keepAlive(now)
		k.syncAgain(now)
		k.askGone(now)
	}
	k.closeStep(now)
}

func (k *core) nextDeadline() time.Time {
	d := earliest(k.retryAt, k.marksAt, k.lazyAt, k.pumpAt, k.pullsAt, k.byeAt, k.perishAt)
	if k.byeAt.IsZero() {
		d = earliest(d, k.closeAt)
	}
	if k.state == StateConnected {
		d = earliest(d, k.goneAskAt)
	}
	if k.link != nil {
		d = earliest(d, k.pingAt(), k.answerDeadline(), k.goAway, k.again.at, k.pageAgain.at, k.renewAt)
	}
	return d
}

func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// earliest returns the first of the times that are set.
func earliest(ts ...time.Time) time.Time {
	var first time.Time
	for _, t := range ts {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// inbound handles a frame of the connection, or its end.
func (k *core) inbound(m inbound) {
	if m.err != nil {
		k.lost(m.err)
		return
	}
	k.handle(m.frame)
	k.heard() // after: what this frame answered is no longer owed
}

func (k *core) handle(frame *wire.ServerFrame) {
	switch f := frame.GetFrame().(type) {
	case *wire.ServerFrame_SendAck:
		k.onAck(f.SendAck)
	case *wire.ServerFrame_SendError:
		k.onSendError(f.SendError)
	case *wire.ServerFrame_Push:
		k.take(f.Push.Entries)
		k.onPosition(f.Push.Position)
	case *wire.ServerFrame_Receipt:
		k.onReceipt(f.Receipt)
	case *wire.ServerFrame_MyState:
		k.onMyState(f.MyState)
	case *wire.ServerFrame_SyncDelta:
		k.onDelta(f.SyncDelta)
	case *wire.ServerFrame_Range:
		k.onRange(f.Range)
	case *wire.ServerFrame_Typing:
		e := &TypingEvent{Conversation: f.Typing.Conversation, User: f.Typing.User}
		k.post(passingKey{"typing", e.Conversation, e.User}, e)
	case *wire.ServerFrame_Signal:
		e := &SignalEvent{Conversation: f.Signal.Conversation, User: f.Signal.User, Type: f.Signal.Type, Data: f.Signal.Data}
		k.post(passingKey{"signal " + e.Type, e.Conversation, e.User}, e)
	case *wire.ServerFrame_Part:
		k.onPart(f.Part)
	case *wire.ServerFrame_Presence:
		e := &PresenceEvent{User: f.Presence.User, Online: f.Presence.Online}
		if ms := f.Presence.LastSeenAtMs; ms > 0 {
			e.LastSeen = time.UnixMilli(ms)
		}
		k.post(passingKey{"presence", "", e.User}, e)
	case *wire.ServerFrame_Result:
		k.onResult(f.Result)
	case *wire.ServerFrame_Pong:
		k.onPong(f.Pong)
	case *wire.ServerFrame_Ping:
		k.send(wire.NewClientFrame(&wire.Pong{}))
	case *wire.ServerFrame_Heads:
		k.onHeads(f.Heads.Heads)
	case *wire.ServerFrame_Floor:
		k.onFloor(f.Floor)
	case *wire.ServerFrame_Announcements:
		k.post(passingKey{"announcements", "", ""}, &AnnouncementsEvent{All: f.Announcements.Announcements})
	case *wire.ServerFrame_Resync:
		k.onResync()
	case *wire.ServerFrame_Kick:
		k.onKick(f.Kick)
	case *wire.ServerFrame_GoAway:
		k.onGoAway(f.GoAway)
	case *wire.ServerFrame_Renewed:
		k.onRenewed(f.Renewed)
	case *wire.ServerFrame_Error:
		k.onError(f.Error)
	default: // a frame of a later version, or a second Welcome: SPEC §1.4
		k.log.Debug("unknown frame ignored")
	}
}

// post passes an event that may be lost on; it follows what was stored before it.
func (k *core) post(key passingKey, e Event) {
	if k.o.events {
		k.after = append(k.after, func(err error) {
			if err == nil {
				k.c.hub.post(key, e)
			}
		})
	}
}

// beginClose starts the end: first what waits is sent, then Bye, then the server closes.
func (k *core) beginClose() {
	if k.closeAt.IsZero() {
		k.closeAt = k.o.now().Add(2 * time.Second)
		if len(k.markDue) > 0 {
			k.marksSoon(0)
		}
	}
}

func (k *core) closeStep(now time.Time) {
	switch {
	case k.closeAt.IsZero():
	case !k.byeAt.IsZero():
		if due(k.byeAt, now) {
			k.over = ErrClosed
		}
	case k.state != StateConnected:
		k.urgent = len(k.dirty) > 0 // store what is still only in memory
		k.after = append(k.after, func(error) { k.over = ErrClosed })
	case due(k.closeAt, now) || (k.idle() && k.marksAt.IsZero()):
		k.urgent = len(k.dirty) > 0
		k.send(wire.NewClientFrame(&wire.Bye{}))
		k.byeAt = now.Add(time.Second)
	}
}

// die ends the client because it cannot go on.
func (k *core) die(err error) {
	if k.over == nil {
		k.log.Error("client ends", "err", err)
		k.over = err
	}
}

// finish releases everything and everybody who waits.
func (k *core) finish() {
	k.c.end = k.over
	for _, f := range k.after {
		f(k.over)
	}
	k.dropLink(k.over)
	if k.leaving != nil {
		k.leaving.shut()
	}
	k.c.cancel()
	k.outbox.abandon(k.over)
	k.connection.abandon(k.over)
	k.c.hub.post(passingKey{kind: "state"}, &StateEvent{State: StateClosed, Err: k.over})
	k.c.hub.close()
	close(k.c.stopped)
}
