package skein

import (
	"cmp"
	"time"

	"github.com/skein-im/skein/wire"
)

// syncer is the part of the core that keeps up with the server. SPEC §7.
type syncer struct {
	// syncing: a Sync from the position is unanswered. wantSync: another is due after it.
	syncing, wantSync bool
	// again and pageAgain are what was refused for now, and when to ask again.
	again, pageAgain refused
	// proof is the newest entry from before the server said Resync, until a Sync
	// that named it is answered: what is pushed from then on may be of another
	// history than what is known here, and proves nothing of that.
	proof *wire.Newest
	// resynced: a refused position was given up on this connection already.
	resynced bool
	// held are entries that wait for a sync's answer; heldOver: some were dropped.
	held     []*wire.Entry
	heldOver bool
	// base is the position that the digest belongs to: of the last SyncDelta or Pong
	// of this connection; "" before. Pushed positions are beyond it.
	base string
	// changed are the conversations with an entry above atPos: the digest.
	changed map[*conv]struct{}
	// unsure are those the server has to tell since when the user is a member.
	unsure map[*conv]struct{}
	// unknown is of conversations that are not known: up to which of their entries the
	// server was asked about them.
	unknown map[string]uint64
	// tick counts applied entries.
	tick uint64
	// relisted: the conversation list was begun again on this connection already.
	relisted  bool
	pullQueue []*conv
	pullsAt   time.Time
}

// pingState is the Ping that is unanswered.
type pingState struct {
	at     time.Time
	digest bool
	heads  map[*conv]uint64
}

type reqKind int

const (
	reqSync    reqKind = iota // from the position
	reqAfter                  // the same, after the list: it may have missed conversations that moved
	reqPage                   // a further page of the conversation list
	reqFill                   // forward, to fill a hole
	reqNewest                 // the newest, to begin anew
	reqHistory                // backward, for the program
	reqCount                  // forward, for the count of a mark
)

// refused is a question that is asked again later.
type refused struct {
	at    time.Time // zero: none
	kind  reqKind
	tries int
}

// request is a Sync or Pull that is unanswered.
type request struct {
	kind reqKind
	cold bool
	at   time.Time
	tick uint64
	// told are the conversations of the pages before.
	told map[*conv]bool
	cv   *conv
	from uint64
	// frame is the number of the first Pull of the frame it was asked in, 0: alone.
	frame uint32
	// mark is the seq whose count is asked for.
	mark uint64
	// amended are recalls and newer states of entries that the answer may tell, which
	// came while it was under way.
	amended []*wire.Entry
	// newest is what a Sync proved its history by.
	newest *wire.Newest
	// done gets the answer after it is stored.
	done func(*wire.Range, error)
}

func (r *request) abandon(err error) {
	switch r.kind {
	case reqFill, reqNewest:
		r.cv.pulling = false
	case reqHistory:
		r.done(nil, err)
	}
}

func (s *syncer) init() {
	s.changed, s.unsure, s.unknown = map[*conv]struct{}{}, map[*conv]struct{}{}, map[string]uint64{}
}

func (k *core) newSync() *wire.Sync {
	return &wire.Sync{
		Number: k.nextNumber(), Position: k.meta.Position, Timeline: k.meta.Timeline, Limit: k.o.pageSize, Newest: cmp.Or(k.proof, k.newest()),
	}
}

// newest names the entry by which the server sees whether its history is the one
// that is known here. SPEC §7.8.
func (k *core) newest() *wire.Newest {
	var newest *wire.Newest
	for _, cv := range k.convs {
		if n := cv.rec.Newest; n.GetPos() > newest.GetPos() {
			newest = n
		}
		// What waits for the entries before it will be applied: it has to be of the
		// same history.
		for _, p := range cv.early {
			n := p.end
			if p.entry != nil {
				n = newestOf(p.entry)
			}
			if n.GetPos() > newest.GetPos() {
				newest = n
			}
		}
	}
	return newest
}

// requestSync asks what changed since the position; at most one at a time.
func (k *core) requestSync() { k.syncAs(reqSync) }

func (k *core) syncAs(kind reqKind) {
	if k.link == nil || k.syncing || !k.again.at.IsZero() {
		k.wantSync = true
		return
	}
	s := k.newSync()
	k.syncing, k.wantSync = true, false
	k.reqs[s.Number] = &request{kind: kind, cold: s.Position == "", at: k.o.now(), tick: k.tick, newest: s.Newest}
	k.send(wire.NewClientFrame(s))
	k.owes()
}

