package soak

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/wire"
)

// handle takes a frame and reports whether the connection goes on. mu is held
// here and in everything below.
func (c *rawClient) handle(f *wire.ServerFrame) bool {
	switch f := f.Frame.(type) {
	case *wire.ServerFrame_SendAck:
		c.acked(f.SendAck)
	case *wire.ServerFrame_SendError:
		c.turnedAway(f.SendError)
	case *wire.ServerFrame_Push:
		c.take(f.Push.Entries)
	case *wire.ServerFrame_SyncDelta:
		c.delta(f.SyncDelta)
	case *wire.ServerFrame_Range:
		c.pulled(f.Range)
	case *wire.ServerFrame_Heads:
		for _, h := range f.Heads.Heads {
			v := c.conv(h.Conversation)
			v.head = max(v.head, h.Seq)
			c.fill(v)
		}
	case *wire.ServerFrame_Receipt:
		r := f.Receipt
		if r.Read > 0 && c.doubt == 0 { // in doubt it is not known of which history it is
			c.h.Add(Record{Kind: Mark, Conversation: r.Conversation, Of: r.User, Seq: r.Read, Timeline: c.timeline})
		}
	case *wire.ServerFrame_Resync:
		c.resync()
	case *wire.ServerFrame_Ping:
		c.write(wire.NewClientFrame(&wire.Pong{}))
	case *wire.ServerFrame_Pong:
		if f.Pong.Resync {
			c.resync()
		}
	case *wire.ServerFrame_GoAway:
		return false
	case *wire.ServerFrame_Kick, *wire.ServerFrame_Error:
		return c.told(f)
	case *wire.ServerFrame_Typing, *wire.ServerFrame_Presence, *wire.ServerFrame_MyState, *wire.ServerFrame_Signal, *wire.ServerFrame_Floor, *wire.ServerFrame_Announcements:
	default:
		c.misbehaved("", 0, fmt.Sprintf("a %T that was not asked for", f))
	}
	return true
}

// toldOf begins what is written down of an Error that should not have come.
const toldOf = "told: "

// told takes an Error or a Kick.
func (c *rawClient) told(f any) bool {
	e := &wire.Error{Code: "nothing"}
	switch f := f.(type) {
	case *wire.ServerFrame_Kick:
		e = f.Kick.GetError()
	case *wire.ServerFrame_Error:
		e = f.Error
	}
	switch e.Action() {
	case wire.ActionRetry:
		return true // a mark that came too fast; it is repeated with the next one
	case wire.ActionReconnect:
		return false
	}
	c.misbehaved("", 0, toldOf+e.Error())
	return false
}

// find returns the place of a message in the outbox, -1 if it is not there.
func (c *rawClient) find(id []byte) int {
	return slices.IndexFunc(c.outbox, func(m *outgoing) bool { return bytes.Equal(m.send.Id, id) })
}

func (c *rawClient) acked(a *wire.SendAck) {
	i := c.find(a.Id)
	if i < 0 || c.outbox[i].on != c.s {
		c.misbehaved(a.Conversation, a.Seq, "an ack for a message that was not sent on this connection")
		return
	}
	m := c.outbox[i]
	if a.Conversation != m.send.Conversation {
		c.misbehaved(a.Conversation, a.Seq, "an ack for another conversation")
	}
	id := hex.EncodeToString(a.Id)
	c.h.Add(Record{
		Kind: OK, Conversation: a.Conversation, Seq: a.Seq, Count: a.Count, ID: id, Hash: m.hash, Timeline: c.timeline,
	})
	c.outbox = slices.Delete(c.outbox, i, i+1)
	<-c.slots
	if !m.again {
		c.keep(m, a.Seq)
	}
	if c.o.Acked != nil && !m.again {
		c.o.Acked(spot{a.Conversation, a.Seq, c.timeline})
	}
	own := arrived{entry: Entry{
		Conversation: a.Conversation, Seq: a.Seq, ID: id, Sender: c.o.User, Hash: m.hash, Message: true, Count: a.Count,
		pos: a.Pos, stored: a.StoredAtMs,
	}}
	if c.doubt != 0 {
		c.held = append(c.held, own)
		return
	}
	c.arrive([]arrived{own})
}

