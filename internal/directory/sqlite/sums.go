package sqlite

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Every page of the database ends with a checksum, in the eight bytes that SQLite
// leaves free for such things (the header says so: "reserved space"). It is
// written with the page and checked whenever the page is read from the file, so a
// bit that flips on the disk is an error where it is read, instead of other data.
// SQLite has the same as an extension in C (cksumvfs); this is its idea in Go, with
// a checksum that also knows which page it is of. The log (-wal) has checksums of
// its own, which SQLite checks when it comes back.
//
// SQLite reads and writes through a VFS: a table of functions. This one is the
// system's with two functions put in front: one that reads and one that writes
// the database's file. A third one says that no part of a page can be read alone: SQLite
// would read the pages of long values so, where no checksum could be checked.
const (
	sumsVFS  = "skein-sums"
	pageSize = 4096
	sumSize  = 8
)

// sum is a page's checksum. Pages of zeros have none that is zero.
func sum(page []byte, number int64) uint64 {
	var n [sumSize]byte
	binary.LittleEndian.PutUint64(n[:], uint64(number))
	return xxhash.Sum64(page[:pageSize-sumSize]) ^ xxhash.Sum64(n[:])
}

func intact(page []byte, number int64) bool {
	return binary.LittleEndian.Uint64(page[pageSize-sumSize:]) == sum(page, number)
}

// The types of the functions in SQLite's tables.
type (
	openFunc func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	fileFunc func(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32
	sizeFunc func(tls *libc.TLS, file, size uintptr) int32
	saysFunc func(tls *libc.TLS, file uintptr) int32
)

// subpageRead is SQLITE_IOCAP_SUBPAGE_READ.
const subpageRead = 0x00008000

// at is what lies at an address that SQLite gave: memory of its own, which the
// runtime neither moves nor frees.
func at[T any](address uintptr) *T {
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
}

// function is the function that a table holds.
func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

// put writes a function of this program into a table. It must not be a closure:
// the runtime does not see the table.
func put[F any](into *uintptr, f F) { *(*F)(unsafe.Pointer(into)) = f }

// What is registered once is SQLite's and the process's: it stays.
type sumsTable struct {
	vfs  sqlite3.Tsqlite3_vfs
	base uintptr
}

type sumsMethods struct {
	methods sqlite3.Tsqlite3_io_methods
	base    uintptr
}

// RegisterSums makes the VFS skein-sums known to SQLite in this process, for who opens the
// file of a directory without this package.
func RegisterSums() error { return registerSums() }

// registerSums makes the VFS known to SQLite.
var registerSums = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	base := sqlite3.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString(sumsVFS)
	memory := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sumsTable{})))
	if base == 0 || err != nil || memory == 0 {
		return fmt.Errorf("directory: SQLite has no file system to put checksums on: %w", err)
	}
	t := at[sumsTable](memory)
	t.vfs, t.base = *at[sqlite3.Tsqlite3_vfs](base), base
	t.vfs.FpNext, t.vfs.FzName = 0, name
	put(&t.vfs.FxOpen, openFunc(openSummed))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, memory, 0); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("directory: register the checksums with SQLite: code %d", rc)
	}
	return nil
})

// methodTables are SQLite's tables with checksums, by the table they are made of:
// there is one per kind of file system.
var methodTables sync.Map

func openSummed(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	base := at[sqlite3.Tsqlite3_vfs](at[sumsTable](vfs).base)
	rc := function[openFunc](base.FxOpen)(tls, vfs, name, file, flags, outFlags)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_MAIN_DB == 0 {
		return rc
	}
	methods := &at[sqlite3.Tsqlite3_file](file).FpMethods
	table, ok := methodTables.Load(*methods)
	if !ok {
		memory := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sumsMethods{})))
		if memory == 0 {
			return sqlite3.SQLITE_NOMEM // the file is open: SQLite closes it
		}
		t := at[sumsMethods](memory)
		t.methods, t.base = *at[sqlite3.Tsqlite3_io_methods](*methods), *methods
		t.methods.FiVersion = min(t.methods.FiVersion, 2) // later ones read through a mapping, past the checksums
		put(&t.methods.FxRead, fileFunc(readSummed))
		put(&t.methods.FxWrite, fileFunc(writeSummed))
		put(&t.methods.FxDeviceCharacteristics, saysFunc(saysSummed))
		table, _ = methodTables.LoadOrStore(*methods, memory)
	}
	*methods = table.(uintptr)
	return rc
}

func baseOf(file uintptr) *sqlite3.Tsqlite3_io_methods {
	return at[sqlite3.Tsqlite3_io_methods](at[sumsMethods](at[sqlite3.Tsqlite3_file](file).FpMethods).base)
}

func readSummed(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	base := baseOf(file)
	rc := function[fileFunc](base.FxRead)(tls, file, buffer, n, offset)
	switch {
	case n < 512: // a part of the header: the page is read whole before it counts
		return rc
	case n != pageSize || offset%pageSize != 0:
		return sqlite3.SQLITE_IOERR_DATA // a damaged header names another size
	case rc == sqlite3.SQLITE_IOERR_SHORT_READ:
		var size int64
		if function[sizeFunc](base.FxFileSize)(tls, file, uintptr(unsafe.Pointer(&size))) == sqlite3.SQLITE_OK && size <= offset {
			return rc // it was never written
		}
		return sqlite3.SQLITE_IOERR_DATA
	case rc == sqlite3.SQLITE_OK && !intact(at[[pageSize]byte](buffer)[:], offset/pageSize+1):
		return sqlite3.SQLITE_IOERR_DATA
	}
	return rc
}

func saysSummed(tls *libc.TLS, file uintptr) int32 {
	return function[saysFunc](baseOf(file).FxDeviceCharacteristics)(tls, file) &^ subpageRead
}

func writeSummed(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	if n == pageSize && offset%pageSize == 0 {
		page := at[[pageSize]byte](buffer)[:]
		if offset == 0 && page[headerReserved] != sumSize {
			return sqlite3.SQLITE_READONLY // there is no room for a checksum
		}
		binary.LittleEndian.PutUint64(page[pageSize-sumSize:], sum(page, offset/pageSize+1))
	}
	return function[fileFunc](baseOf(file).FxWrite)(tls, file, buffer, n, offset)
}