func (k *core) requestPage() {
	n := k.nextNumber()
	k.reqs[n] = &request{kind: reqPage, cold: true, at: k.o.now()}
	k.send(wire.NewClientFrame(&wire.Sync{Number: n, Timeline: k.meta.Timeline, Limit: k.o.pageSize, Cursor: k.meta.ListNext}))
	k.owes()
}

// onDelta applies an answer: the states, then the position, in one batch.
func (k *core) onDelta(d *wire.SyncDelta) {
	req := k.reqs[d.Number]
	if req == nil || req.kind > reqPage {
		return
	}
	delete(k.reqs, d.Number)
	if d.Error != nil {
		k.syncRefused(req, errorOf(d.Error))
		return
	}
	if req.kind == reqPage && !d.Reset_ {
		k.onPage(d)
		return
	}
	k.again = refused{}
	if req.newest == k.proof {
		k.proof = nil
	}
	if d.Reset_ && (k.meta.Position != "" || len(k.convs) > 0) {
		k.reset(d.Timeline)
	}
	cold := req.cold || d.Reset_
	told := req.told
	if told == nil {
		told = map[*conv]bool{}
	}
	for _, s := range d.Conversations {
		if cv := k.applyState(s, cold, req.kind); cv != nil {
			told[cv] = true
			cv.atPos = max(s.Seq, cv.atPos)
		}
	}
	if !cold && d.Next != "" {
		k.resumeOn(req, told, d.Next)
		return
	}
	k.meta.Position, k.base = d.Position, d.Position
	if cold {
		k.meta.ListNext, k.meta.Listing = d.Next, d.Next != ""
	}
	k.listUnsure()
	k.metaDirty = true
	for cv := range k.changed {
		// What grew before the question is below the new position, told or not.
		if !told[cv] && cv.changedTick <= req.tick {
			cv.atPos = max(cv.atPos, cv.rec.High)
		}
		k.noteChanged(cv)
	}
	k.syncing = false
	k.ping = nil // its digest was of the old position
	k.release()
	if k.state == StateConnecting {
		k.connected()
	}
	if k.meta.Listing && !k.listing() {
		k.requestPage()
	}
	if k.wantSync {
		k.requestSync()
	}
}

// resumeOn asks for the next page of what changed since the position, which stays
// until the last one: whoever is cut off in between begins again.
func (k *core) resumeOn(before *request, told map[*conv]bool, cursor string) {
	s := k.newSync()
	s.Cursor = cursor
	k.reqs[s.Number] = &request{kind: before.kind, at: k.o.now(), tick: before.tick, told: told}
	k.send(wire.NewClientFrame(s))
	k.owes()
}

// syncRefused: the same again later, or, if it was the cursor or the position
// that is no good, once without it. SPEC §7.6.
func (k *core) syncRefused(r *request, e *Error) {
	page := r.kind == reqPage
	if !page {
		k.syncing = false
	}
	k.log.Warn("sync refused", "page", page, "err", e)
	switch action := e.Action(); {
	case action == wire.ActionRetry && page:
		k.pageAgain = k.later(k.pageAgain, r.kind, e)
	case action == wire.ActionRetry:
		k.again = k.later(k.again, r.kind, e)
		if k.state == StateConnected {
			k.release() // receiving goes on
		}
	case action == wire.ActionFix && page:
		k.failListing()
	case action == wire.ActionFix && !r.cold && !k.resynced:
		k.resynced = true
		k.meta.Position, k.metaDirty = "", true
		k.requestSync()
	default:
		k.lost(e)
	}
}

// later is when to ask again: not before the server said, and not all at once.
func (k *core) later(was refused, kind reqKind, e *Error) refused {
	return refused{at: k.o.now().Add(e.RetryAfter + k.o.backoff(was.tries)), kind: kind, tries: was.tries + 1}
}

// syncAgain asks what was refused and is due.
func (k *core) syncAgain(now time.Time) {
	if due(k.again.at, now) {
		k.again.at = time.Time{}
		k.syncAs(k.again.kind)
	}
	if due(k.pageAgain.at, now) {
		k.pageAgain.at = time.Time{}
		if k.meta.Listing && !k.listing() {
			k.requestPage()
		}
	}
}

