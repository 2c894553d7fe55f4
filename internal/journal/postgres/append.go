package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// maxName is the longest conversation or user id that is stored.
const maxName = 255

// maxAttempts is how often a batch is run that the database refused for what others
// did. An id that was stored before costs one attempt: the next one looks, under
// the locks of all who could store it.
const maxAttempts = 20

// looksAfter is for how many batches ids are looked up after a duplicate was
// seen. Others rely on the unique index: it refuses the batch, which is run again.
const looksAfter = 64

// damagedAgain is how often an append is run again that met a damaged page.
const damagedAgain = 2

// message path 4/6: Append stores a batch in one transaction of the database,
// see the package comment.
func (j *Journal) Append(ctx context.Context, batch []im.Append, out []im.Appended) error {
	if len(out) != len(batch) {
		return errors.New("journal: Append: len(out) differs from len(batch)")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	if len(batch) == 0 {
		return nil
	}
	for i := range batch {
		if err := check(&batch[i]); err != nil {
			return err
		}
	}
	noWait := holdsAside(batch)
	left := j.locked.sort(batch, noWait, j.o.Now())
	look := false
	var err error
	if left == nil {
		err = j.appendWhole(ctx, batch, out, j.patience(noWait))
		look = timedOutOnLock(err)
	}
	if left != nil || look {
		err = j.appendApart(ctx, batch, out, apart{left: left, look: look, noWait: noWait})
	}
	// The damaged page may be one that has room for the new row, and nothing of the
	// conversation: the database looks for room elsewhere the next time.
	for again := 0; again < damagedAgain && len(batch) == 1 && errors.Is(err, im.ErrJournalDamaged); again++ {
		err = j.appendWhole(ctx, batch, out, j.patience(noWait))
	}
	j.stalled.note(err, j.o.Now())
	if err != nil {
		j.metrics.refused(err)
		if len(batch) == 1 { // of several the caller asks one by one
			err = j.damage(batch[0].Entry.Conversation, err)
		}
	}
	return err
}

// appendWhole stores a batch, or nothing of it. It waits for no lock for longer than
// patience.
func (j *Journal) appendWhole(ctx context.Context, batch []im.Append, out []im.Appended, patience time.Duration) error {
	start := j.o.Now()
	r := j.requests.get()
	defer j.requests.put(r)
	r.plan(batch)
	r.encode(batch)
	r.params[pPatience] = patienceParam(r.patience[:0], patience)
	if err := j.store(ctx, r); err != nil {
		if timedOutOnLock(err) {
			j.metrics.lockWaits.Inc()
		}
		return err
	}
	r.answer(batch, out)
	j.known.seen(r.convs, r.heads, j.o.Now())
	j.noteStored(batch, out)
	j.metrics.appended(out, j.o.Now().Sub(start))
	return nil
}

func check(a *im.Append) error {
	e := &a.Entry
	switch {
	case e.ID.IsZero():
		return fmt.Errorf("%w: an item has no id", im.ErrAppendInvalid)
	case len(e.Conversation) == 0 || len(e.Conversation) > maxName || len(e.Sender) > maxName:
		return fmt.Errorf("%w: conversation or sender is empty or too long", im.ErrAppendInvalid)
	}
	if err := a.Amend.Check(e.Target); err != nil {
		return fmt.Errorf("%w: %w", im.ErrAppendInvalid, err)
	}
	for _, labels := range [][]string{a.Labels, a.Unlabels, a.Own} {
		for _, l := range labels {
			if l == "" || len(l) > im.MaxLabel {
				return fmt.Errorf("%w: a label is empty or too long", im.ErrAppendInvalid)
			}
		}
	}
	return nil
}

// store runs the batch until the database takes it, or refuses it for good.
func (j *Journal) store(ctx context.Context, r *request) error {
	r.fresh = j.known.unknown(r.convs, r.fresh[:0])
	look := j.looks.Add(-1) >= 0
	if !look {
		j.looks.Store(0)
	}
	for attempt := 1; ; attempt++ {
		r.params[pFresh] = nil
		if len(r.fresh) > 0 {
			r.params[pFresh] = numbers(&r.columns[pFresh], r.fresh)
		}
		r.params[pLook] = boolParam(look)
		err := j.call(ctx, r)
		switch again := meaning(err); {
		case err == nil || again == giveUp || attempt == maxAttempts:
			if len(r.item) > 0 && look {
				j.looks.Store(looksAfter)
			}
			return err
		case again == runAgain:
			look = true
			j.looks.Store(looksAfter)
		case again == adopt:
			if err := j.adoptAgain(ctx); err != nil {
				return err
			}
			j.known.forget()
			r.fresh = j.known.unknown(r.convs, r.fresh[:0])
		case again == lookAgain:
			j.known.forget()
			r.fresh = j.known.unknown(r.convs, r.fresh[:0])
		}
		j.metrics.retries.Inc()
	}
}

// call runs the function once. What it returns is what became of the batch.
func (j *Journal) call(ctx context.Context, r *request) error {
	c, err := j.acquire(ctx, j.writers)
	if err != nil {
		return err
	}
	defer c.Release()
	start := j.o.Now()
	answer, done := context.WithTimeout(context.Background(), answerTimeout)
	defer done()
	stmt, params := stmtAppend, r.params[:pFirstLabel]
	if r.labels {
		stmt, params = stmtAppendLabels, r.params[:]
	}
	if err := ensure(answer, c.Conn().PgConn(), stmt); err != nil {
		return reading(err)
	}
	// From here on the batch may be stored: it is never cancelled. Nobody waits for
	// ever, though: a connection without an answer is given up.
	rows := c.Conn().PgConn().ExecPrepared(answer, stmt, params, binaryFormat, binaryFormat)
	answered := false
	for rows.NextRow() {
		answered = true
		r.take(rows.Values())
	}
	if _, err := rows.Close(); err != nil {
		return j.outcome(err, answered)
	}
	if !answered {
		return fmt.Errorf("%w: the database gave no answer", im.ErrOutcomeUnknown)
	}
	took := j.o.Now().Sub(start)
	j.locked.usual.note(took)
	j.metrics.committed(took)
	return nil
}

// request is a batch on its way. Its memory is used again.
type request struct {
	convs  []im.ConversationID // sorted by slot and name
	byName map[im.ConversationID]int32
	byID   map[idKey]struct{}
	state  []convState
	rank   []int32 // of the conversations in order of appearance
	conv   []int32 // of the batch's items, in order of appearance
	order  []int32 // the batch's items in the order they are sent in
	first  []int32 // where a conversation's items go
	plain  int     // how many of them are numbered here
	fresh  []int32 // of convs: those that this process knows nothing of
	labels bool    // an item puts a label on an entry, or takes one off

	columns  [appendParams]column
	params   [appendParams][]byte
	patience [16]byte

	heads []im.Head // numbers and roster before, time and position after; later all after
	odd   []im.Appended
	item  []int32 // of odd
}

// idKey is an id in one of the batch's conversations.
type idKey struct {
	id   im.MessageID
	conv int32
}

// convState is a conversation's part of a batch.
type convState struct {
	name     im.ConversationID
	slot     uint16
	ifRoster uint64
	// loop: its items depend on each other in ways that need a look at each.
	loop            bool
	items, messages int32
	stored          bool
}

type requests struct{ pool sync.Pool }

func (p *requests) get() *request {
	if r, ok := p.pool.Get().(*request); ok {
		return r
	}
	return &request{byName: map[im.ConversationID]int32{}, byID: map[idKey]struct{}{}}
}

func (p *requests) put(r *request) {
	clear(r.byName)
	clear(r.byID)
	clear(r.state)
	clear(r.convs)
	clear(r.params[:])
	p.pool.Put(r)
}

// plan sorts the conversations, and tells the items that can be numbered here
// from those that depend on what became of others: those of a conversation with
// a change of the roster, an amendment, labels, different conditions, or an id that it
// has in the batch twice.
func (r *request) plan(batch []im.Append) {
	r.state, r.conv, r.labels = r.state[:0], r.conv[:0], false
	for i := range batch {
		a := &batch[i]
		k, ok := r.byName[a.Entry.Conversation]
		if !ok {
			k = int32(len(r.state))
			r.byName[a.Entry.Conversation] = k
			r.state = append(r.state, convState{name: a.Entry.Conversation, slot: im.SlotOf(a.Entry.Conversation), ifRoster: a.IfRoster})
		}
		r.conv = append(r.conv, k)
		s := &r.state[k]
		labels := len(a.Labels)+len(a.Unlabels)+len(a.Own) > 0
		r.labels = r.labels || labels
		if a.SetRoster != 0 || !a.Amend.None() || a.IfRoster != s.ifRoster || labels {
			s.loop = true
		}
		if key := (idKey{a.Entry.ID, k}); !s.loop {
			if _, twice := r.byID[key]; twice {
				s.loop = true
			}
			r.byID[key] = struct{}{}
		}
	}
	r.convs = r.convs[:0]
	r.order = slices.Grow(r.order[:0], len(batch))
	for k := range r.state {
		r.order = append(r.order, int32(k))
	}
	slices.SortFunc(r.order, func(a, b int32) int {
		x, y := &r.state[a], &r.state[b]
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.name, y.name))
	})
	r.rank = slices.Grow(r.rank[:0], len(r.state))[:len(r.state)]
	for at, k := range r.order {
		r.rank[k] = int32(at)
		r.convs = append(r.convs, r.state[k].name)
	}
	r.sort(batch)
}

