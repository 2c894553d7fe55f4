// Package entrycodec is the form in which an entry's body is kept: what an entry
// says besides what the server acts on (im.Entry). It is encoded once, where it is
// made, and decoded where it is shown; in between nobody looks inside.
//
// A body is the protobuf encoding of a wire.Entry of which only the fields below
// are set, so a new field of the protocol needs nothing here:
//
//	content, reply_to, mentions, event, extra, edited_at_ms, edits, react,
//	reactions, poll, vote, group_mention, pinned, silent, forward, streaming,
//	replaced, cut_off, media, no_preview, preview, thread, replies, and what later
//	versions add
//
// Behind them a message that was amended may have what is kept beside it and told to
// nobody who reads it (State): a field of its own, the last one, which Told cuts off
// and Decode passes over.
//
// The same is always encoded to the same bytes, maps included.
//
// Fields that an im.Entry has of its own (conversation, seq, id …) are never in it.
// Protobuf never begins with a byte below 8: those are free for other forms, and a
// body that begins so is refused as of a newer version. No body at all says nothing:
// a recall, or a message that was taken back.
//
// It owns no state, starts no goroutine and takes no lock.
package entrycodec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// firstByte is the least that protobuf begins with: field 1, type 0.
const firstByte = 8

// ErrBody: what is kept is no body, or one of a newer version.
var ErrBody = errors.New("entrycodec: not the body of an entry")

// Encode returns the body that says what w says. Of w only those fields may be set
// that a body has.
func Encode(w *wire.Entry) []byte {
	b, err := w.MarshalVT()
	if err == nil && (len(w.Extra) > 0 || len(w.Event.GetGroup().GetExtra()) > 0) {
		b, err = ordered(b)
	}
	if err != nil {
		panic(fmt.Errorf("entrycodec: a message that cannot be encoded: %w", err)) // no message fails to
	}
	return b
}

// ordered encodes a body again with its maps in order: the generated code writes them
// at random. It takes the bytes, so that who encodes an entry without any can keep
// it on the stack.
func ordered(body []byte) ([]byte, error) {
	var w wire.Entry
	if err := proto.Unmarshal(body, &w); err != nil { // what is of another wire type is kept as unknown
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&w)
}

// known takes out of a part of what a client said all that this version does not know
// (SPEC §1.4): it is no part of the hash, so nobody could tell two of them apart.
func known(part proto.Message) {
	if m := part.ProtoReflect(); len(m.GetUnknown()) > 0 {
		m.SetUnknown(nil)
	}
}

// Message returns the body of what a member sends, and the hash that tells it from
// another message under the same id. Of the content only what this version knows is kept.
func Message(c im.ConversationID, s *wire.Send) (body []byte, hash uint64) {
	known(s.GetContent())
	knownPoll(s.GetPoll())
	w := wire.Entry{Content: s.GetContent(), ReplyTo: s.GetReplyTo(), Mentions: s.GetMentions(), Extra: s.GetExtra(), Poll: s.GetPoll(), GroupMention: s.GetGroupMention(), Silent: s.GetSilent(), Streaming: s.GetStreaming(), Media: named(s.GetMedia()), NoPreview: s.GetNoPreview()}
	return Encode(&w), hashOf(c, im.EntryMessage, 0, &w)
}

// RecallHash is the hash of a recall, which has no body.
func RecallHash(c im.ConversationID, target uint64) uint64 {
	return hashOf(c, im.EntryRecall, target, &wire.Entry{})
}