// listing reports whether a page is on its way, or will be asked for again.
func (k *core) listing() bool {
	if !k.pageAgain.at.IsZero() {
		return true
	}
	for _, r := range k.reqs {
		if r.kind == reqPage {
			return true
		}
	}
	return false
}

func (k *core) onPage(d *wire.SyncDelta) {
	k.pageAgain = refused{}
	for _, s := range d.Conversations {
		k.applyState(s, true, reqPage)
	}
	k.meta.ListNext, k.meta.Listing = d.Next, d.Next != ""
	k.metaDirty = true
	if k.meta.Listing {
		k.requestPage()
	}
	if !k.syncing {
		if !k.meta.Listing && (k.holdsUnknown() || len(k.unsure) > 0) {
			k.syncAs(reqAfter)
			return
		}
		k.release()
	}
}

func (k *core) holdsUnknown() bool {
	for _, e := range k.held {
		if k.convs[e.Conversation] == nil {
			return true
		}
	}
	return false
}

// failListing begins the conversation list again, once, after its cursor was refused.
func (k *core) failListing() {
	k.metaDirty = true
	k.meta.ListNext = ""
	if k.relisted {
		k.log.Error("conversation list given up; the rest appears as it changes")
		k.meta.Listing = false
		k.requestSync()
		return
	}
	k.relisted = true
	k.requestPage()
}

// applyState takes over what the server says of a conversation. Cold: a
// conversation that was not known begins at its last entry, as history;
// otherwise at its first visible one, as news.
func (k *core) applyState(s *wire.ConversationState, cold bool, kind reqKind) *conv {
	if s.GetConversation() == "" {
		return nil
	}
	cv := k.convs[s.Conversation]
	quiet, begins := false, false
	if cv == nil {
		var base uint64
		base, quiet = k.baseOf(s, cold, kind)
		cv = k.newConv(s.Conversation, base)
		begins = base+1 == s.FromSeq
	}
	r := &cv.rec
	r.Title = s.Title
	was := *r
	k.takeLifetimes(cv, s)
	if low := cv.takeWindows(s); low > 0 {
		k.raise(cv, low)
	}
	k.outOfWindows(cv, &was, s.Floor)
	delete(k.unsure, cv)
	r.Unsure = false
	if s.Seq >= r.Head {
		r.Head, r.HeadCount, cv.countedTo = s.Seq, s.Count, s.Seq
		r.LastAtMs = max(r.LastAtMs, s.LastAtMs)
	}
	r.Head = max(r.Head, s.UntilSeq)
	if s.ReadSeq >= r.Read {
		r.Read = s.ReadSeq
		cv.sentRead = max(cv.sentRead, s.ReadSeq) // what the server tells need not be told to it
		if not := s.Unread + r.hidden() + s.Recalled; s.Count >= not {
			r.ReadCount, cv.uncounted = s.Count-not, false
		}
	} else {
		r.pass(r.Read)
		cv.sentRead = 0 // ours is ahead: tell again
		k.markLater(cv, k.o.readDelay)
		k.markIsGone(cv)
	}
	counted := r.Recalled
	recalled := r.takeRecalled(s)
	k.takeMentions(cv, s)
	k.stillGone(cv, counted)
	known := r.Mine.GetRevision()
	k.takeMine(cv, s.Mine, false)
	k.withoutDeleted(cv, known > s.Mine.GetRevision())
	r.PeerReceived = max(r.PeerReceived, s.PeerReceived)
	r.PeerRead = max(r.PeerRead, s.PeerRead)
	k.touch(cv, true)
	k.takeFloor(cv, s.Floor)
	k.applyEarly(cv, false)
	if s.FromSeq > 0 {
		k.takeTold(cv, toldBy(s), cold && !begins, quiet)
	}
	for _, seq := range recalled {
		if !r.gone(seq) {
			k.eraseRecalled(cv, seq)
		}
	}
	k.trimThreads(cv)
	k.wantPull(cv)
	return cv
}

