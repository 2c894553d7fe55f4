package soak

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/sqlitestore"
	"github.com/skein-im/skein/wire"
)

// sdkClient is a device as a program has it: the Go SDK with its store on disk.
// It writes down what the SDK tells its program, no more.
type sdkClient struct {
	o      DeviceOptions
	path   string
	h      *Recorder
	store  *sqlitestore.Store
	client *skein.Client
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // the event loop and the waits for answers
	slots  chan struct{}

	mu       sync.Mutex
	next     int    // of o.URLs
	at       string // dialed last
	timeline string
	read     map[string]uint64
	unread   map[string]uint64 // as the SDK says at the end
}

// NewSDK starts a client of the SDK with a store in the file path. It returns
// when it is connected for the first time in the life of the store.
func NewSDK(ctx context.Context, o DeviceOptions, path string) (Device, error) {
	store, err := sqlitestore.Open(path)
	if err != nil {
		return nil, err
	}
	c := &sdkClient{
		o: o, path: path, h: o.History, store: store,
		slots: make(chan struct{}, o.inFlight()), read: map[string]uint64{},
	}
	more := []skein.Option{skein.WithDialer(c.dial), skein.WithDialTimeout(0)} // faults may last long
	if o.Mortal {
		// Who begins again goes on with what it has, before there is a connection.
		snap, err := store.Load(ctx)
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		if snap.Meta.Timeline != "" {
			more = append(more, skein.WithOffline())
		}
	}
	if o.Reconnect > 0 {
		more = append(more, skein.WithBackoff(func(int) time.Duration { return rand.N(o.Reconnect) }))
	}
	c.client, err = skein.Dial(ctx, o.URLs[0], append(more,
		skein.WithToken(o.Token), skein.WithStore(store), skein.WithCodec(o.Codec),
		skein.WithDevice(o.Device, wire.DeviceClass_DEVICE_CLASS_OTHER, "soak"),
		skein.WithMaxGap(0),
	)...)
	if err == nil {
		err = c.learnTimeline(ctx)
	}
	if err != nil {
		if c.client != nil {
			err = errors.Join(err, c.client.Close())
		}
		return nil, errors.Join(err, store.Close())
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(c.follow)
	return c, nil
}

// dial goes to the gateways in turn: whatever ended the connection before, the
// next one may be better. One that refuses is passed over at once, as a name with
// several addresses would have it.
func (c *sdkClient) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var errs []error
	for range c.o.URLs {
		c.mu.Lock()
		at := hostOf(c.o.URLs[c.next%len(c.o.URLs)])
		c.next++
		c.at = at
		c.mu.Unlock()
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, at)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// learnTimeline asks the store, where the SDK keeps it.
func (c *sdkClient) learnTimeline(ctx context.Context) error {
	snap, err := c.store.Load(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timeline = snap.Meta.Timeline
	return nil
}

func (c *sdkClient) line() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeline
}

func (c *sdkClient) Name() (string, string) { return c.o.User, c.o.Device }
func (c *sdkClient) Pending() int           { return len(c.slots) }

func (c *sdkClient) Send(ctx context.Context, conversation, text string) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
	rec := Record{Kind: Invoked, Conversation: conversation, Hash: ContentHash(conversation, c.o.User, content, 0), Timeline: c.line()}
	c.h.Add(rec)
	// From here on the message may be sent, whatever becomes of ctx.
	p, err := c.client.Conversation(conversation).SendAsync(c.ctx, text)
	if err != nil {
		rec.Kind, rec.Code = Unknown, err.Error()
		c.h.Add(rec)
		<-c.slots
		return err
	}
	if c.o.Mortal {
		kept := rec
		kept.Kind, kept.ID = Accepted, hex.EncodeToString(p.ID[:])
		c.h.Add(kept)
	}
	c.wg.Go(func() {
		defer func() { <-c.slots }()
		m, err := p.Wait(c.ctx)
		rec.Timeline = c.line()
		var e *skein.Error
		switch {
		case err == nil:
			rec.Kind, rec.Seq, rec.Count, rec.ID = OK, m.Seq, m.Count, hex.EncodeToString(m.ID[:])
			if c.o.Acked != nil {
				defer c.o.Acked(spot{conversation, m.Seq, rec.Timeline})
			}
		case errors.As(err, &e):
			rec.Kind, rec.Code, rec.ID = Failed, string(e.Code), hex.EncodeToString(p.ID[:])
		default:
			rec.Kind, rec.Code, rec.ID = Unknown, err.Error(), hex.EncodeToString(p.ID[:])
		}
		c.h.Add(rec)
	})
	return nil
}

