package main

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object that keeps the order of its fields, so that the
// document reads in the order of the .proto files.
type object []field

type field struct {
	name  string
	value any
}

// set appends a field and returns the object, for building in one expression.
func (o object) set(name string, value any) object { return append(o, field{name, value}) }

// MarshalJSON writes the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
