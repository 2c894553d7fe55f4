package sdkconformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// play is a scenario that is being played.
type play struct {
	ctx    context.Context
	s      *Scenario
	o      *Options
	dir    string // the client's store
	in     *inbox
	server *server
	driver *driver
	start  map[string]any
	vars   vars
	fill   completer
	end    time.Time

	cur     *conn
	waiting []*conn // made and not asked for
	conns   int
	cutAt   time.Time // when the last connection was ended, or something was sent that ends one
	sentAt  time.Time
	asked   string // the kind of frame that is waited for
	sends   *sends
	seen    []frame

	events  []map[string]any // about stored things, not asked for yet
	passing []map[string]any
	// told are the events about stored things so far; after a kill those in retold may
	// come again before the first new one.
	told, retold map[string]bool
	ids          map[string]any // message ids as the driver wrote them
	replies      map[int]map[string]any
	later        map[string]int
	asks         map[int]string // commands by their numbers
	failure      error          // of what is served on the way
	story        []string
	began        time.Time
}

// errUnsupported: the driver cannot do what the scenario needs.
var errUnsupported = errors.New("the driver does not support it")

// run plays the scenario from beginning to end.
func (p *play) run() error {
	if err := p.startDriver(nil); err != nil {
		return err
	}
	for i := range p.s.Steps {
		st := &p.s.Steps[i]
		p.log("step", fmt.Sprintf("%d %s", i+1, strings.Join(st.actions(), " ")))
		if err := p.step(st); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, st.actions()[0], err)
		}
	}
	if err := p.quiet(p.o.Settle); err != nil {
		return fmt.Errorf("after the last step: %w", err)
	}
	if len(p.events) > 0 {
		return fmt.Errorf("after the last step: the application was told more: %s", show(p.events[0]))
	}
	return nil
}

// startDriver starts a process and the client in it.
func (p *play) startDriver(more map[string]any) error {
	d, err := startDriver(p.in, p.o.Driver, p.o.Env)
	if err != nil {
		return err
	}
	p.driver = d
	p.replies, p.later, p.asks = map[int]map[string]any{}, map[string]int{}, map[int]string{}
	maps.Copy(p.start, more)
	args := p.vars.fill(p.start).(map[string]any)
	args["url"], args["store"], args["codec"] = p.server.url, p.dir, p.server.codec.Name()
	reply, err := p.ask("start", args)
	if e := reply["error"]; err == nil && e != nil {
		return fmt.Errorf("the client does not start: %s", show(e))
	}
	return err
}

// stop ends all that the play began.
func (p *play) stop() {
	if p.driver != nil {
		p.driver.kill()
	}
	close(p.in.done)
	p.server.stop()
	_ = os.RemoveAll(p.dir)
}

func (p *play) log(who, what string) {
	p.story = append(p.story, fmt.Sprintf("%7.3f %-8s %s", time.Since(p.began).Seconds(), who, what))
}

// pump takes the next item, if there is one before the deadline.
func (p *play) pump(until time.Time) error {
	if until.After(p.end) {
		until = p.end
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case i := <-p.in.c:
		p.take(i)
	case <-t.C:
	case <-p.ctx.Done():
		p.fail("interrupted")
	}
	return p.failure
}

// until waits for something, at most for the time a step has.
func (p *play) until(what string, is func() (bool, error)) error {
	deadline := time.Now().Add(p.o.Patience)
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		if now := time.Now(); !now.Before(deadline) || !now.Before(p.end) {
			return fmt.Errorf("waited %v for %s", p.o.Patience, what)
		}
		if err := p.pump(deadline); err != nil {
			return err
		}
	}
}

func (p *play) fail(format string, args ...any) {
	if p.failure == nil {
		p.failure = fmt.Errorf(format, args...)
	}
}

