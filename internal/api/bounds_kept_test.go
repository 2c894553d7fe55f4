package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// What the document says of requests is what the server does: of a good request
// of every method one field at a time is left out, or made one too long, too
// great, of another form. The server refuses it; the same at the bound it does
// not call invalid.
func TestBoundsAreKept(t *testing.T) {
	w := newWorld(t)
	d := loadSchemas(t)
	tried := make(map[string]bool)
	for _, c := range matrix {
		if tried[c.method] || c.about != "" && c.about != "own" && !strings.HasPrefix(c.method, "AdminService/") && !strings.HasPrefix(c.method, "MessageService/") && !strings.HasPrefix(c.method, "MediaService/") {
			continue
		}
		tried[c.method] = true
		m, _ := wire.LookupMethod("skein.v1." + c.method)
		fields := m.NewRequest().ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			tryField(t, w, d, c, fields.Get(i))
		}
	}
	if len(tried) != len(Methods()) {
		t.Errorf("%d methods tried, there are %d", len(tried), len(Methods()))
	}
}

// boundsScene is of who may do everything to the scene: the owner of bob's group, who is
// his contact; the administrator for administrators' methods.
func boundsScene(w *world, c cell) *scene {
	if strings.HasPrefix(c.method, "AdminService/") {
		return w.scene(asRoot)
	}
	if strings.HasPrefix(c.method, "GroupService/") || strings.HasPrefix(c.method, "MessageService/") || strings.HasPrefix(c.method, "MediaService/") {
		return w.scene(asOwner)
	}
	return w.scene(asFriend)
}

// manyOf repeats what a list has, with a name of its own each where it has names.
func manyOf(one []any, n int) []any {
	all := slices.Repeat(one, n)
	for i, v := range all {
		if m, ok := v.(map[string]any); ok && m["name"] != nil {
			m = maps.Clone(m)
			m["name"] = fmt.Sprint("n", i)
			all[i] = m
		}
	}
	return all
}

// hasField tells that a path leads from a message to a field of it, as JSON names them.
func hasField(m protoreflect.MessageDescriptor, path string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	f := m.Fields().ByJSONName(name)
	switch {
	case f == nil:
		return false
	case !deeper:
		return true
	case f.IsMap(): // what follows is a key
		return true
	}
	return f.Message() != nil && hasField(f.Message(), rest)
}

func tryField(t *testing.T, w *world, d *openAPISchemas, c cell, f protoreflect.FieldDescriptor) {
	t.Helper()
	b, _ := FieldBounds(string(f.Parent().Name()) + "." + string(f.Name()))
	s := boundsScene(w, c)
	text, err := protojson.Marshal(c.in(s))
	if err != nil {
		t.Fatal(err)
	}
	var good map[string]any
	if err := json.Unmarshal(text, &good); err != nil {
		t.Fatal(err)
	}
	ask := func(value any) int {
		request := maps.Clone(good)
		if request[f.JSONName()] = value; value == nil {
			delete(request, f.JSONName())
		}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		resp := do(w.http, post(c.method, s.me.token, string(body)))
		var refused struct{ Code, Field string }
		if resp.Code != http.StatusOK {
			if err := json.Unmarshal(resp.Body.Bytes(), &refused); err != nil {
				t.Fatal(err)
			}
		}
		if refused.Field == "" && (refused.Code == string(im.CodeInvalidArgument) || refused.Code == string(im.CodeTooLarge)) {
			t.Errorf("%s, %s = %.60v: refused, and no field is named: %s", c.method, f.JSONName(), value, resp.Body)
		}
		if refused.Field != "" && !hasField(f.Parent().(protoreflect.MessageDescriptor), refused.Field) {
			t.Errorf("%s, %s = %.60v: no field of the request is called so: %s", c.method, f.JSONName(), value, resp.Body)
		}
		return resp.Code
	}
	what := fmt.Sprintf("%s, %s", c.method, f.JSONName())
	if b.Required {
		if status := ask(nil); status == http.StatusOK {
			t.Errorf("%s is required, and the request is answered without it", what)
		}
	}
	schema := d.Components.Schemas[string(f.Parent().Name())].Properties[f.JSONName()]
	outside, inside := edges(b, f)
	if f.IsList() && f.Message() != nil && b.MaxItems > 0 {
		one := good[f.JSONName()].([]any)
		outside, inside = []any{manyOf(one, b.MaxItems+1)}, []any{manyOf(one, b.MaxItems)}
	}
	for _, v := range outside {
		if d.check(what, schema, jsonValue(v)) == nil {
			t.Errorf("%s: %.80v fits the schema", what, v)
		}
		if status := ask(v); status == http.StatusOK {
			t.Errorf("%s: %.80v is beyond the bounds, and taken", what, v)
		}
	}
	for _, v := range inside {
		if err := d.check(what, schema, jsonValue(v)); err != nil {
			t.Errorf("%s: %.80v: %v", what, v, err)
		}
		if status := ask(v); slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, status) && b.Format == "" {
			t.Errorf("%s: %.80v is within the bounds, and refused with %d", what, v, status)
		}
	}
}

