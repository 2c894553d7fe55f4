package contract

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Message checks a Send (SPEC §2, §5.6) and translates it.
func Message(from *wire.Send) (im.Message, error) {
	c, err := im.ParseConversationID(from.GetConversation())
	if err != nil {
		return im.Message{}, err
	}
	id, err := im.ParseMessageID(from.GetId())
	if err != nil {
		return im.Message{}, err
	}
	if err := checkSaid(c, from); err != nil {
		return im.Message{}, err
	}
	if err := im.In("poll", checkPoll(from.GetPoll())); err != nil {
		return im.Message{}, err
	}
	if err := checkStreaming(from); err != nil {
		return im.Message{}, err
	}
	if err := checkMedia(from.GetMedia()); err != nil {
		return im.Message{}, err
	}
	if len(from.GetMedia()) > 0 && from.GetContent().GetType() == im.TypeSticker {
		return im.Message{}, im.Wrong("media", "is for the server to say of a sticker")
	}
	m := im.Message{Conversation: c, ID: id, Kind: im.EntryMessage, ReplyTo: from.GetReplyTo()}
	m.Body, m.Hash = entrycodec.Message(c, from)
	if from.GetThread() == 0 {
		if from.GetAlsoInMain() {
			return im.Message{}, im.Wrong("alsoInMain", "is for a message in a thread")
		}
		return m, nil
	}
	return inThread(m, from.GetThread(), from.GetAlsoInMain())
}

// inThread makes a message one of a thread (SPEC §4.36), and of the conversation's own line
// if it is to stand there, too.
func inThread(m im.Message, thread uint64, also bool) (im.Message, error) {
	if thread > math.MaxInt64 {
		return im.Message{}, im.Wrong("thread", "is no seq")
	}
	var err error
	if m.Target = thread; !also {
		m.Kind = im.EntryReply
	}
	m.Hash, err = entrycodec.ThreadHash(m.Conversation, m.Body, m.Kind, thread)
	return m, err
}

// said is what a Send and an Edit say.
type said interface {
	GetContent() *wire.Content
	GetMentions() []string
	GetGroupMention() wire.GroupMention
	GetExtra() map[string]string
}

// checkSaid checks what a message of a conversation says.
func checkSaid(c im.ConversationID, s said) error {
	if err := CheckContent(s.GetContent()); err != nil {
		return err
	}
	mentions := s.GetMentions()
	if n := len(mentions); n > MaxMentions {
		return im.TooLarge("mentions", "has %d users; at most %d are allowed", n, MaxMentions)
	}
	for i, s := range mentions {
		if !im.ValidID(s) {
			return badUser("mentions", i)
		}
	}
	switch g := s.GetGroupMention(); {
	case g < 0 || g > wire.GroupMention_GROUP_MENTION_HERE:
		return im.Wrong("groupMention", "is none of this server's")
	case g != 0 && c.Kind() != im.KindGroup:
		return im.Wrong("groupMention", "is for groups only")
	}
	return checkExtra(s.GetExtra())
}

// Amend checks an Amend (SPEC §4.10) and translates it.
func Amend(from *wire.Amend) (im.Message, error) {
	m, err := amendment(from.GetConversation(), from.GetId())
	if err != nil {
		return im.Message{}, err
	}
	if m.Target = from.GetTarget(); m.Target == 0 {
		return im.Message{}, im.Wrong("target", "is missing")
	}
	switch what := from.GetWhat().(type) {
	case *wire.Amend_Edit:
		return m, im.In("edit", edit(&m, what.Edit))
	case *wire.Amend_React:
		return m, im.In("react", react(&m, what.React))
	case *wire.Amend_Vote:
		return m, im.In("vote", vote(&m, what.Vote))
	case *wire.Amend_EndPoll:
		endPoll(&m)
		return m, nil
	case *wire.Amend_Pin:
		pin(&m, what.Pin)
		return m, nil
	}
	return im.Message{}, im.Wrong("edit", "is missing, as is all else that is done to a target, or this server does not know it")
}