func (p *play) take(i item) {
	switch {
	case i.driver != nil:
		p.takeLine(i)
	case i.opened:
		p.conns++
		i.conn.n = p.conns
		p.waiting = append(p.waiting, i.conn)
		p.log("client", fmt.Sprintf("connects (%d)", p.conns))
	case i.ended:
		i.conn.ended = true
		p.log("client", fmt.Sprintf("connection %d is over", i.conn.n))
	case i.broken != nil:
		p.fail("the client sent what is no frame: %w", i.broken)
	default:
		for kind, body := range i.frame {
			m, _ := body.(map[string]any)
			p.takeFrame(i.conn, frame{kind, m, i.at})
		}
		if len(i.frame) == 0 {
			p.fail("the client sent an empty frame, or one that nobody knows")
		}
	}
}

// takeFrame does at once what a server does by itself, and keeps the rest until it is
// asked for.
func (p *play) takeFrame(c *conn, f frame) {
	if f.kind == "pulls" {
		list, _ := f.body["pulls"].([]any)
		if len(list) == 0 {
			p.fail("the client sent Pulls without a pull")
		}
		for _, one := range list {
			m, _ := one.(map[string]any)
			p.takeFrame(c, frame{"pull", m, f.at})
		}
		return
	}
	p.log("client", fmt.Sprintf("%s %s", f.kind, show(f.body)))
	p.seen = append(p.seen, f)
	var err error
	switch {
	case f.kind == "received" || f.kind == "read":
		p.mark(c, f)
	case f.kind == "ping" && p.asked != "ping":
		err = p.pong(c)
	case f.kind == "bye":
		c.close(1000, "")
	case f.kind == "send" && p.sends != nil:
		err = p.sends.take(p, c, f)
	default:
		c.frames = append(c.frames, f)
	}
	if err != nil {
		p.fail("%w", err)
	}
}

// pong answers a Ping that no step asks for.
func (p *play) pong(c *conn) error {
	if c.mute {
		return nil
	}
	return p.sendTo(c, map[string]any{"pong": map[string]any{"serverTimeMs": num(time.Now().UnixMilli())}})
}

func (p *play) mark(c *conn, f frame) {
	conversation, _ := f.body["conversation"].(string)
	n := number(f.body["seq"])
	if n == nil {
		p.fail("the client sent a mark without a seq: %s", show(f.body))
		return
	}
	m := c.marks[conversation]
	if f.kind == "read" {
		m.read = max(m.read, n.Uint64())
	} else {
		m.received = max(m.received, n.Uint64())
	}
	c.marks[conversation] = m
}

// stored are the events about stored things: each has to be expected, in order. All
// others are passing.
var storedEvents = map[string]bool{
	"message": true, "sent": true, "failed": true, "recalled": true, "changed": true, "group": true, "contact": true, "gap": true, "gone": true, "reset": true,
}

func (p *play) takeLine(i item) {
	if i.driver != p.driver {
		return // of a process that was killed
	}
	switch name, is := i.line["event"].(string); {
	case i.exited:
		p.driver.exited = true
		p.log("driver", "has ended")
	case i.bad != "":
		p.fail("the driver wrote a line that is no JSON object: %.200q", i.bad)
	case is && storedEvents[name]:
		p.log("app", "is told "+show(i.line))
		p.takeEvent(i.line)
	case is:
		p.log("app", "is told "+show(i.line))
		p.passing = append(p.passing, i.line)
	default:
		n := number(i.line["id"])
		if n == nil {
			p.fail("the driver wrote a line with neither an event nor an id: %s", show(i.line))
			return
		}
		if e, ok := i.line["error"].(map[string]any); ok && e["code"] == "unsupported" {
			p.fail("%w: %s", errUnsupported, p.asks[int(n.Int64())])
		}
		p.replies[int(n.Int64())] = i.line
	}
}

// takeEvent keeps an event about something stored until it is asked for.
func (p *play) takeEvent(e map[string]any) {
	key := show([]any{e["event"], e["conversation"], e["seq"], e["message"], e["type"], e["text"]})
	if p.retold[key] {
		return
	}
	p.retold = nil
	p.told[key] = true
	p.events = append(p.events, e)
}

