package app

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/push"
)

// The admin key is the server's own key: what is sealed or signed is so with keys made of it.
// One server has it in a file, nodes that share a database make it of node.secret.
//
// The directory knows whose keys it is used with, by a value made of the key (keyCheck). A
// start with other keys is refused and changes nothing, unless somebody wants it
// (Options.NewKeys): what is stored is never replaced because a key is wrong or missing. A
// store of a version before, which knows nothing of that, takes the keys of its first start
// now, unless they cannot open its push key.

// keyCheck tells keys apart, and nothing of them.
func keyCheck(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("skein key check"))
	return hex.EncodeToString(mac.Sum(nil))
}

// clusterKey is the admin key of nodes that share a secret.
func clusterKey(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("skein admin key"))
	return "skk_" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// newAdminKey makes a key that ends with a checksum (parseAdminKey).
func newAdminKey() string {
	var raw [32]byte
	rand.Read(raw[:]) // never fails
	key := "skk_" + base64.RawURLEncoding.EncodeToString(raw[:])
	return key + keySum(key)
}

// storeKeys is the key of a start, and what the store knows of those that it was used with.
type storeKeys struct {
	app     *App
	key     string
	there   string // in the key's file
	missing bool   // there is no such file, and it is where the key is from
	directory.Keys
	pushErr error // why the push key cannot be opened
}

// presentKeys reads the key, or makes one up where there is none. Nothing is written.
func (a *App) presentKeys() (k storeKeys, err error) {
	k.app = a
	k.there, err = a.data.readAdminKey()
	none := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !none:
		return k, err
	case a.cfg.Clustered():
		k.key = clusterKey(a.cfg.Node.Secret)
	case none:
		k.key, k.missing = newAdminKey(), true
	default:
		k.key = k.there
	}
	return k, nil
}

// compare refuses keys that are not those of a store.
func (k *storeKeys) compare(with directory.Keys, accept bool) error {
	k.Keys, k.pushErr = with, nil
	if p := with.Sealed.Push; p != nil {
		k.pushErr = push.Opens(push.SealKey(k.key), *p)
	}
	if k.others() && !accept {
		return k.refused()
	}
	return nil
}

// openKeys settles which key is the admin key, which is in its file then, and makes one at
// the first start. It refuses keys that are not those of the store; accept begins with them.
func (a *App) openKeys(ctx context.Context, accept bool) error {
	k, err := a.presentKeys()
	if err != nil {
		return err
	}
	with, err := a.directory.Keys(ctx)
	if err != nil {
		return err
	}
	if err := k.compare(with, accept); err != nil {
		return err
	}
	// The file comes first: a store that knows a key which nobody has could not be opened.
	if err := k.keep(); err != nil {
		return err
	}
	if err := k.settle(ctx, accept); err != nil {
		return err
	}
	a.key, a.live.key = k.key, k.key
	return a.release()
}

// keep writes the key to its file.
func (k *storeKeys) keep() error {
	if k.there == k.key {
		return nil
	}
	a := k.app
	path := a.data.file(AdminKeyFile)
	if err := writeDurably(path, k.key+"\n"); err != nil {
		return fmt.Errorf("admin key: %w", err)
	}
	switch {
	case k.missing:
		a.log.Info("made a new admin key", "file", path)
	case k.there != "":
		a.log.Warn("the admin key is another one from now on: that of the cluster, made of node.secret", "file", path)
	}
	return nil
}

// others tells whether the store was used with other keys.
func (k *storeKeys) others() bool {
	if k.Known {
		return k.Noted != "" && k.Noted != keyCheck(k.key)
	}
	return k.pushErr != nil || k.missing && k.Sealed.Factors > 0
}

// settle notes whose keys these are. What they do not open goes if they are new on purpose.
func (k *storeKeys) settle(ctx context.Context, accept bool) error {
	d, now, value := k.app.directory, k.app.now(), keyCheck(k.key)
	begun := k.others() || k.pushErr != nil && (accept || k.Noted == "")
	if k.Known && k.Noted == value && !begun {
		return nil // who uses a push key that is damaged reports it
	}
	if !k.Known {
		note := value
		if begun {
			note = ""
		}
		if err := d.NoteKeyCheck(ctx, note, now); err != nil {
			return err
		}
	}
	if k.Known || begun {
		if err := d.ReplaceKeyCheck(ctx, k.Noted, value, k.pushErr != nil, now); err != nil {
			return err
		}
	}
	noted, known, err := d.KeyCheck(ctx)
	if err != nil {
		return err
	}
	if noted != value { // another node was as far at the same time
		k.Noted, k.Known = noted, known
		return k.refused()
	}
	if begun {
		k.app.log.Warn("the server has other keys from now on", "gone", k.goes())
	}
	return nil
}

// goes says what other keys cost.
func (k *storeKeys) goes() string {
	return fmt.Sprintf("push: %s, which subscribe anew when they connect; authenticator apps: %s, who need a recovery code or a reset link; links to pictures, files and exports that were given out; the admin key of backends and bots",
		count(k.Sealed.Devices, "device"), count(k.Sealed.Factors, "user"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// refused says what is wrong and what may be done about it. Nothing was changed.
func (k *storeKeys) refused() error {
	a := k.app
	var b strings.Builder
	file := a.data.file(AdminKeyFile)
	switch {
	case a.cfg.Clustered():
		b.WriteString("node.secret: the database was used with another secret, so nothing of it was touched. Give this node the one that the other nodes have (SKEIN_NODE_SECRET_FILE names its file)")
		fmt.Fprintf(&b, "; if one server without node.listen used it until now, its key was that of %s in its data directory", AdminKeyFile)
	case k.missing:
		fmt.Fprintf(&b, "%s is missing, and the store was used with the key in it, so nothing was changed. Put it back: from the data directory as it was, or from where `skein backup --keys` copied it", file)
	default:
		fmt.Fprintf(&b, "%s: the store was used with another key, so nothing was changed. Put that one back: from the data directory as it was, or from where `skein backup --keys` copied it", file)
	}
	if a.cfg.Store != "" && !a.cfg.Clustered() {
		b.WriteString(". Several servers on one database are nodes: they need node.listen or cluster, and the same node.secret")
	}
	stop := ""
	if a.cfg.Store != "" {
		stop = "stop all nodes, and "
	}
	fmt.Fprintf(&b, ". Or begin with other keys on purpose: %sstart once with --new-keys. That costs: %s", stop, k.goes())
	return errors.New(b.String())
}

// release gives back what keeps others from the database.
func (a *App) release() error {
	if a.hold == nil {
		return nil
	}
	h := a.hold
	a.hold = nil
	return h.Close()
}
