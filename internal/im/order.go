package im

import (
	"sync"
	"sync/atomic"
)

// Turn is where a send stands among those of its connection.
type Turn struct {
	// At grows with every send.
	At uint64
	// Since is the first place after all that was answered when a conversation last
	// went on behind a refusal: what was refused before it is settled.
	Since uint64
}

// Order keeps a sender's order through refusals (SPEC §5.9): from the first send
// of a connection to a conversation that is refused for now, later ones of the two
// are refused as well, until that one comes again.
//
// Whoever passes sends on has an Order and gives it along with them
// (Actor.Order): a session has one for what it asks for, a process for what it has
// under way to another. Whoever refuses a send for now tells it (Refused) before
// it looks at the next, and who is about to take one asks it (Behind). Sends
// without a connection have no order, and nil is the Order of nobody.
//
// It holds one small record for each conversation that waits. While there is
// none, which is nearly always, asking costs one atomic load. Safe for
// concurrent use.
type Order struct {
	waiting atomic.Int32 // len(lines)

	mu    sync.Mutex
	lines map[orderKey]refusal
}

type orderKey struct {
	connection   ConnectionID
	conversation ConversationID
}

// refusal is the first send of a line that was refused.
type refusal struct {
	id MessageID
	at Turn
}

// Refused notes that a send is refused for now, with everything behind it.
func (o *Order) Refused(n ConnectionID, c ConversationID, id MessageID, at Turn) {
	if o == nil || n == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	k := orderKey{n, c}
	if r, ok := o.lines[k]; ok && r.at.At >= at.Since && r.at.At <= at.At {
		return // it is behind the refused one itself
	}
	if o.lines == nil {
		o.lines = map[orderKey]refusal{}
	}
	o.lines[k] = refusal{id, at}
	o.waiting.Store(int32(len(o.lines)))
}

// Behind tells that a send stands behind one that was refused.
func (o *Order) Behind(n ConnectionID, c ConversationID, at Turn) bool {
	if o == nil || o.waiting.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.lines[orderKey{n, c}]
	return ok && r.at.At >= at.Since && r.at.At < at.At
}

// First returns the message that has to come first now, if there is one.
func (o *Order) First(n ConnectionID, c ConversationID) (MessageID, bool) {
	if o == nil || o.waiting.Load() == 0 {
		return MessageID{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.lines[orderKey{n, c}]
	return r.id, ok
}

// GoOn forgets the refusal: its message has come again, or was given up, and
// nothing of the conversation is under way.
func (o *Order) GoOn(n ConnectionID, c ConversationID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.lines, orderKey{n, c})
	o.waiting.Store(int32(len(o.lines)))
}

// Waiting is how many conversations wait for a refused message.
func (o *Order) Waiting() int { return int(o.waiting.Load()) }

// ForNow tells whether err refuses a send that may be stored when it comes
// again. Any other refusal is for good, and what comes behind it goes on.
func ForNow(err error) bool {
	return err != nil && CodeOf(err).Info().Action != ActionFix
}

// ErrBehind refuses a send that stands behind a refused one.
func ErrBehind() error {
	return Errorf(CodeOutOfOrder, "a message before it was refused for now and has to come first")
}
