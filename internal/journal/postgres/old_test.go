package postgres

import (
	"context"
	"embed"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/schema"
	"github.com/skein-im/skein/wire"
)

// The tables and functions of versions 1 to 3, as those versions made them.
//
//go:embed testdata/version3/*.sql
var oldSQL embed.FS

// oldTables makes the tables of an old version, and adopts the server as that version
// did.
func oldTables(t testing.TB, url string, version int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer c.Close(context.WithoutCancel(t.Context()))
	for i, names := range [][]string{{"schema", "functions"}, {"history"}, {"versions"}}[:version] {
		for _, name := range names {
			sql, err := oldSQL.ReadFile("testdata/version3/" + name + ".sql")
			must(t, err)
			_, err = c.Exec(t.Context(), string(sql))
			must(t, err)
		}
		if i == 0 {
			_, err = c.Exec(t.Context(), "INSERT INTO journal_meta (version, timeline, base, identity, wal, level) VALUES ($1, 'old', 0, '', '', 0)", version)
			must(t, err)
		}
	}
	_, err = c.Exec(t.Context(), []string{"SELECT journal_adopt_1('x')", "SELECT journal_adopt_2('x', 7)", "SELECT journal_adopt_3('x', 7, 3)"}[version-1])
	must(t, err)
}

// oldEntry is an item as it was said to journal_append_1, and what it says.
type oldEntry struct {
	conversation im.ConversationID
	sender       im.UserID
	id           im.MessageID
	hash         uint64
	kind         im.EntryKind
	content      entrycodec.Old
	target       uint64
	setRoster    uint64
	ifRoster     uint64
	says         *wire.Entry
}

