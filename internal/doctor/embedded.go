package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/platform"
)

// slowSync is from when on people notice a disk: a message waits for one.
const slowSync = 20 * time.Millisecond

// syncTries is how often a disk is measured.
const syncTries = 20

// elsewhere is the likely reason why there is nothing.
const elsewhere = "a new server makes it; of one that has run, this is not where its data are: name that place with --data (a package has /var/lib/skein), or the settings with --config"

// missing is how bad it is that there is no store yet. A node that keeps nothing there needs none.
func (e *examiner) missing() Level {
	if e.c.Is(config.RoleLogic) && e.c.Store == "" {
		return Warn
	}
	return OK
}

// directory looks at the data directory, which every node has.
func (e *examiner) directory() {
	dir := e.c.Data
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.judge(e.missing(), "data directory", dir+" is not there", elsewhere)
		return
	case err != nil:
		e.add(Bad, "data directory", err.Error(), "the server's user must be able to read and write it")
		return
	case !st.IsDir():
		e.add(Bad, "data directory", dir+" is no directory", "name another one with --data")
		return
	}
	level, advice := OK, ""
	mode, known := platform.Mode(st)
	switch {
	case !known: // a list of rights, which only its owner can judge
		e.add(OK, "data directory", dir, "")
		return
	case mode&0o022 != 0:
		level, advice = Bad, "others can replace what is in it: chmod 700 "+dir
	case mode&0o055 != 0:
		level, advice = Warn, "others can list it: chmod 700 "+dir
	}
	e.add(level, "data directory", fmt.Sprintf("%s, mode %04o", dir, mode), advice)
	for _, name := range []string{e.o.AdminKey, "directory.db"} {
		e.private(name)
	}
}

// private looks at a file that is the server's only.
func (e *examiner) private(name string) {
	if name == "" {
		return
	}
	path := filepath.Join(e.c.Data, name)
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		e.add(Warn, name, err.Error(), "run it as the server's user")
		return
	}
	mode, known := platform.Mode(st)
	if known && mode&0o077 != 0 {
		e.add(Bad, name, fmt.Sprintf("others can read it (mode %04o)", mode), "chmod 600 "+path+", and replace what it holds if somebody may have read it")
		return
	}
	if name == e.o.AdminKey && e.o.CheckKey != nil {
		raw, err := os.ReadFile(path)
		if err == nil {
			err = e.o.CheckKey(path, raw)
		}
		if err != nil {
			e.add(Bad, name, err.Error(), "a server refuses to start with it")
			return
		}
	}
	if known {
		e.add(OK, name, fmt.Sprintf("mode %04o", mode), "")
	}
}

// embedded looks at what the embedded store stands on.
func (e *examiner) embedded() {
	e.r.Store = "embedded, in " + e.c.Data
	dir, err := there(e.c.Data)
	if err != nil {
		e.add(Bad, "disk", err.Error(), "")
		return
	}
	if _, err := os.Stat(filepath.Join(e.c.Data, e.o.Migrated)); err == nil && e.o.Migrated != "" {
		e.add(Bad, "store", "it was copied to a database (the file "+e.o.Migrated+" tells where)", "start the server with --store; a server on the embedded store refuses to start")
	}
	kept := true // what is written is there after a loss of power, as far as can be known
	if fs, err := fileSystem(dir); err == nil {
		level, advice := OK, ""
		switch {
		case slices.Contains([]string{"tmpfs", "ramfs"}, fs.kind):
			level, advice, kept = Bad, "it is in memory: everything is gone after a restart of the machine", false
		case slices.Contains([]string{"nfs", "smb", "cifs", "fuse", "9p"}, fs.kind):
			level, advice = Warn, "locks and fsync depend on the other side: use a local disk"
		case fs.kind == "overlayfs":
			level, advice = Warn, "this is a container's own layer, gone with the container: mount a volume"
		}
		e.add(level, "file system", fs.kind, advice)
		e.space(fs.free, fs.total)
	}
	took, err := syncTime(dir, e.o.Now)
	switch {
	case err != nil:
		e.add(Bad, "fsync", err.Error(), "the server's user must be able to write there")
		e.r.Durability = ""
		return
	case took > slowSync:
		e.add(Warn, "fsync", fmt.Sprintf("%v (median of %d)", took.Round(time.Microsecond), syncTries), "every message waits for one: use a faster disk, an SSD")
	default:
		e.add(OK, "fsync", fmt.Sprintf("%v (median of %d)", took.Round(time.Microsecond), syncTries), "")
	}
	e.r.Durability = "D1 (power loss): the store is synced before a message is acknowledged, and fsync works"
	if !kept {
		e.r.Durability = "D0 (a process's crash): the file system is in memory"
	}
}

// there is the directory itself, or the nearest one above it that exists.
func there(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir, err
		}
		dir = filepath.Dir(dir)
	}
}

// space judges what is free against where the journal stops.
func (e *examiner) space(free, total uint64) {
	least := uint64(max(e.c.Journal.MinFree, 0))
	found := fmt.Sprintf("%s of %s free, messages are rejected below %s", size(free), size(total), size(least))
	level := OK
	switch {
	case free <= least:
		level = Bad
	case free < 10*least || free < total/20:
		level = Warn
	}
	e.judge(level, "disk space", found, "make room, or move the data directory to a larger disk")
}

// syncTime writes a little and syncs it, as a commit does.
func syncTime(dir string, now func() time.Time) (_ time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".skein-doctor-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 4096)
	var times []time.Duration
	for range syncTries {
		begun := now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, now().Sub(begun))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
