package pebble

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/skein-im/skein/internal/im"
)

// Labels are keys of their own: conversation, label and seq of the entry → whether it
// has it, the position of the append that said so last, and the entry's. So who asks
// reads what has the label and nothing else. A label that is taken off is kept as such:
// until that is durable, it is told as it was.

func appendLabelPrefix(dst []byte, c im.ConversationID, label string) []byte {
	return append(append(appendName(dst, spaceLabel, c), byte(len(label))), label...)
}

// checkLabels refuses what no journal keeps.
func checkLabels(labels []string) error {
	for _, l := range labels {
		if l == "" || len(l) > im.MaxLabel {
			return errors.New("a label is empty or too long")
		}
	}
	return nil
}

// writeLabels adds to the batch what its stored items put on entries, or take off.
func (a *appender) writeLabels(batch []im.Append, out []im.Appended) error {
	for i := range batch {
		it := &batch[i]
		if len(it.Labels)+len(it.Unlabels)+len(it.Own) == 0 || out[i].Status != im.Stored {
			continue
		}
		c, at := it.Entry.Conversation, out[i].Pos
		seq, pos := out[i].Seq, at
		if t := a.amended[entryKey{a.convs[i], it.Amend.Changes(it.Entry.Target)}]; t != nil {
			if seq = t.entry.Seq; t.before != nil {
				pos = t.before.Pos
			}
		}
		if err := a.writeLabel(c, it.Unlabels, seq, 0, at, pos); err != nil {
			return err
		}
		if err := a.writeLabel(c, it.Labels, seq, 1, at, pos); err != nil {
			return err
		}
		if err := a.writeLabel(c, it.Own, out[i].Seq, 1, at, at); err != nil {
			return err
		}
	}
	return nil
}

// writeLabel says of labels of an entry stored at pos whether it has them, as of the append at.
func (a *appender) writeLabel(c im.ConversationID, labels []string, seq uint64, has byte, at, pos uint64) error {
	for _, l := range labels {
		a.key = binary.BigEndian.AppendUint64(appendLabelPrefix(a.key[:0], c, l), seq)
		a.value = binary.AppendUvarint(append(a.value[:0], has), at)
		a.value = binary.AppendUvarint(a.value, pos)
		a.noteLabel(c, seq, a.key)
		if err := a.b.Set(a.key, a.value, nil); err != nil {
			return err
		}
	}
	return nil
}

var _ im.Labels = (*Journal)(nil)

// Labelled fills out with the labelled entries of spans.
func (j *Journal) Labelled(ctx context.Context, spans []im.LabelSpan, limit int, out []im.Labelled) error {
	if len(out) != len(spans) {
		return errors.New("journal: Labelled: len(out) differs from len(spans)")
	}
	clear(out)
	r := labelReader{limit: limit}
	return j.spans(ctx, spaceLabel, len(spans), &r.spanReader, func(i int) (im.ConversationID, error) {
		return spans[i].Conversation, r.read(&spans[i], &out[i])
	}, func(i int) { out[i] = im.Labelled{} })
}

// labelReader finds labelled entries as of one position.
type labelReader struct {
	spanReader
	limit  int
	prefix []byte
	key    []byte
}

func (r *labelReader) read(s *im.LabelSpan, out *im.Labelled) error {
	if s.After >= s.Until || len(s.Conversation) > maxName || len(s.Label) > im.MaxLabel {
		return nil
	}
	r.prefix = appendLabelPrefix(r.prefix[:0], s.Conversation, s.Label)
	if !s.Newest {
		r.key = binary.BigEndian.AppendUint64(append(r.key[:0], r.prefix...), s.After+1)
		for ok := r.it.SeekGE(r.key); ok && isSeqOf(r.it.Key(), r.prefix) && seqOfKey(r.it.Key()) <= s.Until; ok = r.it.Next() {
			if pos, has, err := r.at(s); err != nil {
				return err
			} else if has {
				if out.Count++; len(out.Seqs) < r.limit {
					out.Seqs, out.Pos = append(out.Seqs, seqOfKey(r.it.Key())), append(out.Pos, pos)
				}
			}
		}
		return r.j.explain(r.it.Error())
	}
	r.key = append(binary.BigEndian.AppendUint64(append(r.key[:0], r.prefix...), s.Until), 0)
	for ok := r.it.SeekLT(r.key); ok && len(out.Seqs) < r.limit && isSeqOf(r.it.Key(), r.prefix) && seqOfKey(r.it.Key()) > s.After; ok = r.it.Prev() {
		if pos, has, err := r.at(s); err != nil {
			return err
		} else if has && pos <= s.Pos {
			out.Seqs, out.Pos = append(out.Seqs, seqOfKey(r.it.Key())), append(out.Pos, pos)
		}
	}
	return r.j.explain(r.it.Error())
}

// at tells whether the entry that the iterator is at has the label, and its position.
func (r *labelReader) at(s *im.LabelSpan) (pos uint64, has bool, err error) {
	seq := seqOfKey(r.it.Key())
	v, err := r.it.ValueAndErr()
	if err != nil {
		return 0, false, r.j.explain(err)
	}
	if len(v) < 1 || v[0] > 1 {
		return 0, false, r.j.badRecord(s.Conversation, seq, errRecord)
	}
	changed, n := binary.Uvarint(v[1:])
	if n <= 0 {
		return 0, false, r.j.badRecord(s.Conversation, seq, errRecord)
	}
	pos, m := binary.Uvarint(v[1+n:])
	if m <= 0 || 1+n+m != len(v) {
		return 0, false, r.j.badRecord(s.Conversation, seq, errRecord)
	}
	if has = v[0] == 1; changed > r.durable { // it was otherwise before
		has = !has
	}
	if !has || pos > r.durable {
		return 0, false, nil
	}
	recalled, err := get(r.j.db, appendRecalledKey(nil, s.Conversation, seq))
	if err != nil {
		return 0, false, r.j.explain(err)
	}
	if at, n := binary.Uvarint(recalled); n > 0 && at <= r.durable {
		has = false
	}
	return pos, has, nil
}
