package pebble

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// threadDir names the directory for the process that is killed.
const threadDir = "SKEIN_TEST_THREAD_DIR"

const threadLabel = "t:1"

// A process that stores replies, and takes some back, is killed -9 in the middle of it, one
// after the other on the same journal: what the root says is always what its thread has,
// and what was answered is there.
func TestThreadProcessIsKilled(t *testing.T) {
	if dir := os.Getenv(threadDir); dir != "" {
		sayReplies(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "journal")
	answered, stored := uint64(0), uint64(0)
	for run := range 8 {
		cmd, s, stop := startTest(t, "TestThreadProcessIsKilled", threadDir+"="+dir)
		for n := 0; s.Scan(); {
			seq, err := strconv.ParseUint(strings.TrimPrefix(s.Text(), "seq "), 10, 64)
			if err != nil {
				continue
			}
			answered = seq
			if n++; n == 20+13*run {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		stop()
		stored = threadAgrees(t, dir, answered)
	}
	if stored < 300 {
		t.Errorf("%d entries were stored: the test tests little", stored)
	}
}

// threadAgrees opens the journal, and holds the root against its thread.
func threadAgrees(t *testing.T, dir string, answered uint64) uint64 {
	t.Helper()
	j, err := Open(dir, Options{Logger: quiet(), OnFatal: func(err error) { t.Errorf("fatal: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer closeJournal(t, j)
	c := im.Group("g")
	var out [1]im.Labelled
	span := im.LabelSpan{Span: im.Span{Conversation: c, Until: 1 << 62}, Label: threadLabel}
	if err := j.Labelled(t.Context(), []im.LabelSpan{span}, 1<<20, out[:]); err != nil {
		t.Fatal(err)
	}
	all, err := j.Read(t.Context(), c, 1, false, 1<<20)
	if err != nil || uint64(len(all)) < answered {
		t.Fatalf("%d entries, %d were answered: %v", len(all), answered, err)
	}
	left := uint64(0)
	for i := range all {
		if all[i].Kind == im.EntryReply && !all[i].Recalled {
			left++
		}
	}
	if says := binary.BigEndian.Uint64(all[0].Body); says != left || out[0].Count != left {
		t.Fatalf("the root says %d replies, %d are labelled, %d are there", says, out[0].Count, left)
	}
	return uint64(len(all))
}

// sayReplies is the process that is killed: it goes on with the thread that it finds.
func sayReplies(t *testing.T, dir string) {
	j, err := Open(dir, Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	c := im.Group("g")
	says := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	put := func(it im.Append) im.Appended {
		var random [10]byte
		binary.BigEndian.PutUint64(random[:], uint64(time.Now().UnixNano()))
		it.Entry.Conversation, it.Entry.Sender, it.Entry.ID = c, "a", im.NewMessageID(time.Now(), random)
		var out [1]im.Appended
		if err := j.Append(t.Context(), []im.Append{it}, out[:]); err != nil || out[0].Status != im.Stored {
			t.Fatalf("%+v, %v", out[0], err)
		}
		fmt.Println("seq", out[0].Seq)
		return out[0]
	}
	got, err := j.Read(t.Context(), c, 1, false, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 {
		put(im.Append{Entry: im.Entry{Kind: im.EntryMessage, Body: says(0)}})
		got = []im.Entry{{Body: says(0)}}
	}
	count, amended := binary.BigEndian.Uint64(got[0].Body), got[0].Amended
	for range 5000 {
		reply := put(im.Append{
			Entry: im.Entry{Kind: im.EntryReply, Target: 1, Body: []byte("a reply")}, Own: []string{threadLabel},
			Amend: im.Amend{Change: true, If: amended, Body: says(count + 1)},
		})
		count, amended = count+1, reply.Seq
		if reply.Seq%3 == 0 {
			gone := put(im.Append{
				Entry: im.Entry{Kind: im.EntryRecall, Target: reply.Seq},
				Amend: im.Amend{Recall: true, Change: true, Of: 1, If: amended, Body: says(count - 1)},
			})
			count, amended = count-1, gone.Seq
		}
	}
}
