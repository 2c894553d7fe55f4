package config

import (
	"fmt"
	"reflect"
)

// Changed lists the keys whose values differ, in the order of the file.
func Changed(a, b *Config) (keys []string) {
	other := settings(b)
	for i, s := range settings(a) {
		x, y := s.field, other[i].field
		if x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0 { // nil and empty mean the same
			continue
		}
		if !reflect.DeepEqual(x.Interface(), y.Interface()) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// Copy gives a setting the value that it has in from.
func Copy(to, from *Config, key string) error {
	source := settings(from)
	for i, s := range settings(to) {
		if s.Key == key {
			s.field.Set(source[i].field)
			return nil
		}
	}
	return fmt.Errorf("unknown setting %q", key)
}
