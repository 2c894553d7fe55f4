package search

import (
	"encoding/json"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search/token"
	"github.com/skein-im/skein/wire"
)

// link is an address in a text, whatever its case.
var link = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])https?://[\p{L}\p{N}\[]`)

// TypeLink is asked for in the place of a type of content: texts that have a link.
const TypeLink = "link"

// field is a text of a message that is searched.
type field struct{ name, text string }

// MaxFields is how many texts of a message are searched, at most.
const MaxFields = 5

// said is what of a message is searched.
type said struct {
	kind   string // the type of its content
	link   bool
	fields []field
}

// saidBy reads a message; ok is false where nothing of it is found.
func saidBy(e *im.Entry) (s said, ok bool) {
	if e.Kind != im.EntryMessage || e.Recalled || len(e.Body) == 0 {
		return s, false
	}
	var w wire.Entry
	if err := entrycodec.Decode(e.Body, &w); err != nil || w.Content == nil || w.Deleted {
		return s, false
	}
	s.kind = w.Content.Type
	if s.kind == "text" {
		text := w.Content.GetText()
		s.link = link.MatchString(text)
		s.fields = append(s.fields, field{"text", text})
		return s, true
	}
	if w.Content.Fallback != "" {
		s.fields = append(s.fields, field{"fallback", w.Content.Fallback})
	}
	if text := w.Content.GetText(); strings.HasPrefix(text, "{") {
		var body struct {
			Caption, Name, Title, Question any
		}
		if json.Unmarshal([]byte(text), &body) == nil {
			for _, f := range []struct {
				name  string
				value any
			}{{"caption", body.Caption}, {"name", body.Name}, {"title", body.Title}, {"question", body.Question}} {
				if text, ok := f.value.(string); ok && text != "" {
					s.fields = append(s.fields, field{f.name, text})
				}
			}
		}
	}
	return s, true
}

// What is no text has tokens that no text has: they begin with a character of private
// use.
const (
	markType   = "\ue000"
	markSender = "\ue001"
)

func named(mark, name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	return mark + strconv.FormatUint(h.Sum64(), 36)
}

// typeTerm is the token of a type, senderTerm that of who wrote it.
func typeTerm(kind string) string     { return named(markType, kind) }
func senderTerm(u im.UserID) string   { return named(markSender, string(u)) }
func (s *said) is(kind string) bool   { return s.kind == kind || kind == TypeLink && s.link }
func prefixed(term string) token.Term { return token.Term{Text: term} }

// docOf is what an index has of a message.
func docOf(e *im.Entry) Doc {
	d := Doc{Conversation: e.Conversation, Seq: e.Seq, Pos: e.Pos, Stored: e.Stored}
	s, ok := saidBy(e)
	if !ok {
		return d
	}
	terms := map[string]struct{}{typeTerm(s.kind): {}, senderTerm(e.Sender): {}}
	if s.link {
		terms[typeTerm(TypeLink)] = struct{}{}
	}
	for _, f := range s.fields {
		token.Tokens(f.text, terms)
	}
	d.Terms = make([]string, 0, len(terms))
	for t := range terms {
		d.Terms = append(d.Terms, t)
	}
	return d
}
