package importing

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxObject is how long one line, or one object, of an export may be.
	maxObject = 16 << 20
	// maxNames is how many files a zip may have.
	maxNames = 5_000_000
	// maxRatio is how much longer than in the zip a file may be, once it is longer than
	// leastBomb: deflate itself makes no more than 1:1032, and text comes to 1:30.
	maxRatio  = 200
	leastBomb = 64 << 20
)

// archive is an export on disk: a zip, or a directory. Nothing outside of it is read:
// names that lead out are refused, and in a directory links are followed by nobody
// (os.Root).
type archive struct {
	zip   *zip.ReadCloser
	files map[string]*zip.File
	root  *os.Root
	names []string // of a zip, sorted
}

// openArchive opens a zip or a directory.
func openArchive(name string, problem func(where, what string)) (*archive, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		return &archive{root: root}, nil
	}
	z, err := zip.OpenReader(name)
	if errors.Is(err, zip.ErrInsecurePath) { // they are left out below
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: neither a directory nor a zip: %w", name, err)
	}
	a := &archive{zip: z, files: map[string]*zip.File{}}
	if len(z.File) > maxNames {
		return nil, errors.Join(fmt.Errorf("%s: the zip has %d files; at most %d are read", name, len(z.File), maxNames), z.Close())
	}
	for _, f := range z.File {
		clean := path.Clean(f.Name)
		switch {
		case strings.HasSuffix(f.Name, "/"):
		case !filepath.IsLocal(f.Name) || strings.Contains(f.Name, `\`):
			problem(fmt.Sprintf("%.200q", f.Name), "the name leads out of the zip; it was left out")
		case !f.Mode().IsRegular():
			problem(f.Name, "it is a link, and no file; it was left out")
		case f.UncompressedSize64 > leastBomb && f.UncompressedSize64/max(f.CompressedSize64, 1) > maxRatio:
			problem(f.Name, "it would become more than 200 times as long as it is; it was left out")
		case a.files[clean] != nil:
			problem(f.Name, "the zip has two files of this name; the second was left out")
		default:
			a.files[clean] = f
			a.names = append(a.names, clean)
		}
	}
	slices.Sort(a.names)
	return a, nil
}

func (a *archive) Close() error {
	if a.zip != nil {
		return a.zip.Close()
	}
	return a.root.Close()
}

// has tells whether there is a file.
func (a *archive) has(name string) bool {
	if a.zip != nil {
		return a.files[path.Clean(name)] != nil
	}
	if !filepath.IsLocal(name) {
		return false
	}
	st, err := a.root.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// open opens a file. Of one in a zip no more is read than the zip says that there is.
func (a *archive) open(name string) (io.ReadCloser, int64, error) {
	if a.zip != nil {
		f := a.files[path.Clean(name)]
		if f == nil {
			return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		r, err := f.Open()
		return r, int64(f.UncompressedSize64), err
	}
	if !filepath.IsLocal(name) {
		return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := a.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// damaged tells whether an error says that something in a zip is not what it was, or is
// packed as nobody here can unpack it. To read it again would not help.
func damaged(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt)
}

// list returns the names below a directory, sorted; "" is all of it.
func (a *archive) list(dir string) ([]string, error) {
	if a.zip != nil {
		first, _ := slices.BinarySearch(a.names, dir)
		var all []string
		for _, n := range a.names[first:] {
			if dir == "" || strings.HasPrefix(n, dir+"/") {
				all = append(all, n)
			} else if n > dir+"0" { // "0" comes behind "/"
				break
			}
		}
		return all, nil
	}
	var all []string
	at := dir
	if at == "" {
		at = "."
	}
	err := fs.WalkDir(a.root.FS(), at, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.Type().IsRegular() {
			all = append(all, name)
		}
		return err
	})
	slices.Sort(all)
	return all, err
}
