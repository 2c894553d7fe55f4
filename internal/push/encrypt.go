package push

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// What RFC 8291 and RFC 8188 fix.
const (
	// recordSize is that of the one record; push services take no longer bodies.
	recordSize = 4096
	saltBytes  = 16
	// padTo hides from push services how long a text is: payloads are as long as the next
	// multiple.
	padTo = 256
	// MaxPayload is how long what is told may be.
	MaxPayload = 3 << 10
)

// encrypt is a message of RFC 8291 (content coding aes128gcm) to who has the private key of
// point and auth. Each takes a key pair of its own.
func encrypt(payload, point, auth []byte, random io.Reader) ([]byte, error) {
	own, err := newKey(random)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltBytes)
	if _, err := io.ReadFull(random, salt); err != nil {
		return nil, fmt.Errorf("random: %w", err)
	}
	padded := len(payload) + 1
	padded += (padTo - padded%padTo) % padTo
	return seal(payload, padded-len(payload)-1, point, auth, own, salt)
}

// newKey makes a key pair of P-256. (ecdh.GenerateKey does not read what it is given.)
func newKey(random io.Reader) (*ecdh.PrivateKey, error) {
	for {
		raw := make([]byte, 32)
		if _, err := io.ReadFull(random, raw); err != nil {
			return nil, fmt.Errorf("random: %w", err)
		}
		if k, err := ecdh.P256().NewPrivateKey(raw); err == nil { // all but 1 in 2^32 are one
			return k, nil
		}
	}
}

// seal encrypts with a given key pair and salt.
func seal(payload []byte, padding int, point, auth []byte, own *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	theirs, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, fmt.Errorf("the subscription's key: %w", err)
	}
	shared, err := own.ECDH(theirs)
	if err != nil {
		return nil, fmt.Errorf("the subscription's key: %w", err)
	}
	gcm, nonce, err := contentKey(shared, auth, point, own.PublicKey().Bytes(), salt)
	if err != nil {
		return nil, err
	}
	// The header of RFC 8188: salt, record size, the sender's key as the key's id.
	out := append([]byte{}, salt...)
	out = binary.BigEndian.AppendUint32(out, recordSize)
	out = append(out, byte(len(own.PublicKey().Bytes())))
	out = append(out, own.PublicKey().Bytes()...)
	plain := append(append([]byte{}, payload...), 2) // the delimiter of the last record
	plain = append(plain, make([]byte, padding)...)
	return gcm.Seal(out, nonce, plain, nil), nil
}

// contentKey derives the key and the nonce of the one record.
func contentKey(shared, auth, theirs, own, salt []byte) (cipher.AEAD, []byte, error) {
	info := "WebPush: info\x00" + string(theirs) + string(own)
	ikm, err := hkdf.Key(sha256.New, shared, auth, info, 32)
	if err != nil {
		return nil, nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	gcm, err := cipher.NewGCM(block)
	return gcm, nonce, err
}
