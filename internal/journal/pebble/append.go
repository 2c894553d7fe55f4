package pebble

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// maxBatch is how many items a batch may have. It is far below what the caches
// hold, so that a conversation or sender of a batch cannot fall out of them
// while the batch is in work and be taken for another.
const maxBatch = 1 << 14

// maxRetained is the greatest buffer kept from one batch to the next.
const maxRetained = 8 << 20

// appender is what the committer keeps between batches. Guarded by appendMu.
type appender struct {
	j       *Journal
	last    sighting     // position and chain of the last append
	epoch   epoch        // where the next entries go
	highest im.MessageID // no stored id is greater
	floor   im.MessageID // the bound of senders that have none stored
	number  uint64       // of the batch in work, for telling its notes from older ones
	senders cache.Cache[im.UserID, *sender]
	b       *pebble.Batch
	chain   xxhash.Digest
	key     []byte
	value   []byte

	// Of the batch in work.
	now      time.Time
	at       []time.Time     // of each item, if the caller says; otherwise nil, and all are of now
	convs    []*conversation // of each item
	order    []place         // of its stored items
	touched  []*conversation // those with a stored item, once each
	writers  []*sender       // those with a stored item, once each
	amended  map[entryKey]*amended
	given    goneBytes      // what its recalls give up
	sent     map[sentID]int // ids stored in this batch → item
	sentAll  bool           // sent is kept: an id had to be looked up
	heads    *headReader
	ids      *pebble.Iterator
	segments *segmentReader // as of before the batch
	trimming *trimming      // the step of a trim that is looking for labels
}

// sender is what is known of the ids of one sender.
type sender struct {
	name im.UserID
	// bound: no stored id of this sender is greater. limit is the bound that is
	// stored, never less.
	bound, limit im.MessageID
	// next is the bound with the batch in work, when batch is its number: then the
	// batch stores an id of this sender.
	batch uint64
	next  im.MessageID
}

// place says where the key of an item comes among others: by rank, then by what
// rank is the beginning of.
type place struct {
	rank  uint64
	names uint64 // of its id
	item  int
}

func (a *appender) init(j *Journal, m meta) {
	a.j, a.last, a.epoch = j, m.last, m.epoch
	a.senders = cache.New[im.UserID, *sender](cachedSenders)
	a.sent, a.amended = make(map[sentID]int), make(map[entryKey]*amended)
	a.b = j.db.NewBatch(pebble.WithInitialSizeBytes(256<<10), pebble.WithMaxRetainedSizeBytes(maxRetained))
}

func (a *appender) close() { _ = a.b.Close() }

// Append stores a batch as im.Journal says. One batch is in work at a time;
// others wait.
//
// message path 4/6: dedup, number, store
func (j *Journal) Append(ctx context.Context, batch []im.Append, out []im.Appended) error {
	return j.append(ctx, batch, nil, out)
}

// AppendDated is Append with times of the caller's, as im.Dates says.
func (j *Journal) AppendDated(ctx context.Context, batch []im.Append, at []time.Time, out []im.Appended) error {
	if len(at) != len(batch) {
		return fmt.Errorf("%w: len(at) differs from len(batch)", im.ErrAppendInvalid)
	}
	return j.append(ctx, batch, at, out)
}

