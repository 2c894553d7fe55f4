package account

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
)

const (
	hashParallel = 2 // each takes a core and the memory of Argon
	saltBytes    = 16
	keyBytes     = 32
)

// hasher makes and checks password hashes, a bounded number at a time.
type hasher struct {
	argon  Argon
	random io.Reader
	// turns are at hashing: fair between networks, those that are known first.
	turns *limits.Turns
	// stranger is checked against for users that are not there: the same work.
	stranger string
}

func newHasher(a Argon, random io.Reader) *hasher {
	h := &hasher{argon: a, random: random, turns: limits.NewTurns(hashParallel)}
	h.stranger = h.encode(make([]byte, saltBytes), make([]byte, keyBytes))
	return h
}

// hash makes the hash of a password. The caller has a turn.
func (h *hasher) hash(password string) (string, error) {
	salt := make([]byte, saltBytes)
	if _, err := io.ReadFull(h.random, salt); err != nil {
		return "", im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	a := h.argon
	return h.encode(salt, argon2.IDKey([]byte(password), salt, a.Time, a.MemoryKiB, a.Threads, keyBytes)), nil
}

// verify checks a password against a hash; "" is nobody's and takes as long.
// stale tells that the hash was made with other costs. The caller has a turn.
func (h *hasher) verify(password, encoded string) (ok, stale bool, err error) {
	known := encoded != ""
	if !known {
		encoded = h.stranger
	}
	a, salt, key, err := decodeHash(encoded)
	if err != nil {
		return false, false, err
	}
	got := argon2.IDKey([]byte(password), salt, a.Time, a.MemoryKiB, a.Threads, uint32(len(key)))
	ok = subtle.ConstantTimeCompare(got, key) == 1 && known
	return ok, a != h.argon, nil
}

// encode writes a hash in the usual form: $argon2id$v=19$m=…,t=…,p=…$salt$key.
func (h *hasher) encode(salt, key []byte) string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.argon.MemoryKiB, h.argon.Time, h.argon.Threads, b64(salt), b64(key))
}

func decodeHash(encoded string) (a Argon, salt, key []byte, err error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return a, nil, nil, fmt.Errorf("account: a stored password hash is not argon2id v%d", argon2.Version)
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &a.MemoryKiB, &a.Time, &a.Threads); err != nil {
		return a, nil, nil, fmt.Errorf("account: the costs of a stored password hash: %w", err)
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return a, nil, nil, fmt.Errorf("account: the salt of a stored password hash: %w", err)
	}
	if key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil {
		return a, nil, nil, fmt.Errorf("account: a stored password hash: %w", err)
	}
	if a.Time == 0 || a.Threads == 0 || len(key) == 0 {
		return a, nil, nil, fmt.Errorf("account: a stored password hash has no costs")
	}
	return a, salt, key, nil
}
