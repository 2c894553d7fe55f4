package pebble

import (
	"bytes"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// sentID names an id of the batch in work.
type sentID struct {
	c      *conversation
	sender im.UserID
	id     im.MessageID
}

func (a *appender) sentID(batch []im.Append, i int) sentID {
	return sentID{a.convs[i], batch[i].Entry.Sender, batch[i].Entry.ID}
}

func compareIDs(a, b im.MessageID) int { return bytes.Compare(a[:], b[:]) }

func maxID(a, b im.MessageID) im.MessageID {
	if compareIDs(a, b) < 0 {
		return b
	}
	return a
}

// boundAhead is how far a stored bound lies ahead of the id that moved it. A
// sender moves its own once in that time, and after a restart has its ids looked
// up for as long.
const boundAhead = 10 * time.Minute

// idAhead returns an id greater than any within boundAhead after id.
func idAhead(id im.MessageID) im.MessageID {
	const maxMs = 1<<48 - 1
	ms := min(uint64(id.Time().UnixMilli())+uint64(boundAhead/time.Millisecond), maxMs)
	for i := range id {
		id[i] = 0xff
	}
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// sender returns what is known of a sender's ids.
func (a *appender) sender(u im.UserID) (*sender, error) {
	if s, ok := a.senders.Get(u); ok {
		return s, nil
	}
	limit, err := a.readBound(appendBoundKey(nil, u))
	if err != nil {
		return nil, err
	}
	limit = maxID(limit, a.floor)
	s := &sender{name: u, bound: limit, limit: limit}
	if compareIDs(s.bound, a.highest) > 0 {
		s.bound = a.highest
	}
	a.senders.Put(u, s)
	return s, nil
}

// readBound reads a bound of ids, zero if there is none.
func (a *appender) readBound(key []byte) (id im.MessageID, err error) {
	v, err := get(a.j.db, key)
	switch {
	case err != nil:
		return id, a.j.explain(err)
	case v != nil && len(v) != len(id):
		return id, &CorruptionError{Dir: a.j.dir, File: "a bound of ids", Cause: errRecord}
	}
	copy(id[:], v)
	return id, nil
}

// writeBounds adds to the batch the bounds its ids move.
func (a *appender) writeBounds() error {
	for _, s := range a.writers {
		if compareIDs(s.next, s.limit) <= 0 {
			continue
		}
		limit := idAhead(s.next)
		a.key = appendBoundKey(a.key[:0], s.name)
		if err := a.b.Set(a.key, limit[:], nil); err != nil {
			return err
		}
	}
	return nil
}

// readBounds reads the bounds that hold for every sender.
func (a *appender) readBounds() (err error) {
	for _, space := range []byte{spaceID, spaceStrayID} {
		id, err := highestID(a.j.db, space)
		if err != nil {
			return a.j.explain(err)
		}
		a.highest = maxID(a.highest, id)
	}
	a.floor, err = a.readBound([]byte(keyFloor))
	return err
}

// highestID finds the greatest id of a space.
func highestID(db pebble.Reader, space byte) (id im.MessageID, err error) {
	bounds := spaceBounds(space)
	it, err := db.NewIter(&bounds)
	if err != nil {
		return id, err
	}
	if it.Last() && len(it.Key()) > len(id) {
		copy(id[:], it.Key()[1:])
	}
	return id, it.Close()
}

// idReader returns the iterator over ids of the batch in work. It sees what was
// stored before the batch, which is all durable.
func (a *appender) idReader() (*pebble.Iterator, error) {
	if a.ids != nil {
		return a.ids, nil
	}
	o := pebble.IterOptions{LowerBound: []byte{spaceID}, UpperBound: []byte{spaceStrayID + 1}}
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
			if batch[k].Hash == batch[i].Hash {
				out[i] = out[k]
				out[i].Status = im.Duplicate
			}
			return true, nil
		}
	}
	if compareIDs(id, s.bound) > 0 {
		return false, nil
	}
	return a.onDisk(&batch[i], &out[i], a.convs[i])
}

// inBatch finds the item of this batch that stored the id of item i.
func (a *appender) inBatch(batch []im.Append, out []im.Appended, i int) (int, bool) {
	if !a.sentAll {
		a.sentAll = true
		for k := range i {
			if out[k].Status == im.Stored {
				a.sent[a.sentID(batch, k)] = k
			}
		}
	}
	k, ok := a.sent[a.sentID(batch, i)]
	return k, ok
}

// strayAfter is how far the time of an id may be from ours before it is kept
// apart from those that come in order. It decides about the place only: whether
// an id is known is looked up in both.
const strayAfter = 10 * time.Second

func idSpace(id im.MessageID, now time.Time) byte {
	if d := id.Time().Sub(now); d > strayAfter || d < -strayAfter {
		return spaceStrayID
	}
	return spaceID
}

// lookUp returns the value of an id, nil if there is none. It is valid until the
// next look-up.
func (a *appender) lookUp(e *im.Entry) ([]byte, error) {
	ids, err := a.idReader()
	if err != nil {
		return nil, err
	}
	a.j.metrics.lookups.Inc()
	a.key = a.j.secret.idKey(a.key[:0], 0, e)
	for _, a.key[0] = range []byte{spaceID, spaceStrayID} {
		if ids.SeekPrefixGE(a.key) && bytes.Equal(ids.Key(), a.key) {
			v, err := ids.ValueAndErr()
			return v, a.j.explain(err)
		}
		if err := ids.Error(); err != nil {
			return nil, a.j.explain(err)
		}
	}
	return nil, nil
}

// onDisk looks an id up among those of earlier batches.
func (a *appender) onDisk(it *im.Append, o *im.Appended, c *conversation) (bool, error) {
	e := &it.Entry
	v, err := a.lookUp(e)
	if v == nil || err != nil {
		return false, err
	}
	seq, hash, ok := decodeIDValue(v)
	if !ok {
		return false, a.j.badRecord(e.Conversation, seq, errRecord)
	}
	o.Status = im.IDConflict
	if hash != it.Hash {
		return true, nil
	}
	epoch, err := a.epochOf(c, seq)
	if err != nil {
		return false, err
	}
	a.key = appendEntryKey(a.key[:0], epoch, e.Conversation, seq)
	*o, err = a.j.storedAt(a.key, e, seq)
	return err == nil, err
}

// storedAt tells whether the entry with a key is the one with the id and sender of
// e, whose hash is right: a Duplicate, otherwise an IDConflict. An id's key has a hash
// of its names only: the entry at this place either is the one with the id, or the
// key is that of another one, too, and then nothing is said of either.
func (j *Journal) storedAt(key []byte, e *im.Entry, seq uint64) (im.Appended, error) {
	other := im.Appended{Status: im.IDConflict}
	value, err := get(j.db, key)
	if value == nil || err != nil {
		return other, j.explain(err)
	}
	var original im.Entry
	sender, _, err := decodeHead(value, &original)
	if err != nil {
		return other, j.badRecord(e.Conversation, seq, err)
	}
	if original.ID != e.ID || string(sender) != string(e.Sender) {
		return other, nil
	}
	return im.Appended{
		Status: im.Duplicate, Seq: seq, Count: original.Count, Time: original.Stored, Pos: original.Pos, Roster: original.Roster,
	}, nil
}
