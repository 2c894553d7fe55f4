// Package contract translates between the domain (im) and the protocol (wire),
// once for both edges, gateway and api. It checks everything that can be
// checked without I/O: shapes, alphabets, lengths (SPEC §2, §5.6). What depends
// on state (permission, heads, the clock) is messaging's.
//
// It owns no state, starts no goroutine and takes no lock. It knows neither
// sockets nor HTTP.
//
// Invariants:
//   - an im value made here from a wire value has passed every check above;
//   - a refusal is an *im.Error that names the field and the limit;
//   - translating an im value to wire and encoding it loses nothing.
package contract

import (
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// The limits of the protocol that this server keeps (Welcome.limits tells them).
const (
	// MaxContentBytes is the longest content of a message.
	MaxContentBytes = 64 << 10
	// MaxMentions is how many users a message may mention.
	MaxMentions = 100
	// MaxFallbackBytes is the longest fallback of a content.
	MaxFallbackBytes = 1000
	// MaxExtraKeys is how many keys a message's extra may have, MaxExtraKeyBytes the
	// longest key, MaxExtraBytes how long keys and values may be together.
	MaxExtraKeys     = 16
	MaxExtraKeyBytes = 64
	MaxExtraBytes    = 4 << 10
	// MaxSignalBytes is the longest data of a Signal.
	MaxSignalBytes = 1 << 10
	// MaxDeviceName is the longest device name, and client name, in characters.
	MaxDeviceName = 100
	// MaxCursorBytes is the longest position, timeline or page cursor.
	MaxCursorBytes = 512
)

// Millis returns t in Unix milliseconds; 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Strings returns ids as plain strings.
func Strings[T ~string](ids []T) []string {
	if len(ids) == 0 {
		return nil
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}

// Entry translates an entry. The result shares e's body, which nobody writes
// to.
func Entry(e *im.Entry) *wire.Entry { return new(EntryBox).Fill(e) }

// Entries translates entries in their order.
func Entries(es []im.Entry) []*wire.Entry {
	if len(es) == 0 {
		return nil
	}
	out, boxes := make([]*wire.Entry, len(es)), make([]EntryBox, len(es))
	for i := range es {
		out[i] = boxes[i].Fill(&es[i])
	}
	return out
}

// Unreadable is the type of the content that is told in place of one which was kept
// and cannot be decoded: it is damaged, or of a newer version (SPEC §4.4).
const Unreadable = "unreadable"

// EntryBox is an entry's wire form in one piece of memory, so that a hot path
// can use it again.
type EntryBox struct {
	entry wire.Entry
	body  entrycodec.Box
	id    im.MessageID
}

// Fill makes the box the wire form of e and returns it. It shares e's body until
// it is filled again or cleared.
func (b *EntryBox) Fill(e *im.Entry) *wire.Entry {
	b.id = e.ID
	w := &b.entry
	if b.body.Odd() {
		w.Reset()
	}
	w.Conversation, w.Seq, w.Id, w.Sender = string(e.Conversation), e.Seq, b.id[:], string(e.Sender)
	w.StoredAtMs, w.Kind = Millis(e.Stored), wire.EntryKind(e.Kind)
	w.Count, w.Recalled, w.Target, w.Amended, w.Pos = e.Count, e.Recalled, e.Target, e.Amended, e.Pos
	w.Content, w.ReplyTo, w.Mentions, w.Event, w.Thread, w.AlsoInMain = nil, 0, w.Mentions[:0], nil, 0, false
	if err := b.body.Decode(e.Body, w); err != nil {
		w.Content = &wire.Content{Type: Unreadable}
	}
	if root := e.Root(); root != 0 {
		w.Thread = root
		if e.Kind == im.EntryMessage {
			w.Target, w.AlsoInMain = 0, true
		}
	}
	if w.Kind == wire.EntryKind_ENTRY_KIND_VOTE && w.Vote == nil {
		w.Sender = "" // the poll is anonymous
	}
	return w
}

// Clear lets go of what the box shares or keeps alive.
func (b *EntryBox) Clear() {
	b.body.Clear()
	b.entry.Content, b.entry.Event, b.entry.Extra, b.entry.Poll = nil, nil, nil, nil
}

// State translates a conversation as its user sees it.
func State(s *im.ConversationState) *wire.ConversationState {
	var earlier []*wire.Window
	for _, w := range s.Earlier {
		earlier = append(earlier, &wire.Window{FirstSeq: w.First, UntilSeq: w.Until, Hidden: w.Hidden})
	}
	w := &wire.ConversationState{
		Conversation: string(s.Conversation),
		Seq:          s.Head.Seq,
		Count:        s.Head.Count,
		LastAtMs:     Millis(s.Head.Time),
		FirstSeq:     s.First,
		UntilSeq:     s.Until,
		ReadSeq:      s.Read,
		Unread:       s.Unread,
		PeerReceived: s.PeerReceived,
		PeerRead:     s.PeerRead,
		Title:        s.Title,
		Earlier:      earlier,
		Recalled:     s.Recalled,
		RecalledSeqs: s.RecalledSeqs,

		UnreadMentions: s.UnreadMentions,
		MentionSeqs:    s.MentionSeqs,
	}
	w.Floor = s.Floor
	for _, p := range s.Lifetimes {
		w.Lifetimes = append(w.Lifetimes, &wire.Lifetime{After: p.After, Until: p.Until, LifetimeS: uint32(p.Lifetime / time.Second)})
	}
	w.Mine = MyState(&s.Mine)
	if t := &s.Told; t.First > 0 {
		w.FromSeq, w.Entries, w.Touched, w.Last = t.First, Entries(t.Entries), Entries(t.Touched), end(t)
	}
	return w
}

// MyState translates what a user set for themselves; nil if nothing ever was.
func MyState(s *im.MyState) *wire.MyState {
	if s.Revision == 0 {
		return nil
	}
	return &wire.MyState{
		Conversation: string(s.Conversation), Revision: s.Revision, Pinned: s.Pinned, MutedUntilMs: Millis(s.MutedUntil),
		Hidden: s.Hidden, Draft: s.Draft, ClearedBelow: s.ClearedBelow, Unread: s.Unread,
		Deleted: entrycodec.DeletedToWire(s.Deleted), Folder: s.Folder, HiddenCount: s.HiddenCount, UnreadAt: s.UnreadAt,
		Threads:   entrycodec.ThreadsToWire(s.Threads),
		PushLevel: wire.PushLevel(s.PushLevel),
	}
}

// ThreadOf is the root of the thread that an amendment's target is a reply of, 0 if it is
// none.
func ThreadOf(e *im.Entry) uint64 { return entrycodec.ThreadOf(e.Body) }

// Threads translates threads.
func Threads(all []im.Thread) (out []*wire.Thread) {
	for i := range all {
		t := &all[i]
		out = append(out, &wire.Thread{Root: Entry(&t.Root), Last: t.Last, Follows: t.Follows, Unread: uint32(min(t.Unread, 1<<32-1)), Read: t.Read})
	}
	return out
}

// Range translates what a pull found; the caller sets the number.
func Range(c im.ConversationID, r *im.PullResult) *wire.Range {
	return &wire.Range{
		Conversation: string(c), Head: r.Head, FirstSeq: r.First, LastSeq: r.Last,
		Entries: Entries(r.Entries), Touched: Entries(r.Touched), Last: end(&r.Stretch),
	}
}

// end names the end of a stretch, where its entries do not.
func end(s *im.Stretch) *wire.Newest {
	n := &s.End
	if n.Seq == 0 {
		return nil
	}
	return &wire.Newest{Conversation: string(n.Conversation), Seq: n.Seq, Id: slices.Clone(n.ID[:]), StoredAtMs: n.StoredMs, Pos: n.Pos}
}

// SyncResult translates the answer to a Sync; the caller sets the number.
func SyncResult(r *im.SyncResult) *wire.SyncDelta {
	d := &wire.SyncDelta{
		Timeline:      r.Timeline,
		Position:      r.Position,
		Conversations: make([]*wire.ConversationState, len(r.Conversations)),
		Next:          r.Next,
		Reset_:        r.Reset,
	}
	for i := range r.Conversations {
		d.Conversations[i] = State(&r.Conversations[i])
	}
	return d
}

// Unread is the refusal of a request that cannot be read; err is of package wire, and
// tells where.
func Unread(err error) *im.Error {
	e := im.Wrap(err, im.CodeInvalidArgument, "the request cannot be read")
	if wrong := (*wire.FrameError)(nil); errors.As(err, &wrong) {
		e.Message += ": " + wrong.Error()
		e.Field = wrong.Field
	}
	return e
}

// Error translates an error for the user; its cause stays here.
func Error(e *im.Error) *wire.Error {
	told := wire.NewError(wire.Code(e.Code), e.Message)
	told.Field, told.RetryAfterMs, told.Ticket = e.Field, RetryMillis(e.RetryAfter), e.Ticket
	return told
}

// RetryMillis returns a waiting time in milliseconds, rounded up, so that a
// client that waits exactly that long is not early.
func RetryMillis(d time.Duration) uint32 {
	if d <= 0 {
		return 0
	}
	ms := (d + time.Millisecond - 1) / time.Millisecond
	return uint32(min(ms, 1<<31))
}

// Device translates a device. The zero Device is absent.
func Device(d im.Device) *wire.Device {
	if d == (im.Device{}) {
		return nil
	}
	return &wire.Device{Id: d.ID, Class: wire.DeviceClass(d.Class), Name: d.Name}
}

// ParseDevice checks a device from outside. An absent one is the zero Device;
// whether that is enough is the caller's business. A class this server does not
// know counts as OTHER, so that newer clients can connect.
func ParseDevice(d *wire.Device) (im.Device, error) {
	if d == nil {
		return im.Device{}, nil
	}
	if !im.ValidID(d.GetId()) {
		return im.Device{}, im.Wrong("device.id", "must match [A-Za-z0-9_-]{1,64}")
	}
	if err := CheckText("device.name", d.GetName(), 0, MaxDeviceName); err != nil {
		return im.Device{}, err
	}
	class := im.DeviceOther
	if n := d.GetClass(); n >= 0 && n <= wire.DeviceClass_DEVICE_CLASS_OTHER {
		class = im.DeviceClass(n)
	}
	return im.Device{ID: d.GetId(), Class: class, Name: d.GetName()}, nil
}

// CheckText checks a short text meant for people: UTF-8, between least and most
// characters, no control characters.
func CheckText(field, s string, least, most int) error {
	if !utf8.ValidString(s) {
		return im.Wrong(field, "must be UTF-8")
	}
	n := 0
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return im.Wrong(field, "must not contain control characters")
		}
		n++
	}
	switch {
	case n < least:
		return im.Wrong(field, "must have at least %d characters", least)
	case n > most:
		return im.TooLarge(field, "has %d characters; at most %d are allowed", n, most)
	}
	return nil
}