// Edit is what EditMessage asks for.
func Edit(r *wire.EditMessageRequest) (im.Message, error) {
	m, err := amendment(r.GetConversation(), r.GetId())
	if err != nil {
		return im.Message{}, err
	}
	if m.Target = r.GetSeq(); m.Target == 0 {
		return im.Message{}, im.Wrong("seq", "is missing")
	}
	return m, edit(&m, &wire.Edit{Content: r.GetContent(), Mentions: r.GetMentions(), Extra: r.GetExtra(), GroupMention: r.GetGroupMention()})
}

func amendment(conversation string, id []byte) (m im.Message, err error) {
	if m.Conversation, err = im.ParseConversationID(conversation); err == nil {
		m.ID, err = im.ParseMessageID(id)
	}
	return m, err
}

func edit(m *im.Message, e *wire.Edit) error {
	if err := checkSaid(m.Conversation, e); err != nil {
		return err
	}
	if e.GetContent().GetType() == im.TypeSticker {
		return im.Wrong("content.type", "must not be sticker: what was said stays something else")
	}
	m.Kind = im.EntryEdit
	m.Body, m.Hash = entrycodec.Edit(m.Conversation, m.Target, e)
	return nil
}

// React is what ReactToMessage asks for.
func React(r *wire.ReactToMessageRequest) (im.Message, error) {
	m, err := amendment(r.GetConversation(), r.GetId())
	if err != nil {
		return im.Message{}, err
	}
	if m.Target = r.GetSeq(); m.Target == 0 {
		return im.Message{}, im.Wrong("seq", "is missing")
	}
	return m, react(&m, &wire.React{Reaction: r.GetReaction(), Remove: r.GetRemove()})
}

func react(m *im.Message, r *wire.React) error {
	if err := CheckReaction(r.GetReaction()); err != nil {
		return err
	}
	m.Kind = im.EntryReaction
	m.Body, m.Hash = entrycodec.React(m.Conversation, m.Target, r)
	return nil
}

// CheckReaction checks the text of a reaction.
func CheckReaction(s string) error {
	switch {
	case s == "":
		return im.Wrong("reaction", "is missing")
	case len(s) > entrycodec.MaxReactionBytes:
		return im.TooLarge("reaction", "has %d bytes; at most %d are allowed", len(s), entrycodec.MaxReactionBytes)
	case !utf8.ValidString(s):
		return im.Wrong("reaction", "must be UTF-8")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return im.Wrong("reaction", "must not contain spaces or control characters")
	}
	return nil
}

// Pin is what PinMessage asks for.
func Pin(r *wire.PinMessageRequest) (im.Message, error) {
	m, err := amendment(r.GetConversation(), r.GetId())
	if err != nil {
		return im.Message{}, err
	}
	if m.Target = r.GetSeq(); m.Target == 0 {
		return im.Message{}, im.Wrong("seq", "is missing")
	}
	pin(&m, &wire.Pin{Remove: r.GetRemove()})
	return m, nil
}

func pin(m *im.Message, p *wire.Pin) {
	m.Kind = im.EntryPin
	m.Body, m.Hash = entrycodec.Pin(m.Conversation, m.Target, p)
}

// Signal checks a Signal (SPEC §6.9) and translates it. Who says it is Logic's to know.
func Signal(s *wire.Signal) (im.CustomSignal, error) {
	c, err := im.ParseConversationID(s.GetConversation())
	switch n := len(s.GetData()); {
	case err != nil:
	case !im.ValidKey(s.GetType()):
		err = im.Wrong("type", "must match [a-z0-9._-]{1,64}")
	case n > MaxSignalBytes:
		err = im.TooLarge("data", "has %d bytes; at most %d are allowed", n, MaxSignalBytes)
	}
	return im.CustomSignal{Conversation: c, Type: s.GetType(), Data: s.GetData()}, err
}

