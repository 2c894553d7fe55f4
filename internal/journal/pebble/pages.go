package pebble

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// pageAmendments is how many amendments one page looks at.
const pageAmendments = 4096

var _ im.Pages = (*Journal)(nil)

// Page reads one page. The stretch is walked once, and of an amendment the columns
// are decoded only; then the touched entries that lie before it are read by their
// keys, once each. Both ends are as of the beginning, what is in them may be newer.
func (j *Journal) Page(ctx context.Context, q im.PageQuery) (im.Page, error) {
	switch {
	case ctx.Err() != nil:
		return im.Page{}, ctx.Err()
	case q.Limit < 1 || q.From < 1 || q.From > q.Until:
		return im.Page{}, errors.New("journal: Page: a query for nothing")
	case len(q.Conversation) == 0 || len(q.Conversation) > maxName:
		return im.Page{}, nil
	}
	if err := j.enter(); err != nil {
		return im.Page{}, err
	}
	defer j.life.RUnlock()
	r := pageReader{j: j, q: &q, entries: map[uint64]*im.Entry{}, touched: map[uint64]bool{}}
	r.w = walk{j: j, c: q.Conversation, from: q.From, backward: q.Backward}
	if q.Backward {
		r.w.from = q.Until
	}
	p, err := r.read(ctx)
	r.w.close()
	if err := j.damage(q.Conversation, err); err != nil {
		return im.Page{}, err
	}
	return p, nil
}

// ReadAt reads entries by their seqs.
func (j *Journal) ReadAt(ctx context.Context, c im.ConversationID, seqs []uint64) ([]im.Entry, error) {
	entries := make([]im.Entry, 0, len(seqs))
	size := 0
	for _, seq := range seqs {
		e := im.Entry{Conversation: c}
		got, err := j.Read(ctx, c, seq, false, 1)
		if err != nil {
			return nil, err
		}
		if len(got) > 0 && got[0].Seq == seq {
			e = got[0]
		}
		if size += entrySize(&e); size > readBytes && len(entries) > 0 {
			break
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// pageReader gathers a page.
type pageReader struct {
	j *Journal
	q *im.PageQuery
	w walk
	// steps are the seqs that were walked, in the walk's order, with what each amends.
	steps []pageStep
	// entries are those that were read, by seq: walked ones that amend nothing, and
	// touched ones.
	entries map[uint64]*im.Entry
	// touched are the targets beyond what was walked so far.
	touched    map[uint64]bool
	told       int // what a page of all steps tells
	size       int // bytes of the walked entries
	amendments int
}

type pageStep struct{ seq, target uint64 }

func (r *pageReader) read(ctx context.Context) (p im.Page, err error) {
	if err := r.w.run(ctx, r.visit); err != nil || len(r.steps) == 0 {
		return p, err
	}
	if err := r.fit(); err != nil {
		return p, err
	}
	p.First, p.Last = r.steps[0].seq, r.steps[len(r.steps)-1].seq
	if r.q.Backward {
		p.First, p.Last = p.Last, p.First
		slices.Reverse(r.steps)
	}
	touched := map[uint64]bool{}
	for _, s := range r.steps {
		switch {
		case s.target == 0:
			p.Entries = append(p.Entries, *r.entries[s.seq])
		case s.target < p.First:
			touched[s.target] = true
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(touched)) {
		e, err := r.entry(seq)
		if err != nil {
			return im.Page{}, err
		}
		p.Touched = append(p.Touched, *e)
	}
	return p, nil
}

// visit takes an entry of the stretch, unless the page is full. Whatever it is, it
// adds one at most to what the page tells: itself, or its target.
func (r *pageReader) visit(e *im.Entry, sender, body []byte) (done bool, err error) {
	if !r.q.Backward && e.Seq > r.q.Until || r.q.Backward && e.Seq < r.q.From {
		return true, nil
	}
	told := r.told
	if r.touched[e.Seq] {
		told-- // it was told for an amendment, and is within the page now
	}
	beyond := e.Target < r.q.From || r.q.Backward && e.Target < e.Seq
	if !e.Amends() || beyond && !r.touched[e.Target] {
		told++
	}
	if told > r.q.Limit || r.size > readBytes || r.amendments == pageAmendments {
		return true, nil
	}
	r.told = told
	delete(r.touched, e.Seq)
	if e.Amends() {
		r.steps = append(r.steps, pageStep{e.Seq, e.Target})
		r.amendments++
		if beyond {
			r.touched[e.Target] = true
		}
		return false, nil
	}
	r.steps = append(r.steps, pageStep{seq: e.Seq})
	taken := *e
	keep(&taken, sender, body)
	r.j.durableForm(&taken)
	r.entries[e.Seq] = &taken
	r.size += entrySize(&taken)
	return false, nil
}

// entrySize is what an entry counts towards the bound of a page.
func entrySize(e *im.Entry) int { return len(e.Body) + len(e.Conversation) + len(e.Sender) + 48 }

// fit reads what the steps touch, and drops the last ones if what they tell becomes
// too large; never the first.
func (r *pageReader) fit() error {
	first := min(r.steps[0].seq, r.steps[len(r.steps)-1].seq)
	counted := map[uint64]bool{}
	size := 0
	for n, s := range r.steps {
		seq := s.seq
		if s.target != 0 {
			seq = s.target
		}
		if counted[seq] || seq >= first && r.entries[seq] == nil {
			continue // or it is an amendment within the page, which is not told
		}
		counted[seq] = true
		e, err := r.entry(seq)
		if err != nil {
			return err
		}
		if size += entrySize(e); size > readBytes && n > 0 {
			r.steps = r.steps[:n]
			return nil
		}
	}
	return nil
}

// entry returns an entry that was read, or reads it.
func (r *pageReader) entry(seq uint64) (*im.Entry, error) {
	if e := r.entries[seq]; e != nil {
		return e, nil
	}
	s, err := r.w.find(seq)
	if err != nil {
		return nil, err
	}
	e := &im.Entry{Conversation: r.q.Conversation, Seq: seq}
	if err := r.j.readEntry(e, s.epoch); err != nil {
		return nil, err
	}
	r.j.durableForm(e)
	r.entries[seq] = e
	return e, nil
}
