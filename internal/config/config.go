// Package config holds the server's settings: one struct, defaults in code,
// read from a TOML file, the environment and flags, in rising precedence.
//
// It owns names, defaults, parsing and checks. It does not know what the
// settings do. No goroutines, no locks, nothing mutable.
//
// Invariants: zero keys are needed to start; an unknown key or a value out of
// range is refused with its name, in a file also with its line; no error shows
// a secret; what Print shows is what is in effect, with secrets left out (the
// admin key lives in the data directory).
package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Config is every setting of the server.
type Config struct {
	Data      string   `toml:"data" doc:"Directory of everything that is kept. Made with mode 0700 if missing."`
	Roles     []string `toml:"roles" doc:"What this process does: gateway (connections), logic (decides and stores), api (HTTP), or all."`
	Store     string   `toml:"store" doc:"Where everything is kept: empty for the embedded store in data, or postgres://user:password@host/database for many nodes." secret:"url"`
	Cluster   []string `toml:"cluster" doc:"How this node reaches the others: host:port of some of them (node.listen there), or the URL of a NATS server of your own, nats://user:password@host:4222. Empty: alone, or the first one." secret:"url"`
	Listeners []string `toml:"listeners" doc:"Further protocol listeners, e.g. [\"tcp://127.0.0.1:7000\", \"tls://:7443\"]. Schemes: tcp, tls, ws, wss."`

	Node      Node      `toml:"node"`
	HTTP      HTTP      `toml:"http"`
	Admin     Admin     `toml:"admin"`
	TLS       TLS       `toml:"tls"`
	Accounts  Accounts  `toml:"accounts"`
	Messaging Messaging `toml:"messaging"`
	Groups    Groups    `toml:"groups"`
	Gateway   Gateway   `toml:"gateway"`
	Media     Media     `toml:"media"`
	Journal   Journal   `toml:"journal"`
	Postgres  Postgres  `toml:"postgres"`
	Audit     Audit     `toml:"audit"`
	Search    Search    `toml:"search"`
	Previews  Previews  `toml:"previews"`
	Push      Push      `toml:"push"`
	Tracing   Tracing   `toml:"tracing"`
	Log       Log       `toml:"log"`
}

// Node is this process among others.
type Node struct {
	Name   string `toml:"name" doc:"Name of this node, unique among them: [A-Za-z0-9_-]. Empty: made from the host's name."`
	Listen string `toml:"listen" doc:"Address where the other nodes reach this one, e.g. 10.0.0.1:7946. Empty: this process is alone (unless cluster names a NATS server)."`
	Secret string `toml:"secret" doc:"What all nodes share and nobody else knows, 32 characters at least (openssl rand -hex 32). Best given as SKEIN_NODE_SECRET_FILE." secret:"yes"`

	TLSCA   string `toml:"tls_ca" doc:"PEM file of the authorities that sign the nodes' certificates, instead of what is made of the secret. With an external NATS: its server's."`
	TLSCert string `toml:"tls_cert" doc:"PEM file of this node's certificate: it names node.skein.internal. Read again at every connection."`
	TLSKey  string `toml:"tls_key" doc:"PEM file of the certificate's key."`
}

// HTTP is the public port: API and WebSocket (and later the web app).
type HTTP struct {
	Listen         string   `toml:"listen" doc:"Address of the public HTTP and WebSocket port."`
	PublicURL      string   `toml:"public_url" doc:"How people reach it, for links, as https://chat.example.org (a path cannot be part of it); empty: made from listen."`
	Origins        []string `toml:"origins" doc:"Origins of other sites whose pages may connect and call (docs/embedding.md): https://shop.example, or a host or host:port by either scheme; *.shop.example for all below it, * for any. The server's own is always one."`
	TrustedProxies []string `toml:"trusted_proxies" doc:"Networks (CIDR) of reverse proxies whose X-Forwarded-For is believed."`
	MaxConnections int      `toml:"max_connections" doc:"Connections of plain HTTP at a time, WebSockets not counted, and never more than half of what the limit of files allows. When there are as many, an address with the most gives one up that has nothing under way. 0: that half alone."`
	MaxPerAddress  int      `toml:"max_per_address" doc:"Those from one address (an IPv6 /64 counts as one); 0: no limit. Loopback and trusted_proxies are never limited."`
}

