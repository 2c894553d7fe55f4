package messaging

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// A streamed message (SPEC §4.26) is a message whose author goes on with it. What is
// durable of it is in the message, as after an edit. What came since is here, in RAM: it
// was told to who is connected, and is stored within Streams.StoreEvery, by the next part
// or by a flush. A crash, or another node, knows the durable part only: then the author's
// next part lies beyond it (part_missing), and they say all of it.

// Streams are the bounds of streamed messages.
type Streams struct {
	// StoreEvery is how often what was said is made durable, StoreBytes after how much of
	// it in any case.
	StoreEvery time.Duration
	StoreBytes int
	// Silence is after what time without a part the server ends one.
	Silence time.Duration
	// PerUser is how many a user may have open, MaxBytes how long one may become.
	PerUser, MaxBytes int
}

// Timers keeps what is to become of messages at a time. internal/directory is one.
type Timers interface {
	// SetTimer keeps a timer, in the place of the one that its message has of its kind.
	// With most > 0 its user has at most so many of the kind: too_large.
	SetTimer(ctx context.Context, t im.Timer, most int) error
	// TimersOf returns those of a user of a kind, at most limit.
	TimersOf(ctx context.Context, u im.UserID, kind im.TimerKind, limit int) ([]im.Timer, error)
	// EndTimers moves timers to another time, or removes those whose time is zero there.
	// One that was set again since it was read stays.
	EndTimers(ctx context.Context, timers []im.Timer, to []time.Time) error
}

const (
	// maxGrowing and maxGrowingBytes bound what is in RAM of streamed messages. Who is
	// forgotten says all of it again.
	maxGrowing      = 10_000
	maxGrowingBytes = 64 << 20
	// forgetAfter is after what time without a part one is forgotten.
	forgetAfter = time.Hour
)

type streamKey struct {
	conversation im.ConversationID
	seq          uint64
}

// growing is a streamed message as far as it was said here.
type growing struct {
	author   im.UserID
	text     string
	replaced uint32
	durable  int       // bytes of text that are stored
	since    time.Time // when they were
}

// streams are those that grow here. mu guards all of it.
type streams struct {
	mu    sync.Mutex
	open  map[streamKey]*growing
	bytes int
	flush *time.Timer // nil: nothing waits to be stored
	over  bool
}

// grown is what a part makes of a message.
type grown struct {
	text  string // all of it
	from  int    // bytes that it had before
	store bool
}

// durably is what is stored of a streamed message.
type durably struct {
	text     string
	replaced uint32
	at       time.Time
}

// grow adds a part to a message. A part that was said before, or begins before the end of
// what was said, is taken as far as it is new, and refused where it says another thing.
func (x *streams) grow(k streamKey, author im.UserID, d durably, p *entrycodec.Part, now time.Time, o *Streams) (grown, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.open[k]
	if g == nil || g.replaced != d.replaced || !strings.HasPrefix(g.text, d.text) {
		x.forget(k)
		g = &growing{author: author, text: d.text, replaced: d.replaced}
		x.keep(k, g)
	}
	g.durable, g.since = len(d.text), d.at
	at := uint64(len(g.text))
	news := ""
	switch end := p.Offset + uint64(len(p.Text)); {
	case p.Offset > at:
		e := im.Errorf(im.CodePartMissing, "the server has %d bytes of this message, and not what follows: say all of it", at)
		e.Field = "offset"
		return grown{}, e
	case end <= at:
		if g.text[p.Offset:end] != p.Text {
			return grown{}, im.Wrong("text", "is not what was said at this offset")
		}
	default:
		over := at - p.Offset
		if g.text[p.Offset:] != p.Text[:over] {
			return grown{}, im.Wrong("text", "does not begin with what was said at this offset")
		}
		news = p.Text[over:]
	}
	if n := len(g.text) + len(news); n > o.MaxBytes {
		return grown{}, im.TooLarge("text", "makes a message of %d bytes; at most %d are allowed", n, o.MaxBytes)
	}
	g.text += news
	x.bytes += len(news)
	waiting := len(g.text) - g.durable
	out := grown{text: g.text, from: int(at)}
	out.store = p.End || waiting > 0 && (now.Sub(g.since) >= o.StoreEvery || waiting >= o.StoreBytes)
	return out, nil
}

