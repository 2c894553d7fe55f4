package sdkconformance

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// step does one line of a scenario.
func (p *play) step(st *Step) error {
	switch st.actions()[0] {
	case "connect":
		return p.connect(st)
	case "expect":
		return p.expect(st)
	case "expect_all":
		return p.expectAll(st)
	case "send":
		for _, f := range st.Send {
			if err := p.toClient(func(c *conn) error { return p.sendTo(c, f) }); err != nil {
				return err
			}
		}
		return nil
	case "raw":
		return p.toClient(func(c *conn) error {
			f := p.vars.fill(st.Raw).(map[string]any)
			b, err := encodeRaw(c.codec, f)
			p.log("server", show(f))
			c.write(b)
			return err
		})
	case "cut", "close":
		return p.toClient(func(c *conn) error {
			p.cutAt = time.Now()
			if st.Cut {
				p.log("server", "cuts the connection")
				c.cut()
				return nil
			}
			p.log("server", fmt.Sprintf("closes with %d", st.Close))
			c.close(st.Close, code(st.Close))
			return nil
		})
	case "mute":
		return p.toClient(func(c *conn) error {
			c.mute = true
			return nil
		})
	case "closed":
		return p.until("the end of the connection", func() (bool, error) { return p.cur == nil || p.cur.ended, nil })
	case "marks":
		return p.marks(st.Marks)
	case "quiet_ms":
		return p.quiet(time.Duration(st.Quiet) * time.Millisecond)
	case "serve_sends":
		return p.serve(st)
	case "stored":
		return p.stored(st.Stored)
	case "seen":
		return p.wasSeen(st.Seen)
	}
	return p.appStep(st)
}

func (p *play) toClient(do func(c *conn) error) error {
	if p.cur == nil {
		return errors.New("there is no connection: a step connect has to come first")
	}
	return do(p.cur)
}

// connect waits for the client's next connection and greets it.
func (p *play) connect(st *Step) error {
	err := p.until("a connection", func() (bool, error) { return len(p.waiting) > 0, nil })
	if err != nil {
		return err
	}
	if err := p.inTime(st, time.Now(), p.cutAt, "the client connects"); err != nil {
		return err
	}
	if p.cur != nil {
		p.cur.cut()
	}
	p.cur, p.waiting = p.waiting[0], p.waiting[1:]
	c := st.Connect
	hello, err := p.next("hello", func(f frame) error {
		if err := p.vars.match(map[string]any{"token": "$token", "device": map[string]any{"id": "device-1"}}, f.body); err != nil && c.Hello["token"] == nil {
			return err
		}
		return p.vars.match(c.Hello, f.body)
	})
	if err != nil {
		return err
	}
	if c.Welcome != nil {
		if err := p.sendTo(p.cur, map[string]any{"welcome": c.Welcome}); err != nil {
			return err
		}
	}
	if c.Sync == nil && c.Delta == nil {
		if sync, ok := hello.body["sync"].(map[string]any); ok {
			p.fill.sync = sync["number"]
		}
		return nil
	}
	sync, ok := hello.body["sync"].(map[string]any)
	if ok {
		if err := p.vars.match(c.Sync, sync); err != nil {
			return fmt.Errorf("the Hello's sync: %w", err)
		}
	} else {
		f, err := p.next("sync", func(f frame) error { return p.vars.match(c.Sync, f.body) })
		if err != nil {
			return err
		}
		sync = f.body
	}
	p.fill.sync = sync["number"]
	if c.Delta == nil {
		return nil
	}
	return p.sendTo(p.cur, map[string]any{"syncDelta": c.Delta})
}

// inTime holds what came to the bounds of a step, counted from a moment.
func (p *play) inTime(st *Step, at, from time.Time, what string) error {
	if st.Within == 0 && st.Earliest == 0 {
		return nil
	}
	if from.IsZero() {
		return errors.New("nothing was cut or sent to count from")
	}
	d := at.Sub(from)
	if least := time.Duration(st.Earliest) * time.Millisecond; d < least {
		return fmt.Errorf("%s after %v, %v at the earliest", what, d, least)
	}
	if most := time.Duration(st.Within) * time.Millisecond; st.Within > 0 && d > most {
		return fmt.Errorf("%s after %v, %v at most", what, d, most)
	}
	return nil
}

// expect waits for the client's next frame.
func (p *play) expect(st *Step) error {
	for kind, pattern := range st.Expect {
		from := p.sentAt
		f, err := p.next(kind, func(f frame) error { return p.vars.match(p.named(kind, pattern), f.body) })
		if err != nil {
			return err
		}
		if err := p.inTime(st, f.at, from, "the client sends it"); err != nil {
			return err
		}
		p.asking(f)
	}
	return nil
}

// named adds the scenario's conversation to a pattern that names none.
func (p *play) named(kind string, pattern any) any {
	m, ok := pattern.(map[string]any)
	if !ok || m["conversation"] != nil || !slices.Contains([]string{"send", "pull"}, kind) {
		return pattern
	}
	m = maps.Clone(m)
	m["conversation"] = p.s.Conversation
	return m
}