func (c *rawClient) turnedAway(e *wire.SendError) {
	i := c.find(e.Id)
	if i < 0 || c.outbox[i].on != c.s {
		c.misbehaved("", 0, "a refusal of a message that was not sent on this connection")
		return
	}
	m := c.outbox[i]
	rec := Record{
		Kind: Retry, Conversation: m.send.Conversation, ID: hex.EncodeToString(e.Id), Hash: m.hash,
		Code: e.GetError().GetCode(), Why: e.GetError().GetMessage(), Timeline: c.timeline,
	}
	switch e.GetError().Action() {
	case wire.ActionRetry, wire.ActionReconnect:
		c.h.Add(rec)
		m.on = nil
		if c.s.held == nil {
			c.s.held = map[string]time.Time{}
		}
		// Those behind it are refused as well, and wait with it.
		at := time.Now().Add(max(e.Error.RetryAfter(), 50*time.Millisecond))
		if len(e.First) > 0 && c.find(e.First) < 0 { // answered before, by its entry
			if c.s.instead == nil {
				c.s.instead = map[string][]byte{}
			}
			c.s.instead[m.send.Conversation] = e.First
		}
		if at.After(c.s.held[m.send.Conversation]) {
			c.s.held[m.send.Conversation] = at
		}
		c.againAt(c.s, m.send.Conversation)
	case wire.ActionFix:
		rec.Kind = Failed
		c.h.Add(rec)
		c.outbox = slices.Delete(c.outbox, i, i+1)
		<-c.slots
	default:
		c.misbehaved(m.send.Conversation, 0, "a send was answered with "+e.GetError().GetCode())
	}
}

// againAt has what was turned away in a conversation sent again when its time has
// come.
func (c *rawClient) againAt(s *session, conversation string) {
	time.AfterFunc(time.Until(s.held[conversation]), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.s == s {
			c.again(conversation)
		}
	})
}

