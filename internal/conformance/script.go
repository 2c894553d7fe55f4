package conformance

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed transcripts/*.txt
var transcripts embed.FS

// line is one step of a transcript.
type line struct {
	number int
	// only: the variants it is for, all when empty.
	only []string
	text string
	// sections of SPEC that it is about: of the last comment that names some.
	sections string
}

func (l line) in(v variant) bool {
	for _, tag := range l.only {
		if tag != v.transport && tag != v.codec {
			return false
		}
	}
	return true
}

// part is a case of a script: one that is told of by itself.
type part struct {
	name  string // "": the script has one case
	lines []line
}

// script is a parsed transcript.
type script struct {
	name string
	// about is its first comment: what it proves.
	about string
	needs Needs
	// setup is done before the first part, and again after one that failed.
	setup []line
	parts []part
}

// lines are all lines of the script.
func (s script) lines() []line {
	all := slices.Clone(s.setup)
	for _, p := range s.parts {
		all = append(all, p.lines...)
	}
	return all
}

func readScripts() ([]script, error) {
	files, err := fs.Glob(transcripts, "transcripts/*.txt")
	if err != nil {
		return nil, err
	}
	var all []script
	for _, f := range files {
		raw, err := transcripts.ReadFile(f)
		if err != nil {
			return nil, err
		}
		s, err := parseScript(strings.TrimSuffix(path.Base(f), ".txt"), string(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, s)
	}
	return all, nil
}

var (
	tags = regexp.MustCompile(`^\[(ws|tcp|json|pb)\]\s*`)
	spec = regexp.MustCompile(`SPEC (\d+(?:\.\d+)?(?:, \d+(?:\.\d+)?)*)`)
)

func parseScript(name, raw string) (script, error) {
	s := script{name: name}
	lines := &s.setup
	sections := ""
	number := 0
	for text := range strings.Lines(raw) {
		number++
		text = strings.TrimRight(text, "\r\n\t ")
		bare := strings.TrimSpace(text)
		if cited := spec.FindStringSubmatch(bare); cited != nil && (strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, "==")) {
			sections = cited[1]
		}
		switch {
		case bare == "":
			continue
		case strings.HasPrefix(bare, "#"):
			if s.about == "" {
				s.about = strings.TrimSpace(strings.TrimPrefix(bare, "#"))
			}
			continue
		case strings.HasPrefix(bare, "== "):
			title, _, _ := strings.Cut(bare[3:], " (SPEC")
			s.parts = append(s.parts, part{name: title})
			lines = &s.parts[len(s.parts)-1].lines
			continue
		case text != bare: // it begins with white space
			if len(*lines) == 0 {
				return s, fmt.Errorf("line %d continues nothing", number)
			}
			(*lines)[len(*lines)-1].text += bare
			continue
		}
		l := line{number: number, sections: sections}
		for m := tags.FindStringSubmatch(text); m != nil; m = tags.FindStringSubmatch(text) {
			l.only = append(l.only, m[1])
			text = text[len(m[0]):]
		}
		if l.text = text; strings.HasPrefix(text, "needs ") {
			if len(s.lines()) > 0 {
				return s, fmt.Errorf("line %d: needs must come first", number)
			}
			var err error
			if s.needs, err = ParseNeeds(strings.Fields(text)[1:]); err != nil {
				return s, fmt.Errorf("line %d: %w", number, err)
			}
			continue
		}
		*lines = append(*lines, l)
	}
	if s.parts == nil {
		s.parts, s.setup = []part{{lines: s.setup}}, nil
	}
	return s, s.addNeeds()
}

// addNeeds adds what follows from the lines.
func (s *script) addNeeds() error {
	has := func(prefix, within string) bool {
		return slices.ContainsFunc(s.lines(), func(l line) bool {
			return strings.HasPrefix(l.text, prefix) && strings.Contains(l.text, within)
		})
	}
	add := func(name, value string) {
		if s.needs == nil {
			s.needs = Needs{}
		}
		if _, ok := s.needs[name]; !ok {
			s.needs[name] = value
		}
	}
	if has("drain", "") {
		add(NeedStop, "yes")
	}
	if has("user ", "lifetime=") || has("http admin ", "") {
		add(NeedAdmin, "yes")
	}
	add(NeedPolicy, "class")
	return nil
}

// refusable counts what a server bounds by address: calls with a password or a
// refresh token.
func (s script) refusable() int {
	n := 1
	for _, l := range s.lines() {
		if !strings.Contains(l.text, "< ") && strings.Contains(l.text, "AccountService/") {
			n++
		}
	}
	return n
}

// hearsPings: the case waits for Pings of the server's.
func (s script) hearsPings() bool {
	return slices.ContainsFunc(s.lines(), func(l line) bool {
		m := heardFrame.FindStringSubmatch(l.text)
		return m != nil && m[1] == "ping"
	})
}

// users are all users of the script and, if it says so, for how long each one's
// token is good, as written.
func (s script) users() (names []string, lifetimes map[string]string) {
	lifetimes = map[string]string{}
	for _, l := range s.lines() {
		rest, ok := strings.CutPrefix(l.text, "user ")
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		lifetime := ""
		for _, w := range words {
			if t, ok := strings.CutPrefix(w, "lifetime="); ok {
				lifetime = t
			}
		}
		for _, w := range words {
			if !strings.Contains(w, "=") {
				names = append(names, w)
				lifetimes[w] = lifetime
			}
		}
	}
	slices.Sort(names)
	return names, lifetimes
}

// spoken is the client frames a transcript says and the server frames and
// codes it expects, for the test that none is forgotten.
func (s script) spoken() (said, heard, codes []string) {
	for _, l := range s.lines() {
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
	saidFrame  = regexp.MustCompile(`^[A-Z]\w*> (?:repeat \S+ )?\{"(\w+)":`)
	heardFrame = regexp.MustCompile(`^[A-Z]\w*<[~<]? \{"(\w+)":`)
	code       = regexp.MustCompile(`"code":"~?(\w+)"`)
)
