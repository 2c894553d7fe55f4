package group

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Revisions is what Reconcile asks of the directory.
type Revisions interface {
	// GroupRevisions returns at most limit groups that are made, by conversation,
	// after one. Only Conversation and Rev matter.
	GroupRevisions(ctx context.Context, after im.ConversationID, limit int) ([]im.GroupInfo, error)
	// RestoreGroup bounds what may be read of a group at revision rev to the
	// entries before seq and, for its members, those from seq on. Doing it again is
	// harmless.
	RestoreGroup(ctx context.Context, c im.ConversationID, rev, seq uint64) error
}

// Journal is what Reconcile asks of the journal; see im.Journal.
type Journal interface {
	Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error
	Timeline() string
}

const reconcilePage = 1000

// Reconcile finds the groups whose latest entries the journal lost and makes
// them usable again; it returns how many. It runs at every start, before
// anything else is asked of the groups and before promises are replayed.
//
// While other processes run on the same directory and journal it is safe: it
// reads a group's revision before the journal's head, so a change that is
// half-way, which is in the journal first, never looks like a loss. Several may
// find the same loss: they add the same entry, and one who comes after the next
// change leaves it. It needs to run only where the journal can come back older
// than the directory, which is not so when both are in one database that is
// restored as one: then leave it out, for it reads the revisions of all groups.
// After a loss all processes have to be started again: from the rosters that
// they keep members whose joining was lost see less than they may.
//
// A roster change is in the journal before it is in the directory. A directory
// that is ahead therefore means that the journal came back without entries that
// it had, and then every send would be refused for ever: it is allowed by a
// revision that the journal never reaches. The directory is right about who is
// a member. So the server adds an entry that takes the journal's revision to
// the directory's. A promise that waits was made at that revision and can be
// kept afterwards.
//
// What may be read is bounded before the entry is added: after it, a crash
// would leave nothing that tells of the loss. Until then it is found again,
// with the same head, and gets the same entry.
func (s *Service) Reconcile(ctx context.Context, directory Revisions, journal Journal) (restored int, err error) {
	heads := make([]im.Head, reconcilePage)
	names := make([]im.ConversationID, 0, reconcilePage)
	for after := im.ConversationID(""); ; after = names[len(names)-1] {
		groups, err := directory.GroupRevisions(ctx, after, reconcilePage)
		if err != nil {
			return restored, fmt.Errorf("read the groups' revisions: %w", err)
		}
		if len(groups) == 0 {
			return restored, nil
		}
		names = names[:0]
		for _, g := range groups {
			names = append(names, g.Conversation)
		}
		if err := journal.Heads(ctx, names, heads[:len(names)]); err != nil {
			return restored, fmt.Errorf("read the groups' heads: %w", err)
		}
		for i, g := range groups {
			if heads[i].Damaged { // of what cannot be read nobody knows that it was lost
				continue
			}
			if g.Rev <= heads[i].Roster {
				continue
			}
			if err := s.restore(ctx, directory, g, heads[i], journal.Timeline()); err != nil {
				if now, _, e := s.store.Group(ctx, g.Conversation, nil); e == nil && now.Rev > g.Rev {
					continue // another process was faster, and the group goes on
				}
				return restored, fmt.Errorf("restore %s: %w", g.Conversation, err)
			}
			restored++
		}
	}
}

// restore takes the journal of one group from its head to the directory's
// revision. Nothing else can be appended meanwhile: there is no revision that
// both the directory and the journal agree to.
func (s *Service) restore(ctx context.Context, directory Revisions, g Group, head im.Head, timeline string) error {
	if err := directory.RestoreGroup(ctx, g.Conversation, g.Rev, head.Seq+1); err != nil {
		return err
	}
	s.rosters.drop(g.Conversation) // who sees from where changed, and the revision did not
	return s.drive(ctx, im.Promise{
		ID: restoreID(g, head, timeline), Conversation: g.Conversation, Event: im.Event{Type: im.EventGroupRestored},
		IfRoster: head.Roster, SetRoster: g.Rev,
	})
}

// restoreID is the same for the same loss.
func restoreID(g Group, head im.Head, timeline string) im.MessageID {
	made := head.Time
	if head.Seq == 0 {
		made = time.UnixMilli(0)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "restored %s %d %s", g.Conversation, g.Rev, timeline))
	return im.NewMessageID(made, [10]byte(sum[:10]))
}
