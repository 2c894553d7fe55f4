package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/skein-im/skein/wire"
)

// AttackOptions are how much of each attack there is.
type AttackOptions struct {
	// Addresses are how many addresses of this machine (127.x.y.z, each in a network of its
	// own) attack; Each how long each attack takes.
	Addresses int
	Each      time.Duration
	// Strangers make groups and contact requests, Sockets are opened and left idle, Bad are
	// the requests whose log is counted.
	Strangers, Sockets, Bad int
	// Set are further settings of the server, key=value.
	Set []string
}

// AttackReport is what strangers reach, and what it costs who is none of them.
type AttackReport struct {
	Version string        `json:"version"`
	Server  string        `json:"server"`
	Seconds float64       `json:"seconds_each"`
	SignIn  AttackSignIn  `json:"sign_in"`
	Name    AttackName    `json:"guessed_name"`
	Rates   AttackRates   `json:"reconnect_evasion"`
	Spam    AttackSpam    `json:"spam"`
	Office  AttackOffice  `json:"office"`
	Sockets AttackSockets `json:"sockets"`
	Log     AttackLog     `json:"log"`
}

// Took is how long sign-ins of innocents took until they were in, in milliseconds, being
// refused and coming again as they were told included.
type Took struct {
	Latency
	// Failed are those that were not in within the time that they had.
	Failed int `json:"failed"`
}

// AttackSignIn is passwords guessed at by many addresses: who signs in beside that.
type AttackSignIn struct {
	Addresses       int     `json:"addresses"`
	Guesses         uint64  `json:"guesses"`
	GuessesChecked  uint64  `json:"guesses_checked"`
	Alone           Took    `json:"alone_ms"`
	Known           Took    `json:"known_address_ms"`
	Unknown         Took    `json:"unknown_address_ms"`
	KnownP50Ratio   float64 `json:"known_p50_ratio"`
	UnknownP50Ratio float64 `json:"unknown_p50_ratio"`
}

// AttackName is one name guessed at by many addresses: when its owner is in.
type AttackName struct {
	Guesses        uint64 `json:"guesses"`
	GuessesChecked uint64 `json:"guesses_checked"`
	KnownDevice    Took   `json:"known_device_ms"`
	NewDevice      Took   `json:"new_device_ms"`
}

// AttackRates is an account that sends as one new device after the other.
type AttackRates struct {
	Devices   int     `json:"devices"`
	Accepted  uint64  `json:"accepted"`
	OneDevice uint64  `json:"one_device_may"`
	Ratio     float64 `json:"ratio"`
}

// AttackSpam is what strangers reach with one victim.
type AttackSpam struct {
	Strangers   int    `json:"strangers"`
	Groups      uint64 `json:"groups_victim_is_in"`
	Invitations uint64 `json:"invitations_of_victim"`
	Requests    uint64 `json:"contact_requests_told"`
}

// AttackOffice is people at one address who sign in at the same moment.
type AttackOffice struct {
	People int     `json:"people"`
	In     int     `json:"in"`
	AllMs  float64 `json:"all_in_ms"`
}

// AttackSockets is connections that say nothing, or little: what a pair that chats feels.
type AttackSockets struct {
	Opened   int     `json:"opened"`
	Alone    Latency `json:"ack_alone_ms"`
	Beside   Latency `json:"ack_beside_ms"`
	P50Ratio float64 `json:"p50_ratio"`
	P99Ratio float64 `json:"p99_ratio"`
	// NewcomersIn are of how many who came meanwhile got an answer within 5 s.
	Newcomers   int `json:"newcomers"`
	NewcomersIn int `json:"newcomers_in"`
}

// AttackLog is what the log grew by bad requests.
type AttackLog struct {
	Requests    int     `json:"bad_requests"`
	Bytes       int64   `json:"bytes"`
	BytesPer10k float64 `json:"bytes_per_10000"`
}

// attack is one run.
type attack struct {
	s   *Server
	o   AttackOptions
	r   *AttackReport
	log *counting
	say func(format string, args ...any)
}

// counting counts what a server logs.
type counting struct{ n atomic.Int64 }

