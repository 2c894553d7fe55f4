package account

import (
	"context"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// Authenticate tells who has a token. For a connection it also binds the
// session to the device, makes those of other devices yield according to the device
// policy, and takes note of the sign of life.
//
// The caller makes the connection known to Control before it calls: see the
// package comment for why a revoke at the same time then closes it.
func (s *Service) Authenticate(ctx context.Context, h im.Handshake) (im.Actor, error) {
	actor, err := s.authenticate(ctx, h)
	if im.CodeOf(err) == im.CodeTokenInvalid {
		s.refused(im.WithRequest(ctx, h.Request), h.Address, howToken, "")
	}
	return actor, s.count("authenticate", err)
}

func (s *Service) authenticate(ctx context.Context, h im.Handshake) (im.Actor, error) {
	connection := h.Connection != ""
	switch {
	case h.Token == "" && !connection:
		return im.Actor{}, im.Errorf(im.CodeUnauthenticated, "a token is needed: Authorization: Bearer <token>")
	case s.isAdminKey(h.Token):
		if connection {
			return im.Actor{}, im.Errorf(im.CodePermissionDenied, "the admin key is for the HTTP API only; mint a token to connect")
		}
		return im.Actor{Role: im.ServerOwner, Address: h.Address}, nil
	case !wellFormed(h.Token, accessPrefix):
		return im.Actor{}, im.Errorf(im.CodeTokenInvalid, "this is no access token")
	}
	if connection {
		if err := validHello(&h); err != nil {
			return im.Actor{}, err
		}
	}
	state, err := s.goodToken(ctx, h.Token)
	if err != nil {
		return im.Actor{}, err
	}
	device := state.Session.Device
	if connection {
		if device, err = s.bind(ctx, &state.Session, h.Device); err != nil {
			return im.Actor{}, err
		}
		s.yield(&state.Session, device, h.Connection)
	}
	s.note(ctx, &state, &h)
	return im.Actor{
		User:       state.Session.User,
		Session:    state.Session.ID,
		Connection: h.Connection,
		Device:     device,
		Address:    h.Address,
		Role:       state.Role,
		ExpiresMs:  state.Expires.UnixMilli(),
	}, nil
}

// goodToken returns the state of an access token that is good.
func (s *Service) goodToken(ctx context.Context, token string) (im.TokenState, error) {
	state, err := s.store.TokenByHash(ctx, hashToken(token))
	switch {
	case im.CodeOf(err) == im.CodeNotFound:
		return im.TokenState{}, im.Errorf(im.CodeTokenInvalid, "this access token is not known")
	case err != nil:
		return im.TokenState{}, err
	case state.Kind != im.TokenAccess:
		return im.TokenState{}, im.Errorf(im.CodeTokenInvalid, "this is no access token")
	case state.Deleted:
		return im.TokenState{}, accountDeleted()
	case state.Barred.At(s.o.Now()) != nil:
		return im.TokenState{}, state.Barred.At(s.o.Now())
	case !state.Ended.IsZero():
		return im.TokenState{}, im.Errorf(im.CodeSessionRevoked, "the session was ended")
	case !s.o.Now().Before(state.Expires):
		return im.TokenState{}, im.Errorf(im.CodeTokenExpired, "the access token has expired")
	}
	return state, nil
}

// bind makes sure that the session belongs to the device, and returns the
// device with the class it was bound with.
func (s *Service) bind(ctx context.Context, session *im.Session, device im.Device) (im.Device, error) {
	bound := session.Device
	if bound.ID == "" {
		var err error
		bound, err = s.store.BindDevice(ctx, session.ID, device)
		if im.CodeOf(err) == im.CodeNotFound {
			return im.Device{}, im.Errorf(im.CodeSessionRevoked, "the session was ended")
		}
		if err != nil {
			return im.Device{}, err
		}
	}
	if bound.ID != device.ID {
		return im.Device{}, im.Errorf(im.CodeDeviceMismatch, "the token belongs to another device")
	}
	return bound, nil
}

// yield makes older connections of the user's other devices close, as the policy
// has it.
func (s *Service) yield(session *im.Session, device im.Device, connection im.ConnectionID) {
	c := im.Control{User: session.User, Yield: true, By: device, ByConnection: connection, At: s.o.Now(), Class: device.Class}
	switch s.o.DevicePolicy {
	case "one":
		c.Class = im.DeviceUnspecified
	case "all":
		return
	}
	s.o.Control(c)
}

// note keeps the sign of life for the next flush: no login costs a write. With
// others on the store the first use of tokens from an exchange does: until they
// know of it, they would give whoever has the old token the new ones.
func (s *Service) note(ctx context.Context, state *im.TokenState, h *im.Handshake) {
	seen := im.SessionSeen{Session: state.Session.ID, At: s.o.Now(), Address: h.Address}
	if validClient(h.Client) { // an HTTP request may say anything
		seen.Client = h.Client
	}
	if state.ParentRetry {
		seen.Confirmed = state.Parent
		if s.o.Shared {
			err := s.store.SessionsSeen(ctx, []im.SessionSeen{seen})
			if err == nil {
				return
			}
			s.o.Logger.Warn("account: the use of new tokens was not written, trying again", "user", state.Session.User, "err", err)
		}
	}
	s.seen.note(seen)
}

// validHello checks what a Hello says of the device.
func validHello(h *im.Handshake) error {
	if h.Device.ID == "" {
		return im.Wrong("device.id", "is missing")
	}
	if err := validDevice(&h.Device); err != nil {
		return err
	}
	if !validClient(h.Client) {
		return im.Wrong("client", "must have at most 100 characters and no control characters")
	}
	return nil
}

func validClient(s string) bool { return utf8.RuneCountInString(s) <= 100 && printable(s) }

// validDevice checks a device and gives it its class: one that was not told,
// or that only newer servers know, is `other`.
func validDevice(d *im.Device) error {
	switch {
	case !im.ValidID(d.ID):
		return im.Wrong("device.id", "must match [A-Za-z0-9_-]{1,64}")
	case utf8.RuneCountInString(d.Name) > 100 || !printable(d.Name):
		return im.Wrong("device.name", "must have at most 100 characters and no control characters")
	}
	if d.Class == im.DeviceUnspecified || d.Class > im.DeviceOther {
		d.Class = im.DeviceOther
	}
	return nil
}