// Admin is the private port.
type Admin struct {
	Listen string `toml:"listen" doc:"Address of /livez, /readyz, /metrics and /debug/pprof. Keep it private. Empty: off."`
}

// TLS is the certificate of wss://, tls:// and, when set, of the public port.
type TLS struct {
	Cert string `toml:"cert" doc:"PEM file of the certificate chain. Read again when it changes. Empty, and without acme_domains: the public port speaks plain HTTP."`
	Key  string `toml:"key" doc:"PEM file of the certificate's key."`

	ACMEDomains   []string `toml:"acme_domains" doc:"Names of this server, as [\"chat.example.org\"], for which certificates are fetched, and renewed, from an authority that speaks ACME; who sets it agrees to that one's terms. It must reach http.listen at port 443 of the names, or redirect_listen at port 80. Empty: none."`
	ACMEEmail     string   `toml:"acme_email" doc:"Where the authority reaches who runs this server. May be empty."`
	ACMEDirectory string   `toml:"acme_directory" doc:"The authority's directory. Empty: that of Let's Encrypt."`
	ACMECA        string   `toml:"acme_ca" doc:"PEM file of the authorities by which the directory's certificate is judged. Empty: those of the system."`
	ACMECache     string   `toml:"acme_cache" doc:"Directory of the account with the authority and of the certificates; a relative one is in data. Nodes that answer for the same names share one."`

	RedirectListen string   `toml:"redirect_listen" doc:"Address of a port for plain HTTP that sends browsers to the public port, and answers the authority, as :80. Empty: none."`
	HSTS           Duration `toml:"hsts" doc:"How long browsers are told to come by HTTPS only (Strict-Transport-Security), where the public port speaks it. 0: they are not told."`
}

// On tells whether the public port speaks TLS.
func (t *TLS) On() bool { return t.Cert != "" || len(t.ACMEDomains) > 0 }

func (t *TLS) check(bad func(key, format string, args ...any)) {
	if (t.Cert == "") != (t.Key == "") {
		bad("tls", "cert and key go together")
	}
	if t.Cert != "" && len(t.ACMEDomains) > 0 {
		bad("tls.acme_domains", "either a certificate in a file or one from an authority")
	}
	for _, name := range t.ACMEDomains {
		if !strings.Contains(name, ".") || strings.ContainsAny(name, ":/ *") || strings.Trim(name, "0123456789.") == "" {
			bad("tls.acme_domains", "%q is no name like chat.example.org", name)
		}
	}
	if u, err := url.Parse(t.ACMEDirectory); t.ACMEDirectory != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		bad("tls.acme_directory", "%q is no https: address", t.ACMEDirectory)
	}
	if t.RedirectListen != "" {
		checkListen(bad, "tls.redirect_listen", t.RedirectListen)
		if !t.On() {
			bad("tls.redirect_listen", "leads to HTTPS: set tls.cert and tls.key, or tls.acme_domains")
		}
	}
	if t.HSTS < 0 {
		bad("tls.hsts", "must not be negative")
	}
}

