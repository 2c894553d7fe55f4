package api

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pb33f/libopenapi"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/wire"
)

func TestOpenAPIDocument(t *testing.T) {
	doc, err := libopenapi.NewDocument(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if doc.GetVersion() != "3.1.0" {
		t.Errorf("version %s", doc.GetVersion())
	}
	model, err := doc.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	table := make(map[string]Method)
	for _, m := range Methods() {
		table[m.Name] = m
	}
	paths := model.Model.Paths.PathItems
	if paths.Len() != len(wire.Methods()) {
		t.Errorf("%d paths, %d methods", paths.Len(), len(wire.Methods()))
	}
	for _, m := range wire.Methods() {
		item, ok := paths.Get("/api/" + m.Name())
		if !ok || item.Post == nil {
			t.Errorf("%s is missing", m.Name())
			continue
		}
		if open := len(item.Post.Security) == 0; open != (table[m.Name()].Who == Anyone) {
			t.Errorf("%s: open in the document: %v, in the table for %s", m.Name(), open, table[m.Name()].Who)
		}
		for _, kind := range []string{"application/json", "application/proto"} {
			if _, ok := item.Post.RequestBody.Content.Get(kind); !ok {
				t.Errorf("%s takes no %s", m.Name(), kind)
			}
		}
		ok200, ok := item.Post.Responses.Codes.Get("200")
		if !ok || ok200.Content == nil || item.Post.Responses.Default == nil {
			t.Errorf("%s: answers are not documented", m.Name())
			continue
		}
		content, _ := ok200.Content.Get("application/json")
		if _, err := content.Schema.BuildSchema(); err != nil {
			t.Errorf("%s: response schema: %v", m.Name(), err)
		}
		if item.Post.Description == "" {
			t.Errorf("%s has no description", m.Name())
		}
	}
}

// openAPISchemas checks JSON values against the document's own schemas: the
// few keywords the generator writes.
type openAPISchemas struct {
	Paths map[string]struct {
		Post struct {
			RequestBody struct{ Content map[string]content }
			Responses   map[string]struct{ Content map[string]content }
		}
	}
	Components struct {
		Schemas map[string]schema
	}
	// whole are the schemas as they stand there (rules_test.go).
	whole map[string]map[string]any
}

type content struct {
	Schema   schema
	Examples map[string]struct{ Value json.RawMessage }
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Enum                 []string
	Items                *schema
	Properties           map[string]schema
	AdditionalProperties extra
	MaxProperties        *int
	Pattern              string
	ContentEncoding      string
	Required             []string
	MinLength, MaxLength int
	MaxBytes             int `json:"x-skein-max-bytes"`
	MinItems, MaxItems   *int
	Minimum, Maximum     *uint64
	AllOf, OneOf         []schema
}

// described reports whether the schema says what values it takes.
func (s schema) described() bool {
	switch s.Type {
	case "string":
		return s.Enum != nil || s.Pattern != "" || s.MaxLength > 0
	case "integer":
		return s.Minimum != nil && s.Maximum != nil
	case "array":
		return s.MaxItems != nil && s.Items != nil && s.Items.described()
	case "object":
		return s.MaxProperties != nil && s.AdditionalProperties.Schema != nil && s.AdditionalProperties.Schema.described()
	case "boolean":
		return true
	}
	return s.Ref != "" || len(s.AllOf) > 0
}

// extra is what additionalProperties says: a schema, or whether there may be any.
type extra struct {
	Schema *schema
	Closed bool
}

func (e *extra) UnmarshalJSON(b []byte) error {
	if string(b) == "true" || string(b) == "false" {
		e.Closed = string(b) == "false"
		return nil
	}
	return json.Unmarshal(b, &e.Schema)
}

// matches compares with a pattern of the document, which is ECMAScript's: there
// \s is all white space of Unicode.
func matches(pattern, s string) bool {
	pattern = strings.ReplaceAll(pattern, `\s`, `\s\u0085\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000`)
	return regexp.MustCompile(regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(pattern, `\x{$1}`)).MatchString(s)
}

func loadSchemas(t *testing.T) *openAPISchemas {
	t.Helper()
	var s openAPISchemas
	if err := json.Unmarshal(openAPI, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// response checks the JSON body of a method's successful answer. Unlike a
// client, which accepts fields it does not know, this refuses what is not
// documented.
func (d *openAPISchemas) response(method string, body []byte) error {
	sc, ok := d.Paths["/api/skein.v1."+method].Post.Responses["200"].Content["application/json"]
	if !ok {
		return fmt.Errorf("%s is not documented", method)
	}
	return d.text(sc.Schema, body)
}

// failure checks the JSON body of an error.
func (d *openAPISchemas) failure(body []byte) error {
	return d.text(schema{Ref: "#/components/schemas/Error"}, body)
}

func (d *openAPISchemas) text(s schema, body []byte) error {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	return d.check("body", s, v)
}

func (d *openAPISchemas) check(at string, s schema, v any) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		named, ok := d.Components.Schemas[name]
		if !ok {
			return fmt.Errorf("%s: no schema %s", at, name)
		}
		return d.check(at, named, v)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			return fmt.Errorf("%s: an object, documented as %s", at, s.Type)
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("%s.%s is missing", at, name)
			}
		}
		for name, value := range v {
			p, ok := s.Properties[name]
			if !ok && s.AdditionalProperties.Schema != nil {
				p, ok = *s.AdditionalProperties.Schema, true
			}
			if !ok {
				return fmt.Errorf("%s.%s is not documented", at, name)
			}
			if err := d.check(at+"."+name, p, value); err != nil {
				return err
			}
		}
	case []any:
		if s.Type != "array" {
			return fmt.Errorf("%s: a list, documented as %s", at, s.Type)
		}
		if len(v) > *s.MaxItems {
			return fmt.Errorf("%s: %d items, documented as %d at most", at, len(v), *s.MaxItems)
		}
		for i, value := range v {
			if err := d.check(fmt.Sprintf("%s[%d]", at, i), *s.Items, value); err != nil {
				return err
			}
		}
	case string:
		if s.Type != "string" || s.Enum != nil && !slices.Contains(s.Enum, v) {
			return fmt.Errorf("%s: %q, documented as %s %v", at, v, s.Type, s.Enum)
		}
		if s.Pattern != "" && !matches(s.Pattern, v) {
			return fmt.Errorf("%s: %q, documented as %s", at, v, s.Pattern)
		}
		if n := utf8.RuneCountInString(v); n < s.MinLength || s.MaxLength > 0 && n > s.MaxLength {
			return fmt.Errorf("%s: %d characters, documented as %d to %d", at, n, s.MinLength, s.MaxLength)
		}
	case float64:
		if s.Type != "integer" {
			return fmt.Errorf("%s: a number, documented as %s", at, s.Type)
		}
		if v < float64(*s.Minimum) || v > float64(*s.Maximum) {
			return fmt.Errorf("%s: %g, documented as %d to %d", at, v, *s.Minimum, *s.Maximum)
		}
	case bool:
		if s.Type != "boolean" {
			return fmt.Errorf("%s: a boolean, documented as %s", at, s.Type)
		}
	default:
		return fmt.Errorf("%s: unexpected %T", at, v)
	}
	return nil
}

