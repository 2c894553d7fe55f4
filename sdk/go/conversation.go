package skein

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/wire"
)

// Conversation is a handle; it holds no state. The conversation need not exist yet.
type Conversation struct {
	c  *Client
	id string
}

// Conversation returns the handle of a conversation id: dm:<a>:<b>, grp:<id>.
func (c *Client) Conversation(id string) *Conversation { return &Conversation{c, id} }

// DM returns the direct chat with a user. Before the first connect, when the
// client does not know its own user, it is invalid.
func (c *Client) DM(user string) *Conversation { return &Conversation{c, DM(c.userID(), user)} }

// Saved returns the user's conversation with themselves: notes, and what they forward
// there. Nobody else can read it or write in it, nothing in it is unread, and all their
// devices have it. Before the first connect, when the client does not know its own user,
// it is invalid. SPEC §4.29.
func (c *Client) Saved() *Conversation { return c.DM(c.userID()) }

// ID returns the conversation's id.
func (v *Conversation) ID() string { return v.id }

// SendOption changes a message before it is sent.
type SendOption func(*wire.Send)

// ReplyTo makes the message an answer to the entry seq.
func ReplyTo(seq uint64) SendOption { return func(s *wire.Send) { s.ReplyTo = seq } }

// Mention names users to be notified; at most 100.
func Mention(users ...string) SendOption {
	return func(s *wire.Send) { s.Mentions = append(s.Mentions, users...) }
}

// WithID gives the message an id of the program's own (NewMessageID): sent again with the
// same id and the same contents, also by another process and long after, it is the same
// message. A program that keeps the id with what it is about to send may be killed at any
// moment, send again, and has sent once. With other contents it is wire.CodeIdConflict; with
// the id of a message that was refused, and is in the outbox yet, why that was (see Retry).
func WithID(id MessageID) SendOption {
	return func(s *wire.Send) { s.Id = id[:] }
}

// ContentType sets the content's type instead of "text"; [a-z0-9._-]{1,64}.
func ContentType(t string) SendOption { return func(s *wire.Send) { s.Content.Type = t } }

// Data makes the content bytes instead of text; use it with ContentType.
func Data(b []byte) SendOption {
	return func(s *wire.Send) { s.Content.Body = &wire.Content_Data{Data: b} }
}

// Fallback is shown in the content's place by who does not know its type, and in
// previews; at most 1,000 bytes.
func Fallback(text string) SendOption { return func(s *wire.Send) { s.Content.Fallback = text } }

// Extra adds to what the integrator's own programs read of the message: at most 16
// keys, [a-z0-9._-]{1,64}, 4 KiB of keys and values together.
func Extra(key, value string) SendOption {
	return func(s *wire.Send) {
		if s.Extra == nil {
			s.Extra = map[string]string{}
		}
		s.Extra[key] = value
	}
}

