package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/wire"
)

// BytesReport is what clients read from and write to their sockets after the upgrade,
// frames of WebSocket included and those of TCP not, in each codec, plain and deflated.
type BytesReport struct {
	Version       string        `json:"version"`
	ServerVersion string        `json:"server_version"`
	Messages      int           `json:"messages"`      // of the hour
	Conversations int           `json:"conversations"` // that changed
	Rows          []BytesRow    `json:"rows"`
	Connections   int           `json:"connections"` // of each crowd
	Crowds        []CrowdReport `json:"crowds"`      // plain, then deflated
}

// BytesRow is one way to speak.
type BytesRow struct {
	Codec   string  `json:"codec"` // pb or json
	Deflate bool    `json:"deflate"`
	Chat    Traffic `json:"chat"`    // an hour, of one of the two clients, the mean
	Resume  Traffic `json:"resume"`  // from the Hello on, all pages
	History Traffic `json:"history"` // a page of 50
}

// Traffic is bytes in both directions.
type Traffic struct {
	Down int64 `json:"down"` // the client read
	Up   int64 `json:"up"`
}

func (t Traffic) plus(o Traffic) Traffic { return Traffic{t.Down + o.Down, t.Up + o.Up} }

const (
	// hourPairs is how many pairs share the hour: a position goes with what is pushed
	// once a second at most, so between two messages of a pair there is a second, as in
	// an hour, and the hour takes a minute.
	hourPairs = 20
	hourPace  = 1100 * time.Millisecond
	// hourPings is how often a client that is never silent compares what it has: its
	// heads once a minute.
	hourPings = 60
	// bytesTime bounds one answer.
	bytesTime = time.Minute
)

// Bytes counts what a chat hour, a resume and a page of history take, with clients
// of their own for each codec, plain and deflated; then what a crowd of connections
// keeps in the server's memory when it was left alone for o.Duration, and costs it for
// each message, plain and deflated.
func Bytes(ctx context.Context, o Options, messages, conversations int, start Starter) (*BytesReport, error) {
	if messages < 1 || conversations < 1 || o.Connections < 2 {
		return nil, errors.New("bytes: want a message, a conversation and two connections or more")
	}
	r := &BytesReport{Messages: messages, Conversations: conversations, Connections: o.Connections, Rows: []BytesRow{
		{Codec: "pb"}, {Codec: "pb", Deflate: true}, {Codec: "json"}, {Codec: "json", Deflate: true},
	}}
	if err := r.fill(ctx, &o, start); err != nil {
		return nil, err
	}
	for _, deflate := range []bool{false, true} {
		c, err := crowdOf(ctx, &o, start, deflate)
		if err != nil {
			return nil, fmt.Errorf("%d connections, deflate %v: %w", o.Connections, deflate, err)
		}
		r.Crowds = append(r.Crowds, *c)
	}
	return r, nil
}

func (r *BytesReport) fill(ctx context.Context, o *Options, start Starter) error {
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	users, err := s.register(ctx, o, 1+r.Conversations+2*hourPairs*len(r.Rows))
	if err != nil {
		return err
	}
	b := &bytesRun{s: s, messages: r.Messages}
	reader, others, pairs := users[0], users[1:1+r.Conversations], users[1+r.Conversations:]
	o.progress("  %d conversations change", len(others))
	from, err := b.change(ctx, reader, others)
	if err != nil {
		return err
	}
	o.progress("  an hour of %d messages, in each codec", r.Messages)
	return each(ctx, len(r.Rows), len(r.Rows), func(i int) (err error) {
		row := &r.Rows[i]
		own := pairs[2*hourPairs*i : 2*hourPairs*(i+1)]
		if row.Resume, err = b.resume(ctx, row, reader, from, r.Conversations); err != nil {
			return fmt.Errorf("resume in %s, deflate %v: %w", row.Codec, row.Deflate, err)
		}
		if row.Chat, err = b.hour(ctx, row, own); err != nil {
			return fmt.Errorf("chat in %s, deflate %v: %w", row.Codec, row.Deflate, err)
		}
		if row.History, err = b.page(ctx, row, own[0], own[1]); err != nil {
			return fmt.Errorf("history in %s, deflate %v: %w", row.Codec, row.Deflate, err)
		}
		return nil
	})
}

// bytesRun is the part with the rows.
type bytesRun struct {
	s        *Server
	messages int
}

