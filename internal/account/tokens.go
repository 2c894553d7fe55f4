package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"io"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The prefixes of tokens; what follows are 43 characters of base64url.
const (
	accessPrefix  = "ska_"
	refreshPrefix = "skr_"
	keyPrefix     = "skk_"
	// Of what may be done once: the second step of a login, a reset, a registration.
	ticketPrefix     = "skt_"
	resetPrefix      = "skp_"
	invitationPrefix = "ski_"
	// Of a login by a provider: what the browser goes with, and what it comes back with.
	statePrefix  = "sks_"
	backPrefix   = "skb_"
	secretLength = 43
)

// NewAdminKey makes an admin key.
func NewAdminKey(random io.Reader) (string, error) { return newSecret(random, keyPrefix) }

// HashKey is what is kept of an admin key: Options.AdminKeyHash.
func HashKey(key string) []byte {
	h := hashToken(key)
	return h[:]
}

func hashToken(token string) im.TokenHash { return sha256.Sum256([]byte(token)) }

func newSecret(random io.Reader, prefix string) (string, error) {
	var secret [32]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	return prefix + base64.RawURLEncoding.EncodeToString(secret[:]), nil
}

// derive makes the successor of a refresh token: the same for the same nonce,
// and of no help in guessing another.
func derive(refresh string, nonce []byte, prefix string) string {
	mac := hmac.New(sha256.New, []byte(refresh))
	mac.Write([]byte(prefix))
	mac.Write(nonce)
	return prefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// wellFormed reports whether s can be a token of the kind; anything else need
// not be looked for.
func wellFormed(s, prefix string) bool {
	if len(s) != len(prefix)+secretLength || !strings.HasPrefix(s, prefix) {
		return false
	}
	return im.ValidID(s[len(prefix):]) // the alphabet of ids is base64url's
}

// SetAdminKey changes the admin key to the one with this hash (HashKey): the one from before
// is good for nothing any more.
func (s *Service) SetAdminKey(hash []byte) { s.adminKey.Store(&hash) }

// isAdminKey accepts a key of any length: an operator may have brought their own.
func (s *Service) isAdminKey(token string) bool {
	hash := *s.adminKey.Load()
	if len(hash) == 0 || !strings.HasPrefix(token, keyPrefix) {
		return false
	}
	h := hashToken(token)
	return subtle.ConstantTimeCompare(h[:], hash) == 1
}

// newUserID is 13 characters of lower-case base32: 64 random bits.
func newUserID(random io.Reader) (im.UserID, error) {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	return im.UserID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))), nil
}

func newSessionID(random io.Reader) (im.SessionID, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	return im.SessionID(base64.RawURLEncoding.EncodeToString(b[:])), nil
}

// opening makes a session of a user with its tokens; refresh tells whether it
// can be prolonged.
func (s *Service) opening(user im.UserID, addr string, device im.Device, access time.Duration, refresh bool) (Tokens, im.SessionOpening, error) {
	now := s.o.Now()
	id, err := newSessionID(s.o.Random)
	if err != nil {
		return Tokens{}, im.SessionOpening{}, err
	}
	t := Tokens{User: user, Session: id, AccessExpires: now.Add(access)}
	if t.Access, err = newSecret(s.o.Random, accessPrefix); err != nil {
		return Tokens{}, im.SessionOpening{}, err
	}
	if refresh {
		if t.Refresh, err = newSecret(s.o.Random, refreshPrefix); err != nil {
			return Tokens{}, im.SessionOpening{}, err
		}
		t.RefreshExpires = now.Add(s.o.RefreshLifetime)
	}
	return t, im.SessionOpening{
		Session: im.Session{ID: id, User: user, Device: device, Created: now, LastSeen: now, LastAddress: addr},
		Expires: t.expires(),
		Tokens:  t.records(now, im.TokenHash{}),
	}, nil
}

// expires is when the last of the tokens does.
func (t *Tokens) expires() time.Time {
	if t.RefreshExpires.After(t.AccessExpires) {
		return t.RefreshExpires
	}
	return t.AccessExpires
}

// records are what is kept of the tokens.
func (t *Tokens) records(now time.Time, parent im.TokenHash) []im.Token {
	all := []im.Token{{Hash: hashToken(t.Access), Kind: im.TokenAccess, Created: now, Expires: t.AccessExpires, Parent: parent}}
	if t.Refresh != "" {
		all = append(all, im.Token{Hash: hashToken(t.Refresh), Kind: im.TokenRefresh, Created: now, Expires: t.RefreshExpires, Parent: parent})
	}
	return all
}
