package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// promise is what a server keeps whatever happens, found out by many messages and
// not by a conversation that is written down.
type promise struct {
	name, about string
	setup       string // lines of a transcript
	keep        func(r *run) error
}

// broken is a promise that was not kept.
type broken struct{ expected, got, spec string }

func (b *broken) Error() string { return b.got }

const pair = "user alice bob\nsession alice tab\nsession bob pad\ncontacts alice bob\n"

var promises = []promise{
	{"promise_exactly_once", "SPEC 4.1, 5.1, 5.2, 5.3, 6.5, 6.7: messages of several connections that are cut and come again are stored once, in the order of each, and everybody is told one order", pair, exactlyOnce},
	{"promise_twins", "SPEC 5.2, 3.5: the same messages from two connections of a device at once are stored once", pair, twins},
	{"promise_pipeline", "SPEC 5.1, 5.4: more Sends than may be unanswered are all answered, in their order", pair, pipeline},
	{"promise_resume", "SPEC 6.8, 7.1, 7.5: who comes back with a position is told everything that they missed, and pulls what was left out", pair, resume},
}

// promise plays one.
func (p *player) promise(x promise) []Result {
	name := caseName(x.name, p.job.variant, "")
	s, err := parseScript(x.name, x.setup)
	if err != nil {
		return []Result{{Case: name, Status: Failed, Failure: &Failure{Got: err.Error()}}}
	}
	r, err := p.begin(s)
	if err != nil {
		return []Result{noUsers(name, err)}
	}
	defer r.close()
	if f := r.lines(s.parts[0].lines); f != nil {
		return []Result{{Case: name, Status: Failed, Failure: f}}
	}
	err = x.keep(r)
	if err == nil {
		return []Result{{Case: name, Status: Passed}}
	}
	f := &Failure{Got: err.Error(), Expected: x.about, Heard: r.heardSoFar()}
	var b *broken
	if errors.As(err, &b) {
		f.Expected, f.Spec = b.expected, "§"+b.spec
	}
	return []Result{{Case: name, Status: Failed, Failure: f}}
}

// noUsers: the preparations failed. A server that lets nobody register any more, for
// now, is none that is wrong.
func noUsers(name string, err error) Result {
	f := &Failure{Got: err.Error(), Expected: "users for the case"}
	if _, refused := f.refused(); refused {
		return Result{Case: name, Status: LeftOut, Reason: "no users: " + f.Got}
	}
	return Result{Case: name, Status: Failed, Failure: f}
}

// enter opens a connection that is welcomed, with a Sync if position is given.
func (r *run) enter(who, device, sync string) (*conn, error) {
	c, err := r.dial(r.variant.codecName(), maps.Clone(r.settled), false)
	if err != nil {
		return nil, err
	}
	if sync != "" {
		sync = `,"sync":` + sync
	}
	err = c.tell(`{"hello":{"versionMin":1,"versionMax":1,"token":"` + r.token(who) + `","device":{"id":"` + device + `","class":"DEVICE_CLASS_OTHER"}` + sync + `}}`)
	if err == nil {
		if h := c.receive(); h.frame.GetWelcome() == nil {
			err = &broken{"a Welcome", h.String(), "3.2"}
		} else {
			r.mu.Lock()
			r.welcome = h.frame.GetWelcome()
			r.mu.Unlock()
		}
	}
	if err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// tell says a frame in canonical JSON.
func (c *conn) tell(frame string) error {
	b, err := c.encode(frame)
	if err != nil {
		return err
	}
	return c.link.write(b)
}

// dm is the conversation of the first two users.
func (r *run) dm() string { return "dm:" + r.vars.of["alice"] + ":" + r.vars.of["bob"] }

func (c *conn) send(conversation, id string, n int) error {
	return c.tell(fmt.Sprintf(`{"send":{"conversation":"%s","id":"%s","content":{"type":"text","text":"%d"}}}`, conversation, id, n))
}

// acks is what was acknowledged, by message id: the same answer each time.
type acks struct {
	mu sync.Mutex
	of map[string]*wire.SendAck
}

func (a *acks) add(ack *wire.SendAck) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := base64.StdEncoding.EncodeToString(ack.GetId())
	if was := a.of[key]; was != nil && (was.GetSeq() != ack.GetSeq() || was.GetStoredAtMs() != ack.GetStoredAtMs()) {
		return &broken{fmt.Sprintf("the same answer to the same message, seq %d at %d", was.GetSeq(), was.GetStoredAtMs()), fmt.Sprintf("seq %d at %d", ack.GetSeq(), ack.GetStoredAtMs()), "5.2"}
	}
	a.of[key] = ack
	return nil
}