// CheckContent checks the content of a message.
func CheckContent(c *wire.Content) error {
	if c == nil {
		return im.Wrong("content", "is missing")
	}
	if !im.ValidKey(c.GetType()) {
		return im.Wrong("content.type", "must match [a-z0-9._-]{1,64}")
	}
	n := ContentBytes(c)
	switch text, ok := c.GetBody().(*wire.Content_Text); {
	case n == 0:
		return im.Wrong("content", "must have text or data of at least 1 byte")
	case n > MaxContentBytes:
		return im.TooLarge("content", "has %d bytes; at most %d are allowed", n, MaxContentBytes)
	case ok && !utf8.ValidString(text.Text):
		return im.Wrong("content.text", "must be UTF-8")
	case len(c.GetFallback()) > MaxFallbackBytes:
		return im.TooLarge("content.fallback", "has %d bytes; at most %d are allowed", len(c.GetFallback()), MaxFallbackBytes)
	case !utf8.ValidString(c.GetFallback()):
		return im.Wrong("content.fallback", "must be UTF-8")
	}
	return nil
}

// checkExtra checks what is the integrator's (SPEC §5.10).
func checkExtra(extra map[string]string) error {
	if len(extra) > MaxExtraKeys {
		return im.TooLarge("extra", "has %d keys; at most %d are allowed", len(extra), MaxExtraKeys)
	}
	n := 0
	for key, value := range extra {
		if !im.ValidKey(key) {
			return im.Wrong("extra", "must have keys that match [a-z0-9._-]{1,64}")
		}
		if !utf8.ValidString(value) {
			return im.Wrong("extra", "must have values that are UTF-8")
		}
		n += len(key) + len(value)
	}
	if n > MaxExtraBytes {
		return im.TooLarge("extra", "has %d bytes of keys and values; at most %d are allowed", n, MaxExtraBytes)
	}
	return nil
}

// ContentBytes is how long a content's text or data is.
func ContentBytes(c *wire.Content) int { return len(c.GetText()) + len(c.GetData()) }

// Users checks user ids from outside; field names them in the refusal.
func Users(field string, ids []string) ([]im.UserID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out := make([]im.UserID, len(ids))
	for i, s := range ids {
		if !im.ValidID(s) {
			return nil, badUser(field, i)
		}
		out[i] = im.UserID(s)
	}
	return out, nil
}

func badUser(field string, i int) error {
	return im.Wrong(field+"["+strconv.Itoa(i)+"]", "must match [A-Za-z0-9_-]{1,64}")
}

// SyncQuery checks a Sync and translates it.
func SyncQuery(s *wire.Sync) (im.SyncQuery, error) {
	for _, f := range [...]struct{ name, value string }{
		{"position", s.GetPosition()}, {"timeline", s.GetTimeline()}, {"cursor", s.GetCursor()},
	} {
		if len(f.value) > MaxCursorBytes {
			return im.SyncQuery{}, im.Wrong(f.name, "is longer than %d bytes", MaxCursorBytes)
		}
	}
	newest, err := newest(s.GetNewest())
	return im.SyncQuery{Position: s.GetPosition(), Timeline: s.GetTimeline(), Limit: limit(s.GetLimit()), Cursor: s.GetCursor(), Newest: newest}, err
}

func newest(n *wire.Newest) (im.Newest, error) {
	if n == nil {
		return im.Newest{}, nil
	}
	c, err := im.ParseConversationID(n.GetConversation())
	switch {
	case err != nil:
	case n.GetSeq() == 0:
		err = im.Wrong("seq", "is missing")
	case len(n.GetId()) != len(im.MessageID{}):
		err = im.Wrong("id", "must have %d bytes", len(im.MessageID{}))
	}
	if err != nil {
		return im.Newest{}, im.In("newest", err)
	}
	return im.Newest{Conversation: c, Seq: n.GetSeq(), ID: im.MessageID(n.GetId()), StoredMs: n.GetStoredAtMs(), Pos: n.GetPos()}, nil
}

