package im

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A store that is slow, or away, is never the server's failure: who asks is told
// when to ask again.
func TestSlowIsUnavailable(t *testing.T) {
	for _, err := range []error{
		context.DeadlineExceeded, context.Canceled, fmt.Errorf("read: %w", context.DeadlineExceeded),
		ErrJournalUnavailable, fmt.Errorf("%w: %w", ErrJournalUnavailable, errors.New("no route")),
		Errorf(CodeUnavailable, "no node answers now"), Wrap(errors.New("x"), CodeUnavailable, "no"),
	} {
		if e := Public(err); CodeOf(err) != CodeUnavailable || e.Code != CodeUnavailable || e.RetryAfter <= 0 {
			t.Errorf("%v: %s, %+v", err, CodeOf(err), e)
		}
	}
	exact := &Error{Code: CodeOverloaded, RetryAfter: 3 * time.Second}
	if e := Public(exact); e != exact {
		t.Errorf("%+v", e)
	}
	if e := Public(Errorf(CodeOverloaded, "full")); e.RetryAfter <= 0 {
		t.Errorf("%+v", e)
	}
	if e := Public(errors.New("x")); e.Code != CodeInternal || e.RetryAfter != 0 {
		t.Errorf("%+v", e)
	}
	if e := Public(Errorf(CodeNotFound, "no")); e.RetryAfter != 0 {
		t.Errorf("%+v", e)
	}
}
