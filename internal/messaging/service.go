// Package messaging is the life of a message: it admits, batches, stores, answers
// and hands on what members send, moves their marks, and answers what they missed.
//
// A send goes through three hands, and waits for a store in none but its own
// conversation's:
//
//   - the committer (commit.go) takes what is queued, decides from RAM, and appends
//     one batch after the other. It waits for the journal and, while few messages come,
//     for the settler, who waits for no store: so the next batch is larger;
//   - what RAM cannot decide (a permission that is not cached, a new dm, an amendment, a
//     reply, a refusal that may have been stored before) waits in its conversation,
//     in order, while an admitter (admit.go) asks the stores, and comes again. What
//     is refused is looked for by others than those who admit;
//   - the settler (settle.go) answers and delivers, while the committer is at the
//     next batch if many wait. A change that has to be applied in the directory first is applied
//     aside: its conversation waits for it in order, the others go on.
//
// It does not know sockets, frames, SQL or which journal it stores in.
//
// Goroutines: the committer, the settler and one that finds positions to tell
// (positions.go), started by New and ended by Close; at most maxAdmitters
// admitters, and maxLookers who look for what is refused; one for each change that is being applied. Retries of conversations
// whose roster is being changed, or that somebody has locked in the store, wait on
// timers that only put items back into the queue; one timer stores what streamed messages
// say, as sends.
//
// Locks: queue.mu guards the queue; admission.mu what waits for admitters;
// opened.mu the dms that are known to be open; lifetimes.mu what is known to be gone; streams.mu what grows;
// touched.mu the recent mark changes. None is held while calling out, and they
// are never held together. One of marking's is held, and taken before touched.mu,
// while a mark is moved and told of.
//
// Invariants (ARCHITECTURE.md; each has a test):
//  1. A reply that says stored, and any delivery, happen only after
//     Journal.Append returned without error for the batch.
//  2. Replies and deliveries of one conversation are in the order of its seqs,
//     and replies to one sender in a conversation in the order of the sends.
//  3. Permission is decided for the roster revision that the append is
//     conditional on; when the revision moved, the item is decided anew.
//  4. An append whose outcome is unknown is asked again with the same ids before
//     anything is answered.
//  5. What cannot be taken is rejected before it is queued, with a retryable code.
//  6. What is behind a send that was refused for now (im.Order) is refused as well,
//     in the same batch, in the queue, and while it waits in its conversation: the
//     committer notes a refusal before it decides about the next item.
//  7. Nothing here is right only as long as nobody else appends: with Known set,
//     other processes do.
//  8. What RAM can decide waits for no store but the journal's append, whatever other
//     conversations wait for. That does not wait for what somebody else has locked:
//     such a conversation's items are held aside, and nothing of it is stored before
//     them but events.
//  9. An amendment is stored with what it makes of its target, from the state that it
//     was decided by, or decided anew (amend.go).
package messaging

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// Permissions is what messaging asks about who may write in a conversation.
type Permissions interface {
	// MaySend decides whether u may write an entry of a kind in c now, and returns the
	// roster revision it decided on, also when it says no (0 for conversations without
	// one). Of kind 0 it is asked who could write a message and does not, or not yet: of
	// what is said (Said) it is noted that u wrote, so it is asked at last.
	MaySend(ctx context.Context, u im.UserID, c im.ConversationID, kind im.EntryKind) (roster uint64, err error)
	// MaySendNow is MaySend without a store: known is false where it would have to
	// wait for one. It does not block.
	MaySendNow(u im.UserID, c im.ConversationID, kind im.EntryKind) (roster uint64, known bool, err error)
	// MayWriteYet decides, without a store, whether a message to a group that u may
	// write comes too soon after their last one: slow_mode. One that was let through
	// is let through again.
	MayWriteYet(u im.UserID, c im.ConversationID, id im.MessageID) error
	// MayRecall decides whether u may take back a message of author in c.
	MayRecall(ctx context.Context, u im.UserID, c im.ConversationID, author im.UserID) error
	// May decides whether u, who may write in c, may do something else there: who may in
	// a group, says the group; in a dm both may.
	May(ctx context.Context, u im.UserID, c im.ConversationID, action im.GroupAction) error
	// OpenDM makes both users of a dm members; idempotent.
	OpenDM(ctx context.Context, c im.ConversationID) error
	// Refresh forgets what is cached of c's roster: it changed. It does not block.
	Refresh(c im.ConversationID)
	// Help has what is promised to c carried out, in the background: the journal has
	// a roster change that the directory does not show, and whoever made it may be
	// gone.
	Help(c im.ConversationID)
}