// Send sends a message and returns it once the server has stored it. When ctx
// ends first, the message is still sent; see SendAsync, Pending.Wait.
func (v *Conversation) Send(ctx context.Context, text string, opts ...SendOption) (*Message, error) {
	p, err := v.SendAsync(ctx, text, opts...)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

// SendAsync returns once the message is in the outbox: from then on it is sent
// as soon as there is a connection, also after a restart with the same store.
func (v *Conversation) SendAsync(ctx context.Context, text string, opts ...SendOption) (*Pending, error) {
	s := &wire.Send{
		Conversation: v.id,
		Content:      &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
	}
	for _, opt := range opts {
		opt(s)
	}
	if err := checkSend(s); err != nil {
		return nil, err
	}
	if v.c.closing.Load() {
		return nil, ErrClosed
	}
	var p *Pending
	var err error
	if e := v.c.do(ctx, func(k *core) { p, err = k.add(s) }); e != nil {
		return nil, e
	}
	return p, err
}

// checkSend refuses at once what no server takes, above all what would be a
// protocol error: it must never get into the outbox.
func checkSend(s *wire.Send) error {
	switch k := kindOf(s.Conversation); {
	case k == KindInvalid:
		return invalid("%q is not a conversation", s.Conversation)
	case k == KindMe:
		return invalid("the own feed takes no messages")
	case contentSize(s.Content) == 0:
		return invalid("the message is empty")
	case !utf8.ValidString(s.Content.GetText()):
		return invalid("the text is not valid UTF-8")
	case !validType(s.Content.Type):
		return invalid("content type %q does not match [a-z0-9._-]{1,64}", s.Content.Type)
	case len(s.Mentions) > 100:
		return &Error{Code: wire.CodeTooLarge, Message: "more than 100 mentions"}
	case len(s.Content.Fallback) > 1000:
		return &Error{Code: wire.CodeTooLarge, Message: "the fallback is longer than 1,000 bytes"}
	case !utf8.ValidString(s.Content.Fallback):
		return invalid("the fallback is not valid UTF-8")
	case len(s.Extra) > 16:
		return &Error{Code: wire.CodeTooLarge, Message: "more than 16 keys in extra"}
	}
	for i, id := range s.Media {
		if field := fmt.Sprintf("media[%d]", i); !validMedia(id) {
			return wrongField(field, "must match [A-Z2-7]{26}")
		} else if slices.Contains(s.Media[:i], id) {
			return wrongField(field, "is named twice")
		}
	}
	size := 0
	for key, value := range s.Extra {
		if size += len(key) + len(value); size > 4096 {
			return &Error{Code: wire.CodeTooLarge, Message: "extra is longer than 4 KiB"}
		}
		if !validType(key) {
			return invalid("key %q of extra does not match [a-z0-9._-]{1,64}", key)
		}
		if !utf8.ValidString(value) {
			return invalid("the value of %q in extra is not valid UTF-8", key)
		}
	}
	for _, u := range s.Mentions {
		if !validID(u) {
			return invalid("mention %q is not a user id", u)
		}
	}
	return nil
}

func validType(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 64
}

// Summary returns the conversation's line in the list; ErrNotFound if the
// client knows nothing of it.
func (v *Conversation) Summary(ctx context.Context) (Summary, error) {
	var s Summary
	found := false
	err := v.c.do(ctx, func(k *core) {
		k.perish()
		if cv := k.convs[v.id]; cv != nil {
			s, found = k.summary(cv), true
		}
	})
	if err == nil && !found {
		err = &Error{Code: wire.CodeNotFound, Message: "unknown conversation " + v.id}
	}
	return s, err
}

// Unread is how many messages of others lie after the read mark.
func (v *Conversation) Unread(ctx context.Context) (uint64, error) {
	var n uint64
	err := v.c.do(ctx, func(k *core) {
		k.perish()
		if cv := k.convs[v.id]; cv != nil {
			n = cv.unread()
		}
	})
	return n, err
}

// MarkRead moves the read mark to seq, here and, a little later, for the others
// and on the user's other devices. It never goes back.
func (v *Conversation) MarkRead(ctx context.Context, seq uint64) error {
	var err error
	e := v.c.do(ctx, func(k *core) {
		if cv := k.convs[v.id]; cv != nil {
			err = k.markRead(cv, seq)
		} else {
			err = &Error{Code: wire.CodeNotFound, Message: "unknown conversation " + v.id}
		}
	})
	if e != nil {
		return e
	}
	return err
}

// typingEvery is how often typing is told at most.
const typingEvery = 3 * time.Second

// Typing tells the others that the user is typing; call it as often as you
// like. Without a connection it does nothing.
func (v *Conversation) Typing(ctx context.Context) error {
	if kindOf(v.id) == KindInvalid {
		return invalid("%q is not a conversation", v.id)
	}
	now := v.c.o.now()
	if last, ok := v.c.typing.Load(v.id); ok && now.Sub(last.(time.Time)) < typingEvery {
		return nil
	}
	v.c.typing.Store(v.id, now)
	return v.c.do(ctx, func(k *core) {
		if k.state == StateConnected {
			k.send(wire.NewClientFrame(&wire.Typing{Conversation: v.id}))
		}
	})
}

// Signal tells the others that are connected now something that is not kept and may be
// lost; they get a SignalEvent. Its type is [a-z0-9._-]{1,64}, its data at most 1 KiB.
// Without a connection it does nothing.
func (v *Conversation) Signal(ctx context.Context, kind string, data []byte) error {
	switch {
	case kindOf(v.id) == KindInvalid:
		return invalid("%q is not a conversation", v.id)
	case !validType(kind):
		return invalid("signal type %q does not match [a-z0-9._-]{1,64}", kind)
	case len(data) > 1024:
		return &Error{Code: wire.CodeTooLarge, Message: "the data of a signal is longer than 1 KiB"}
	}
	data = slices.Clone(data)
	return v.c.do(ctx, func(k *core) {
		if k.state == StateConnected {
			k.send(wire.NewClientFrame(&wire.Signal{Conversation: v.id, Type: kind, Data: data}))
		}
	})
}

// Outbox returns the conversation's messages that are not stored yet: pending and failed.
func (v *Conversation) Outbox(ctx context.Context) ([]*Message, error) {
	var out []*Message
	err := v.c.do(ctx, func(k *core) { out = k.outboxMessages(v.id) })
	return out, err
}

// History returns up to limit entries before seq (0: the newest), ascending,
// from the store and, as far as it does not reach, from the server. Fewer mean
// that it is the beginning, or that there is no connection. Entries of kind EVENT
// are among them; recalls and other amendments are not: messages are as they are now.
// What the user has cleared (SetMyState) or deleted (DeleteForMe) is left out.
func (v *Conversation) History(ctx context.Context, before uint64, limit int) ([]*Message, error) {
	if kindOf(v.id) == KindInvalid {
		return nil, invalid("%q is not a conversation", v.id)
	}
	if limit <= 0 {
		limit = 50
	}
	for {
		w, err := v.window(ctx)
		if err != nil {
			return nil, err
		}
		hi := w.High
		if before > 0 {
			if hi = min(hi, w.before(before)); hi == 0 && w.known {
				return nil, nil
			}
		}
		if !w.known || w.after(hi) < w.Low { // not next to the window: read past the store
			if before == 1 {
				return nil, nil
			}
			es, err := v.past(ctx, max(before, 1)-1, limit, w)
			return v.messages(es, w), err
		}
		local, err := v.local(ctx, w, hi, limit)
		older := w.before(w.Low)
		if err != nil || len(local) >= limit || older == 0 || older < w.Mine.GetClearedBelow() {
			return v.messages(local, w), err
		}
		_, err = v.older(ctx, older, limit-len(local))
		if err == nil {
			now, err := v.window(ctx)
			if err != nil || now.Low != w.Low || now.before(now.Low) != older {
				continue // the store has more now, or the window began anew
			}
			// It moved under us: what the server says is an answer as well.
			es, err := v.past(ctx, older, limit-len(local), w)
			return v.messages(append(es, local...), w), err
		}
		if len(local) > 0 {
			return v.messages(local, w), nil
		}
		return nil, err
	}
}

// past asks the server for entries from seq down, 0: the newest, until there are
// limit of them or it is the beginning, or what is cleared. A page of it may be
// amendments only.
func (v *Conversation) past(ctx context.Context, from uint64, limit int, w window) ([]*wire.Entry, error) {
	var out []*wire.Entry
	for {
		f, err := v.older(ctx, from, limit-len(out))
		if err != nil {
			if len(out) > 0 {
				return out, nil
			}
			return nil, err
		}
		out = append(w.undeleted(f.Entries), out...)
		if len(out) >= limit || f.FirstSeq <= max(w.Mine.GetClearedBelow(), 1) || from != 0 && f.FirstSeq > from {
			return out[max(0, len(out)-limit):], nil
		}
		from = f.FirstSeq - 1
	}
}

// window is what History needs to know of a conversation.
type window struct {
	ConversationRecord
	known bool
}

func (v *Conversation) window(ctx context.Context) (window, error) {
	var w window
	err := v.c.do(ctx, func(k *core) {
		k.perish()
		if cv := k.convs[v.id]; cv != nil {
			w = window{cv.rec, true}
		}
	})
	return w, err
}

func (v *Conversation) messages(es []*wire.Entry, w window) []*Message {
	es = w.shown(es)
	out := make([]*Message, len(es))
	for i, e := range es {
		out[i] = messageOf(e, v.c.userID())
		out[i].tick(w.PeerReceived, w.PeerRead)
	}
	return out
}

// older asks the server for a page from seq down.
func (v *Conversation) older(ctx context.Context, from uint64, limit int) (*wire.Range, error) {
	type answer struct {
		f   *wire.Range
		err error
	}
	got := make(chan answer, 1)
	err := v.c.do(ctx, func(k *core) {
		if k.state != StateConnected {
			got <- answer{nil, ErrOffline}
			return
		}
		cv := k.convs[v.id]
		if cv == nil {
			cv = &conv{rec: ConversationRecord{ID: v.id}}
		}
		k.pull(&request{kind: reqHistory, cv: cv, from: from, done: func(f *wire.Range, err error) {
			got <- answer{f, err}
		}}, true, min(limit, k.pageLimit()))
	})
	if err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		if a.err != nil {
			return nil, a.err
		}
		return a.f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-v.c.stopped:
		return nil, v.c.end
	}
}

