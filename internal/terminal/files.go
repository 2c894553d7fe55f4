package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// safeName makes a name for a file of one that somebody else gave: no path, nothing that
// is not seen, nothing that a system has a meaning for. kind tells what it is, for one that
// has no name.
func safeName(name, kind string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return -1
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, " .") // Windows drops what ends in one; a point before it hides it
	ext := filepath.Ext(name)
	if len(ext) > 20 {
		ext = ""
	}
	stem := strings.TrimRight(name[:len(name)-len(ext)], " .")
	for len(stem)+len(ext) > 150 {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	if stem == "" {
		stem = "file"
		if all, err := mime.ExtensionsByType(kind); ext == "" && err == nil && len(all) > 0 {
			ext = all[0]
		}
	}
	if first, _, _ := strings.Cut(stem, "."); slices.Contains(reserved, strings.ToUpper(strings.TrimSpace(first))) {
		stem = "_" + stem
	}
	return stem + ext
}

// reserved are names that Windows takes for devices, whatever follows the first point.
var reserved = []string{
	"CON", "PRN", "AUX", "NUL", "COM1", "COM2", "COM3", "COM4", "COM5", "COM6", "COM7", "COM8", "COM9", "LPT1", "LPT2", "LPT3", "LPT4", "LPT5", "LPT6", "LPT7", "LPT8", "LPT9",
}

// firstPath is the first word of words, or what stands in quotes, with ~ for the home
// directory; rest is what follows.
func firstPath(text string) (path, rest string) {
	text = strings.TrimSpace(text)
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		path, rest, _ = strings.Cut(text[1:], text[:1])
	} else {
		path, rest, _ = strings.Cut(text, " ")
	}
	return home(path), strings.TrimSpace(rest)
}

// home puts the home directory in the place of a ~ at the beginning.
func home(path string) string {
	rest, is := strings.CutPrefix(path, "~")
	if !is || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return dir + rest
}

// mostFiles is how many names of a directory are looked at for a completion.
const mostFiles = 2000

// completePath finds what a path may become: the text that a line has after its command.
func completePath(text string) (offers []offer) {
	quote, path := "", text
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		quote, path = text[:1], text[1:]
	}
	if quote != "" && strings.Contains(path, quote) || quote == "" && strings.Contains(path, " ") {
		return nil // the path is there, what follows is something else
	}
	dir, begin := filepath.Split(path)
	at := home(dir)
	if at == "" {
		at = "."
	}
	open, err := os.Open(at)
	if err != nil {
		return nil
	}
	defer open.Close()
	entries, _ := open.ReadDir(mostFiles) // what can be read is offered
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, begin) || begin == "" && strings.HasPrefix(name, ".") || clean(name) != name {
			continue
		}
		word := dir + name
		if e.IsDir() {
			word += string(filepath.Separator)
		}
		if quote != "" || strings.ContainsAny(word, " ") {
			q := quote
			if q == "" {
				q = `"`
			}
			word = q + word
			if !e.IsDir() {
				word += q
			}
		}
		offers = append(offers, offer{word, ""})
	}
	return offers
}

// newFile makes a file that was not there. dir may be a directory, where it gets the name.
// Nothing is written over unless replace says so; then it takes its place when it is whole.
func newFile(path, name string, replace bool) (*target, error) {
	if path == "" {
		path = "."
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() || os.IsPathSeparator(path[len(path)-1]) {
		path = filepath.Join(path, name)
		info, err = os.Stat(path)
	}
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case err == nil && !replace, err != nil && !errors.Is(err, fs.ErrNotExist):
		if err == nil {
			err = fmt.Errorf("%s is there already: give another path, or --replace before it", path)
		}
		return nil, err
	}
	if replace {
		f, err := os.CreateTemp(filepath.Dir(path), ".skein-*")
		return &target{f, path, true}, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s is there already: give another path, or --replace before it", path)
	}
	return &target{f, path, false}, err
}

// target is a file that is being written.
type target struct {
	*os.File
	path  string
	moves bool // it has another name until it is whole
}

// end closes the file, and takes it away again if something went wrong.
func (t *target) end(err error) error {
	if e := t.Close(); err == nil {
		err = e
	}
	if err == nil && t.moves {
		err = os.Rename(t.Name(), t.path)
	}
	if err != nil {
		_ = os.Remove(t.Name())
	}
	return err
}
