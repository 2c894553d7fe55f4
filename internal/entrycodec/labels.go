package entrycodec

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Labels are what entries are found by in the journal (im.Append.Labels). They follow
// from what an entry says.
const (
	// LabelAll is on messages that mention every member.
	LabelAll = "@"
	// LabelPinned is on messages that are pinned.
	LabelPinned = "pin"
)

// LabelOf is on messages that mention a user by name.
func LabelOf(u im.UserID) string { return LabelAll + string(u) }

// The fields of wire.Entry that labels follow from.
const (
	fieldMentions     = 9
	fieldGroupMention = 23
	fieldPinned       = 24
)

// Mentions tells whom a body mentions. Of what most messages are it reads two tags, and
// allocates nothing.
func Mentions(body []byte) (users []string, group wire.GroupMention) {
	users, group, _, _ = labelling(body)
	return users, group
}

// labelling is all of a body that labels follow from.
func labelling(body []byte) (users []string, group wire.GroupMention, pinned, root bool) {
	for len(body) > 0 {
		num, typ, n := protowire.ConsumeTag(body)
		if n < 0 {
			return users, group, pinned, root
		}
		body = body[n:]
		m := protowire.ConsumeFieldValue(num, typ, body)
		switch {
		case m < 0:
			return users, group, pinned, root
		case num == fieldPinned && typ == protowire.BytesType:
			pinned = true
		case num == fieldReplies && typ == protowire.BytesType:
			root = true
		case num == fieldMentions && typ == protowire.BytesType:
			v, _ := protowire.ConsumeBytes(body)
			users = append(users, string(v))
		case num == fieldGroupMention && typ == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(body)
			group = wire.GroupMention(v)
		}
		body = body[m:]
	}
	return users, group, pinned, root
}

// Labels are the labels of an entry as it is: none of what is no message, or was taken
// back. Who says that all are mentioned names nobody besides, and nobody mentions
// themselves.
func Labels(e *im.Entry) []string {
	if !e.Kind.Said() || e.Recalled {
		return nil
	}
	users, group, pinned, root := labelling(e.Body)
	var labels []string
	if r := e.Root(); r != 0 {
		labels = append(labels, LabelReply(r), LabelWrote(r, e.Sender))
	}
	if root {
		labels = append(labels, LabelThread)
	}
	if pinned {
		labels = append(labels, LabelPinned)
	}
	if group == wire.GroupMention_GROUP_MENTION_ALL {
		return append(labels, LabelAll)
	}
	for _, u := range users {
		if l := LabelOf(im.UserID(u)); u != string(e.Sender) && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	return labels
}

// Relabel tells what an entry's labels become: those that are new, and those that go.
func Relabel(before, after []string) (add, remove []string) {
	for _, l := range after {
		if !slices.Contains(before, l) {
			add = append(add, l)
		}
	}
	for _, l := range before {
		if !slices.Contains(after, l) {
			remove = append(remove, l)
		}
	}
	return add, remove
}
