package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/internal/api"
)

// schemas collects the schemas of the messages and enums that were met.
type schemas struct {
	seen map[string]bool
	out  object
}

// message adds a message and everything it refers to. All of them may grow:
// unknown fields are ignored (SPEC §1.4).
func (s *schemas) message(d protoreflect.MessageDescriptor) {
	name := string(d.Name())
	if s.seen[name] {
		return
	}
	s.seen[name] = true
	var properties object
	var required []string
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		properties = properties.set(fd.JSONName(), s.field(fd))
		if bounds(fd).Required {
			required = append(required, fd.JSONName())
		}
	}
	if properties == nil {
		properties = object{}
	}
	o := object{}.set("type", "object")
	if c := comment(d); c != "" {
		o = o.set("description", c)
	}
	o = o.set("properties", properties)
	if required != nil {
		o = o.set("required", required)
	}
	rule := api.MessageRule(name)
	for _, keyword := range slices.Sorted(maps.Keys(rule)) {
		o = o.set(keyword, json.RawMessage(rule[keyword]))
	}
	s.out = s.out.set(name, o)
}

func (s *schemas) enum(d protoreflect.EnumDescriptor) {
	name := string(d.Name())
	if s.seen[name] {
		return
	}
	s.seen[name] = true
	var values []string
	var notes []string
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		values = append(values, string(v.Name()))
		if c := comment(v); c != "" {
			notes = append(notes, "- `"+string(v.Name())+"`: "+c)
		}
	}
	description := strings.TrimSpace(comment(d) + "\n\n" + strings.Join(notes, "\n"))
	o := object{}.set("type", "string")
	if description != "" {
		o = o.set("description", description)
	}
	s.out = s.out.set(name, o.set("enum", values))
}

// field is the schema of a field in the canonical JSON mapping, with its bounds.
func (s *schemas) field(fd protoreflect.FieldDescriptor) object {
	description := comment(fd)
	if one := fd.ContainingOneof(); one != nil && !one.IsSynthetic() {
		var others []string
		for i := range one.Fields().Len() {
			others = append(others, "`"+one.Fields().Get(i).JSONName()+"`")
		}
		description = strings.TrimSpace(comment(one) + " Only one of " + strings.Join(others, ", ") + " is present. " + description)
	}
	b := bounds(fd)
	o := beside(s.shape(fd, b), b.Beside)
	if b.MaxBytes > 0 {
		o = o.set("x-skein-max-bytes", b.MaxBytes)
	}
	if b.Format != "" {
		o = o.set("x-skein-format", b.Format)
	}
	if b.Default != "" {
		o = o.set("default", defaultOf(fd, b))
	}
	if description != "" {
		o = o.set("description", description)
	}
	return o
}

// beside adds what holds besides a field's type; where both say something of the same
// keyword, this is the one that counts.
func beside(o object, schema string) object {
	if schema == "" {
		return o
	}
	var more map[string]json.RawMessage
	if err := json.Unmarshal([]byte(schema), &more); err != nil {
		panic(fmt.Sprintf("%s: %v", schema, err)) // it is written in internal/api
	}
	for _, keyword := range slices.Sorted(maps.Keys(more)) {
		o = slices.DeleteFunc(o, func(f field) bool { return f.name == keyword })
		o = o.set(keyword, more[keyword])
	}
	return o
}

// bounds looks a field up in the table of internal/api.
func bounds(fd protoreflect.FieldDescriptor) api.Bounds {
	b, _ := api.FieldBounds(string(fd.Parent().Name()) + "." + string(fd.Name()))
	return b
}

// defaultOf writes a default as its type is written: only integers of 32 bits
// are numbers in JSON.
func defaultOf(fd protoreflect.FieldDescriptor, b api.Bounds) any {
	if fd.Kind() == protoreflect.Uint32Kind {
		return json.Number(b.Default)
	}
	return b.Default
}

// shape is a field's schema: one value, a list or a map of them.
func (s *schemas) shape(fd protoreflect.FieldDescriptor, b api.Bounds) object {
	switch {
	case fd.IsMap():
		value := object{}.set("type", "string")
		if b.MaxLength > 0 {
			value = value.set("maxLength", b.MaxLength)
		}
		o := object{}.set("type", "object").set("additionalProperties", value).set("maxProperties", b.MaxItems)
		return o.set("propertyNames", object{}.set("pattern", b.Pattern))
	case fd.IsList():
		item := b
		item.Required = true // an item that is 0 is there
		o := object{}.set("type", "array").set("items", s.single(fd, item))
		if b.MinItems > 0 {
			o = o.set("minItems", b.MinItems)
		}
		if o = o.set("maxItems", b.MaxItems); b.Unique {
			o = o.set("uniqueItems", true)
		}
		return o
	}
	return s.single(fd, b)
}

func (s *schemas) single(fd protoreflect.FieldDescriptor, b api.Bounds) object {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return object{}.set("type", "boolean")
	case protoreflect.EnumKind:
		s.enum(fd.Enum())
		if b.Enum != nil {
			return object{}.set("type", "string").set("enum", b.Enum)
		}
		return ref("schemas", string(fd.Enum().Name()))
	case protoreflect.MessageKind:
		s.message(fd.Message())
		o := ref("schemas", string(fd.Message().Name()))
		if fd.Message().Name() == "Content" && strings.HasSuffix(string(fd.Parent().Name()), "Request") {
			// A request has one of them, an answer may have neither. It stands beside the reference, so that
			// clients made from the document have one type Content.
			o = o.set("oneOf", []object{object{}.set("required", []string{"text"}), object{}.set("required", []string{"data"})})
		}
		return o
	case protoreflect.BytesKind:
		return stringOf(b).set("contentEncoding", "base64")
	case protoreflect.Uint32Kind:
		return object{}.set("type", "integer").set("minimum", b.Min).set("maximum", b.Max)
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		o := object{}.set("type", "string").set("format", fd.Kind().String())
		if b.Signed {
			return o.set("pattern", "^(0|-?[1-9][0-9]{0,17})$")
		}
		return o.set("pattern", integerPattern(b))
	}
	return stringOf(b)
}

// integerPattern is of integers that are written as strings: 0 is always the
// same as absence, so it may be given wherever the field may be absent.
func integerPattern(b api.Bounds) string {
	p := api.NumberPattern(b.Min, b.Max)
	if b.Min > 0 && !b.Required {
		p = "^(0|" + strings.TrimPrefix(p, "^(")
	}
	return p
}

func stringOf(b api.Bounds) object {
	o := object{}.set("type", "string")
	if b.Pattern != "" {
		o = o.set("pattern", b.Pattern)
	}
	if b.MinLength > 0 {
		o = o.set("minLength", b.MinLength)
	}
	if b.MaxLength > 0 {
		o = o.set("maxLength", b.MaxLength)
	}
	return o
}
