package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/soak"
	"github.com/skein-im/skein/wire"
)

// The short form of `make test-faults`. SKEIN_FAULTS=1 says that this machine
// can do it; then it must.
func TestCluster(t *testing.T) {
	if os.Getenv("SKEIN_FAULTS") != "1" {
		t.Skip("makes network namespaces: only with SKEIN_FAULTS=1, as root")
	}
	for _, fault := range []string{"kill-logic", "cut-database", "cut-bus", "failover", "failover-lossy", "upgrade"} {
		t.Run(fault, func(t *testing.T) {
			o := testOptions(t)
			o.fault, o.rounds = fault, 1
			var out bytes.Buffer
			if err := clusters(t.Context(), o, &out); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if !strings.Contains(out.String(), "every promise was kept") {
				t.Errorf("the report does not say so:\n%s", &out)
			}
		})
	}
}

func TestChosenFaults(t *testing.T) {
	all, err := chosenFaults("all")
	if err != nil || len(all) < 9 {
		t.Fatalf("%d faults, %v", len(all), err)
	}
	for _, f := range all {
		if one, err := chosenFaults(f.name); err != nil || len(one) != 1 || one[0].name != f.name {
			t.Errorf("%s: %v, %v", f.name, one, err)
		}
	}
	identical := 0
	for _, f := range all {
		if !strings.HasPrefix(f.name, "alike-") {
			continue
		}
		identical++
		for _, roles := range f.nodes {
			if len(f.nodes) != 3 || !slices.Equal(roles, []string{gateway, logic, api}) {
				t.Errorf("%s happens to %q, want three nodes that have all roles", f.name, f.nodes)
			}
		}
	}
	if identical < 6 {
		t.Errorf("%d faults happen to nodes that have all roles", identical)
	}
	if _, err := chosenFaults("earthquake"); err == nil || !strings.Contains(err.Error(), "cut-bus") {
		t.Errorf("an unknown fault: %v", err)
	}
	if _, _, err := parse([]string{"cluster", "--fault", "freeze", "--rounds", "3"}); err != nil {
		t.Error(err)
	}
	if err := clusters(t.Context(), options{fault: "earthquake"}, &bytes.Buffer{}); !errors.Is(err, errUsage) {
		t.Errorf("the command with an unknown fault: %v", err)
	}
}

// What a cluster's run must not pass with.
func TestClusterVerdict(t *testing.T) {
	clean := func() *clusterResult {
		return &clusterResult{Check: &soak.Report{Broken: map[soak.Invariant]int{}}}
	}
	if err := clean().verdict(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*clusterResult){
		"broken":          func(r *clusterResult) { r.Check.Broken[soak.SenderOrder] = 1 },
		"not checked":     func(r *clusterResult) { r.Check = nil },
		"never calm":      func(r *clusterResult) { r.NotCalm = "somebody waits" },
		"a node ended":    func(r *clusterResult) { r.Trouble = []string{"logic1"} },
		"never recovered": func(r *clusterResult) { r.Recovery.Never = 1 },
		"refused":         func(r *clusterResult) { r.Refused = 1 },
		"turned away":     func(r *clusterResult) { r.gentle, r.Check.Rejected = true, 1 },
	} {
		r := clean()
		spoil(r)
		if err := r.verdict(); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := clean()
	r.Check.Rejected = 1
	if err := r.verdict(); err != nil {
		t.Errorf("turned away where that may happen: %v", err)
	}
}

// journalOf stores a dm and a group in a database.
func journalOf(t *testing.T) (database string, entries []soak.Entry, timeline string) {
	t.Helper()
	database = pgtest.Database(t)
	j, err := postgres.Open(t.Context(), database, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	dm, group := im.ConversationID("dm:ann:bob"), im.ConversationID("grp:g")
	text := func(s string) []byte {
		return entrycodec.Encode(&wire.Entry{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}})
	}
	batch := []im.Append{
		{Entry: im.Entry{Conversation: dm, ID: im.MessageID{1}, Sender: "ann", Kind: im.EntryMessage, Body: text("one")}},
		{Entry: im.Entry{Conversation: dm, ID: im.MessageID{2}, Sender: "bob", Kind: im.EntryMessage, Body: entrycodec.Encode(&wire.Entry{ReplyTo: 1, Content: &wire.Content{Type: "x", Body: &wire.Content_Data{Data: []byte{0, 1}}}})}},
		{Entry: im.Entry{Conversation: dm, ID: im.MessageID{3}, Sender: "bob", Kind: im.EntryMessage, Body: text("three")}},
		{Entry: im.Entry{Conversation: group, ID: im.MessageID{4}, Sender: "ann", Kind: im.EntryEvent, Body: entrycodec.Event(&im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"ann", "bob"}, Text: "g"})}},
	}
	done := make([]im.Appended, len(batch))
	if err := j.Append(t.Context(), batch, done); err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		e := batch[i].Entry
		e.Seq, e.Count = done[i].Seq, done[i].Count
		entries = append(entries, soak.EntryOf(contract.Entry(&e)))
	}
	return database, entries, j.Timeline()
}

func TestReadPostgres(t *testing.T) {
	database, entries, timeline := journalOf(t)
	v, wrong, err := readPostgres(t.Context(), database)
	if err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	if v.Timeline != timeline || v.Source != soak.SourceJournal || len(v.Entries) != len(entries) || len(v.Standings) != 2 {
		t.Fatalf("%+v", v)
	}
	for i, e := range v.Entries {
		if w := entries[i]; e.Hash != w.Hash || e.ID != w.ID || e.Seq != w.Seq || e.Count != w.Count || e.Sender != w.Sender || strings.Join(e.Joined, " ") != strings.Join(w.Joined, " ") {
			t.Errorf("read %+v, stored %+v", e, w)
		}
	}
}

// Each kind of damage is seen.
func TestReadPostgresDamaged(t *testing.T) {
	for damage, statements := range map[string][]string{
		"a hole":           {`DELETE FROM journal_entries WHERE seq = 2`},
		"a lost tail":      {`DELETE FROM journal_entries WHERE seq = 3`},
		"a lost head":      {`DELETE FROM journal_heads WHERE conversation = 'grp:g'`},
		"a head that lies": {`UPDATE journal_heads SET count = 9 WHERE conversation = 'dm:ann:bob'`},
		"an id twice":      {`DROP INDEX journal_entries_id`, `UPDATE journal_entries SET id = (SELECT id FROM journal_entries WHERE seq = 2), sender = 'bob' WHERE seq = 3`},
		"a seq twice":      {`DROP INDEX journal_entries_seq`, `UPDATE journal_entries SET seq = 2 WHERE seq = 3`},
	} {
		t.Run(damage, func(t *testing.T) {
			database, _, _ := journalOf(t)
			for _, s := range statements {
				pgtest.Exec(t, database, s)
			}
			if _, wrong, err := readPostgres(t.Context(), database); err != nil || len(wrong) == 0 {
				t.Errorf("not seen (%v)", err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, _, err := readPostgres(ctx, pgtest.Database(t)); err == nil {
		t.Error("a database without a journal was read")
	}
}