func (c *counting) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

// Attack starts a server with the settings as shipped and attacks it as strangers on this
// machine can, one attack after the other.
func Attack(ctx context.Context, binary string, o AttackOptions, progress io.Writer) (*AttackReport, error) {
	log := new(counting)
	s, err := StartServer(ctx, binary, log, append([]string{"log.level=info"}, o.Set...)...)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	a := &attack{s: s, o: o, r: &AttackReport{Seconds: o.Each.Seconds()}, log: log, say: func(format string, args ...any) {
		if progress != nil {
			fmt.Fprintf(progress, format+"\n", args...)
		}
	}}
	for _, one := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"an office signs in", a.office}, {"passwords are guessed at", a.signIn}, {"one name is guessed at", a.name}, {"devices come anew", a.rates},
		{"strangers make groups and requests", a.spam}, {"connections say nothing", a.sockets}, {"bad requests", a.bad},
	} {
		a.say("%s", one.what)
		if err := one.do(ctx); err != nil {
			return nil, fmt.Errorf("attack: %s: %w", one.what, err)
		}
	}
	return a.r, nil
}

// client is somebody at an address of this machine.
type client struct {
	s    *Server
	http *http.Client
}

// at is a client at 127.a.b.c.
func (a *attack) at(x, y, z int) *client {
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(x), byte(y), byte(z))}}
	return &client{a.s, &http.Client{Timeout: 35 * time.Second, Transport: &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 4, IdleConnTimeout: 5 * time.Second}}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// refusal is an error that the server answered.
type refusal struct {
	Code         string `json:"code"`
	RetryAfterMs int64  `json:"retryAfterMs"`
}

func (r *refusal) Error() string { return r.Code }

// post makes a call with JSON as it stands.
func (c *client) post(ctx context.Context, token, method, body string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.s.api+"/api/skein.v1."+method, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		r := new(refusal)
		if json.Unmarshal(raw, r) != nil {
			return fmt.Errorf("%s: %s", method, resp.Status)
		}
		return r
	case out == nil:
		return nil
	}
	return json.Unmarshal(raw, out)
}

const (
	rightPassword = "correct horse battery"
	patience      = 20 * time.Second
)

func (c *client) login(ctx context.Context, name, password, device string) error {
	body := fmt.Sprintf(`{"username":%q,"password":%q}`, name, password)
	if device != "" {
		body = fmt.Sprintf(`{"username":%q,"password":%q,"device":{"id":%q,"class":"DEVICE_CLASS_PHONE"}}`, name, password, device)
	}
	return c.post(ctx, "", "AccountService/Login", body, nil)
}

// signsIn signs somebody in who comes again when they are told, and records how long it
// took; false: not within patience.
func (c *client) signsIn(ctx context.Context, name, device string, h *histogram) bool {
	began := time.Now()
	for {
		err := c.login(ctx, name, rightPassword, device)
		if err == nil {
			h.record(time.Since(began))
			return true
		}
		var r *refusal
		wait := 500 * time.Millisecond
		if errors.As(err, &r) && r.RetryAfterMs > 0 {
			wait = time.Duration(r.RetryAfterMs) * time.Millisecond
		}
		if time.Since(began)+wait > patience || ctx.Err() != nil {
			return false
		}
		time.Sleep(wait)
	}
}

// makeUsers makes users with the right password.
func (a *attack) makeUsers(ctx context.Context, prefix string, n int) error {
	return each(ctx, n, 4, func(i int) error {
		return a.s.call(ctx, a.s.key, "skein.v1.AdminService/CreateUser", &wire.CreateUserRequest{Username: fmt.Sprintf("%s-%d", prefix, i), Password: rightPassword}, new(wire.CreateUserResponse))
	})
}

