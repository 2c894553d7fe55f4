package account

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// SignInFailed is the message of the line that tells of a sign-in which failed because what
// was shown is wrong. Tools that shut out addresses read it (docs/operations.md, Logs): its
// first attribute is the client's address.
const SignInFailed = "sign-in failed"

// What was shown.
const (
	howPassword   = "password"
	howCode       = "code"
	howToken      = "token"
	howClaim      = "claim"
	howInvitation = "invitation"
	howReset      = "reset"
)

// refused notes that what was shown is wrong. user is "" where nobody has the name that was
// given: people type passwords in the place of names.
func (s *Service) refused(ctx context.Context, addr, how string, user im.UserID) {
	s.o.Logger.WarnContext(ctx, SignInFailed, "address", addr, "how", how, "user", string(user), "request", im.RequestOf(ctx))
}

// refusedCode charges an address for a code that is wrong, and notes it.
func (s *Service) refusedCode(ctx context.Context, addr, how string) {
	s.throttle.failed("", origin{addr: addr}, known{})
	s.refused(ctx, addr, how, "")
}