// asking remembers what an answer has to name.
func (p *play) asking(f frame) {
	switch f.kind {
	case "sync":
		p.fill.sync = f.body["number"]
	case "pull":
		p.fill.pull = f.body["number"]
	case "send":
		p.fill.id = f.body["id"]
	case "call":
		name, _ := f.body["method"].(string)
		p.fill.call = asked{number: f.body["number"], method: name, binary: f.body["json"] == nil}
	}
}

// expectAll waits for several frames in any order.
func (p *play) expectAll(st *Step) error {
	left := slices.Clone(st.ExpectAll)
	return p.until("several frames", func() (bool, error) {
		for p.cur != nil && len(p.cur.frames) > 0 {
			f := p.cur.frames[0]
			p.cur.frames = p.cur.frames[1:]
			i := slices.IndexFunc(left, func(want map[string]any) bool {
				pattern, ok := want[f.kind]
				return ok && p.vars.match(p.named(f.kind, pattern), f.body) == nil
			})
			switch {
			case i >= 0:
				left = slices.Delete(left, i, i+1)
			case ambient(f.kind):
				if err := p.drop(p.cur, f); err != nil {
					return false, err
				}
			default:
				return false, fmt.Errorf("the client sent %s %s, want one of %s", f.kind, show(f.body), show(left))
			}
		}
		if len(left) > 0 && p.cur != nil && p.cur.ended {
			return false, errors.New("the client ended the connection")
		}
		return len(left) == 0, nil
	})
}

// marks waits until the marks that were told on this connection are those of a pattern:
// {"received": 3, "read": 3}, for the scenario's conversation or by conversation.
func (p *play) marks(want map[string]any) error {
	if want["received"] != nil || want["read"] != nil {
		want = map[string]any{p.s.Conversation: want}
	}
	return p.until("marks "+show(want), func() (bool, error) {
		all := true
		for conversation, pattern := range want {
			m := p.cur.marks[conversation]
			pattern := pattern.(map[string]any)
			for name, got := range map[string]uint64{"received": m.received, "read": m.read} {
				if op, is := pattern[name].(map[string]any); is {
					if err := p.vars.match(op, num(int64(got))); err != nil {
						return false, fmt.Errorf("the mark %s of %s: %w", name, conversation, err)
					}
					continue
				}
				n := number(p.vars.fill(pattern[name]))
				switch {
				case n == nil:
				case got > n.Uint64():
					return false, fmt.Errorf("the client told %s up to %d of %s, want %s", name, got, conversation, n)
				case got < n.Uint64():
					all = false
				}
			}
		}
		return all, nil
	})
}

func (p *play) serve(st *Step) error {
	p.sends = newSends(maps.Clone(st.Serve), 1)
	for text, answers := range st.Serve {
		p.sends.answers[text] = slices.Clone(answers)
	}
	// What came already is served now; the seqs begin after the ones that were told.
	p.sends.next = p.nextSeq()
	if p.cur == nil {
		return nil
	}
	frames := p.cur.frames
	p.cur.frames = nil
	for _, f := range frames {
		if f.kind != "send" {
			p.cur.frames = append(p.cur.frames, f)
			continue
		}
		if err := p.sends.take(p, p.cur, f); err != nil {
			return err
		}
	}
	return nil
}

// nextSeq is the one after the highest that was told of the scenario's conversation.
func (p *play) nextSeq() int64 { return int64(p.fill.head) + 1 }

// stored waits until these texts were stored, in this order.
func (p *play) stored(want []string) error {
	if p.sends == nil {
		return errors.New("no sends are served")
	}
	return p.until(fmt.Sprintf("the messages %q to be stored", want), func() (bool, error) {
		got := p.sends.texts
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			return false, fmt.Errorf("stored are %q, want %q", got, want)
		}
		return len(got) == len(want), nil
	})
}

// wasSeen looks for a frame among all that the client ever sent.
func (p *play) wasSeen(want map[string]any) error {
	for kind, pattern := range want {
		for _, f := range p.seen {
			if f.kind == kind && p.vars.match(pattern, f.body) == nil {
				return nil
			}
		}
		return fmt.Errorf("the client never sent %s %s", kind, show(p.vars.fill(pattern)))
	}
	return nil
}

// appStep is what the application does or sees.
func (p *play) appStep(st *Step) error {
	switch st.actions()[0] {
	case "do":
		return p.do(st)
	case "reply":
		n, ok := p.later[st.Reply]
		if !ok {
			return fmt.Errorf("no command is under way as %q", st.Reply)
		}
		reply, err := p.reply(st.Reply, n)
		if err != nil {
			return err
		}
		return p.judge(st, reply)
	case "restart":
		return p.restart(st)
	case "events":
		return p.expectEvents(st.Events)
	case "passing":
		return p.expectPassing(st.Passing)
	case "view":
		pattern := maps.Clone(st.View)
		args := map[string]any{"conversation": p.s.Conversation}
		if c, ok := pattern["conversation"]; ok {
			args["conversation"] = c
			delete(pattern, "conversation")
		}
		return p.poll("view", args, func(reply map[string]any) error { return p.vars.match(pattern, reply) })
	case "outbox":
		return p.poll("outbox", nil, func(reply map[string]any) error { return p.vars.match(*st.Outbox, reply["messages"]) })
	case "list":
		return p.poll("list", nil, func(reply map[string]any) error { return p.vars.match(st.List, reply["conversations"]) })
	case "status":
		return p.poll("status", nil, func(reply map[string]any) error { return p.vars.match(st.Status, reply) })
	}
	return errors.New("nobody knows this step")
}

