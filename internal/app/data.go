package app

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-im/skein/internal/platform"
)

// dataDir is the directory of everything that is kept:
//
//	LOCK            held while a server runs
//	keys/admin.key  the integrator's and the command line's key, mode 0600
//	directory.db    users, sessions, contacts, groups (SQLite)
//	journal/        the conversations (Pebble), their witness, and the list of files
//	search.db       the index of the search; made again when it is gone
//	MIGRATED        where the two were copied to; no server serves them then
type dataDir struct {
	path string
	lock *os.File
}

// ErrInUse: a server runs on the data directory.
var ErrInUse = errors.New("in use by another process")

// openData makes the directory if need be and locks it against a second server.
func openData(path string) (*dataDir, error) {
	if err := platform.MkdirAll(filepath.Join(path, "keys")); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	for _, dir := range []string{path, filepath.Dir(path)} {
		if err := platform.SyncDir(dir); err != nil {
			return nil, fmt.Errorf("data directory %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(filepath.Join(path, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	if err := platform.Lock(f); err != nil {
		f.Close()
		if errors.Is(err, platform.ErrLocked) {
			return nil, fmt.Errorf("data directory %s is %w", path, ErrInUse)
		}
		return nil, fmt.Errorf("data directory %s: lock: %w", path, err)
	}
	return &dataDir{path: path, lock: f}, nil
}

func (d *dataDir) close() error { return d.lock.Close() }

func (d *dataDir) file(name string) string { return filepath.Join(d.path, name) }

// AdminKeyFile is where the admin key is kept, relative to the data directory.
const AdminKeyFile = "keys/admin.key"

// readAdminKey reads the admin key; fs.ErrNotExist: there is none. A file that
// others can read is refused: the key is as good as every password.
func (d *dataDir) readAdminKey() (string, error) {
	path := d.file(AdminKeyFile)
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("admin key: %w", err)
	}
	if mode, known := platform.Mode(st); known && mode&0o077 != 0 {
		return "", fmt.Errorf("admin key %s can be read by others (mode %04o): chmod 600 it, and replace it if somebody may have", path, mode)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("admin key: %w", err)
	}
	return parseAdminKey(path, raw)
}

// keyAdvice is what to do about a file that holds no key.
const keyAdvice = "put it back from a copy (`skein backup --keys` makes one). Without one remove it and start once with --new-keys, which makes a new key and says what that costs"

// parseAdminKey takes a key from what is in its file, which errors name.
func parseAdminKey(path string, raw []byte) (string, error) {
	key := strings.TrimSpace(string(raw))
	if len(key) < 40 || !strings.HasPrefix(key, "skk_") {
		return "", fmt.Errorf("admin key %s does not hold a key (skk_…); %s", path, keyAdvice)
	}
	if n := len(key) - keySumLen; len(key) == keyLen && key[n:] != keySum(key[:n]) {
		return "", fmt.Errorf("admin key %s is damaged: its last characters do not fit the others; %s", path, keyAdvice)
	}
	return key, nil
}

// CheckAdminKey tells what is wrong with an admin key that is to be copied: a
// damaged one must not take the place of a good copy. name is where it lies.
func CheckAdminKey(name string, raw []byte) error {
	_, err := parseAdminKey(name, raw)
	return err
}

// A key that was made here ends with a checksum, so that a damaged file is not
// taken for another key. Other keys, of an earlier version or of a cluster, have
// another length.
const (
	keySumLen = 6
	keyLen    = len("skk_") + 43 + keySumLen
)

func keySum(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:keySumLen]
}

// writeDurably makes a file that is there, whole, after a power cut as well,
// once it has returned; before, there is none. Without the syncs the rename can
// outlive the content: a key file that is empty.
func writeDurably(path, content string) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return platform.SyncDir(filepath.Dir(path))
}