// office has people at one address sign in at the same moment, who never were there.
func (a *attack) office(ctx context.Context) error {
	const people = 200
	if err := a.makeUsers(ctx, "office", people); err != nil {
		return err
	}
	c := a.at(150, 1, 1)
	defer c.close()
	began := time.Now()
	var in atomic.Int64
	var last atomic.Int64
	var wg sync.WaitGroup
	var h histogram
	for i := range people {
		wg.Go(func() {
			if c.signsIn(ctx, fmt.Sprintf("office-%d", i), "", &h) {
				in.Add(1)
				last.Store(max(last.Load(), int64(time.Since(began))))
			}
		})
	}
	wg.Wait()
	a.r.Office = AttackOffice{People: people, In: int(in.Load()), AllMs: float64(last.Load()) / 1e6}
	return ctx.Err()
}

// guessing has all addresses guess, two at a time each, until stop.
func (a *attack) guessing(ctx context.Context, net int, name func() string) (stop func() (guesses, checked uint64)) {
	ctx, cancel := context.WithCancel(ctx)
	var guesses, checked atomic.Uint64
	var wg sync.WaitGroup
	for i := range a.o.Addresses {
		c := a.at(net, i%250, 1+i/250)
		for range 2 {
			wg.Go(func() {
				defer c.close()
				for ctx.Err() == nil {
					err := c.login(ctx, name(), "a wrong password", "")
					guesses.Add(1)
					var r *refusal
					switch {
					case errors.As(err, &r) && r.Code == "bad_credentials":
						checked.Add(1)
					case err != nil:
						time.Sleep(50 * time.Millisecond) // who guesses does not wait as told
					}
				}
			})
		}
	}
	return func() (uint64, uint64) {
		cancel()
		wg.Wait()
		return guesses.Load(), checked.Load()
	}
}

// innocents signs people in one after the other for a while; all of them at once.
func innocents(d time.Duration, one func(i int, h *histogram) bool) Took {
	var h histogram
	var failed atomic.Int64
	var wg sync.WaitGroup
	ends := time.Now().Add(d)
	for i := 0; time.Now().Before(ends); i++ {
		wg.Go(func() {
			if !one(i, &h) {
				failed.Add(1)
			}
		})
		time.Sleep(d / 20)
	}
	wg.Wait()
	return Took{h.latency(), int(failed.Load())}
}

// signIn has all addresses guess at passwords of many.
func (a *attack) signIn(ctx context.Context) error {
	if err := a.makeUsers(ctx, "people", 60); err != nil {
		return err
	}
	home := func(i int) *client { return a.at(160, i%60, 1) }
	in := func(name string, c *client, h *histogram) bool {
		defer c.close()
		return c.signsIn(ctx, name, "", h)
	}
	name := func(i int) string { return fmt.Sprintf("people-%d", i%20) }
	a.r.SignIn.Alone = innocents(a.o.Each/2, func(i int, h *histogram) bool { return in(name(i), home(i%20), h) })
	stop := a.guessing(ctx, 161, func() string { return fmt.Sprintf("people-%d", 20+rand.IntN(2000)) })
	time.Sleep(time.Second)
	var known, unknown Took
	var wg sync.WaitGroup
	wg.Go(func() {
		known = innocents(a.o.Each, func(i int, h *histogram) bool { return in(name(i), home(i%20), h) })
	})
	wg.Go(func() {
		unknown = innocents(a.o.Each, func(i int, h *histogram) bool { return in(name(i), a.at(162, i%250, 1), h) })
	})
	wg.Wait()
	x := &a.r.SignIn
	x.Addresses, x.Known, x.Unknown = a.o.Addresses, known, unknown
	x.Guesses, x.GuessesChecked = stop()
	if x.Alone.P50 > 0 {
		x.KnownP50Ratio, x.UnknownP50Ratio = x.Known.P50/x.Alone.P50, x.Unknown.P50/x.Alone.P50
	}
	return ctx.Err()
}

