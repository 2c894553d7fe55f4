package wire_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// shape is what a body of the catalogue is: "text", "number", "bool", "any", a list, or
// an object.
type shape struct {
	kind     string
	item     *shape
	fields   map[string]shape
	optional map[string]bool
}

// shapes reads the catalogue out of SPEC §11.2, so that the table is what is tested.
func shapes(t *testing.T) map[string]*shape {
	t.Helper()
	spec, err := os.ReadFile("../proto/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*shape{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (.*) \\|$").FindAllStringSubmatch(string(spec), -1) {
		if !strings.HasPrefix(row[2], "`{") {
			all[row[1]] = nil // no JSON
			continue
		}
		rest := strings.Trim(row[2], "`")
		s := parseShape(t, &rest)
		if rest != "" {
			t.Fatalf("%s: %q is left", row[1], rest)
		}
		all[row[1]] = &s
	}
	return all
}

var shapeToken = regexp.MustCompile(`^\s*([a-z_]+|[{}\[\]:,?])`)

func parseShape(t *testing.T, rest *string) shape {
	next := func() string {
		m := shapeToken.FindStringSubmatch(*rest)
		if m == nil {
			t.Fatalf("the catalogue cannot be read from %q on", *rest)
		}
		*rest = (*rest)[len(m[0]):]
		return m[1]
	}
	switch k := next(); k {
	case "text", "number", "bool", "any":
		return shape{kind: k}
	case "[":
		item := parseShape(t, rest)
		if next() != "]" {
			t.Fatalf("a list does not end before %q", *rest)
		}
		return shape{kind: "list", item: &item}
	case "{":
		s := shape{kind: "object", fields: map[string]shape{}, optional: map[string]bool{}}
		for {
			name, sep := next(), next()
			if sep == "?" {
				s.optional[name] = true
				sep = next()
			}
			if sep != ":" {
				t.Fatalf("%s: %q", name, sep)
			}
			s.fields[name] = parseShape(t, rest)
			if sep = next(); sep == "}" {
				return s
			} else if sep != "," {
				t.Fatalf("after %s: %q", name, sep)
			}
		}
	default:
		t.Fatalf("%q before %q", k, *rest)
	}
	return shape{}
}

// fits reports where a value is not of the shape. Fields beyond it are allowed.
func (s *shape) fits(at string, v any) error {
	kind := "any"
	switch v := v.(type) {
	case string:
		kind = "text"
	case float64:
		if kind = "number"; v > 1<<53-1 {
			return fmt.Errorf("%s: %v is not exact", at, v)
		}
	case bool:
		kind = "bool"
	case []any:
		kind = "list"
		for i, x := range v {
			if s.kind == kind {
				if err := s.item.fits(fmt.Sprintf("%s[%d]", at, i), x); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		kind = "object"
		for name, f := range s.fields {
			x, ok := v[name]
			if !ok && !s.optional[name] {
				return fmt.Errorf("%s.%s is missing", at, name)
			}
			if ok {
				if err := f.fits(at+"."+name, x); err != nil {
					return err
				}
			}
		}
	}
	if s.kind != kind && s.kind != "any" {
		return fmt.Errorf("%s is %s, not %s", at, kind, s.kind)
	}
	return nil
}

// contentFits checks a content against the catalogue.
func contentFits(catalogue map[string]*shape, c *wire.Content) error {
	s, known := catalogue[c.Type]
	switch {
	case !known && !strings.Contains(c.Type, "."):
		return fmt.Errorf("type %q is not in the catalogue, and has no dot", c.Type)
	case c.Type != "text" && c.Fallback == "":
		return fmt.Errorf("no fallback")
	case len(c.Fallback) > 1000 || strings.Contains(c.Fallback, "\n"):
		return fmt.Errorf("the fallback is no short line")
	case len(c.GetText())+len(c.GetData()) == 0 || len(c.GetText())+len(c.GetData()) > 64<<10:
		return fmt.Errorf("the body has %d bytes", len(c.GetText())+len(c.GetData()))
	case !utf8.ValidString(c.GetText()):
		return fmt.Errorf("the text is no UTF-8")
	case s == nil:
		return nil
	}
	var body any
	if err := json.Unmarshal([]byte(c.GetText()), &body); err != nil {
		return fmt.Errorf("the body is no JSON: %w", err)
	}
	return s.fits("body", body)
}

// TestContentVectors: each type of SPEC §11.2 has an example, which is as its row says
// and comes through both codecs as it is.
func TestContentVectors(t *testing.T) {
	catalogue := shapes(t)
	for _, want := range []string{"text", "image", "file", "voice", "video", "location", "card", "merged", "poll", "sticker", "custom"} {
		if _, ok := catalogue[want]; !ok {
			t.Errorf("SPEC §11.2 has no row for %s", want)
		}
	}
	files, err := filepath.Glob(filepath.Join(vectorsDir, "content", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			Name    string
			Content json.RawMessage
		}
		var c wire.Content
		if err := json.Unmarshal(data, &v); err != nil || v.Name+".json" != filepath.Base(path) {
			t.Fatalf("%s: %v, its name is %q", path, err, v.Name)
		}
		if err := protojson.Unmarshal(v.Content, &c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := contentFits(catalogue, &c); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		seen[c.Type] = true
		frame := wire.NewClientFrame(&wire.Send{Conversation: "dm:ann:bob", Id: id(1), Content: &c})
		for _, codec := range []wire.Codec{wire.JSON(), wire.Protobuf()} {
			var again wire.ClientFrame
			if b, err := codec.Append(nil, frame); err != nil || codec.Decode(b, &again) != nil || !proto.Equal(&again, frame) {
				t.Errorf("%s in %s: %v, %v", path, codec.Name(), &again, err)
			}
		}
	}
	for kind := range catalogue {
		if !seen[kind] {
			t.Errorf("no example of %s", kind)
		}
	}
}

// TestContentCheckCanFail: what is not as its row says is found.
func TestContentCheckCanFail(t *testing.T) {
	catalogue := shapes(t)
	for name, c := range map[string]struct{ kind, body, fallback string }{
		"no such type":        {"picture", "{}", "x"},
		"no JSON":             {"card", "Bob", "x"},
		"no object":           {"card", "[]", "x"},
		"no fallback":         {"card", `{"user":"bob","name":"Bob"}`, ""},
		"long fallback":       {"card", `{"user":"bob","name":"Bob"}`, strings.Repeat("x", 1001)},
		"missing":             {"card", `{"user":"bob"}`, "x"},
		"another type":        {"card", `{"user":"bob","name":5}`, "x"},
		"optional, but wrong": {"poll", `{"question":"?","options":[],"multiple":"no"}`, "x"},
		"inside a list":       {"poll", `{"question":"?","options":[{"id":"a"}]}`, "x"},
		"not exact":           {"location", `{"latitude":9007199254740993,"longitude":1}`, "x"},
		"empty":               {"text", "", ""},
		"long":                {"text", strings.Repeat("x", 64<<10+1), ""},
	} {
		if contentFits(catalogue, &wire.Content{Type: c.kind, Body: &wire.Content_Text{Text: c.body}, Fallback: c.fallback}) == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