// change has each of the others write to the reader, who was there before.
func (b *bytesRun) change(ctx context.Context, reader userPlan, others []userPlan) (*login, error) {
	t, err := talk(b.s, &BytesRow{Codec: "pb"}, reader, nil)
	if err != nil {
		return nil, err
	}
	t.Close()
	ids, texts := wire.NewIDSource(nil, nil), newTexts()
	sends := make([]*wire.SendMessageRequest, len(others))
	for i, u := range others {
		id := ids.Next()
		sends[i] = &wire.SendMessageRequest{Conversation: dmName(u.ID, reader.ID), Id: id[:], Content: texts.next()}
	}
	return t.login, each(ctx, len(others), 16, func(i int) error {
		return b.s.call(ctx, others[i].Token, "skein.v1.MessageService/SendMessage", sends[i], &wire.SendMessageResponse{})
	})
}

// resume comes back from before the conversations changed.
func (b *bytesRun) resume(_ context.Context, row *BytesRow, reader userPlan, from *login, changed int) (Traffic, error) {
	t, err := talk(b.s, row, reader, from)
	if err != nil {
		return Traffic{}, err
	}
	defer t.Close()
	if n := len(t.login.conversations); n < changed {
		return Traffic{}, fmt.Errorf("%d conversations are told, %d changed", n, changed)
	}
	return t.traffic(), nil
}

// hour has the pairs write in turns, together as many messages as an hour has: the
// mean of the two sides of all pairs together.
func (b *bytesRun) hour(ctx context.Context, row *BytesRow, users []userPlan) (Traffic, error) {
	pairs := min(hourPairs, b.messages)
	var mu sync.Mutex
	var sum Traffic
	err := each(ctx, pairs, pairs, func(i int) error {
		messages := (b.messages + pairs - 1 - i) / pairs
		pings := (hourPings + pairs - 1 - i) / pairs
		got, err := b.pair(ctx, row, users[2*i:2*i+2], messages, pings)
		mu.Lock()
		defer mu.Unlock()
		sum = sum.plus(got)
		return err
	})
	return Traffic{sum.Down / 2, sum.Up / 2}, err
}

// pair is the traffic of two who write in turns, both sides together. Each message is
// acknowledged, received and read; each of the two compares its heads now and then.
func (b *bytesRun) pair(ctx context.Context, row *BytesRow, users []userPlan, messages, pings int) (Traffic, error) {
	var two [2]*talker
	for i, u := range users {
		t, err := talk(b.s, row, u, nil)
		if err != nil {
			return Traffic{}, err
		}
		defer t.Close()
		two[i] = t
	}
	// The first one makes the conversation.
	conversation, ids, texts := dmName(users[0].ID, users[1].ID), wire.NewIDSource(nil, nil), newTexts()
	if err := exchange(two[0], two[1], conversation, ids, texts); err != nil {
		return Traffic{}, err
	}
	for _, t := range two {
		t.meter.reset()
	}
	pace := time.NewTicker(hourPace)
	defer pace.Stop()
	for n := range messages {
		select {
		case <-ctx.Done():
			return Traffic{}, ctx.Err()
		case <-pace.C:
		}
		if err := exchange(two[n%2], two[1-n%2], conversation, ids, texts); err != nil {
			return Traffic{}, err
		}
		for ; pings > 0 && pings >= messages-n; pings-- { // the last messages have one behind each
			for _, t := range two {
				if err := t.compare(conversation); err != nil {
					return Traffic{}, err
				}
			}
		}
	}
	return two[0].traffic().plus(two[1].traffic()), nil
}

// exchange is one message from one to the other, and its marks back.
func exchange(from, to *talker, conversation string, ids *wire.IDSource, texts *texts) error {
	id := ids.Next()
	err := from.say(wire.NewClientFrame(&wire.Send{Conversation: conversation, Id: id[:], Content: texts.next()}))
	var seq uint64
	if err == nil {
		err = from.hear(func(f *wire.ServerFrame) bool { seq = f.GetSendAck().GetSeq(); return seq > 0 })
	}
	if err == nil {
		err = to.hear(func(f *wire.ServerFrame) bool {
			es := f.GetPush().GetEntries()
			return len(es) > 0 && es[len(es)-1].GetSeq() >= seq
		})
	}
	from.seq, to.seq = seq, seq
	if err == nil {
		err = to.say(wire.NewClientFrame(&wire.Received{Conversation: conversation, Seq: seq}), wire.NewClientFrame(&wire.Read{Conversation: conversation, Seq: seq}))
	}
	if err == nil {
		err = from.hear(func(f *wire.ServerFrame) bool { return f.GetReceipt().GetRead() >= seq })
	}
	return err
}