// Accounts are the rules for logging in.
type Accounts struct {
	Registration    string   `toml:"registration" doc:"open: anyone may register; invitation: who has a registration link of an administrator's; closed: administrators and minted tokens only."`
	AccessLifetime  Duration `toml:"access_lifetime" doc:"How long an access token is good."`
	RefreshLifetime Duration `toml:"refresh_lifetime" doc:"How long somebody who asked to stay logged in may be away."`
	DevicePolicy    string   `toml:"device_policy" doc:"Connections of a user at the same time: class (one per device class), all (no limit), one (one in total)."`
	DMPolicy        string   `toml:"dm_policy" doc:"Who may write to a new user: contacts or everyone. Each user may change it for themselves."`
	FindPolicy      string   `toml:"find_policy" doc:"Who finds a new user by name: anyone, contacts or nobody. Each user may change it for themselves."`
	Guests          int      `toml:"guests" doc:"About how many guests there may be at a time: people without an account, who write in the groups to which they have a link. 0: guests are not taken."`
	GuestLife       Duration `toml:"guest_life" doc:"After what time a guest is deleted whom nobody saw; at least access_lifetime."`
	RequestsLast    Duration `toml:"requests_last" doc:"How long a contact request may be answered."`
	RequestAgain    Duration `toml:"request_again" doc:"How long who took a contact request back may not ask the same user again. 0: they may at once."`
	RequestsPerDay  int      `toml:"requests_per_day" doc:"Contact requests that somebody may make in a day, on each node."`
	ReservedNames   []string `toml:"reserved_names" doc:"Usernames that nobody takes, besides those that are reserved always (admin, root, support, everyone and the like, docs/abuse.md); an administrator may give them all the same."`
	Exports         int      `toml:"exports" doc:"Exports (everything of a user's as one zip, SPEC 3.17) that this process makes at a time. 0: the server makes none."`
	Providers       string   `toml:"providers" doc:"TOML file of the OpenID Connect providers by which people log in (docs/login-providers.md); needs http.public_url. Empty: none."`
	ReturnURLs      []string `toml:"return_urls" doc:"Where browsers may be sent after a login by a provider, besides loopback: whole addresses, as clients name them."`
}

// How long messages are kept at least and at most, where that is set (im.CheckRetention).
const minRetention, maxRetention = time.Hour, 87600 * time.Hour

// How long a message may wait before anybody is woken, and a push at a push service (most
// keep none for longer).
const maxPushWait, maxPushTTL = 10 * time.Minute, 28 * 24 * time.Hour

// Messaging are the rules for messages.
type Messaging struct {
	RecallWindow   Duration `toml:"recall_window" doc:"How long an author may take a message back; 0: for ever."`
	EditWindow     Duration `toml:"edit_window" doc:"How long an author may edit a message; 0: not at all."`
	Retention      Duration `toml:"retention" doc:"How long messages are kept, from 1h to 87600h, but where an administrator sets it otherwise; 0: for ever."`
	StreamStore    Duration `toml:"stream_store" doc:"How often what a streamed message says is made durable while it grows."`
	StreamSilence  Duration `toml:"stream_silence" doc:"After what time without a part the server ends a streamed message."`
	StreamsPerUser int      `toml:"streams_per_user" doc:"Streamed messages that a user may have open at a time."`
	MaxPins        int      `toml:"max_pins" doc:"Messages of a conversation that may be pinned at a time."`
	MaxQueued      int      `toml:"max_queued" doc:"Messages that may wait for the store before further ones are rejected as overloaded."`
}

// Groups are the limits of groups.
type Groups struct {
	MaxMembers         int `toml:"max_members" doc:"Members a group may have."`
	MaxPerUser         int `toml:"max_per_user" doc:"Groups a user may be in; who is in as many can neither be added nor join."`
	MaxAddsPerHour     int `toml:"max_adds_per_hour" doc:"Users that somebody may add to groups, or invite, in an hour, on each node."`
	MaxStrangersPerDay int `toml:"max_strangers_per_day" doc:"How often a user is added to groups by who is none of their contacts, in a day, on each node; further ones ask them, by an invitation, and as many invitations of such people they get in a day."`
	MaxMadePerDay      int `toml:"max_made_per_day" doc:"Groups that somebody may make in a day, on each node; not by the API of an administrator."`
}

