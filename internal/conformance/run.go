package conformance

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// variant is one of the four ways to talk to a server.
type variant struct{ transport, codec string }

func (v variant) String() string { return v.transport + "-" + v.codec }

func (v variant) codecName() string { return "skein.v1." + v.codec }

// variants are all ways to connect.
func variants() []variant {
	return []variant{{"ws", "json"}, {"ws", "pb"}, {"tcp", "json"}, {"tcp", "pb"}}
}

// run is a transcript on its way.
type run struct {
	ctx      context.Context
	cancel   context.CancelFunc
	mu       sync.Mutex
	welcome  *wire.Welcome // the last one; under mu where several connect at once
	server   *Server
	script   script
	variant  variant
	patience time.Duration
	people   map[string]person
	vars     *vars
	conns    map[string]*conn
	order    []string
	// settled is how many entries the preparations left in each `me:` feed.
	settled map[string]uint64
}

// prepare makes the users of a script and begins a run.
func prepare(ctx context.Context, srv *Server, s script, v variant, patience time.Duration) (*run, error) {
	r := &run{
		cancel: func() {}, ctx: ctx, server: srv, script: s, variant: v, patience: patience, people: map[string]person{},
		vars: &vars{of: map[string]string{"new": "n" + random(10)}, own: srv.Own}, conns: map[string]*conn{}, settled: map[string]uint64{},
	}
	names, _ := s.users()
	if srv.Key != "" {
		suffix := "-" + random(10)
		for _, n := range names {
			r.people[n] = person{id: n + suffix, name: n + suffix}
		}
		return r, nil
	}
	all, err := srv.register(ctx, len(names))
	for i, p := range all {
		r.people[names[i]] = p
	}
	return r, err
}

var (
	toServer   = regexp.MustCompile(`^([A-Z]\w*)> (.*)$`)
	fromServer = regexp.MustCompile(`^([A-Z]\w*)<([~<]?) (.*)$`)
	action     = regexp.MustCompile(`^([A-Z]\w*) (connect|login|hangup)\b ?(.*)$`)
)

// step runs one line.
func (r *run) step(text string) error {
	if m := toServer.FindStringSubmatch(text); m != nil {
		return r.on(m[1], func(c *conn) error { return r.say(c, m[2]) })
	}
	if m := fromServer.FindStringSubmatch(text); m != nil {
		return r.on(m[1], func(c *conn) error { return r.hear(c, m[2], m[3]) })
	}
	if m := action.FindStringSubmatch(text); m != nil {
		switch m[2] {
		case "connect":
			return r.connect(m[1], m[3], false)
		case "login":
			return r.login(m[1], strings.Fields(m[3]))
		}
		return r.on(m[1], func(c *conn) error {
			c.link.close()
			c.over = true
			return nil
		})
	}
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "user":
		return r.users(strings.Fields(rest))
	case "session":
		return r.session(strings.Fields(rest))
	case "contacts":
		return r.contacts(strings.Fields(rest))
	case "everyone":
		return r.server.must(r.ctx, "UserService/UpdateProfile", r.token(rest), map[string]string{"dmPolicy": "DM_POLICY_EVERYONE"}, &struct{}{})
	case "http":
		return r.http(rest)
	case "let":
		return r.let(rest)
	case "drain":
		return r.server.Stop()
	case "drained":
		return r.server.Ended()
	}
	return fmt.Errorf("what is %q?", word)
}

func (r *run) token(who string) string { return r.vars.of[who+".token"] }

func (r *run) on(name string, f func(*conn) error) error {
	c := r.conns[name]
	if c == nil {
		return fmt.Errorf("there is no connection %s", name)
	}
	return f(c)
}

func (r *run) connect(name, codec string, deflate bool) error {
	if codec == "" {
		codec = r.variant.codecName()
	}
	if c := r.conns[name]; c != nil {
		c.end()
	}
	c, err := r.dial(codec, maps.Clone(r.settled), deflate)
	if err != nil {
		return err
	}
	r.conns[name] = c
	if !slices.Contains(r.order, name) {
		r.order = append(r.order, name)
	}
	return nil
}

