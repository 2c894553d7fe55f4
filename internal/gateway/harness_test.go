package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/transport/pipe"
	"github.com/skein-im/skein/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLogic is a Logic whose answers a test may replace. By default a token is
// the user's id, a send is stored at once, and everything is allowed.
type fakeLogic struct {
	mu    sync.Mutex
	seqs  map[im.ConversationID]uint64
	sent  []im.Message
	marks []im.Mark

	authenticate func(im.Handshake) (im.Actor, error)
	send         func(im.Actor, im.Message, func(im.Ack, error))
	mark         func(im.ConversationID, uint64, uint64, func(error))
	sync         func(im.SyncQuery) (im.SyncResult, error)
	syncing      func(context.Context) error
	pull         func(im.PullQuery) (im.PullResult, error)
	compare      func(string, uint64) (bool, string, error)
	signal       func(im.Actor, im.Signal) ([]im.UserID, error)
	seen         map[im.UserID]time.Time // of whom is watched
	left         []im.Watched            // what was told of who left
	call         func(context.Context, string, []byte) ([]byte, error)
}

func (l *fakeLogic) Authenticate(_ context.Context, h im.Handshake) (im.Actor, error) {
	if l.authenticate != nil {
		return l.authenticate(h)
	}
	return actorOf(h), nil
}

func actorOf(h im.Handshake) im.Actor {
	return im.Actor{User: im.UserID(h.Token), Session: im.SessionID("s-" + h.Device.ID), Connection: h.Connection, Device: h.Device, Address: h.Address}
}

func (l *fakeLogic) Send(_ context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	l.mu.Lock()
	l.sent = append(l.sent, m)
	f := l.send
	if l.seqs == nil {
		l.seqs = map[im.ConversationID]uint64{}
	}
	if f == nil {
		l.seqs[m.Conversation]++
	}
	seq := l.seqs[m.Conversation]
	l.mu.Unlock()
	if f != nil {
		f(from, m, reply)
		return
	}
	reply(im.Ack{Seq: seq, Count: seq, Stored: time.UnixMilli(1000)}, nil)
}

func (l *fakeLogic) Mark(_ context.Context, from im.Actor, c im.ConversationID, received, read uint64, reply func(error)) {
	l.mu.Lock()
	l.marks = append(l.marks, im.Mark{User: from.User, Conversation: c, Received: received, Read: read})
	l.mu.Unlock()
	if l.mark != nil {
		l.mark(c, received, read, reply)
		return
	}
	reply(nil)
}

func (l *fakeLogic) Sync(ctx context.Context, _ im.Actor, q im.SyncQuery) (im.SyncResult, error) {
	if l.syncing != nil {
		return im.SyncResult{}, l.syncing(ctx)
	}
	if l.sync != nil {
		return l.sync(q)
	}
	return im.SyncResult{Timeline: "tl", Position: "p1"}, nil
}

func (l *fakeLogic) Pull(_ context.Context, _ im.Actor, q im.PullQuery) (im.PullResult, error) {
	if l.pull != nil {
		return l.pull(q)
	}
	return im.PullResult{Head: 7}, nil
}

func (l *fakeLogic) Compare(_ context.Context, _ im.Actor, p string, d uint64) (bool, string, error) {
	if l.compare != nil {
		return l.compare(p, d)
	}
	return true, "p2", nil
}

func (l *fakeLogic) Signal(_ context.Context, a im.Actor, s im.Signal) (may []im.Watched, err error) {
	if s.Seen != nil {
		l.mu.Lock()
		l.left = append(l.left, s.Seen...)
		l.mu.Unlock()
		return nil, nil
	}
	users := s.Watch
	if l.signal != nil {
		users, err = l.signal(a, s)
	}
	for _, u := range users {
		may = append(may, im.Watched{User: u, Seen: l.seen[u]})
	}
	return may, err
}

func (l *fakeLogic) Call(ctx context.Context, method string, payload []byte) ([]byte, error) {
	if l.call != nil {
		return l.call(ctx, method, payload)
	}
	return payload, nil
}

// logicFor adds the actor parameter of im.Logic.Call, which no test looks at.
type logicFor struct{ *fakeLogic }