func (x *streams) keep(k streamKey, g *growing) {
	for other := range x.open { // any: who is forgotten says all of it again
		if len(x.open) < maxGrowing && x.bytes+len(g.text) <= maxGrowingBytes {
			break
		}
		x.forget(other)
	}
	x.open[k] = g
	x.bytes += len(g.text)
}

func (x *streams) forget(k streamKey) {
	if g := x.open[k]; g != nil {
		x.bytes -= len(g.text)
		delete(x.open, k)
	}
}

func (x *streams) drop(k streamKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget(k)
}

// arm has what waits to be stored looked at in a while, once.
func (x *streams) arm(after time.Duration, look func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.flush == nil && !x.over {
		x.flush = time.AfterFunc(after, look)
	}
}

// due are those of which something is not durable in time, and when to look again; 0:
// when there is more.
func (x *streams) due(now time.Time, every time.Duration) (due map[streamKey]growing, again time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flush = nil
	due = map[streamKey]growing{}
	for k, g := range x.open {
		left := every - now.Sub(g.since)
		switch waits := len(g.text) > g.durable; {
		case waits && left <= 0:
			due[k] = *g
			left = every // it is stored by then, or has to be tried again
		case !waits && left < -forgetAfter: // nobody goes on with it
			x.forget(k)
			continue
		case !waits:
			continue
		}
		if again == 0 || left < again {
			again = left
		}
	}
	return due, again
}

func (x *streams) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	if x.flush != nil {
		x.flush.Stop()
	}
}

// flushStreams stores what was said and is not durable in time. It is said again as its
// author's, with nothing new, and refused as theirs would be: who was removed says nothing
// more.
func (s *Service) flushStreams() {
	due, again := s.streams.due(s.now(), s.streamed.StoreEvery)
	for k, g := range due {
		var random [10]byte
		_, _ = rand.Read(random[:]) // never fails
		m := im.Message{Conversation: k.conversation, ID: im.NewMessageID(s.now(), random), Kind: im.EntryStream, Target: k.seq}
		m.Body, m.Hash = entrycodec.Stream(k.conversation, k.seq, &entrycodec.Part{Offset: uint64(len(g.text))})
		s.Send(s.life, im.Actor{User: g.author}, m, func(_ im.Ack, err error) {
			if err != nil && !im.ForNow(err) {
				s.streams.drop(k)
			}
		})
	}
	if again > 0 {
		s.streams.arm(again, s.flushStreams)
	}
}

