package im

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Error is the one error type that crosses package borders on its way to a
// user: a code of the catalogue and a message the user may read. The cause, if
// any, is for the log only.
type Error struct {
	Code    Code
	Message string
	// Field is the path of the field that is wrong, from the request down and named as
	// in JSON; empty if it is no field's fault.
	Field string
	// RetryAfter is how long to wait before trying again, for codes that say retry.
	RetryAfter time.Duration
	// Everywhere: no other node can do better; whoever passes requests on does not
	// try another one.
	Everywhere bool
	// Settled: of a send that is refused for good: what any node had begun to store of
	// it cannot be stored any more.
	Settled bool
	// Ticket is what a login goes on with, of totp_required.
	Ticket string
	cause  error
}

func (e *Error) Error() string {
	if e.cause != nil {
		return string(e.Code) + ": " + e.Message + ": " + e.cause.Error()
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an error for the user.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrong refuses the value of a field: `invalid_argument`. The message begins with
// the field.
func Wrong(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidArgument, Field: field, Message: field + " " + fmt.Sprintf(format, args...)}
}

// TooLarge refuses a field that is longer, or has more, than it may: `too_large`.
func TooLarge(field, format string, args ...any) *Error {
	e := Wrong(field, format, args...)
	e.Code = CodeTooLarge
	return e
}

// In tells that the field is part of another one, or that the request is what field
// names. Errors that name no field, and those that are no *Error, stay as they are.
func In(field string, err error) error {
	if err == nil {
		return nil // as nearly always: what follows allocates
	}
	var e *Error
	if !errors.As(err, &e) || e.Field == "" {
		return err
	}
	within := *e
	within.Field = field + "." + e.Field
	return &within
}

// Wrap makes an error for the user with a cause for the log.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// ErrWithdrawn is the cause of a context that takes back what was sent with it.
var ErrWithdrawn = errors.New("withdrawn")

// CodeOf returns the code of an error: "" for nil, `unavailable` for work that was
// ended because its time was over or nobody waited any more, `internal` for
// another one that is not an *Error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if ended(err) {
		return CodeUnavailable
	}
	return CodeInternal
}

func ended(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// retryAfter is what `unavailable` says when nobody knows better.
const retryAfter = time.Second

// Public returns what may be told to a user about err. Anything that is not an
// *Error becomes `unavailable` (see CodeOf) or `internal`, without its text.
// `unavailable` and `overloaded` always say when to try again.
func Public(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		if e.RetryAfter > 0 || e.Code != CodeUnavailable && e.Code != CodeOverloaded {
			return e
		}
		timed := *e
		timed.RetryAfter = retryAfter
		return &timed
	case ended(err):
		e = Wrap(err, CodeUnavailable, "the server did not get an answer in time")
		e.RetryAfter = retryAfter
		return e
	}
	return Wrap(err, CodeInternal, "the server failed")
}
