package transcripts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// line is one step of a transcript.
type line struct {
	number int
	// only: the variants it is for, all when empty.
	only []string
	text string
}

func (l line) in(v variant) bool {
	for _, tag := range l.only {
		if tag != v.transport && tag != v.codec {
			return false
		}
	}
	return true
}

// script is a parsed transcript.
type script struct {
	name  string
	lines []line
	// server is the argument of its `server` line, "" for the shared one.
	server string
}

func readScripts(pattern string) ([]script, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var all []script
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		s, err := parseScript(strings.TrimSuffix(filepath.Base(f), ".txt"), string(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, s)
	}
	return all, nil
}

var tags = regexp.MustCompile(`^\[(ws|tcp|json|pb)\]\s*`)

func parseScript(name, raw string) (script, error) {
	s := script{name: name}
	number := 0
	for text := range strings.Lines(raw) {
		number++
		text = strings.TrimRight(text, "\r\n\t ")
		bare := strings.TrimSpace(text)
		if bare == "" || strings.HasPrefix(bare, "#") {
			continue
		}
		if text != strings.TrimLeft(text, " \t") {
			if len(s.lines) == 0 {
				return s, fmt.Errorf("line %d continues nothing", number)
			}
			s.lines[len(s.lines)-1].text += bare
			continue
		}
		l := line{number: number}
		for {
			m := tags.FindStringSubmatch(text)
			if m == nil {
				break
			}
			l.only = append(l.only, m[1])
			text = text[len(m[0]):]
		}
		if l.text = text; strings.HasPrefix(text, "server ") {
			if len(s.lines) > 0 {
				return s, fmt.Errorf("line %d: server must come first", number)
			}
			s.server = strings.TrimPrefix(text, "server ")
			continue
		}
		s.lines = append(s.lines, l)
	}
	return s, nil
}

// spoken is the client frames a transcript says and the server frames and
// codes it expects, for the test that none is forgotten.
func (s script) spoken() (said, heard, codes []string) {
	for _, l := range s.lines {
		if m := saidFrame.FindStringSubmatch(l.text); m != nil {
			said = append(said, m[1])
		}
		if m := heardFrame.FindStringSubmatch(l.text); m != nil {
			heard = append(heard, m[1])
			for _, c := range code.FindAllStringSubmatch(l.text, -1) {
				codes = append(codes, c[1])
			}
		}
	}
	return said, heard, codes
}

var (
	saidFrame  = regexp.MustCompile(`^[A-Z]\w*> (?:repeat \d+ )?\{"(\w+)":`)
	heardFrame = regexp.MustCompile(`^[A-Z]\w*<[~<]? \{"(\w+)":`)
	code       = regexp.MustCompile(`"code":"(\w+)"`)
)
