package journaltest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/im"
)

// model is the journal as simply as it can be said.
type model struct {
	entries map[im.ConversationID][]im.Entry
	roster  map[im.ConversationID]uint64
	ids     map[string]origin
	marks   map[string]im.Mark
}

type origin struct {
	hash uint64
	out  im.Appended
}

func newModel() *model {
	return &model{
		entries: map[im.ConversationID][]im.Entry{}, roster: map[im.ConversationID]uint64{},
		ids: map[string]origin{}, marks: map[string]im.Mark{},
	}
}

// clone copies what append changes, so that a refused batch leaves nothing.
func (m *model) clone() *model {
	n := newModel()
	for c, e := range m.entries {
		n.entries[c] = append([]im.Entry(nil), e...)
	}
	for c, r := range m.roster {
		n.roster[c] = r
	}
	for k, v := range m.ids {
		n.ids[k] = v
	}
	n.marks = m.marks
	return n
}

// append returns the expected outcomes, without the time and position.
func (m *model) append(batch []im.Append) ([]im.Appended, error) {
	out := make([]im.Appended, len(batch))
	blocked := map[im.ConversationID]bool{}
	for i, it := range batch {
		c := it.Entry.Conversation
		key := fmt.Sprint(c, "|", it.Entry.Sender, "|", it.Entry.ID)
		if o, ok := m.ids[key]; ok {
			out[i].Status = im.IDConflict
			if o.hash == it.Hash {
				out[i] = o.out
				out[i].Status = im.Duplicate
			}
			continue
		}
		if blocked[c] || it.IfRoster != m.roster[c] {
			blocked[c] = true
			out[i].Status = im.RosterChanged
			continue
		}
		list := m.entries[c]
		if a := &it.Amend; !a.None() {
			if t := it.Entry.Target; t == 0 || t > uint64(len(list)) {
				return nil, im.ErrAppendInvalid
			}
			if a.Of > uint64(len(list)) {
				return nil, im.ErrAppendInvalid
			}
			if x := &list[a.Changes(it.Entry.Target)-1]; a.Change && (len(x.Body) == 0 || x.Amended != a.If) {
				blocked[c] = true
				out[i].Status = im.TargetChanged
				continue
			}
		}
		e := it.Entry
		e.Seq = uint64(len(list)) + 1
		if len(list) > 0 {
			e.Count = list[len(list)-1].Count
		}
		if e.Kind == im.EntryMessage {
			e.Count++
		}
		if it.SetRoster != 0 {
			m.roster[c] = it.SetRoster
		}
		e.Roster = m.roster[c]
		list = append(list, e)
		if a := &it.Amend; a.Recall {
			x := &list[e.Target-1]
			x.Amended, x.Body, x.Recalled = e.Seq, nil, true
		}
		if a := &it.Amend; a.Change {
			x := &list[a.Changes(e.Target)-1]
			x.Amended, x.Body = e.Seq, a.Body
		}
		m.entries[c] = list
		out[i] = im.Appended{Status: im.Stored, Seq: e.Seq, Count: e.Count, Roster: e.Roster}
		m.ids[key] = origin{it.Hash, out[i]}
	}
	return out, nil
}

// runs makes the names of each run its own, as all runs share a store.
var runs atomic.Uint64

// testModel drives the journal and the model with the same random commands.
func testModel(t *testing.T, f *fixture) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &walk{f: f, m: newModel(), run: fmt.Sprint("m", runs.Add(1))}
		if !f.shards {
			at, _ := f.place().One()
			w.follower = f.follower(at)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": w.append,
			"marks":  w.setMarks,
			"read":   w.read,
			"pages":  w.pages,
			"trim":   w.trim,
			"follow": w.follow,
			"reopen": func(rt *rapid.T) {
				// Rarely: it is slow, and each one empties the caches.
				if rapid.IntRange(0, 7).Draw(rt, "reopen") == 0 {
					f.reopen()
				}
			},
			"": func(rt *rapid.T) {
				// What a command may have changed, and everything from time to time.
				if w.steps++; w.steps%8 == 0 {
					w.all(rt)
				} else if w.last != "" {
					w.check(rt, w.last)
				}
			},
		})
		w.all(rt)
		w.followAll(rt)
	})
}

// follow reads on by position.
func (w *walk) follow(rt *rapid.T) {
	w.last = ""
	if w.follower == nil {
		return
	}
	if _, err := w.follower.next(rapid.SampledFrom([]int{1, 2, 5, 500}).Draw(rt, "limit")); err != nil {
		rt.Fatal(err)
	}
}

// followAll reads by position to the end: all was told, once.
func (w *walk) followAll(rt *rapid.T) {
	if w.follower == nil {
		return
	}
	var last uint64
	for _, c := range conversations {
		last = max(last, w.f.head(w.name(c)).Pos)
	}
	w.follower.catchUp(last, 20)
	for _, c := range conversations {
		if told := w.follower.entries[w.name(c)]; len(told) != len(w.m.entries[w.name(c)]) || len(told) > 0 && told[0].Seq != 1 {
			rt.Fatalf("%d entries of %s were told, of %d", len(told), w.name(c), len(w.m.entries[w.name(c)]))
		}
	}
}