// login opens a connection and says Hello: user or session, class, device id,
// codec= if it is not the variant's, and deflate to offer that.
func (r *run) login(name string, args []string) error {
	codec, deflate := "", false
	if n := len(args) - 1; args[n] == "deflate" {
		deflate, args = true, args[:n]
	}
	if n := len(args) - 1; strings.HasPrefix(args[n], "codec=") {
		codec, args = "skein.v1."+strings.TrimPrefix(args[n], "codec="), args[:n]
	}
	for len(args) < 2 {
		args = append(args, "phone")
	}
	if len(args) < 3 {
		args = append(args, args[0]+"-"+args[1])
	}
	if err := r.connect(name, codec, deflate); err != nil {
		return err
	}
	hello := fmt.Sprintf(`{"hello":{"versionMin":1,"versionMax":1,"token":"$%s.token","device":{"id":"%s","class":"DEVICE_CLASS_%s","name":"%s's %s"},"client":"transcript/1"}}`,
		args[0], args[2], strings.ToUpper(args[1]), args[0], args[1])
	c := r.conns[name]
	if err := r.say(c, hello); err != nil {
		return err
	}
	return r.hear(c, "", `{"welcome":{"version":1,...}}`)
}

func (r *run) say(c *conn, what string) error {
	what, err := r.vars.expand(what)
	if err != nil {
		return err
	}
	word, rest, _ := strings.Cut(what, " ")
	if word != "repeat" {
		if err := c.pace.wait(r.ctx); err != nil {
			return err
		}
	}
	switch word {
	case "raw", "bytes", "other":
		b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
		if err != nil {
			return err
		}
		return map[string]func([]byte) error{"raw": c.link.write, "bytes": c.link.bytes, "other": c.link.other}[word](b)
	case "text":
		return c.link.write([]byte(rest))
	case "long":
		n, err := strconv.Atoi(rest)
		c.link.announce(n)
		return err
	case "repeat":
		times, frame, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(times)
		if err != nil {
			return err
		}
		b, err := c.encode(frame)
		if err != nil {
			return err
		}
		for range n {
			if err := c.link.write(b); err != nil {
				return nil // closed amidst: what was heard tells why
			}
		}
		return nil
	}
	b, err := c.encode(what)
	if err != nil {
		return err
	}
	return c.link.write(b)
}

func (r *run) hear(c *conn, how, what string) error {
	word, rest, _ := strings.Cut(what, " ")
	switch word {
	case "nothing":
		return c.nothing()
	case "refused":
		if c.over = true; strconv.Itoa(c.refused) != rest {
			return &mismatch{got: fmt.Sprintf("the status %d", c.refused)}
		}
		return nil
	case "close":
		number := 0
		if rest != "" {
			var err error
			if number, err = strconv.Atoi(rest); err != nil {
				return err
			}
		}
		return c.closed(number, r.variant.transport)
	}
	pattern, err := parsePattern(what)
	if err != nil {
		return err
	}
	if how != "" {
		return c.find(r.vars, pattern, how == "<")
	}
	if _, ok := pattern.(map[string]any)["welcome"]; !ok {
		return c.expect(r.vars, pattern)
	}
	h := c.receive()
	if w := h.frame.GetWelcome(); w != nil {
		c.ready = true
		c.pace.set(w.GetLimits().GetSignals())
		r.welcome = w
		r.vars.limits(w)
	}
	c.kept = append([]heard{h}, c.kept...)
	return c.expect(r.vars, pattern)
}

// users tells the users' ids and tokens; those of a key are minted now, because
// their time begins.
func (r *run) users(names []string) error {
	_, lifetimes := r.script.users()
	for _, n := range names {
		if strings.Contains(n, "=") {
			continue
		}
		p := r.people[n]
		if r.server.Key != "" {
			lifetime := time.Hour
			var err error
			if t := lifetimes[n]; t != "" {
				if lifetime, err = time.ParseDuration(t); err != nil {
					return err
				}
			}
			if p.token, err = r.server.mint(r.ctx, p.id, lifetime); err != nil {
				return err
			}
		}
		r.vars.of[n], r.vars.of[n+".name"], r.vars.of[n+".token"] = p.id, p.name, p.token
	}
	return nil
}

func (r *run) session(args []string) (err error) {
	p := r.people[args[0]]
	var token string
	if r.server.Key != "" {
		token, err = r.server.mint(r.ctx, p.id, time.Hour)
	} else {
		token, err = r.server.login(r.ctx, p.username)
	}
	r.vars.of[args[1]], r.vars.of[args[1]+".token"] = p.id, token
	return err
}