// stream decides about the next part of a streamed message. What is not to be stored now
// is told to who is there, and changes nothing (errSame). e.Sender "" is the server, which
// ends it with what is there.
func (s *Service) stream(ctx context.Context, it *item, m *amending, target *im.Entry) error {
	e := &it.entry
	state, err := s.amendable(ctx, e, target)
	k := streamKey{e.Conversation, e.Target}
	switch {
	case err != nil:
	case e.Sender != "" && e.Sender != target.Sender:
		return im.Errorf(im.CodePermissionDenied, "only its author goes on with a streamed message")
	case !state.Told.Streaming && !state.Told.CutOff && onlyEnds(e.Body):
		err = errSame // it has ended as its author says
	case !state.Told.Streaming:
		err = im.Errorf(im.CodeTooLate, "the message is said to its end")
	}
	if err != nil {
		s.streams.drop(k)
		return err
	}
	part, err := entrycodec.PartOf(e.Body)
	if err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the part says cannot be read")
	}
	now := s.now()
	content, replaced := part.Content, part.Content != nil
	if !replaced {
		d := durably{state.Told.GetContent().GetText(), state.Told.Replaced, state.StreamedAt(target.Stored)}
		if e.Sender == "" {
			part.Offset = uint64(len(d.text))
		}
		g, err := s.streams.grow(k, target.Sender, d, part, now, &s.streamed)
		if err != nil {
			return err
		}
		if s.filter != nil && e.Sender != "" && len(g.text) > g.from {
			if err := s.streamAllowed(ctx, it, s.filter.BreaksGrown(g.text, g.from, !part.End), k); err != nil {
				return err
			}
		}
		if target.Kind == im.EntryMessage { // of a reply nobody knows here who may read its root
			s.tellPart(k, target.Sender, d.replaced, &g)
		}
		if !g.store {
			s.streams.arm(s.streamed.StoreEvery, s.flushStreams)
			return errSame
		}
		content = state.Saying(g.text)
	}
	if s.filter != nil && e.Sender != "" {
		if err := s.streamAllowed(ctx, it, s.filter.BreaksStream(content.GetType(), content.GetText(), content.GetFallback(), !part.End), k); err != nil {
			return err
		}
	}
	if s.filter != nil && e.Sender == "" {
		said, err := s.lastWord(ctx, target, content.GetType(), content.GetText())
		if err != nil {
			return err
		}
		if said != content.GetText() {
			content, replaced = state.Saying(said), true
		}
	}
	m.told = state.Stream(content, replaced, part.End, e.Sender == "", now)
	m.kept = nil
	target.Body = state.Body()
	m.amend.Body = target.Body
	return nil
}

// onlyEnds tells that a part says nothing more than that it was the last one.
func onlyEnds(body []byte) bool {
	p, err := entrycodec.PartOf(body)
	return err == nil && p.End && p.Text == "" && p.Content == nil
}

// tellPart tells who is there what is new of a message.
func (s *Service) tellPart(k streamKey, author im.UserID, replaced uint32, g *grown) {
	if len(g.text) == g.from {
		return
	}
	data := entrycodec.PartSignal(k.seq, replaced, uint64(g.from), g.text[g.from:])
	s.deliverer.Custom(im.CustomSignal{Conversation: k.conversation, User: author, Type: im.SignalPart, Data: data})
}

// beginStream keeps the timer of a message that is to grow, before it is stored. Who has
// too many open has those looked at that ended.
func (s *Service) beginStream(ctx context.Context, it *item) error {
	e := &it.entry
	if s.timers == nil {
		return im.Errorf(im.CodePermissionDenied, "messages cannot be streamed on this server")
	}
	now := s.now()
	t := im.Timer{Kind: im.TimerStream, Conversation: e.Conversation, User: e.Sender, ID: e.ID, Hash: it.hash, At: now.Add(s.streamed.Silence), Set: now}
	err := s.timers.SetTimer(ctx, t, s.streamed.PerUser)
	if im.CodeOf(err) != im.CodeTooLarge {
		return err
	}
	all, listErr := s.timers.TimersOf(ctx, e.Sender, im.TimerStream, s.streamed.PerUser)
	if listErr != nil {
		return listErr
	}
	for _, old := range all {
		if open, _, err := s.openStream(ctx, old); err == nil && !open {
			if err := s.timers.EndTimers(ctx, []im.Timer{old}, []time.Time{{}}); err != nil {
				return err
			}
		}
	}
	if err = s.timers.SetTimer(ctx, t, s.streamed.PerUser); im.CodeOf(err) == im.CodeTooLarge {
		return im.TooLarge("streaming", "you have %d streamed messages that have not ended", s.streamed.PerUser)
	}
	return err
}

// unstored is how long after its timer was set a message may come to be stored.
const unstored = 5 * time.Minute

