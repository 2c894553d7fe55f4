package terminal

import (
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
)

// A message says how many replies its thread has, and a reply in which thread it is.
func TestThreadsInWords(t *testing.T) {
	for replies, want := range map[int]string{0: "tea?", 1: "tea?  ┊ 1 reply", 2: "tea?  ┊ 2 replies", 1000: "tea?  ┊ 1000 replies"} {
		if got := saying(&skein.Message{Type: "text", Text: "tea?", Replies: replies}, "  "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	got := replyLine("Bob", &skein.Message{Type: "text", Text: "green\x1b[31m", Thread: 7, Seq: 9})
	if want := "Bob in the thread of #7: green"; len(got) < len(want) || got[:len(want)] != want || got != clean(got) {
		t.Errorf("%q", got)
	}
}
