package transcripts

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// variant is one of the four ways to talk to a server.
type variant struct{ transport, codec string }

func (v variant) String() string { return v.transport + "-" + v.codec }

func (v variant) codecName() string { return "skein.v1." + v.codec }

// run is a transcript on its way.
type run struct {
	ctx     context.Context
	server  *server
	variant variant
	suffix  string // makes the users of this run its own
	vars    vars
	conns   map[string]*conn
	order   []string
	// settled is how many entries the preparations left in each `me:` feed.
	settled map[string]uint64
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
			return r.connect(m[1], m[3])
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
		return r.server.must(r.ctx, "UserService/UpdateProfile", r.vars[rest+".token"], map[string]string{"dmPolicy": "DM_POLICY_EVERYONE"}, &struct{}{})
	case "http":
		return r.http(rest)
	case "let":
		return r.let(rest)
	case "drain":
		r.server.stop()
		return nil
	case "drained":
		err := <-r.server.ended
		r.server.ended <- nil
		return err
	}
	return fmt.Errorf("what is %q?", word)
}

func (r *run) on(name string, f func(*conn) error) error {
	c := r.conns[name]
	if c == nil {
		return fmt.Errorf("there is no connection %s", name)
	}
	return f(c)
}

func (r *run) connect(name, codec string) error {
	if codec == "" {
		codec = r.variant.codecName()
	}
	c, err := dial(r.ctx, r.variant, r.server, codec, maps.Clone(r.settled))
	if err != nil {
		return err
	}
	r.conns[name] = c
	r.order = append(r.order, name)
	return nil
}

// login opens a connection and says Hello: user or session, class, device id,
// and codec= if it is not the variant's.
func (r *run) login(name string, args []string) error {
	codec := ""
	if n := len(args) - 1; strings.HasPrefix(args[n], "codec=") {
		codec, args = "skein.v1."+strings.TrimPrefix(args[n], "codec="), args[:n]
	}
	for len(args) < 2 {
		args = append(args, "phone")
	}
	if len(args) < 3 {
		args = append(args, args[0]+"-"+args[1])
	}
	if err := r.connect(name, codec); err != nil {
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
			return fmt.Errorf("the status was %d", c.refused)
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
	if _, ok := pattern.(map[string]any)["welcome"]; ok {
		c.ready = true
	}
	if how == "" {
		return c.expect(r.vars, pattern)
	}
	return c.find(r.vars, pattern, how == "<")
}

func (r *run) users(names []string) error {
	lifetime := time.Hour
	for _, n := range names {
		if s, ok := strings.CutPrefix(n, "lifetime="); ok {
			var err error
			if lifetime, err = time.ParseDuration(s); err != nil {
				return err
			}
		}
	}
	for _, n := range names {
		if strings.Contains(n, "=") {
			continue
		}
		token, err := r.server.mint(r.ctx, n+r.suffix, lifetime)
		if err != nil {
			return err
		}
		r.vars[n], r.vars[n+".token"] = n+r.suffix, token
	}
	return nil
}

func (r *run) session(args []string) error {
	token, err := r.server.mint(r.ctx, r.vars[args[0]], time.Hour)
	r.vars[args[1]], r.vars[args[1]+".token"] = r.vars[args[0]], token
	return err
}

func (r *run) contacts(names []string) error {
	for i, a := range names {
		for _, b := range names[i+1:] {
			for _, x := range [][2]string{{a, b}, {b, a}} { // asking each other is accepting
				err := r.server.must(r.ctx, "ContactService/RequestContact", r.vars[x[0]+".token"], map[string]string{"user": r.vars[x[1]]}, &struct{}{})
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
	feed := "me:" + r.vars[name]
	r.settled[feed] += 2
	for {
		var answer struct{ Head string }
		err := r.server.must(r.ctx, "MessageService/ListEntries", r.vars[name+".token"], map[string]any{"conversation": feed, "backward": true, "limit": 1}, &answer)
		if err != nil {
			return err
		}
		if n, _ := strconv.ParseUint(answer.Head, 10, 64); n >= r.settled[feed] { // absent is 0
			return nil
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
	token := r.vars[who+".token"]
	if who == "admin" {
		token = r.server.key
	}
	_, answer, err := r.server.post(r.ctx, method, token, body)
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
		return fmt.Errorf("got %s\n\t%w", answer, err)
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
	r.vars[name] = what
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
			return fmt.Errorf("at the end %s: %w", name, err)
		}
	}
	return nil
}

// heardSoFar is for the reader of a failure.
func (r *run) heardSoFar() string {
	var b strings.Builder
	for _, name := range r.order {
		c := r.conns[name]
		c.mu.Lock()
		for _, text := range c.log[max(0, len(c.log)-15):] {
			fmt.Fprintf(&b, "\t%s heard %s\n", name, text)
		}
		c.mu.Unlock()
	}
	return b.String()
}

func (r *run) close() {
	for _, c := range r.conns {
		if c.link != nil {
			c.link.close()
			for range c.in { // until its reader has ended
			}
		}
	}
}
