package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/certs"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/gateway"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/internal/supervise"
	"github.com/skein-im/skein/wire/netio"
)

// inEffect is what Reload changes while the server runs. App.cfg stays what it was at the
// start; what is in effect of the settings below is here.
type inEffect struct {
	mu      sync.Mutex
	running config.Config // what is in effect; mu's
	key     string        // the admin key that is taken; mu's
	level   *slog.LevelVar
	rates   limits.Rates // of a laboratory, instead of those of the settings

	drain       atomic.Int64
	certificate atomic.Pointer[certs.Files] // nil without tls.cert
}

// reloadable are the settings that Reload can change.
var reloadable = []string{
	"tls.cert", "tls.key", "log.level", "log.slow",
	"http.max_connections", "http.max_per_address",
	"gateway.max_connections", "gateway.max_per_user", "gateway.max_per_address", "gateway.send_rate", "gateway.send_burst", "gateway.drain_time",
	"gateway.account_devices", "gateway.address_devices", "gateway.network_devices", "gateway.bytes_per_day",
	"groups.max_members", "groups.max_per_user", "groups.max_adds_per_hour", "groups.max_strangers_per_day", "groups.max_made_per_day",
}

func (l *inEffect) begin(c *config.Config, level *slog.LevelVar) {
	l.running, l.level = *c, level
	l.drain.Store(int64(c.Gateway.DrainTime))
}

func (l *inEffect) drainTime() time.Duration { return time.Duration(l.drain.Load()) }

func (l *inEffect) getCertificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return l.certificate.Load().GetCertificate(h)
}

func (l *inEffect) ratesOf(c *config.Config) limits.Rates {
	if l.rates != (limits.Rates{}) {
		return l.rates
	}
	return limits.Rates{
		Sends:      limits.Rate{PerSecond: c.Gateway.SendRate, Burst: c.Gateway.SendBurst},
		PerAccount: orNone(c.Gateway.AccountDevices), PerAddress: orNone(c.Gateway.AddressDevices), PerNetwork: orNone(c.Gateway.NetworkDevices),
		BytesPerDay: orNone(int64(c.Gateway.BytesPerDay)),
	}
}

// orNone is a bound of the settings, where 0 is none, in the form of limits, where less is.
func orNone[N ~int | ~int64](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

// socketBounds leave half of the file descriptors to others than plain HTTP.
func socketBounds(c *config.Config) limits.SocketBounds {
	b := limits.SocketBounds{All: c.HTTP.MaxConnections, PerAddress: c.HTTP.MaxPerAddress}
	if half := netio.Descriptors() / 2; half > 0 && (b.All == 0 || half < b.All) {
		b.All = half
	}
	return b
}

func bounds(c *config.Config) gateway.Bounds {
	return gateway.Bounds{MaxConnections: c.Gateway.MaxConnections, MaxPerUser: c.Gateway.MaxPerUser, MaxPerAddress: c.Gateway.MaxPerAddress}
}

func groupLimits(c *config.Config) group.Limits {
	return group.Limits{MaxMembers: c.Groups.MaxMembers, MaxGroups: c.Groups.MaxPerUser, AddsPerHour: c.Groups.MaxAddsPerHour, StrangersPerDay: c.Groups.MaxStrangersPerDay, MadePerDay: c.Groups.MaxMadePerDay}
}

// Reload makes what load returns the settings, as far as that is possible while the server
// runs, and reads the files of the certificate and of the admin key anew. All of it is
// changed or, with an error, nothing; the log says which, and names the settings that
// changed and wait for the next start.
func (a *App) Reload(load func() (config.Config, error)) error {
	a.live.mu.Lock()
	defer a.live.mu.Unlock()
	a.tell(supervise.Reloading)
	defer a.tell(supervise.Ready)
	err := a.reload(load)
	if err != nil {
		a.log.Error("not reloaded, everything stays as it was", "err", err)
	}
	return err
}

func (a *App) reload(load func() (config.Config, error)) error {
	c, err := load()
	if err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	var changed, later []string
	for _, key := range config.Changed(&a.live.running, &c) {
		switch {
		case (key == "tls.cert" || key == "tls.key") && (c.TLS.Cert == "") != (a.live.running.TLS.Cert == ""),
			key == "log.level" && a.live.level == nil,
			!slices.Contains(reloadable, key):
			later = append(later, key)
		default:
			changed = append(changed, key)
		}
	}
	// What may fail comes first.
	files, err := a.reloadCertificate(&c)
	if err != nil {
		return err
	}
	key, err := a.reloadKey()
	if err != nil {
		return err
	}
	if files != nil {
		a.live.certificate.Store(files)
	}
	if key != "" && key != a.live.key {
		a.accounts.SetAdminKey(account.HashKey(key))
		a.live.key = key
		changed = append(changed, AdminKeyFile)
		if key != a.key {
			a.log.Warn("the admin key is another one, and the one of before is refused; what is sealed is so with that one until the next start, which wants --new-keys and says what it costs", "file", a.data.file(AdminKeyFile))
		}
	}
	a.apply(&c)
	for _, key := range changed {
		if key == AdminKeyFile {
			continue
		}
		if err := config.Copy(&a.live.running, &c, key); err != nil {
			return err
		}
	}
	a.log.Info("reloaded", "changed", changed)
	if len(later) > 0 {
		a.log.Warn("settings changed that take effect at the next start only", "settings", later)
	}
	return nil
}

// reloadCertificate reads the certificate; nil: there is none, before and after.
func (a *App) reloadCertificate(c *config.Config) (*certs.Files, error) {
	if a.live.certificate.Load() == nil || c.TLS.Cert == "" {
		return nil, nil
	}
	return certs.OpenFiles(c.TLS.Cert, c.TLS.Key, a.log)
}

// reloadKey reads the admin key, "" where it is no file's.
func (a *App) reloadKey() (string, error) {
	if a.accounts == nil || a.cfg.Clustered() {
		return "", nil
	}
	key, err := a.data.readAdminKey()
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: put it back", err)
	}
	return key, err
}

// apply brings into effect what can be.
func (a *App) apply(c *config.Config) {
	if a.live.level != nil {
		_ = a.live.level.UnmarshalText([]byte(c.Log.Level)) // Check parsed it
	}
	a.slow.Store(int64(c.Log.Slow))
	a.live.drain.Store(int64(c.Gateway.DrainTime))
	a.devices.SetRates(a.live.ratesOf(c))
	if a.open != nil {
		a.open.SetBounds(socketBounds(c))
	}
	if a.gateway != nil {
		a.gateway.SetBounds(bounds(c))
	}
	if a.members != nil && a.members.groups != nil {
		a.members.groups.SetLimits(groupLimits(c))
	}
}