// MyChange checks what a user sets for themselves.
func MyChange(r *wire.SetMyStateRequest) (im.ConversationID, im.MyChange, error) {
	c, err := im.ParseConversationID(r.GetConversation())
	if err == nil && r.Draft != nil && !utf8.ValidString(*r.Draft) {
		err = im.Wrong("draft", "must be UTF-8")
	}
	if err == nil && r.GetMutedUntilMs() < 0 {
		err = im.Wrong("mutedUntilMs", "must not be negative")
	}
	change := im.MyChange{Pinned: r.Pinned, Hidden: r.Hidden, Draft: r.Draft, ClearedBelow: r.ClearedBelow, Unread: r.Unread}
	if r.MutedUntilMs != nil {
		var until time.Time
		if *r.MutedUntilMs != 0 {
			until = time.UnixMilli(*r.MutedUntilMs).UTC()
		}
		change.MutedUntil = &until
	}
	if err == nil {
		change.Delete, err = deletes(r.GetDelete())
	}
	if err == nil && r.PushLevel != nil {
		var level im.PushLevel
		level, err = PushLevel("pushLevel", *r.PushLevel)
		change.PushLevel = &level
	}
	if err == nil && r.Folder != nil {
		var folder string
		folder, err = im.ParseFolder(*r.Folder)
		change.Folder = &folder
	}
	if t := r.GetThread(); err == nil && t != nil {
		change.Thread = &im.ThreadChange{Root: t.GetRoot(), Follow: t.Follow, Read: t.Read}
		switch {
		case t.GetRoot() == 0 || t.GetRoot() > math.MaxInt64:
			err = im.Wrong("thread.root", "is no seq")
		case t.Follow == nil && t.Read == nil:
			err = im.Wrong("thread.follow", "is missing, as is read")
		}
	}
	return c, change, err
}

// PushLevel checks for which messages somebody wants to be woken.
func PushLevel(field string, l wire.PushLevel) (im.PushLevel, error) {
	if _, ok := wire.PushLevel_name[int32(l)]; !ok {
		return 0, im.Wrong(field, "is none of this version's")
	}
	return im.PushLevel(l), nil
}

// deletes checks which messages a user wants to delete for themselves.
func deletes(seqs []uint64) (im.SeqSet, error) {
	if len(seqs) > im.MaxDelete {
		return "", im.TooLarge("delete", "has %d seqs; at most %d are allowed", len(seqs), im.MaxDelete)
	}
	ranges := make([]im.SeqRange, len(seqs))
	for i, seq := range seqs {
		if seq == 0 || seq > math.MaxInt64 {
			return "", im.Wrong(fmt.Sprintf("delete[%d]", i), "is no seq")
		}
		ranges[i] = im.SeqRange{First: seq, Last: seq}
	}
	return im.NewSeqSet(ranges...), nil
}

// PullQuery checks a Pull and translates it.
func PullQuery(p *wire.Pull) (im.PullQuery, error) {
	c, err := im.ParseConversationID(p.GetConversation())
	if err != nil {
		return im.PullQuery{}, err
	}
	q := im.PullQuery{Conversation: c, From: p.GetFrom(), Backward: p.GetBackward(), Limit: limit(p.GetLimit())}
	switch at := p.GetAtMs(); {
	case at < 0 || at > maxUntilMs:
		return im.PullQuery{}, im.Wrong("atMs", "must be Unix milliseconds between 0 and %d", int64(maxUntilMs))
	case at > 0 && q.From > 0:
		return im.PullQuery{}, im.Wrong("atMs", "is in the place of from: one of them")
	case at > 0:
		q.At = time.UnixMilli(at).UTC()
	}
	return q, nil
}

// limit keeps a limit from outside within what an int of any size can hold; the
// callee lowers it to its own maximum.
func limit(n uint32) int { return int(min(n, 1<<30)) }
