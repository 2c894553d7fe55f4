package filter

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// reading is the memory of one look at a text.
type reading struct {
	rules *automaton
	found broken
	buf   []byte
	box   entrycodec.Box
	entry wire.Entry
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// maxBuf is how much memory a reading keeps for the next one.
const maxBuf = 64 << 10

func (s *Service) reading() *reading {
	rules := s.rules.Load()
	if rules == nil {
		return nil
	}
	r := readings.Get().(*reading)
	r.rules = rules
	return r
}

// end gives the memory back, and returns what was found.
func (r *reading) end() (found []*im.FilterRule) {
	found, r.found.rules, r.rules = r.found.rules, nil, nil
	if len(found) > 0 {
		clear(r.found.had)
	}
	if cap(r.buf) > maxBuf {
		r.buf = nil
	}
	readings.Put(r)
	return found
}

// BreaksText tells which rules a text breaks.
func (s *Service) BreaksText(text string) []*im.FilterRule {
	r := s.reading()
	if r == nil {
		return nil
	}
	r.text(text)
	return r.end()
}

// tailBytes is how much of what a streamed message said before is looked at again with each
// part: more than the longest pattern. All of it is looked at when it is stored.
const tailBytes = 2 << 10

// BreaksGrown is BreaksText for a text that grew, from a place on, together with what it said
// just before. more: it is to grow yet, so a word or a host that stands at its end is not
// looked at, which may be the beginning of another one.
func (s *Service) BreaksGrown(text string, from int, more bool) []*im.FilterRule {
	r := s.reading()
	if r == nil {
		return nil
	}
	start := max(from-tailBytes, 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	c := cut{more: more}
	// What stands before the beginning tells whether a word begins there.
	for start > 0 && c.first == 0 {
		before, n := utf8.DecodeLastRuneInString(text[:start])
		start -= n
		if unicode.IsSpace(before) {
			break
		}
		c.first = len(normal(nil, text[start:start+n]))
	}
	r.cut(text[start:], c)
	return r.end()
}

// BreaksStream tells which rules break what a streamed message of a type says by now. more: it
// is to grow yet, as in BreaksGrown.
func (s *Service) BreaksStream(contentType, said, fallback string, more bool) []*im.FilterRule {
	r := s.reading()
	if r == nil {
		return nil
	}
	r.said(contentType, said, fallback, cut{more: more})
	return r.end()
}

// Breaks tells which rules break what a body of a message, a reply or an edit says: its
// content, fallback, and the names of its files. A body that cannot be read breaks none: it is
// refused elsewhere.
func (s *Service) Breaks(body []byte) []*im.FilterRule {
	r := s.reading()
	if r == nil {
		return nil
	}
	w := &r.entry
	if r.box.Decode(body, w) == nil {
		r.content(w.Content)
		for _, m := range w.Media {
			r.text(m.GetName())
		}
	}
	if r.box.Odd() {
		w.Reset()
	} else {
		w.Content, w.ReplyTo, w.Mentions = nil, 0, w.Mentions[:0]
	}
	r.box.Clear()
	return r.end()
}

func (r *reading) text(s string) { r.cut(s, cut{}) }

func (r *reading) cut(s string, c cut) {
	if s != "" {
		r.buf = normal(r.buf[:0], s)
		r.rules.find(r.buf, c, &r.found)
	}
}

func (r *reading) content(c *wire.Content) {
	said := c.GetText()
	if data := c.GetData(); len(data) > 0 {
		said = string(data)
	}
	r.said(c.GetType(), said, c.GetFallback(), cut{})
}

// said looks at what a content says. What clients write as JSON (the text of a card, the
// options of a poll, a forwarded history) is looked at as the texts that it has, too, so that
// no way of writing a letter there hides it.
func (r *reading) said(contentType, said, fallback string, end cut) {
	r.text(fallback)
	if !utf8.ValidString(said) {
		return
	}
	r.cut(said, end)
	if contentType != "text" {
		r.json(strings.TrimLeft(said, " \t\r\n\ufeff"), end)
	}
}

// json looks at the strings of a JSON text. Readers differ (in what they take, in which of two
// fields of one name they see): so it is also looked at whole, with the letters in it that are
// written otherwise as they are read.
func (r *reading) json(said string, end cut) {
	if said == "" || said[0] != '{' && said[0] != '[' && said[0] != '"' {
		return
	}
	var v any
	d := json.NewDecoder(strings.NewReader(said))
	d.UseNumber()
	if d.Decode(&v) == nil {
		r.values(v)
	}
	if strings.Contains(said, `\`) {
		r.cut(unescaped(said), end)
	}
}

// unescaped is a JSON text with the characters in the place of what is written for them.
func unescaped(s string) string {
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			return string(append(b, s...))
		}
		b, s = append(b, s[:i]...), s[i+1:]
		units := make([]uint16, 0, 2) // a character beyond U+FFFF is written as two
		for s != "" && s[0] == 'u' {
			n, err := strconv.ParseUint(s[1:min(5, len(s))], 16, 16)
			if len(s) < 5 || err != nil {
				break
			}
			units = append(units, uint16(n))
			if s = s[5:]; !utf16.IsSurrogate(rune(n)) || len(units) == 2 || !strings.HasPrefix(s, `\u`) {
				break
			}
			s = s[1:]
		}
		switch {
		case len(units) > 0:
			b = append(b, string(utf16.Decode(units))...)
		case strings.IndexByte("nrtbf", s[0]) >= 0:
			b, s = append(b, ' '), s[1:]
		default:
			b, s = append(b, s[0]), s[1:]
		}
	}
}

// values looks at the strings of what was read, in an order that is the same each time.
func (r *reading) values(v any) {
	switch v := v.(type) {
	case string:
		r.text(v)
	case []any:
		for _, x := range v {
			r.values(x)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			r.values(v[name])
		}
	}
}