// ask tells the driver a command and waits for its reply.
func (p *play) ask(name string, args map[string]any) (map[string]any, error) {
	n, err := p.tell(name, args)
	if err != nil {
		return nil, err
	}
	return p.reply(name, n)
}

func (p *play) tell(name string, args map[string]any) (int, error) {
	if name != "view" && name != "status" && name != "outbox" && name != "list" { // asked again and again
		p.log("app", fmt.Sprintf("%s %s", name, show(args)))
	}
	n, err := p.driver.command(name, args)
	p.asks[n] = name
	return n, err
}

func (p *play) reply(name string, n int) (map[string]any, error) {
	var reply map[string]any
	err := p.until("the driver's reply to "+name, func() (bool, error) {
		if reply = p.replies[n]; reply != nil {
			delete(p.replies, n)
			return true, nil
		}
		if p.driver.exited {
			return false, fmt.Errorf("the driver ended before it replied to %s", name)
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// sendTo completes a frame and sends it.
func (p *play) sendTo(c *conn, f map[string]any) error {
	f = p.vars.fill(f).(map[string]any)
	if err := p.fill.frame(f); err != nil {
		return fmt.Errorf("the scenario's frame: %w", err)
	}
	b, err := encode(c.codec, f)
	if err != nil {
		return err
	}
	p.log("server", show(f))
	p.sentAt = time.Now()
	c.write(b)
	return nil
}

// ambient are the kinds that a client may send at any time.
func ambient(kind string) bool {
	switch kind {
	case "ping", "pong", "background", "watchPresence", "typing", "signal", "bye":
		return true
	}
	return false
}

// drop passes over a frame that a client may send at any time.
func (p *play) drop(c *conn, f frame) error {
	if f.kind == "ping" {
		return p.pong(c)
	}
	return nil
}

// next waits for the next frame of a kind on the current connection; others are a
// failure unless they may come at any time. is says whether it is the one; a frame of
// a kind that may come at any time need not be.
func (p *play) next(kind string, is func(frame) error) (frame, error) {
	if p.cur == nil {
		return frame{}, errors.New("there is no connection: a step connect has to come first")
	}
	p.asked = kind
	defer func() { p.asked = "" }()
	var got frame
	var last error
	err := p.until(kind, func() (bool, error) {
		for len(p.cur.frames) > 0 {
			f := p.cur.frames[0]
			p.cur.frames = p.cur.frames[1:]
			var err error
			if f.kind == kind {
				if err = is(f); err == nil {
					got = f
					return true, nil
				}
				last = fmt.Errorf("the client's %s: %w", kind, err)
			} else {
				err = fmt.Errorf("the client sent %s %s", f.kind, show(f.body))
			}
			if !ambient(f.kind) {
				return false, err
			}
			if err := p.drop(p.cur, f); err != nil {
				return false, err
			}
		}
		if p.cur.ended {
			return false, errors.New("the client ended the connection")
		}
		return false, nil
	})
	if err != nil && last != nil {
		err = fmt.Errorf("%w; the last one did not fit: %w", err, last)
	}
	return got, err
}

// quiet holds the client to sending nothing and connecting not for a time.
func (p *play) quiet(d time.Duration) error {
	until := time.Now().Add(d)
	for {
		if len(p.waiting) > 0 {
			return errors.New("the client connects")
		}
		if p.cur != nil {
			for _, f := range p.cur.frames {
				if !ambient(f.kind) {
					return fmt.Errorf("the client sent %s %s", f.kind, show(f.body))
				}
			}
			p.cur.frames = nil
		}
		if !time.Now().Before(until) {
			return nil
		}
		if err := p.pump(until); err != nil {
			return err
		}
	}
}

// code is the name of a close code's number, if it has one.
func code(number int) string {
	for _, c := range wire.Codes() {
		if c.Number == number {
			return string(c.Code)
		}
	}
	return ""
}