// name has all addresses guess at one name.
func (a *attack) name(ctx context.Context) error {
	if err := a.makeUsers(ctx, "victim", 1); err != nil {
		return err
	}
	const victim, device = "victim-0", "a-device-id-of-22-char"
	c := a.at(170, 1, 1)
	if err := c.login(ctx, victim, rightPassword, device); err != nil {
		return err
	}
	stop := a.guessing(ctx, 171, func() string { return victim })
	time.Sleep(a.o.Each / 2)
	var wg sync.WaitGroup
	x := &a.r.Name
	wg.Go(func() {
		x.KnownDevice = innocents(a.o.Each/2, func(i int, h *histogram) bool { return a.at(172, i%250, 1).signsIn(ctx, victim, device, h) })
	})
	wg.Go(func() {
		x.NewDevice = innocents(a.o.Each/2, func(i int, h *histogram) bool {
			return a.at(173, i%250, 1).signsIn(ctx, victim, fmt.Sprintf("another-device-of-%04d", i), h)
		})
	})
	wg.Wait()
	x.Guesses, x.GuessesChecked = stop()
	return ctx.Err()
}

// bad sends bad requests and looks what the log grew.
func (a *attack) bad(ctx context.Context) error {
	const kinds = 4
	before := a.log.n.Load()
	clients := make([]*client, 50)
	for i := range clients {
		clients[i] = a.at(190, i, 1)
	}
	err := each(ctx, a.o.Bad, 16, func(i int) error {
		c := clients[i%len(clients)]
		switch i % kinds {
		case 0:
			_ = c.login(ctx, fmt.Sprintf("people-%d", i%40), "a wrong password", "")
		case 1:
			_ = c.post(ctx, "ska_"+fmt.Sprint(i), "AccountService/ListSessions", "{}", nil)
		case 2:
			_ = c.post(ctx, "", "AccountService/Login", "{ this is no JSON", nil)
		case 3:
			_ = c.post(ctx, "", fmt.Sprintf("NoService/%d", i), "{}", nil)
		}
		return nil
	})
	for _, c := range clients {
		c.close()
	}
	time.Sleep(200 * time.Millisecond)
	grown := a.log.n.Load() - before
	a.r.Log = AttackLog{Requests: a.o.Bad, Bytes: grown, BytesPer10k: float64(grown) * 10_000 / float64(max(a.o.Bad, 1))}
	return err
}

// Table shows the report to people.
func (r *AttackReport) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	took := func(x Took) string {
		return fmt.Sprintf("p50 %.0f ms, p99 %.0f ms, %d of %d not in", x.P50, x.P99, x.Failed, int(x.Count)+x.Failed)
	}
	row("office", "%d of %d in, all after %.1f s", r.Office.In, r.Office.People, r.Office.AllMs/1000)
	row("sign-in alone", "%s", took(r.SignIn.Alone))
	row("  while guessed at, known address", "%s, p50 ×%.1f", took(r.SignIn.Known), r.SignIn.KnownP50Ratio)
	row("  while guessed at, unknown address", "%s, p50 ×%.1f", took(r.SignIn.Unknown), r.SignIn.UnknownP50Ratio)
	row("  guesses", "%d, checked %d", r.SignIn.Guesses, r.SignIn.GuessesChecked)
	row("a guessed name, known device", "%s", took(r.Name.KnownDevice))
	row("  new device", "%s", took(r.Name.NewDevice))
	row("  guesses", "%d, checked %d", r.Name.Guesses, r.Name.GuessesChecked)
	row("messages of one account as many devices", "%d by %d devices, ×%.1f of one device's", r.Rates.Accepted, r.Rates.Devices, r.Rates.Ratio)
	row("spam of strangers", "%d strangers: %d groups, %d invitations, %d requests", r.Spam.Strangers, r.Spam.Groups, r.Spam.Invitations, r.Spam.Requests)
	row("idle and slow connections", "%d opened; ack p50 ×%.1f, p99 ×%.1f (%.1f ms); %d of %d newcomers in", r.Sockets.Opened, r.Sockets.P50Ratio, r.Sockets.P99Ratio, r.Sockets.Beside.P99, r.Sockets.NewcomersIn, r.Sockets.Newcomers)
	row("log", "%.0f bytes per 10,000 bad requests", r.Log.BytesPer10k)
	return t.Flush()
}

// Attackable tells whether this system has the addresses that attack.
func Attackable() error {
	l, err := net.Listen("tcp", "127.77.77.77:0")
	if err != nil {
		return fmt.Errorf("this system has no addresses like 127.77.77.77, which Linux has: %w", err)
	}
	return l.Close()
}