func (r *run) contacts(names []string) error {
	for i, a := range names {
		for _, b := range names[i+1:] {
			for _, x := range [][2]string{{a, b}, {b, a}} { // asking each other is accepting
				err := r.server.must(r.ctx, "ContactService/RequestContact", r.token(x[0]), map[string]string{"user": r.vars.of[x[1]]}, &struct{}{})
				if err != nil {
					return err
				}
			}
			for _, x := range []string{a, b} {
				if err := r.settle(x); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// settle waits until a user's feed has the two entries of a new contact, so
// that their positions do not depend on when the outbox came to it.
func (r *run) settle(name string) error {
	feed := "me:" + r.vars.of[name]
	r.settled[feed] += 2
	for deadline := time.Now().Add(r.patience); ; {
		var answer struct{ Head string }
		err := r.server.must(r.ctx, "MessageService/ListEntries", r.token(name), map[string]any{"conversation": feed, "backward": true, "limit": 1}, &answer)
		if err != nil {
			return err
		}
		if n, _ := strconv.ParseUint(answer.Head, 10, 64); n >= r.settled[feed] { // absent is 0
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the feed of %s ends at %q: a contact of two who asked each other is told by two entries (SPEC §4.6)", name, answer.Head)
		}
	}
}

// http is `who Service/Method {request} -> {pattern}`.
func (r *run) http(text string) error {
	call, want, _ := strings.Cut(text, " -> ")
	who, call, _ := strings.Cut(call, " ")
	method, body, _ := strings.Cut(call, " ")
	body, err := r.vars.expand(body)
	if err != nil {
		return err
	}
	token := r.token(who)
	if who == "admin" {
		token = r.server.Key
	}
	status, answer, err := r.server.post(r.ctx, method, token, body)
	if err == nil {
		err = fitting(status, answer)
	}
	if err != nil || want == "" {
		return err
	}
	pattern, err := parsePattern(want)
	if err != nil {
		return err
	}
	value, err := parseJSON(answer)
	if err != nil {
		return err
	}
	if err := r.vars.match(pattern, value); err != nil {
		return &mismatch{got: answer, why: err.Error()}
	}
	return nil
}

// fitting: the status is that of the answer's code (SPEC §8).
func fitting(status int, answer string) error {
	want := http.StatusOK
	var e struct{ Code string }
	if err := json.Unmarshal([]byte(answer), &e); err == nil && e.Code != "" {
		for _, info := range wire.Codes() {
			if e.Code == string(info.Code) {
				want = info.HTTP
			}
		}
	}
	if status != want {
		return &mismatch{got: fmt.Sprintf("the status %d with %s", status, clip(answer)), why: fmt.Sprintf("want the status %d", want)}
	}
	return nil
}

// let makes a variable.
func (r *run) let(text string) error {
	name, what, _ := strings.Cut(text, " = ")
	what, err := r.vars.expand(what)
	if err != nil {
		return err
	}
	word, rest, _ := strings.Cut(what, " ")
	arg, tail, _ := strings.Cut(rest, " ")
	switch word {
	case "digest":
		what, err = digest(rest)
	case "chars":
		var n int
		n, err = strconv.Atoi(arg)
		what = strings.Repeat(tail, n)
	case "ids":
		var n int
		n, err = strconv.Atoi(arg)
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%s%d", tail, i)
		}
		var raw []byte
		raw, _ = json.Marshal(list) // strings
		what = string(raw)
	case "uuid":
		what, err = uuid(arg)
	case "upper":
		what = strings.ToUpper(arg)
	case "request":
		what, err = request("skein.v1."+arg, tail)
	}
	r.vars.of[name] = what
	return err
}

// uuid is an id as the text of a UUID.
func uuid(id string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(id)
	if err != nil || len(b) != 16 {
		return "", fmt.Errorf("%q is no id: %w", id, err)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// request is the base64 of the protobuf encoding of a method's request.
func request(method, text string) (string, error) {
	m, ok := wire.LookupMethod(method)
	if !ok {
		return "", fmt.Errorf("no method %s", method)
	}
	b, err := m.RequestFromJSON([]byte(text), 32)
	return base64.StdEncoding.EncodeToString(b), err
}

// finish checks that nobody has heard more than the transcript says.
func (r *run) finish() error {
	for _, name := range r.order {
		c := r.conns[name]
		if c.over || !c.ready {
			continue
		}
		if err := c.nothing(); err != nil {
			return fmt.Errorf("at the end of the case %s: %w", name, err)
		}
	}
	return nil
}

// heardSoFar is for the reader of a failure.
func (r *run) heardSoFar() (all []string) {
	for _, name := range r.order {
		c := r.conns[name]
		c.mu.Lock()
		for _, text := range c.log[max(0, len(c.log)-15):] {
			all = append(all, name+" heard "+text)
		}
		c.mu.Unlock()
	}
	return all
}

func (r *run) close() {
	defer r.cancel()
	for _, c := range r.conns {
		c.end()
	}
}

// end closes a connection and waits for its reader.
func (c *conn) end() {
	if c.link == nil {
		return
	}
	c.link.close()
	for range c.in { // until its reader has ended
	}
}