// follow writes down what the program is told. Receipts are left out: the SDK
// keeps the latest of each, in no order with the connection's ends.
func (c *sdkClient) follow() {
	for e := range c.client.Events(c.ctx) {
		switch e := e.(type) {
		case *skein.MessageEvent:
			c.applied(e.Message)
		case *skein.AckEvent:
			c.settled(OK, "", e.Message)
			c.applied(e.Message)
		case *skein.FailedEvent:
			c.settled(Failed, string(e.Err.Code), e.Message)
		case *skein.RecallEvent:
			if e.Message != nil { // otherwise told by the message it took back
				c.applied(e.Message)
			}
		case *skein.GroupEvent:
			c.applied(e.Message)
		case *skein.ContactEvent:
			c.applied(e.Message)
		case *skein.ProfileEvent:
			c.applied(e.Message)
		case *skein.GapEvent:
			c.h.Add(Record{Kind: Gap, Conversation: e.Conversation, Seq: e.From, Count: e.To, Timeline: c.line()})
		case *skein.ResetEvent:
			if err := c.learnTimeline(c.ctx); err != nil {
				c.h.Add(Record{Kind: Misbehaved, Code: "the store after a reset: " + err.Error()})
			}
			c.h.Add(Record{Kind: Reset, Timeline: c.line()})
		case *skein.StateEvent:
			c.state(e)
		}
		if c.o.Slow > 0 {
			_ = pause(c.ctx, rand.N(c.o.Slow)) // the loop looks for the end itself
		}
	}
}

func (c *sdkClient) state(e *skein.StateEvent) {
	switch e.State {
	case skein.StateConnected:
		c.mu.Lock()
		at := c.at
		c.mu.Unlock()
		c.h.Add(Record{Kind: Connected, Timeline: c.line(), At: at})
	case skein.StateDisconnected:
		c.h.Add(Record{Kind: Disconnected, Timeline: c.line()})
	case skein.StateStopped, skein.StateClosed:
		if e.Err != nil && !errors.Is(e.Err, skein.ErrClosed) {
			c.h.Add(Record{Kind: Misbehaved, Code: fmt.Sprintf("the SDK ended: %v", e.Err)})
		}
	}
}

func (c *sdkClient) applied(m *skein.Message) {
	e := EntryOf(entryOf(m))
	c.h.Add(Record{
		Kind: Applied, Conversation: e.Conversation, Seq: e.Seq, Count: e.Count, ID: e.ID, Hash: e.Hash, Timeline: c.line(),
	})
}

// settled writes down what an event tells of a message of this device: the
// process that waited for the answer may be gone.
func (c *sdkClient) settled(k Kind, code string, m *skein.Message) {
	e := EntryOf(entryOf(m))
	if !c.o.Mortal || amended(e.Hash) {
		return
	}
	c.h.Add(Record{
		Kind: k, Conversation: e.Conversation, Seq: e.Seq, Count: e.Count, ID: e.ID, Hash: e.Hash, Timeline: c.line(), Code: code,
	})
}

