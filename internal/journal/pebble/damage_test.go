package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// One damaged block breaks the conversations in it and no others: neither those
// that are asked for together with them, nor what is stored.
func TestOneDamagedBlock(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	const conversations, each = 60, 5
	name := func(i int) im.ConversationID { return im.Group(fmt.Sprintf("g%02d", i)) }
	big := strings.Repeat("a long message ", 100)
	for n := range each {
		for i := range conversations {
			m := message(name(i), i*each+n+1)
			m.Entry.Body = fmt.Append(nil, name(i), " ", n, " ", big)
			if _, err := appendOne(j, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.db.Flush(); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	path := newest(t, fs, ".sst")
	content := readFile(t, fs, path)
	at := bytes.Index(content, fmt.Append(nil, name(30), " 4 "))
	if at < 0 {
		t.Fatal("the message is not to be found in the table")
	}
	content[at+100] ^= 1
	writeFile(t, fs, path, content)

	j = open(t, fs)
	defer closeJournal(t, j)
	var all []im.ConversationID
	for i := range conversations {
		all = append(all, name(i))
	}
	heads := make([]im.Head, len(all))
	if err := j.Heads(context.Background(), all, heads); err != nil {
		t.Fatalf("one damaged block is everybody's: %v", err)
	}
	broken := 0
	for i, c := range all {
		entries, err := j.Read(context.Background(), c, 0, true, each)
		switch {
		case heads[i].Damaged:
			broken++
			if !errors.Is(err, im.ErrJournalDamaged) || heads[i] != (im.Head{Damaged: true}) {
				t.Errorf("%s: %+v, %v", c, heads[i], err)
			}
			if _, err := appendOne(j, message(c, 1000+i)); !errors.Is(err, im.ErrJournalDamaged) {
				t.Errorf("%s took an entry behind an end that nobody knows: %v", c, err)
			}
		case heads[i].Seq != each:
			t.Errorf("%s has %+v", c, heads[i])
		case err == nil && len(entries) != each:
			t.Errorf("%s has %d entries", c, len(entries))
		default:
			if out, err := appendOne(j, message(c, 1000+i)); err != nil || out.Seq != each+1 {
				t.Errorf("%s: %+v, %v", c, out, err)
			}
		}
	}
	if broken == 0 || broken > 6 {
		t.Errorf("%d conversations are broken by one block", broken)
	}
	stopped, damaged := j.Trouble()
	if stopped != "" || !strings.Contains(strings.Join(damaged, "\n"), string(name(30))) || !strings.Contains(damaged[0], fs.PathBase(path)) {
		t.Errorf("%q, %q", stopped, damaged)
	}
}
