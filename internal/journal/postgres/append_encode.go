package postgres

import (
	"math"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The parameters of journal_append, in their order.
const (
	pFresh = iota
	pNths
	pSlots
	pConvs
	pIfs
	pItems
	pMessages
	pLoops
	pLook
	pConv
	pNth
	pMth
	pID
	pSender
	pHash
	pKind
	pBody
	pTarget
	pItemIf
	pItemSet
	pAmend
	pAmendIf
	pState
	pOf
	// pPatience is none of its parameters: for how long it waits for a lock.
	pPatience
	// The parameters of journal_label, which a batch without labels does not have.
	pLabelItem
	pLabel
	pLabelOn
	// appendParams is their number.
	appendParams
)

// pFirstLabel is the first parameter that only batches with labels have.
const pFirstLabel = pLabelItem

// What an item does to its target, as journal_append is told.
const (
	amendChange = 1
	amendRecall = 2
	// amendBoth recalls its target, and changes the entry that pOf names.
	amendBoth = 3
)

// What an item does about a label, as journal_label is told.
const (
	labelOff = 0
	labelOn  = 1
	labelOwn = 2 // on the item itself
)

// encode makes the parameters; pFresh, pLook and pPatience are set before each call.
func (r *request) encode(batch []im.Append) {
	cols := &r.columns
	for p, oid := range [appendParams]uint32{
		pNths: oidInt4, pSlots: oidInt2, pConvs: oidText, pIfs: oidInt8, pItems: oidInt4, pMessages: oidInt4,
		pConv: oidInt4, pNth: oidInt4, pMth: oidInt4, pID: oidUUID, pSender: oidText, pHash: oidInt8, pKind: oidInt2, pBody: oidBytea, pTarget: oidInt8,
		pItemIf: oidInt8, pItemSet: oidInt8, pAmend: oidInt2, pAmendIf: oidInt8, pState: oidBytea, pOf: oidInt8,
		pLabelItem: oidInt4, pLabel: oidText, pLabelOn: oidInt2,
	} {
		cols[p].begin(oid)
	}
	for at, i := range r.order {
		s := &r.state[r.conv[i]]
		nth := 0
		if at < r.plain {
			s.items++
			if batch[i].Entry.Countable() {
				s.messages++
			}
			nth = int(s.items)
		}
		cols[pConv].int4(int(r.rank[r.conv[i]]) + 1)
		cols[pNth].int4(nth)
		cols[pMth].int4(int(s.messages))
		r.encodeItem(&batch[i])
		if r.plain < len(batch) {
			r.encodeLoop(&batch[i])
			r.encodeLabels(&batch[i], at+1)
		}
	}
	// In the order of the slots and names, which r.rank tells the other way round.
	at := slices.Grow(r.item[:0], len(r.state))[:len(r.state)]
	for k, rank := range r.rank {
		at[rank] = int32(k)
	}
	for i, k := range at {
		s := &r.state[k]
		cols[pNths].int4(i + 1)
		cols[pSlots].int2(s.slot)
		add(&cols[pConvs], s.name)
		if s.loop {
			cols[pIfs].null()
		} else {
			cols[pIfs].int8(s.ifRoster)
		}
		cols[pItems].int4(int(s.items))
		cols[pMessages].int4(int(s.messages))
	}
	for p := range cols {
		if p != pFresh && p != pLoops && p != pLook && p != pPatience {
			r.params[p] = cols[p].end()
		}
	}
	r.params[pLoops] = int4Param(r.plain + 1)
}

func (r *request) encodeItem(a *im.Append) {
	e, cols := &a.Entry, &r.columns
	add(&cols[pID], e.ID[:])
	add(&cols[pSender], e.Sender)
	cols[pHash].int8(a.Hash)
	cols[pKind].int2(uint16(e.Kind))
	add(&cols[pBody], e.Body)
	cols[pTarget].int8OrNull(min(e.Target, math.MaxInt64))
}

// encodeLoop encodes what is asked of items that are treated one by one.
func (r *request) encodeLoop(a *im.Append) {
	cols := &r.columns
	cols[pItemIf].int8(a.IfRoster)
	cols[pItemSet].int8(a.SetRoster)
	m := &a.Amend
	switch {
	case m.Change && m.Recall:
		cols[pAmend].int2(amendBoth)
	case m.Change:
		cols[pAmend].int2(amendChange)
	case m.Recall:
		cols[pAmend].int2(amendRecall)
	default:
		cols[pAmend].int2(0)
	}
	cols[pOf].int8OrNull(min(m.Of, math.MaxInt64))
	if !m.Change {
		cols[pAmendIf].null()
		cols[pState].null()
		return
	}
	cols[pAmendIf].int8(m.If)
	add(&cols[pState], m.Body)
}

// encodeLabels encodes what an item puts on an entry, or takes off; at is its number.
func (r *request) encodeLabels(a *im.Append, at int) {
	cols := &r.columns
	for on, labels := range [...][]string{labelOff: a.Unlabels, labelOn: a.Labels, labelOwn: a.Own} {
		for _, l := range labels {
			cols[pLabelItem].int4(at)
			add(&cols[pLabel], l)
			cols[pLabelOn].int2(uint16(on))
		}
	}
}

// take reads the row the function returns.
func (r *request) take(v [][]byte) {
	at, ms := int8Of(v[0]), timeOf(v[1])
	seq, count, stored, roster, pos := arrayOf(v[2]), arrayOf(v[3]), arrayOf(v[4]), arrayOf(v[5]), arrayOf(v[6])
	r.heads = slices.Grow(r.heads[:0], seq.n)[:seq.n]
	for i := range r.heads {
		r.heads[i] = im.Head{Seq: int8Of(seq.next()), Count: int8Of(count.next()), Time: ms, Pos: at}
		if stored.n > 0 {
			r.heads[i].Time, r.heads[i].Roster, r.heads[i].Pos = timeOf(stored.next()), int8Of(roster.next()), int8Of(pos.next())
		}
	}
	if stored.n == 0 { // all as they were supposed to be
		for k := range r.state {
			r.heads[r.rank[k]].Roster = r.state[k].ifRoster
		}
	}
	item, status := arrayOf(v[7]), arrayOf(v[8])
	seq, count, stored, pos, roster = arrayOf(v[9]), arrayOf(v[10]), arrayOf(v[11]), arrayOf(v[12]), arrayOf(v[13])
	r.item, r.odd = r.item[:0], r.odd[:0]
	for range item.n {
		r.item = append(r.item, int32(int4Of(item.next())-1))
		a := im.Appended{
			Status: im.AppendStatus(int2Of(status.next())),
			Seq:    int8Of(seq.next()), Count: int8Of(count.next()), Time: timeOf(stored.next()), Pos: int8Of(pos.next()), Roster: int8Of(roster.next()),
		}
		if a.Status != im.Stored && a.Status != im.Duplicate {
			a = im.Appended{Status: a.Status} // nothing of another's is told
		}
		r.odd = append(r.odd, a)
	}
}

// timeOf is a time in whole milliseconds.
func timeOf(v []byte) time.Time {
	if ms := int64(int8Of(v)); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}
