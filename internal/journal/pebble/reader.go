package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// Reader reads a whole journal that no server uses, and changes nothing in it.
type Reader struct {
	j    *Journal // only what reading needs
	last sighting
	gen  uint64 // of the witness: every opening of the journal adds to it
}

// OpenReader opens the journal in dir for reading. A journal of an older schema
// is refused: only a server converts it.
func OpenReader(dir string, o Options) (*Reader, error) {
	j := &Journal{dir: dir, o: o.withDefaults()}
	j.fs, j.pacer = j.o.FS, &pacer{}
	r := &Reader{j: j}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open() error {
	j := r.j
	path := j.fs.PathJoin(j.dir, "db")
	desc, err := pebble.Peek(path, j.fs)
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, explain(j.dir, err))
	}
	if !desc.Exists {
		return fmt.Errorf("journal %s: %w", j.dir, fs.ErrNotExist)
	}
	if err := j.takeLock(path); err != nil {
		return err
	}
	f, err := j.examine()
	switch {
	case err != nil:
		return err
	case f.loss != nil:
		return f.loss
	}
	if j.db, err = j.openReadOnly(path); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, explain(j.dir, err))
	}
	m, some, err := loadMeta(j.db)
	switch {
	case err != nil:
		return fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
	case !some:
		return fmt.Errorf("journal %s: it was never used", j.dir)
	case m.schema < schemaVersion:
		return fmt.Errorf("journal %s: schema %d is older than this version's (%d): start this version's server on it once, which converts it", j.dir, m.schema, schemaVersion)
	}
	j.timeline, j.secret, j.durable, r.last, r.gen = m.timeline, m.secret, m.last.pos, m.last, f.gen
	if j.eras, err = loadEras(j.db); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
	}
	return nil
}

// Close ends reading.
func (r *Reader) Close() error {
	var errs []error
	if r.j.db != nil {
		errs = append(errs, r.j.db.Close())
	}
	if r.j.lock != nil {
		errs = append(errs, r.j.lock.Close())
	}
	return errors.Join(errs...)
}

// Timeline names the history.
func (r *Reader) Timeline() string { return r.j.timeline }

// Eras are those of the history.
func (r *Reader) Eras() im.Eras { return r.j.eras.list }

// Position is that of the last append.
func (r *Reader) Position() uint64 { return r.last.pos }

// State tells whether a server used the journal in between: then it differs.
func (r *Reader) State() string { return fmt.Sprintf("%d-%016x-%d", r.last.pos, r.last.chain, r.gen) }

// Count returns how many entries there are. It looks at every conversation once.
func (r *Reader) Count(ctx context.Context) (n uint64, err error) {
	entries, segments := spaceBounds(spaceEntry), spaceBounds(spaceSegment)
	it, err := r.j.db.NewIterWithContext(ctx, &segments)
	if err != nil {
		return 0, r.j.explain(err)
	}
	defer it.Close()
	last, err := r.j.db.NewIterWithContext(ctx, &entries)
	if err != nil {
		return 0, r.j.explain(err)
	}
	defer last.Close()
	// From the end: a conversation's last segment comes first, and is all that is
	// needed, as the entries are numbered.
	var name []byte
	for ok := it.Last(); ok; ok = it.Prev() {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		key := it.Key()
		if len(key) < 10 {
			return 0, r.damaged("a segment")
		}
		if bytes.Equal(key[2:len(key)-8], name) {
			continue
		}
		name = append(name[:0], key[2:len(key)-8]...)
		v, err := it.ValueAndErr()
		if err != nil {
			return 0, r.j.explain(err)
		}
		if len(v) != 4 {
			return 0, r.damaged("a segment")
		}
		end := appendEntryKey(nil, binary.BigEndian.Uint32(v), im.ConversationID(name), maxSeq)
		if !last.SeekLT(end) || !isSeqOf(last.Key(), end[:len(end)-8]) {
			return 0, errors.Join(r.j.explain(last.Error()), r.damaged("the last segment of "+string(name)))
		}
		n += seqOfKey(last.Key())
	}
	return n, r.j.explain(it.Error())
}

func (r *Reader) damaged(what string) error {
	return &CorruptionError{Dir: r.j.dir, File: what, Cause: errRecord}
}

