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

// field is a text of a message that is searched: its name is the path to it in the JSON
// body (options[0].text), or text or fallback.
type field struct{ name, text string }

// said is what of a message is searched.
type said struct {
	kind   string // the type of its content
	link   bool
	fields []field
}

// saidBy reads a message; ok is false where nothing of it is found.
func saidBy(e *im.Entry) (s said, ok bool) {
	if !e.Kind.Said() || e.Recalled || len(e.Body) == 0 {
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
	s.fields = append(s.fields, inBody(w.Content.GetText())...)
	return s, true
}

// inBody are the texts of a JSON body that are searched, SPEC §4.32. What is of another
// type than SPEC §11.2 says is left out.
func inBody(body string) (fields []field) {
	var b map[string]json.RawMessage
	if !strings.HasPrefix(body, "{") || json.Unmarshal([]byte(body), &b) != nil {
		return nil
	}
	add := func(name string, raw json.RawMessage) {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			fields = append(fields, field{name, text})
		}
	}
	for _, name := range []string{"caption", "name", "title", "question", "address"} {
		add(name, b[name])
	}
	each := func(name string, of func(at string, part map[string]json.RawMessage)) {
		var parts []json.RawMessage
		if json.Unmarshal(b[name], &parts) != nil {
			return
		}
		for i, raw := range parts {
			var part map[string]json.RawMessage
			if json.Unmarshal(raw, &part) == nil {
				of(name+"["+strconv.Itoa(i)+"].", part)
			}
		}
	}
	each("options", func(at string, part map[string]json.RawMessage) { add(at+"text", part["text"]) })
	each("entries", func(at string, part map[string]json.RawMessage) {
		if string(part["type"]) == `"text"` { // the text of others is a body, not what people read
			add(at+"text", part["text"])
			return
		}
		add(at+"fallback", part["fallback"])
	})
	return fields
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