func (l logicFor) Call(ctx context.Context, _ im.Actor, call im.Call) ([]byte, error) {
	return l.fakeLogic.Call(ctx, call.Method, call.Payload)
}

func (l *fakeLogic) markList() []im.Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]im.Mark(nil), l.marks...)
}

func (l *fakeLogic) sentCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent)
}

// world is a gateway over a fakeLogic.
type world struct {
	t     testing.TB
	g     *Gateway
	logic *fakeLogic
	// groups is what Options.Groups answers.
	mu     sync.Mutex
	groups map[im.UserID][]im.ConversationID
	live   []im.SessionID // what Standing says of sessions
	roster uint64         // the revision of all of them, as far as it is known
	from   uint64         // from which entry on all is theirs whose groups are read
	// onGroups runs after the list was read and before it is returned.
	onGroups func(im.UserID)
	reads    int
	errGroup error
}

func newWorld(t testing.TB, change ...func(*Options)) *world {
	w := &world{t: t, logic: &fakeLogic{}, groups: map[im.UserID][]im.ConversationID{}, from: 1}
	o := Options{
		Logic: logicFor{w.logic}, Codecs: []wire.Codec{wire.Protobuf(), wire.JSON()}, Node: "n",
		Timeline: func() string { return "tl" },
		Standing: w.groupsOf,
	}
	for _, c := range change {
		c(&o)
	}
	w.g = New(o)
	t.Cleanup(func() { _ = w.g.Close() })
	return w
}

func (w *world) groupsOf(_ context.Context, u im.UserID) (st im.Standing, err error) {
	w.mu.Lock()
	list, f := w.groups[u], w.onGroups
	err, st.Sessions = w.errGroup, w.live
	w.reads++
	w.mu.Unlock()
	if f != nil {
		f(u)
	}
	for _, c := range list {
		st.Groups = append(st.Groups, im.GroupStanding{Conversation: c, Roster: w.roster, From: w.from})
	}
	return st, err
}

func (w *world) set(u im.UserID, cs ...im.ConversationID) {
	w.mu.Lock()
	w.groups[u] = cs
	w.mu.Unlock()
}

// peer is the client's end of a connection.
type peer struct {
	t     testing.TB
	w     *world
	conn  wire.Conn
	nc    net.Conn
	codec wire.Codec
	done  chan struct{} // closed when Serve has returned
}

func (w *world) dial(codec wire.Codec) *peer { return w.dialSize(codec, pipe.Size) }

func (w *world) dialSize(codec wire.Codec, size int) *peer {
	server, nc := pipe.PairSize(codec.Name(), size)
	p := &peer{t: w.t, w: w, nc: nc, conn: wire.NewStreamConn(nc, codec.Name()), codec: codec, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		w.g.Serve(server)
	}()
	w.t.Cleanup(func() { _ = nc.Close() })
	return p
}

func (p *peer) send(f *wire.ClientFrame) {
	p.t.Helper()
	b, err := p.codec.Append(nil, f)
	if err != nil {
		p.t.Fatal(err)
	}
	p.raw(b)
}

// raw sends a message; a closed connection is the reader's finding.
func (p *peer) raw(b []byte) {
	_ = p.conn.Write(p.conn.AppendMessage(nil, b), time.Now().Add(time.Minute))
}

// batch sends several frames in one write.
func (p *peer) batch(fs ...*wire.ClientFrame) {
	p.t.Helper()
	var all []byte
	for _, f := range fs {
		b, err := p.codec.Append(nil, f)
		if err != nil {
			p.t.Fatal(err)
		}
		all = p.conn.AppendMessage(all, b)
	}
	_ = p.conn.Write(all, time.Now().Add(time.Minute))
}

// patience bounds every wait for the server, so that a test whose answer never
// comes says which. In a bubble, where time begins in the year 2000 and costs
// nothing, it is longer than any heartbeat.
func patience() time.Duration {
	if time.Now().Year() < 2020 {
		return time.Hour
	}
	return 5 * time.Second
}

