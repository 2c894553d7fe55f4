package messaging

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// memJournal is a journal in memory that can be told to fail. It keeps the
// contract of im.Journal.
type memJournal struct {
	mu       sync.Mutex
	entries  map[im.ConversationID][]im.Entry
	ids      map[idKey]idRow
	marks    map[receiptKey]im.Mark
	labels   map[labelKey]bool
	pos      uint64
	now      func() time.Time // if set, when an entry is stored; otherwise its pos is its time
	timeline string
	eras     im.Eras
	appends  int
	held     int // items that were told to be Locked
	asked    int // for marks
	reads    int // questions for entries, but for pages
	// recallsAsked counts the questions for recalls.
	recallsAsked int
	// damaged conversations refuse every append, as one whose end cannot be read.
	damaged map[im.ConversationID]bool
	// broken entries cannot be read, nor what is asked for together with them.
	broken map[im.Newest]bool
	// busy conversations are locked by somebody else, locked ones for less than a second.
	busy, locked map[im.ConversationID]bool
	// onHeads, onMarks, onLookup, onRead run before Heads, after SetMarks, before Lookup
	// and Read, once.
	onHeads, onMarks, onLookup, onRead func()
	// onEveryMarks, if set, runs after each Marks.
	onEveryMarks func()
	// unwritten: marks become durable with write.
	unwritten bool
	waiters   []func(error)
	// fail, if set, is asked before (after=false) and after each append.
	fail func(after bool) error
}

type (
	idKey struct {
		c      im.ConversationID
		sender im.UserID
		id     im.MessageID
	}
	idRow struct {
		c    im.ConversationID
		seq  uint64
		hash uint64
	}
	labelKey struct {
		c     im.ConversationID
		label string
		seq   uint64
	}
	receiptKey struct {
		u im.UserID
		c im.ConversationID
	}
)

func newMemJournal() *memJournal {
	return &memJournal{
		entries: map[im.ConversationID][]im.Entry{}, ids: map[idKey]idRow{}, marks: map[receiptKey]im.Mark{}, labels: map[labelKey]bool{}, timeline: "t1",
		eras: im.Eras{{ID: 1}},
	}
}

func (j *memJournal) Append(_ context.Context, batch []im.Append, out []im.Appended) error {
	if err := j.fault(false); err != nil { // without the lock: reading goes on
		return err
	}
	if err := j.append(batch, out); err != nil {
		return err
	}
	return j.fault(true)
}

func (j *memJournal) fault(after bool) error {
	j.mu.Lock()
	fail := j.fail
	j.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(after)
}

func (j *memJournal) append(batch []im.Append, out []im.Appended) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range batch {
		if j.damaged[batch[i].Entry.Conversation] {
			return errors.New("checksum mismatch")
		}
	}
	j.appends++
	moved := map[im.ConversationID]bool{}
	pos := j.pos + 1
	for i := range batch {
		a := &batch[i]
		if j.busy[a.Entry.Conversation] {
			out[i] = im.Appended{Status: im.Busy}
			continue
		}
		if j.locked[a.Entry.Conversation] {
			out[i] = im.Appended{Status: im.Busy}
			if a.NoWait {
				out[i].Status = im.Locked
				j.held++
			}
			continue
		}
		key := idKey{a.Entry.Conversation, a.Entry.Sender, a.Entry.ID}
		if row, ok := j.ids[key]; ok {
			if row.hash != a.Hash {
				out[i] = im.Appended{Status: im.IDConflict}
				continue
			}
			e := j.entries[row.c][row.seq-1]
			out[i] = im.Appended{Status: im.Duplicate, Seq: e.Seq, Count: e.Count, Time: e.Stored, Pos: e.Pos, Roster: e.Roster}
			continue
		}
		list := j.entries[a.Entry.Conversation]
		var last im.Entry
		if len(list) > 0 {
			last = list[len(list)-1]
		}
		if moved[a.Entry.Conversation] || last.Roster != a.IfRoster {
			moved[a.Entry.Conversation] = true
			out[i] = im.Appended{Status: im.RosterChanged, Roster: last.Roster}
			continue
		}
		if m := &a.Amend; m.Change {
			if x := &list[m.Changes(a.Entry.Target)-1]; len(x.Body) == 0 || x.Amended != m.If {
				moved[a.Entry.Conversation] = true
				out[i] = im.Appended{Status: im.TargetChanged}
				continue
			}
		}
		e := a.Entry
		e.Seq, e.Pos, e.Stored, e.Count, e.Roster = last.Seq+1, pos, time.UnixMilli(int64(pos)), last.Count, last.Roster
		if j.now != nil {
			e.Stored = j.now()
		}
		if e.Countable() {
			e.Count++
		}
		if a.SetRoster != 0 {
			e.Roster = a.SetRoster
		}
		j.label(a, &e)
		if m := &a.Amend; m.Recall {
			x := &list[e.Target-1]
			x.Body, x.Amended, x.Recalled = nil, e.Seq, true
		}
		if m := &a.Amend; m.Change {
			x := &list[m.Changes(e.Target)-1]
			x.Body, x.Amended = m.Body, e.Seq
		}
		j.entries[e.Conversation] = append(list, e)
		j.ids[key] = idRow{e.Conversation, e.Seq, a.Hash}
		j.pos = pos
		out[i] = im.Appended{Status: im.Stored, Seq: e.Seq, Count: e.Count, Time: e.Stored, Pos: e.Pos, Roster: e.Roster}
	}
	return nil
}