// writer sends its messages in order, over a connection that is cut now and then;
// what is unanswered then goes again.
type writer struct {
	r           *run
	who, device string
	ids         []string
	rates       *rand.Rand
	acks        *acks
}

const window = 8

// write sends all, within about so many connections.
func (w *writer) write() error {
	next := 0 // the first that is unanswered
	for next < len(w.ids) {
		c, err := w.r.enter(w.who, w.device, "")
		if err != nil {
			return err
		}
		next, err = w.some(c, next, 1+w.rates.IntN(len(w.ids)/2))
		c.end()
		if err != nil {
			return err
		}
	}
	return nil
}

// some sends from the message number from on and returns after so many answers.
func (w *writer) some(c *conn, from, answers int) (next int, err error) {
	next, sent := from, from
	for next < len(w.ids) && next < from+answers {
		for ; sent < len(w.ids) && sent < next+window; sent++ {
			if err := c.send(w.r.dm(), w.ids[sent], sent); err != nil {
				return next, err
			}
		}
		h := c.receive()
		switch {
		case h.end != nil:
			return next, &broken{"the answer to " + w.ids[next], h.String(), "5.1"}
		case h.frame.GetSendError() != nil:
			return next, &broken{"a SendAck of " + w.ids[next], h.String(), "5.1"}
		case h.frame.GetSendAck() == nil: // somebody else's push
			continue
		}
		ack := h.frame.GetSendAck()
		if got := base64.StdEncoding.EncodeToString(ack.GetId()); got != w.ids[next] {
			return next, &broken{"the answers in the order of the Sends: " + w.ids[next], got, "5.1"}
		}
		if err := w.acks.add(ack); err != nil {
			return next, err
		}
		next++
	}
	return next, nil
}

// ids makes n message ids from a number on.
func ids(from, n int) (all []string) {
	for i := range n {
		all = append(all, id(epoch, from+i))
	}
	return all
}

const perWriter = 60

func exactlyOnce(r *run) error {
	a := &acks{of: map[string]*wire.SendAck{}}
	writers := []*writer{{who: "alice", device: "d1"}, {who: "alice", device: "d1"}, {who: "bob", device: "d2"}}
	listeners := []*conn{}
	for _, l := range []struct{ who, device string }{{"alice", "d1"}, {"bob", "d2"}} {
		c, err := r.enter(l.who, l.device, "")
		if err != nil {
			return err
		}
		defer c.end()
		listeners = append(listeners, c)
	}
	all := 0
	errs := make(chan error, len(writers))
	for i, w := range writers {
		w.r, w.ids, w.acks, w.rates = r, ids(1+i*1000, perWriter), a, rand.New(rand.NewPCG(1, uint64(i)))
		all += perWriter
		go func() { errs <- w.write() }()
	}
	var failed error
	for range writers {
		failed = errors.Join(failed, <-errs)
	}
	if failed != nil {
		return failed
	}
	stored, err := r.everything(listeners[0], r.dm(), all)
	if err != nil {
		return err
	}
	for _, w := range writers {
		last := uint64(0)
		for _, id := range w.ids {
			seq, ok := stored[id]
			switch {
			case !ok:
				return &broken{"every message that was acknowledged", "none with the id " + id, "5.1"}
			case seq != a.of[id].GetSeq():
				return &broken{fmt.Sprintf("seq %d, as its ack said", a.of[id].GetSeq()), strconv.FormatUint(seq, 10), "5.1"}
			case seq < last:
				return &broken{"what a connection sends in the order of sending", fmt.Sprintf("seq %d behind %d", seq, last), "5.9"}
			}
			last = seq
		}
	}
	for _, c := range listeners {
		if err := c.inOrder(r.dm(), uint64(all)); err != nil {
			return err
		}
	}
	return nil
}

