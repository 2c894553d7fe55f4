package im

import "time"

// ScheduledState is where a scheduled message is. The numbers are the contract's.
type ScheduledState uint8

// The states.
const (
	ScheduledWaiting ScheduledState = 1
	ScheduledSending ScheduledState = 2 // its time has come; it is changed no more
	ScheduledFailed  ScheduledState = 3 // it was refused for good
)

// Scheduled is a message that a user wants to be sent at a time. Its id is fixed when it
// is scheduled, so however often it is sent, it is one message.
type Scheduled struct {
	User    UserID
	Message Message // of the kind EntryMessage, or EntryReply with its root as Target
	At      time.Time
	Created time.Time
	State   ScheduledState
	// Code and Text are why it failed.
	Code Code
	Text string
}

// ScheduledPlace is a place in the order in which scheduled messages are told and sent.
type ScheduledPlace struct {
	At, Created time.Time
	User        UserID
	ID          MessageID
}

// Place is where it is in that order.
func (s *Scheduled) Place() ScheduledPlace {
	return ScheduledPlace{At: s.At, Created: s.Created, User: s.User, ID: s.Message.ID}
}
