package importing

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestTwice: of a message that is twice in an export the second is left out, also where others of
// its time are between them, and replies are in the thread of the one that is there.
func TestTwice(t *testing.T) {
	message := func(id, thread, text string) string {
		return fmt.Sprintf(`{"_id":%q,"rid":"r","msg":%q,"tmid":%q,"ts":{"$date":1600000000000},"u":{"_id":"u1"}}`, id, text, thread)
	}
	lines := []string{message("a", "", "first"), message("b", "", "other"), message("a", "", "first"), message("c", "a", "reply")}
	for i := range batchMessages {
		lines = append(lines, message(fmt.Sprint("m", i), "", "filler"))
	}
	lines = append(lines, message("a", "", "first"), message("d", "a", "late reply"))
	s := newStore(t)
	dir := files(t, map[string]string{
		"users.json":                   `{"_id":"u1","username":"anna"}`,
		"rocketchat_room.json":         `{"_id":"r","t":"c","name":"general","ts":{"$date":1500000000000}}`,
		"rocketchat_message.json":      strings.Join(lines, "\n"),
		"rocketchat_uploads.json":      "",
		"rocketchat_subscription.json": `{"rid":"r","u":{"_id":"u1"}}`,
	})
	r := s.run(t, Options{System: "rocketchat", Path: dir})
	if r.LeftOut["message: it is twice in the export"] != 2 || r.Written.Messages != int64(len(lines)-2) {
		t.Errorf("%+v", r)
	}
	said := s.said(t, general(t, s))
	if want := []string{"1 first replies 2", "1 other", "11 reply in 2"}; !slices.Equal(said[1:4], want) || said[len(said)-1] != "11 late reply in 2" {
		t.Errorf("it says %q … %q, want %q", said[1:4], said[len(said)-1], want)
	}
	if again := s.run(t, Options{System: "rocketchat", Path: dir}); again.Written != (Things{}) || again.Already.Messages != r.Written.Messages || again.LeftOut["message: it is twice in the export"] != 2 {
		t.Errorf("again: %+v", again)
	}
}

// What is written aside has no name that would stay behind when the import is killed, and is
// read all the same.
func TestAsideWithoutNames(t *testing.T) {
	if runtime.GOOS == "windows" { // there an open file keeps its name; it goes at the end
		return
	}
	dir := t.TempDir()
	s := newSorter(dir)
	s.bytes = 1000
	const n = 100
	for i := range n {
		if err := s.add("c", int64(n-i), &Message{Key: fmt.Sprint(i), Text: strings.Repeat("x", 50)}); err != nil {
			t.Fatal(err)
		}
	}
	f := &Fetcher{Spool: dir}
	fetched, size, err := f.keep(strings.NewReader("content"), 100)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 || len(s.runs) < 2 {
		t.Errorf("%d files, %v, of %d that are sorted", len(names), err, len(s.runs))
	}
	if b, err := io.ReadAll(fetched); err != nil || string(b) != "content" || size != 7 {
		t.Errorf("%q, %v", b, err)
	}
	read := 0
	if err := s.each(func(m *Message) error {
		if read++; m.Key != fmt.Sprint(n-read) {
			t.Errorf("%s comes at %d", m.Key, read)
		}
		return nil
	}); err != nil || read != n {
		t.Errorf("%d of %d, %v", read, n, err)
	}
	if err := errors.Join(s.close(), fetched.Close()); err != nil {
		t.Error(err)
	}
}
