package postgres

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// threadURL names the database for the process that is killed.
const threadURL = "SKEIN_TEST_THREAD_URL"

const (
	threadLabel = "t:1"
	threadGroup = im.ConversationID("grp:threads")
)

// A node that stores replies, and takes some back, is killed -9 in the middle of it, one after
// the other on the same database: what the root says is always what its thread has, and what
// was answered is there.
func TestThreadProcessIsKilled(t *testing.T) {
	if url := os.Getenv(threadURL); url != "" {
		sayReplies(t, url)
		return
	}
	url := pgtest.Database(t)
	stored := uint64(0)
	for run := range 6 {
		answered := sayUntilKilled(t, url, 20+13*run)
		unlocked(t, url)
		if stored = threadAgrees(t, url); stored < answered {
			t.Fatalf("%d entries are stored, %d were answered", stored, answered)
		}
	}
	if stored < 200 {
		t.Errorf("%d entries were stored: the test tests little", stored)
	}
}

// sayUntilKilled starts a process that says replies and kills it after some answers. It
// returns the last seq that was answered.
func sayUntilKilled(t *testing.T, url string, answers int) (answered uint64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestThreadProcessIsKilled$")
	cmd.Env = append(os.Environ(), threadURL+"="+url)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	n := 0
	for s := bufio.NewScanner(out); s.Scan(); {
		seq, err := strconv.ParseUint(strings.TrimPrefix(s.Text(), "seq "), 10, 64)
		if err != nil {
			continue
		}
		answered = seq
		if n++; n == answers {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if n < answers {
		t.Fatalf("the process ended by itself after %d answers", n)
	}
	return answered
}

// threadAgrees holds the root against its thread, as whoever comes next reads them, and
// returns how many entries there are.
func threadAgrees(t *testing.T, url string) uint64 {
	t.Helper()
	j := open(t, url)
	defer j.Close()
	var all []im.Entry
	for {
		got, err := j.Read(t.Context(), threadGroup, uint64(len(all))+1, false, 1000)
		must(t, err)
		if len(got) == 0 {
			break
		}
		all = append(all, got...)
	}
	left := uint64(0)
	for i := range all {
		if all[i].Seq != uint64(i+1) {
			t.Fatalf("entry %d stands at %d", all[i].Seq, i+1)
		}
		if all[i].Kind == im.EntryReply && !all[i].Recalled {
			left++
		}
	}
	var out [1]im.Labelled
	span := im.LabelSpan{Span: im.Span{Conversation: threadGroup, Until: 1 << 62}, Label: threadLabel}
	must(t, j.Labelled(t.Context(), []im.LabelSpan{span}, 1, out[:]))
	if says := binary.BigEndian.Uint64(all[0].Body); says != left || out[0].Count != left {
		t.Fatalf("the root says %d replies, %d are labelled, %d are there", says, out[0].Count, left)
	}
	return uint64(len(all))
}

// sayReplies is the process that is killed: it goes on with the thread that it finds.
func sayReplies(t *testing.T, url string) {
	j := open(t, url)
	says := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	put := func(it im.Append) im.Appended {
		var random [10]byte
		binary.BigEndian.PutUint64(random[:], uint64(time.Now().UnixNano()))
		it.Entry.Conversation, it.Entry.Sender, it.Entry.ID = threadGroup, "a", im.NewMessageID(time.Now(), random)
		var out [1]im.Appended
		if err := j.Append(t.Context(), []im.Append{it}, out[:]); err != nil || out[0].Status != im.Stored {
			t.Fatalf("%+v, %v", out[0], err)
		}
		fmt.Println("seq", out[0].Seq)
		return out[0]
	}
	got, err := j.Read(t.Context(), threadGroup, 1, false, 1)
	must(t, err)
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