// Media are uploads.
type Media struct {
	Store          string   `toml:"store" doc:"Where uploads are kept: a directory (a relative one is in data; of many nodes one that they share), or s3://BUCKET/PREFIX?endpoint=URL&region=NAME, with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. off: no uploads are taken. Empty: media in data with the embedded store, otherwise off."`
	MaxBytes       Size     `toml:"max_bytes" doc:"The longest upload."`
	MaxPixels      int      `toml:"max_pixels" doc:"Pixels that a picture may have; more are refused before they are decoded."`
	PictureMemory  Size     `toml:"picture_memory" doc:"Memory that all pictures may take that are looked at at a time, some 12 bytes a pixel, 28 of a progressive JPEG; others wait."`
	UserBytes      Size     `toml:"user_bytes" doc:"Bytes of all uploads of a user that are kept; 0: no limit."`
	UploadsPerHour int      `toml:"uploads_per_hour" doc:"Uploads that a user may begin in an hour; 0: no limit."`
	UploadTime     Duration `toml:"upload_time" doc:"How long an upload may be incomplete before it is thrown away."`
	Scanner        string   `toml:"scanner" doc:"A scanner for viruses that speaks clamd's protocol (INSTREAM): tcp://HOST:PORT or unix:///PATH. It is shown every upload before anybody may name or fetch it; what it finds something in is thrown away. The same on all nodes that take uploads. Empty: none."`
	ScanTime       Duration `toml:"scan_time" doc:"How long the scanner may take for an upload."`
	ScanAtOnce     int      `toml:"scan_at_once" doc:"Uploads that are shown to the scanner at a time, by this node; others wait."`
	ScanSilence    string   `toml:"scan_silence" doc:"What becomes of an upload of which the scanner says nothing in time, or nothing that is a verdict: closed (nobody has it until there is one; one that is too long for the scanner is refused) or open (it is taken, and the log says so)."`
}

// Gateway are the limits of connections.
type Gateway struct {
	MaxConnections int      `toml:"max_connections" doc:"Connections of this process."`
	MaxPerUser     int      `toml:"max_per_user" doc:"Connections of one user."`
	MaxPerAddress  int      `toml:"max_per_address" doc:"Connections from one address (an IPv6 /64 counts as one); 0: no limit. Loopback is never limited."`
	SendRate       float64  `toml:"send_rate" doc:"Messages per second one device may send for long, over connections and HTTP, at each node."`
	SendBurst      int      `toml:"send_burst" doc:"Messages it may send at once."`
	AccountDevices int      `toml:"account_devices" doc:"How many devices' worth of each rate all devices of an account have together, at each node; 0: no limit."`
	AddressDevices int      `toml:"address_devices" doc:"The same for all accounts at one address (an IPv6 /64); 0: no limit. Loopback is never limited."`
	NetworkDevices int      `toml:"network_devices" doc:"The same for all addresses of a network (an IPv4 /24, an IPv6 /56); 0: no limit."`
	BytesPerDay    Size     `toml:"bytes_per_day" doc:"Bytes of messages that an account may send in a day, at each node, all at once if it likes; 0: no limit."`
	Deflate        bool     `toml:"deflate" doc:"Compress WebSocket messages for clients that ask for it (permessage-deflate), as browsers do."`
	DrainTime      Duration `toml:"drain_time" doc:"On SIGTERM clients are sent away spread over this time."`
}

// Journal are the settings of the embedded store.
type Journal struct {
	MinFree    Size `toml:"min_free" doc:"Free disk space below which messages are rejected instead of stored."`
	CacheBytes Size `toml:"cache" doc:"Memory for cached blocks."`
}

// Postgres are the settings of a PostgreSQL store.
type Postgres struct {
	Connections int `toml:"connections" doc:"Connections to the database this node opens at most."`
}

// Audit is the record of what was stored.
type Audit struct {
	File    string   `toml:"file" doc:"File that gets a line of JSON for every stored entry: where, who, when and what kind, not what it says. A relative name is in data. Each node has a file of its own, and one node at a time writes. Empty: off."`
	Acts    Duration `toml:"acts" doc:"How long the audit log keeps what administrators did, from 24h to 87600h (docs/administration.md)."`
	SignIns Duration `toml:"sign_ins" doc:"How long it keeps who signed in, or tried to, from 1h to 87600h."`
}