func (j *memJournal) label(a *im.Append, e *im.Entry) {
	at := e.Seq
	if e.Target != 0 {
		at = a.Amend.Changes(e.Target)
	}
	for _, l := range a.Own {
		j.labels[labelKey{e.Conversation, l, e.Seq}] = true
	}
	for _, l := range a.Unlabels {
		delete(j.labels, labelKey{e.Conversation, l, at})
	}
	for _, l := range a.Labels {
		j.labels[labelKey{e.Conversation, l, at}] = true
	}
}

func (j *memJournal) Read(_ context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error) {
	j.once(&j.onRead)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reads++
	var got []im.Entry
	for _, e := range j.entries[c] {
		if backward && (from == 0 || e.Seq <= from) || !backward && e.Seq >= from {
			got = append(got, e)
		}
	}
	if len(got) > limit {
		if backward {
			got = got[len(got)-limit:]
		} else {
			got = got[:limit]
		}
	}
	for i := range got {
		if j.broken[im.Newest{Conversation: c, Seq: got[i].Seq}] {
			return nil, fmt.Errorf("entry %d: %w", got[i].Seq, im.ErrJournalDamaged)
		}
	}
	return slices.Clone(got), nil
}

// ReadAt is what im.Pages says; it ends early after a few.
func (j *memJournal) ReadAt(_ context.Context, c im.ConversationID, seqs []uint64) (out []im.Entry, _ error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reads++
	for _, seq := range seqs[:min(len(seqs), 100)] {
		e := im.Entry{Conversation: c}
		if list := j.entries[c]; seq > 0 && seq <= uint64(len(list)) {
			e = list[seq-1]
		}
		out = append(out, e)
	}
	return out, nil
}

// Page is what im.Pages says, without its bound on bytes.
func (j *memJournal) Page(_ context.Context, q im.PageQuery) (p im.Page, _ error) {
	j.once(&j.onRead)
	j.mu.Lock()
	defer j.mu.Unlock()
	list := j.entries[q.Conversation]
	from, until := max(q.From, 1), min(q.Until, uint64(len(list)))
	if from > until {
		return p, nil
	}
	touched := map[uint64]bool{}
	for n := range until - from + 1 {
		seq := from + n
		if q.Backward {
			seq = until - n
		}
		e := list[seq-1]
		next := len(touched)
		switch {
		case !e.Amends() && touched[seq]: // backward it becomes one of the entries
		case !e.Amends():
			next++
		case e.Target < seq && !touched[e.Target] && (q.Backward || e.Target < from):
			next++
		}
		if len(p.Entries)+next > q.Limit && p.Last > 0 {
			break
		}
		if !e.Amends() {
			p.Entries = append(p.Entries, e)
			delete(touched, seq)
		} else if q.Backward || e.Target < from {
			touched[e.Target] = true
		}
		if q.Backward {
			p.First, p.Last = seq, until
		} else {
			p.First, p.Last = from, seq
		}
	}
	if q.Backward {
		slices.Reverse(p.Entries)
	}
	for _, seq := range slices.Sorted(maps.Keys(touched)) {
		if seq < p.First { // otherwise it amends an amendment
			p.Touched = append(p.Touched, list[seq-1])
		}
	}
	return p, nil
}

func (j *memJournal) Heads(_ context.Context, cs []im.ConversationID, out []im.Head) error {
	j.once(&j.onHeads)
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, c := range cs {
		out[i] = im.Head{}
		if n := len(j.entries[c]); n > 0 {
			e := j.entries[c][n-1]
			out[i] = im.Head{Seq: e.Seq, Count: e.Count, Time: e.Stored, Roster: e.Roster, Pos: e.Pos}
		}
	}
	return nil
}

func (j *memJournal) Lookup(_ context.Context, batch []im.Append, out []im.Appended) error {
	j.once(&j.onLookup)
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range batch {
		a := &batch[i]
		row, ok := j.ids[idKey{a.Entry.Conversation, a.Entry.Sender, a.Entry.ID}]
		switch {
		case !ok:
			out[i] = im.Appended{Status: im.Absent}
		case row.hash != a.Hash:
			out[i] = im.Appended{Status: im.IDConflict}
		default:
			e := j.entries[row.c][row.seq-1]
			out[i] = im.Appended{Status: im.Duplicate, Seq: e.Seq, Count: e.Count, Time: e.Stored, Pos: e.Pos, Roster: e.Roster}
		}
	}
	return nil
}

