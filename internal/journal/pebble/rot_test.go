package pebble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestBitRot flips bits in each kind of file at rest: the damage is named, or
// the content is whole; it is never silently shorter or other.
func TestBitRot(t *testing.T) {
	for _, ext := range []string{".sst", ".log", "MANIFEST"} {
		t.Run(ext, func(t *testing.T) { testBitRot(t, ext) })
	}
}

func testBitRot(t *testing.T, ext string) {
	fs := vfs.NewMem()
	const total = 300
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, total/2)
	if err := j.db.Flush(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, "grp:g", total/2+1, total)
	closeJournal(t, j)
	copyFS(t, fs, testDir, "/good")
	var path string
	if ext == "MANIFEST" {
		names, err := fs.List(fs.PathJoin(testDir, "db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if strings.HasPrefix(n, "MANIFEST") && n > fs.PathBase(path) {
				path = fs.PathJoin(testDir, "db", n)
			}
		}
	} else {
		path = newest(t, fs, ext)
	}
	good := readFile(t, fs, path)
	rng := rand.New(rand.NewPCG(3, 4))
	detected := 0
	for range 60 {
		if err := fs.RemoveAll(testDir); err != nil {
			t.Fatal(err)
		}
		copyFS(t, fs, "/good", testDir)
		bad := append([]byte(nil), good...)
		at := rng.IntN(len(bad))
		bad[at] ^= 1 << rng.IntN(8)
		writeFile(t, fs, path, bad)
		if err := readEverything(fs, total); err != nil {
			detected++
			if !strings.Contains(err.Error(), fs.PathBase(path)) && !strings.Contains(err.Error(), testDir) {
				t.Errorf("byte %d: the error names no file: %v", at, err)
			}
		}
	}
	if detected == 0 {
		t.Error("no damage was noticed")
	}
	t.Logf("%d of 60 flipped bits lay where they mattered", detected)
}

// readEverything returns an error when the journal does not open or read; a
// journal that reads must be whole.
func readEverything(fs vfs.FS, total int) error {
	j, err := Open(testDir, Options{FS: fs, Logger: quiet()})
	if err != nil {
		return err
	}
	defer j.Close()
	entries := 0
	for {
		page, err := j.Read(context.Background(), "grp:g", uint64(entries)+1, false, 1000)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			entries++
			if string(e.Body) != fmt.Sprint("message ", entries) {
				panic(fmt.Sprintf("entry %d reads %q", entries, e.Body))
			}
		}
	}
	if entries != total {
		panic(fmt.Sprintf("%d of %d entries and no error", entries, total))
	}
	return nil
}