// walk is one random run.
type walk struct {
	f   *fixture
	m   *model
	run string
	// steps counts commands; last is the conversation that the last one was about.
	steps int
	last  im.ConversationID
	// follower begins where the run does; nil: see Harness.Shards.
	follower *follower
	appends  int
}

var conversations = []string{"a", "b", "c"}

func (w *walk) name(c string) im.ConversationID { return im.Group(w.run + c) }

func (w *walk) conversation(rt *rapid.T) im.ConversationID {
	w.last = w.name(rapid.SampledFrom(conversations).Draw(rt, "conversation"))
	return w.last
}

func (w *walk) user(rt *rapid.T) im.UserID {
	return im.UserID(w.run + rapid.SampledFrom([]string{"u", "v"}).Draw(rt, "user"))
}

func (w *walk) item(rt *rapid.T) im.Append {
	c, u := w.conversation(rt), w.user(rt)
	// Few ids, so that they meet again, in any order.
	n := rapid.IntRange(1, 40).Draw(rt, "id")
	it := text(c, u, n, rapid.SampledFrom([]string{"x", "x", "x", "y"}).Draw(rt, "body"))
	it.IfRoster = w.m.roster[c]
	switch rapid.IntRange(0, 11).Draw(rt, "what") {
	case 0, 1:
		target := rapid.Uint64Range(1, uint64(len(w.m.entries[c]))+2).Draw(rt, "target")
		roster := it.IfRoster
		it = recall(c, u, n, target)
		it.IfRoster = roster
	case 4, 5:
		target := rapid.Uint64Range(1, uint64(len(w.m.entries[c]))+2).Draw(rt, "target")
		amended := uint64(0)
		if list := w.m.entries[c]; target <= uint64(len(list)) {
			amended = list[target-1].Amended
		}
		if rapid.IntRange(0, 4).Draw(rt, "stale") == 0 {
			amended++
		}
		roster := it.IfRoster
		it = change(c, u, n, target, amended, rapid.SampledFrom([]string{"", "p", "q"}).Draw(rt, "state"))
		it.IfRoster = roster
	case 6: // takes back what is in a thread
		if list := w.m.entries[c]; len(list) > 1 {
			target := rapid.Uint64Range(1, uint64(len(list))).Draw(rt, "target")
			of := rapid.Uint64Range(1, uint64(len(list))).Draw(rt, "of")
			if of == target {
				break
			}
			roster := it.IfRoster
			it = withdraw(c, u, n, target, of, list[of-1].Amended, rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "state"))
			it.IfRoster = roster
		}
	case 2:
		it.SetRoster = rapid.Uint64Range(1, 3).Draw(rt, "set roster")
	case 3:
		it.IfRoster++
	}
	return it
}

func (w *walk) append(rt *rapid.T) {
	batch := rapid.SliceOfN(rapid.Custom(w.item), 1, 6).Draw(rt, "batch")
	w.appends++
	for i := range batch { // nobody else holds anything
		batch[i].NoWait = w.appends%2 == 0
	}
	want, wantErrs := w.expect(batch)
	got := make([]im.Appended, len(batch))
	err := w.f.j.Append(w.f.ctx, batch, got)
	if partly := new(im.PartlyError); errors.As(err, &partly) {
		shards := map[im.Shard]bool{}
		for i := range batch {
			shards[w.f.shard(batch[i].Entry.Conversation)] = true
			if !errors.Is(partly.Errs[i], wantErrs[i]) {
				rt.Fatalf("item %d: error %v, want %v", i, partly.Errs[i], wantErrs[i])
			}
		}
		if len(shards) < 2 {
			rt.Fatalf("a part of one shard was refused: %v", err)
		}
	} else if refused := errors.Join(wantErrs...); refused != nil {
		for i := range wantErrs {
			if !errors.Is(err, wantErrs[i]) || wantErrs[i] == nil {
				rt.Fatalf("error %v, want %v", err, refused)
			}
		}
		return
	} else if err != nil {
		rt.Fatalf("Append: %v", err)
	}
	for i := range got {
		g := got[i]
		if wantErrs[i] != nil {
			continue
		}
		if (g.Status == im.Stored || g.Status == im.Duplicate) == (g.Pos == 0 || g.Time.IsZero()) {
			rt.Fatalf("item %d: %+v", i, g)
		}
		if g.Pos, g.Time = 0, want[i].Time; g != want[i] {
			rt.Fatalf("item %d: got %+v, want %+v", i, g, want[i])
		}
	}
}

// expect appends to the model, each shard's part by itself, and returns what is
// expected of the items.
func (w *walk) expect(batch []im.Append) (want []im.Appended, errs []error) {
	want, errs = make([]im.Appended, len(batch)), make([]error, len(batch))
	parts := map[im.Shard][]int{}
	for i := range batch {
		s := w.f.shard(batch[i].Entry.Conversation)
		parts[s] = append(parts[s], i)
	}
	for _, places := range parts {
		part := make([]im.Append, 0, len(places))
		for _, i := range places {
			part = append(part, batch[i])
		}
		next := w.m.clone()
		out, err := next.append(part)
		if err == nil {
			w.m = next
		}
		for k, i := range places {
			if errs[i] = err; err == nil {
				want[i] = out[k]
			}
		}
	}
	return want, errs
}

