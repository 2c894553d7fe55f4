package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// FrameError is why a message is no frame (SPEC §1.7), as far as it can be told. The
// codecs of this package return it from Decode. It names fields of the contract and
// quotes nothing else: what the peer wrote may be anybody's message.
type FrameError struct {
	// Frame is the frame that it was to be, Field the path of what is wrong, from the
	// frame down; both as JSON names them, empty if not known.
	Frame, Field string
	// Line and Column are where it is, in characters from 1; 0 in binary codecs.
	Line, Column int

	cause error
}

func (e *FrameError) Error() string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(e.cause.Error(), "wire: "))
	if e.Field != "" {
		b.WriteString(", in " + e.Field)
	}
	if e.Line > 1 {
		fmt.Fprintf(&b, ", at line %d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ", at column %d", e.Column)
	}
	return b.String()
}

// Unwrap returns the kind of the fault.
func (e *FrameError) Unwrap() error { return e.cause }

func (e *FrameError) named(path string) *FrameError {
	e.Field = path
	e.Frame, _, _ = strings.Cut(path, ".")
	e.Frame, _, _ = strings.Cut(e.Frame, "[")
	return e
}

// twice is how protojson begins to say that a field stands twice, or two of a oneof.
// The rest of its text quotes the input.
var twice = []string{"duplicate", "error parsing"}

var (
	errNotJSON   = errors.New("wire: not JSON")
	errNotObject = errors.New("wire: not a JSON object with the fields of the contract")
	errTwice     = errors.New("wire: a field stands twice, or two that exclude each other")
	errValue     = errors.New("wire: not a value of this field")
)

// wrongJSON explains protojson's refusal of a message.
func wrongJSON(data []byte, md protoreflect.MessageDescriptor, err error) *FrameError {
	text := err.Error()
	pos := jsonPosition.FindStringSubmatchIndex(text)
	if pos == nil && strings.Contains(text, "recursion") {
		return &FrameError{cause: errDepth}
	}
	whole := json.Valid(data)
	if pos == nil && !whole { // it ended too soon
		return jsonFault(data, md, len(data), errNotJSON)
	}
	at, said := lastString(data), "" // the second half of its last surrogate was to follow
	if pos != nil {
		line, _ := strconv.Atoi(text[pos[2]:pos[3]]) // digits, both
		column, _ := strconv.Atoi(text[pos[4]:pos[5]])
		at, said = jsonOffset(data, line, column), strings.TrimLeft(text[pos[1]:], ": ")
	}
	e := jsonFault(data, md, at, errValue)
	switch {
	case !whole:
		e.cause = errNotJSON
	case e.Field == "":
		e.cause = errNotObject
	case slices.ContainsFunc(twice, func(begins string) bool { return strings.HasPrefix(said, begins) }):
		e.cause = errTwice
	}
	return e
}

// jsonFault is a fault at a byte of a message.
func jsonFault(data []byte, md protoreflect.MessageDescriptor, at int, cause error) *FrameError {
	before := data[:at]
	e := &FrameError{Line: 1 + bytes.Count(before, []byte("\n")), cause: cause}
	e.Column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return e.named(jsonPath(data, at, md))
}

// lastString is where the last string of a JSON text begins.
func lastString(data []byte) (at int) {
	for i := 0; i < len(data); i++ {
		if data[i] == '"' {
			at = i
			i = stringEnd(data, i) - 1
		}
	}
	return at
}

// jsonOffset is the byte at a line and a column.
func jsonOffset(data []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return len(data)
		}
		at += n + 1
	}
	for ; column > 1 && at < len(data); column-- {
		_, n := utf8.DecodeRune(data[at:])
		at += n
	}
	return at
}

// jsonLevel is an object or array that is open where a walk through JSON is.
type jsonLevel struct {
	// of is what the object is, nil if that is nothing of the contract.
	of protoreflect.MessageDescriptor
	// field is the one whose value is walked through: of the object, or of the one
	// that the array stands in.
	field protoreflect.FieldDescriptor
	array bool
	index int
	key   bool // a key comes next
}

