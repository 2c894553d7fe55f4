package pebble

import (
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// amended is an entry that the batch in work amends, as the items decided so far
// leave it. It is written once, with what the last of them made of it.
type amended struct {
	entry im.Entry
	epoch uint32
	// before is the entry as it is durable, if it was stored before this batch.
	before *im.Entry
}

// entryKey names an entry of a conversation of the batch in work.
type entryKey struct {
	c   *conversation
	seq uint64
}

// placeKey names an entry.
type placeKey struct {
	c   im.ConversationID
	seq uint64
}

// targets are the entries that an item amends: what it recalls, what it changes.
type targets struct{ recalled, changed *amended }

// targets returns what item i amends. holds tells whether that is as the item says, as
// of the items before it.
func (a *appender) targets(batch []im.Append, out []im.Appended, i int) (t targets, holds bool, err error) {
	it := &batch[i]
	if it.Amend.Recall {
		if t.recalled, err = a.target(batch, out, i, it.Entry.Target); err != nil {
			return t, false, err
		}
	}
	if !it.Amend.Change {
		return t, true, nil
	}
	if t.changed, err = a.target(batch, out, i, it.Amend.Changes(it.Entry.Target)); err != nil {
		return t, false, err
	}
	e := &t.changed.entry
	return t, len(e.Body) > 0 && e.Amended == it.Amend.If, nil
}

// target returns an entry that item i amends.
func (a *appender) target(batch []im.Append, out []im.Appended, i int, seq uint64) (*amended, error) {
	c := a.convs[i]
	if seq > c.next.Seq {
		return nil, fmt.Errorf("%w: item %d amends entry %d of %s, which has %d", im.ErrAppendInvalid, i, seq, c.name, c.next.Seq)
	}
	k := entryKey{c, seq}
	t := a.amended[k]
	if t == nil {
		var err error
		if t, err = a.findTarget(batch, out, i, seq); err != nil {
			return nil, err
		}
		a.amended[k] = t
	}
	return t, nil
}

// findTarget reads what item i amends, from the store or from this batch.
func (a *appender) findTarget(batch []im.Append, out []im.Appended, i int, seq uint64) (*amended, error) {
	c := a.convs[i]
	t := &amended{entry: im.Entry{Conversation: c.name, Seq: seq}}
	var err error
	if t.epoch, err = a.epochOf(c, seq); err != nil {
		return nil, err
	}
	if seq > c.head.Seq {
		for n := len(a.order) - 1; n >= 0; n-- {
			if k := a.order[n].item; a.convs[k] == c && out[k].Seq == seq {
				t.entry = stored(&batch[k], &out[k])
				break
			}
		}
		return t, nil
	}
	if err := a.j.readEntry(&t.entry, t.epoch); err != nil {
		return nil, err
	}
	before := t.entry
	t.before = &before
	return t, nil
}

// readEntry reads an entry that must be there, from its epoch.
func (j *Journal) readEntry(e *im.Entry, epoch uint32) error {
	v, err := get(j.db, appendEntryKey(nil, epoch, e.Conversation, e.Seq))
	if err != nil {
		return j.explain(err)
	}
	if err := decodeRecord(v, e); err != nil {
		return j.badRecord(e.Conversation, e.Seq, err)
	}
	return nil
}

// apply does to the entries what the amendment at seq says.
func (t targets) apply(a *im.Amend, seq uint64) {
	if t.recalled != nil {
		e := &t.recalled.entry
		e.Body, e.Recalled, e.Amended = nil, true, seq
	}
	if t.changed != nil {
		t.changed.entry.Body, t.changed.entry.Amended = a.Body, seq
	}
}

// writeAmended adds the amended entries to the batch to write. Those stored in the
// same batch are there already: of two values of a key the later one counts.
func (a *appender) writeAmended() error {
	a.given = nil
	for _, t := range a.amended {
		e := &t.entry
		if e.Amended == 0 || t.before != nil && e.Amended == t.before.Amended {
			continue // no item that amends it was stored
		}
		if e.Recalled && (t.before == nil || !t.before.Recalled) {
			if err := a.noteRecalled(e, a.last.pos+1); err != nil {
				return err
			}
			if t.before != nil && len(t.before.Body) > 0 {
				if a.given == nil {
					a.given = goneBytes{}
				}
				a.given[t.epoch] += uint64(len(t.before.Body))
			}
		}
		if err := a.writeEntry(e, t.epoch); err != nil {
			return err
		}
	}
	return a.given.note(a.b)
}

// hold keeps what the batch amends as it is durable, for readers, until the batch
// is durable, too: the store shows it before. It is called before the store has it.
func (a *appender) hold() {
	if len(a.amended) == 0 {
		return
	}
	held := make(map[placeKey]*im.Entry, len(a.amended))
	for k, t := range a.amended {
		if t.before != nil {
			held[placeKey{k.c.name, k.seq}] = t.before
		}
	}
	a.j.held.Store(&held)
}

// durableForm puts what is durable in the place of an entry whose amendment is not
// yet. It is called after the entry was read from the store.
func (j *Journal) durableForm(e *im.Entry) {
	if e.Amended == 0 {
		return
	}
	if held := j.held.Load(); held != nil {
		if before := (*held)[placeKey{e.Conversation, e.Seq}]; before != nil {
			*e = *before
		}
	}
}
