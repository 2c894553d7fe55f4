package account

import (
	"context"
	"io"

	"github.com/skein-im/skein/internal/im"
)

// Refresh exchanges a refresh token for new tokens. See the package comment
// for what a second exchange of the same token gets.
func (s *Service) Refresh(ctx context.Context, refreshToken string) (Tokens, error) {
	t, err := s.refresh(ctx, refreshToken)
	return t, s.count("refresh", err)
}

func (s *Service) refresh(ctx context.Context, token string) (Tokens, error) {
	if !wellFormed(token, refreshPrefix) {
		return Tokens{}, im.Errorf(im.CodeTokenInvalid, "this is no refresh token")
	}
	// The second round is for one who lost against the same token at the same
	// moment, and then finds it exchanged.
	for range 2 {
		state, err := s.store.TokenByHash(ctx, hashToken(token))
		if im.CodeOf(err) == im.CodeNotFound {
			return Tokens{}, im.Errorf(im.CodeTokenInvalid, "this refresh token is not known")
		}
		if err != nil {
			return Tokens{}, err
		}
		switch {
		case state.Kind != im.TokenRefresh:
			return Tokens{}, im.Errorf(im.CodeTokenInvalid, "this is no refresh token")
		case state.Deleted:
			return Tokens{}, accountDeleted()
		case state.Barred.At(s.o.Now()) != nil:
			return Tokens{}, state.Barred.At(s.o.Now())
		case !state.Ended.IsZero():
			return Tokens{}, im.Errorf(im.CodeSessionRevoked, "the session was ended")
		case !state.Replaced.IsZero():
			return s.exchangedBefore(ctx, token, &state)
		case !s.o.Now().Before(state.Expires):
			return Tokens{}, im.Errorf(im.CodeTokenInvalid, "the refresh token has expired, log in again")
		}
		t, err := s.exchange(ctx, token, &state)
		switch im.CodeOf(err) {
		case im.CodeConflict:
			continue
		case im.CodeNotFound:
			return Tokens{}, im.Errorf(im.CodeSessionRevoked, "the session was ended")
		}
		return t, err
	}
	return Tokens{}, im.Errorf(im.CodeConflict, "the token was exchanged at the same time")
}

// exchange replaces a refresh token that was not exchanged.
func (s *Service) exchange(ctx context.Context, token string, state *im.TokenState) (Tokens, error) {
	var nonce [32]byte
	if _, err := io.ReadFull(s.o.Random, nonce[:]); err != nil {
		return Tokens{}, im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	now := s.o.Now()
	t := s.successors(token, nonce[:], state)
	t.AccessExpires, t.RefreshExpires = now.Add(s.o.AccessLifetime), now.Add(s.o.RefreshLifetime)
	return t, s.store.RotateTokens(ctx, im.TokenRotation{
		Session:   state.Session.ID,
		Old:       state.Hash,
		OldParent: state.Parent,
		At:        now,
		Nonce:     nonce[:],
		Tokens:    t.records(now, state.Hash),
		Expires:   t.expires(),
	})
}

// exchangedBefore answers for a refresh token that was exchanged: the same
// again for an honest retry, the end of the session otherwise.
func (s *Service) exchangedBefore(ctx context.Context, token string, state *im.TokenState) (Tokens, error) {
	honest := len(state.RetryNonce) > 0 && s.o.Now().Sub(state.Replaced) <= retryWindow && !s.seen.confirmed(state.Hash)
	if !honest {
		if err := s.end(ctx, state.Session.User, state.Session.ID); err != nil {
			return Tokens{}, err
		}
		s.o.Logger.Warn("account: a refresh token was used twice, the session was ended", "user", state.Session.User, "session", state.Session.ID)
		err := im.Errorf(im.CodeTokenReused, "the refresh token was used before; the session was ended, log in again")
		at, failed := s.attempt("refresh", state.Session.LastAddress, state.Session.Device)
		if failed != nil {
			return Tokens{}, failed
		}
		at.of(state.Session.User)
		return Tokens{}, s.failed(at, err)
	}
	t := s.successors(token, state.RetryNonce, state)
	access, err := s.store.TokenByHash(ctx, hashToken(t.Access))
	if err != nil {
		return Tokens{}, err
	}
	refresh, err := s.store.TokenByHash(ctx, hashToken(t.Refresh))
	if err != nil {
		return Tokens{}, err
	}
	t.AccessExpires, t.RefreshExpires = access.Expires, refresh.Expires
	return t, nil
}

func (s *Service) successors(token string, nonce []byte, state *im.TokenState) Tokens {
	return Tokens{
		User:    state.Session.User,
		Session: state.Session.ID,
		Access:  derive(token, nonce, accessPrefix),
		Refresh: derive(token, nonce, refreshPrefix),
	}
}