// jsonPath is the path of the field that a byte of a JSON text belongs to. The text
// before that byte is well-formed; keys that the contract does not have are left out.
func jsonPath(data []byte, at int, root protoreflect.MessageDescriptor) string {
	var open []jsonLevel
	for i := 0; i < len(data) && i <= at; i++ {
		top := len(open) - 1
		switch c := data[i]; {
		case (c == '{' || c == '[') && i < at:
			if len(open) > maxJSONDepth {
				return pathOf(open)
			}
			open = append(open, enterJSON(open, root, c == '['))
		case (c == '}' || c == ']') && i < at && top >= 0:
			open = open[:top]
		case c == ',' && i < at && top >= 0:
			if open[top].array {
				open[top].index++
			} else {
				open[top].field, open[top].key = nil, true
			}
		case c == '"':
			end := stringEnd(data, i)
			if top >= 0 && open[top].key {
				open[top].field, open[top].key = fieldOf(open[top].of, data[i:end]), false
			}
			i = end - 1
		}
	}
	return pathOf(open)
}

func pathOf(open []jsonLevel) string {
	var path strings.Builder
	for _, l := range open {
		switch {
		case l.field == nil:
		case l.array:
			fmt.Fprintf(&path, "[%d]", l.index)
		default:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(l.field.JSONName())
		}
	}
	return path.String()
}

// enterJSON is the level that a brace or bracket opens.
func enterJSON(open []jsonLevel, root protoreflect.MessageDescriptor, array bool) jsonLevel {
	if len(open) == 0 {
		return jsonLevel{of: root, key: true}
	}
	f := open[len(open)-1].field
	switch {
	case f == nil, opaque(f), array && !f.IsList():
		return jsonLevel{array: array, key: !array}
	case array:
		return jsonLevel{field: f, array: true}
	}
	return jsonLevel{of: f.Message(), key: true}
}

// opaque tells that what is in a field is named by the peer, not by the contract.
func opaque(f protoreflect.FieldDescriptor) bool {
	return f.IsMap() || f.Message() != nil && f.Message().ParentFile().Package() == "google.protobuf"
}

// stringEnd is where the string that begins at i is over.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(data))
}

// fieldOf is the field that a key in its quotation marks names, nil if none.
func fieldOf(of protoreflect.MessageDescriptor, key []byte) protoreflect.FieldDescriptor {
	var name string
	if json.Unmarshal(key, &name) != nil {
		return nil
	}
	return fieldNamed(of, name)
}

// fieldNamed is the field with this name in JSON, nil if there is none.
func fieldNamed(of protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if of == nil {
		return nil
	}
	if f := of.Fields().ByJSONName(name); f != nil {
		return f
	}
	return of.Fields().ByTextName(name)
}

// wrongProtobuf explains the refusal of a message.
func wrongProtobuf(data []byte, frame proto.Message, cause error) *FrameError {
	path, _ := protobufPath(data, frame.ProtoReflect().Descriptor(), 0)
	return (&FrameError{cause: cause}).named(path)
}

// protobufPath is the path of the field whose bytes are no protobuf, or text that is
// not UTF-8. If all are well it is the last field, and it is false.
func protobufPath(b []byte, md protoreflect.MessageDescriptor, depth int) (path string, wrong bool) {
	seen := map[protowire.Number]int{}
	for len(b) > 0 && depth <= maxDepth {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", true
		}
		b = b[n:]
		f := md.Fields().ByNumber(num)
		if f != nil {
			path = f.JSONName()
			if f.IsList() {
				path += "[" + strconv.Itoa(seen[num]) + "]"
			}
		}
		seen[num]++
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return path, true
		}
		value := b[:n]
		b = b[n:]
		if f == nil || typ != protowire.BytesType {
			continue
		}
		content, _ := protowire.ConsumeBytes(value) // it is whole
		switch {
		case f.Kind() == protoreflect.StringKind && !utf8.Valid(content):
			return path, true
		case f.Message() != nil:
			if in, wrong := protobufPath(content, f.Message(), depth+1); wrong {
				if in != "" && !opaque(f) {
					path += "." + in
				}
				return path, true
			}
		}
	}
	return path, depth > maxDepth
}
