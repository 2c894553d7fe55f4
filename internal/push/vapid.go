package push

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

const (
	// tokenLife is how long a token names this server to a push service; RFC 8292 allows 24
	// hours, and clocks differ.
	tokenLife = 12 * time.Hour
	// keyKnown is how long the key pair is not read again.
	keyKnown = time.Minute
	// mostServices is for how many push services a token is kept.
	mostServices = 1000
)

// SealKey makes Options.SealKey of a secret that the server keeps outside of its store.
func SealKey(secret string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("skein push keys"))
	return mac.Sum(nil)
}

// identity is the key pair by which push services know this server (VAPID, RFC 8292), the
// same on all nodes.
type identity struct {
	store   Keys
	sealKey []byte
	contact string
	random  io.Reader
	now     func() time.Time

	mu     sync.Mutex
	public []byte
	key    *ecdsa.PrivateKey
	read   time.Time
	tokens cache.Cache[string, token]
}

type token struct {
	text  string
	until time.Time
}

// Opens tells why a server whose Options.SealKey is sealKey cannot use a key pair, nil if it can.
func Opens(sealKey []byte, k im.PushKey) error {
	_, err := unseal(sealKey, k)
	return err
}

func sealing(sealKey []byte) (cipher.AEAD, error) {
	b, err := aes.NewCipher(sealKey)
	if err != nil {
		return nil, fmt.Errorf("push: the key that seals the push key: %w", err)
	}
	return cipher.NewGCM(b)
}

// prepare reads the key pair, and makes one if there is none. One that this server cannot open
// stays, with all its subscriptions: the server that has its keys may come back.
func (i *identity) prepare(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for range 2 { // another node may be as far at the same time
		k, err := i.store.PushKey(ctx)
		if err == nil {
			if err := i.open(k); err != nil {
				return fmt.Errorf("%w; nobody can be woken, and nothing was changed: start the server with the keys of before, or once with --new-keys", err)
			}
			return nil
		}
		if im.CodeOf(err) != im.CodeNotFound {
			return err
		}
		made, err := i.make()
		if err != nil {
			return err
		}
		if err := i.store.AddPushKey(ctx, made); err != nil {
			return err
		}
	}
	return im.Errorf(im.CodeUnavailable, "the push key changes all the time")
}

func (i *identity) make() (im.PushKey, error) {
	own, err := newKey(i.random)
	if err != nil {
		return im.PushKey{}, err
	}
	gcm, err := sealing(i.sealKey)
	if err != nil {
		return im.PushKey{}, err
	}
	nonce := make([]byte, gcm.NonceSize())
	if _, err := io.ReadFull(i.random, nonce); err != nil {
		return im.PushKey{}, fmt.Errorf("random: %w", err)
	}
	public := own.PublicKey().Bytes()
	return im.PushKey{Public: public, Sealed: gcm.Seal(nonce, nonce, own.Bytes(), public), Made: i.now()}, nil
}

func unseal(sealKey []byte, k im.PushKey) (*ecdsa.PrivateKey, error) {
	gcm, err := sealing(sealKey)
	if err != nil {
		return nil, err
	}
	if len(k.Sealed) < gcm.NonceSize() {
		return nil, fmt.Errorf("push: the key is damaged")
	}
	raw, err := gcm.Open(nil, k.Sealed[:gcm.NonceSize()], k.Sealed[gcm.NonceSize():], k.Public)
	if err != nil {
		return nil, fmt.Errorf("push: the key was sealed with another key than this server's: %w", err)
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, fmt.Errorf("push: the key is damaged: %w", err)
	}
	return key, nil
}

// open takes a pair that is kept; mu is held.
func (i *identity) open(k im.PushKey) error {
	key, err := unseal(i.sealKey, k)
	if err != nil {
		return err
	}
	if string(i.public) != string(k.Public) {
		i.tokens.Clear()
	}
	i.public, i.key, i.read = k.Public, key, i.now()
	return nil
}

// fresh reads the pair again if it is long ago.
func (i *identity) fresh(ctx context.Context) error {
	i.mu.Lock()
	known := i.key != nil && i.now().Sub(i.read) < keyKnown
	i.mu.Unlock()
	if known {
		return nil
	}
	return i.prepare(ctx)
}

// publicKey is the key that browsers make subscriptions for.
func (i *identity) publicKey(ctx context.Context) ([]byte, error) {
	if err := i.fresh(ctx); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.public, nil
}

// authorization is the header that names this server to the push service of an endpoint.
func (i *identity) authorization(ctx context.Context, endpoint *url.URL) (string, error) {
	if err := i.fresh(ctx); err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	audience := endpoint.Scheme + "://" + endpoint.Host
	t, ok := i.tokens.Get(audience)
	if now := i.now(); !ok || t.until.Sub(now) < tokenLife/2 {
		t.until = now.Add(tokenLife)
		text, err := sign(i.key, audience, t.until, i.contact, i.random)
		if err != nil {
			return "", err
		}
		t.text = text
		i.tokens.Put(audience, t)
	}
	return "vapid t=" + t.text + ", k=" + base64.RawURLEncoding.EncodeToString(i.public), nil
}

// sign makes the token: a JWT signed with ES256.
func sign(key *ecdsa.PrivateKey, audience string, until time.Time, contact string, random io.Reader) (string, error) {
	claims, err := json.Marshal(struct {
		Aud string `json:"aud"`
		Exp int64  `json:"exp"`
		Sub string `json:"sub,omitempty"`
	}{audience, until.Unix(), contact})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	hash := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(random, key, hash[:])
	if err != nil {
		return "", fmt.Errorf("push: sign: %w", err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}
