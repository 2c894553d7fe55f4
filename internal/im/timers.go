package im

import "time"

// Timer is something that is to become of a message at a time, whatever crashes: it is
// kept before the message is stored, which may never happen then.
type Timer struct {
	Kind TimerKind
	// Conversation, User and ID name the message, Hash is the message's.
	Conversation ConversationID
	User         UserID
	ID           MessageID
	Hash         uint64
	// At is when, Set when it was kept, or kept again.
	At, Set time.Time
}

// TimerKind is what is to happen.
type TimerKind uint8

// The kinds of timers.
const (
	// TimerStream ends a streamed message whose author is silent.
	TimerStream TimerKind = 1
	// TimerLifetime gives up what is gone of a conversation. It has no message: one is of
	// the conversation.
	TimerLifetime TimerKind = 2
	// TimerRetention moves the floor of a conversation whose messages are kept for a time
	// of its own, and gives up what is below it. It has no message: one is of the
	// conversation.
	TimerRetention TimerKind = 3
)

// SignalPart is the type of a CustomSignal that is the next part of a streamed message,
// a wire.Part. No client can say it: it is no type of theirs.
const SignalPart = "+part"