// next reads a frame; its error is os.ErrDeadlineExceeded when none comes.
func (p *peer) next() (*wire.ServerFrame, error) {
	_ = p.nc.SetReadDeadline(time.Now().Add(patience()))
	b, err := p.conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	f := new(wire.ServerFrame)
	return f, p.codec.Decode(b, f)
}

func (p *peer) read() *wire.ServerFrame {
	p.t.Helper()
	f, err := p.next()
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return f
}

// want reads a frame and compares its short form (see brief).
func (p *peer) want(want string) *wire.ServerFrame {
	p.t.Helper()
	f := p.read()
	if got := brief(f); got != want {
		p.t.Fatalf("got  %s\nwant %s", got, want)
	}
	return f
}

// wantClosed reads the end of the connection.
func (p *peer) wantClosed() {
	p.t.Helper()
	f, err := p.next()
	if err == nil {
		p.t.Fatalf("got %s, want the end", brief(f))
	}
	if !errors.Is(err, io.EOF) {
		p.t.Fatalf("read: %v, want io.EOF", err)
	}
	p.ended()
}

// ended waits until the gateway is done with the connection.
func (p *peer) ended() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience()):
		p.t.Fatal("the gateway goes on serving the connection")
	}
}

// quiet asserts that nothing arrives: a ping's pong is the next frame.
func (p *peer) quiet() {
	p.t.Helper()
	p.send(wire.NewClientFrame(&wire.Ping{}))
	p.want("pong")
}

func hello(user, device string, class wire.DeviceClass) *wire.ClientFrame {
	return wire.NewClientFrame(&wire.Hello{
		VersionMin: 1, VersionMax: 1, Token: user, Client: "test",
		Device: &wire.Device{Id: device, Class: class, Name: device + "'s name"},
	})
}

// login opens a connection and reads the Welcome.
func (w *world) login(user, device string) *peer {
	w.t.Helper()
	p := w.dial(wire.Protobuf())
	p.send(hello(user, device, wire.DeviceClass_DEVICE_CLASS_PHONE))
	p.want("welcome " + user)
	return p
}

func text(c string, id byte, s string) *wire.ClientFrame {
	return wire.NewClientFrame(&wire.Send{Conversation: c, Id: msgID(id), Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}})
}

func msgID(n byte) []byte {
	id := im.NewMessageID(time.UnixMilli(1000), [10]byte{9: n})
	return id[:]
}

func entry(c im.ConversationID, seq uint64, s string) im.Entry {
	return im.Entry{Conversation: c, Seq: seq, Count: seq, Kind: im.EntryMessage, Sender: "zoe", Body: entrycodec.Encode(&wire.Entry{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}})}
}

func rosterEntry(c im.ConversationID, seq uint64, t im.EventType, users ...im.UserID) im.Entry {
	v := &im.Event{Type: t, Users: users}
	return im.Entry{Conversation: c, Seq: seq, Kind: im.EntryEvent, Sender: "zoe", Event: v, Body: entrycodec.Event(v)}
}

func parcel(es ...im.Entry) im.Parcel { return im.Parcel{Entries: es} }

func (w *world) toGroup(c im.ConversationID, es ...im.Entry) {
	w.g.ToGroup(c, parcel(es...))
	w.g.Flush()
}

