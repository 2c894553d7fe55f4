package pebble

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// trimStep is how many entries one step of a trim empties: appends wait meanwhile.
const trimStep = 1000

// A trim writes the records of entries again, where they lie, without what they said. A
// step is a batch of its own, beside the chain of appends: it takes no position, and
// whether it is there after a crash is nothing that anybody was told of before it was
// durable. It runs where appends do (appendMu), so it writes again what is durable, and
// no amendment falls between what it reads and what it writes.
//
// Labels lie by label, not by entry. Those of a step are looked for before appends have
// to wait; what appends put on meanwhile, they note in the step.

var _ im.Trims = (*Journal)(nil)

// Trim empties the entries of a span.
func (j *Journal) Trim(ctx context.Context, s im.Span) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(s.Conversation) == 0 || len(s.Conversation) > maxName {
		return nil
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	j.trimMu.Lock()
	defer j.trimMu.Unlock()
	defer j.windows.forget(&s)
	for after := s.After; after < s.Until; after += trimStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := &trimming{c: s.Conversation, after: after, until: after + min(trimStep, s.Until-after)}
		more, err := j.trim(t)
		if err != nil {
			return j.damage(s.Conversation, err)
		}
		if !more {
			break
		}
	}
	return nil
}

// trimming is a step of a trim.
type trimming struct {
	c            im.ConversationID
	after, until uint64
	labels       [][]byte // the keys of its entries' labels; guarded by appendMu
}

// trim does one step; more tells that the conversation goes on behind it.
func (j *Journal) trim(t *trimming) (more bool, err error) {
	a := &j.appender
	j.appendMu.Lock()
	a.trimming = t
	j.appendMu.Unlock()
	labels, err := j.labelKeys(t)
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	a.trimming = nil
	if err != nil {
		return false, err
	}
	if err := j.failure(); err != nil {
		return false, err
	}
	b := j.db.NewBatch()
	defer func() {
		if j.failure() == nil {
			_ = b.Close()
		}
	}()
	more, gone, err := t.empty(j, b)
	if err != nil {
		return false, err
	}
	for _, key := range slices.Concat(labels, t.labels) {
		if err := b.Delete(key, nil); err != nil {
			return false, err
		}
	}
	if b.Empty() {
		return more, nil
	}
	if err := gone.note(b); err != nil {
		return false, err
	}
	if err := j.space.check(b.Len()); err != nil {
		return false, err
	}
	if err := j.commit(b); err != nil {
		return false, err
	}
	j.gone.add(gone)
	return more, nil
}

// empty adds to the batch what is left of the step's entries, and tells how much of
// which epochs that gives up.
func (t *trimming) empty(j *Journal, b *pebble.Batch) (more bool, gone goneBytes, err error) {
	gone = goneBytes{}
	w := walk{j: j, c: t.c, from: t.after + 1}
	defer w.close()
	var value []byte
	// Not with the caller's ctx: a step is done or not done.
	err = w.run(context.Background(), func(e *im.Entry, sender, body []byte) (done bool, err error) {
		if e.Seq > t.until {
			more = true
			return true, nil
		}
		if len(body) == 0 && e.Amended == 0 && !e.Recalled {
			return false, nil
		}
		if e.Recalled && e.Countable() {
			if err := b.Delete(appendRecalledKey(nil, t.c, e.Seq), nil); err != nil {
				return true, err
			}
		}
		kept := *e
		kept.Sender, kept.Body, kept.Amended, kept.Recalled = im.UserID(sender), nil, 0, false
		value = appendRecord(value[:0], &kept)
		gone[epochOfKey(w.it.Key())] += uint64(len(body))
		return false, b.Set(w.it.Key(), value, nil)
	})
	return more, gone, err
}

// labelKeys finds the labels of the step's entries, as of now: of each label that the
// conversation has, those within the step.
func (j *Journal) labelKeys(t *trimming) (keys [][]byte, err error) {
	prefix := appendName(nil, spaceLabel, t.c)
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return nil, j.explain(err)
	}
	defer it.Close() // its errors are taken where they arise
	for ok := it.First(); ok; {
		key := slices.Clone(it.Key())
		if len(key) < len(prefix)+1+8 {
			return nil, j.badRecord(t.c, 0, errRecord)
		}
		label := key[:len(key)-8]
		switch seq := seqOfKey(key); {
		case seq <= t.after:
			ok = it.SeekGE(binary.BigEndian.AppendUint64(label, t.after+1))
		case seq > t.until:
			ok = it.SeekGE(prefixEnd(label))
		default:
			keys = append(keys, key)
			ok = it.Next()
		}
	}
	return keys, j.explain(it.Error())
}

// noteLabel notes a label that an append puts on an entry of the step of a trim, or
// takes off it.
func (a *appender) noteLabel(c im.ConversationID, seq uint64, key []byte) {
	if t := a.trimming; t != nil && t.c == c && seq > t.after && seq <= t.until {
		t.labels = append(t.labels, slices.Clone(key))
	}
}

// forget drops the windows that have entries of a span: they have what these said.
func (ws *windows) forget(s *im.Span) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.list = slices.DeleteFunc(ws.list, func(w *window) bool {
		return slices.ContainsFunc(w.entries, func(e im.Entry) bool {
			return e.Conversation == s.Conversation && e.Seq > s.After && e.Seq <= s.Until
		})
	})
}