// Members is what messaging asks about who may read a conversation.
type Members interface {
	// Membership returns what u may read of c, not_found for strangers, as of its
	// roster's revision or a later one. What was before First may be left out, but
	// for the revision wholePlace.
	Membership(ctx context.Context, u im.UserID, c im.ConversationID, roster uint64) (im.Membership, error)
	// Memberships returns all conversations of u, also those left, and what is
	// promised to change among them, as of one moment.
	Memberships(ctx context.Context, u im.UserID) ([]im.Membership, []im.Promised, error)
	// MayWatch returns those of others whose presence u may see.
	MayWatch(ctx context.Context, u im.UserID, others []im.UserID) ([]im.Watched, error)
	// ReadsHidden returns those of peers between whom and u neither sees how far the other
	// has read.
	ReadsHidden(ctx context.Context, u im.UserID, peers []im.UserID) ([]im.UserID, error)
	// Readers returns at most limit members of a group, in the order of their ids.
	Readers(ctx context.Context, c im.ConversationID, limit int) ([]im.Reader, error)
	// Seen keeps when users were there last.
	Seen(ctx context.Context, seen []im.Watched) error
}

// Deliverer takes what is stored to the members. Calls never block.
type Deliverer interface {
	// Deliver is called once per batch, also with an empty one.
	Deliver(batch []im.Delivery)
	// Receipt tells users about marks; to is not kept.
	Receipt(m im.Mark, to []im.UserID)
	// MyState tells a user's devices what they set for themselves.
	MyState(u im.UserID, state im.MyState)
	// Floors tells the members of conversations up to where these are gone for all;
	// floors is not kept.
	Floors(floors []im.Floor)
	Typing(c im.ConversationID, user im.UserID)
	// Custom passes a signal of the clients' own to the others of its conversation.
	Custom(s im.CustomSignal)
	// Remind tells the members of a conversation's head, a little later: somebody
	// else stored the entry and may be gone without having delivered it.
	Remind(h im.ParcelHead)
}

// Options of a Service.
type Options struct {
	Journal     im.Journal
	Marks       im.Marks   // of the same store
	Recalls     im.Recalls // of the same store
	Labels      im.Labels  // of the same store
	Lookups     im.Lookups // of the same store
	Pages       im.Pages   // of the same store
	Trims       im.Trims   // of the same store; nil: what is gone stays there
	Shards      im.Shards  // of the same store; nil: it is one
	Permissions Permissions
	Members     Members
	Deliverer   Deliverer
	Now         func() time.Time
	Logger      *slog.Logger
	// Registerer takes the metrics; nil: none.
	Registerer prometheus.Registerer
	// Known, set when other processes append to the journal as well, returns what
	// this one knows of a conversation's head without asking the store: the head as
	// of some append or read of its own. Others may have moved it on since.
	Known func(c im.ConversationID) (im.Head, bool)
	// RecallWindow is how long an author may take a message back; 0: for ever.
	RecallWindow time.Duration
	// EditWindow is how long an author may edit a message; 0: not at all.
	EditWindow time.Duration
	// MaxPins is how many messages of a conversation are pinned at a time; 0: DefaultMaxPins.
	MaxPins int
	// Media keeps which messages name uploads; nil: none may.
	Media Media
	// Stickers are what messages and reactions may name; nil: none.
	Stickers Stickers
	// Filter is what may not be said; nil: everything may.
	Filter Filter
	// Streams bounds streamed messages. Without Timers there are none.
	Streams Streams
	Timers  Timers
	// Periods tells after how long messages disappear; nil: they stay.
	Periods Periods
	// Retention tells how long messages are kept; nil: for ever. KeepFor is how long those
	// of conversations without a time of their own are, 0: for ever.
	Retention Retention
	KeepFor   time.Duration
	// Positions, if set, has positions told while clients are busy.
	Positions *Positions
	// MaxQueued is how many sends may wait for the committer before further ones
	// are rejected as overloaded. Default 16384.
	MaxQueued int
	// OnFailed is called once when the journal cannot store durably any more. The
	// process should stop serving.
	OnFailed func(error)
}

