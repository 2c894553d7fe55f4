package pebble

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

func compareIDs(a, b im.MessageID) int { return bytes.Compare(a[:], b[:]) }

// sender returns what is known of a sender's ids.
func (a *appender) sender(u im.UserID) *sender {
	s, ok := a.senders.get(u)
	if !ok {
		s = &sender{bound: a.highest}
		a.senders.put(u, s)
	}
	return s
}

// readHighest finds the greatest id there is, the first bound of every sender.
func (a *appender) readHighest() error {
	bounds := spaceBounds(spaceID)
	it, err := a.j.db.NewIter(&bounds)
	if err != nil {
		return err
	}
	if it.Last() {
		a.highest, _ = idOfKey(it.Key())
	}
	return it.Close()
}

// idReader returns the iterator over ids of the batch in work. It sees what was
// stored before the batch, which is all durable.
func (a *appender) idReader() (*pebble.Iterator, error) {
	if a.ids != nil {
		return a.ids, nil
	}
	o := spaceBounds(spaceID)
	// Most look-ups are for ids that do not exist; filters answer those.
	o.UseL6Filters = true
	it, err := a.j.db.NewIter(&o)
	if err != nil {
		return nil, a.j.explain(err)
	}
	a.ids = it
	return it, nil
}

// duplicate reports whether the id of item i is known, and answers it if so. An
// id greater than every id of its sender is new: no look-up is needed, and no
// clock is trusted.
func (a *appender) duplicate(batch []im.Append, out []im.Appended, i int, s *sender) (bool, error) {
	id := batch[i].Entry.ID
	here := s.batch == a.number // this batch stored something of this sender
	if !here && compareIDs(id, s.bound) > 0 || here && compareIDs(id, s.next) > 0 {
		return false, nil
	}
	if here {
		if k, ok := a.inBatch(batch, out, i); ok {
			out[i].Status = im.IDConflict
			if a.convs[k] == a.convs[i] && batch[k].Hash == batch[i].Hash {
				out[i] = out[k]
				out[i].Status = im.Duplicate
			}
			return true, nil
		}
	}
	if compareIDs(id, s.bound) > 0 {
		return false, nil
	}
	return a.onDisk(&batch[i], &out[i])
}

// inBatch finds the item of this batch that stored the id of item i.
func (a *appender) inBatch(batch []im.Append, out []im.Appended, i int) (int, bool) {
	if !a.sentAll {
		a.sentAll = true
		for k := range i {
			if out[k].Status == im.Stored {
				a.sent[sentID{batch[k].Entry.Sender, batch[k].Entry.ID}] = k
			}
		}
	}
	k, ok := a.sent[sentID{batch[i].Entry.Sender, batch[i].Entry.ID}]
	return k, ok
}

// onDisk looks an id up among those of earlier batches.
func (a *appender) onDisk(it *im.Append, o *im.Appended) (bool, error) {
	ids, err := a.idReader()
	if err != nil {
		return false, err
	}
	a.j.metrics.lookups.Inc()
	e := &it.Entry
	a.key = appendIDKey(a.key[:0], e.Sender, e.ID)
	if !ids.SeekPrefixGE(a.key) || !bytes.Equal(ids.Key(), a.key) {
		return false, a.j.explain(ids.Error())
	}
	v, err := ids.ValueAndErr()
	if err != nil {
		return false, a.j.explain(err)
	}
	seq, hash, ok := decodeIDValue(v)
	if !ok {
		return false, a.j.badRecord(e.Conversation, seq, errRecord)
	}
	o.Status = im.IDConflict
	if hash != it.Hash {
		return true, nil
	}
	// The id's conversation is not kept with it: the entry at this place either is
	// the one with the id, or the id belongs to another conversation.
	a.key = appendEntryKey(a.key[:0], e.Conversation, seq)
	value, err := get(a.j.db, a.key)
	if err != nil {
		return false, a.j.explain(err)
	}
	if value == nil {
		return true, nil
	}
	var original im.Entry
	sender, err := decodeHead(value, &original)
	if err != nil {
		return false, a.j.badRecord(e.Conversation, seq, err)
	}
	if original.ID == e.ID && string(sender) == string(e.Sender) {
		*o = im.Appended{
			Status: im.Duplicate, Seq: seq, Count: original.Count, Time: original.Stored, Pos: original.Pos, Roster: original.Roster,
		}
	}
	return true, nil
}