// hashOf must never change for what could be said before: it is stored with the id.
// A new field is added to it only where it is set.
func hashOf(c im.ConversationID, kind im.EntryKind, target uint64, w *wire.Entry) uint64 {
	h := fnv.New64a()
	var n [8]byte
	num := func(v uint64) {
		binary.BigEndian.PutUint64(n[:], v)
		h.Write(n[:])
	}
	str := func(s string) {
		num(uint64(len(s)))
		h.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
	}
	str(string(c))
	num(uint64(kind))
	str(w.GetContent().GetType())
	if t, ok := w.GetContent().GetBody().(*wire.Content_Text); ok {
		str(t.Text)
		num(1)
	} else {
		data := w.GetContent().GetData()
		num(uint64(len(data)))
		h.Write(data)
	}
	num(w.ReplyTo)
	num(target)
	for _, u := range w.Mentions {
		str(u)
	}
	if s := w.GetContent().GetFallback(); s != "" {
		num(addedFallback)
		str(s)
	}
	if len(w.Extra) > 0 {
		num(addedExtra)
		for _, key := range slices.Sorted(maps.Keys(w.Extra)) {
			str(key)
			str(w.Extra[key])
		}
	}
	if r := w.React; r != nil {
		num(addedReact)
		str(r.Reaction)
		if r.Remove {
			num(1)
		}
	}
	hashPoll(w, num, str)
	if w.GroupMention != 0 {
		num(addedGroupMention)
		num(uint64(w.GroupMention))
	}
	if w.Pinned != nil {
		num(addedPin)
	}
	if w.Silent {
		num(addedSilent)
	}
	if f := w.Forward; f != nil {
		num(addedForward)
		num(uint64(f.Merged))
	}
	if w.Streaming {
		num(addedStreaming)
	}
	if len(w.Media) > 0 {
		num(addedMedia)
		for _, m := range w.Media {
			str(m.Id)
		}
	}
	if w.NoPreview {
		num(addedNoPreview)
	}
	return h.Sum64()
}

// What was added to the hash later begins with a number that no text is as long as,
// so that nothing before it can be taken for it.
const (
	addedFallback = 1<<63 + iota
	addedExtra
	addedReact
	addedPoll
	addedVote
	addedGroupMention
	addedPin
	addedSilent
	addedForward
	addedStreaming
	addedMedia
	addedNoPreview
)

// Event returns the body of an EVENT entry.
func Event(e *im.Event) []byte { return Encode(&wire.Entry{Event: EventToWire(e)}) }

// EventToWire translates what happened.
func EventToWire(e *im.Event) *wire.Event {
	w := &wire.Event{Type: wire.EventType(e.Type), Role: wire.Role(e.Role), Text: e.Text, Conversation: string(e.Conversation), Banned: e.Banned, LifetimeS: uint32(e.Lifetime / time.Second)}
	if !e.Until.IsZero() {
		w.UntilMs = e.Until.UnixMilli()
	}
	if e.Type != im.EventGroupDismissed { // it is all of them
		for _, u := range e.Users {
			w.Users = append(w.Users, string(u))
		}
	}
	w.Group = GroupChangeToWire(e.Group)
	return w
}

// Decode sets in w what a body says. What it sets does not alias the body.
func Decode(body []byte, w *wire.Entry) error {
	if len(body) == 0 {
		return nil
	}
	if body[0] < firstByte {
		return fmt.Errorf("%w: it begins with %d", ErrBody, body[0])
	}
	body = Told(body)
	if w.UnmarshalVT(body) == nil {
		return nil
	}
	// A known field of another wire type, which a client may have written into its
	// content, counts as unknown. The generated code refuses it.
	w.Content, w.Event, w.ReplyTo, w.Mentions, w.Extra = nil, nil, 0, nil, nil
	w.EditedAtMs, w.Edits, w.React, w.Reactions, w.Poll, w.Vote, w.GroupMention = 0, 0, nil, nil, nil, nil, 0
	w.Pinned, w.Silent, w.Forward = nil, false, nil
	w.Deleted, w.Streaming, w.Replaced, w.CutOff, w.Media = false, false, 0, false, nil
	w.NoPreview, w.Preview, w.Thread, w.Replies, w.AlsoInMain = false, nil, 0, nil, false
	if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(body, w); err != nil {
		return fmt.Errorf("%w: %w", ErrBody, err)
	}
	return nil
}

