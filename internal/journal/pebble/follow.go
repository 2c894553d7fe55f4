package pebble

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// Who keeps up reads what the tail remembers (tail.go). Who is further behind reads
// windows: there is no key by position, which would cost every message some bytes,
// but the epochs are in the order of positions, so a window looks at the epoch it
// begins in, and keeps the lowest positions behind its beginning that fit. So what
// is in an epoch is looked at once for each window of that epoch: at most
// epochBytes/windowBytes times, and once more.

const (
	// windowBytes is how much a window holds, if there is as much; while it is read it
	// takes twice that.
	windowBytes = 16 << 20
	// windowsMost is how many followers may be far behind at different places before
	// they disturb each other.
	windowsMost = 4
)

var _ im.Follow = (*Journal)(nil)

// window is what was stored between two positions, by position.
type window struct {
	after, upTo uint64
	entries     []im.Entry
	bytes       int  // of the entries
	keep, most  int  // beyond most bytes some are dropped, keep of them stay
	dropped     bool // some were, so there is more behind upTo
}

// windows are those that somebody reads, the newest last. mu is held while one is
// read from the store, and taken before Journal.mu.
type windows struct {
	mu   sync.Mutex
	list []*window
}

// After returns what was stored after a place.
func (j *Journal) After(ctx context.Context, after im.Place, limit int) (f im.Followed, err error) {
	if err := ctx.Err(); err != nil {
		return f, err
	}
	if err := j.enter(); err != nil {
		return f, err
	}
	defer j.life.RUnlock()
	var touches []touch
	var all bool
	j.mu.Lock()
	f.Now = im.Place{Era: j.eras.list[len(j.eras.list)-1].ID, Pos: j.durable}
	held := after == im.Place{} || j.eras.list.Hold(after, j.durable)
	j.tail.begin(j.durable)
	from := j.tail.from
	if held && after.Pos >= from && limit > 0 {
		touches, all = j.tail.after(after.Pos, limit)
	}
	j.mu.Unlock()
	upTo := f.Now.Pos
	switch {
	case !held:
		err = im.ErrOtherHistory
	case limit <= 0:
		upTo = after.Pos
	case after.Pos >= from:
		var n int
		if f.Entries, n, err = j.readTouches(ctx, touches, limit); n < len(touches) || !all {
			upTo = touches[max(n, 1)-1].pos
		}
	default:
		f.Entries, upTo, err = j.readWindow(ctx, after.Pos, from, limit)
	}
	if err != nil {
		return im.Followed{}, err
	}
	f.UpTo = f.Now.At(upTo)
	return f, nil
}

// Agree returns how far this history and that of a place are the same.
func (j *Journal) Agree(_ context.Context, p im.Place) (im.Place, error) {
	if err := j.enter(); err != nil {
		return im.Place{}, err
	}
	defer j.life.RUnlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.eras.list.Agree(p, j.durable), nil
}

// readTouches reads the entries of touches, until there are limit or readBytes of
// them, but whole positions, and tells of how many. What it reads is durable.
func (j *Journal) readTouches(ctx context.Context, touches []touch, limit int) (entries []im.Entry, n int, err error) {
	if len(touches) == 0 {
		return nil, 0, nil
	}
	o := spaceBounds(spaceEntry)
	it, err := j.db.NewIterWithContext(ctx, &o)
	if err != nil {
		return nil, 0, j.explain(err)
	}
	defer it.Close()
	size := 0
	for n < len(touches) && (len(entries) < limit && size < readBytes || touches[n].pos == touches[n-1].pos) {
		if entries, err = j.readTouch(it, touches[n], entries, &size); err != nil {
			return nil, 0, j.damage(touches[n].c, err)
		}
		n++
	}
	return entries, n, nil
}

