package im

import (
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
	// RetryAfter is how long to wait before trying again, for codes that say retry.
	RetryAfter time.Duration
	// Everywhere: no other node can do better; whoever passes requests on does not
	// try another one.
	Everywhere bool
	cause      error
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

// Wrap makes an error for the user with a cause for the log.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// ErrWithdrawn is the cause of a context that takes back what was sent with it.
var ErrWithdrawn = errors.New("withdrawn")

// CodeOf returns the code of an error: "" for nil, `internal` for one that is
// not an *Error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Public returns what may be told to a user about err. Anything that is not an
// *Error becomes `internal` without its text.
func Public(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(err, CodeInternal, "the server failed")
}