// again sends what was turned away in a conversation, with what came behind it, in
// the order of sending, once nothing of the conversation is under way (SPEC §5.9).
func (c *rawClient) again(conversation string) {
	at, held := c.s.held[conversation]
	if !held {
		return
	}
	if time.Now().Before(at) || slices.ContainsFunc(c.outbox, func(m *outgoing) bool {
		return m.on == c.s && m.send.Conversation == conversation
	}) {
		c.s.held[conversation] = maxTime(at, time.Now().Add(10*time.Millisecond))
		c.againAt(c.s, conversation)
		return
	}
	delete(c.s.held, conversation)
	for _, m := range c.outbox {
		if m.send.Conversation == conversation {
			c.transmit(m)
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sync asks what has changed.
func (c *rawClient) sync() {
	if c.s != nil {
		c.ask(c.position, "", Now())
	}
}

// resync asks so that the answer tells whether the history is still the one that
// is known here.
func (c *rawClient) resync() {
	if c.s != nil {
		c.doubt, c.held = c.requests+1, nil // the sync brings what is of this history
		c.sync()
	}
}

// ask sends a Sync.
func (c *rawClient) ask(position, cursor string, began int64) {
	c.requests++
	c.s.asked[c.requests] = question{since: Now(), cursor: cursor, position: position, began: began}
	c.write(wire.NewClientFrame(&wire.Sync{
		Number: c.requests, Position: position, Timeline: c.timeline, Limit: 500, Cursor: cursor, Newest: c.newest,
	}))
}

// answered takes the question that an answer belongs to.
func (c *rawClient) answered(number uint32) (question, bool) {
	q, ok := c.s.asked[number]
	if !ok {
		c.misbehaved("", 0, "an answer to a question that was not asked")
	}
	delete(c.s.asked, number)
	return q, ok
}

// syncRefused asks the same again later, if the server may be asked again.
func (c *rawClient) syncRefused(e *wire.Error, q question) {
	if e.Action() != wire.ActionRetry {
		c.misbehaved("", 0, "a sync was answered with "+e.Error())
		return
	}
	on := c.s
	time.AfterFunc(max(e.RetryAfter(), 50*time.Millisecond), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.s == on {
			c.ask(q.position, q.cursor, q.began)
		}
	})
}

func (c *rawClient) delta(d *wire.SyncDelta) {
	q, ok := c.answered(d.Number)
	if !ok {
		return
	}
	if d.Error != nil {
		c.syncRefused(d.Error, q)
		return
	}
	if d.Timeline != c.timeline && !d.Reset_ {
		c.misbehaved("", 0, "another timeline without a reset")
	}
	if d.Reset_ {
		c.timeline = d.Timeline
		c.h.Add(Record{Kind: Reset, Timeline: d.Timeline})
		clear(c.convs)
		c.newest = nil
		if len(c.held) > 0 { // of either history: another sync brings what is of this one
			c.held = nil
			defer c.sync()
		}
	}
	assured := c.doubt != 0 && d.Number >= c.doubt
	if assured {
		c.doubt = 0 // what it holds is taken before what arrived meanwhile
	}
	for _, st := range d.Conversations {
		c.state(st, q.since)
	}
	if assured {
		c.assured()
	}
	resume := q.position != "" && !d.Reset_
	switch {
	case resume && d.Next != "":
		c.ask(q.position, d.Next, q.began)
		return
	case d.Next != "":
		c.ask("", d.Next, q.began)
	default:
		c.h.Add(Record{Kind: Synced, Timeline: c.timeline, Since: q.began})
	}
	if resume || q.cursor == "" { // a further page's position is not what was before it (SPEC §7.2)
		c.position = d.Position
	}
}

// state takes what the server says of a conversation.
func (c *rawClient) state(st *wire.ConversationState, since int64) {
	v := c.conv(st.Conversation)
	rec := Record{Conversation: st.Conversation, Timeline: c.timeline, Since: since}
	if st.UntilSeq == 0 {
		rec.Kind, rec.Seq = Head, st.Seq
		c.h.Add(rec)
	}
	rec.Kind, rec.Of, rec.Seq = Mark, c.o.User, st.ReadSeq
	c.h.Add(rec)
	if peer := peerOf(st.Conversation, c.o.User); peer != "" {
		rec.Of, rec.Seq = peer, st.PeerRead
		c.h.Add(rec)
	}
	c.h.Add(Record{Kind: Unread, Conversation: st.Conversation, Timeline: c.timeline, Since: since, Count: st.Unread})
	v.takeWindows(st)
	if v.until != 0 {
		v.head = v.until
	} else {
		v.head = max(v.head, st.Seq)
	}
	c.takeStretch(v, st.FromSeq, st.Seq, st.Entries, st.Touched, st.Last)
	c.settle(v)
}

func (c *rawClient) pulled(r *wire.Range) {
	q, ok := c.answered(r.Number)
	if !ok || q.conv == nil || q.conv != c.convs[r.Conversation] {
		return // forgotten by a reset
	}
	v := q.conv
	v.pulling = false
	if c.doubt != 0 {
		return // perhaps it is of another history; what is missing is pulled after
	}
	if r.Error != nil {
		if r.Error.Action() == wire.ActionRetry {
			time.AfterFunc(max(r.Error.RetryAfter(), 50*time.Millisecond), func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.fill(v)
			})
			return
		}
		v.head = v.cursor // not a member any more
		return
	}
	if v.until == 0 {
		c.h.Add(Record{Kind: Head, Conversation: v.name, Seq: r.Head, Since: q.since, Timeline: c.timeline})
	}
	if r.FirstSeq == 0 && v.cursor < v.head && r.Head >= v.head {
		c.misbehaved(v.name, v.cursor+1, "a pull of what is there came back empty")
		v.head = v.cursor
	}
	c.takeStretch(v, r.FirstSeq, r.LastSeq, r.Entries, r.Touched, r.Last)
	c.settle(v)
}