// once runs a hook without the lock and forgets it.
func (j *memJournal) once(hook *func()) {
	j.mu.Lock()
	f := *hook
	*hook = nil
	j.mu.Unlock()
	if f != nil {
		f()
	}
}

func (j *memJournal) SetMarks(_ context.Context, marks []im.Mark, w im.MarkWait) error {
	defer j.once(&j.onMarks)
	if w.Stored != nil {
		defer j.wait(w.Stored)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range marks {
		k := receiptKey{m.User, m.Conversation}
		old := j.marks[k]
		if m.Read < old.Read {
			m.Read, m.ReadCount = old.Read, old.ReadCount
		}
		m.Received = max(m.Received, old.Received)
		if m.Mine == "" {
			m.Mine = old.Mine
		}
		if m.Received == old.Received && m.Read == old.Read && m.Mine == old.Mine {
			continue
		}
		m.Pos = j.pos + 1
		j.marks[k] = m
	}
	return nil
}

// wait has stored called at once, or by write.
func (j *memJournal) wait(stored func(error)) {
	j.mu.Lock()
	held := j.unwritten
	if held {
		j.waiters = append(j.waiters, stored)
	}
	j.mu.Unlock()
	if !held {
		stored(nil)
	}
}

// write makes durable what waits while marks are unwritten.
func (j *memJournal) write() {
	j.mu.Lock()
	waiters := j.waiters
	j.waiters = nil
	j.mu.Unlock()
	for _, stored := range waiters {
		stored(nil)
	}
}

func (j *memJournal) UserMarks(_ context.Context, u im.UserID) ([]im.Mark, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var got []im.Mark
	for k, m := range j.marks {
		if k.u == u {
			got = append(got, m)
		}
	}
	return got, nil
}

func (j *memJournal) Marks(_ context.Context, keys []im.MarkKey, out []im.Mark, _ bool) error {
	if j.onEveryMarks != nil {
		defer j.onEveryMarks()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked++
	for i, k := range keys {
		out[i] = j.marks[receiptKey{k.User, k.Conversation}]
	}
	return nil
}

// Recalled is what im.Recalls says; recallsAsked counts the questions.
func (j *memJournal) Recalled(_ context.Context, spans []im.Span, limit int, out []im.Recalled) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.recallsAsked++
	for i, s := range spans {
		out[i] = im.Recalled{}
		for _, e := range j.entries[s.Conversation] {
			if !e.Recalled || !e.Countable() || e.Seq <= s.After || e.Seq > s.Until {
				continue
			}
			if out[i].Count++; len(out[i].Seqs) < limit {
				out[i].Seqs = append(out[i].Seqs, e.Seq)
			}
		}
	}
	return nil
}

// Labelled is what im.Labels says.
func (j *memJournal) Labelled(_ context.Context, spans []im.LabelSpan, limit int, out []im.Labelled) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, s := range spans {
		out[i] = im.Labelled{}
		list := slices.Clone(j.entries[s.Conversation])
		if s.Newest {
			slices.Reverse(list)
		}
		for _, e := range list {
			if !j.labels[labelKey{s.Conversation, s.Label, e.Seq}] || e.Recalled || e.Seq <= s.After || e.Seq > s.Until || s.Newest && e.Pos > s.Pos {
				continue
			}
			if !s.Newest {
				out[i].Count++
			}
			if len(out[i].Seqs) < limit {
				out[i].Seqs, out[i].Pos = append(out[i].Seqs, e.Seq), append(out[i].Pos, e.Pos)
			}
		}
	}
	return nil
}

// Trim is what im.Trims says, in one step.
func (j *memJournal) Trim(_ context.Context, s im.Span) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := j.entries[s.Conversation]
	for i := range list {
		if e := &list[i]; e.Seq > s.After && e.Seq <= s.Until {
			e.Body, e.Amended, e.Recalled = nil, 0, false
		}
	}
	maps.DeleteFunc(j.labels, func(k labelKey, _ bool) bool {
		return k.c == s.Conversation && k.seq > s.After && k.seq <= s.Until
	})
	return nil
}

func (j *memJournal) Position(context.Context) (im.Position, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return im.PositionAt(im.Place{Era: j.eras[len(j.eras)-1].ID, Pos: j.pos}), nil
}

// begin is the place of a journal without entries.
func (j *memJournal) begin() string { return im.Place{Era: 1}.String() }

func (j *memJournal) Holds(_ context.Context, p im.Position) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, one := p.One()
	return one && j.eras.Hold(at, j.pos), nil
}
func (j *memJournal) Timeline() string { return j.timeline }
func (j *memJournal) Close() error     { return nil }

func (j *memJournal) setFail(f func(after bool) error) {
	j.mu.Lock()
	j.fail = f
	j.mu.Unlock()
}