// Previews are what the links of messages lead to.
type Previews struct {
	Fetch string   `toml:"fetch" doc:"on: the server itself fetches the first link of a text message, and tells its readers title, description and a small picture; whoever runs the linked site sees the server's address. off: it fetches nothing."`
	Allow []string `toml:"allow" doc:"Addresses that may be fetched although they are private, as 10.1.0.0/16; all ports of them. Others of this machine, of private networks and of special use never are, whatever their name says. Whatever may be fetched here, every user may have the server ask for."`
	Deny  []string `toml:"deny" doc:"Addresses that are not fetched although they are public: those of one's own that trust each other."`
	Agent string   `toml:"agent" doc:"The User-Agent that the server says it is."`
}

// Push is the waking of devices that are not connected.
type Push struct {
	Send    string   `toml:"send" doc:"on: browsers that subscribed are woken by the push services of their makers, which learn when and of this server, not who wrote what; the server connects to them. off: nobody is woken."`
	Wait    Duration `toml:"wait" doc:"How old a message is before anybody is woken for it who has not received it on any device."`
	TTL     Duration `toml:"ttl" doc:"How long a push service keeps a push for a device that it cannot reach, and how long one that fails is tried again at most."`
	Contact string   `toml:"contact" doc:"Where push services reach who runs this server: mailto:you@example.com, or an https address. Empty: http.public_url, if that is https. Apple's wants one."`
	Allow   []string `toml:"allow" doc:"Addresses at which push services may be although they are private, as 10.1.0.0/16; all ports of them. Others of this machine, of private networks and of special use are never connected to. Whatever is allowed here, every user may have the server send to."`
	Deny    []string `toml:"deny" doc:"Addresses that are not connected to although they are public."`
}

// Search is the search of messages.
type Search struct {
	Index string `toml:"index" doc:"on: keep an index of what messages say, so that users can search; off: none is kept, and search is answered with unimplemented. It takes some 150 bytes of disk for a message of 16 words, and can be made again at any time: removed while the server stands still, it is made anew. Not in backups."`
}

// Tracing tells a collector what became of single messages.
type Tracing struct {
	Endpoint string  `toml:"endpoint" doc:"Base URL of an OpenTelemetry collector (OTLP over HTTP), as http://127.0.0.1:4318: it is told which parts of which node had a message, when and for how long, by the message's id, not what it says, who wrote it or where. Empty: nothing is traced."`
	Sample   float64 `toml:"sample" doc:"Which part of all messages is traced, from 0 to 1; the same on all nodes."`
}

func (t *Tracing) check(bad func(key, format string, args ...any)) {
	if u, err := url.Parse(t.Endpoint); t.Endpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		bad("tracing.endpoint", "%q is no address like http://127.0.0.1:4318", t.Endpoint)
	}
	if !(t.Sample >= 0 && t.Sample <= 1) {
		bad("tracing.sample", "must be from 0 to 1")
	}
}

// Log is the log on stderr.
type Log struct {
	Level  string   `toml:"level" doc:"debug, info, warn or error."`
	Format string   `toml:"format" doc:"text, json, or auto: text on a terminal, otherwise json."`
	Slow   Duration `toml:"slow" doc:"How long a call takes at least that has a line in the log. 0: none has."`
}

