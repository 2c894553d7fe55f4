package pebble

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// What a start looks at before it opens anything for writing. Pebble deletes,
// renames and rewrites files as soon as it is opened, so all that can be refused
// is refused here, by reading only (readOnlyFS): a refused start, and a hundred of
// them, leave every file as it was.

// found is what reading a directory told.
type found struct {
	exists  bool // there is a store
	gen     uint64
	seen    sighting // the witness's, if witnessed
	witness bool
	meta    meta // zero when there is no store, or one of an older schema
	pair    im.Pair
	ledger  *ledger
	// loss is why the journal may have lost something, nil if nothing tells so.
	// damaged: its files are not those it was left with.
	loss    error
	damaged bool
}

// examine reads what is in the journal's directory and compares it with witness
// and ledger. An error cannot be accepted; a loss (found.loss) can.
func (j *Journal) examine() (f found, err error) {
	fs := readOnlyFS{j.fs}
	if f.gen, f.seen, f.witness, err = readWitness(fs, fs.PathJoin(j.dir, witnessName)); err != nil {
		return f, fmt.Errorf("journal %s: %w", j.dir, err)
	}
	db := fs.PathJoin(j.dir, "db")
	desc := &pebble.DBDesc{}
	if _, err := fs.Stat(db); err == nil {
		if desc, err = pebble.Peek(db, fs); err != nil {
			return f, j.named(err)
		}
	}
	f.exists = desc.Exists
	unlike := j.examineFiles(&f, desc)
	switch {
	case !desc.Exists && f.witness && f.seen.pos > 0:
		f.loss = &ShortenedError{Dir: j.dir, Witnessed: f.seen.pos, Reason: "the store is gone"}
	case desc.Exists:
		err = j.examineStore(&f, db)
	}
	if unlike == nil {
		return f, err
	}
	// What the store says of itself explains more than what is wrong with a file,
	// unless it says that all is well or cannot be read.
	if err == nil {
		f.damaged = true
		if f.loss == nil {
			f.loss = unlike
		}
		return f, nil
	}
	var newer *VersionError
	if errors.As(err, &newer) {
		return f, err
	}
	return f, unlike
}

// examineFiles compares the files with the ledger.
func (j *Journal) examineFiles(f *found, desc *pebble.DBDesc) (err error) {
	if f.ledger, err = readLedger(readOnlyFS{j.fs}, j.dir); err == nil && f.ledger == nil {
		f.ledger, err = adoptLedger(j.fs, j.dir, desc)
		return err
	}
	if err == nil {
		err = f.ledger.check(desc)
	}
	return err
}

// examineStore opens the store for reading only.
func (j *Journal) examineStore(f *found, db string) error {
	store, err := j.openReadOnly(db)
	if err != nil {
		var known *FilesError
		if err = explain(j.dir, err); errors.As(err, &known) {
			return err
		}
		return &FilesError{Dir: j.dir, File: "db", Reason: err.Error()}
	}
	err = j.examineMeta(f, store)
	return errors.Join(err, store.Close())
}

// openReadOnly opens the store for reading. What its log holds stays in memory,
// and counts as cache: engineOptions leaves room beside it.
func (j *Journal) openReadOnly(db string) (*pebble.DB, error) {
	options := j.engineOptions()
	options.FS, options.Lock, options.ReadOnly = readOnlyFS{j.fs}, nil, true
	// The reads tell of damage; Pebble's own listener would end the process.
	options.EventListener = &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}}
	return pebble.Open(db, options)
}

// examineMeta reads all that a start reads, so that nothing is left which could
// refuse it later.
func (j *Journal) examineMeta(f *found, store *pebble.DB) error {
	m, some, err := loadMeta(store)
	switch {
	case err != nil:
		return j.named(err)
	case !some && f.witness && f.seen.pos > 0:
		f.loss = &ShortenedError{Dir: j.dir, Witnessed: f.seen.pos, Reason: "the store is empty"}
	case !some: // the first start was cut short
	case m.schema > schemaVersion:
		return &VersionError{Dir: j.dir, Have: m.schema, Known: schemaVersion}
	case m.schema < describedSince: // compared when it is converted
	default:
		f.meta = m
		if f.loss, err = j.compare(store, m, f); err != nil {
			return err
		}
	}
	f.pair, err = loadPair(store)
	f.pair.Position = f.meta.last.pos
	for _, space := range []byte{spaceID, spaceStrayID, midIDs, midStrayIDs} { // or as an older schema has them
		_, err2 := highestID(store, space)
		err = errors.Join(err, err2)
	}
	_, err2 := get(store, []byte(keyFloor))
	_, err3 := loadEras(store)
	_, err4 := loadGone(store)
	if err = errors.Join(err, err3, err4); err != nil {
		return j.named(err)
	}
	if err = errors.Join(err, err2); err != nil {
		return j.named(err)
	}
	return nil
}

// compare holds what the journal came back with against the witness.
func (j *Journal) compare(store pebble.Reader, m meta, f *found) (loss, err error) {
	reason := ""
	switch {
	case !f.witness && m.last.pos == 0: // new, or the first start was cut short
	case !f.witness:
		reason = "its witness file is missing or unreadable, as after restoring a backup"
	case m.last.pos < f.seen.pos:
		reason = "its end is missing"
	default:
		chain, known, err := chainAt(store, f.seen.pos)
		if err != nil {
			return nil, j.named(err)
		}
		if known && chain != f.seen.chain {
			reason = "it holds other entries than were stored, as after restoring an older copy"
		}
	}
	if reason == "" {
		return nil, nil
	}
	return &ShortenedError{Dir: j.dir, Have: m.last.pos, Witnessed: f.seen.pos, Reason: reason}, nil
}

// setAside keeps what Pebble would delete for want of knowing it, when a loss is
// accepted: tables by a second name, which costs nothing, all else as a copy.
func (j *Journal) setAside() (to string, err error) {
	from := j.fs.PathJoin(j.dir, "db")
	names, err := j.fs.List(from)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		to = j.fs.PathJoin(j.dir, fmt.Sprintf("lost-%d", n))
		if _, err := j.fs.Stat(to); err != nil {
			break
		}
	}
	if err := makeDir(j.fs, to); err != nil {
		return to, err
	}
	for _, name := range names {
		src, dst := j.fs.PathJoin(from, name), j.fs.PathJoin(to, name)
		switch {
		case name == "LOCK":
		case j.fs.PathBase(name) != name:
		case isTable(name):
			err = errors.Join(err, j.fs.Link(src, dst))
		default:
			err = errors.Join(err, vfs.Copy(j.fs, src, dst))
		}
	}
	return to, errors.Join(err, syncDir(j.fs, to))
}
