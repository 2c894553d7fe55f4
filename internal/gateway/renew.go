package gateway

import (
	"context"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// onRenew has the connection live as long as a newer token of its session does
// (SPEC §3.9). An older one shortens nothing. What ends the session ends the
// connection as before: it is registered under its user.
func (s *session) onRenew(_ *command, f *wire.ClientFrame) {
	ctx, done := s.asking(readTime)
	defer done()
	until, err := s.tokenOf(ctx, f.GetRenew().GetToken())
	if err != nil {
		s.Send(renewError(err))
		return
	}
	if until > s.expires.Load() {
		s.expires.Store(until)
	}
	s.Send(wire.NewServerFrame(&wire.Renewed{TokenExpiresAtMs: s.expires.Load()}))
}

// tokenOf asks until when a token is good, which has to be one of this session.
func (s *session) tokenOf(ctx context.Context, token string) (expiresMs int64, err error) {
	if token == "" {
		return 0, im.Wrong("token", "is missing")
	}
	// Without a connection: nobody yields to it, and it binds no device.
	actor, err := s.g.o.Logic.Authenticate(ctx, im.Handshake{Token: token, Address: s.Actor.Address})
	if err != nil {
		s.logInternal("renew", err)
		return 0, err
	}
	if actor.Session != s.Actor.Session || actor.User != s.Actor.User {
		return 0, wrongToken("the token is not of this session")
	}
	return actor.ExpiresMs, nil
}

// renewError is the answer to a token that renews nothing. The codes of the ranges
// that end a connection would be misunderstood: this one goes on. So a token that
// is not good is a wrong field, and the message tells why.
func renewError(err error) *wire.ServerFrame {
	switch im.CodeOf(err).Info().Action {
	case im.ActionRetry, im.ActionFix:
	default:
		if im.CodeOf(err) == im.CodeInternal {
			err = &im.Error{Code: im.CodeUnavailable, Message: "the token could not be looked up", RetryAfter: callAgain}
		} else {
			err = wrongToken(im.Public(err).Message)
		}
	}
	return errorAbout("renew", "", err)
}

func wrongToken(why string) error {
	return &im.Error{Code: im.CodeInvalidArgument, Field: "token", Message: why}
}