// Service is the messaging part of the logic role. Use New.
type Service struct {
	journal     im.Journal
	markStore   im.Marks
	recalls     im.Recalls
	labels      im.Labels
	lookups     im.Lookups
	trims       im.Trims
	pages       im.Pages
	shards      im.Shards // nil: there is one
	permissions Permissions
	members     Members
	deliverer   Deliverer
	now         func() time.Time
	log         *slog.Logger
	metrics     *metrics
	known       func(im.ConversationID) (im.Head, bool) // nil: nobody else appends
	recall      time.Duration
	editing     time.Duration // how long a message may be edited
	maxPins     int
	streamed    Streams
	timers      Timers    // nil: none
	periods     Periods   // nil: none
	retention   Retention // nil: everything is kept
	keepFor     time.Duration
	media       Media    // nil: none
	stickers    Stickers // nil: none
	filter      Filter   // nil: none
	onFailed    func(error)

	streams   streams
	queue     queue
	admission admission
	looking   admission  // for what is refused
	doubting  sync.Mutex // held while one is looked for that another node may store
	opened    opened
	touched   touched
	marking   marking
	asks      asks
	lifetimes lifetimes
	tellings  tellings
	items     items

	// Owned by the committer.
	held   map[im.ConversationID]*held // conversations whose items wait
	failed error
	handed uint64 // rounds that the settler was given

	// rounds go from the committer to the settler, who has answered so many. A nil one is taken
	// when it is through with those before.
	rounds   chan *round
	answered atomic.Uint64
	free     rounds
	applied  chan applied
	settling settling // owned by the settler

	// storing are the batches that are not appended yet, committing those that are not
	// delivered, moving the marks that are not told yet.
	// broken: the journal failed; untold: a mark was moved that nobody was told of.
	storing, committing, moving im.Turns
	broken, untold              atomic.Bool

	life    context.Context // until Close has answered what was queued
	end     context.CancelFunc
	drained chan struct{} // closed when the committer has ended
	closing <-chan struct{}
	stopped sync.WaitGroup
}

// New starts a service. The caller closes it before the journal.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxQueued == 0 {
		o.MaxQueued = 16384
	}
	if o.OnFailed == nil {
		o.OnFailed = func(error) {}
	}
	s := &Service{
		journal:     o.Journal,
		markStore:   o.Marks,
		recalls:     o.Recalls,
		labels:      o.Labels,
		lookups:     o.Lookups,
		trims:       o.Trims,
		pages:       o.Pages,
		shards:      o.Shards,
		permissions: o.Permissions,
		members:     o.Members,
		deliverer:   o.Deliverer,
		now:         o.Now,
		log:         o.Logger,
		metrics:     newMetrics(o.Registerer),
		known:       o.Known,
		recall:      o.RecallWindow,
		editing:     o.EditWindow,
		maxPins:     cmp.Or(o.MaxPins, DefaultMaxPins),
		streamed:    o.Streams,
		timers:      o.Timers,
		periods:     o.Periods,
		retention:   o.Retention,
		keepFor:     o.KeepFor,
		media:       o.Media,
		stickers:    o.Stickers,
		filter:      o.Filter,
		onFailed:    o.OnFailed,
		held:        map[im.ConversationID]*held{},
		rounds:      make(chan *round),
		applied:     make(chan applied),
		admission:   admission{most: maxAdmitters},
		looking:     admission{most: maxLookers},
		drained:     make(chan struct{}),
	}
	s.opened.init()
	s.lifetimes.init()
	s.streams.open = map[streamKey]*growing{}
	s.settling.applying = map[im.ConversationID]*applying{}
	s.queue.init(o.MaxQueued)
	s.touched.init(s.known != nil || s.shards != nil)
	s.marking.init()
	s.life, s.end = context.WithCancel(context.Background())
	s.closing = s.life.Done()
	s.stopped.Add(2)
	go s.commitLoop()
	go s.settleLoop()
	if o.Positions != nil {
		s.stopped.Add(1)
		go s.tellPositions(o.Positions)
	}
	return s
}

// WentBack forgets what is remembered of a history that is not the stores' any
// more.
func (s *Service) WentBack() {
	s.opened.forget()
	s.lifetimes.forget()
}

// Accepted is how many entries were stored.
func (s *Service) Accepted() uint64 { return s.metrics.stored() }

// Waiting tells how many sends wait for the committer or a store, and how many may.
func (s *Service) Waiting() (n, most int) { return s.queue.waiting() }

// closeTime is how long Close waits for stores that are asked about what is queued.
const closeTime = 2 * time.Second

// Close rejects further sends, stores and answers what is queued, and ends the
// committer and the settler. What waits for a store that does not answer, or for its
// roster, is rejected.
func (s *Service) Close() {
	s.streams.close()
	s.queue.close()
	select {
	case <-s.drained:
	case <-time.After(closeTime):
	}
	s.end()
	s.stopped.Wait()
}