// Default returns the settings in effect when nothing is set.
func Default() Config {
	return Config{
		Data:  "./data",
		Roles: []string{"all"},
		HTTP:  HTTP{Listen: "127.0.0.1:8080", MaxConnections: 20_000, MaxPerAddress: 2000},
		Admin: Admin{Listen: "127.0.0.1:8081"},
		TLS:   TLS{ACMECache: "acme", HSTS: Duration(180 * 24 * time.Hour)},
		Accounts: Accounts{
			Registration: "open", AccessLifetime: Duration(24 * time.Hour), RefreshLifetime: Duration(60 * 24 * time.Hour),
			DevicePolicy: "class", DMPolicy: "contacts", FindPolicy: "anyone", GuestLife: Duration(7 * 24 * time.Hour), RequestsLast: Duration(30 * 24 * time.Hour), RequestAgain: Duration(time.Hour), RequestsPerDay: 100, Exports: 2,
		},
		Messaging: Messaging{RecallWindow: Duration(24 * time.Hour), EditWindow: Duration(48 * time.Hour), MaxPins: 100, StreamStore: Duration(2 * time.Second), StreamSilence: Duration(time.Minute), StreamsPerUser: 8, MaxQueued: 16384},
		Groups:    Groups{MaxMembers: 10000, MaxPerUser: 1000, MaxAddsPerHour: 10000, MaxStrangersPerDay: 20, MaxMadePerDay: 200},
		Media: Media{
			MaxBytes: 100 << 20, MaxPixels: 40_000_000, PictureMemory: 512 << 20, UserBytes: 10 << 30, UploadsPerHour: 1000, UploadTime: Duration(24 * time.Hour),
			ScanTime: Duration(time.Minute), ScanAtOnce: 4, ScanSilence: "closed",
		},
		Gateway: Gateway{
			MaxConnections: 100_000, MaxPerUser: 50, MaxPerAddress: 2000, SendRate: 200, SendBurst: 1000, AccountDevices: 4, AddressDevices: 50, NetworkDevices: 100, BytesPerDay: 1 << 30, Deflate: true, DrainTime: Duration(5 * time.Second),
		},
		Journal:  Journal{MinFree: 64 << 20, CacheBytes: 128 << 20},
		Postgres: Postgres{Connections: 32},
		Search:   Search{Index: "on"},
		Previews: Previews{Fetch: "off", Agent: "Skein-LinkPreview/1.0"},
		Push:     Push{Send: "on", Wait: Duration(5 * time.Second), TTL: Duration(24 * time.Hour)},
		Audit:    Audit{Acts: Duration(2 * 365 * 24 * time.Hour), SignIns: Duration(90 * 24 * time.Hour)},
		Tracing:  Tracing{Sample: 0.01},
		Log:      Log{Level: "info", Format: "auto", Slow: Duration(time.Second)},
	}
}

// listed is where an operator finds all settings.
const listed = "`skein config doc`"

// Load reads the file (if path is not empty) and the environment over the
// defaults. Flags are set by the caller afterwards, then Check. The error names
// everything that cannot be taken; what can is in the Config also then, so that
// the log that tells the error has its form.
func Load(path string, environ []string) (Config, error) {
	c := Default()
	var wrong error
	if path != "" {
		wrong = c.fromFile(path)
	}
	return c, errors.Join(wrong, c.fromEnv(environ))
}

func (c *Config) fromFile(path string) error {
	f, err := readFile(path, "config file "+path, listed)
	if err != nil {
		return err
	}
	return f.fill(settings(c))
}