// readTouch appends the entries of one touch, all of them.
func (j *Journal) readTouch(it *pebble.Iterator, t touch, entries []im.Entry, size *int) ([]im.Entry, error) {
	key := appendEntryKey(nil, t.epoch, t.c, t.first)
	prefix := key[:len(key)-8]
	ok := it.SeekGE(key)
	for seq := t.first; seq <= t.last; seq++ {
		if !ok || !isSeqOf(it.Key(), prefix) || seqOfKey(it.Key()) != seq {
			return nil, cmp.Or(j.explain(it.Error()), j.badRecord(t.c, seq, errors.New("it is not there")))
		}
		e := im.Entry{Conversation: t.c, Seq: seq}
		if err := j.entryAt(it, &e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
		*size += entrySize(&e)
		ok = it.Next()
	}
	return entries, nil
}

// entryAt reads the entry that the iterator is at, as it is durable; Conversation
// and Seq are set already.
func (j *Journal) entryAt(it *pebble.Iterator, e *im.Entry) error {
	v, err := it.ValueAndErr()
	if err != nil {
		return j.explain(err)
	}
	if err := decodeRecord(v, e); err != nil {
		return j.badRecord(e.Conversation, e.Seq, err)
	}
	j.durableForm(e)
	return nil
}

// readWindow tells a part of the window that a position is in, of which the journal
// is durable up to until.
func (j *Journal) readWindow(ctx context.Context, after, until uint64, limit int) (entries []im.Entry, upTo uint64, err error) {
	ws := &j.windows
	ws.mu.Lock()
	defer ws.mu.Unlock()
	at := slices.IndexFunc(ws.list, func(w *window) bool { return w.after <= after && after < w.upTo })
	if at < 0 {
		w := &window{after: after, upTo: until, keep: j.o.windowBytes, most: 2 * j.o.windowBytes}
		if err := j.fillWindow(ctx, w); err != nil {
			return nil, 0, err
		}
		if len(ws.list) == windowsMost {
			ws.list = slices.Delete(ws.list, 0, 1)
		}
		ws.list = append(ws.list, w)
		at = len(ws.list) - 1
	}
	w := ws.list[at]
	rest := w.entries[sort.Search(len(w.entries), func(i int) bool { return w.entries[i].Pos > after }):]
	n, size := 0, 0
	for n < len(rest) && (n < limit && size < readBytes || rest[n].Pos == rest[n-1].Pos) {
		size += entrySize(&rest[n])
		n++
	}
	if n == len(rest) {
		ws.list = slices.Delete(ws.list, at, at+1) // nobody else is there as a rule
		return rest, w.upTo, nil
	}
	return rest[:n:n], rest[n-1].Pos, nil
}

// fillWindow reads the lowest positions behind the window's beginning that fit.
func (j *Journal) fillWindow(ctx context.Context, w *window) error {
	o := spaceBounds(spaceEntry)
	it, err := j.db.NewIterWithContext(ctx, &o)
	if err != nil {
		return j.explain(err)
	}
	defer it.Close()
	ok, err := j.seekEpoch(it, w.after)
	for ok && err == nil {
		epoch := bytes.Clone(it.Key()[:epochPrefix])
		if err = j.fillFromEpoch(ctx, it, epoch, w); err != nil || w.dropped {
			break // what comes in later epochs is behind what was dropped
		}
		// The next newer epoch lies before this one.
		if ok = it.SeekLT(epoch); ok {
			ok = it.SeekGE(bytes.Clone(it.Key()[:epochPrefix]))
		}
	}
	w.sort()
	return cmp.Or(err, j.explain(it.Error()))
}

// epochPrefix is how long the keys' beginning is that entries of an epoch share.
const epochPrefix = 1 + 4

// seekEpoch goes to the first key of the oldest epoch that may have entries behind
// a position. Epochs are in the order of positions, so any entry of one tells that
// those before have lower ones.
func (j *Journal) seekEpoch(it *pebble.Iterator, after uint64) (ok bool, err error) {
	if !it.First() {
		return false, nil
	}
	newest := epochOfKey(it.Key())
	beyond := sort.Search(int(newest)+1, func(n int) bool {
		if err != nil || !it.SeekGE(appendEpochPrefix(nil, uint32(n))) {
			return false
		}
		var e im.Entry
		v, verr := it.ValueAndErr()
		if verr == nil {
			_, _, verr = decodeHead(v, &e)
		}
		if verr != nil {
			err = j.unreadable(it.Key(), verr)
		}
		return e.Pos > after
	})
	if err != nil {
		return false, err
	}
	if beyond == 0 || !it.SeekGE(appendEpochPrefix(nil, uint32(beyond-1))) {
		// There is none before: the oldest.
		ok = it.Last() && it.SeekGE(bytes.Clone(it.Key()[:epochPrefix]))
		return ok, nil
	}
	return true, nil
}

func appendEpochPrefix(dst []byte, epoch uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, spaceEntry), ^epoch)
}

func epochOfKey(key []byte) uint32 { return ^binary.BigEndian.Uint32(key[1:]) }

// fillFromEpoch takes what the window may have of the epoch the iterator is at the
// beginning of.
func (j *Journal) fillFromEpoch(ctx context.Context, it *pebble.Iterator, epoch []byte, w *window) error {
	var c im.ConversationID
	n := 0
	for ok := true; ok && bytes.HasPrefix(it.Key(), epoch); ok = it.Next() {
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key := it.Key()
		if len(key) < epochPrefix+1+8 {
			return j.unreadable(key, errRecord)
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return j.unreadable(key, err)
		}
		if name := key[epochPrefix+1 : len(key)-8]; string(name) != string(c) {
			c = im.ConversationID(name)
		}
		e := im.Entry{Conversation: c, Seq: seqOfKey(key)}
		sender, body, err := decodeHead(v, &e)
		if err != nil {
			return j.unreadable(key, err)
		}
		if e.Pos <= w.after || e.Pos > w.upTo {
			continue
		}
		keep(&e, sender, body)
		j.durableForm(&e)
		w.add(e)
	}
	return nil
}

// unreadable is the error of an entry that cannot be read, noted as damage.
func (j *Journal) unreadable(key []byte, err error) error {
	if len(key) < epochPrefix+1+8 {
		return &CorruptionError{Dir: j.dir, File: "the key of an entry", Cause: err}
	}
	c := im.ConversationID(key[epochPrefix+1 : len(key)-8])
	if errors.Is(err, errRecord) {
		return j.damage(c, j.badRecord(c, seqOfKey(key), err))
	}
	return j.damage(c, j.explain(err))
}

func (w *window) add(e im.Entry) {
	w.entries = append(w.entries, e)
	if w.bytes += entrySize(&e); w.bytes > w.most {
		w.drop()
	}
}

// drop keeps the lowest positions, one at least.
func (w *window) drop() {
	w.sort()
	n, kept := 0, 0
	for n < len(w.entries) && (kept < w.keep || w.entries[n].Pos == w.entries[n-1].Pos) {
		kept += entrySize(&w.entries[n])
		n++
	}
	if n == len(w.entries) { // one position is as much as that
		w.most *= 2
		return
	}
	clear(w.entries[n:])
	w.entries, w.bytes, w.dropped, w.upTo = w.entries[:n], kept, true, w.entries[n-1].Pos
}

func (w *window) sort() {
	slices.SortFunc(w.entries, func(a, b im.Entry) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Seq, b.Seq))
	})
}
