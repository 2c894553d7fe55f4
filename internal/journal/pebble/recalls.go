package pebble

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// What was recalled is found by a key for each recalled message, beside its
// entry: conversation and seq of the message → position of its recall. They are
// few, so whoever counts what is unread reads what was recalled and nothing else. What
// does not count (a reply in a thread) has the byte uncounted behind the position: its
// key is there for its labels.

func appendRecalledKey(dst []byte, c im.ConversationID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendName(dst, spaceRecalled, c), seq)
}

const uncounted = 1

// noteRecalled adds to the batch that an entry is recalled, which it was not before.
func (a *appender) noteRecalled(e *im.Entry, pos uint64) error {
	a.key = appendRecalledKey(a.key[:0], e.Conversation, e.Seq)
	a.value = binary.AppendUvarint(a.value[:0], pos)
	if !e.Countable() {
		a.value = append(a.value, uncounted)
	}
	return a.b.Set(a.key, a.value, nil)
}

var _ im.Recalls = (*Journal)(nil)

// Recalled fills out with the recalled messages of spans.
func (j *Journal) Recalled(ctx context.Context, spans []im.Span, limit int, out []im.Recalled) error {
	if len(out) != len(spans) {
		return errors.New("journal: Recalled: len(out) differs from len(spans)")
	}
	clear(out)
	r := recallReader{limit: limit}
	return j.spans(ctx, spaceRecalled, len(spans), &r.spanReader, func(i int) (im.ConversationID, error) {
		return spans[i].Conversation, r.read(&spans[i], &out[i])
	}, func(i int) { out[i] = im.Recalled{} })
}

// spanReader reads parts of conversations in one space of keys, as of one position.
type spanReader struct {
	j       *Journal
	it      *pebble.Iterator
	durable uint64
}

// spans has n parts of conversations read with r, one after the other. A damaged
// conversation is noted and left out: empty forgets what was read of it.
func (j *Journal) spans(ctx context.Context, space byte, n int, r *spanReader, read func(i int) (im.ConversationID, error), empty func(i int)) error {
	if n == 0 {
		return nil
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	durable := j.position()
	o := spaceBounds(space)
	it, err := j.db.NewIterWithContext(ctx, &o)
	if err != nil {
		return j.explain(err)
	}
	defer it.Close() // its errors are taken where they arise
	*r = spanReader{j: j, it: it, durable: durable}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := read(i)
		switch err = j.damage(c, err); {
		case errors.Is(err, im.ErrJournalDamaged):
			empty(i)
		case err != nil:
			return err
		}
	}
	return nil
}

// recallReader counts recalled messages as of one position.
type recallReader struct {
	spanReader
	limit int
	key   []byte
}

func (r *recallReader) read(s *im.Span, out *im.Recalled) error {
	if s.After >= s.Until || len(s.Conversation) > maxName {
		return nil
	}
	r.key = appendRecalledKey(r.key[:0], s.Conversation, s.After+1)
	prefix := r.key[:len(r.key)-8]
	for ok := r.it.SeekGE(r.key); ok && isSeqOf(r.it.Key(), prefix); ok = r.it.Next() {
		seq := seqOfKey(r.it.Key())
		if seq > s.Until {
			return nil
		}
		v, err := r.it.ValueAndErr()
		if err != nil {
			return r.j.explain(err)
		}
		pos, n := binary.Uvarint(v)
		counts := n == len(v)
		if n <= 0 || !counts && (n+1 != len(v) || v[n] != uncounted) {
			return r.j.badRecord(s.Conversation, seq, errRecord)
		}
		if pos > r.durable || !counts {
			continue
		}
		if out.Count++; len(out.Seqs) < r.limit {
			out.Seqs = append(out.Seqs, seq)
		}
	}
	return r.j.explain(r.it.Error())
}