// brief is a frame as tests write it.
func brief(f *wire.ServerFrame) string {
	switch x := f.Frame.(type) {
	case *wire.ServerFrame_Announcements:
		return briefAnnouncements(x.Announcements)
	case *wire.ServerFrame_Welcome:
		return "welcome " + x.Welcome.User
	case *wire.ServerFrame_SendAck:
		return fmt.Sprintf("ack %d %s %d", x.SendAck.Id[15], x.SendAck.Conversation, x.SendAck.Seq)
	case *wire.ServerFrame_SendError:
		n := -1
		if len(x.SendError.Id) == 16 {
			n = int(x.SendError.Id[15])
		}
		first := ""
		if len(x.SendError.First) == 16 {
			first = fmt.Sprintf(" first %d", x.SendError.First[15])
		}
		return fmt.Sprintf("send_error %d %s%s", n, codeIn(x.SendError.Error), first)
	case *wire.ServerFrame_Push:
		return pushBrief(x.Push)
	case *wire.ServerFrame_Receipt:
		return fmt.Sprintf("receipt %s %s %d %d", x.Receipt.Conversation, x.Receipt.User, x.Receipt.Received, x.Receipt.Read)
	case *wire.ServerFrame_SyncDelta:
		if e := x.SyncDelta.Error; e != nil {
			return fmt.Sprintf("delta %d error %s", x.SyncDelta.Number, e.Code)
		}
		return fmt.Sprintf("delta %d %s", x.SyncDelta.Number, x.SyncDelta.Position)
	case *wire.ServerFrame_Range:
		return fmt.Sprintf("range %d %s %d %s", x.Range.Number, x.Range.Conversation, x.Range.Head, codeIn(x.Range.Error))
	case *wire.ServerFrame_Floor:
		return fmt.Sprintf("floor %s %d %d", x.Floor.Conversation, x.Floor.Seq, x.Floor.Count)
	case *wire.ServerFrame_Typing:
		return "typing " + x.Typing.Conversation + " " + x.Typing.User
	case *wire.ServerFrame_Signal:
		return fmt.Sprintf("signal %s %s %s %x", x.Signal.Conversation, x.Signal.User, x.Signal.Type, x.Signal.Data)
	case *wire.ServerFrame_Part:
		return fmt.Sprintf("part %s#%d=%s", x.Part.Conversation, x.Part.Seq, x.Part.Text)
	case *wire.ServerFrame_Presence:
		return fmt.Sprintf("presence %s %v", x.Presence.User, x.Presence.Online)
	case *wire.ServerFrame_Result:
		if e := x.Result.GetError(); e != nil {
			return fmt.Sprintf("result %d error %s", x.Result.Number, e.Code)
		}
		if x.Result.GetJson() != nil {
			return fmt.Sprintf("result %d json", x.Result.Number)
		}
		return fmt.Sprintf("result %d %q", x.Result.Number, x.Result.GetBody())
	case *wire.ServerFrame_Pong:
		switch {
		case x.Pong.Resync:
			return "pong resync"
		case x.Pong.Position != "":
			return "pong " + x.Pong.Position
		}
		return "pong"
	case *wire.ServerFrame_Ping:
		return "ping"
	case *wire.ServerFrame_Heads:
		var b strings.Builder
		b.WriteString("heads")
		for _, h := range x.Heads.Heads {
			fmt.Fprintf(&b, " %s#%d", h.Conversation, h.Seq)
		}
		return b.String()
	case *wire.ServerFrame_Resync:
		return "resync"
	case *wire.ServerFrame_Kick:
		if x.Kick.By != nil {
			return "kick " + codeIn(x.Kick.Error) + " by " + x.Kick.By.Id
		}
		return "kick " + codeIn(x.Kick.Error)
	case *wire.ServerFrame_Renewed:
		return fmt.Sprintf("renewed %d", x.Renewed.TokenExpiresAtMs)
	case *wire.ServerFrame_GoAway:
		return "go_away"
	case *wire.ServerFrame_Error:
		return "error " + codeIn(x.Error)
	}
	return "unknown frame"
}

func pushBrief(p *wire.Push) string {
	var b strings.Builder
	b.WriteString("push")
	for _, e := range p.Entries {
		what := e.GetContent().GetText()
		if e.Event != nil {
			what = strings.ToLower(strings.TrimPrefix(e.Event.Type.String(), "EVENT_TYPE_"))
		}
		fmt.Fprintf(&b, " %s#%d=%s", e.Conversation, e.Seq, what)
	}
	if p.Position != "" {
		b.WriteString(" @" + p.Position)
	}
	return b.String()
}

// bubble runs f with fake time and closes everything before the bubble ends.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func briefAnnouncements(a *wire.Announcements) string {
	var all []string
	for _, x := range a.Announcements {
		all = append(all, fmt.Sprintf("%s %q", x.Id, x.Text))
	}
	return fmt.Sprintf("announcements %d %v", a.Revision, all)
}

func codeIn(e *wire.Error) string { return e.GetCode() }
