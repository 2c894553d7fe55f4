package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// file is a TOML file that was read, and what is wrong in it: each key that cannot be
// taken has an error with its line, so that whoever mends the file mends it once.
type file struct {
	name string // what the errors begin with
	help string // where all keys are listed
	text string
	meta toml.MetaData
	root map[string]any
	bad  []error
}

// readFile reads a file in which nothing is wrong as far as TOML goes.
func readFile(path, name, help string) (*file, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &file{name: name, help: help, text: string(raw)}
	if f.meta, err = toml.Decode(f.text, &f.root); err != nil {
		if at := (toml.ParseError{}); errors.As(err, &at) {
			err = fmt.Errorf("line %d: %s", at.Position.Line, strings.TrimSuffix(at.Message, " for int64"))
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// fill gives the settings what the file says. A key of none of them, and a value that does
// not fit, is an error; all others are set all the same.
func (f *file) fill(all []setting) error {
	var skip []string // sections of which the whole was refused
	for _, key := range f.meta.Keys() {
		name := key.String()
		if within(name, skip) {
			continue
		}
		v, section := f.value(key), isSection(all, name)
		s, known := find(all, name)
		switch {
		case known:
			if err := s.put(v); err != nil {
				f.refuse(key, "%s: %w", s.Key, err)
			}
		case section && isTable(v):
			continue
		case section:
			f.refuse(key, "%s: want a section, [%s], got %s", name, name, got(v))
		case isTable(v):
			f.refuse(key, "unknown section [%s]%s (see %s)", name, meant(name, sections(all), "[%s]"), f.help)
		default:
			f.refuse(key, "unknown key %q%s (see %s)", name, f.meantKey(name, all), f.help)
		}
		skip = append(skip, name)
	}
	return errors.Join(f.bad...)
}

// refuse notes what is wrong with a key.
func (f *file) refuse(key toml.Key, format string, args ...any) {
	at := f.name
	if line := f.line(key); line > 0 {
		at = fmt.Sprintf("%s: line %d", at, line)
	}
	f.bad = append(f.bad, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
}

// meantKey suggests keys. One that belongs to no section is unknown below a section's
// header, and looks right to who wrote it there: that is said as well.
func (f *file) meantKey(name string, all []setting) string {
	list := nearest(name, keys(all))
	if len(list) == 1 && !strings.Contains(list[0], ".") && strings.HasSuffix(name, "."+list[0]) {
		return fmt.Sprintf(", did you mean %q? It stands before the first [section]", list[0])
	}
	return quoted(list, "%q")
}

// value is what a key has, nil for what cannot be reached by names (lists of sections).
func (f *file) value(key toml.Key) any {
	var v any = f.root
	for _, part := range key {
		table, _ := v.(map[string]any)
		v = table[part]
	}
	return v
}

// line is where a key has its value, 0 where the parser does not know. The parser tells a
// line in errors alone, so it is made to tell one.
func (f *file) line(key toml.Key) int {
	table := map[string]toml.Primitive{}
	meta, err := toml.Decode(f.text, &table)
	for _, part := range key[:len(key)-1] {
		next := map[string]toml.Primitive{}
		if err == nil {
			err = meta.PrimitiveDecode(table[part], &next)
		}
		table = next
	}
	p, ok := table[key[len(key)-1]]
	if err != nil || !ok {
		return 0
	}
	var at toml.ParseError
	_ = errors.As(meta.PrimitiveDecode(p, new(refusal)), &at)
	return at.Position.Line
}

// refusal takes no value.
type refusal struct{}

// UnmarshalTOML fails.
func (*refusal) UnmarshalTOML(any) error { return errors.New("not taken") }

func isTable(v any) bool { _, ok := v.(map[string]any); return ok }

// find is the setting of a name. Case does not matter, as it never did.
func find(all []setting, name string) (setting, bool) {
	for _, s := range all {
		if strings.EqualFold(s.Key, name) {
			return s, true
		}
	}
	return setting{}, false
}

func within(name string, skip []string) bool {
	for _, s := range skip {
		if strings.HasPrefix(name, s+".") {
			return true
		}
	}
	return false
}

func isSection(all []setting, name string) bool {
	for _, s := range sections(all) {
		if strings.EqualFold(s, name) {
			return true
		}
	}
	return false
}

func keys(all []setting) (list []string) {
	for _, s := range all {
		list = append(list, s.Key)
	}
	return list
}

// sections are what stands before the last dot of the keys, each once.
func sections(all []setting) (list []string) {
	for _, s := range all {
		if i := strings.LastIndexByte(s.Key, '.'); i > 0 && (len(list) == 0 || list[len(list)-1] != s.Key[:i]) {
			list = append(list, s.Key[:i])
		}
	}
	return list
}

// put gives the setting a value of a file.
func (s setting) put(v any) error {
	if s.field.Kind() == reflect.Pointer { // one that may be left out
		s.field.Set(reflect.New(s.field.Type().Elem()))
		s.field = s.field.Elem()
	}
	if t, ok := s.field.Addr().Interface().(interface{ UnmarshalText([]byte) error }); ok {
		switch v.(type) {
		case string, int64:
			return t.UnmarshalText(fmt.Append(nil, v))
		}
		return s.wants(v)
	}
	given := reflect.ValueOf(v)
	switch kind := s.field.Kind(); {
	case v == nil:
		return s.wants(v)
	case kind == reflect.Int && given.Kind() == reflect.Int64 && !s.field.OverflowInt(given.Int()):
		s.field.SetInt(given.Int())
	case kind == reflect.Float64 && given.Kind() == reflect.Int64:
		s.field.SetFloat(float64(given.Int()))
	case kind == reflect.Slice && given.Kind() == reflect.Slice:
		list := make([]string, given.Len())
		for i := range list {
			text, ok := given.Index(i).Interface().(string)
			if !ok {
				return fmt.Errorf("%w with %s in it", s.wants(v), s.got(given.Index(i).Interface()))
			}
			list[i] = text
		}
		s.field.Set(reflect.ValueOf(list))
	case kind != reflect.Slice && given.Type() == s.field.Type():
		s.field.Set(given)
	default:
		return s.wants(v)
	}
	return nil
}

// wants says what the setting takes, and what it was given.
func (s setting) wants(v any) error {
	want := map[reflect.Kind]string{
		reflect.String: `a text in quotes`, reflect.Int: "a whole number", reflect.Float64: "a number",
		reflect.Bool: "true or false", reflect.Slice: `a list of texts like ["one", "two"]`,
	}[s.field.Kind()]
	switch s.field.Interface().(type) {
	case Duration:
		want = `a duration like "90s", "5m", "24h" or "60d"`
	case Size:
		want = `a size like "64MiB"`
	}
	if _, text := v.(string); text && s.field.Kind() != reflect.Slice {
		want += " without quotes"
	}
	return fmt.Errorf("want %s, got %s", want, s.got(v))
}

// got is what was given, without what nobody shall read.
func (s setting) got(v any) string {
	if s.secret != "" && !isTable(v) && reflect.ValueOf(v).Kind() != reflect.Slice {
		return "something else"
	}
	return got(v)
}

// got says in an operator's words what stands in a file.
func got(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the text %.60q", v)
	case int64, float64:
		return fmt.Sprint("the number ", v)
	case bool:
		return fmt.Sprint(v)
	case time.Time:
		return "a date or time"
	case map[string]any:
		return "a section"
	case []map[string]any:
		return "a list of sections, [[…]]"
	}
	return "a list"
}