func TestSchemaCheckCanFail(t *testing.T) {
	d := loadSchemas(t)
	if err := d.response("MessageService/MarkRead", []byte(`{}`)); err != nil {
		t.Error(err)
	}
	for _, body := range []string{`{"group":{"x":1}}`, `{"group":[]}`, `{"group":{"name":5}}`, `{"group":{"members":"5"}}`, `{"group":{"role":"ROLE_KING"}}`, `{"group":{"createdAtMs":"soon"}}`, `{}`} {
		if d.response("GroupService/GetGroup", []byte(body)) == nil {
			t.Errorf("%s fits the schema", body)
		}
	}
}

// Every field of every message that a method takes or gives says what it may
// hold.
func TestEveryFieldHasBounds(t *testing.T) {
	d := loadSchemas(t)
	seen := make(map[protoreflect.FullName]bool)
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			name := string(m.Name()) + "." + string(f.Name())
			if s, ok := d.Components.Schemas[string(m.Name())].Properties[f.JSONName()]; !ok || !s.described() {
				t.Errorf("%s does not say what it may hold: %+v; internal/api/bounds.go is the place", name, s)
			}
			if f.Message() != nil && f.Message().Name() == "Content" && strings.HasSuffix(string(m.Name()), "Request") {
				if s := d.Components.Schemas[string(m.Name())].Properties[f.JSONName()]; len(s.OneOf) != 2 {
					t.Errorf("%s does not say that it has text or data: %+v", name, s)
				}
			}
			if f.Message() != nil && !f.IsMap() {
				walk(f.Message())
			}
		}
	}
	for _, m := range wire.Methods() {
		walk(m.NewRequest().ProtoReflect().Descriptor())
		walk(m.NewResponse().ProtoReflect().Descriptor())
	}
	walk((&wire.Error{}).ProtoReflect().Descriptor())
}