func (p *play) do(st *Step) error {
	for name, args := range st.Do {
		args = p.vars.fill(args).(map[string]any)
		switch name {
		case "send", "read", "history", "thread", "typing", "signal":
			put(args, "conversation", p.s.Conversation)
		case "retry", "discard":
			if id, ok := args["message"].(string); ok && p.ids[id] != nil {
				args["message"] = p.ids[id] // as the driver named it
			}
		case "token":
			p.vars["token"] = args["token"] // connections have it from now on
			p.start["token"] = args["token"]
		}
		n, err := p.tell(name, args)
		if err != nil {
			return err
		}
		if st.Later != "" {
			p.later[st.Later] = n
			return nil
		}
		reply, err := p.reply(name, n)
		if err != nil {
			return err
		}
		return p.judge(st, reply)
	}
	return nil
}

// judge holds a reply to what the step says of it.
func (p *play) judge(st *Step, reply map[string]any) error {
	e, failed := reply["error"].(map[string]any)
	switch {
	case failed && st.Fails == "":
		return fmt.Errorf("it failed: %s", show(e))
	case st.Fails != "" && (!failed || e["code"] != st.Fails):
		return fmt.Errorf("the reply is %s, want the error %s", show(reply), st.Fails)
	case st.As != "":
		id, err := canonicalID(reply["message"])
		if err != nil {
			return err
		}
		p.vars[st.As], p.ids[id] = id, reply["message"]
	}
	return p.vars.match(st.Gives, reply)
}

// canonicalID is a message's id as frames have it, from that or from the text of a UUID.
func canonicalID(x any) (string, error) {
	s, _ := x.(string)
	if b, err := hex.DecodeString(strings.ReplaceAll(s, "-", "")); err == nil && len(b) == 16 {
		return base64.StdEncoding.EncodeToString(b), nil
	}
	if b, err := base64.StdEncoding.DecodeString(s); err == nil && len(b) == 16 {
		return s, nil
	}
	return "", fmt.Errorf("the driver replied with the id %s, want a UUID or base64", show(x))
}

func (p *play) restart(st *Step) error {
	if st.Restart == "stop" {
		if _, err := p.ask("stop", nil); err != nil {
			return err
		}
	}
	p.driver.kill()
	p.retold = maps.Clone(p.told)
	if st.Restart == "stop" {
		p.retold = nil
	}
	p.log("driver", "is started again")
	return p.startDriver(st.Start)
}

// expectEvents waits for the next events about stored things.
func (p *play) expectEvents(want []map[string]any) error {
	for i, pattern := range want {
		err := p.until(fmt.Sprintf("the event %s", show(pattern)), func() (bool, error) {
			if len(p.events) == 0 {
				return false, nil
			}
			e := p.events[0]
			p.events = p.events[1:]
			if err := p.vars.match(p.about(pattern), e); err != nil {
				return false, fmt.Errorf("event %d is %s: %w", i+1, show(e), err)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// about adds the scenario's conversation to an event that names none.
func (p *play) about(pattern map[string]any) map[string]any {
	if pattern["conversation"] != nil || pattern["event"] == "reset" || pattern["event"] == "contact" {
		return pattern
	}
	pattern = maps.Clone(pattern)
	pattern["conversation"] = p.s.Conversation
	return pattern
}

// expectPassing waits for an event that may be combined with others of its kind: what
// comes before it is passed over.
func (p *play) expectPassing(pattern map[string]any) error {
	return p.until("the event "+show(pattern), func() (bool, error) {
		for len(p.passing) > 0 {
			e := p.passing[0]
			p.passing = p.passing[1:]
			if p.vars.match(pattern, e) == nil {
				return true, nil
			}
		}
		return false, nil
	})
}

// pollEvery is how often the driver is asked for what has to become so.
const pollEvery = 10 * time.Millisecond

// poll asks the driver until its reply is as it has to be.
func (p *play) poll(name string, args map[string]any, is func(map[string]any) error) error {
	deadline := time.Now().Add(p.o.Patience)
	for {
		reply, err := p.ask(name, args)
		if err != nil {
			return err
		}
		if e, failed := reply["error"].(map[string]any); failed {
			return fmt.Errorf("%s failed: %s", name, show(e))
		}
		err = is(reply)
		if err == nil {
			return nil
		}
		if now := time.Now(); !now.Before(deadline) || !now.Before(p.end) {
			return fmt.Errorf("waited %v: %w; the client says %s", p.o.Patience, err, show(reply))
		}
		for wait := time.Now().Add(pollEvery); time.Now().Before(wait); {
			if err := p.pump(wait); err != nil {
				return err
			}
		}
	}
}
