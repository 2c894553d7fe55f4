package main

import (
	"context"
	"fmt"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/soak"
)

// headRow and entryRow are what is read of the journal's tables.
type headRow struct {
	Conversation string
	Seq, Count   uint64
}

type entryRow struct {
	Conversation string
	Seq, Count   uint64
	ID           im.MessageID
	Kind         int16
	Recalled     bool
	Sender       string
	Body         []byte
	Target       uint64
}

const (
	headsQuery   = `SELECT conversation, seq, count FROM journal_heads WHERE seq > 0 ORDER BY conversation`
	entriesQuery = `SELECT coalesce(h.conversation, 'no head ' || e.no), e.seq, e.count, e.id, e.kind, coalesce(e.recalled, false), e.sender, e.body, coalesce(e.target, 0)
		FROM journal_entries e LEFT JOIN journal_heads h ON h.no = e.no AND h.slot = e.slot ORDER BY 1, 2`
)

// readPostgres reads the journal in the database, not through the server's own
// code: its indexes and what they promise are not believed either. wrong is what
// no reader of a conversation would see.
func readPostgres(ctx context.Context, database string) (v soak.View, wrong []string, err error) {
	v.Source = soak.SourceJournal
	timelines, err := pgtest.Collect[struct{ Name string }](ctx, database, `SELECT timeline FROM journal_meta`)
	if err != nil || len(timelines) != 1 {
		return v, nil, fmt.Errorf("read the journal: %d timelines, %w", len(timelines), err)
	}
	v.Timeline = timelines[0].Name
	heads, err := pgtest.Collect[headRow](ctx, database, headsQuery)
	if err != nil {
		return v, nil, fmt.Errorf("read the journal's heads: %w", err)
	}
	// An index could be wrong where the table is not.
	entries, err := pgtest.Collect[entryRow](ctx, database, entriesQuery)
	if err != nil {
		return v, nil, fmt.Errorf("read the journal's entries: %w", err)
	}
	type place struct {
		conversation string
		seq          uint64
	}
	type key struct {
		conversation, sender string
		id                   im.MessageID
	}
	ids, last := map[key]place{}, map[string]*entryRow{}
	for i := range entries {
		e := &entries[i]
		at := place{e.Conversation, e.Seq}
		if other, ok := ids[key{e.Conversation, e.Sender, e.ID}]; ok {
			wrong = append(wrong, fmt.Sprintf("the database holds %x of %q at %v and at %v", e.ID, e.Sender, other, at))
		}
		ids[key{e.Conversation, e.Sender, e.ID}] = at
		before := last[e.Conversation]
		if want := after(before); e.Seq != want {
			wrong = append(wrong, fmt.Sprintf("the database holds %v where %d is due", at, want))
		}
		last[e.Conversation] = e
		v.Entries = append(v.Entries, e.entry())
	}
	for _, h := range heads {
		v.Standings = append(v.Standings, soak.Standing{Conversation: h.Conversation, First: 1, Last: h.Seq, Member: true})
		if e := last[h.Conversation]; e == nil || e.Seq != h.Seq || e.Count != h.Count {
			wrong = append(wrong, fmt.Sprintf("the head of %s is %d (%d), not its last entry", h.Conversation, h.Seq, h.Count))
		}
		delete(last, h.Conversation)
	}
	for c := range last {
		wrong = append(wrong, "the database holds entries without a head: "+c)
	}
	return v, wrong, nil
}

func after(e *entryRow) uint64 {
	if e == nil {
		return 1
	}
	return e.Seq + 1
}

func (e *entryRow) entry() soak.Entry {
	return soak.EntryOf(contract.Entry(&im.Entry{
		Conversation: im.ConversationID(e.Conversation), Seq: e.Seq, Count: e.Count, ID: e.ID, Kind: im.EntryKind(e.Kind), Recalled: e.Recalled,
		Sender: im.UserID(e.Sender), Body: e.Body, Target: e.Target,
	}))
}
