package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Provider is one of OpenID Connect by which people log in: a table of the file that
// accounts.providers names (docs/login-providers.md).
type Provider struct {
	// Name is the table's.
	Name string `toml:"-"`
	// Title is what people are shown; default the name.
	Title string `toml:"title"`
	// Issuer is the provider's own name: an https address (http only on loopback).
	Issuer   string `toml:"issuer"`
	ClientID string `toml:"client_id"`
	// SecretFile holds the client's secret; a relative name is beside this file. Without
	// one the provider knows this server by PKCE alone.
	SecretFile string   `toml:"client_secret_file"`
	Scopes     []string `toml:"scopes"`
	// UsernameClaim and NameClaim are what becomes username and display name.
	UsernameClaim string `toml:"username_claim"`
	NameClaim     string `toml:"name_claim"`
	// Create: whom nobody here is known as gets an account; default yes.
	Create *bool `toml:"create"`
	// Link is which accounts it may take that there are: no (default), username, email.
	Link string `toml:"link"`
	// Secret is what SecretFile holds.
	Secret string `toml:"-"`
}

var providerName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// maxProviders is how many there may be.
const maxProviders = 20

// Providers reads the file that accounts.providers names, in the order of the names.
func Providers(path string) ([]Provider, error) {
	f, err := readFile(path, "accounts.providers: "+path, "docs/login-providers.md")
	if err != nil {
		return nil, err
	}
	tables := map[string]*Provider{}
	var known []setting
	for name, v := range f.root {
		if isTable(v) {
			tables[name] = new(Provider)
			known = append(known, fields(toml.Key{name}.String()+".", reflect.ValueOf(tables[name]).Elem())...)
		}
	}
	if err := f.fill(known); err != nil {
		return nil, err
	}
	if len(tables) > maxProviders {
		return nil, fmt.Errorf("accounts.providers: %s: at most %d", path, maxProviders)
	}
	var all []Provider
	for name, p := range tables {
		p.Name = name
		if err := p.complete(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("accounts.providers: %s: %s: %w", path, name, err)
		}
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Provider) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (p *Provider) complete(dir string) error {
	if !providerName.MatchString(p.Name) {
		return errors.New("a name is 1 to 32 of a-z, 0-9, _ and -")
	}
	u, err := url.Parse(p.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return fmt.Errorf("issuer: %q is not an https address", p.Issuer)
	}
	if p.ClientID == "" {
		return errors.New("client_id is missing")
	}
	if p.Title == "" {
		p.Title = p.Name
	}
	if p.Create == nil {
		yes := true
		p.Create = &yes
	}
	switch p.Link {
	case "":
		p.Link = "no"
	case "no", "username", "email":
	default:
		return fmt.Errorf("link: %q is none of no, username, email", p.Link)
	}
	if p.Scopes == nil {
		p.Scopes = []string{"profile", "email"}
	}
	if p.SecretFile == "" {
		return nil
	}
	if !filepath.IsAbs(p.SecretFile) {
		p.SecretFile = filepath.Join(dir, p.SecretFile)
	}
	raw, err := os.ReadFile(p.SecretFile)
	if err != nil {
		return fmt.Errorf("client_secret_file: %w", err)
	}
	if p.Secret = strings.TrimSpace(string(raw)); p.Secret == "" {
		return errors.New("client_secret_file: is empty")
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// checkProviders checks what logins by providers need.
func (c *Config) checkProviders(bad func(key, format string, args ...any)) {
	for _, u := range c.Accounts.ReturnURLs {
		if p, err := url.Parse(u); err != nil || p.Scheme == "" || p.Fragment != "" || p.Host == "" && p.Path == "" || len(u) > 512 {
			bad("accounts.return_urls", "%q is not an address", u)
		}
	}
	if c.Accounts.Providers == "" {
		return
	}
	if c.HTTP.PublicURL == "" {
		bad("http.public_url", "must be set when accounts.providers is: browsers come back there")
	}
	if _, err := Providers(c.Accounts.Providers); err != nil {
		bad("accounts.providers", "%s", strings.ReplaceAll(err.Error(), "accounts.providers: ", ""))
	}
}
