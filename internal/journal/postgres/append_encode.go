package postgres

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The parameters of journal_append, in their order.
const (
	pFresh = iota
	pNths
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
	pType
	pText
	pBody
	pReply
	pTarget
	pMentions
	pEvent
	pItemIf
	pItemSet
	pErase
)

// encode makes the parameters; pFresh and pLook are set before each call.
func (r *request) encode(batch []im.Append) {
	cols := &r.columns
	for p, oid := range [appendParams]uint32{
		pNths: oidInt4, pConvs: oidText, pIfs: oidInt8, pItems: oidInt4, pMessages: oidInt4,
		pConv: oidInt4, pNth: oidInt4, pMth: oidInt4, pID: oidUUID, pSender: oidText, pHash: oidInt8, pKind: oidInt2,
		pType: oidText, pText: oidBool, pBody: oidBytea, pReply: oidInt8, pTarget: oidInt8, pMentions: oidText, pEvent: oidText,
		pItemIf: oidInt8, pItemSet: oidInt8, pErase: oidInt8,
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
			cols[pItemIf].int8(batch[i].IfRoster)
			cols[pItemSet].int8(batch[i].SetRoster)
			cols[pErase].int8(min(batch[i].Erase, math.MaxInt64))
		}
	}
	// In the order of the names, which r.rank tells the other way round.
	at := slices.Grow(r.item[:0], len(r.state))[:len(r.state)]
	for k, rank := range r.rank {
		at[rank] = int32(k)
	}
	for i, k := range at {
		s := &r.state[k]
		cols[pNths].int4(i + 1)
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
		if p != pFresh && p != pLoops && p != pLook {
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
	cols[pKind].int2(uint8(e.Kind))
	add(&cols[pType], e.Content.Type)
	cols[pText].bool(e.Content.Text)
	add(&cols[pBody], e.Content.Body)
	cols[pReply].int8OrNull(e.ReplyTo)
	cols[pTarget].int8OrNull(e.Target)
	if len(e.Mentions) == 0 {
		cols[pMentions].null()
	} else {
		add(&cols[pMentions], joined(e.Mentions))
	}
	if e.Event == nil {
		cols[pEvent].null()
	} else {
		add(&cols[pEvent], encodeEvent(e.Event))
	}
}

func joined(us []im.UserID) []byte {
	var b []byte
	for i, u := range us {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, u...)
	}
	return b
}

func encodeEvent(e *im.Event) []byte {
	b, err := json.Marshal(e)
	if err != nil {
		// Only a year beyond 9999 cannot be said in JSON: for ever, then.
		x := *e
		x.Until = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
		b, _ = json.Marshal(&x)
	}
	return b
}

func decodeEvent(b []byte) (*im.Event, error) {
	e := new(im.Event)
	if err := json.Unmarshal(b, e); err != nil {
		return nil, fmt.Errorf("journal: an event in the database is damaged: %w", err)
	}
	return e, nil
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
