package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var errNoSuchName = errors.New("wire: not the name of a value of this field")

// hasEnums tells whether a message, or one in it, has a field that is an enum.
func hasEnums(of protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[of.FullName()] {
		return false
	}
	seen[of.FullName()] = true
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		if f.Kind() == protoreflect.EnumKind || f.Message() != nil && !opaque(f) && hasEnums(f.Message(), seen) {
			return true
		}
	}
	return false
}

// checkNames refuses a request in which a name stands that none of the field's values
// has. protojson ignores such a field as it ignores unknown fields; but who sets
// something to a value that does not exist must not be told that it was set.
func checkNames(text []byte, of protoreflect.MessageDescriptor) error {
	var request any
	if err := json.Unmarshal(text, &request); err != nil {
		return nil // protojson has read it: nothing of this kind is wrong in it
	}
	if path := unknownName("", of, request); path != "" {
		return &FrameError{Field: path, cause: errNoSuchName}
	}
	return nil
}

// unknownName is the path of the first such field that is found, empty if there is none.
func unknownName(path string, of protoreflect.MessageDescriptor, v any) string {
	object, _ := v.(map[string]any)
	for key, value := range object {
		f := fieldNamed(of, key)
		if f == nil || opaque(f) {
			continue // ignored, or a map of texts
		}
		at := path + f.JSONName()
		list, many := value.([]any)
		if !many {
			list = []any{value}
		}
		for i, item := range list {
			in := at
			if many {
				in = fmt.Sprintf("%s[%d]", at, i)
			}
			switch name, isName := item.(string); {
			case f.Message() != nil:
				if wrong := unknownName(in+".", f.Message(), item); wrong != "" {
					return wrong
				}
			case f.Kind() == protoreflect.EnumKind && isName && f.Enum().Values().ByName(protoreflect.Name(name)) == nil:
				return in
			}
		}
	}
	return ""
}
