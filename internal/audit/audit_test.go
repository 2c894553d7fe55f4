package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/audit"
	"github.com/skein-im/skein/internal/im"
)

func entry(seq uint64) im.Entry {
	return im.Entry{
		Conversation: "grp:g", Seq: seq, Pos: 10 + seq, ID: im.MessageID{15: byte(seq)}, Sender: "u", Kind: im.EntryMessage,
		Stored: time.UnixMilli(1_700_000_000_123), Body: []byte("what was said"),
	}
}

func open(t *testing.T, path string) *audit.File {
	t.Helper()
	f, err := audit.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func write(t *testing.T, f *audit.File, entries ...im.Entry) {
	t.Helper()
	if err := f.Write(entries); err != nil {
		t.Fatal(err)
	}
}

// seqs are the seqs in a file, whose lines must be whole.
func seqs(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		var seq uint64
		if _, err := fmt.Sscanf(line, `{"conversation":"grp:g","seq":%d,`, &seq); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("a line is %q: %v", line, err)
		}
		all = append(all, fmt.Sprint(seq))
	}
	return strings.Join(all, " ")
}

// A line says where and who, and nothing of what was said.
func TestLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	recall := entry(2)
	recall.Kind, recall.Target, recall.Sender = im.EntryRecall, 1, ""
	write(t, open(t, path), entry(1), recall)
	got, err := os.ReadFile(path)
	const want = `{"conversation":"grp:g","seq":1,"pos":11,"kind":"message","id":"00000000-0000-0000-0000-000000000001","sender":"u","stored_at":"2023-11-14T22:13:20.123Z"}
{"conversation":"grp:g","seq":2,"pos":12,"kind":"recall","id":"00000000-0000-0000-0000-000000000002","stored_at":"2023-11-14T22:13:20.123Z","target":1}
`
	if err != nil || string(got) != want {
		t.Errorf("%v: %s", err, got)
	}
}

// None, one, many, and again after it was opened again.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	f := open(t, path)
	write(t, f)
	write(t, f, entry(1))
	write(t, f, entry(2), entry(3))
	write(t, open(t, path), entry(4))
	if got := seqs(t, path); got != "1 2 3 4" {
		t.Error(got)
	}
}

// What a crash left of a line is cut off, wherever it was cut.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	write(t, open(t, path), entry(1), entry(2))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Index(string(whole), "\n") + 1
	for n := range len(whole) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		write(t, open(t, path), entry(9))
		want := "9"
		if n >= first {
			want = "1 9"
		}
		if got := seqs(t, path); got != want {
			t.Fatalf("cut at %d: %s", n, got)
		}
	}
	// Longer than what is read at a time.
	if err := os.WriteFile(path, []byte(string(whole)+strings.Repeat("x", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, path), entry(3))
	if got := seqs(t, path); got != "1 2 3" {
		t.Error(got)
	}
}

// The operator renames the file: the next lines go to a new one of its name.
func TestRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	f := open(t, path)
	write(t, f, entry(1))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, f, entry(2))
	write(t, f, entry(3))
	if old, now := seqs(t, path+".1"), seqs(t, path); old != "1" || now != "2 3" {
		t.Errorf("%q, then %q", old, now)
	}
}

// A file that cannot be written is an error, and goes on when it can.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "there")
	path := filepath.Join(dir, "audit")
	if _, err := audit.Open(path); err == nil {
		t.Fatal("it was opened where there is no directory")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	write(t, f, entry(1))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := f.Write([]im.Entry{entry(2)}); err == nil {
		t.Fatal("it was written where there is no directory")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, f, entry(2))
	if got := seqs(t, path); got != "2" {
		t.Error(got)
	}
}
