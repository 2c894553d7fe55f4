// Package bus is the contract of what carries messages between nodes, and the
// bounded inbox that its implementations share.
//
// A bus may lose, repeat and reorder anything. Who uses one must come right
// without it, only later: nothing may depend on a message that arrives. What a
// bus does owe:
//
//   - Publish, Flush, Subscribe and Unsubscribe never wait, for nobody: neither
//     for a slow peer, nor for a broken connection, nor for the Handler. What
//     does not fit into a bound is dropped. They may be called from several
//     goroutines, and by the Handler.
//   - The Handler is called from one goroutine, never after Close has returned.
//     It may take its time: at most a bounded number of messages and bytes waits
//     for it, and other nodes do not notice.
//   - Where this node lost, or may have lost, messages for it, Lost is called
//     afterwards: when the gap is over, so that whoever then looks into the store
//     and listens on misses nothing. Losing without being told remains possible
//     (a publisher that died, or dropped what it could not send).
//   - On a healthy bus the messages of one publisher reach one subscriber in the
//     order of the Publish calls, once, whatever their subjects. Interest
//     spreads in the order of the Subscribe calls.
//   - A subject names exactly itself. There are no wildcards, so no id that
//     became a subject can reach more than its own.
//
// It must not know what a message means, and knows nothing of ours.
//
// Goroutines: each Inbox has one, which calls the Handler. Locks: Inbox.mu is a
// leaf; nothing is called while it is held.
package bus

import "errors"

const (
	// MaxMessage is the size of the largest message, in bytes. A larger one is
	// dropped by Publish.
	MaxMessage = 1 << 20
	// MaxSubject is the length of the longest subject, in bytes.
	MaxSubject = 256
)

var (
	// ErrClosed is returned by a Bus after Close.
	ErrClosed = errors.New("the bus is closed")
	// ErrSubject is returned for a subject that ValidSubject refuses.
	ErrSubject = errors.New("not a valid subject")
)

// Bus carries messages between nodes, at most once.
type Bus interface {
	// Publish hands data to every subscription of the subject on other nodes, never
	// to this Bus's own. It does not keep data after the call. Messages are
	// gathered: they need not leave before Flush. A message that is too large, has
	// no valid subject, or is published after Close is dropped.
	Publish(subject string, data []byte)
	// Flush hands on what was published. It does not wait for anybody to get it.
	Flush()
	// Subscribe takes interest in one subject. Subscribing twice is once. Interest
	// spreads by itself: a message that is published elsewhere a moment later may
	// still miss it. The errors are ErrSubject and ErrClosed.
	Subscribe(subject string) error
	// Unsubscribe ends the interest. What is on its way may still arrive.
	Unsubscribe(subject string)
	// Close leaves the bus. It waits for a running call of the Handler, so the
	// Handler must not call it. What was published and flushed before is sent if
	// that takes no waiting for a peer. Closing twice is once.
	Close() error
}

// Handler is what a Bus calls, from one goroutine of its own.
type Handler interface {
	// Message hands over a message. data is the Handler's from now on, to read.
	Message(subject string, data []byte)
	// Idle follows when what had arrived is handed over: the moment to do once what
	// several messages asked for.
	Idle()
	// Lost tells that messages may have been lost until now: a slow consumer, a
	// reconnect, a route that went or came. The reason is for the log.
	Lost(reason string)
}

// ValidSubject tells whether s may be published to and subscribed: one or more
// tokens of letters, digits, '_', ':' and '-' with a dot between them, at most
// MaxSubject bytes.
func ValidSubject(s string) bool {
	if len(s) > MaxSubject {
		return false
	}
	token := 0
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == ':', c == '-':
			token++
		case c == '.' && token > 0:
			token = 0
		default:
			return false
		}
	}
	return token > 0
}