// Recall takes back the message seq: its author within the deployment's
// window, or a group's admin. Its content is erased everywhere.
func (v *Conversation) Recall(ctx context.Context, seq uint64) error {
	var resp wire.RecallMessageResponse
	req := &wire.RecallMessageRequest{Conversation: v.id, Seq: seq}
	if err := v.c.Call(ctx, "skein.v1.MessageService/RecallMessage", req, &resp); err != nil {
		return err
	}
	return v.stored(ctx, resp.Seq)
}

// Edit replaces what the user's own message seq says: text, type, mentions and extra; what is
// not given is absent then. It returns once the server has stored it; the event that
// tells it is a ChangedEvent, here and on all devices. Every try has the same id, so
// one whose answer was lost makes no second edit.
func (v *Conversation) Edit(ctx context.Context, seq uint64, text string, opts ...SendOption) error {
	s := &wire.Send{Conversation: v.id, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}}
	for _, opt := range opts {
		opt(s)
	}
	if err := checkSend(s); err != nil {
		return err
	}
	switch {
	case s.ReplyTo != 0:
		return invalid("an edit does not change which message is answered")
	case len(s.Media) > 0:
		return invalid("an edit does not change which uploads the message names")
	}
	req := &wire.EditMessageRequest{Conversation: v.id, Seq: seq, Content: s.Content, Mentions: s.Mentions, GroupMention: s.GroupMention, Extra: s.Extra}
	if err := v.c.do(ctx, func(k *core) { req.Id = k.idOr(s.Id) }); err != nil {
		return err
	}
	var resp wire.EditMessageResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/EditMessage", req, &resp); err != nil {
		return err
	}
	return v.stored(ctx, resp.Seq)
}