// Check refuses values that cannot work; the error names the key.
func (c *Config) Check() error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	oneOf := func(key, got string, allowed ...string) {
		for _, a := range allowed {
			if got == a {
				return
			}
		}
		bad(key, "%q is none of %s", got, strings.Join(allowed, ", "))
	}
	if c.Data == "" {
		bad("data", "must name a directory")
	}
	c.checkNodes(bad)
	c.checkAddresses(bad)
	c.HTTP.checkOrigins(bad)
	checkNetworks(bad, "http.trusted_proxies", c.HTTP.TrustedProxies)
	c.TLS.check(bad)
	c.Tracing.check(bad)
	oneOf("accounts.registration", c.Accounts.Registration, "open", "invitation", "closed")
	oneOf("accounts.device_policy", c.Accounts.DevicePolicy, "class", "all", "one")
	oneOf("accounts.dm_policy", c.Accounts.DMPolicy, "contacts", "everyone")
	oneOf("accounts.find_policy", c.Accounts.FindPolicy, "anyone", "contacts", "nobody")
	oneOf("media.scan_silence", c.Media.ScanSilence, "closed", "open")
	oneOf("search.index", c.Search.Index, "on", "off")
	oneOf("previews.fetch", c.Previews.Fetch, "on", "off")
	c.Previews.check(bad)
	oneOf("push.send", c.Push.Send, "on", "off")
	c.Push.check(bad)
	oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf("log.format", c.Log.Format, "auto", "text", "json")
	c.checkProviders(bad)
	positive := map[string]int64{
		"accounts.access_lifetime": int64(c.Accounts.AccessLifetime), "accounts.refresh_lifetime": int64(c.Accounts.RefreshLifetime), "accounts.requests_last": int64(c.Accounts.RequestsLast), "accounts.guest_life": int64(c.Accounts.GuestLife),
		"messaging.stream_store": int64(c.Messaging.StreamStore), "messaging.stream_silence": int64(c.Messaging.StreamSilence), "messaging.streams_per_user": int64(c.Messaging.StreamsPerUser),
		"messaging.max_queued": int64(c.Messaging.MaxQueued), "groups.max_members": int64(c.Groups.MaxMembers),
		"groups.max_per_user": int64(c.Groups.MaxPerUser), "groups.max_adds_per_hour": int64(c.Groups.MaxAddsPerHour), "groups.max_strangers_per_day": int64(c.Groups.MaxStrangersPerDay), "groups.max_made_per_day": int64(c.Groups.MaxMadePerDay), "accounts.requests_per_day": int64(c.Accounts.RequestsPerDay),
		"gateway.max_connections": int64(c.Gateway.MaxConnections), "gateway.max_per_user": int64(c.Gateway.MaxPerUser),
		"messaging.max_pins": int64(c.Messaging.MaxPins), "gateway.send_burst": int64(c.Gateway.SendBurst), "journal.cache": int64(c.Journal.CacheBytes), "postgres.connections": int64(c.Postgres.Connections),
		"media.max_bytes": int64(c.Media.MaxBytes), "media.max_pixels": int64(c.Media.MaxPixels), "media.picture_memory": int64(c.Media.PictureMemory), "media.upload_time": int64(c.Media.UploadTime),
		"media.scan_time": int64(c.Media.ScanTime), "media.scan_at_once": int64(c.Media.ScanAtOnce),
	}
	for _, s := range settings(c) { // in the file's order
		if n, ok := positive[s.Key]; ok && n <= 0 {
			bad(s.Key, "must be greater than 0")
		}
	}
	if c.Gateway.SendRate <= 0 {
		bad("gateway.send_rate", "must be greater than 0")
	}
	c.checkShares(bad)
	if c.Gateway.MaxPerAddress < 0 || c.Messaging.RecallWindow < 0 || c.Messaging.EditWindow < 0 || c.Gateway.DrainTime < 0 || c.Media.UserBytes < 0 || c.Media.UploadsPerHour < 0 || c.Accounts.Exports < 0 || c.Log.Slow < 0 {
		bad("gateway.max_per_address, messaging.recall_window, messaging.edit_window, gateway.drain_time, media.user_bytes, media.uploads_per_hour, accounts.exports, log.slow", "must not be negative")
	}
	if c.Accounts.Guests < 0 {
		bad("accounts.guests", "must not be negative")
	}
	c.checkKept(bad)
	return errors.Join(errs...)
}

// checkShares looks at what many have together.
func (c *Config) checkShares(bad func(key, format string, args ...any)) {
	for key, n := range map[string]int64{
		"http.max_connections": int64(c.HTTP.MaxConnections), "http.max_per_address": int64(c.HTTP.MaxPerAddress), "gateway.account_devices": int64(c.Gateway.AccountDevices),
		"gateway.address_devices": int64(c.Gateway.AddressDevices), "gateway.network_devices": int64(c.Gateway.NetworkDevices), "accounts.request_again": int64(c.Accounts.RequestAgain), "gateway.bytes_per_day": int64(c.Gateway.BytesPerDay),
	} {
		if n < 0 {
			bad(key, "must not be negative")
		}
	}
}

