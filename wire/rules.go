package wire

import (
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Bounds of one frame, so that a small message cannot cost much memory or stack.
const (
	// maxDepth is how deep messages may stand in each other. A map's entry counts.
	maxDepth = 200
	// maxClientElements is how many sub-messages, list items and map entries a
	// client's frame may have. One costs at most about 100 bytes of memory.
	maxClientElements = 16_384
	// maxServerElements is the same for a server's frame: a page of 500
	// conversations with 500 entries has about 10,000.
	maxServerElements = 131_072
)

var (
	errTruncated   = errors.New("wire: the message is cut off")
	errBadTag      = errors.New("wire: no valid field tag")
	errBadGroup    = errors.New("wire: group end without a start")
	errDepth       = errors.New("wire: nested too deeply")
	errElements    = errors.New("wire: too many elements")
	errInvalidUTF8 = errors.New("wire: invalid UTF-8 in a string")
)

// fieldRule is what must be known of a field to check its bytes.
type fieldRule struct {
	known   bool
	text    bool
	typ     protowire.Type
	message *messageRule
	// counts tells that each occurrence is an element of its own.
	counts bool
	// isMap: the entries of maps are left to the reference implementation.
	isMap bool
}

var unknownField fieldRule

// messageRule holds the rules of a message's fields, by number.
type messageRule struct {
	fields []fieldRule
}

// frameRules are the rules of the two frames, made once from their
// descriptors: no string field can be forgotten.
type frameRules struct {
	client, server *messageRule
}

var loadRules = sync.OnceValue(func() frameRules {
	seen := map[protoreflect.FullName]*messageRule{}
	return frameRules{
		client: newMessageRule((*ClientFrame)(nil).ProtoReflect().Descriptor(), seen),
		server: newMessageRule((*ServerFrame)(nil).ProtoReflect().Descriptor(), seen),
	}
})

func newMessageRule(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]*messageRule) *messageRule {
	if r := seen[d.FullName()]; r != nil {
		return r
	}
	r := &messageRule{}
	seen[d.FullName()] = r
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		for int(f.Number()) >= len(r.fields) {
			r.fields = append(r.fields, fieldRule{})
		}
		rule := fieldRule{
			known:  true,
			text:   f.Kind() == protoreflect.StringKind,
			typ:    wireType(f),
			counts: f.Cardinality() == protoreflect.Repeated || f.Message() != nil,
			isMap:  f.IsMap(),
		}
		if f.Message() != nil {
			rule.message = newMessageRule(f.Message(), seen)
		}
		r.fields[f.Number()] = rule
	}
	return r
}

func wireType(f protoreflect.FieldDescriptor) protowire.Type {
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	if f.IsPacked() {
		return protowire.BytesType
	}
	return protowire.VarintType
}

// ruleFor returns the rule and the bound on elements of a frame, nil for
// messages that are not frames.
func ruleFor(frame proto.Message) (*messageRule, int) {
	switch frame.(type) {
	case *ClientFrame:
		return loadRules().client, maxClientElements
	case *ServerFrame:
		return loadRules().server, maxServerElements
	}
	return nil, 0
}

// check walks the encoding of one frame. It refuses what is no protobuf, text
// that is not UTF-8 and what exceeds the bounds, without allocating.
type check struct {
	left int
	// odd is set by legal input that the fast decoder does not treat exactly as
	// the reference does: unknown fields, a known field of another wire type, maps.
	odd bool
}

func (c *check) message(b []byte, rule *messageRule, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	for len(b) > 0 {
		tag, n := protowire.ConsumeVarint(b)
		num := tag >> 3
		if n < 0 || num < uint64(protowire.MinValidNumber) || num > uint64(protowire.MaxValidNumber) {
			return errBadTag
		}
		b = b[n:]
		typ := protowire.Type(tag & 7)
		field := &unknownField
		if num < uint64(len(rule.fields)) {
			field = &rule.fields[num]
		}
		if typ == protowire.BytesType {
			value, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return errTruncated
			}
			b = b[n:]
			if err := c.bytes(value, field, depth); err != nil {
				return err
			}
			continue
		}
		if typ == protowire.EndGroupType {
			return errBadGroup
		}
		if n = protowire.ConsumeFieldValue(protowire.Number(num), typ, b); n < 0 {
			return errTruncated
		}
		b = b[n:]
		if !field.known || field.typ != typ {
			c.odd = true
		}
	}
	return nil
}

// bytes checks a length-delimited value.
func (c *check) bytes(value []byte, field *fieldRule, depth int) error {
	if !field.known || field.typ != protowire.BytesType || field.isMap {
		c.odd = true
	}
	if field.counts {
		if c.left--; c.left < 0 {
			return errElements
		}
	}
	switch {
	case field.text:
		if !utf8.Valid(value) {
			return errInvalidUTF8
		}
	case field.message != nil:
		return c.message(value, field.message, depth+1)
	}
	return nil
}

func notAFrame(m any) error { return fmt.Errorf("wire: %T is no frame", m) }
