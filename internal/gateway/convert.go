package gateway

import (
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// maxListed bounds a WatchPresence.
const maxListed = 1000

// toMessage checks a Send against SPEC §5.6 as far as it can be checked
// without the journal.
func toMessage(p *wire.Send, l *Limits) (im.Message, error) {
	var m im.Message
	var err error
	if m.ID, err = im.ParseMessageID(p.GetId()); err != nil {
		return m, err
	}
	if m.Conversation, err = im.ParseConversationID(p.GetConversation()); err != nil {
		return m, err
	}
	m.Kind = im.EntryMessage
	m.ReplyTo = p.GetReplyTo()
	if m.Content, err = toContent(p.GetContent(), l); err != nil {
		return m, err
	}
	if len(p.Mentions) > l.Mentions {
		return m, im.Errorf(im.CodeTooLarge, "at most %d mentions", l.Mentions)
	}
	m.Mentions, err = toUsers(p.Mentions)
	return m, err
}

func toContent(c *wire.Content, l *Limits) (im.Content, error) {
	out := im.Content{Type: c.GetType()}
	if !validContentType(out.Type) {
		return out, im.Errorf(im.CodeInvalidArgument, "content.type must match [a-z0-9._-]{1,64}")
	}
	switch b := c.GetBody().(type) {
	case *wire.Content_Text:
		if !utf8.ValidString(b.Text) {
			return out, im.Errorf(im.CodeInvalidArgument, "content.text must be UTF-8")
		}
		out.Body, out.Text = []byte(b.Text), true
	case *wire.Content_Data:
		out.Body = b.Data
	}
	if len(out.Body) == 0 {
		return out, im.Errorf(im.CodeInvalidArgument, "content must not be empty")
	}
	if len(out.Body) > l.ContentBytes {
		return out, im.Errorf(im.CodeTooLarge, "content is longer than %d bytes", l.ContentBytes)
	}
	return out, nil
}

func validContentType(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func toUsers(ids []string) ([]im.UserID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out := make([]im.UserID, len(ids))
	for i, id := range ids {
		u, err := im.ParseUserID(id)
		if err != nil {
			return nil, err
		}
		out[i] = u
	}
	return out, nil
}

// toDevice checks the device of a Hello. A class this version does not know is OTHER.
func toDevice(d *wire.Device) (im.Device, error) {
	out := im.Device{ID: d.GetId(), Class: im.DeviceOther, Name: d.GetName()}
	if !im.ValidID(out.ID) {
		return out, im.Errorf(im.CodeInvalidArgument, "device.id must match [A-Za-z0-9_-]{1,64}")
	}
	if utf8.RuneCountInString(out.Name) > 100 {
		return out, im.Errorf(im.CodeInvalidArgument, "device.name is longer than 100 characters")
	}
	if c := d.GetClass(); c >= 0 && c <= wire.DeviceClass_DEVICE_CLASS_OTHER {
		out.Class = im.DeviceClass(c)
	}
	return out, nil
}

func fromDevice(d im.Device) *wire.Device {
	return &wire.Device{Id: d.ID, Class: wire.DeviceClass(d.Class), Name: d.Name}
}

// fromError is what a client is told of an error.
func fromError(err error) *wire.Error {
	e := im.Public(err)
	return &wire.Error{Code: string(e.Code), Message: e.Message, RetryAfterMs: millis(e.RetryAfter)}
}

// millis rounds up, so that a wait is never told as none.
func millis(d time.Duration) uint32 {
	return uint32(max(d+time.Millisecond-1, 0) / time.Millisecond)
}

func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// entryBox is an entry's wire form in one piece of memory.
type entryBox struct {
	entry   wire.Entry
	content wire.Content
	text    wire.Content_Text
	data    wire.Content_Data
	id      im.MessageID
}

// fill makes the box the entry's wire form. It shares the entry's bytes.
func (b *entryBox) fill(e *im.Entry) *wire.Entry {
	b.id = e.ID
	w := &b.entry
	w.Conversation, w.Seq, w.Id, w.Sender = string(e.Conversation), e.Seq, b.id[:], string(e.Sender)
	w.StoredAtMs, w.Kind, w.ReplyTo = unixMilli(e.Stored), wire.EntryKind(e.Kind), e.ReplyTo
	w.Count, w.Recalled, w.Target = e.Count, e.Recalled, e.Target
	w.Mentions = w.Mentions[:0]
	for _, u := range e.Mentions {
		w.Mentions = append(w.Mentions, string(u))
	}
	w.Content, w.Event = nil, nil
	if e.Kind == im.EntryMessage && !e.Recalled {
		w.Content = &b.content
		b.content.Type = e.Content.Type
		if e.Content.Text {
			b.text.Text = string(e.Content.Body)
			b.content.Body = &b.text
		} else {
			b.data.Data = e.Content.Body
			b.content.Body = &b.data
		}
	}
	if e.Event != nil {
		w.Event = fromEvent(e.Event)
	}
	return w
}

func fromEvent(e *im.Event) *wire.Event {
	w := &wire.Event{Type: wire.EventType(e.Type), Role: wire.Role(e.Role), UntilMs: unixMilli(e.Until), Text: e.Text}
	for _, u := range e.Users {
		w.Users = append(w.Users, string(u))
	}
	return w
}

func fromEntries(es []im.Entry) []*wire.Entry {
	if len(es) == 0 {
		return nil
	}
	out, boxes := make([]*wire.Entry, len(es)), make([]entryBox, len(es))
	for i := range es {
		out[i] = boxes[i].fill(&es[i])
	}
	return out
}

func fromState(c *im.ConversationState) *wire.ConversationState {
	return &wire.ConversationState{
		Conversation: string(c.Conversation), Seq: c.Head.Seq, Count: c.Head.Count, LastAtMs: unixMilli(c.Head.Time),
		FirstSeq: c.First, UntilSeq: c.Until, ReadSeq: c.Read, Unread: c.Unread,
		PeerReceived: c.PeerReceived, PeerRead: c.PeerRead, Title: c.Title, Entries: fromEntries(c.Entries),
	}
}

// pushBox is a Push frame whose parts are used again. It is read by the codec
// only, so it goes back to the pool once it is encoded.
type pushBox struct {
	frame wire.ServerFrame
	one   wire.ServerFrame_Push
	push  wire.Push
	boxes []*entryBox
}

// newPush makes a Push of those entries that keep (nil: all) lets through.
func (p *pools) newPush(es []im.Entry, keep func(i int) bool) *pushBox {
	b, ok := p.pushes.Get().(*pushBox)
	if !ok {
		b = &pushBox{}
		b.one.Push = &b.push
		b.frame.Frame = &b.one
	}
	b.push.Entries = b.push.Entries[:0]
	for i := range es {
		if keep != nil && !keep(i) {
			continue
		}
		n := len(b.push.Entries)
		if n == len(b.boxes) {
			b.boxes = append(b.boxes, new(entryBox))
		}
		b.push.Entries = append(b.push.Entries, b.boxes[n].fill(&es[i]))
	}
	return b
}

func (p *pools) freePush(b *pushBox) {
	for i := range b.push.Entries {
		box := b.boxes[i]
		box.text.Text, box.data.Data, box.entry.Event = "", nil, nil
	}
	if len(b.boxes) <= 256 {
		p.pushes.Put(b)
	}
}

// ackBox is a SendAck whose parts are used again.
type ackBox struct {
	frame wire.ServerFrame
	one   wire.ServerFrame_SendAck
	ack   wire.SendAck
	id    im.MessageID
}

func (p *pools) newAck() *ackBox {
	if b, ok := p.acks.Get().(*ackBox); ok {
		return b
	}
	b := &ackBox{}
	b.one.SendAck = &b.ack
	b.frame.Frame = &b.one
	b.ack.Id = b.id[:]
	return b
}

func sendError(id []byte, err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_SendError{SendError: &wire.SendError{Id: id, Error: fromError(err)}}}
}

func errorFrame(err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Error{Error: fromError(err)}}
}

func resultError(number uint32, err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Result{Result: &wire.Result{Number: number, Response: &wire.Result_Error{Error: fromError(err)}}}}
}

func rangeError(p *wire.Pull, err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Range{Range: &wire.Range{Number: p.GetNumber(), Conversation: p.GetConversation(), Error: fromError(err)}}}
}

func headsFrame(c im.ConversationID, seq uint64) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Heads{Heads: &wire.Heads{Heads: []*wire.Head{{Conversation: string(c), Seq: seq}}}}}
}
