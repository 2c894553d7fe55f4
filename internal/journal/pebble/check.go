package pebble

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/errors/oserror"
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
	// damaged: its files are not those it was left with. unreadable: it cannot be
	// opened, or not be read as far as a start reads it.
	loss       error
	damaged    bool
	unreadable bool
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
			return f, j.cannotRead(&f, nil, err)
		}
	}
	if desc.FormatMajorVersion > pebble.FormatNewest {
		return f, &VersionError{Dir: j.dir, Have: uint64(desc.FormatMajorVersion), Known: uint64(pebble.FormatNewest)}
	}
	f.exists = desc.Exists
	unlike := j.examineFiles(&f, desc)
	switch {
	case desc.Exists:
		err = j.examineStore(&f, db)
	case j.leftWithout(db):
		err = &FilesError{Dir: j.dir, File: "db/marker.manifest.*", Reason: "it is missing, and tells which of the files beside it the store consists of"}
	case f.witness && f.seen.pos > 0:
		f.loss = &ShortenedError{Dir: j.dir, Witnessed: f.seen.pos, Reason: "the store is gone"}
	}
	if err != nil {
		return f, j.cannotRead(&f, unlike, err)
	}
	// What the store says of itself explains more than what is wrong with a file,
	// unless it says that all is well.
	if unlike != nil {
		f.damaged = true
		if f.loss == nil {
			f.loss = unlike
		}
	}
	return f, nil
}

// leftWithout tells whether there are files that hold messages where no store is. A
// first start makes none before the store exists.
func (j *Journal) leftWithout(db string) bool {
	names, err := j.fs.List(db)
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return isTable(name) || isLog(name) })
}

// cannotRead notes a store that cannot be opened or read, as a loss that can be
// accepted. An error that is not about what is stored is returned: of the disk, of
// rights, of a newer version, or of a store that is not the journal's. unlike is what is
// known to be wrong with a file, which says more.
func (j *Journal) cannotRead(f *found, unlike, err error) error {
	var newer *VersionError
	var errno syscall.Errno
	switch {
	case errors.As(err, &newer), errors.Is(err, errReadOnly):
		return j.named(err)
	case errors.As(err, &errno) && !oserror.IsNotExist(err):
		return j.named(err)
	case errors.Is(err, errForeign) && unlike == nil:
		return j.named(err)
	}
	e := &FilesError{Dir: j.dir, File: "db", Reason: plain(err), Unreadable: true, cause: err}
	var files *FilesError
	var corrupt *CorruptionError
	switch {
	case errors.As(unlike, &files), errors.As(err, &files):
		e.File, e.Reason = files.File, files.Reason
	case errors.As(j.explain(err), &corrupt):
		e.File, e.Reason = corrupt.File, plain(corrupt.Cause)
	}
	f.loss, f.unreadable, f.meta, f.pair = e, true, meta{}, im.Pair{}
	return nil
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
		return err
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
		if err == nil {
			_, err = highestID(store, space)
		}
	}
	if err == nil {
		_, err = get(store, []byte(keyFloor))
	}
	if err == nil {
		_, err = loadEras(store)
	}
	if err == nil {
		_, err = loadGone(store)
	}
	if err != nil {
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
	return j.aside(func(src, dst string) error {
		if isTable(j.fs.PathBase(src)) {
			return j.fs.Link(src, dst)
		}
		return vfs.Copy(j.fs, src, dst)
	})
}

// moveAside moves a store away that cannot be read, when that is accepted: an empty one
// is begun in its place. Cut short it is accepted again: what tells which files belong to
// the store goes first, so that no part of it is opened for the whole.
func (j *Journal) moveAside() (to string, err error) {
	if to, err = j.aside(j.fs.Rename); err != nil {
		return to, err
	}
	return to, syncDir(j.fs, j.fs.PathJoin(j.dir, "db"))
}

// aside does something with every file of the store but its lock, to a directory that it
// makes.
func (j *Journal) aside(keep func(src, dst string) error) (to string, err error) {
	from := j.fs.PathJoin(j.dir, "db")
	names, err := j.fs.List(from)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(names, func(a, b string) int { return marked(a) - marked(b) })
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
		if name == "LOCK" || j.fs.PathBase(name) != name {
			continue
		}
		if err := keep(j.fs.PathJoin(from, name), j.fs.PathJoin(to, name)); err != nil {
			return to, err
		}
	}
	return to, syncDir(j.fs, to)
}

// marked orders markers before other files.
func marked(name string) int {
	if strings.HasPrefix(name, "marker.") {
		return 0
	}
	return 1
}
