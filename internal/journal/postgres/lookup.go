package postgres

import (
	"context"
	"errors"

	"github.com/skein-im/skein/internal/im"
)

// lookupSQL finds entries by conversation, id and sender, with what tells a resend
// from a reused id. It takes no lock: whatever was committed before is found. The
// sum keeps it to the index by id, as in functions.sql.
const lookupSQL = `SELECT u.i, e.hash = u.hash, e.seq, e.count, e.stored, e.pos, e.roster
	FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::text[], $5::bigint[]) WITH ORDINALITY u(slot, name, id, sender, hash, i)
	JOIN journal_heads h ON h.slot = u.slot AND h.conversation = u.name
	JOIN journal_entries e ON e.id = u.id AND e.no = h.no AND e.slot + 0 = h.slot AND e.sender = u.sender`

var _ im.Lookups = (*Journal)(nil)

// Lookup finds ids that were stored before.
func (j *Journal) Lookup(ctx context.Context, batch []im.Append, out []im.Appended) error {
	if len(out) != len(batch) {
		return errors.New("journal: Lookup: len(out) differs from len(batch)")
	}
	for i := range out {
		out[i] = im.Appended{Status: im.Absent}
	}
	if len(batch) == 0 {
		return nil
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	var in, names, ids, senders, hashes column
	in.begin(oidInt2)
	names.begin(oidText)
	ids.begin(oidUUID)
	senders.begin(oidText)
	hashes.begin(oidInt8)
	for i := range batch {
		e := &batch[i].Entry
		in.int2(im.SlotOf(e.Conversation))
		add(&names, e.Conversation)
		add(&ids, e.ID[:])
		add(&senders, e.Sender)
		hashes.int8(batch[i].Hash)
	}
	return j.query(ctx, stmtLookup, [][]byte{in.end(), names.end(), ids.end(), senders.end(), hashes.end()}, func(v [][]byte) error {
		o := &out[int8Of(v[0])-1]
		if o.Status = im.IDConflict; boolOf(v[1]) {
			*o = im.Appended{Status: im.Duplicate, Seq: int8Of(v[2]), Count: int8Of(v[3]), Time: timeOf(v[4]), Pos: int8Of(v[5]), Roster: int8Of(v[6])}
		}
		return nil
	})
}
