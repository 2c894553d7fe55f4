package main

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// schemas collects the schemas of the messages and enums that were met.
type schemas struct {
	seen map[string]bool
	out  object
}

// message adds a message and everything it refers to. Requests take no fields
// that are not listed; other messages may grow.
func (s *schemas) message(d protoreflect.MessageDescriptor, request bool) {
	name := string(d.Name())
	if s.seen[name] {
		return
	}
	s.seen[name] = true
	var properties object
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		properties = properties.set(fd.JSONName(), s.field(fd))
	}
	if properties == nil {
		properties = object{}
	}
	o := object{}.set("type", "object")
	if c := comment(d); c != "" {
		o = o.set("description", c)
	}
	o = o.set("properties", properties)
	if request {
		o = o.set("additionalProperties", false)
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

// field is the schema of a field in the canonical JSON mapping.
func (s *schemas) field(fd protoreflect.FieldDescriptor) object {
	description := comment(fd)
	if one := fd.ContainingOneof(); one != nil && !one.IsSynthetic() {
		var others []string
		for i := range one.Fields().Len() {
			others = append(others, "`"+one.Fields().Get(i).JSONName()+"`")
		}
		description = strings.TrimSpace(comment(one) + " Only one of " + strings.Join(others, ", ") + " is present. " + description)
	}
	o := s.single(fd)
	if fd.IsList() {
		o = object{}.set("type", "array").set("items", o)
	}
	if description != "" {
		o = o.set("description", description)
	}
	return o
}

func (s *schemas) single(fd protoreflect.FieldDescriptor) object {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return object{}.set("type", "boolean")
	case protoreflect.EnumKind:
		s.enum(fd.Enum())
		return ref("schemas", string(fd.Enum().Name()))
	case protoreflect.MessageKind:
		s.message(fd.Message(), false)
		return ref("schemas", string(fd.Message().Name()))
	case protoreflect.BytesKind:
		return object{}.set("type", "string").set("contentEncoding", "base64")
	case protoreflect.Uint32Kind:
		return object{}.set("type", "integer").set("minimum", 0).set("maximum", uint32(1<<32-1))
	case protoreflect.Int64Kind:
		return object{}.set("type", "string").set("format", "int64").set("pattern", "^-?[0-9]+$")
	case protoreflect.Uint64Kind:
		return object{}.set("type", "string").set("format", "uint64").set("pattern", "^[0-9]+$")
	default:
		return object{}.set("type", "string")
	}
}
