package app

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
)

// members answers messaging's questions about who is in a conversation, by its
// kind: dms are the contact package's, groups the group package's, feeds
// nobody's but their owner's. It is messaging.Permissions and
// messaging.Members.
type members struct {
	directory *directory.DB
	contacts  *contact.Service
	groups    *group.Service
	outbox    *outbox.Runner
}

var errNoConversation = im.Errorf(im.CodeNotFound, "no such conversation")

// isSaved tells whether a conversation is the one of a user with themselves.
func isSaved(c im.ConversationID, u im.UserID) bool {
	owner, ok := c.SavedBy()
	return ok && owner == u
}

func (m *members) MaySend(ctx context.Context, u im.UserID, c im.ConversationID, kind im.EntryKind) (uint64, error) {
	switch c.Kind() {
	case im.KindDM:
		if isSaved(c, u) {
			return 0, nil // no policy, nobody who could have blocked them
		}
		peer, ok := c.Peer(u)
		if !ok {
			return 0, errNoConversation
		}
		if kind.Said() {
			return 0, m.contacts.Writes(ctx, u, peer)
		}
		return 0, m.contacts.MaySend(ctx, u, peer)
	case im.KindGroup:
		switch kind {
		case im.EntryReaction:
			return m.groups.MayReact(ctx, u, c)
		case im.EntryPin:
			return m.groups.MayPin(ctx, u, c)
		}
		return m.groups.MaySend(ctx, u, c)
	}
	return 0, errNoConversation
}

func (m *members) MaySendNow(u im.UserID, c im.ConversationID, kind im.EntryKind) (roster uint64, known bool, err error) {
	switch c.Kind() {
	case im.KindDM:
		if isSaved(c, u) {
			return 0, true, nil
		}
		if peer, ok := c.Peer(u); ok && kind.Said() {
			known, err = m.contacts.WritesNow(u, peer)
		} else if ok {
			known, err = m.contacts.MaySendNow(u, peer)
		}
	case im.KindGroup:
		switch kind {
		case im.EntryReaction:
			return m.groups.MayReactNow(u, c)
		case im.EntryPin:
			return m.groups.MayPinNow(u, c)
		}
		return m.groups.MaySendNow(u, c)
	}
	return 0, known, err
}

func (m *members) MayWriteYet(u im.UserID, c im.ConversationID, id im.MessageID) error {
	return m.groups.MayWriteYet(u, c, id)
}

func (m *members) MayRecall(ctx context.Context, u im.UserID, c im.ConversationID, author im.UserID) error {
	if c.Kind() == im.KindGroup {
		return m.groups.MayRecall(ctx, u, c, author)
	}
	return im.Errorf(im.CodePermissionDenied, "only the author may take this message back")
}

func (m *members) May(ctx context.Context, u im.UserID, c im.ConversationID, action im.GroupAction) error {
	if c.Kind() == im.KindGroup {
		return m.groups.May(ctx, u, c, action)
	}
	return nil
}

func (m *members) Membership(ctx context.Context, u im.UserID, c im.ConversationID, roster uint64) (im.Membership, error) {
	whole := im.Membership{Conversation: c, First: 1}
	switch c.Kind() {
	case im.KindDM: // both may always read all of it
		if _, ok := c.Peer(u); ok || isSaved(c, u) {
			return whole, nil
		}
	case im.KindMe:
		if owner, _ := c.MeUser(); owner == u {
			return whole, nil
		}
	case im.KindGroup:
		// From RAM comes the last time of membership; a revision beyond all asks for all.
		if got, known := m.groups.Membership(u, c, roster); known {
			return got, nil
		}
		got, ok, err := m.directory.Membership(ctx, u, c)
		if err != nil {
			return im.Membership{}, err
		}
		if ok {
			return got, nil
		}
	}
	return im.Membership{}, errNoConversation
}

func (m *members) Memberships(ctx context.Context, u im.UserID) ([]im.Membership, []im.Promised, error) {
	return m.directory.Memberships(ctx, u)
}

func (m *members) OpenDM(ctx context.Context, c im.ConversationID) error {
	return m.directory.OpenDM(ctx, c)
}

func (m *members) MayWatch(ctx context.Context, u im.UserID, others []im.UserID) ([]im.Watched, error) {
	return m.contacts.MayWatch(ctx, u, others)
}

func (m *members) ReadsHidden(ctx context.Context, u im.UserID, peers []im.UserID) ([]im.UserID, error) {
	return m.contacts.ReadsHidden(ctx, u, peers)
}

func (m *members) Readers(ctx context.Context, c im.ConversationID, limit int) ([]im.Reader, error) {
	return m.directory.Readers(ctx, c, limit)
}

func (m *members) Seen(ctx context.Context, seen []im.Watched) error {
	return m.contacts.Seen(ctx, seen)
}

// applied passes a change of a group's roster on.
func (m *members) applied(p im.Promise, seq uint64) { m.groups.Applied(p, seq) }

func (m *members) Refresh(c im.ConversationID) {
	if c.Kind() == im.KindGroup {
		m.groups.Refresh(c)
	}
}

// helpTime bounds the help for one conversation.
const helpTime = 10 * time.Second

func (m *members) Help(c im.ConversationID) {
	go func() { // it appends, which the caller does
		ctx, cancel := context.WithTimeout(context.Background(), helpTime)
		defer cancel()
		_ = m.outbox.Help(ctx, c) // logged there; the next attempt comes with the next send
	}()
}

// standing lists the groups a user is in now, for the registry of a gateway of
// this process: it hears of every change, so revisions and sessions do not matter.
func (m *members) standing(ctx context.Context, u im.UserID) (s im.Standing, err error) {
	all, _, err := m.directory.Memberships(ctx, u)
	if err != nil {
		return s, err
	}
	for _, x := range all {
		if x.Conversation.Kind() == im.KindGroup && x.Until == 0 {
			s.Groups = append(s.Groups, im.GroupStanding{Conversation: x.Conversation, From: x.From()})
		}
	}
	return s, nil
}