// sort makes the order of the items: the plain ones by conversation, so that the
// database finds the places for a conversation's entries side by side, then the
// others as they came.
func (r *request) sort(batch []im.Append) {
	r.plain = 0
	for i := range batch {
		if s := &r.state[r.conv[i]]; !s.loop {
			s.items++
			r.plain++
		}
	}
	r.first = slices.Grow(r.first[:0], len(r.state)+1)[:len(r.state)+1]
	clear(r.first)
	for k := range r.state {
		r.first[r.rank[k]+1] = r.state[k].items
		r.state[k].items = 0
	}
	for k := range r.state {
		r.first[k+1] += r.first[k]
	}
	r.order = slices.Grow(r.order[:0], len(batch))[:r.plain]
	for i := range batch {
		if k := r.conv[i]; !r.state[k].loop {
			at := &r.first[r.rank[k]]
			r.order[*at] = int32(i)
			*at++
		}
	}
	for i := range batch {
		if r.state[r.conv[i]].loop {
			r.order = append(r.order, int32(i))
		}
	}
}

// answer fills out from what the function returned.
func (r *request) answer(batch []im.Append, out []im.Appended) {
	clear(out)
	for k, i := range r.item {
		at := r.order[i]
		out[at] = r.odd[k]
		if out[at].Status == im.Stored { // in the order of their seqs
			r.heads[r.rank[r.conv[at]]] = headOf(&out[at])
			r.state[r.conv[at]].stored = true
		}
	}
	for _, i := range r.order[:r.plain] {
		if out[i].Status != 0 {
			continue
		}
		head := &r.heads[r.rank[r.conv[i]]]
		if head.Roster != batch[i].IfRoster {
			out[i].Status = im.RosterChanged
			continue
		}
		head.Seq++
		if batch[i].Entry.Countable() {
			head.Count++
		}
		r.state[r.conv[i]].stored = true
		out[i] = im.Appended{Status: im.Stored, Seq: head.Seq, Count: head.Count, Time: head.Time, Pos: head.Pos, Roster: head.Roster}
	}
	for k := range r.state {
		if !r.state[k].stored {
			r.heads[r.rank[k]] = im.Head{} // of no use: time and position are not its
		}
	}
}

func headOf(a *im.Appended) im.Head {
	return im.Head{Seq: a.Seq, Count: a.Count, Time: a.Time, Roster: a.Roster, Pos: a.Pos}
}
