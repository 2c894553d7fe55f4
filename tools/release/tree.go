package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file or, if its name ends with a slash, a directory of something that is packed.
type entry struct {
	name     string
	from     string // a file, or
	data     []byte
	mode     fs.FileMode
	uid, gid int
	link     string // if not empty, a symbolic link to it
}

// open reads what an entry consists of.
func (e *entry) open() (io.ReadCloser, int64, error) {
	if e.from == "" {
		return io.NopCloser(bytes.NewReader(e.data)), int64(len(e.data)), nil
	}
	f, err := os.Open(e.from)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// sorted are entries in the order of their names, in which every directory is before what is in it.
func sorted(entries []entry) []entry {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries
}

// writeTar writes entries as a tar file. Nothing in it tells who made it, and when but at.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	tw := tar.NewWriter(w)
	for _, e := range sorted(entries) {
		r, size, err := e.open()
		if err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: size, ModTime: at, Uid: e.uid, Gid: e.gid}
		switch {
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		case e.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		err = tw.WriteHeader(h)
		if err == nil {
			_, err = io.Copy(tw, r)
		}
		r.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return tw.Close()
}

// writeTarGz is writeTar, compressed.
func writeTarGz(w io.Writer, at time.Time, entries []entry) error {
	gz, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(gz, at, entries); err != nil {
		return err
	}
	return gz.Close()
}

// writeZip writes entries as a zip file, for those who have no tar.
func writeZip(w io.Writer, at time.Time, entries []entry) error {
	zw := zip.NewWriter(w)
	for _, e := range sorted(entries) {
		r, _, err := e.open()
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		into, err := zw.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(into, r)
		}
		r.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return zw.Close()
}

// write makes a file of the release.
func (r *release) write(name string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(r.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = fill(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// folder are the files under a directory of the tree, with names under prefix; links become
// what they lead to.
func folder(dir, prefix string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(at)
		entries = append(entries, entry{name: path.Join(prefix, filepath.ToSlash(rel)), data: data, mode: 0o644})
		return err
	})
	return entries, err
}

// archives packs the programs of each platform with what has to go with them.
func (r *release) archives(context.Context) error {
	for _, p := range r.platforms {
		name := fmt.Sprintf("skein_%s_%s_%s", r.version, p.os, p.arch)
		entries := []entry{
			{name: name + "/NOTICE", from: filepath.Join(r.out, "NOTICE"), mode: 0o644},
			{name: name + "/skein.toml", from: filepath.Join(r.root, "docs/skein.toml"), mode: 0o644},
		}
		for _, doc := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
			entries = append(entries, entry{name: name + "/" + doc, from: filepath.Join(r.root, doc), mode: 0o644})
		}
		for _, c := range commands {
			program := p.program(c)
			entries = append(entries, entry{name: name + "/" + program, from: filepath.Join(r.bin(p), program), mode: 0o755})
		}
		if p.os == "linux" {
			for _, dir := range []string{"systemd", "fail2ban"} {
				files, err := folder(filepath.Join(r.root, "deploy", dir), name+"/"+dir)
				if err != nil {
					return err
				}
				entries = append(entries, files...)
			}
		}
		suffix, pack := ".tar.gz", writeTarGz
		if p.os == "windows" {
			suffix, pack = ".zip", writeZip
		}
		if err := r.write(name+suffix, func(w io.Writer) error { return pack(w, r.at, entries) }); err != nil {
			return err
		}
	}
	return nil
}

// checksums writes the SHA-256 of every file, as sha256sum --check reads it.
func (r *release) checksums(context.Context) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, f := range files {
		sum, err := sumOf(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, f.Name())
	}
	return r.write("SHA256SUMS", func(w io.Writer) error { _, err := w.Write(list.Bytes()); return err })
}

func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
