package filter

import (
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// reading is the memory of one look at a text.
type reading struct {
	rules *automaton
	found []*im.FilterRule
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
	found, r.found, r.rules = r.found, nil, nil
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

func (r *reading) text(s string) {
	if s != "" && len(r.found) < MaxFound {
		r.buf = normal(r.buf[:0], s)
		r.found = r.rules.find(r.buf, r.found)
	}
}

// content looks at what a content says. What clients write as JSON (the text of a card, the
// options of a poll, a forwarded history) is looked at as the texts that it has, too, so that
// no way of writing a letter there hides it.
func (r *reading) content(c *wire.Content) {
	if c == nil {
		return
	}
	said := c.GetText()
	if data := c.GetData(); len(data) > 0 && utf8.Valid(data) {
		said = string(data)
	}
	r.text(said)
	r.text(c.GetFallback())
	if c.GetType() == "text" || said == "" || said[0] != '{' && said[0] != '[' {
		return
	}
	var v any
	if json.Unmarshal([]byte(said), &v) == nil {
		r.values(v)
	}
}

func (r *reading) values(v any) {
	switch v := v.(type) {
	case string:
		r.text(v)
	case []any:
		for _, x := range v {
			r.values(x)
		}
	case map[string]any:
		for _, x := range v {
			r.values(x)
		}
	}
}