// entryOf is the entry that a message of the SDK was made from.
func entryOf(m *skein.Message) *wire.Entry {
	w := &wire.Entry{
		Conversation: m.Conversation, Seq: m.Seq, Id: m.ID[:], Sender: m.Sender, Kind: m.Kind,
		ReplyTo: m.ReplyTo, Count: m.Count, Recalled: m.Recalled, Target: m.Target, Event: m.Event, Edits: uint32(m.Edits),
	}
	switch {
	case m.Type == "":
	case m.Data != nil:
		w.Content = &wire.Content{Type: m.Type, Body: &wire.Content_Data{Data: m.Data}}
	default:
		w.Content = &wire.Content{Type: m.Type, Body: &wire.Content_Text{Text: m.Text}}
	}
	return w
}

func (c *sdkClient) MarkRead(ctx context.Context, conversation string) error {
	v := c.client.Conversation(conversation)
	s, err := v.Summary(ctx)
	if errors.Is(err, skein.ErrNotFound) {
		return nil
	}
	if err != nil || !s.Member || s.High <= s.Read || s.High < s.Low {
		return err
	}
	rec := Record{Kind: ReadSet, Conversation: conversation, Seq: s.High, Timeline: c.line()}
	if c.o.Mortal { // what is not on disk yet may not be claimed
		if err := v.MarkRead(ctx, s.High); err != nil {
			return err
		}
		c.h.Add(rec)
		return nil
	}
	c.h.Add(rec)
	return v.MarkRead(ctx, s.High)
}

func (c *sdkClient) Holds() map[string]uint64 {
	out := map[string]uint64{}
	all, err := c.client.Conversations(c.ctx)
	if err != nil {
		return out
	}
	for _, s := range all {
		out[s.ID] = s.High
	}
	return out
}

// Close ends the client; what it says of unread messages is kept for View.
func (c *sdkClient) Close() error {
	all, err := c.client.Conversations(context.Background())
	c.unread = map[string]uint64{}
	for _, s := range all {
		c.unread[s.ID] = s.Unread
	}
	err = errors.Join(err, c.client.Close())
	c.cancel()
	c.wg.Wait()
	return errors.Join(err, c.store.Close(), c.h.Err())
}

// beginOf is the first entry that is the user's to read.
func beginOf(r *skein.ConversationRecord) uint64 {
	if len(r.Earlier) > 0 {
		return max(r.Earlier[0].First, 1)
	}
	return max(r.First, 1)
}

// View opens the store anew, as the next start of the program would.
func (c *sdkClient) View(ctx context.Context) (View, error) {
	return storeView(ctx, c.path, c.o.User, c.o.Device, c.unread)
}

// storeView reads the SDK's store in a file; unreads are what the SDK said at the end.
func storeView(ctx context.Context, path, user, device string, unreads map[string]uint64) (View, error) {
	view := View{Source: SourceStore, User: user, Device: device}
	store, err := sqlitestore.Open(path)
	if err != nil {
		return view, err
	}
	defer store.Close()
	snap, err := store.Load(ctx)
	if err != nil {
		return view, err
	}
	view.Timeline = snap.Meta.Timeline
	for _, r := range snap.Conversations {
		if r.High < r.Low || r.High == 0 {
			continue
		}
		unread, told := unreads[r.ID]
		view.Standings = append(view.Standings, Standing{
			Conversation: r.ID, First: r.Low, Last: r.High, Member: r.Until == 0, Read: r.Read, Unread: unread,
			// Otherwise something unread lies before what the device keeps.
			Marks: told && (r.Low <= beginOf(&r) || r.Read+1 >= r.Low),
		})
		const page = 1000
		for from := r.Low; from <= r.High; from += page {
			es, err := store.Entries(ctx, r.ID, from, min(from+page-1, r.High), page)
			if err != nil {
				return view, err
			}
			for _, e := range es {
				view.Entries = append(view.Entries, EntryOf(e))
			}
		}
	}
	return view, nil
}
