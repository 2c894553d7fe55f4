package skein

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// listEntries makes the fake answer ListEntries, of a time as well, at most two entries
// at once: a page may be shorter than was asked for.
func (r *rig) listEntries() {
	r.onCall = func(m *wire.Call) *wire.Result {
		var q wire.ListEntriesRequest
		if err := proto.Unmarshal(m.GetBody(), &q); err != nil || m.Method != "skein.v1.MessageService/ListEntries" {
			r.t.Errorf("%s: %v", m.Method, err)
		}
		from := q.From
		if q.AtMs > 0 {
			if q.From > 0 {
				r.t.Errorf("a time and a seq: %v", &q)
			}
			at := slices.IndexFunc(r.journal[q.Conversation], func(e *wire.Entry) bool { return e.StoredAtMs >= q.AtMs })
			if at < 0 {
				at = len(r.journal[q.Conversation])
			}
			from = uint64(at) + 1
		}
		p := r.pull(&wire.Pull{Conversation: q.Conversation, From: from, Limit: min(q.Limit, 2)})
		body, err := proto.Marshal(&wire.ListEntriesResponse{Entries: p.Entries, Head: p.Head, FirstSeq: p.FirstSeq, LastSeq: p.LastSeq})
		if err != nil {
			r.t.Error(err)
		}
		return &wire.Result{Response: &wire.Result_Body{Body: body}}
	}
}

// A program jumps to a date: it is told what was stored from then on, also what the
// device does not keep, and nothing that is cleared or amends.
func TestHistoryAt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.listEntries()
		began := time.Now()
		for range 3 {
			r.sayMany(dm, "bob", 2)
			pause(time.Minute)
		}
		r.edit(dm, 2, "other words") // the 7th entry
		r.edit(dm, 3, "other words")
		r.edit(dm, 4, "other words")
		pause(time.Minute)
		r.sayMany(dm, "bob", 1)
		c := r.dial()
		synctest.Wait()
		check := func(at time.Duration, limit int, want ...uint64) {
			t.Helper()
			ms, err := c.Conversation(dm).HistoryAt(bg, began.Add(at), limit)
			var got []uint64
			for _, m := range ms {
				got = append(got, m.Seq)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("from %s, %d: %v, %v; want %v", at, limit, got, err, want)
			}
		}
		check(-time.Hour, 3, 1, 2, 3)
		check(-time.Hour, 0, 1, 2, 3, 4, 5, 6, 10)
		check(0, 1, 1)
		check(time.Minute, 0, 3, 4, 5, 6, 10)
		check(time.Minute+time.Millisecond, 2, 5, 6)
		check(3*time.Minute+time.Millisecond, 0, 10)
		check(time.Hour, 0)
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 1, ClearedBelow: 5}, true)
		check(-time.Hour, 2, 5, 6)
		check(time.Minute, 0, 5, 6, 10)
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 2, ClearedBelow: 11}, true)
		check(-time.Hour, 0)
		if _, err := c.Conversation("dm:nothing").HistoryAt(bg, began, 0); err == nil {
			t.Error("a conversation that is none is read")
		}
	})
}
