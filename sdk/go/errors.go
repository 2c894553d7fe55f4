package skein

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/skein-im/skein/wire"
)

// Error is an answer of the server: a code of proto/CODES.md, a message for
// people, and how long to wait before trying again, if the server said so.
// Compare by code with errors.Is: errors.Is(err, skein.ErrMuted).
type Error struct {
	Code       wire.Code
	Message    string
	RetryAfter time.Duration
	// Field is the path of the field that is wrong, if the server named one.
	Field string
	// Number is the code's, 0 if it was not told. Its range tells what to do, also about
	// a code that this version does not know.
	Number int
	// Ticket is what LoginWithCode goes on with, of ErrTOTPRequired.
	Ticket string
}

func (e *Error) Error() string {
	if e.Message == "" {
		return "skein: " + string(e.Code)
	}
	return "skein: " + string(e.Code) + ": " + e.Message
}

// Is reports whether target is an *Error of the same code, or the wire.Code itself.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case *Error:
		return t.Code == e.Code
	case wire.Code:
		return t == e.Code
	}
	return false
}

// Action is what the code's range tells a client to do.
func (e *Error) Action() wire.Action {
	if e.Number != 0 {
		return wire.ActionOf(e.Number)
	}
	return e.Code.Info().Action
}

// Errors of the server, for errors.Is. Any other code of proto/CODES.md is
// compared with the wire.Code.
var (
	ErrTokenInvalid    error = &Error{Code: wire.CodeTokenInvalid}
	ErrTokenExpired    error = &Error{Code: wire.CodeTokenExpired}
	ErrSessionRevoked  error = &Error{Code: wire.CodeSessionRevoked}
	ErrTokenReused     error = &Error{Code: wire.CodeTokenReused}
	ErrReplaced        error = &Error{Code: wire.CodeReplaced}
	ErrBanned          error = &Error{Code: wire.CodeBanned}
	ErrAccountDeleted  error = &Error{Code: wire.CodeAccountDeleted}
	ErrInvalidArgument error = &Error{Code: wire.CodeInvalidArgument}
	ErrPermission      error = &Error{Code: wire.CodePermissionDenied}
	ErrNotFound        error = &Error{Code: wire.CodeNotFound}
	ErrAlreadyExists   error = &Error{Code: wire.CodeAlreadyExists}
	ErrMuted           error = &Error{Code: wire.CodeMuted}
	ErrNotContact      error = &Error{Code: wire.CodeNotContact}
	ErrTooLarge        error = &Error{Code: wire.CodeTooLarge}
	ErrTooLate         error = &Error{Code: wire.CodeTooLate}
	ErrBadCredentials  error = &Error{Code: wire.CodeBadCredentials}
	ErrRateLimited     error = &Error{Code: wire.CodeRateLimited}
	ErrInfected        error = &Error{Code: wire.CodeInfected}
	ErrTOTPRequired    error = &Error{Code: wire.CodeTotpRequired}
)

// Errors of the client itself.
var (
	// ErrClosed: the client was closed. Messages not acknowledged stay in the outbox.
	ErrClosed = errors.New("skein: client is closed")
	// ErrConnectionLost: the connection ended before the answer came; the call
	// may or may not have been carried out.
	ErrConnectionLost = errors.New("skein: connection lost before the answer")
	// ErrOffline: it needs the server, which is not connected.
	ErrOffline = errors.New("skein: not connected")
	// ErrOutboxFull: as many messages wait to be sent as WithOutboxLimit allows.
	ErrOutboxFull = errors.New("skein: outbox is full")
	// ErrOtherUser: the store belongs to another user than the token.
	ErrOtherUser = errors.New("skein: the store belongs to another user")
	// ErrStore: the store failed; the client ended. What was acknowledged or
	// delivered as an event before is safe; open the store again and go on.
	ErrStore = errors.New("skein: store failed")
	// ErrNoMessage: no message with that id is in the outbox in that state.
	ErrNoMessage = errors.New("skein: no such message in the outbox")
	// ErrNoBaseURL: media go by HTTP, and the client does not know where that is.
	ErrNoBaseURL = errors.New("skein: media need WithBaseURL on this transport")
	// ErrShortContent: what was uploaded ended before its size.
	ErrShortContent = errors.New("skein: the content is shorter than was said")
	// ErrOtherContent: it is not what was begun before.
	ErrOtherContent = errors.New("skein: the content is another one")
	// ErrDiscarded: the message was taken out of the outbox.
	ErrDiscarded = errors.New("skein: message was discarded")
)

func errorOf(e *wire.Error) *Error {
	return &Error{
		Code:       wire.Code(e.GetCode()),
		Message:    e.GetMessage(),
		RetryAfter: time.Duration(e.GetRetryAfterMs()) * time.Millisecond,
		Field:      e.GetField(),
		Number:     int(e.GetCodeNumber()),
		Ticket:     e.GetTicket(),
	}
}

func invalid(format string, args ...any) error {
	return &Error{Code: wire.CodeInvalidArgument, Message: fmt.Sprintf(format, args...)}
}

// closeError is what a WebSocket close code says, nil for one that is not of the catalogue's numbers.
func closeError(number int, reason string) *Error {
	if number < 4000 || number > 4999 {
		return nil
	}
	code, ok := wire.CodeOf(number)
	if !ok { // of a later version
		code = wire.Code(strconv.Itoa(number))
	}
	return &Error{Code: code, Number: number, Message: reason}
}
