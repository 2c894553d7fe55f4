package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/skein-im/skein/internal/im"
)

// recalledSQL counts the recalled messages of many parts of conversations, and
// names the first ones of each. It reads the index of what was recalled only.
const recalledSQL = `SELECT u.i, r.n, r.seqs
	FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY u(slot, name, after, until, i)
	JOIN journal_heads h ON h.slot = u.slot AND h.conversation = u.name,
	LATERAL (SELECT count(*) AS n, (array_agg(e.seq ORDER BY e.seq))[1:$5::int] AS seqs
		FROM journal_entries e WHERE e.slot = h.slot AND e.no = h.no AND e.seq > u.after AND e.seq <= u.until AND e.recalled AND e.kind = 1) r
	WHERE r.n > 0`

var _ im.Recalls = (*Journal)(nil)

// Recalled fills out with the recalled messages of spans.
func (j *Journal) Recalled(ctx context.Context, spans []im.Span, limit int, out []im.Recalled) error {
	if len(out) != len(spans) {
		return errors.New("journal: Recalled: len(out) differs from len(spans)")
	}
	if len(spans) == 0 {
		return nil
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	return im.Apart(0, len(spans), func(from, until int) error {
		clear(out[from:until])
		return j.recalled(ctx, spans[from:until], limit, out[from:until])
	}, func(i int, err error) {
		_ = j.damage(spans[i].Conversation, err)
		out[i] = im.Recalled{}
	})
}

func (j *Journal) recalled(ctx context.Context, spans []im.Span, limit int, out []im.Recalled) error {
	var in, names, after, until column
	in.begin(oidInt2)
	names.begin(oidText)
	after.begin(oidInt8)
	until.begin(oidInt8)
	for i := range spans {
		in.int2(im.SlotOf(spans[i].Conversation))
		add(&names, spans[i].Conversation)
		after.int8(min(spans[i].After, math.MaxInt64))
		until.int8(min(spans[i].Until, math.MaxInt64))
	}
	return j.query(ctx, stmtRecalled, [][]byte{in.end(), names.end(), after.end(), until.end(), int4Param(limit)}, func(v [][]byte) error {
		seqs, err := int8sOf(v[2])
		out[int8Of(v[0])-1] = im.Recalled{Count: int8Of(v[1]), Seqs: seqs}
		return err
	})
}

// int8sOf reads an array of numbers without nulls: how many dimensions, whether
// there are nulls, the type; length and first index; each with its size.
func int8sOf(v []byte) ([]uint64, error) {
	const header, length = 12, 8
	if len(v) <= header {
		return nil, nil
	}
	if len(v) < header+length || (len(v)-header-length)%12 != 0 {
		return nil, errors.New("journal: not an array of numbers")
	}
	v = v[header+length:]
	all := make([]uint64, len(v)/12)
	for i := range all {
		all[i] = binary.BigEndian.Uint64(v[12*i+4:])
	}
	return all, nil
}