// everything pulls a conversation that has n messages and returns their seqs by id.
func (r *run) everything(c *conn, conversation string, n int) (map[string]uint64, error) {
	seqs := map[string]uint64{}
	for next := uint64(1); ; {
		if err := c.tell(fmt.Sprintf(`{"pull":{"number":9,"conversation":"%s","from":"%d"}}`, conversation, next)); err != nil {
			return nil, err
		}
		x, err := c.awaitRange(9)
		if err != nil {
			return nil, err
		}
		for _, e := range x.GetEntries() {
			key := base64.StdEncoding.EncodeToString(e.GetId())
			if e.GetSeq() != uint64(len(seqs)+1) {
				return nil, &broken{fmt.Sprintf("seqs without a gap, now %d", len(seqs)+1), strconv.FormatUint(e.GetSeq(), 10), "4.1"}
			}
			if was := seqs[key]; was != 0 {
				return nil, &broken{"the message " + key + " once", fmt.Sprintf("at seq %d and %d", was, e.GetSeq()), "5.2"}
			}
			seqs[key] = e.GetSeq()
		}
		if x.GetLastSeq() == x.GetHead() || len(x.GetEntries()) == 0 {
			break
		}
		next = x.GetLastSeq() + 1
	}
	if len(seqs) != n {
		return nil, &broken{fmt.Sprintf("%d messages", n), strconv.Itoa(len(seqs)), "5.2"}
	}
	return seqs, nil
}

// awaitRange waits for the Range of that number; what is told meanwhile is kept.
func (c *conn) awaitRange(number uint32) (*wire.Range, error) {
	var others []heard
	defer func() { c.kept = append(others, c.kept...) }()
	for {
		h := c.receive()
		switch {
		case h.end != nil:
			return nil, &broken{"a Range", h.String(), "6.8"}
		case h.frame.GetRange() == nil || h.frame.GetRange().GetNumber() != number:
			others = append(others, h)
		case h.frame.GetRange().GetError() != nil:
			return nil, &broken{"a Range without an error", h.String(), "6.8"}
		default:
			return h.frame.GetRange(), nil
		}
	}
}

// inOrder: what the connection was told of a conversation came in the order of the
// seqs, each entry once, and it heard of the last.
func (c *conn) inOrder(conversation string, head uint64) error {
	told := uint64(0)
	for told < head {
		h := c.receive()
		if h.end != nil {
			return &broken{fmt.Sprintf("a Push or Heads up to seq %d of %s", head, conversation), fmt.Sprintf("%v, after seq %d", h, told), "6.5"}
		}
		for _, x := range h.frame.GetHeads().GetHeads() {
			if x.GetConversation() == conversation {
				told = max(told, x.GetSeq())
			}
		}
		for _, e := range h.frame.GetPush().GetEntries() {
			switch {
			case e.GetConversation() != conversation:
			case e.GetSeq() <= told:
				return &broken{fmt.Sprintf("an entry behind seq %d", told), h.String(), "6.7"}
			default:
				told = e.GetSeq()
			}
		}
	}
	return nil
}

func twins(r *run) error {
	a := &acks{of: map[string]*wire.SendAck{}}
	errs := make(chan error, 2)
	for i := range 2 {
		w := &writer{r: r, who: "alice", device: "d1", ids: ids(1, perWriter), acks: a, rates: rand.New(rand.NewPCG(2, uint64(i)))}
		go func() { errs <- w.write() }()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		return err
	}
	c, err := r.enter("bob", "d2", "")
	if err != nil {
		return err
	}
	defer c.end()
	_, err = r.everything(c, r.dm(), perWriter)
	return err
}