// storeOld appends items one by one, as version 3 stored those that depend on each
// other.
func storeOld(t testing.TB, c *pgx.Conn, items []oldEntry) {
	t.Helper()
	index := map[im.ConversationID]int32{}
	var names []string
	for _, e := range items {
		if _, ok := index[e.conversation]; !ok {
			index[e.conversation] = 0
			names = append(names, string(e.conversation))
		}
	}
	for i, n := range names {
		index[im.ConversationID(n)] = int32(i + 1)
	}
	var nths, none, conv, zero []int32
	var ifs []*int64
	for i := range names {
		nths, none, ifs = append(nths, int32(i+1)), append(none, 0), append(ifs, nil)
	}
	var ids [][16]byte
	var senders, types []string
	var hashes, itemIfs, itemSets, erases []int64
	var kinds []int16
	var texts []bool
	var bodies [][]byte
	var replies, targets []*int64
	var mentioned, events []*string
	for _, e := range items {
		conv, zero, ids, senders, types = append(conv, index[e.conversation]), append(zero, 0), append(ids, e.id), append(senders, string(e.sender)), append(types, e.content.Type)
		hashes, itemIfs, itemSets = append(hashes, int64(e.hash)), append(itemIfs, int64(e.ifRoster)), append(itemSets, int64(e.setRoster))
		kinds, texts, bodies = append(kinds, int16(e.kind)), append(texts, e.content.Text), append(bodies, append([]byte{}, e.content.Content...))
		replies, targets = append(replies, number(e.content.ReplyTo)), append(targets, number(e.target))
		erase := int64(0)
		if e.kind == im.EntryRecall {
			erase = int64(e.target)
		}
		erases = append(erases, erase)
		var mentions, event *string
		if len(e.content.Mentions) > 0 {
			var us []string
			for _, u := range e.content.Mentions {
				us = append(us, string(u))
			}
			s := strings.Join(us, ",")
			mentions = &s
		}
		if e.content.Event != nil {
			b, err := json.Marshal(e.content.Event)
			must(t, err)
			s := string(b)
			event = &s
		}
		mentioned, events = append(mentioned, mentions), append(events, event)
	}
	var statuses []int16
	err := c.QueryRow(t.Context(), `SELECT x_status FROM journal_append_1($1, $2, $1, $3, $4, $4, 1, true, $5, $6, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
		names, nths, ifs, none, conv, zero, ids, senders, hashes, kinds, types, texts, bodies, replies, targets, mentioned, events, itemIfs, itemSets, erases).Scan(&statuses)
	must(t, err)
	for i, s := range statuses {
		if s != int16(im.Stored) {
			t.Fatalf("item %d: status %d", i, s)
		}
	}
}

func number(n uint64) *int64 {
	if n == 0 {
		return nil
	}
	v := int64(n)
	return &v
}

// oldItems are entries of every kind in a few conversations: what version 3 could say.
func oldItems(many int) (items []oldEntry) {
	g, dm, me := im.Group("g"), im.DM("ann", "bob"), im.Me("ann")
	n := 0
	add := func(c im.ConversationID, sender im.UserID, e oldEntry) {
		n++
		m := message(c, sender, n)
		e.conversation, e.sender, e.id = c, sender, m.Entry.ID
		if e.hash == 0 {
			e.hash = m.Hash
		}
		items = append(items, e)
	}
	say := func(c im.ConversationID, sender im.UserID, o entrycodec.Old) {
		s := &wire.Send{Content: &wire.Content{Type: o.Type}, ReplyTo: o.ReplyTo}
		if o.Text {
			s.Content.Body = &wire.Content_Text{Text: string(o.Content)}
		} else {
			s.Content.Body = &wire.Content_Data{Data: o.Content}
		}
		for _, u := range o.Mentions {
			s.Mentions = append(s.Mentions, string(u))
		}
		_, hash := entrycodec.Message(c, s)
		add(c, sender, oldEntry{kind: im.EntryMessage, content: o, hash: hash, says: &wire.Entry{Content: s.Content, ReplyTo: s.ReplyTo, Mentions: s.Mentions}})
	}
	recall := func(c im.ConversationID, sender im.UserID, target uint64) {
		add(c, sender, oldEntry{kind: im.EntryRecall, target: target, hash: entrycodec.RecallHash(c, target), says: &wire.Entry{}})
	}
	event := func(c im.ConversationID, e im.Event) {
		add(c, "", oldEntry{kind: im.EntryEvent, content: entrycodec.Old{Event: &e}, says: &wire.Entry{Event: entrycodec.EventToWire(&e)}})
	}
	event(g, im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"ann", "bob"}, Text: "the group"})
	say(g, "ann", entrycodec.Old{Type: "text", Text: true, Content: []byte("hello, 世界")})
	say(g, "bob", entrycodec.Old{Type: "image", Content: []byte{0, 1, 2, 255}, ReplyTo: 2})
	say(g, "bob", entrycodec.Old{Type: "text", Text: true, ReplyTo: 1, Mentions: []im.UserID{"ann"}, Content: []byte("@ann")})
	say(g, "bob", entrycodec.Old{Type: "text", Text: true, Mentions: []im.UserID{"ann", "carl"}})
	say(g, "ann", entrycodec.Old{})
	say(g, "ann", entrycodec.Old{Type: "text", Text: true, Mentions: []im.UserID{"bob"}, ReplyTo: 2, Content: []byte("a mistake")})
	recall(g, "ann", 7)
	say(g, "ann", entrycodec.Old{Type: "text", Text: true, Content: []byte("another mistake")})
	recall(g, "ann", 9)
	recall(g, "bob", 9)
	event(g, im.Event{Type: im.EventMemberMuted, Users: []im.UserID{"bob"}, Until: time.UnixMilli(1_900_000_000_123)})
	event(g, im.Event{Type: im.EventRoleChanged, Users: []im.UserID{"ann"}, Role: im.RoleAdmin})
	items[len(items)-1].setRoster = 9
	event(me, im.Event{Type: im.EventContactRequested, Users: []im.UserID{"bob"}, Text: "hi"})
	for range many {
		say(dm, []im.UserID{"ann", "bob"}[n%2], entrycodec.Old{Type: "text", Text: true, Content: []byte(strings.Repeat("x", n%200))})
	}
	return items
}

// oldRow is what stays of an entry, in either version.
type oldRow struct {
	Conversation                                string
	Seq, Count, Stored, Pos, Hash, Roster       int64
	ID                                          [16]byte
	Kind                                        int16
	Sender                                      string
	Recalled                                    bool
	Target, HeadNo, HeadSeq, HeadCount, HeadPos int64
}

func rowsOf(t testing.TB, url string) []oldRow {
	t.Helper()
	rows, err := pgtest.Collect[oldRow](t.Context(), url, `SELECT h.conversation, e.seq, e.count, e.stored, e.pos, e.hash, coalesce(e.roster, 0), e.id, e.kind, e.sender, coalesce(e.recalled, false),
		coalesce(e.target, 0), h.no::bigint, h.seq, h.count, h.pos FROM journal_entries e JOIN journal_heads h ON h.no = e.no ORDER BY h.conversation, e.seq`)
	must(t, err)
	return rows
}

// oldDatabase is one of version 3 with entries and marks.
func oldDatabase(t testing.TB, url string, many int) []oldEntry {
	t.Helper()
	oldTables(t, url, 3)
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer c.Close(context.WithoutCancel(t.Context()))
	items := oldItems(many)
	for from := 0; from < len(items); from += 700 {
		storeOld(t, c, items[from:min(from+700, len(items))])
	}
	_, err = c.Exec(t.Context(), `INSERT INTO journal_marks ("user", conversation, received, read, read_count, pos)
		SELECT m.u, m.c, m.r, m.r - 1, 1, j.base + pg_current_xact_id()::text::bigint FROM journal_meta j, (VALUES ('ann', 'grp:g', 5), ('bob', 'grp:g', 9), ('bob', 'dm:ann:bob', -9223372036854775807)) m(u, c, r)`)
	must(t, err)
	if got := rangeOf(t, url); got != (schema.Range{Version: 3, Least: 3}) {
		t.Fatalf("the old tables have %+v", got)
	}
	return items
}
