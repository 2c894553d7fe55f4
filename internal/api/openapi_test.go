package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"

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
			Responses map[string]struct {
				Content map[string]struct{ Schema schema }
			}
		}
	}
	Components struct {
		Schemas map[string]schema
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Enum                 []string
	Items                *schema
	Properties           map[string]schema
	AdditionalProperties *bool
	Pattern              string
	ContentEncoding      string
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
		for name, value := range v {
			p, ok := s.Properties[name]
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
		for i, value := range v {
			if err := d.check(fmt.Sprintf("%s[%d]", at, i), *s.Items, value); err != nil {
				return err
			}
		}
	case string:
		if s.Type != "string" || s.Enum != nil && !slices.Contains(s.Enum, v) {
			return fmt.Errorf("%s: %q, documented as %s %v", at, v, s.Type, s.Enum)
		}
		if s.Pattern != "" && strings.Trim(v, "-0123456789") != "" {
			return fmt.Errorf("%s: %q, documented as %s", at, v, s.Pattern)
		}
	case float64:
		if s.Type != "integer" {
			return fmt.Errorf("%s: a number, documented as %s", at, s.Type)
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
	for _, body := range []string{`{"group":{"x":1}}`, `{"group":[]}`, `{"group":{"name":5}}`, `{"group":{"members":"5"}}`, `{"group":{"role":"ROLE_KING"}}`, `{"group":{"createdAtMs":"soon"}}`} {
		if d.response("GroupService/GetGroup", []byte(body)) == nil {
			t.Errorf("%s fits the schema", body)
		}
	}
}