// openStream tells whether a streamed message may grow yet, and the message: nil if it is
// not stored, which it may be later.
func (s *Service) openStream(ctx context.Context, t im.Timer) (open bool, e *im.Entry, err error) {
	e, err = s.timed(ctx, t)
	if err != nil || e == nil {
		return err == nil && s.now().Sub(t.Set) < unstored, nil, err
	}
	state, err := entrycodec.Open(e.Body, e.Amended)
	return err == nil && !e.Recalled && state.Told.Streaming, e, nil // what cannot be read does not grow
}

// timed returns the message of a timer, nil if it is not stored.
func (s *Service) timed(ctx context.Context, t im.Timer) (*im.Entry, error) {
	look := [1]im.Append{{Entry: im.Entry{Conversation: t.Conversation, ID: t.ID, Sender: t.User}, Hash: t.Hash}}
	var out [1]im.Appended
	if err := s.lookups.Lookup(ctx, look[:], out[:]); err != nil || out[0].Status != im.Duplicate {
		return nil, err
	}
	got, err := s.journal.Read(ctx, t.Conversation, out[0].Seq, false, 1)
	if err != nil || len(got) == 0 || got[0].Seq != out[0].Seq {
		return nil, err
	}
	return &got[0], nil
}

// TimeIsUp does what a timer is for, and tells when it is to be looked at again; zero:
// never. Done again it does nothing more, whoever did it before.
func (s *Service) TimeIsUp(ctx context.Context, t im.Timer) (again time.Time, err error) {
	now := s.now()
	switch t.Kind {
	case im.TimerLifetime:
		return s.giveUpGone(ctx, t.Conversation)
	case im.TimerRetention:
		return s.keepOwn(ctx, t.Conversation)
	case im.TimerStream:
		open, e, err := s.openStream(ctx, t)
		switch {
		case err != nil || !open:
			return time.Time{}, err
		case e == nil:
			return t.Set.Add(unstored), nil
		}
		state, err := entrycodec.Open(e.Body, e.Amended)
		if err != nil {
			return time.Time{}, err
		}
		if due := state.StreamedAt(e.Stored).Add(s.streamed.Silence); due.After(now) {
			return due, nil
		}
		m := im.Message{Kind: im.EntryStream}
		m.Body, m.Hash = entrycodec.Stream(e.Conversation, e.Seq, &entrycodec.Part{End: true})
		err = s.byServer(ctx, e, serverID(e, m.Kind), m)
		if im.CodeOf(err) == im.CodeNotFound {
			err = nil // it is gone (SPEC §4.27, §4.33), and so is what it was to say
		}
		return time.Time{}, err
	}
	return time.Time{}, nil
}

// serverID is the id of an amendment of the server's own. It follows from its target and
// its kind, so whoever does it again does the same.
func serverID(target *im.Entry, kind im.EntryKind) im.MessageID {
	h := sha256.New()
	h.Write([]byte("skein server\x00" + string(target.Conversation) + "\x00"))
	var seq [9]byte
	binary.BigEndian.PutUint64(seq[:], target.Seq)
	seq[8] = byte(kind)
	h.Write(seq[:])
	return im.NewMessageID(target.Stored, [10]byte(h.Sum(nil)[:10]))
}

// byServer stores an amendment of the server's own, under an id by which who does it again
// does the same.
func (s *Service) byServer(ctx context.Context, target *im.Entry, id im.MessageID, m im.Message) error {
	got := make(chan error, 1)
	var sender im.UserID
	if m.Kind == im.EntryRecall { // as its author would
		sender = target.Sender
	}
	it := &item{
		entry: im.Entry{
			Conversation: target.Conversation, ID: id, Sender: sender,
			Kind: m.Kind, Target: target.Seq, Body: m.Body,
		},
		hash: m.Hash, server: true, queued: s.now(),
		reply: func(_ im.Ack, err error) { got <- err },
	}
	if err := s.queue.put(it); err != nil {
		return err
	}
	select {
	case err := <-got:
		return err
	case <-ctx.Done():
		return im.Wrap(ctx.Err(), im.CodeUnknown, "it may or may not have been done")
	}
}
