package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// Resume is a storm of reconnects: clients with many conversations, a few of
// which change while all of them are away, come back at the same moment.
//
// Each client has Conversations direct chats with accounts that never connect,
// and Changed groups with everybody in them; what changes is one message in each
// of the groups.
func Resume(ctx context.Context, o Options, start Starter) (*Report, error) {
	o.Scenario, o.GroupSize = ScenarioResume, o.Connections+1
	if o.Connections < 1 || o.Changed < 0 || o.Conversations < 0 {
		return nil, fmt.Errorf("resume needs a connection or more, and no negative numbers")
	}
	return withServer(ctx, &o, start, func(r *run) error {
		if r.s.floor {
			return errors.New("there is no floor for this scenario")
		}
		users, err := r.s.register(ctx, r.o, o.Connections+max(o.Conversations, 1))
		if err != nil {
			return err
		}
		users, rest := users[:o.Connections], users[o.Connections:]
		pool := make([]string, o.Conversations)
		for i := range pool {
			pool[i] = rest[i].ID
		}
		members := append([]userPlan{rest[0]}, users...) // who writes while they are away owns the groups
		var groups []string
		for i := range o.Changed {
			name, adding, err := r.s.group(ctx, fmt.Sprintf("changed %d", i), members)
			if err != nil {
				return err
			}
			groups = append(groups, name)
			r.r.AddMembersMS = float64(adding.Microseconds()) / 1000
		}
		if _, err := r.change(ctx, rest[0], groups); err != nil { // they are in use
			return err
		}
		if err := r.connect(ctx, users, nil, pool); err != nil {
			return err
		}
		o.progress("  %d messages to fill the lists", o.Connections*o.Conversations)
		if _, err := r.every(ctx, doFill); err != nil {
			return err
		}
		promised, err := r.change(ctx, rest[0], groups)
		if err != nil {
			return err
		}
		return r.storm(ctx, promised)
	})
}

// change writes one message to each group.
func (r *run) change(ctx context.Context, from userPlan, groups []string) (map[string][]ackedSeq, error) {
	ids, promised := wire.NewIDSource(nil, nil), map[string][]ackedSeq{}
	for _, g := range groups {
		id := ids.Next()
		var got wire.SendMessageResponse
		err := r.s.call(ctx, from.Token, "skein.v1.MessageService/SendMessage", &wire.SendMessageRequest{
			Conversation: g, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "while you were away"}},
		}, &got)
		if err != nil {
			return nil, err
		}
		promised[g] = []ackedSeq{{got.GetSeq(), identity(id[:])}}
	}
	return promised, nil
}

// storm has all clients come back at once.
func (r *run) storm(ctx context.Context, promised map[string][]ackedSeq) error {
	time.Sleep(2 * time.Second) // the server's goodbyes to the others are done
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	answers, err := r.all(ctx, func(int) command { return command{Do: doReturn, Promised: promised} })
	if err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	x, n := &ResumeReport{}, float64(r.o.Connections)
	var client, synced histogram
	var last int64
	for _, a := range answers {
		s := a.Storm
		client.add(s.Client)
		synced.add(s.Sync)
		last = max(last, s.Last)
		x.BytesMean += float64(s.Bytes) / n
		x.BytesMax = max(x.BytesMax, s.BytesMax)
		x.RoundTrips += float64(s.RoundTrips) / n
		x.Missing += s.Missing
	}
	x.InSyncSeconds = time.Unix(0, last).Sub(begin).Seconds()
	x.PerClient, x.Sync = client.latency(), synced.latency()
	x.ServerCPUus = float64((to.cpu - from.cpu).Microseconds()) / n
	r.r.Resume = x
	return r.memory(ctx)
}

// storm is a worker's part of it.
type storm struct {
	Client     counted `json:"client"`
	Sync       counted `json:"sync"`
	Last       int64   `json:"last"` // Unix nanoseconds
	Bytes      uint64  `json:"bytes"`
	BytesMax   uint64  `json:"bytes_max"`
	RoundTrips uint64  `json:"round_trips"`
	Missing    uint64  `json:"missing"`
}

// resume is a worker's share of the clients.
type resume struct {
	plan    *plan
	codec   wire.Codec
	clients []*resumer
}

// resumer is one client; nobody reads its connection but who calls it.
type resumer struct {
	*conn
	userPlan
	target             string
	timeline, position string
}

func newResume(p *plan) (*resume, error) {
	codec, err := codecByName(p.Options.Codec)
	r := &resume{plan: p, codec: codec, clients: make([]*resumer, len(p.Users))}
	for i, u := range p.Users {
		r.clients[i] = &resumer{userPlan: u, target: p.Targets[(p.First+i)%len(p.Targets)]}
	}
	return r, err
}

func (c *resumer) dial(r *resume) (err error) {
	if c.conn, err = dial(c.target, r.plan.Source, r.codec); err == nil {
		err = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
	}
	return err
}

func (r *resume) each(ctx context.Context, atOnce int, f func(c *resumer) error) error {
	return each(ctx, len(r.clients), atOnce, func(i int) error {
		if err := f(r.clients[i]); err != nil {
			return fmt.Errorf("%s: %w", r.clients[i].ID, err)
		}
		return nil
	})
}