// checkKept looks at how long things are kept.
func (c *Config) checkKept(bad func(key, format string, args ...any)) {
	if keep := time.Duration(c.Messaging.Retention); keep != 0 && (keep < minRetention || keep > maxRetention) {
		bad("messaging.retention", "must be 0, or from %s to %s", minRetention, maxRetention)
	}
	if keep := time.Duration(c.Audit.Acts); keep < 24*time.Hour || keep > maxRetention {
		bad("audit.acts", "must be from %s to %s", 24*time.Hour, maxRetention)
	}
	if keep := time.Duration(c.Audit.SignIns); keep < minRetention || keep > maxRetention {
		bad("audit.sign_ins", "must be from %s to %s", minRetention, maxRetention)
	}
}

// ofTheCommands are variables that are no settings: which file, which server a command
// speaks to, and the token with which an import fetches files.
var ofTheCommands = []string{"SKEIN_CONFIG", "SKEIN_SERVER", "SKEIN_IMPORT_TOKEN"}

// fromEnv applies SKEIN_SECTION_KEY variables; SKEIN_…_FILE reads the value
// from a file. An unknown SKEIN_ variable is refused.
func (c *Config) fromEnv(environ []string) error {
	all := settings(c)
	known := map[string]setting{}
	for _, s := range all {
		known[variable(s.Key)] = s
	}
	var errs []error
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "SKEIN_") || slices.Contains(ofTheCommands, name) {
			continue
		}
		s, ok := known[name]
		if !ok {
			if s, ok = known[strings.TrimSuffix(name, "_FILE")]; ok {
				raw, err := os.ReadFile(value)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", name, err))
					continue
				}
				value = strings.TrimSpace(string(raw))
			}
		}
		if !ok {
			errs = append(errs, fmt.Errorf("environment: unknown setting %s%s (see %s)", name, meantVariable(name, all), listed))
			continue
		}
		if err := s.set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// variable is the name of a setting in the environment.
func variable(key string) string { return "SKEIN_" + strings.ToUpper(flatten(key)) }

func meantVariable(name string, all []setting) string {
	bare, isFile := strings.CutSuffix(strings.TrimPrefix(name, "SKEIN_"), "_FILE")
	list := nearest(bare, keys(all))
	for i, key := range list {
		if list[i] = variable(key); isFile {
			list[i] += "_FILE"
		}
	}
	return quoted(list, "%s")
}

// Set changes one setting by its key, as a flag does.
func (c *Config) Set(key, value string) error {
	for _, s := range settings(c) {
		if s.Key == key {
			if err := s.set(value); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			return nil
		}
	}
	return fmt.Errorf("unknown setting %q%s (see %s)", key, meant(key, keys(settings(c)), "%q"), listed)
}

// checkNetworks refuses what is no network.
func checkNetworks(bad func(key, format string, args ...any), key string, list []string) {
	for _, s := range list {
		if _, err := netip.ParsePrefix(s); err != nil {
			bad(key, "has %q, which is no network; write one as 10.1.0.0/16", s)
		}
	}
}

func (p *Push) check(bad func(key, format string, args ...any)) {
	checkNetworks(bad, "push.allow", p.Allow)
	checkNetworks(bad, "push.deny", p.Deny)
	if wait := time.Duration(p.Wait); wait < 0 || wait > maxPushWait {
		bad("push.wait", "must be from 0 to %s", maxPushWait)
	}
	if ttl := time.Duration(p.TTL); ttl < time.Minute || ttl > maxPushTTL {
		bad("push.ttl", "must be from 1m to %s", maxPushTTL)
	}
	if u, err := url.Parse(p.Contact); p.Contact != "" && (err != nil || u.Scheme != "mailto" && u.Scheme != "https") {
		bad("push.contact", "%q is neither a mailto: nor an https: address", p.Contact)
	}
}

func (p *Previews) check(bad func(key, format string, args ...any)) {
	checkNetworks(bad, "previews.allow", p.Allow)
	checkNetworks(bad, "previews.deny", p.Deny)
	if p.Agent == "" || strings.ContainsFunc(p.Agent, func(r rune) bool { return r < ' ' || r > '~' }) {
		bad("previews.agent", "must be printable ASCII")
	}
}