// SetEvent sets e.Event from e.Body, where the entry is an EVENT and it is not set.
func SetEvent(e *im.Entry) error {
	if e.Kind != im.EntryEvent || e.Event != nil {
		return nil
	}
	var w wire.Entry
	if err := Decode(e.Body, &w); err != nil {
		return err
	}
	v := w.GetEvent()
	out := &im.Event{Type: im.EventType(v.GetType()), Role: im.Role(v.GetRole()), Text: v.GetText(), Conversation: im.ConversationID(v.GetConversation()), Banned: v.GetBanned(), Lifetime: time.Duration(v.GetLifetimeS()) * time.Second}
	if v.GetUntilMs() != 0 {
		out.Until = time.UnixMilli(v.GetUntilMs()).UTC()
	}
	for _, u := range v.GetUsers() {
		out.Users = append(out.Users, im.UserID(u))
	}
	out.Group = GroupChange(v.GetGroup())
	e.Event = out
	return nil
}

// Box decodes the bodies of plain messages without allocating: what it sets in w is
// of its own memory or shares the body, until it is used again or cleared.
type Box struct {
	content wire.Content
	text    wire.Content_Text
	data    wire.Content_Data
	odd     bool
}

// Decode is Decode for a box; w has none of the fields that a body has.
func (b *Box) Decode(body []byte, w *wire.Entry) error {
	if len(body) == 0 || b.plain(body, w) {
		return nil
	}
	w.Content, w.ReplyTo, w.Mentions = nil, 0, w.Mentions[:0]
	b.odd = true
	return Decode(body, w)
}

// Odd tells that what was decoded last was no plain message: it may have fields that
// this version does not know, so what it was decoded into is reset before it is used
// again.
func (b *Box) Odd() bool {
	odd := b.odd
	b.odd = false
	return odd
}

// Clear lets go of what the box shares.
func (b *Box) Clear() { b.text.Text, b.data.Data = "", nil }

// plain decodes a body that has content, reply_to and mentions only, each in the form
// that Encode gives it, and reports whether this is one.
func (b *Box) plain(body []byte, w *wire.Entry) bool {
	for len(body) > 0 {
		num, typ, n := protowire.ConsumeTag(body)
		if n < 0 {
			return false
		}
		body = body[n:]
		if num == 8 && typ == protowire.VarintType {
			if w.ReplyTo, n = protowire.ConsumeVarint(body); n < 0 {
				return false
			}
			body = body[n:]
			continue
		}
		if typ != protowire.BytesType || num != 7 && num != 9 {
			return false
		}
		v, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return false
		}
		body = body[n:]
		if num == 9 {
			w.Mentions = append(w.Mentions, string(v))
		} else if !b.plainContent(v) {
			return false
		} else {
			w.Content = &b.content
		}
	}
	return true
}

// plainContent decodes type, and text or data.
func (b *Box) plainContent(v []byte) bool {
	b.content.Type, b.content.Body = "", nil
	for len(v) > 0 {
		num, typ, n := protowire.ConsumeTag(v)
		if n < 0 || typ != protowire.BytesType {
			return false
		}
		s, m := protowire.ConsumeBytes(v[n:])
		if m < 0 {
			return false
		}
		v = v[n+m:]
		switch num {
		case 1:
			b.content.Type = contentType(s)
		case 2:
			b.text.Text = unsafe.String(unsafe.SliceData(s), len(s))
			b.content.Body = &b.text
		case 3:
			b.data.Data = s
			b.content.Body = &b.data
		default:
			return false
		}
	}
	return true
}

// contentType shares the one that nearly all messages have.
func contentType(b []byte) string {
	if string(b) == "text" {
		return "text"
	}
	return string(b)
}

// Old is what entries were kept as before there were bodies.
type Old struct {
	Type     string
	Content  []byte
	Text     bool
	ReplyTo  uint64
	Mentions []im.UserID
	Event    *im.Event
}

// Body is the body that says what o said, for an entry of the given kind that was
// not recalled.
func (o *Old) Body(kind im.EntryKind) []byte {
	w := wire.Entry{ReplyTo: o.ReplyTo}
	for _, u := range o.Mentions {
		w.Mentions = append(w.Mentions, string(u))
	}
	if kind == im.EntryMessage {
		w.Content = &wire.Content{Type: o.Type}
		if o.Text {
			w.Content.Body = &wire.Content_Text{Text: string(o.Content)}
		} else {
			w.Content.Body = &wire.Content_Data{Data: o.Content}
		}
	}
	if o.Event != nil {
		w.Event = EventToWire(o.Event)
	}
	return Encode(&w)
}