// Edits are the versions that the message seq had before it was edited, the latest
// first: at most limit (0: all that are kept) below the version before (0: the present
// one). next is where the next page begins, 0 if there is none.
func (v *Conversation) Edits(ctx context.Context, seq uint64, before uint32, limit int) (versions []*wire.Edited, next uint32, err error) {
	var resp wire.ListEditsResponse
	req := &wire.ListEditsRequest{Conversation: v.id, Seq: seq, Before: before, Limit: uint32(max(limit, 0))}
	err = v.c.Call(ctx, "skein.v1.MessageService/ListEdits", req, &resp)
	return resp.Versions, resp.Next, err
}

// React adds a reaction of the user's to the message seq: an emoji or a short name, 1 to
// 64 bytes without spaces. Unreact takes it away. What is so already changes nothing.
// The event that tells it is a ChangedEvent, here and on all devices.
func (v *Conversation) React(ctx context.Context, seq uint64, reaction string) error {
	return v.react(ctx, seq, reaction, false)
}

// Unreact takes a reaction of the user's away.
func (v *Conversation) Unreact(ctx context.Context, seq uint64, reaction string) error {
	return v.react(ctx, seq, reaction, true)
}

func (v *Conversation) react(ctx context.Context, seq uint64, reaction string, remove bool) error {
	req := &wire.ReactToMessageRequest{Conversation: v.id, Seq: seq, Reaction: reaction, Remove: remove}
	if err := v.c.do(ctx, func(k *core) { id := k.ids.Next(); req.Id = id[:] }); err != nil {
		return err
	}
	var resp wire.ReactToMessageResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/ReactToMessage", req, &resp); err != nil || resp.Seq == 0 {
		return err
	}
	return v.stored(ctx, resp.Seq)
}

