package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/skein-im/skein/internal/im"
)

// SealKey makes Options.SealKey of a secret that the server keeps outside of its store.
func SealKey(secret string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("skein second factors"))
	return mac.Sum(nil)
}

var errNoSeal = errors.New("account: a sealed secret cannot be opened with this server's key")

func (s *Service) aead() (cipher.AEAD, error) {
	if len(s.o.SealKey) == 0 {
		return nil, im.Errorf(im.CodeUnimplemented, "this server has no second factors")
	}
	b, err := aes.NewCipher(s.o.SealKey)
	if err != nil {
		return nil, fmt.Errorf("account: the key that seals secrets: %w", err)
	}
	return cipher.NewGCM(b)
}

// seal seals a user's secret: nobody opens it without the key, nor as another user's.
func (s *Service) seal(user im.UserID, secret []byte) ([]byte, error) {
	a, err := s.aead()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, a.NonceSize(), a.NonceSize()+len(secret)+a.Overhead())
	if _, err := io.ReadFull(s.o.Random, nonce); err != nil {
		return nil, im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	return a.Seal(nonce, nonce, secret, []byte(user)), nil
}

// unseal opens what seal made; errNoSeal: it was sealed with another key.
func (s *Service) unseal(user im.UserID, sealed []byte) ([]byte, error) {
	a, err := s.aead()
	if err != nil {
		return nil, err
	}
	if len(sealed) < a.NonceSize() {
		return nil, errNoSeal
	}
	secret, err := a.Open(nil, sealed[:a.NonceSize()], sealed[a.NonceSize():], []byte(user))
	if err != nil {
		return nil, errNoSeal
	}
	return secret, nil
}