// Every method shows how it is called and what comes of it. test/clients carries the
// examples out; here they fit the document.
func TestEveryMethodHasAnExample(t *testing.T) {
	d := loadSchemas(t)
	for _, m := range wire.Methods() {
		post := d.Paths["/api/"+m.Name()].Post
		request, answer := post.RequestBody.Content["application/json"], post.Responses["200"].Content["application/json"]
		if len(request.Examples) == 0 || len(answer.Examples) == 0 {
			t.Errorf("%s has no example. Write a call of it into proto/examples.json, behind those that it needs: summary, method, as (who calls, by a name of before), request; "+
				"`go test ./test/clients -run TestExamples -update` writes its answer there, `make gen` both into openapi.json", m.Name())
		}
		for status, r := range post.Responses {
			for name, e := range r.Content["application/json"].Examples {
				if err := d.text(r.Content["application/json"].Schema, e.Value); err != nil {
					t.Errorf("%s: the example answer %s (%s) is not as documented: %v", m.Name(), name, status, err)
				}
			}
		}
		for name, e := range request.Examples {
			if err := d.text(request.Schema, e.Value); err != nil {
				t.Errorf("%s: the example request %s is not as documented: %v", m.Name(), name, err)
			}
		}
	}
}

func TestNumberPattern(t *testing.T) {
	for _, tc := range []struct{ least, most uint64 }{
		{0, math.MaxUint64}, {1, math.MaxUint64}, {0, math.MaxInt64}, {0, maxMillis}, {1000, 31622400000}, {0, 9}, {1, 1}, {0, 100}, {10, 99}, {0, 0},
	} {
		p := NumberPattern(tc.least, tc.most)
		try := func(n uint64, want bool) {
			if got := matches(p, strconv.FormatUint(n, 10)); got != want {
				t.Errorf("%d to %d: %d is in it: %v (%s)", tc.least, tc.most, n, got, p)
			}
		}
		for _, n := range []uint64{0, 1, 2, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, tc.most / 2, tc.most/10*10 - 1, math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64} {
			try(n, n >= tc.least && n <= tc.most)
		}
		try(tc.least, true)
		try(tc.most, true)
		if tc.most < math.MaxUint64 {
			try(tc.most+1, false)
		}
		for _, s := range []string{"", "-1", "+1", "01", "1e3", " 1", "18446744073709551616", "99999999999999999999999"} {
			if matches(p, s) {
				t.Errorf("%d to %d: %q is in it", tc.least, tc.most, s)
			}
		}
	}
}

// A number of an answer that has no bounds was documented as 0 and nothing else.
func TestEveryNumberHasBounds(t *testing.T) {
	d := loadSchemas(t)
	for name, schema := range d.Components.Schemas {
		for field, f := range schema.Properties {
			if f.Pattern == "^(0|0)$" || f.Maximum != nil && f.Minimum != nil && *f.Maximum == *f.Minimum {
				t.Errorf("%s.%s is documented as one number alone: give it bounds", name, field)
			}
		}
	}
}