// Reactions are who reacted to the message seq, with reaction or, if it is empty, with
// anything: at most limit (0: 100) behind cursor. next is the cursor of the next page,
// "" if there is none.
func (v *Conversation) Reactions(ctx context.Context, seq uint64, reaction, cursor string, limit int) (reacted []*wire.Reacted, next string, err error) {
	var resp wire.ListReactionsResponse
	req := &wire.ListReactionsRequest{Conversation: v.id, Seq: seq, Reaction: reaction, Cursor: cursor, Limit: uint32(max(limit, 0))}
	err = v.c.Call(ctx, "skein.v1.MessageService/ListReactions", req, &resp)
	return resp.Reacted, resp.Next, err
}

// ReadBy tells who of the group has read a message: those who have, and those to whom it
// came, of whom the user is not told that they have read it (SPEC §4.31); its author and
// who joined later are not among them. In a dm Message.Status tells. An error with the code
// too_large: the group has more than 200 members.
func (v *Conversation) ReadBy(ctx context.Context, seq uint64) (read, received []string, err error) {
	var resp wire.ListReadersResponse
	err = v.c.Call(ctx, "skein.v1.MessageService/ListReaders", &wire.ListReadersRequest{Conversation: v.id, Seq: seq}, &resp)
	return resp.Read, resp.Received, err
}

// stored takes note of an entry of the user's that a call stored, in case its push gets lost.
func (v *Conversation) stored(ctx context.Context, seq uint64) error {
	return v.c.do(ctx, func(k *core) {
		if k.state == StateConnected {
			k.noteHead(v.id, seq)
		}
	})
}

func (k *core) summary(cv *conv) Summary {
	r := &cv.rec
	s := Summary{
		ID: r.ID, Title: r.Title, Peer: peerOf(r.ID, k.meta.User),
		Unread: cv.unread(), UnreadMentions: cv.rec.unreadMentions(), Read: r.Read, PeerReceived: r.PeerReceived, PeerRead: r.PeerRead,
		Low: r.Low, High: r.High, Head: r.Head, Member: r.Until == 0, Mine: r.mine(),
	}
	s.Hidden = s.Mine.Hidden && r.HeadCount <= s.Mine.HiddenCount
	s.MarkedUnread = s.Mine.Unread && r.Read <= s.Mine.UnreadAt
	if r.LastAtMs > 0 {
		s.LastAt = time.UnixMilli(r.LastAtMs)
	}
	if last := k.last(cv); last != nil && last.Seq >= s.Mine.ClearedBelow {
		s.Last = messageOf(last, k.meta.User)
		s.Last.tick(r.PeerReceived, r.PeerRead)
	}
	return s
}

func (k *core) summaries() []Summary {
	out := make([]Summary, 0, len(k.convs))
	for _, cv := range k.convs {
		if kindOf(cv.rec.ID) != KindMe {
			out = append(out, k.summary(cv))
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].LastAt, out[j].LastAt
		if a.Equal(b) {
			return out[i].ID < out[j].ID
		}
		return a.After(b)
	})
	return out
}
