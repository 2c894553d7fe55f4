package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// files lists the files below a directory with their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A reader finds every entry with its hash and every mark, in several epochs,
// from any place on, and leaves every byte as it was.
func TestReader(t *testing.T) {
	dir := t.TempDir()
	o := Options{epochBytes: 2000}
	j, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{}
	for i := range 100 {
		c := im.ConversationID(fmt.Sprintf("grp:g%d", i%7))
		var random [10]byte
		random[9] = byte(i)
		it := im.Append{Hash: uint64(i) + 1, Entry: im.Entry{
			Conversation: c, ID: im.NewMessageID(j.o.Now(), random), Sender: im.UserID(fmt.Sprintf("u%d", i%3)), Kind: im.EntryMessage,
			Body: []byte("some words"),
		}}
		if i%10 == 0 {
			it.Entry.ID = im.NewMessageID(j.o.Now().AddDate(-1, 0, 0), random) // kept apart
		}
		out := make([]im.Appended, 1)
		if err := j.Append(t.Context(), []im.Append{it}, out); err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprintf("%s#%d %s", c, out[0].Seq, it.Entry.ID)] = it.Hash
	}
	if err := j.SetMarks(t.Context(), []im.Mark{{User: "u1", Conversation: "grp:g1", Received: 5, Read: 4, ReadCount: 3}, {User: "u2", Conversation: "grp:g0", Received: 1}}, im.MarkWait{}); err != nil {
		t.Fatal(err)
	}
	timeline, position := j.Timeline(), j.position()
	if _, err := OpenReader(dir, o); err == nil {
		t.Error("a journal in use was read")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	r, err := OpenReader(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Timeline() != timeline || r.Position() != position {
		t.Errorf("timeline %s at %d, want %s at %d", r.Timeline(), r.Position(), timeline, position)
	}
	if n, err := r.Count(t.Context()); err != nil || n != 100 {
		t.Errorf("%d entries: %v", n, err)
	}
	readerAgrees(t, r, want)
	state := r.State()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for path, content := range files(t, dir) {
		if before[path] != content {
			t.Errorf("%s was changed", path)
		}
	}
	if j, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = OpenReader(dir, o); err != nil {
		t.Fatal(err)
	}
	if r.State() == state {
		t.Error("it was opened in between, and nobody can tell")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.TempDir(), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
}

func readerAgrees(t *testing.T, r *Reader, want map[string]uint64) {
	t.Helper()
	var places [][]byte
	seqs := map[im.ConversationID]uint64{}
	epochs := map[string]bool{}
	err := r.Entries(t.Context(), nil, func(place []byte, e *im.Entry, hash uint64) error {
		places = append(places, slices.Clone(place))
		epochs[string(place[:5])] = true
		if seqs[e.Conversation]++; seqs[e.Conversation] != e.Seq {
			t.Errorf("entry %d of %s comes as number %d", e.Seq, e.Conversation, seqs[e.Conversation])
		}
		name := fmt.Sprintf("%s#%d %s", e.Conversation, e.Seq, e.ID)
		if want[name] != hash || string(e.Body) != "some words" {
			t.Errorf("%s has hash %d, want %d", name, hash, want[name])
		}
		return nil
	})
	if err != nil || len(places) != len(want) || len(epochs) < 3 {
		t.Fatalf("%d entries in %d epochs: %v", len(places), len(epochs), err)
	}
	for i, from := range places {
		next := i + 1
		err := r.Entries(t.Context(), from, func(place []byte, _ *im.Entry, _ uint64) error {
			if string(place) != string(places[next]) {
				t.Fatalf("behind place %d comes another than at first", i)
			}
			next++
			return nil
		})
		if err != nil || next != len(places) {
			t.Fatalf("from place %d on there are %d: %v", i, next-i-1, err)
		}
	}
	var marks []im.Mark
	var at []byte
	collect := func(place []byte, m *im.Mark) error {
		at = slices.Clone(place)
		marks = append(marks, *m)
		return nil
	}
	if err := r.Marks(t.Context(), nil, collect); err != nil || len(marks) != 2 || marks[0].ReadCount != 3 || marks[1].User != "u2" || marks[1].Pos == 0 {
		t.Errorf("marks %+v: %v", marks, err)
	}
	if err := r.Marks(t.Context(), at, collect); err != nil || len(marks) != 2 {
		t.Errorf("behind the last mark: %+v: %v", marks, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Entries(ctx, nil, func([]byte, *im.Entry, uint64) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A copy of a journal in use has a long log, and what a reader makes of it in
// memory once took all of its cache: every look-up of an id read a filter anew, and
// a backup read an entry in 100 µs instead of 5.
func TestReaderKeepsBlocksBesideALongLog(t *testing.T) {
	j, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	const batches, perBatch = 80, 100
	body := bytes.Repeat([]byte("words "), 2<<10/6)
	for i := range batches {
		batch, out := make([]im.Append, perBatch), make([]im.Appended, perBatch)
		for k := range batch {
			var random [10]byte
			random[8], random[9] = byte(i), byte(k)
			batch[k] = im.Append{Hash: 1, Entry: im.Entry{
				Conversation: im.ConversationID(fmt.Sprintf("grp:g%d", k)), ID: im.NewMessageID(j.o.Now(), random), Sender: "u1", Kind: im.EntryMessage,
				Body: body,
			}}
		}
		if err := j.Append(t.Context(), batch, out); err != nil {
			t.Fatal(err)
		}
		if i == batches/4 { // a quarter in tables, the rest in the log
			if err := j.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if err := j.Snapshot(dir); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	if err := r.Entries(t.Context(), nil, func([]byte, *im.Entry, uint64) error { n++; return nil }); err != nil || n != batches*perBatch {
		t.Fatalf("%d entries: %v", n, err)
	}
	if c := r.j.db.Metrics().BlockCache; c.Misses > c.Hits/4 {
		t.Errorf("%d blocks were found in memory, %d were read", c.Hits, c.Misses)
	}
}