func (r *resume) close() {
	for _, c := range r.clients {
		if c != nil && c.conn != nil {
			c.Close()
		}
	}
}

func (r *resume) do(ctx context.Context, c command) (*answer, error) {
	switch c.Do {
	case doFill:
		return &answer{}, r.each(ctx, 64, func(c *resumer) error { return c.visit(r) })
	case doReturn:
		s, err := r.comeBack(ctx, c.Promised)
		return &answer{Storm: s}, err
	}
	return nil, fmt.Errorf("a client of this scenario cannot %q", c.Do)
}

// visit logs in, fills the list, and leaves again: who waited for the others would
// have to be kept alive.
func (c *resumer) visit(r *resume) error {
	if err := c.dial(r); err != nil {
		return err
	}
	l, err := c.hello(c.Token, "", "")
	if err == nil {
		c.timeline, c.position = l.timeline, l.position
		err = c.fill(r.plan.Pool)
	}
	if err != nil {
		return err
	}
	return c.leave()
}

// fill writes one message to each account of the pool.
func (c *resumer) fill(pool []string) error {
	const window = 100
	ids := wire.NewIDSource(nil, nil)
	for len(pool) > 0 {
		n := min(len(pool), window)
		for _, peer := range pool[:n] {
			id := ids.Next()
			err := c.queue(wire.NewClientFrame(&wire.Send{
				Conversation: dmName(c.ID, peer), Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}},
			}))
			if err != nil {
				return err
			}
		}
		if err := c.flush(); err != nil {
			return err
		}
		for acks := 0; acks < n; {
			f, err := c.read()
			if err != nil {
				return err
			}
			switch x := f.Frame.(type) {
			case *wire.ServerFrame_SendAck:
				acks++
			case *wire.ServerFrame_SendError:
				if x.SendError.GetError().GetCode() != string(wire.CodeRateLimited) {
					return fmt.Errorf("send: %s: %s", x.SendError.GetError().GetCode(), x.SendError.GetError().GetMessage())
				}
				return errors.New("the server's send_rate is lower than this scenario's")
			}
		}
		if pool = pool[n:]; len(pool) > 0 {
			time.Sleep(window * time.Second / 190) // gateway.send_rate
		}
	}
	return nil
}

// leave remembers where it is and goes.
func (c *resumer) leave() error {
	defer c.Close()
	ask := wire.NewClientFrame(&wire.Sync{Number: 7, Position: c.position, Timeline: c.timeline})
	if err := errors.Join(c.queue(ask), c.flush()); err != nil {
		return err
	}
	for {
		f, err := c.read()
		if err != nil {
			return err
		}
		if d := f.GetSyncDelta(); d.GetNumber() == 7 {
			if c.timeline = d.Timeline; d.Position != "" { // else there are more pages: it stays where it was
				c.position = d.Position
			}
			return nil
		}
	}
}

// comeBack dials with all clients at once.
func (r *resume) comeBack(ctx context.Context, promised map[string][]ackedSeq) (*storm, error) {
	s := &storm{}
	var client, synced histogram
	var mu sync.Mutex
	err := r.each(ctx, len(r.clients), func(c *resumer) error {
		begin := time.Now()
		if err := c.dial(r); err != nil {
			return err
		}
		hello := time.Now()
		l, err := c.hello(c.Token, c.timeline, c.position)
		if err != nil {
			return err
		}
		missing, trips, err := c.catchUp(l, promised)
		if err != nil {
			return err
		}
		now := time.Now()
		client.record(now.Sub(begin))
		synced.record(now.Sub(hello))
		mu.Lock()
		defer mu.Unlock()
		s.Last = max(s.Last, now.UnixNano())
		s.Bytes += uint64(l.bytes)
		s.BytesMax = max(s.BytesMax, uint64(l.bytes))
		s.RoundTrips += uint64(l.pages + trips)
		s.Missing += missing
		return nil
	})
	s.Client, s.Sync = client.counted(), synced.counted()
	return s, err
}

// catchUp pulls what the delta did not bring, and counts what is missing then
// and the round trips it took.
func (c *resumer) catchUp(l *login, promised map[string][]ackedSeq) (missing uint64, trips int, err error) {
	have := map[string][]*wire.Entry{}
	for _, s := range l.conversations {
		have[s.Conversation] = s.Entries
	}
	for name, acked := range promised {
		for _, a := range acked {
			if found(have[name], a) {
				continue
			}
			trips++
			entries, err := c.pull(name, a.Seq)
			if err != nil {
				return 0, 0, err
			}
			if !found(entries, a) {
				missing++
			}
		}
	}
	return missing, trips, nil
}

func found(entries []*wire.Entry, a ackedSeq) bool {
	for _, e := range entries {
		if e.Seq == a.Seq && identity(e.Id) == a.ID {
			return true
		}
	}
	return false
}

func (c *resumer) pull(name string, from uint64) ([]*wire.Entry, error) {
	ask := wire.NewClientFrame(&wire.Pull{Number: 1, Conversation: name, From: from})
	if err := errors.Join(c.queue(ask), c.flush()); err != nil {
		return nil, err
	}
	for {
		f, err := c.read()
		if err != nil {
			return nil, err
		}
		if x := f.GetRange(); x != nil {
			return x.Entries, nil
		}
	}
}