// append stores a batch, at the times that are given, if some are.
func (j *Journal) append(ctx context.Context, batch []im.Append, at []time.Time, out []im.Appended) error {
	if len(out) != len(batch) {
		return fmt.Errorf("%w: len(out) differs from len(batch)", im.ErrAppendInvalid)
	}
	if len(batch) > maxBatch {
		return fmt.Errorf("%w: more than %d items", im.ErrAppendInvalid, maxBatch)
	}
	size := 0
	for i := range batch {
		if err := checkItem(&batch[i]); err != nil {
			return fmt.Errorf("%w: item %d: %w", im.ErrAppendInvalid, i, err)
		}
		size += itemSize(&batch[i])
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	// From here on nothing is cancelled half-way.
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.failure(); err != nil {
		return err
	}
	if err := j.space.check(size); err != nil {
		j.metrics.refusedFull()
		return err
	}
	j.appender.at = at
	return j.appender.run(batch, out)
}

// checkItem refuses what no journal can keep.
func checkItem(it *im.Append) error {
	e := &it.Entry
	switch {
	case len(e.Conversation) == 0 || len(e.Conversation) > maxName:
		return errors.New("conversation is empty or too long")
	case len(e.Sender) > maxName:
		return errors.New("sender is too long")
	case e.ID.IsZero():
		return errors.New("no id")
	}
	return errors.Join(it.Amend.Check(e.Target), checkLabels(it.Labels), checkLabels(it.Unlabels), checkLabels(it.Own))
}

func itemSize(it *im.Append) int {
	e := &it.Entry
	return 2*(len(e.Conversation)+len(e.Sender)+len(e.ID)) + len(e.Body) + len(it.Amend.Body) + 64
}

// run decides, commits and publishes a batch.
func (a *appender) run(batch []im.Append, out []im.Appended) error {
	start := time.Now()
	defer a.reset()
	stored, err := a.prepare(batch, out)
	a.closeReaders()
	if err == nil && stored > 0 {
		err = a.store()
	}
	if err != nil {
		clear(out)
		return err
	}
	a.j.metrics.appended(out, stored, a.b.Len(), time.Since(start))
	return nil
}

// prepare fills out and the batch to write. It changes nothing that outlives the
// batch, so an error leaves everything as it was.
func (a *appender) prepare(batch []im.Append, out []im.Appended) (stored int, err error) {
	a.number++
	// Whole milliseconds, so that every answer about an entry has the same time.
	a.now = time.UnixMilli(a.j.o.Now().UnixMilli()).UTC()
	clear(out)
	if err := a.open(batch); err != nil {
		return 0, err
	}
	for i := range batch {
		if err := a.item(batch, out, i); err != nil {
			return 0, err
		}
		if out[i].Status == im.Stored {
			stored++
		}
	}
	if stored == 0 {
		return 0, nil
	}
	if err := a.writeEntries(batch, out); err != nil {
		return 0, err
	}
	if err := a.writeIDs(batch, out); err != nil {
		return 0, err
	}
	return stored, a.writeBounds()
}

// writeEntries adds the stored items to the batch to write, in the order of their
// keys: the store takes keys faster that lie close.
func (a *appender) writeEntries(batch []im.Append, out []im.Appended) error {
	for i := range a.order {
		p := &a.order[i]
		p.rank = rankOf(a.convs[p.item].name)
	}
	slices.SortFunc(a.order, func(x, y place) int {
		if x.rank != y.rank {
			return cmp.Compare(x.rank, y.rank)
		}
		return cmp.Or(cmp.Compare(a.convs[x.item].name, a.convs[y.item].name), cmp.Compare(x.item, y.item))
	})
	for _, p := range a.order {
		e := stored(&batch[p.item], &out[p.item])
		if err := a.writeEntry(&e, a.epoch.number); err != nil {
			return err
		}
	}
	if err := a.writeLabels(batch, out); err != nil {
		return err
	}
	return a.writeAmended()
}

// rankOf orders most names like their keys: by length, then by what follows the
// kind of conversation.
func rankOf(c im.ConversationID) uint64 {
	var b [8]byte
	b[0] = byte(len(c))
	copy(b[1:], c[min(len(c), len("dm:")):])
	return binary.BigEndian.Uint64(b[:])
}

// writeIDs adds their ids, in order too.
func (a *appender) writeIDs(batch []im.Append, out []im.Appended) error {
	for i := range a.order {
		p := &a.order[i]
		p.rank = binary.BigEndian.Uint64(batch[p.item].Entry.ID[:])
	}
	slices.SortFunc(a.order, func(x, y place) int { return cmp.Compare(x.rank, y.rank) })
	for _, p := range a.order {
		e := &batch[p.item].Entry
		a.key = appendIDKey(a.key[:0], idSpace(e.ID, a.now), e.ID, p.names)
		a.value = appendIDValue(a.value[:0], out[p.item].Seq, batch[p.item].Hash)
		if err := a.b.Set(a.key, a.value, nil); err != nil {
			return err
		}
	}
	return nil
}

// open finds the conversations of the batch and readies them for it.
func (a *appender) open(batch []im.Append) error {
	j := a.j
	missing := 0
	j.mu.Lock()
	for i := range batch {
		c, ok := j.heads.Get(batch[i].Entry.Conversation)
		if !ok {
			missing++
		}
		a.convs = append(a.convs, c)
	}
	j.mu.Unlock()
	if missing > 0 {
		if err := a.load(batch); err != nil {
			return err
		}
	}
	for _, c := range a.convs {
		if c.batch != a.number {
			c.batch, c.next, c.nextSegment, c.stored, c.blocked = a.number, c.head, c.segment, false, false
		}
	}
	return nil
}

// load reads the heads no cache holds.
func (a *appender) load(batch []im.Append) (err error) {
	if a.heads, err = a.j.newHeadReader(); err != nil {
		return err
	}
	loaded := make(map[im.ConversationID]*conversation)
	for i := range batch {
		if a.convs[i] != nil {
			continue
		}
		name := batch[i].Entry.Conversation
		c := loaded[name]
		if c == nil {
			c = &conversation{name: name}
			if err := a.heads.read(c); err != nil {
				return err
			}
			loaded[name] = c
		}
		a.convs[i] = c
	}
	a.j.mu.Lock()
	for name, c := range loaded {
		a.j.heads.Put(name, c)
	}
	a.j.mu.Unlock()
	return nil
}

// item decides one item: duplicate, refused or stored.
func (a *appender) item(batch []im.Append, out []im.Appended, i int) error {
	it, c := &batch[i], a.convs[i]
	s, err := a.sender(it.Entry.Sender)
	if err != nil {
		return err
	}
	found, err := a.duplicate(batch, out, i, s)
	if err != nil || found {
		return err
	}
	if c.blocked || it.IfRoster != c.next.Roster {
		c.blocked = true
		out[i].Status = im.RosterChanged
		return nil
	}
	targets, holds, err := a.targets(batch, out, i)
	if err != nil {
		return err
	}
	if !holds {
		c.blocked = true
		out[i].Status = im.TargetChanged
		return nil
	}
	c.next.Seq++
	if it.Entry.Countable() {
		c.next.Count++
	}
	if it.SetRoster != 0 {
		c.next.Roster = it.SetRoster
	}
	c.next.Time, c.next.Pos = a.timeOf(i), a.last.pos+1
	out[i] = im.Appended{
		Status: im.Stored, Seq: c.next.Seq, Count: c.next.Count, Time: c.next.Time, Pos: c.next.Pos, Roster: c.next.Roster,
	}
	targets.apply(&it.Amend, c.next.Seq)
	if !c.stored {
		c.stored = true
		a.touched = append(a.touched, c)
	}
	a.noteID(batch, s, i)
	a.order = append(a.order, place{item: i, names: a.j.secret.names(it.Entry.Conversation, it.Entry.Sender)})
	return a.beginSegment(c)
}

// timeOf is when an item is stored.
func (a *appender) timeOf(i int) time.Time {
	if a.at == nil {
		return a.now
	}
	return time.UnixMilli(a.at[i].UnixMilli()).UTC()
}

// beginSegment begins a segment with the entry that is about to be stored, if it
// is the conversation's first one of the epoch.
func (a *appender) beginSegment(c *conversation) error {
	if c.nextSegment.first != 0 && c.nextSegment.epoch == a.epoch.number {
		return nil
	}
	c.nextSegment = segment{first: c.next.Seq, epoch: a.epoch.number}
	a.key = appendSegmentKey(a.key[:0], c.name, c.next.Seq)
	a.value = binary.BigEndian.AppendUint32(a.value[:0], a.epoch.number)
	return a.b.Set(a.key, a.value, nil)
}

// noteID remembers the id of a stored item.
func (a *appender) noteID(batch []im.Append, s *sender, i int) {
	id := batch[i].Entry.ID
	switch {
	case s.batch != a.number:
		a.writers = append(a.writers, s)
		s.batch, s.next = a.number, id
		if compareIDs(s.bound, id) > 0 {
			s.next = s.bound
		}
	case compareIDs(id, s.next) > 0:
		s.next = id
	}
	if a.sentAll {
		a.sent[a.sentID(batch, i)] = i
	}
}

func (a *appender) writeEntry(e *im.Entry, epoch uint32) error {
	a.key = appendEntryKey(a.key[:0], epoch, e.Conversation, e.Seq)
	a.value = appendRecord(a.value[:0], e)
	return a.b.Set(a.key, a.value, nil)
}

// stored is the entry as it is kept.
func stored(it *im.Append, o *im.Appended) im.Entry {
	e := it.Entry
	e.Seq, e.Count, e.Stored, e.Pos, e.Roster, e.Amended, e.Recalled = o.Seq, o.Count, o.Time, o.Pos, o.Roster, 0, false
	return e
}

// store commits what prepare made, and publishes it.
func (a *appender) store() error {
	j := a.j
	next := sighting{pos: a.last.pos + 1, chain: a.link()}
	epoch := a.epoch.after(a.b.Len(), j.o.epochBytes)
	a.key = appendChainKey(a.key[:0], next.pos)
	a.value = appendPosition(a.value[:0], next)
	if err := a.b.Set(a.key, a.value, nil); err != nil {
		return err
	}
	a.value = appendEpoch(a.value, epoch)
	if err := a.b.Set([]byte(keyLast), a.value, nil); err != nil {
		return err
	}
	start := time.Now()
	a.hold()
	if err := j.commit(a.b); err != nil {
		return err // what is held stays so: the batch is never durable for this process
	}
	j.gone.add(a.given)
	j.metrics.committed(time.Since(start))
	a.last, a.epoch = next, epoch
	for _, s := range a.writers {
		s.bound = s.next
		if compareIDs(s.bound, s.limit) > 0 {
			s.limit = idAhead(s.bound)
		}
		a.highest = maxID(a.highest, s.bound)
	}
	j.mu.Lock()
	j.durable = next.pos
	for _, c := range a.touched {
		j.tail.add(touch{next.pos, c.name, c.head.Seq + 1, c.next.Seq, c.nextSegment.epoch})
		c.head, c.segment = c.next, c.nextSegment
		j.heads.Put(c.name, c)
	}
	j.mu.Unlock()
	j.held.Store(nil)
	j.witness.saw(next)
	return nil
}

// link returns the chain value with the batch to write.
func (a *appender) link() uint64 {
	var prev [8]byte
	binary.BigEndian.PutUint64(prev[:], a.last.chain)
	a.chain.Reset()
	_, _ = a.chain.Write(prev[:])
	_, _ = a.chain.Write(a.b.Repr()[batchrepr.HeaderLen:])
	return a.chain.Sum64()
}

func (a *appender) closeReaders() {
	if a.heads != nil {
		a.heads.close()
		a.heads = nil
	}
	if a.ids != nil {
		_ = a.ids.Close()
		a.ids = nil
	}
	if a.segments != nil {
		a.segments.close()
		a.segments = nil
	}
}

// reset forgets the batch and keeps its buffers.
func (a *appender) reset() {
	a.closeReaders()
	clear(a.convs)
	clear(a.touched)
	clear(a.writers)
	clear(a.sent)
	clear(a.amended)
	a.at = nil
	a.convs, a.order, a.touched, a.writers, a.sentAll = a.convs[:0], a.order[:0], a.touched[:0], a.writers[:0], false
	if cap(a.value) > maxRetained {
		a.value = nil
	}
	if a.j.failed.Load() == nil {
		a.b.Reset()
	}
}
