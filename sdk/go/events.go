package skein

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// Event is something that happened: one of the pointer types below.
type Event interface{ event() }

type (
	// MessageEvent: somebody's message was applied, or the user's own from another device.
	MessageEvent struct{ Message *Message }
	// AckEvent: a message of this client is stored by the server and applied here.
	AckEvent struct{ Message *Message }
	// FailedEvent: a message of this client was refused for good; it stays in the
	// outbox until Retry or Discard.
	FailedEvent struct {
		Message *Message
		Err     *Error
	}
	// RecallEvent: the message Target was taken back; its content is erased.
	RecallEvent struct {
		Conversation string
		Target       uint64
		// By is who took it back, and Message the recall's own entry; "" and nil when
		// that happened while the client was away and only its outcome is told.
		By      string
		Message *Message
	}
	// ChangedEvent: a message that the store holds was changed by a later entry, other
	// than by a recall. Several changes may be told as one.
	ChangedEvent struct {
		// Message is what it is now.
		Message *Message
	}
	// GroupEvent: something happened to a group or its members.
	GroupEvent struct {
		Conversation string
		By           string
		Event        *wire.Event
		Message      *Message
	}
	// ContactEvent: a contact request, or what became of one; or the user blocked,
	// unblocked, renamed or tagged somebody, here or on another device; or a contact's
	// profile is another (read it with Users.Get or Contacts.Since).
	ContactEvent struct {
		// User is the other one.
		User    string
		Event   *wire.Event
		Message *Message
	}
	// InvitationEvent: somebody would like to have the user in a group
	// (Groups.Accept, Refuse), or the user refused that, here or on another device.
	InvitationEvent struct {
		Conversation string
		// By is who invited them, the user themselves if they refused.
		By      string
		Event   *wire.Event
		Message *Message
	}
	// JoinRequestEvent: somebody asks to be a member of a group whose admin the user is
	// (Groups.Approve, RefuseJoin), or the user asks themselves; or that was refused or
	// withdrawn, as Event.Type says.
	JoinRequestEvent struct {
		Conversation string
		// User asks, By did what the event tells.
		User, By string
		Event    *wire.Event
		Message  *Message
	}
	// ScheduledEvent: what the user scheduled is another, here or on another device, or
	// one failed; read Client.Scheduled anew. Conversation is where it goes, if told.
	ScheduledEvent struct {
		Conversation string
		Message      *Message
	}
	// ProfileEvent: the user's own name or settings were changed, here or on
	// another device.
	ProfileEvent struct {
		Event   *wire.Event
		Message *Message
	}
	// SecurityEvent: how the user logs in was changed, here or on another device. What
	// is totp_on, totp_off, recovery_codes, recovery_code_used, password_reset,
	// identity_linked, identity_unlinked, or a word of a later server.
	SecurityEvent struct {
		What    string
		Message *Message
	}
	// GapEvent: too much was missed; the entries From..To were left out. History
	// reads them on demand.
	GapEvent struct {
		Conversation string
		From, To     uint64
	}
	// GoneEvent: what was said in From..To disappeared, as it was set to (SetLifetime), or is
	// not kept any more (SPEC §4.33). It is not shown any more, and the store has it no more;
	// it has no other event, also where one waited.
	GoneEvent struct {
		Conversation string
		From, To     uint64
	}
	// ResetEvent: the server lost acknowledged entries (a restored backup).
	// Everything synced was forgotten and is read anew; the outbox is kept.
	ResetEvent struct{}

	// ReceiptEvent: marks of a dm's other side, or the user's own from another
	// device. Both are the furthest known, also when only one of them moved.
	ReceiptEvent struct {
		Conversation   string
		User           string
		Received, Read uint64
	}
	// MyStateEvent: what the user set for themselves in a conversation changed, here or
	// on another device.
	MyStateEvent struct{ State *wire.MyState }
	// TypingEvent: somebody is typing, now.
	TypingEvent struct{ Conversation, User string }
	// SignalEvent: what another user's client signalled with Conversation.Signal. Of one
	// type, conversation and user only the latest is kept while the program is busy.
	SignalEvent struct {
		Conversation, User, Type string
		Data                     []byte
	}
	// PartEvent: a message that grows (Message.Streaming) says more, which is not durable
	// yet. Of one message only the latest is kept while the program is busy.
	PartEvent struct {
		Conversation string
		// User is its author.
		User string
		Seq  uint64
		// Text is all that it says now.
		Text string
	}
	// PresenceEvent: a watched user came or went, or shows that no more.
	PresenceEvent struct {
		User   string
		Online bool
		// LastSeen is when they were there last, if they are not and show it.
		LastSeen time.Time
	}
	// AnnouncementsEvent: what the deployment announces changed while the client was connected.
	// After each StateConnected Client.Announcements tells what there is.
	AnnouncementsEvent struct {
		// All is all that is announced, in the place of what was before.
		All []*wire.Announcement
	}
	// StateEvent: the connection's state changed.
	StateEvent struct {
		State State
		// Err is why it is not connected: an *Error (kick, refusal) or a network error.
		Err error
		// By and At name the device that took this one's place, for ErrReplaced.
		By *wire.Device
		At time.Time
	}
)

