package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/indextest"
	"github.com/skein-im/skein/internal/search/sqlite"
	"github.com/skein-im/skein/internal/search/token"
)

func open(t *testing.T, path string) *sqlite.Index {
	x, err := sqlite.New(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestIndex(t *testing.T) {
	indextest.Run(t, func(t *testing.T) indextest.Open {
		path := filepath.Join(t.TempDir(), "search.db")
		return func(t *testing.T) search.Index { return open(t, path) }
	})
}

var one = []search.Doc{{Conversation: "grp:a", Seq: 1, Pos: 1, Terms: []string{"secretword"}}}

// A file that is no index, is damaged, or of another form, is told so, and Reset helps.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"no database": func(t *testing.T, path string) { write(t, path, []byte("this is a file of something else")) },
		"another form": func(t *testing.T, path string) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			raw[63] ^= 0x40 // user_version
			write(t, path, raw)
		},
		"taken away": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "search.db")
			x := open(t, path)
			if err := x.Apply(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if name != "taken away" {
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
			}
			damage(t, path)
			if err := x.SaveState(t.Context(), search.State{}); !errors.Is(err, search.ErrDamaged) {
				t.Fatalf("SaveState: %v", err)
			}
			if err := x.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := x.Apply(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if s, err := x.State(t.Context()); err != nil || s.Docs != 1 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func write(t *testing.T, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The file is its owner's alone.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "search.db")
	x := open(t, path)
	if err := x.Apply(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if st, err := os.Stat(path + suffix); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", suffix, st, err)
		}
	}
}

// A file that cannot be made is an error each time, and no end: it helps to make room.
func TestNoRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "there")
	x := open(t, filepath.Join(dir, "search.db"))
	if _, err := x.State(t.Context()); err == nil || errors.Is(err, search.ErrDamaged) {
		t.Fatalf("no directory: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := x.Apply(t.Context(), one); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkFind(b *testing.B) {
	x, err := sqlite.New(filepath.Join(b.TempDir(), "search.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for n := range uint64(40) {
		var docs []search.Doc
		for i := range uint64(500) {
			at := n*500 + i
			docs = append(docs, search.Doc{Conversation: im.ConversationID(fmt.Sprintf("grp:%d", at%1000)), Seq: at/1000 + 1, Pos: at + 1, Terms: []string{"w", fmt.Sprintf("w%d", at%97)}})
		}
		if err := x.Apply(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	q := search.Find{Terms: []token.Term{{Text: "w"}, {Text: "w5"}}, Limit: 20}
	for i := range search.MaxAsked {
		q.Conversations = append(q.Conversations, im.ConversationID(fmt.Sprintf("grp:%d", i)))
	}
	for b.Loop() {
		if _, err := x.Find(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApply takes messages of 16 words in as the feed brings them: 500 at a time, of
// 2,000 conversations, to an index that grows.
func BenchmarkApply(b *testing.B) {
	x, err := sqlite.New(filepath.Join(b.TempDir(), "search.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	const page, conversations, words = 500, 2000, 16
	rnd := rand.New(rand.NewPCG(1, 2))
	at := uint64(0)
	for b.Loop() {
		docs := make([]search.Doc, page)
		for i := range docs {
			docs[i] = search.Doc{Conversation: im.ConversationID(fmt.Sprintf("grp:%d", at%conversations)), Seq: at/conversations + 1, Pos: at + 1}
			for range words {
				docs[i].Terms = append(docs[i].Terms, fmt.Sprintf("word%d", int(rnd.ExpFloat64()*800)))
			}
			slices.Sort(docs[i].Terms)
			docs[i].Terms = slices.Compact(docs[i].Terms)
			at++
		}
		if err := x.Apply(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(at), "µs/message")
}
