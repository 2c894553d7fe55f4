package postgres

import (
	"context"
	"errors"
	"math"

	"github.com/skein-im/skein/internal/im"
)

// labelledSQL finds the entries of many parts of conversations that have a label and
// are not recalled: it counts them and names the first ones, or names the newest ones up
// to a position. It reads the index of labels, and of the entries those alone.
const labelledSQL = `SELECT u.i, r.n, r.seqs, r.poss
	FROM unnest($1::smallint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) WITH ORDINALITY u(slot, name, label, after, until, pos, i)
	JOIN journal_heads h ON h.slot = u.slot AND h.conversation = u.name,
	LATERAL (SELECT count(*) AS n, (array_agg(l.seq ORDER BY l.ord))[1:$7::int] AS seqs, (array_agg(l.pos ORDER BY l.ord))[1:$7::int] AS poss
		FROM (SELECT l.seq, l.pos, l.seq AS ord FROM journal_labels l JOIN journal_entries e ON e.slot = l.slot AND e.no = l.no AND e.seq = l.seq
			WHERE u.pos < 0 AND l.slot = h.slot AND l.no = h.no AND l.label = u.label AND l.seq > u.after AND l.seq <= u.until AND e.recalled IS NULL
			UNION ALL
			(SELECT l.seq, l.pos, -l.seq AS ord FROM journal_labels l JOIN journal_entries e ON e.slot = l.slot AND e.no = l.no AND e.seq = l.seq
			WHERE u.pos >= 0 AND l.pos <= u.pos AND l.slot = h.slot AND l.no = h.no AND l.label = u.label AND l.seq > u.after AND l.seq <= u.until AND e.recalled IS NULL
			ORDER BY l.seq DESC LIMIT $7::int)) l) r
	WHERE r.n > 0`

var _ im.Labels = (*Journal)(nil)

// Labelled fills out with the labelled entries of spans.
func (j *Journal) Labelled(ctx context.Context, spans []im.LabelSpan, limit int, out []im.Labelled) error {
	if len(out) != len(spans) {
		return errors.New("journal: Labelled: len(out) differs from len(spans)")
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
		return j.labelled(ctx, spans[from:until], limit, out[from:until])
	}, func(i int, err error) {
		_ = j.damage(spans[i].Conversation, err)
		out[i] = im.Labelled{}
	})
}

func (j *Journal) labelled(ctx context.Context, spans []im.LabelSpan, limit int, out []im.Labelled) error {
	var in, names, labels, after, until, pos column
	in.begin(oidInt2)
	names.begin(oidText)
	labels.begin(oidText)
	for _, c := range []*column{&after, &until, &pos} {
		c.begin(oidInt8)
	}
	for i := range spans {
		s := &spans[i]
		in.int2(im.SlotOf(s.Conversation))
		add(&names, s.Conversation)
		add(&labels, s.Label)
		after.int8(min(s.After, math.MaxInt64))
		until.int8(min(s.Until, math.MaxInt64))
		if s.Newest {
			pos.int8(min(s.Pos, math.MaxInt64))
		} else {
			pos.int8(math.MaxUint64) // -1
		}
	}
	params := [][]byte{in.end(), names.end(), labels.end(), after.end(), until.end(), pos.end(), int4Param(limit)}
	return j.query(ctx, stmtLabelled, params, func(v [][]byte) error {
		seqs, err := int8sOf(v[2])
		poss, err2 := int8sOf(v[3])
		l := im.Labelled{Count: int8Of(v[1]), Seqs: seqs, Pos: poss}
		at := int8Of(v[0]) - 1
		if spans[at].Newest {
			l.Count = 0
		}
		out[at] = l
		return errors.Join(err, err2)
	})
}