func (*MessageEvent) event()       {}
func (*AckEvent) event()           {}
func (*FailedEvent) event()        {}
func (*RecallEvent) event()        {}
func (*ChangedEvent) event()       {}
func (*GroupEvent) event()         {}
func (*ContactEvent) event()       {}
func (*ProfileEvent) event()       {}
func (*SecurityEvent) event()      {}
func (*InvitationEvent) event()    {}
func (*ScheduledEvent) event()     {}
func (*JoinRequestEvent) event()   {}
func (*GapEvent) event()           {}
func (*GoneEvent) event()          {}
func (*ResetEvent) event()         {}
func (*ReceiptEvent) event()       {}
func (*MyStateEvent) event()       {}
func (*TypingEvent) event()        {}
func (*SignalEvent) event()        {}
func (*PartEvent) event()          {}
func (*PresenceEvent) event()      {}
func (*StateEvent) event()         {}
func (*AnnouncementsEvent) event() {}

// hub takes events to the program. Events about stored things come from the
// store's feed; the hub only says that there are new ones. Passing events
// (receipts, typing, signals, presence, state) are kept here: one per subject, the
// latest, and at most maxPassing, the oldest are dropped first.
type hub struct {
	mu      sync.Mutex
	keys    []passingKey
	passing map[passingKey]Event
	wake    chan struct{} // capacity 1
	closed  bool
}

type passingKey struct {
	kind, conversation, user string
}

const maxPassing = 1024

func newHub() *hub {
	return &hub{passing: map[passingKey]Event{}, wake: make(chan struct{}, 1)}
}

func (h *hub) post(k passingKey, e Event) {
	h.mu.Lock()
	if _, ok := h.passing[k]; !ok {
		h.keys = append(h.keys, k)
		if len(h.keys) > maxPassing {
			drop := 0
			if h.keys[0].kind == "state" { // never lost: the last one says why it ended
				drop = 1
			}
			delete(h.passing, h.keys[drop])
			h.keys = append(h.keys[:drop], h.keys[drop+1:]...)
		}
	}
	h.passing[k] = e
	h.mu.Unlock()
	h.notify()
}

func (h *hub) notify() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.notify()
}

// pop returns the oldest passing event; done says that no more will come.
func (h *hub) pop() (e Event, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.keys) == 0 {
		return nil, h.closed
	}
	k := h.keys[0]
	h.keys = h.keys[1:]
	e = h.passing[k]
	delete(h.passing, k)
	return e, false
}

// Events yields what happens until ctx ends, the client is closed or the loop
// is left. An event is handled when the body returns for the next one.
//
// Events about stored things (messages, acks, failures, recalls, changes,
// groups, contacts, gaps, resets) wait in the store until they are handled, also over a
// restart; each comes once, except that after a crash the last ones, at most 64,
// may come again, in the same order and before anything new. Receipts, what
// the user set, typing, signals, presence and state are passing: only the latest of each subject is kept. What a
// cold start brings is history and no event.
//
// One loop at a time: a second one waits until the first has ended.
func (c *Client) Events(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		select {
		case c.consumer <- struct{}{}:
			defer func() { <-c.consumer }()
		case <-ctx.Done():
			return
		case <-c.stopped:
			return
		}
		f := feedReader{c: c, saved: c.o.now()}
		defer f.save()
		for ctx.Err() == nil {
			e, done := c.hub.pop()
			if done {
				return
			}
			if e != nil && !yield(e) {
				return
			}
			n, stored, err := f.next(ctx)
			if err != nil {
				return
			}
			if stored != nil {
				more := yield(stored)
				f.handled = n
				if !more {
					return
				}
			}
			if n > 0 || e != nil {
				f.saveSometimes()
				continue
			}
			f.save()
			select {
			case <-c.hub.wake:
			case <-ctx.Done():
			}
		}
	}
}

// feedReader reads the store's feed in pages and saves how far it was handled.
type feedReader struct {
	c       *Client
	page    []FeedItem
	after   uint64 // read up to here
	handled uint64
	kept    uint64 // handled, as last saved
	saved   time.Time
}

const feedPage = 64 // Events promises it

