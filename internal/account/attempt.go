package account

import (
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// Trail writes the audit log: who signed in is written with the session
// (im.SessionOpening.Act), who failed to is noted.
type Trail interface {
	// Line makes a line of now.
	Line(kind im.ActKind, action string) (im.Act, error)
	// SignInFailed notes a line.
	SignInFailed(a im.Act)
}

// attempt is what the audit log says of somebody who signs in; nil: it says nothing.
type attempt struct{ act im.Act }

// attempt begins one, by a way of signing in.
func (s *Service) attempt(way, addr string, device im.Device) (*attempt, error) {
	if s.o.Trail == nil {
		return nil, nil
	}
	act, err := s.o.Trail.Line(im.ActSignIn, way)
	act.Address, act.Device = addr, device.Name
	if act.Device == "" {
		act.Device = device.ID
	}
	if printable(act.Device) && len(act.Device) <= 400 {
		return &attempt{act: act}, err
	}
	act.Device = ""
	return &attempt{act: act}, err
}

// of says whose account it is about, "" for nobody's. What was typed in the place of a name is
// not kept: it may be a password.
func (a *attempt) of(user im.UserID) {
	if a != nil {
		a.act.Target = string(user)
	}
}

// opened is the line of a session that is opened.
func (a *attempt) opened(t Tokens) *im.Act {
	if a == nil {
		return nil
	}
	line := a.act
	line.By, line.Session, line.Target = t.User, t.Session, ""
	return &line
}

// untold are refusals that say nothing of who signs in: of a wrong request, or of the server.
var untold = []im.Code{
	im.CodeInvalidArgument, im.CodeTooLarge, im.CodeAlreadyExists, im.CodeUnavailable, im.CodeOverloaded, im.CodeInternal, im.CodeUnknown, im.CodeConflict, im.CodeStorageFull,
}

// failed notes an attempt that failed, and returns the error.
func (s *Service) failed(a *attempt, err error) error {
	code := im.CodeOf(err)
	if err == nil || a == nil || slices.Contains(untold, code) {
		return err
	}
	line := a.act
	line.Code = code
	s.o.Trail.SignInFailed(line)
	return err
}
