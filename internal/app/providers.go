package app

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/oidc"
	"github.com/skein-im/skein/internal/trail"
)

// makeAccounts makes the service of accounts; key is the server's own.
func (a *App) makeAccounts(key string, gateways im.Dispatch) error {
	c := a.cfg
	providers, err := a.providers()
	if err != nil {
		return err
	}
	dm, find := newUserPolicies(&c)
	a.trail = trail.New(trail.Options{
		Store: a.directory, Now: a.now, Random: rand.Reader, Logger: a.log,
		Keep: map[im.ActKind]time.Duration{im.ActAdmin: time.Duration(c.Audit.Acts), im.ActSignIn: time.Duration(c.Audit.SignIns)},
	})
	a.accounts = account.New(a.directory, account.Options{
		ReservedNames:       a.cfg.Accounts.ReservedNames,
		Trail:               a.trail,
		Named:               func(ctx context.Context, name string) error { return a.filter.Named(ctx, "", false, name) },
		OpenRegistration:    c.Accounts.Registration == "open",
		InvitedRegistration: c.Accounts.Registration == "invitation",
		MaxGuests:           c.Accounts.Guests,
		GuestLife:           time.Duration(c.Accounts.GuestLife),
		SealKey:             account.SealKey(key),
		AccessLifetime:      time.Duration(c.Accounts.AccessLifetime),
		RefreshLifetime:     time.Duration(c.Accounts.RefreshLifetime),
		AdminKeyHash:        account.HashKey(key),
		DevicePolicy:        c.Accounts.DevicePolicy,
		Control:             gateways.Control,
		Erased:              a.members.contacts.PrivacyChanged,
		Drive:               a.outbox.Help,
		DefaultDMPolicy:     dm,
		DefaultFindPolicy:   find,
		Providers:           providers,
		ReturnURLs:          c.Accounts.ReturnURLs,
		Shared:              a.shared != nil,
		Now:                 a.now,
		Logger:              a.log,
		Registerer:          a.metrics,
	})
	return nil
}

// newUserPolicies are who may write to new users, and find them; 0 is the usual.
func newUserPolicies(c *config.Config) (dm im.DMPolicy, find im.FindPolicy) {
	dm = account.DMContacts
	if c.Accounts.DMPolicy == "everyone" {
		dm = account.DMEveryone
	}
	return dm, map[string]im.FindPolicy{"contacts": im.FindContacts, "nobody": im.FindNobody}[c.Accounts.FindPolicy]
}

// providers are those by which people log in. They are asked nothing at the start: one that
// is down stops its own logins only.
func (a *App) providers() ([]account.Provider, error) {
	path := a.cfg.Accounts.Providers
	if path == "" {
		return nil, nil
	}
	settings, err := config.Providers(path)
	if err != nil {
		return nil, err
	}
	all := make([]account.Provider, len(settings))
	for i := range settings {
		p := &settings[i]
		all[i] = account.Provider{Name: p.Name, Title: p.Title, Create: *p.Create, Link: account.ProviderLink(p.Link), At: oidc.New(oidc.Options{
			Issuer: p.Issuer, ClientID: p.ClientID, Secret: p.Secret, Scopes: p.Scopes, UsernameClaim: p.UsernameClaim, NameClaim: p.NameClaim,
			Redirect: strings.TrimSuffix(a.cfg.HTTP.PublicURL, "/") + api.CallbackPath, Now: a.now,
		})}
	}
	return all, nil
}

// makeCalls makes the API's methods, over what was made before.
func (a *App) makeCalls(m *members) *api.Calls {
	var slow func() time.Duration // alone, the doors tell it
	if a.node != nil {
		slow = a.slowCall
	}
	return api.NewCalls(api.Deps{
		Slow: slow, Log: a.log,
		Stickers: a.stickersForCalls(), Push: a.push, Accounts: a.accounts, Contacts: m.contacts, Groups: m.groups, Messages: a.logic.sends, Lists: a.messaging, Search: a.searcher(), Retention: a.messaging, Later: a.later, Media: a.media, Export: a.exports, Keeper: a.directory, Limiter: a.limiter, Now: a.now, Version: a.version, Trail: a.trail, Reports: a.directory, TakesBack: a.messaging,
		Health: a.Health, Announcements: a.announcements, Filter: a.filter,
	})
}

func (a *App) closeAccounts() error {
	if a.accounts == nil {
		return nil
	}
	defer a.trail.Close()
	return a.accounts.Close()
}