// jsonValue is v as a client reads it.
func jsonValue(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// names adds such values of a field with a name.
func names(b Bounds, one func(any) any, outside, inside []any) (out, in []any) {
	if b.Pattern != shownPattern && b.Pattern != maybeShown {
		return outside, inside
	}
	for _, name := range []string{"   ", "\u00a0", "a\tb", "a\x7fb", "Ann\u200b", "Ann\u202egpj", "\u3164", "\ufeffAnn"} {
		outside = append(outside, one(name))
	}
	if b.Pattern == shownPattern {
		outside = append(outside, one(""))
	}
	return outside, append(inside, one("é"), one("👩\u200d👧"), one(strings.Repeat("😀", b.MaxLength)))
}

// itemOf is a value of a list's field, another one for each i.
func itemOf(b Bounds, f protoreflect.FieldDescriptor, i int) string {
	switch {
	case f.Kind() == protoreflect.Uint64Kind:
		return fmt.Sprint(i + 1)
	case b.Pattern == mediaPattern:
		return strings.Repeat("A", 25) + string(rune('A'+i))
	}
	if b.Pattern == anyPattern {
		return fmt.Sprint("grp:g", i)
	}
	return fmt.Sprint("u", i)
}

// edges are values just outside and just inside the bounds of a field.
func edges(b Bounds, f protoreflect.FieldDescriptor) (outside, inside []any) {
	one := func(v any) any {
		if f.IsList() {
			return []any{v}
		}
		return v
	}
	if f.IsList() && b.MaxItems > 0 {
		many := func(n int) (all []string) {
			for i := range n {
				all = append(all, itemOf(b, f, i))
			}
			return all
		}
		outside, inside = append(outside, many(b.MaxItems+1)), append(inside, many(b.MaxItems))
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		switch b.Pattern {
		case idPattern, maybeID:
			outside = append(outside, one(strings.Repeat("x", 65)), one("a b"), one("é"), one("x\n"))
			inside = append(inside, one(strings.Repeat("x", 64)), one("-_Az09"))
		case groupPattern:
			outside = append(outside, "grp:", "dm:a:b", "me:a", "grp:"+strings.Repeat("x", 65), "grp:a:b", "GRP:a")
			inside = append(inside, "grp:"+strings.Repeat("x", 64))
		case anyPattern, toPattern:
			for _, v := range []string{"grp:", "dm:a", "dm:a:", "me:", "x:a", "dm:a:b:c", "dm:a:" + strings.Repeat("x", 65), " grp:a"} {
				outside = append(outside, one(v))
			}
			inside = append(inside, one("grp:"+strings.Repeat("x", 64)), one("dm:a:"+strings.Repeat("x", 64)))
		case namePattern:
			outside = append(outside, "ab", strings.Repeat("x", 33), "a b c", "äöü")
			inside = append(inside, "a.b", strings.Repeat("x", 32), "A_-9")
		case notePattern, linePattern, titlePattern:
			outside = append(outside, "a\tb", "a\x7fb")
			inside = append(inside, "é", strings.Repeat("😀", b.MaxLength))
		}
		if b.Pattern == titlePattern {
			outside = append(outside, "", "   ", "\u00a0")
		}
		outside, inside = names(b, one, outside, inside)
		if b.Pattern == linePattern {
			inside = append(inside, "", "   ", "\u00a0")
		}
		if b.MaxLength > 0 && b.MaxBytes == 0 {
			outside = append(outside, strings.Repeat("😀", b.MaxLength+1))
			if b.Pattern == "" {
				inside = append(inside, strings.Repeat("😀", b.MaxLength))
			}
		}
		if b.MaxBytes > 0 {
			outside = append(outside, strings.Repeat("x", b.MaxBytes+1))
			inside = append(inside, strings.Repeat("x", b.MaxBytes))
		}
		if b.MinLength > 1 {
			outside = append(outside, strings.Repeat("😀", b.MinLength-1))
			inside = append(inside, strings.Repeat("😀", b.MinLength))
		}
	case protoreflect.Uint32Kind:
		outside, inside = append(outside, b.Max+1, -1), append(inside, b.Max, b.Min)
	case protoreflect.Uint64Kind, protoreflect.Int64Kind:
		outside, inside = append(outside, "-1", "1.5", "x"), append(inside, fmt.Sprint(b.Max), fmt.Sprint(b.Min))
		if b.Max+1 != 0 {
			outside = append(outside, fmt.Sprint(b.Max+1))
		}
		if b.Min > 1 || b.Min == 1 && b.Required {
			outside = append(outside, fmt.Sprint(b.Min-1))
		}
	}
	for _, values := range [][]any{outside, inside} {
		for i, v := range values {
			if _, text := v.(string); text {
				values[i] = one(v)
			}
		}
	}
	return outside, inside
}