// next returns the next event and its number; an item that makes no event has
// a number only. Number 0: nothing there now.
func (f *feedReader) next(ctx context.Context) (uint64, Event, error) {
	if len(f.page) == 0 {
		page, err := f.c.o.store.Feed(ctx, f.after, feedPage)
		if err != nil {
			if ctx.Err() == nil {
				f.c.fail(err)
			}
			return 0, nil, err
		}
		f.page = page
	}
	if len(f.page) == 0 {
		return 0, nil, nil
	}
	it := f.page[0]
	f.page = f.page[1:]
	f.after = it.N
	e := f.c.eventOf(&it)
	if e == nil {
		f.handled = it.N
	}
	return it.N, e, nil
}

// saveSometimes bounds both what comes again after a crash and the writes.
func (f *feedReader) saveSometimes() {
	if f.handled-f.kept >= feedPage || f.c.o.now().Sub(f.saved) > 100*time.Millisecond {
		f.save()
	}
}

func (f *feedReader) save() {
	if f.handled == f.kept {
		return
	}
	n := f.handled
	f.kept, f.saved = n, f.c.o.now()
	f.c.handled(n)
}

// eventOf turns a feed item into the event the program sees, nil for a kind
// this version does not know.
func (c *Client) eventOf(it *FeedItem) Event {
	if it.Entry.GetDeleted() && it.Kind != FeedAck {
		return nil // it is gone
	}
	switch it.Kind {
	case FeedGap:
		return &GapEvent{Conversation: it.Conversation, From: it.From, To: it.Seq}
	case FeedGone:
		return &GoneEvent{Conversation: it.Conversation, From: it.From, To: it.Seq}
	case FeedReset:
		return &ResetEvent{}
	case FeedFailed:
		m := messageOfOutbox(it.Failed, c.userID())
		return &FailedEvent{Message: m, Err: m.Err}
	case FeedAck:
		return &AckEvent{Message: c.messageOf(it.Entry)}
	case FeedRecalled:
		return &RecallEvent{Conversation: it.Conversation, Target: it.Seq}
	case FeedChanged:
		return &ChangedEvent{Message: c.messageOf(it.Entry)}
	case FeedEntry:
		return c.entryEvent(it.Entry)
	}
	return nil
}

func (c *Client) entryEvent(e *wire.Entry) Event {
	m := c.messageOf(e)
	switch e.Kind {
	case wire.EntryKind_ENTRY_KIND_MESSAGE:
		return &MessageEvent{Message: m}
	case wire.EntryKind_ENTRY_KIND_THREAD_REPLY:
		return &ReplyEvent{Message: m}
	case wire.EntryKind_ENTRY_KIND_RECALL:
		return &RecallEvent{Conversation: e.Conversation, Target: e.Target, By: e.Sender, Message: m}
	case wire.EntryKind_ENTRY_KIND_EVENT:
		if kindOf(e.Conversation) != KindMe {
			return &GroupEvent{Conversation: e.Conversation, By: e.Sender, Event: e.Event, Message: m}
		}
		switch e.GetEvent().GetType() {
		case wire.EventType_EVENT_TYPE_PROFILE_CHANGED:
			return &ProfileEvent{Event: e.Event, Message: m}
		case wire.EventType_EVENT_TYPE_SECURITY_CHANGED:
			return &SecurityEvent{What: e.GetEvent().GetText(), Message: m}
		case wire.EventType_EVENT_TYPE_SCHEDULED_CHANGED:
			return &ScheduledEvent{Conversation: e.GetEvent().GetConversation(), Message: m}
		case wire.EventType_EVENT_TYPE_GROUP_INVITED, wire.EventType_EVENT_TYPE_GROUP_INVITATION_REFUSED:
			return &InvitationEvent{Conversation: e.Event.Conversation, By: e.Sender, Event: e.Event, Message: m}
		case wire.EventType_EVENT_TYPE_GROUP_JOIN_REQUESTED, wire.EventType_EVENT_TYPE_GROUP_JOIN_REFUSED, wire.EventType_EVENT_TYPE_GROUP_JOIN_WITHDRAWN:
			ev := &JoinRequestEvent{Conversation: e.Event.Conversation, By: e.Sender, Event: e.Event, Message: m}
			if len(e.Event.Users) > 0 {
				ev.User = e.Event.Users[0]
			}
			return ev
		}
		ev := &ContactEvent{User: e.Sender, Event: e.Event, Message: m}
		for _, u := range e.GetEvent().GetUsers() {
			if u != c.userID() {
				ev.User = u
			}
		}
		return ev
	}
	if e.Thread != 0 {
		return &ThreadEvent{Conversation: e.Conversation, Root: e.Thread, Target: e.Target, Message: m}
	}
	return nil
}