func pipeline(r *run) error {
	c, err := r.enter("alice", "d1", "")
	if err != nil {
		return err
	}
	defer c.end()
	l := r.welcome.GetLimits()
	n := min(int(l.GetInFlight())*2, int(l.GetSends().GetBurst())-10, 2000)
	if n < 2 {
		return &broken{"limits that let a client send", l.String(), "1.5"}
	}
	written := make(chan error, 1)
	all := ids(1, n)
	go func() {
		for i, id := range all {
			if err := c.send(r.dm(), id, i); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for i, id := range all {
		h := c.receive()
		ack := h.frame.GetSendAck()
		if base64.StdEncoding.EncodeToString(ack.GetId()) != id || ack.GetSeq() != uint64(i+1) {
			return &broken{fmt.Sprintf("a SendAck of %s with seq %d", id, i+1), h.String(), "5.1"}
		}
	}
	return <-written
}

// resume: a device that goes and comes, and applies what SPEC says.
func resume(r *run) error {
	bob, err := r.enter("bob", "d2", "")
	if err != nil {
		return err
	}
	defer bob.end()
	rates := rand.New(rand.NewPCG(3, 3))
	position, timeline, cursor, n := "", "", uint64(0), 0
	for round := range 6 {
		more := []int{3, 0, 70, 1, 120, 20}[round]
		w := &writer{r: r, who: "bob", device: "d2", ids: ids(1+n, more), acks: &acks{of: map[string]*wire.SendAck{}}, rates: rates}
		if _, err := w.some(bob, 0, more); err != nil {
			return err
		}
		n += more
		ask := fmt.Sprintf(`{"number":%d,"position":"%s","timeline":"%s"}`, round+1, position, timeline)
		if position == "" {
			ask = fmt.Sprintf(`{"number":%d}`, round+1)
		}
		a, err := r.enter("alice", "d1", ask)
		if err != nil {
			return err
		}
		d, err := a.delta(uint32(round + 1))
		if err == nil {
			position, timeline = d.GetPosition(), d.GetTimeline()
			cursor, err = r.apply(a, d, cursor, uint64(n))
		}
		a.end()
		if err != nil {
			return err
		}
	}
	return nil
}

// delta waits for the answer to a Sync.
func (c *conn) delta(number uint32) (*wire.SyncDelta, error) {
	for deadline := time.Now().Add(c.patience); ; {
		h := c.fresh(deadline)
		d := h.frame.GetSyncDelta()
		switch {
		case h.end != nil:
			return nil, &broken{"a SyncDelta", h.String(), "3.2"}
		case d == nil: // pushes may come before it
		case d.GetNumber() != number || d.GetError() != nil || d.GetPosition() == "" || d.GetReset_() || d.GetNext() != "":
			return nil, &broken{fmt.Sprintf("the SyncDelta number %d, with a position and nothing to read anew", number), h.String(), "7.1"}
		default:
			return d, nil
		}
	}
}

// apply brings a device's cursor to the head, by what a delta tells and by Pulls for
// what it leaves out.
func (r *run) apply(c *conn, d *wire.SyncDelta, cursor, head uint64) (uint64, error) {
	told := cursor == head // nothing is new
	for _, s := range d.GetConversations() {
		if s.GetConversation() != r.dm() {
			continue
		}
		told = true
		if s.GetSeq() != head {
			return 0, &broken{fmt.Sprintf("the head %d of %s", head, r.dm()), strconv.FormatUint(s.GetSeq(), 10), "7.1"}
		}
		for next := s.GetFromSeq(); cursor+1 < next || next == 0 && cursor < head; { // a hole below what is told
			if err := c.tell(fmt.Sprintf(`{"pull":{"number":5,"conversation":"%s","from":"%d","limit":30}}`, r.dm(), cursor+1)); err != nil {
				return 0, err
			}
			x, err := c.awaitRange(5)
			if err != nil {
				return 0, err
			}
			if cursor, err = follow(cursor, x.GetEntries()); err != nil {
				return 0, err
			}
			if x.GetLastSeq() != cursor {
				return 0, &broken{fmt.Sprintf("a stretch that ends at %d, its last entry", cursor), strconv.FormatUint(x.GetLastSeq(), 10), "6.8"}
			}
		}
		var err error
		if cursor, err = follow(cursor, s.GetEntries()); err != nil {
			return 0, err
		}
	}
	if !told || cursor != head {
		return 0, &broken{fmt.Sprintf("everything up to seq %d", head), fmt.Sprintf("nothing behind seq %d", cursor), "7.1"}
	}
	return cursor, nil
}

// follow applies entries, each behind the one before; those that are known already
// are passed over.
func follow(cursor uint64, entries []*wire.Entry) (uint64, error) {
	for _, e := range entries {
		if e.GetSeq() <= cursor {
			continue
		}
		if e.GetSeq() != cursor+1 {
			return cursor, &broken{fmt.Sprintf("the entry %d", cursor+1), strconv.FormatUint(e.GetSeq(), 10), "6.8"}
		}
		cursor = e.GetSeq()
	}
	return cursor, nil
}