// page asks for the last 50 of a conversation of its own.
func (b *bytesRun) page(ctx context.Context, row *BytesRow, one, other userPlan) (Traffic, error) {
	const page = 50
	conversation, ids, texts := dmName(one.ID, other.ID), wire.NewIDSource(nil, nil), newTexts()
	for i := range page {
		id := ids.Next()
		from := []userPlan{one, other}[i%2]
		ask := &wire.SendMessageRequest{Conversation: conversation, Id: id[:], Content: texts.next()}
		if err := b.s.call(ctx, from.Token, "skein.v1.MessageService/SendMessage", ask, &wire.SendMessageResponse{}); err != nil {
			return Traffic{}, err
		}
	}
	t, err := talk(b.s, row, one, nil)
	if err != nil {
		return Traffic{}, err
	}
	defer t.Close()
	t.meter.reset()
	var got *wire.Range
	if err := t.say(wire.NewClientFrame(&wire.Pull{Number: 1, Conversation: conversation, Backward: true, Limit: page})); err != nil {
		return Traffic{}, err
	}
	err = t.hear(func(f *wire.ServerFrame) bool { got = f.GetRange(); return got != nil })
	if err == nil && len(got.GetEntries()) != page {
		err = fmt.Errorf("a page has %d entries, want %d: %s", len(got.GetEntries()), page, got.GetError())
	}
	return t.traffic(), err
}

// meter counts the bytes of a socket.
type meter struct {
	net.Conn
	down, up atomic.Int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.down.Add(int64(n))
	return n, err
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.up.Add(int64(n))
	return n, err
}

func (m *meter) reset() {
	m.down.Store(0)
	m.up.Store(0)
}

// talker is a client that says and hears one thing after the other.
type talker struct {
	*conn
	meter *meter
	login *login
	// compared and seq are the conversation's end when heads were compared last, and now.
	compared, seq uint64
}

// talk connects and logs in, and syncs from where it was, nil: from nothing. Its
// traffic counts from the Hello on.
func talk(s *Server, row *BytesRow, u userPlan, from *login) (*talker, error) {
	codec, err := codecByName(row.Codec)
	if err != nil {
		return nil, err
	}
	targets, err := s.targets("ws")
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(targets[0])
	if err != nil {
		return nil, err
	}
	nc, err := net.DialTimeout("tcp", at.Host, bytesTime)
	if err != nil {
		return nil, err
	}
	t := &talker{meter: &meter{Conn: nc}}
	if t.conn, err = open(t.meter, at, codec, row.Deflate); err != nil {
		return nil, err
	}
	t.meter.reset()
	if from == nil {
		from = &login{}
	}
	if err = t.SetReadDeadline(time.Now().Add(bytesTime)); err == nil {
		t.login, err = t.hello(u.Token, from.timeline, from.position)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *talker) traffic() Traffic { return Traffic{Down: t.meter.down.Load(), Up: t.meter.up.Load()} }

func (t *talker) say(fs ...*wire.ClientFrame) error {
	for _, f := range fs {
		if err := t.queue(f); err != nil {
			return err
		}
	}
	return t.flush()
}

// hear reads until done says so of a frame; a refusal is an error.
func (t *talker) hear(done func(*wire.ServerFrame) bool) error {
	if err := t.SetReadDeadline(time.Now().Add(bytesTime)); err != nil {
		return err
	}
	for {
		f, err := t.read()
		if err != nil {
			return err
		}
		for _, x := range []*wire.Error{f.GetError(), f.GetSendError().GetError(), f.GetRange().GetError()} {
			if x != nil {
				return fmt.Errorf("%s: %s", x.GetCode(), x.GetMessage())
			}
		}
		if f.GetPing() != nil {
			if err := t.say(wire.NewClientFrame(&wire.Pong{})); err != nil {
				return err
			}
		}
		if done(f) {
			return nil
		}
	}
}

// compare has the server compare the heads, as a client does that is not silent.
func (t *talker) compare(conversation string) error {
	var digest uint64
	if t.seq > t.compared {
		digest = wire.HeadHash(conversation, t.seq)
	}
	if err := t.say(wire.NewClientFrame(&wire.Ping{Position: t.login.position, Digest: &digest})); err != nil {
		return err
	}
	var pong *wire.Pong
	err := t.hear(func(f *wire.ServerFrame) bool { pong = f.GetPong(); return pong != nil })
	switch {
	case err != nil:
	case pong.Resync:
		err = errors.New("the server has something else than was told")
	case pong.Position != "":
		t.login.position, t.compared = pong.Position, t.seq
	}
	return err
}

// texts makes what people write, the same in every run: some 5 to 100 characters.
type texts struct{ random *rand.Rand }

func newTexts() *texts { return &texts{rand.New(rand.NewPCG(7, 11))} }

var words = strings.Fields("yes no ok thanks see you at the station later I think that we should go home before it rains " +
	"what did she say about tomorrow morning please bring some bread and coffee where are you now waiting for bus number seven " +
	"sounds good let me know when he arrives maybe on Friday evening with Anna if nothing else comes up")

func (t *texts) next() *wire.Content {
	picked := make([]string, 1+t.random.IntN(18))
	for i := range picked {
		picked[i] = words[t.random.IntN(len(words))]
	}
	return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: strings.Join(picked, " ")}}
}
