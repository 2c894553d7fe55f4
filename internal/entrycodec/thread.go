package entrycodec

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// LabelThread is on messages that have replies in a thread.
const LabelThread = "thread"

// LabelReply is on the replies of a thread.
func LabelReply(root uint64) string { return "t:" + strconv.FormatUint(root, 36) }

// LabelWrote is on the replies of a thread that a user wrote.
func LabelWrote(root uint64, u im.UserID) string {
	return "w:" + strconv.FormatUint(root, 36) + ":" + string(u)
}

// LabelFollows is on the roots of threads that a user wrote in, the root included.
func LabelFollows(u im.UserID) string { return "f:" + string(u) }

// The fields of wire.Entry that threads are told by.
const (
	fieldThread     = 34
	fieldReplies    = 35
	fieldAlsoInMain = 36
)

// ThreadHash tells a message in a thread from another one under the same id. The thread is
// a part of what is asked for, so the same words elsewhere are another message.
func ThreadHash(c im.ConversationID, body []byte, kind im.EntryKind, thread uint64) (uint64, error) {
	var w wire.Entry
	err := Decode(body, &w)
	return hashOf(c, kind, thread, &w), err
}

// HasReplies tells that a body says how many replies its message has.
func HasReplies(body []byte) bool {
	has := false
	_ = fields(Told(body), func(num protowire.Number, _ uint64, _ []byte) error {
		has = has || num == fieldReplies
		return nil
	})
	return has
}

// SetReplies makes a root say how many replies its thread has, and when the last one was
// said; of none it says nothing.
func (s *State) SetReplies(count uint64, last time.Time) {
	if s.Told.Replies = nil; count > 0 {
		s.Told.Replies = &wire.Replies{Count: uint32(min(count, 1<<32-1)), LastAtMs: last.UnixMilli()}
	}
}

// WithReplies is the body of a reply with what its root's thread comes to by it.
func (s *State) WithReplies(body []byte) []byte {
	told := Encode(&wire.Entry{Replies: s.Told.Replies})
	return append(body[:len(body):len(body)], told...)
}

// Withdrawn is the body with which the recall of a reply is told: what its root's thread
// comes to by it.
func (s *State) Withdrawn() []byte {
	left := s.Told.Replies
	if left == nil {
		left = &wire.Replies{}
	}
	return Encode(&wire.Entry{Replies: left})
}

// InThread is the body with which an amendment of a reply is told: it names the root, and
// says whether the reply stands in the conversation's line as well.
func InThread(body []byte, reply *im.Entry) []byte {
	body = protowire.AppendVarint(protowire.AppendTag(body[:len(body):len(body)], fieldThread, protowire.VarintType), reply.Root())
	if reply.Kind == im.EntryMessage {
		body = protowire.AppendVarint(protowire.AppendTag(body, fieldAlsoInMain, protowire.VarintType), 1)
	}
	return body
}

// ThreadOf is the root that an amendment's body names, 0 if it amends no reply.
func ThreadOf(body []byte) (root uint64) {
	_ = fields(body, func(num protowire.Number, n uint64, _ []byte) error {
		if num == fieldThread {
			root = n
		}
		return nil
	})
	return root
}

// Recounted is the told body of a root with another number of replies; none that is 0.
func Recounted(body []byte, count uint64, last time.Time) ([]byte, error) {
	s := &State{}
	if err := Decode(body, &s.Told); err != nil {
		return nil, err
	}
	s.SetReplies(count, last)
	return Encode(&s.Told), nil
}