// takeTold takes the stretch of a state. Listed: it is a line of the conversation list,
// which is for who knows nothing yet: it leaves out what was touched before it, so in a
// conversation that is known only its entries count, and what amends is pulled.
func (k *core) takeTold(cv *conv, s stretch, listed, quiet bool) {
	if !listed {
		k.takeStretch(cv, s, quiet)
		return
	}
	for _, e := range s.entries {
		if s.has(cv, e) {
			k.offer(cv, e, quiet)
		}
	}
}

// baseOf is the seq after which the window of a new conversation begins.
func (k *core) baseOf(s *wire.ConversationState, cold bool, kind reqKind) (base uint64, quiet bool) {
	if !cold && kind == reqSync {
		first := s.FirstSeq
		if len(s.Earlier) > 0 {
			first = s.Earlier[0].FirstSeq
		}
		return max(first, 1) - 1, false
	}
	base = s.Seq
	if s.FromSeq > 0 {
		base = s.FromSeq - 1
	}
	quiet = cold // otherwise its entries are from after the position
	for _, e := range k.held {
		// Pushed while the list was read: from here on it is news.
		if e.Conversation == s.Conversation && e.Seq <= base+1 {
			base, quiet = e.Seq-1, false
		}
	}
	return base, quiet
}

// noteChanged puts a conversation into the digest's set or takes it out.
func (k *core) noteChanged(cv *conv) {
	if cv.rec.High > cv.atPos && cv.rec.High >= cv.rec.Low {
		k.changed[cv] = struct{}{}
	} else {
		delete(k.changed, cv)
	}
}

// onHeads: what is missing is pulled. SPEC §6.5.
func (k *core) onHeads(heads []*wire.Head) {
	for _, h := range heads {
		if h.GetConversation() != "" {
			k.noteHead(h.Conversation, h.Seq)
		}
	}
}

// noteHead takes note that a conversation reaches up to seq.
func (k *core) noteHead(conversation string, seq uint64) {
	cv := k.convs[conversation]
	if cv == nil {
		if !k.meta.Listing && seq > 0 {
			k.requestSync()
		}
		return
	}
	if seq > cv.rec.Head {
		cv.rec.Head = seq
		k.touch(cv, true)
	}
	if cv.returned(seq) {
		k.askMembership(cv)
	}
	k.wantPull(cv)
}

// sendPing says that we live, and what we have. SPEC §7.4, §9.1.
func (k *core) sendPing() {
	now := k.o.now()
	p := &pingState{at: now, heads: map[*conv]uint64{}}
	f := &wire.Ping{}
	if k.base != "" && !k.syncing {
		var digest uint64
		for cv := range k.changed {
			digest += wire.HeadHash(cv.rec.ID, cv.rec.High)
			p.heads[cv] = cv.rec.High
		}
		p.digest = true
		f.Position, f.Digest = k.base, &digest
	}
	k.ping = p
	k.lastPing = now
	k.send(wire.NewClientFrame(f))
	k.owes()
}

// onPosition takes a position that came with a push. What came before it is in the
// batch that it is saved with, or known to be missing, unless it waits: for a
// sync's answer, or for the list. SPEC §7.7.
func (k *core) onPosition(position string) {
	waits := k.syncing || k.wantSync || !k.again.at.IsZero() || k.meta.Listing || len(k.held) > 0 || k.heldOver
	if position == "" || k.state != StateConnected || waits {
		return
	}
	k.meta.Position, k.metaDirty = position, true
}

// onResync: pushes were dropped, or the server went back: what was pushed before may
// be of a history that is gone. SPEC §6.4, §7.8.
func (k *core) onResync() {
	k.dropHeld()
	if k.proof == nil {
		k.proof = k.newest()
	}
	k.requestSync()
}

func (k *core) onPong(f *wire.Pong) {
	if f.ServerTimeMs > 0 {
		k.ids.SetServerTime(f.ServerTimeMs)
		k.renewIDs()
		k.serverIs(f.ServerTimeMs)
	}
	p := k.ping
	k.ping = nil
	switch {
	case f.Resync:
		k.onResync()
	case p != nil && p.digest && f.Position != "" && !k.syncing:
		k.meta.Position, k.base = f.Position, f.Position
		for cv, seq := range p.heads {
			cv.atPos = max(cv.atPos, seq)
			k.noteChanged(cv)
		}
		k.meta.SettledAtMs = p.at.Add(-markHorizon).UnixMilli()
		k.metaDirty = true
	}
}