func (w *walk) setMarks(rt *rapid.T) {
	var marks []im.Mark
	for range rapid.IntRange(1, 4).Draw(rt, "marks") {
		read := rapid.Uint64Range(0, 50).Draw(rt, "read")
		mark := im.Mark{User: w.user(rt), Conversation: w.conversation(rt), Received: rapid.Uint64Range(0, 50).Draw(rt, "received"), Read: read, ReadCount: read / 2}
		mark.Mine = rapid.SampledFrom([]string{"", "", "pinned", "draft"}).Draw(rt, "mine")
		marks = append(marks, mark)
		key := string(mark.User) + "|" + string(mark.Conversation)
		old := w.m.marks[key]
		if mark.Received < old.Received {
			mark.Received = old.Received
		}
		if mark.Read <= old.Read {
			mark.Read, mark.ReadCount = old.Read, old.ReadCount
		}
		if mark.Mine == "" {
			mark.Mine = old.Mine
		}
		if mark.Received > 0 || mark.Read > 0 || mark.Mine != "" {
			w.m.marks[key] = mark
		}
	}
	if err := w.f.marks.SetMarks(w.f.ctx, marks, im.MarkWait{}); err != nil {
		rt.Fatalf("SetMarks: %v", err)
	}
}

func (w *walk) read(rt *rapid.T) {
	c := w.conversation(rt)
	list := w.m.entries[c]
	from := rapid.Uint64Range(0, uint64(len(list))+2).Draw(rt, "from")
	backward := rapid.Bool().Draw(rt, "backward")
	limit := rapid.IntRange(0, 8).Draw(rt, "limit")
	lo, hi := max(from, 1)-1, uint64(len(list)) // half open, from 0
	if backward {
		lo = 0
		if from != 0 {
			hi = min(hi, from)
		}
		if n := uint64(limit); hi > n {
			lo = hi - n
		}
	} else {
		lo = min(lo, hi)
		hi = min(hi, lo+uint64(limit))
	}
	got, err := w.f.j.Read(w.f.ctx, c, from, backward, limit)
	if err != nil {
		rt.Fatalf("Read: %v", err)
	}
	w.compare(rt, c, got, list[lo:hi])
}

// pages reads a part of a conversation by what it comes to, page by page.
func (w *walk) pages(rt *rapid.T) {
	c := w.conversation(rt)
	list := w.m.entries[c]
	from := rapid.Uint64Range(1, uint64(len(list))+1).Draw(rt, "from")
	q := im.PageQuery{
		Conversation: c, From: from, Until: rapid.Uint64Range(from, uint64(len(list))+3).Draw(rt, "until"),
		Backward: rapid.Bool().Draw(rt, "backward"), Limit: rapid.SampledFrom([]int{1, 2, 3, 500}).Draw(rt, "limit"),
	}
	if err := w.f.pages(q, list); err != nil {
		rt.Fatal(err)
	}
}

func (w *walk) compare(rt *rapid.T, c im.ConversationID, got, want []im.Entry) {
	if len(got) != len(want) {
		rt.Fatalf("%s: %d entries, want %d", c, len(got), len(want))
	}
	for i := range got {
		x := want[i]
		x.Pos, x.Stored = got[i].Pos, got[i].Stored
		if d := differ(&got[i], &x); d != "" {
			rt.Fatalf("%s seq %d: %s", c, got[i].Seq, d)
		}
	}
}

// check compares all of a conversation.
func (w *walk) check(rt *rapid.T, c im.ConversationID) {
	list := w.m.entries[c]
	w.compare(rt, c, w.f.read(c, 1, false, 1000), list)
	want := im.Head{}
	h := w.f.head(c)
	if n := len(list); n > 0 {
		want = im.Head{Seq: uint64(n), Count: list[n-1].Count, Roster: w.m.roster[c], Pos: h.Pos, Time: h.Time}
	}
	if h != want {
		rt.Fatalf("head of %s: %+v, want %+v", c, h, want)
	}
	if err := w.f.checkRecalled(c, list); err != nil {
		rt.Fatal(err)
	}
}

// all compares everything.
func (w *walk) all(rt *rapid.T) {
	for _, c := range conversations {
		w.check(rt, w.name(c))
	}
	marks := map[string]im.Mark{}
	for _, u := range []string{"u", "v"} {
		for _, m := range w.f.userMarks(im.UserID(w.run + u)) {
			m.Pos = 0
			marks[string(m.User)+"|"+string(m.Conversation)] = m
		}
	}
	if len(marks) != len(w.m.marks) {
		rt.Fatalf("marks %v, want %v", marks, w.m.marks)
	}
	for k, want := range w.m.marks {
		if marks[k] != want {
			rt.Fatalf("mark %s: %+v, want %+v", k, marks[k], want)
		}
	}
}
