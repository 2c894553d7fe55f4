package wire

import "time"

// Error makes a Code usable with errors.Is: `errors.Is(err, wire.CodeNotFound)`.
func (c Code) Error() string { return string(c) }

// NewError returns the frame part that tells a client code and message.
func NewError(code Code, message string) *Error {
	return &Error{Code: string(code), Message: message, CodeNumber: uint32(code.Info().Number)}
}

// Error makes what a server answered a Go error. Mind that a nil *Error in an
// `error` is not nil: ask for nil before converting.
func (x *Error) Error() string {
	if x.GetMessage() == "" {
		return x.GetCode()
	}
	return x.GetCode() + ": " + x.GetMessage()
}

// Is lets errors.Is compare with a Code.
func (x *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && string(code) == x.GetCode()
}

// Action is what to do about it: the number's range tells, also of a code that this
// package does not know. Such a code without a number is treated as `internal`:
// reconnect.
func (x *Error) Action() Action {
	if n := x.GetCodeNumber(); n != 0 {
		return ActionOf(int(n))
	}
	return Code(x.GetCode()).Info().Action
}

// RetryAfter is how long to wait at least before trying again.
func (x *Error) RetryAfter() time.Duration {
	return time.Duration(x.GetRetryAfterMs()) * time.Millisecond
}

// Is lets errors.Is compare with a Code.
func (e *CloseError) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// CodeOf returns the code with this number, the close code of a WebSocket.
func CodeOf(number int) (Code, bool) {
	for _, info := range Codes() {
		if info.Number == number {
			return info.Code, true
		}
	}
	return "", false
}

// ActionOf tells what to do about a number by its range alone, so that a client
// treats codes right that were added after it was built.
func ActionOf(number int) Action {
	switch {
	case number < 4000 || number > 4999:
		return ActionReconnect
	case number < 4200:
		return ActionRetry
	case number < 4400:
		return ActionReconnect
	case number < 4600:
		return ActionLogin
	case number < 4800:
		return ActionStop
	}
	return ActionFix
}