// Entries calls each for every entry behind the place `after`, nil for all, with
// its hash, and the place, which is valid until each returns. A conversation's
// entries come in their order, those of a time lie about together.
func (r *Reader) Entries(ctx context.Context, after []byte, each func(place []byte, e *im.Entry, hash uint64) error) error {
	entries := spaceBounds(spaceEntry)
	it, err := r.j.db.NewIterWithContext(ctx, &entries)
	if err != nil {
		return r.j.explain(err)
	}
	defer it.Close()
	ids, err := r.newIDReader(ctx)
	if err != nil {
		return err
	}
	defer ids.it.Close()
	// Older epochs come later in the order of the keys, and first here.
	const epochKey = 1 + 4
	var ok bool
	if after == nil {
		ok = it.Last()
	} else {
		ok = it.SeekGE(append(bytes.Clone(after), 0))
	}
	epoch := bytes.Clone(after[:min(len(after), epochKey)])
	if after == nil && ok {
		epoch = bytes.Clone(it.Key()[:epochKey])
		ok = it.SeekGE(epoch)
	}
	for len(epoch) == epochKey {
		for ; ok && bytes.HasPrefix(it.Key(), epoch); ok = it.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.entry(it, ids, each); err != nil {
				return err
			}
		}
		if err := it.Error(); err != nil {
			return r.j.explain(err)
		}
		if !it.SeekLT(epoch) {
			break
		}
		copy(epoch, it.Key())
		ok = it.SeekGE(epoch)
	}
	return r.j.explain(it.Error())
}

// entry reads the entry the iterator is at, with what is kept of its id.
func (r *Reader) entry(it *pebble.Iterator, ids *idReader, each func([]byte, *im.Entry, uint64) error) error {
	key := it.Key()
	if len(key) < 1+4+1+8 {
		return r.damaged("the key of an entry")
	}
	e := im.Entry{Conversation: im.ConversationID(key[6 : len(key)-8]), Seq: seqOfKey(key)}
	v, err := it.ValueAndErr()
	if err != nil {
		return r.j.explain(err)
	}
	if err := decodeRecord(v, &e); err != nil {
		return r.j.badRecord(e.Conversation, e.Seq, err)
	}
	seq, hash, err := ids.get(&e)
	if err != nil {
		return r.j.explain(err)
	}
	if seq != e.Seq {
		return r.j.badRecord(e.Conversation, e.Seq, errors.New("its id is not kept with it"))
	}
	return each(key, &e, hash)
}

// idReader looks ids up that are there.
type idReader struct {
	it     *pebble.Iterator
	secret *secret
	key    []byte
}

func (r *Reader) newIDReader(ctx context.Context) (*idReader, error) {
	it, err := r.j.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: []byte{spaceID}, UpperBound: []byte{spaceStrayID + 1}, UseL6Filters: true})
	return &idReader{it: it, secret: &r.j.secret}, r.j.explain(err)
}

// get returns the seq and the hash kept with the id of e, 0 if it is not there.
func (r *idReader) get(e *im.Entry) (seq, hash uint64, err error) {
	r.key = r.secret.idKey(r.key[:0], 0, e)
	for _, r.key[0] = range []byte{spaceID, spaceStrayID} {
		if !r.it.SeekPrefixGE(r.key) || !bytes.Equal(r.it.Key(), r.key) {
			if err := r.it.Error(); err != nil {
				return 0, 0, err
			}
			continue
		}
		v, err := r.it.ValueAndErr()
		if err != nil {
			return 0, 0, err
		}
		seq, hash, ok := decodeIDValue(v)
		if !ok {
			return 0, 0, errRecord
		}
		return seq, hash, nil
	}
	return 0, 0, nil
}

// Marks calls each for every mark behind the place `after`, nil for all.
func (r *Reader) Marks(ctx context.Context, after []byte, each func(place []byte, m *im.Mark) error) error {
	bounds := spaceBounds(spaceMark)
	if after != nil {
		bounds.LowerBound = append(bytes.Clone(after), 0)
	}
	it, err := r.j.db.NewIterWithContext(ctx, &bounds)
	if err != nil {
		return r.j.explain(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := it.Key()
		if len(key) < 2 || len(key) < 2+int(key[1]) {
			return r.damaged("the key of a mark")
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return r.j.explain(err)
		}
		u := im.UserID(key[2 : 2+int(key[1])])
		m := im.Mark{User: u, Conversation: markConversation(key, u)}
		if !decodeMarkValue(v, &m) {
			return r.damaged("the mark of " + string(u) + " in " + string(m.Conversation))
		}
		if err := each(key, &m); err != nil {
			return err
		}
	}
	return r.j.explain(it.Error())
}
